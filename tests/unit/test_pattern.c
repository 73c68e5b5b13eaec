/* test_pattern.c - lists of one number a layer, and layouts of a pipeline */
#include <string.h>

#include "support/assert_near.h"
#include "launch/read/pattern.h"

static void assert_pattern(const char *text, int count, const char *digits)
{
    unsigned char out[64] = {0};

    assert_true(pattern_read(text, count, out));
    for (int i = 0; i < count; i++)
        assert_int_equal(out[i], digits[i] - '0');
}

static void test_patterns__by_hand(void **state)
{
    (void)state;
    assert_pattern("([0]*3+[1]*2)", 5, "00011");
    assert_pattern("([1]*3+[0])*2", 8, "11101110");
    assert_pattern("[0,1,0,1]", 4, "0101");
    assert_pattern("(([1]+[0])*2+[1])*2", 10, "1010110101");
}

static void test_patterns__of_another_length_are_none(void **state)
{
    unsigned char out[64];

    (void)state;
    assert_false(pattern_read("[1]*5", 4, out));
    assert_false(pattern_read("[1]*3", 4, out));
    assert_false(pattern_read("", 1, out));
    assert_false(pattern_read("[1]*", 1, out));
    assert_false(pattern_read("([1]", 1, out));
    assert_false(pattern_read("[2]", 1, out));
    assert_false(pattern_read("[1]*99999999999", 1, out));
    assert_false(pattern_read("[1];import os", 1, out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns__by_hand),
        cmocka_unit_test(test_patterns__of_another_length_are_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
