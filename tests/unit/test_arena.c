/* test_arena.c - memory is zeroed, aligned, kept until rewound, and refused when asked to be */
#include "support/assert_near.h"

#include <stdalign.h>
#include <string.h>

#include "plait/arena.h"

static int set_up(void **state)
{
    *state = plait_arena_new();
    return *state == NULL;
}

static int tear_down(void **state)
{
    plait_arena_fail_after(-1);
    plait_arena_free(*state);
    return 0;
}

static int is_filled_with(const unsigned char *bytes, size_t size, unsigned char value)
{
    for (size_t i = 0; i < size; i++)
        if (bytes[i] != value)
            return 0;
    return 1;
}

static void test_alloc__is_aligned_and_zeroed(void **state)
{
    for (size_t size = 1; size < 300; size++) {
        unsigned char *data = plait_arena_alloc(*state, 3, size);

        assert_int_equal((uintptr_t)data % alignof(max_align_t), 0);
        assert_true(is_filled_with(data, 3 * size, 0));
        memset(data, 0xff, 3 * size);
    }
}

static void test_alloc__keeps_objects_apart_over_many_blocks(void **state)
{
    enum { COUNT = 300, SIZE = 1000 };
    unsigned char *data[COUNT];

    for (int i = 0; i < COUNT; i++) {
        data[i] = plait_arena_alloc(*state, SIZE, 1);
        memset(data[i], i % 251, SIZE);
    }
    for (int i = 0; i < COUNT; i++)
        assert_true(is_filled_with(data[i], SIZE, (unsigned char)(i % 251)));
}

static void test_alloc__takes_objects_larger_than_a_block(void **state)
{
    unsigned char *large = plait_arena_alloc(*state, 1000, 1000);
    unsigned char *small = plait_arena_alloc(*state, 1, 1);

    assert_non_null(large);
    large[999999] = 1;
    assert_int_equal(*small, 0);
}

static void test_alloc__of_nothing_is_a_different_address_each_time(void **state)
{
    void *first = plait_arena_alloc(*state, 0, 8);
    void *second = plait_arena_alloc(*state, 8, 0);

    assert_non_null(first);
    assert_non_null(second);
    assert_ptr_not_equal(first, second);
}

static void test_alloc__refuses_sizes_that_overflow(void **state)
{
    assert_null(plait_arena_alloc(*state, SIZE_MAX / 2, 3));
    assert_null(plait_arena_alloc(*state, SIZE_MAX, 1));
    assert_null(plait_arena_alloc(*state, 1, SIZE_MAX - 8));
}

static void test_text__is_a_copy(void **state)
{
    char text[] = "tp=8";
    const char *copy = plait_arena_text(*state, text);

    text[0] = 'x';
    assert_string_equal(copy, "tp=8");
    assert_string_equal(plait_arena_printf(*state, "%s,pp=%d", copy, 4), "tp=8,pp=4");
}

static void test_rewind__gives_the_same_memory_again_zeroed(void **state)
{
    const char *before = plait_arena_text(*state, "kept");
    const plait_arena_mark mark = plait_arena_save(*state);
    unsigned char *first = plait_arena_alloc(*state, 100, 1);

    memset(first, 0xff, 100);
    plait_arena_rewind(*state, mark);
    assert_int_equal(plait_arena_save(*state), mark);
    assert_ptr_equal(plait_arena_alloc(*state, 100, 1), first);
    assert_true(is_filled_with(first, 100, 0));
    assert_string_equal(before, "kept");
}

/* Turns that need several blocks, in sizes that do not repeat, with a mark within a mark. */
static void test_rewind__over_many_blocks_keeps_what_came_before(void **state)
{
    const char *kept = plait_arena_text(*state, "kept");

    for (size_t turn = 0; turn < 50; turn++) {
        const plait_arena_mark outer = plait_arena_save(*state);
        unsigned char *data = plait_arena_alloc(*state, 50000 + turn * 1000, 1);
        const plait_arena_mark inner = plait_arena_save(*state);

        memset(data, 7, 50000 + turn * 1000);
        for (int i = 0; i < 5; i++)
            memset(plait_arena_alloc(*state, 40000, 1), 8, 40000);
        plait_arena_rewind(*state, inner);
        memset(plait_arena_alloc(*state, 90000, 1), 9, 90000);
        assert_true(is_filled_with(data, 50000 + turn * 1000, 7));
        plait_arena_rewind(*state, outer);
    }
    assert_string_equal(kept, "kept");
}

static void test_fail_after__lets_as_many_requests_succeed(void **state)
{
    plait_arena_fail_after(2);
    assert_non_null(plait_arena_alloc(*state, 1, 1));
    assert_non_null(plait_arena_text(*state, "x"));
    assert_null(plait_arena_alloc(*state, 1, 1));
    assert_null(plait_arena_text(*state, "x"));
    assert_null(plait_arena_printf(*state, "%d", 1));
    assert_null(plait_arena_new());
    plait_arena_fail_after(-1);
    assert_non_null(plait_arena_alloc(*state, 1, 1));
}

static void test_free__of_null_is_fine(void **state)
{
    (void)state;
    plait_arena_free(NULL);
}

#define arena_test(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        arena_test(test_alloc__is_aligned_and_zeroed),
        arena_test(test_alloc__keeps_objects_apart_over_many_blocks),
        arena_test(test_alloc__takes_objects_larger_than_a_block),
        arena_test(test_alloc__of_nothing_is_a_different_address_each_time),
        arena_test(test_alloc__refuses_sizes_that_overflow),
        arena_test(test_text__is_a_copy),
        arena_test(test_rewind__gives_the_same_memory_again_zeroed),
        arena_test(test_rewind__over_many_blocks_keeps_what_came_before),
        arena_test(test_fail_after__lets_as_many_requests_succeed),
        cmocka_unit_test(test_free__of_null_is_fine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
