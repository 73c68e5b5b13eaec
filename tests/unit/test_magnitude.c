/* test_magnitude.c - numbers as people write them */
#include <string.h>

#include "support/assert_near.h"
#include "base/magnitude.h"

static void test_magnitude__takes_decimal_suffixes(void **state)
{
    double value = 0.0;

    (void)state;
    assert_true(magnitude_parse("15T", &value));
    assert_near(value, 15e12, 0.0);
    assert_true(magnitude_parse("1.5M", &value));
    assert_near(value, 1.5e6, 0.0);
    assert_true(magnitude_parse("8k", &value));
    assert_near(value, 8e3, 0.0);
    assert_true(magnitude_parse("70B", &value));
    assert_near(value, 70e9, 0.0);
    assert_true(magnitude_parse("12", &value));
    assert_near(value, 12.0, 0.0);
}

static void test_magnitude__refuses_what_is_no_number(void **state)
{
    static const char *const wrong[] = {"", "T", "1TT", "1 T", "1e400", "nan", "inf", "0x10", "5d"};
    double value = 7.0;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(magnitude_parse(wrong[i], &value));
    assert_near(value, 7.0, 0.0);
}

static void test_counts__are_whole(void **state)
{
    static const char *const wrong[] = {"",   "k",  "8q",  "1.5k", "-1k",
                                        "3M", "4T", "8kk", "0k",   "0x8k"};
    int count = 7;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_false(magnitude_parse_count(wrong[i], 1024, 1, 2 << 20, &count));
    assert_int_equal(count, 7);
    assert_true(magnitude_parse_count("8k", 1024, 1, 2 << 20, &count));
    assert_int_equal(count, 8192);
    assert_true(magnitude_parse_count("128K", 1024, 1, 2 << 20, &count));
    assert_int_equal(count, 131072);
    assert_true(magnitude_parse_count("2M", 1024, 1, 2 << 20, &count));
    assert_int_equal(count, 2 << 20);
    assert_true(magnitude_parse_count("2k", 1000, 1, 2 << 20, &count));
    assert_int_equal(count, 2000);
    assert_true(magnitude_parse_count("12", 1024, 1, 2 << 20, &count));
    assert_int_equal(count, 12);
}

static void test_duration__needs_a_unit(void **state)
{
    double seconds = 0.0;

    (void)state;
    assert_true(magnitude_parse_duration("60d", &seconds));
    assert_near(seconds, 60.0 * 86400.0, 0.0);
    assert_true(magnitude_parse_duration("90m", &seconds));
    assert_near(seconds, 5400.0, 0.0);
    assert_true(magnitude_parse_duration("20ms", &seconds));
    assert_near(seconds, 0.02, 1e-15);
    assert_false(magnitude_parse_duration("60", &seconds));
    assert_false(magnitude_parse_duration("d", &seconds));
}

static void test_positive__says_what_it_expected(void **state)
{
    plait_error err;
    double value;

    (void)state;
    assert_int_equal(magnitude_positive("--budget", "-5M", "dollars", &value, &err),
                     PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, "--budget");
    assert_string_equal(err.message, "expected dollars above 0, found '-5M'");
    assert_int_equal(magnitude_duration("--deadline", "0d", &value, &err), PLAIT_ERROR_RANGE);
    assert_string_equal(err.message, "expected a time above 0 such as 60d or 500ms, found '0d'");
}

/* A rate of which nothing comes in a lifetime is a mistake of typing, and would be printed in full. */
static void test_positive__has_a_size(void **state)
{
    static const char *const no_amount[] = {"1e-10", "1e-300", "1.1T", "1e308"};
    static const char *const no_time[] = {"1e-4us", "1e-300s", "1e6d", "1e300d"};
    plait_error err;
    double value;

    (void)state;
    for (size_t i = 0; i < sizeof no_amount / sizeof *no_amount; i++) {
        assert_int_equal(magnitude_positive("--rate", no_amount[i], "requests", &value, &err),
                         PLAIT_ERROR_RANGE);
        assert_non_null(strstr(err.message, "expected requests from 1e-09 to 1e+12, found "));
        assert_int_equal(magnitude_duration("--detect", no_time[i], &value, &err),
                         PLAIT_ERROR_RANGE);
        assert_non_null(strstr(err.message, "expected a time from 1e-09 to 1e+10 seconds, found "));
    }
    assert_int_equal(magnitude_positive("--rate", "1T", "requests", &value, &err), PLAIT_OK);
    assert_int_equal(magnitude_duration("--detect", "0.001us", &value, &err), PLAIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_magnitude__takes_decimal_suffixes),
        cmocka_unit_test(test_magnitude__refuses_what_is_no_number),
        cmocka_unit_test(test_counts__are_whole),
        cmocka_unit_test(test_duration__needs_a_unit),
        cmocka_unit_test(test_positive__says_what_it_expected),
        cmocka_unit_test(test_positive__has_a_size),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
