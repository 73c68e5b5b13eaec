/* test_fit.c - constants from times that a line with known constants made */
#include <math.h>

#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "calibrate/fit.h"

/* t = t0 + bytes / rate, and `idle`, which no point depends on. */
typedef struct line {
    double t0_s;
    double bytes_per_s;
    double idle;
} line;

enum { POINTS = 40 };

static double bytes[POINTS];
static fit_point point[POINTS];

static double line_s(const void *subject, const void *what)
{
    const line *l = subject;

    return l->t0_s + *(const double *)what / l->bytes_per_s;
}

/* 4 us and 200 GB/s over 1 kB to 1 GB, each time off by `noise` up and down in turn. */
static void measure(double noise)
{
    const line truth = {4e-6, 200e9, 0.0};

    for (int i = 0; i < POINTS; i++) {
        bytes[i] = 1e3 * pow(10.0, 6.0 * i / (POINTS - 1));
        point[i] = (fit_point){.what = &bytes[i],
                               .measured_s = line_s(&truth, &bytes[i]) *
                                             (1.0 + ((i + i / 4) % 2 == 0 ? noise : -noise)),
                               .weight = 1.0,
                               .held_out = i % 4 == 3,
                               .large = i >= POINTS / 2};
    }
}

static double sweep_weight, spread;

static fit_errors fit(line *subject, fit_number number[3], int numbers)
{
    const fit_number all[] = {
        {.key = "t0",
         .element = -1,
         .offset = offsetof(line, t0_s),
         .unit = 1e-6,
         .low = 0.1e-6,
         .high = 100e-6,
         .scales = true},
        {.key = "rate",
         .element = -1,
         .offset = offsetof(line, bytes_per_s),
         .unit = 1e9,
         .low = 1e9,
         .high = 450e9,
         .spread = spread,
         .scales = true},
        {.key = "idle",
         .element = -1,
         .offset = offsetof(line, idle),
         .unit = 1.0,
         .low = 0.0,
         .high = 1.0},
    };
    const fit_problem problem = {.subject = subject,
                                 .number = number,
                                 .numbers = numbers,
                                 .point = point,
                                 .points = POINTS,
                                 .predict_s = line_s,
                                 .sweep_weight = sweep_weight};
    fit_errors errors;

    for (int i = 0; i < numbers; i++)
        number[i] = all[i];
    assert_int_equal(fit_run(&problem, arena, &errors, NULL), PLAIT_OK);
    return errors;
}

static void test_fit__recovers_the_constants_of_exact_times(void **state)
{
    line subject = {20e-6, 50e9, 0.5};
    fit_number number[3];
    fit_errors errors;

    (void)state;
    measure(0.0);
    errors = fit(&subject, number, 2);
    assert_near(subject.t0_s, 4e-6, 1e-12);
    assert_near(subject.bytes_per_s, 200e9, 1.0);
    assert_true(number[0].determined && number[1].determined);
    assert_int_equal(errors.points, 40);
    assert_int_equal(errors.held_out, 10);
    assert_near(errors.held, 0.0, 1e-6);
}

static void test_fit__is_near_the_constants_of_noisy_times(void **state)
{
    line subject = {20e-6, 50e9, 0.5};
    fit_number number[3];
    fit_errors errors;

    (void)state;
    measure(0.05);
    errors = fit(&subject, number, 2);
    assert_near_relative(subject.t0_s, 4e-6, 0.03);
    assert_near_relative(subject.bytes_per_s, 200e9, 0.03);
    assert_near(errors.held, 0.05, 0.02);
}

/* Three points a hundred times too slow: least squares would move t0 several times over. */
static void test_fit__is_not_moved_by_outliers(void **state)
{
    line subject = {20e-6, 50e9, 0.5};
    fit_number number[3];

    (void)state;
    measure(0.02);
    point[0].measured_s *= 100.0;
    point[9].measured_s *= 100.0;
    point[30].measured_s *= 100.0;
    (void)fit(&subject, number, 2);
    assert_near_relative(subject.t0_s, 4e-6, 0.03);
    assert_near_relative(subject.bytes_per_s, 200e9, 0.03);
}

static void test_fit__leaves_a_number_alone_that_no_point_tells(void **state)
{
    line subject = {20e-6, 50e9, 0.345678};
    fit_number number[3];

    (void)state;
    measure(0.02);
    (void)fit(&subject, number, 3);
    assert_false(number[2].determined);
    assert_near(subject.idle, 0.345678, 0.0);
    assert_true(number[0].determined && number[1].determined);
    assert_near_relative(subject.bytes_per_s, 200e9, 0.03);
}

/* Messages of up to 1 kB take t0; at 450 GB/s or at 50, the rest is below 2 %. */
static void test_fit__keeps_the_prior_of_a_rate_that_only_short_messages_show(void **state)
{
    line subject = {20e-6, 50e9, 0.0};
    fit_number number[3];

    (void)state;
    measure(0.05);
    for (int i = 0; i < POINTS; i++) {
        bytes[i] = 10.0 + i;
        point[i].measured_s = 4e-6 * ((i + i / 4) % 2 == 0 ? 1.05 : 0.95);
    }
    (void)fit(&subject, number, 2);
    assert_false(number[1].determined);
    assert_near(subject.bytes_per_s, 50e9, 0.0);
    assert_near_relative(subject.t0_s, 4e-6, 0.03);
}

