/* test_units.c - units and digits of printed quantities */
#include "support/assert_near.h"
#include "report/units.h"

static void test_seconds__have_three_digits(void **state)
{
    char text[UNITS_SIZE];

    (void)state;
    assert_string_equal(units_seconds(4e-6, text), "4.00 us");
    assert_string_equal(units_seconds(81.24e-3, text), "81.2 ms");
    assert_string_equal(units_seconds(9.871, text), "9.87 s");
    assert_string_equal(units_seconds(123.4, text), "123 s");
    assert_string_equal(units_seconds(5400.0, text), "1.50 h");
    assert_string_equal(units_seconds(6000.0 * 3600.0, text), "6000 h");
    assert_string_equal(units_seconds(2.5 * 365.0 * 86400.0, text), "2.50 y");
    assert_string_equal(units_seconds(1e20, text), "3.17e+12 y");
    assert_string_equal(units_seconds(0.0, text), "0 s");
}

/* 999.6 ms is 1000 ms to three digits, which is 1.00 s. */
static void test_seconds__change_the_unit_when_rounding_does(void **state)
{
    char text[UNITS_SIZE];

    (void)state;
    assert_string_equal(units_seconds(0.9996, text), "1.00 s");
    assert_string_equal(units_seconds(0.9994, text), "999 ms");
    assert_string_equal(units_seconds(9.996, text), "10.0 s");
    assert_string_equal(units_seconds(99.96, text), "100 s");
}

static void test_seconds__below_a_microsecond_and_below_zero(void **state)
{
    char text[UNITS_SIZE];

    (void)state;
    assert_string_equal(units_seconds(2e-7, text), "0.200 us");
    assert_string_equal(units_seconds(-0.25, text), "-250 ms");
}

static void test_gib__keep_one_decimal_and_one_unit(void **state)
{
    char text[UNITS_SIZE];

    (void)state;
    assert_string_equal(units_gib(80.0 * 1073741824.0, text), "80.0 GiB");
    assert_string_equal(units_gib(1e9, text), "0.9 GiB"); /* 10^9 / 2^30 = 0.931 */
    assert_string_equal(units_gib(2e13, text), "18626.5 GiB");
}

static void test_bytes__use_the_largest_unit(void **state)
{
    char text[UNITS_SIZE];

    (void)state;
    assert_string_equal(units_bytes(512.0, text), "512 B");
    assert_string_equal(units_bytes(1536.0, text), "1.5 KiB");
    assert_string_equal(units_bytes(64.0 * 1048576.0, text), "64.0 MiB");
    assert_string_equal(units_bytes(1073741824.0, text), "1.0 GiB");
}

static void test_counts__are_whole_up_to_ten_thousand(void **state)
{
    char text[UNITS_SIZE];

    (void)state;
    assert_string_equal(units_count(512.0, text), "512");
    assert_string_equal(units_count(9999.0, text), "9999");
    assert_string_equal(units_count(16384.0, text), "16.4 k");
    assert_string_equal(units_count(70.55e9, text), "70.5 B");
    assert_string_equal(units_count(1.04e12, text), "1.04 T");
    assert_string_equal(units_count(0.5, text), "0.500");
}

static void test_percent__has_one_decimal(void **state)
{
    char text[UNITS_SIZE];

    (void)state;
    assert_string_equal(units_percent(0.4127, text), "41.3 %");
    assert_string_equal(units_percent(0.0, text), "0.0 %");
}

static void test_rates__have_si_prefixes(void **state)
{
    char text[UNITS_SIZE];

    (void)state;
    assert_string_equal(units_rate(450e9, "B/s", text), "450 GB/s");
    assert_string_equal(units_rate(3.35e12, "B/s", text), "3.35 TB/s");
    assert_string_equal(units_rate(989e12, "FLOP/s", text), "989 TFLOP/s");
}

static void test_nan_and_infinity__are_a_dash(void **state)
{
    char text[UNITS_SIZE];

    (void)state;
    assert_string_equal(units_seconds((double)NAN, text), "-");
    assert_string_equal(units_gib((double)INFINITY, text), "-");
    assert_string_equal(units_bytes((double)NAN, text), "-");
    assert_string_equal(units_count((double)NAN, text), "-");
    assert_string_equal(units_percent((double)NAN, text), "-");
    assert_string_equal(units_rate(-(double)INFINITY, "B/s", text), "-");
}

static void test_large_numbers__are_whole(void **state)
{
    char text[UNITS_SIZE];

    (void)state;
    assert_string_equal(units_number(0.12345, text), "0.123");
    assert_string_equal(units_number(12.34, text), "12.3");
    assert_string_equal(units_number(1234.4, text), "1234");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_seconds__have_three_digits),
        cmocka_unit_test(test_seconds__change_the_unit_when_rounding_does),
        cmocka_unit_test(test_seconds__below_a_microsecond_and_below_zero),
        cmocka_unit_test(test_gib__keep_one_decimal_and_one_unit),
        cmocka_unit_test(test_bytes__use_the_largest_unit),
        cmocka_unit_test(test_counts__are_whole_up_to_ten_thousand),
        cmocka_unit_test(test_percent__has_one_decimal),
        cmocka_unit_test(test_rates__have_si_prefixes),
        cmocka_unit_test(test_nan_and_infinity__are_a_dash),
        cmocka_unit_test(test_large_numbers__are_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
