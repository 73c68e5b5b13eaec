/* test_name_index.c - names are found at the place that they were given last */
#include "support/assert_near.h"

#include <string.h>

#include "support/arena_fixture.h"
#include "base/name_index.h"

static int find(const name_index *index, const char *name)
{
    return name_index_find(index, name, strlen(name));
}

static void test_an_empty_index__has_no_name(void **state)
{
    const name_index index = {0};

    (void)state;
    assert_int_equal(find(&index, "tp"), -1);
    assert_int_equal(find(&index, ""), -1);
}

static void test_every_name__keeps_its_place_as_the_index_grows(void **state)
{
    enum { NAMES = 5000 };
    name_index index = {0};

    (void)state;
    for (int n = 0; n < NAMES; n++) {
        const char *const name = plait_arena_printf(arena, "name_%d", n);

        assert_int_equal(find(&index, name), -1);
        assert_true(name_index_put(&index, arena, name, n));
    }
    for (int n = 0; n < NAMES; n++)
        assert_int_equal(find(&index, plait_arena_printf(arena, "name_%d", n)), n);
    assert_int_equal(index.names, NAMES);
    assert_int_equal(find(&index, "name_"), -1);
    assert_int_equal(name_index_find(&index, "name_12 and more", 7), 12);
}

static void test_a_name_that_is_put_again__has_the_last_place(void **state)
{
    name_index index = {0};

    (void)state;
    assert_true(name_index_put(&index, arena, "tp", 1));
    assert_true(name_index_put(&index, arena, "tp", 7));
    assert_int_equal(find(&index, "tp"), 7);
    assert_int_equal(index.names, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_an_empty_index__has_no_name),
        cmocka_unit_test(test_every_name__keeps_its_place_as_the_index_grows),
        cmocka_unit_test(test_a_name_that_is_put_again__has_the_last_place),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