/* 40 points that say 200 GB/s within 5 % against 100 GB/s, give or take a permille, and 10 %. */
static double rate_with_spread(double of)
{
    line subject = {4e-6, 100e9, 0.0};
    fit_number number[3];

    measure(0.05);
    spread = of;
    (void)fit(&subject, number, 2);
    spread = 0.0;
    return subject.bytes_per_s;
}

static void test_fit__believes_a_prior_as_far_as_it_spreads(void **state)
{
    (void)state;
    assert_near_relative(rate_with_spread(1e-3), 100e9, 0.02);
    assert_near_relative(rate_with_spread(1.0), 200e9, 0.03);
}

/*
 * 25 messages below 30 kB tell t0; fifteen around t0 times the rate, 800 kB, took a third longer, all
 * alike. What they differ by still tells 200 GB/s; what they took tells less.
 */
static double rate_of_slow_sweep(double weight)
{
    line subject = {4e-6, 100e9, 0.0};
    fit_number number[3];

    measure(0.0);
    for (int i = 0; i < POINTS; i++) {
        const line truth = {4e-6, 200e9, 0.0};

        bytes[i] = i < 25 ? 1e3 * (i + 1) : 1e5 * pow(100.0, (i - 25) / 14.0);
        point[i].measured_s = line_s(&truth, &bytes[i]) * (i < 25 ? 1.0 : 4.0 / 3.0);
        point[i].sweep = i < 25 ? "" : "slow";
    }
    sweep_weight = weight;
    (void)fit(&subject, number, 2);
    sweep_weight = 0.0;
    return subject.bytes_per_s;
}

static void test_fit__looks_at_differences_inside_a_sweep(void **state)
{
    (void)state;
    assert_true(rate_of_slow_sweep(0.0) < 145e9);
    assert_near_relative(rate_of_slow_sweep(1000.0), 200e9, 0.1);
}

static void test_fit__stays_inside_the_bounds(void **state)
{
    line subject = {20e-6, 50e9, 0.0};
    fit_number number[3];

    (void)state;
    measure(0.0);
    for (int i = 0; i < POINTS; i++) // twice as fast as the wire
        point[i].measured_s = 4e-6 + bytes[i] / 900e9;
    (void)fit(&subject, number, 2);
    assert_true(subject.bytes_per_s <= 450e9 && subject.bytes_per_s > 400e9);
}

static void test_fit__gives_the_same_bits_again(void **state)
{
    line first = {20e-6, 50e9, 0.5}, second = first;
    fit_number number[3];

    (void)state;
    measure(0.05);
    (void)fit(&first, number, 3);
    (void)fit(&second, number, 3);
    assert_memory_equal(&first, &second, sizeof first);
}

/* 0.0000123456 s is 12.3 us to three digits. */
static void test_fit__rounds_to_three_digits_of_the_unit(void **state)
{
    (void)state;
    assert_near(fit_rounded(0.0000123456, 1e-6), 12.3e-6, 1e-18);
    assert_near(fit_rounded(123456.0, 1.0), 123000.0, 0.0);
    assert_near(fit_rounded(0.0, 1e9), 0.0, 0.0);
}

static plait_status fit_with_calls(long calls)
{
    plait_arena *scratch = plait_arena_new();
    line subject = {20e-6, 50e9, 0.5};
    fit_number number[] = {{.key = "t0",
                            .element = -1,
                            .offset = offsetof(line, t0_s),
                            .unit = 1e-6,
                            .low = 0.1e-6,
                            .high = 100e-6,
                            .scales = true}};
    const fit_problem problem = {.subject = &subject,
                                 .number = number,
                                 .numbers = 1,
                                 .point = point,
                                 .points = POINTS,
                                 .predict_s = line_s};
    fit_errors errors;
    plait_status status;

    plait_arena_fail_after(calls);
    status = fit_run(&problem, scratch, &errors, NULL);
    plait_arena_fail_after(-1);
    plait_arena_free(scratch);
    return status;
}

static void test_fit__says_when_memory_runs_out(void **state)
{
    (void)state;
    measure(0.0);
    for (long calls = 0; calls < 60; calls++)
        assert_int_equal(fit_with_calls(calls), PLAIT_ERROR_NOMEM);
    assert_int_equal(fit_with_calls(1000000), PLAIT_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fit__recovers_the_constants_of_exact_times, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_fit__is_near_the_constants_of_noisy_times, begin, end),
        cmocka_unit_test_setup_teardown(test_fit__is_not_moved_by_outliers, begin, end),
        cmocka_unit_test_setup_teardown(test_fit__leaves_a_number_alone_that_no_point_tells, begin,
                                        end),
        cmocka_unit_test_setup_teardown(
            test_fit__keeps_the_prior_of_a_rate_that_only_short_messages_show, begin, end),
        cmocka_unit_test_setup_teardown(test_fit__believes_a_prior_as_far_as_it_spreads, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_fit__looks_at_differences_inside_a_sweep, begin, end),
        cmocka_unit_test_setup_teardown(test_fit__stays_inside_the_bounds, begin, end),
        cmocka_unit_test_setup_teardown(test_fit__gives_the_same_bits_again, begin, end),
        cmocka_unit_test(test_fit__rounds_to_three_digits_of_the_unit),
        cmocka_unit_test_setup_teardown(test_fit__says_when_memory_runs_out, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
