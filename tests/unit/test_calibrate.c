/* test_calibrate.c - an accelerator's constants from times that known constants made */
#include <math.h>
#include <string.h>

#include "support/assert_near.h"
#include "calibrate/calibrate.h"
#include "support/error_fixture.h"
#include "plait/data.h"
#include "base/text.h"

static plait_accelerator find(const char *name)
{
    plait_accelerator out;

    if (plait_accelerator_find(name, arena, &out, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    return out;
}

/* Rows of m = 1024 ... 16384 over ten (n, k), timed by an accelerator. */
static point_list products(const plait_accelerator *gpu, const char *measured)
{
    point_list list;

    points_init(&list, arena);
    for (int shape = 0; shape < 10; shape++)
        for (double m = 64.0; m <= 16384.0; m *= 2.0) {
            point p = {.kind = POINT_GEMM, .measured = measured, .source = "", .block = PLAIT_BF16};

            p.gemm = (plait_gemm){.m = m,
                                  .n = 1024.0 * (1 + shape % 5),
                                  .k = 768.0 * (2 + shape),
                                  .batch = 1.0,
                                  .precision = PLAIT_BF16};
            p.s = plait_gemm_s(gpu, p.gemm);
            assert_int_equal(points_add(&list, &p, NULL), PLAIT_OK);
        }
    return list;
}

static calibrate_result calibrate(const char *name, const point_list *list)
{
    calibrate_result result;

    if (calibrate_accelerator(name, list, arena, &result, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    return result;
}

/* ---- fits ---- */

static void test_calibrate__recovers_the_constants_that_made_the_times(void **state)
{
    plait_accelerator truth = find("h100-80gb-sxm"), found;
    calibrate_result result;
    point_list list;

    (void)state;
    truth.gemm[PLAIT_BF16].emax = 0.7;
    truth.gemm[PLAIT_BF16].t0_s = 5e-6;
    list = products(&truth, "h100_sxm");
    result = calibrate("h100-80gb-sxm", &list);
    assert_int_equal(result.blocks, 1);
    assert_string_equal(result.block[0].name, "gemm bf16");
    assert_true(result.block[0].errors.held < 0.005);
    assert_int_equal(
        plait_accelerator_parse(result.text, result.length, "out", arena, &found, &err), PLAIT_OK);
    assert_near_relative(found.gemm[PLAIT_BF16].emax, 0.7, 0.02);
    assert_near_relative(found.gemm[PLAIT_BF16].t0_s, 5e-6, 0.02);
}

/* Field by field: what lies between the fields is nobody's. */
static void assert_same_attention(const plait_attention_fit *a, const plait_attention_fit *b)
{
    assert_int_equal(a->measured, b->measured);
    assert_memory_equal(a->e, b->e, sizeof a->e);
    assert_near(a->s0, b->s0, 0.0);
    assert_near(a->q, b->q, 0.0);
    assert_near(a->t0_s, b->t0_s, 0.0);
    assert_near(a->backward_ratio, b->backward_ratio, 0.0);
}

static void assert_same_collective(const plait_collective_fit *a, const plait_collective_fit *b)
{
    assert_int_equal(a->measured, b->measured);
    assert_memory_equal(a->a_s, b->a_s, sizeof a->a_s);
    assert_memory_equal(a->b_s, b->b_s, sizeof a->b_s);
    assert_memory_equal(a->bytes_per_s, b->bytes_per_s, sizeof a->bytes_per_s);
    assert_near(a->local_bytes_per_s, b->local_bytes_per_s, 0.0);
    assert_near(a->nvls_a_s, b->nvls_a_s, 0.0);
    assert_near(a->nvls_bytes_per_s, b->nvls_bytes_per_s, 0.0);
}

/* What is not measured stays, to the letter. */
static void test_calibrate__leaves_the_rest_of_the_file_alone(void **state)
{
    plait_accelerator truth = find("h100-80gb-sxm"), found;
    point_list list = products(&truth, "");
    calibrate_result result = calibrate("h100-80gb-sxm", &list);

    (void)state;
    assert_int_equal(
        plait_accelerator_parse(result.text, result.length, "out", arena, &found, &err), PLAIT_OK);
    for (int kernel = 0; kernel < PLAIT_ATTENTION_KERNELS; kernel++)
        assert_same_attention(&found.attention[kernel], &truth.attention[kernel]);
    for (int op = 0; op < PLAIT_FITTED_COLLECTIVES; op++)
        assert_same_collective(&found.collective[op], &truth.collective[op]);
    assert_memory_equal(found.peak_flops_per_s, truth.peak_flops_per_s,
                        sizeof truth.peak_flops_per_s);
    assert_near(found.usd_per_hour, truth.usd_per_hour, 0.0);
    assert_non_null(strstr(result.text, "FlashAttention-2 figures"));
}

static void test_calibrate__writes_the_same_file_twice(void **state)
{
    plait_accelerator truth = find("h100-80gb-sxm");
    point_list list = products(&truth, "");
    calibrate_result first = calibrate("h100-80gb-sxm", &list);
    calibrate_result second = calibrate("h100-80gb-sxm", &list);

    (void)state;
    assert_string_equal(first.text, second.text);
}

/* 85 B/us of a busy link in place of 450: a ring of 8 on its own lines. */
static void test_calibrate__fits_collectives_of_a_log(void **state)
{
    const plait_accelerator truth = find("h100-80gb-sxm");
    family_subject *subject = plait_arena_alloc(arena, 1, sizeof *subject);
    calibrate_result result;
    point_list list;

    (void)state;
    family_subject_init(&truth, subject);
    points_init(&list, arena);
    for (int ranks = 2; ranks <= 8; ranks *= 2)
        for (double bytes = 512.0; bytes <= 1e9; bytes *= 4.0) {
            point p = {.kind = POINT_COLLECTIVE,
                       .measured = "",
                       .source = "nccl-tests",
                       .block = PLAIT_ALL_GATHER,
                       .ranks = ranks,
                       .nodes = 1,
                       .bytes = bytes};
            p.s = family_predict_s(subject, &p);
            assert_int_equal(points_add(&list, &p, NULL), PLAIT_OK);
        }
    result = calibrate("h100-80gb-sxm", &list);
    assert_int_equal(result.blocks, 1);
    assert_true(result.block[0].errors.held < 0.01);
}

static void test_calibrate__too_few_points_change_nothing(void **state)
{
    const plait_accelerator truth = find("h100-80gb-sxm");
    point_list list = products(&truth, "");

    (void)state;
    list.count = 10;
    assert_int_equal(calibrate("h100-80gb-sxm", &list).blocks, 0);
}

/* A quarter of what it has not seen is off by ten: the file keeps what it has. */
static void test_calibrate__a_fit_that_is_far_off_is_not_used(void **state)
{
    const plait_accelerator truth = find("h100-80gb-sxm");
    point_list list = products(&truth, "");
    calibrate_result result, none;

    (void)state;
    for (size_t i = 0; i < list.count; i++)
        list.point[i].s *= i % 3 == 0 ? 4.0 : i % 3 == 1 ? 0.25 : 1.0;
    result = calibrate("h100-80gb-sxm", &list);
    assert_int_equal(result.blocks, 1);
    assert_false(result.block[0].used);
    list.count = 0;
    none = calibrate("h100-80gb-sxm", &list);
    assert_string_equal(result.text, none.text);
}

/* H800 is an H100 with fewer links: its products are H100's, its collectives are not. */
static void test_calibrate__takes_over_the_kernels_of_the_same_die(void **state)
{
    const plait_accelerator truth = find("h100-80gb-sxm");
    point_list list = products(&truth, "h100_sxm");
    calibrate_result result = calibrate("h800-80gb-sxm", &list);

    (void)state;
    assert_int_equal(result.blocks, 1);
    assert_string_equal(result.block[0].stands_in, "h100-80gb-sxm");
    assert_non_null(strstr(result.text, "measured on h100-80gb-sxm"));
    assert_int_equal(calibrate("h20-96gb-sxm", &list).blocks, 0);
}

/* The newest of a known stack counts alone; what nobody knows is the site's own and goes first. */
static void test_calibrate__rows_of_one_source_count(void **state)
{
    const plait_accelerator truth = find("h100-80gb-sxm");
    point_list list = products(&truth, "h100_sxm");
    calibrate_result result;

    (void)state;
    for (size_t i = 0; i < list.count; i++)
        list.point[i].source = i % 3 == 0   ? "aic:trtllm-1.10.0"
                               : i % 3 == 1 ? "aic:trtllm-1.9.0"
                                            : "aic:vllm-2.0";
    result = calibrate("h100-80gb-sxm", &list);
    assert_string_equal(result.block[0].source, "aic:trtllm-1.10.0");
    for (size_t i = 0; i < list.count; i += 2)
        list.point[i].source = "our bench";
    result = calibrate("h100-80gb-sxm", &list);
    assert_string_equal(result.block[0].source, "own measurements");
    assert_int_equal(result.block[0].errors.points, (int)(list.count + 1) / 2);
}

/* ---- names ---- */

static point_list named(const char *first, const char *second)
{
    point_list list;

    points_init(&list, arena);
    assert_int_equal(points_add(&list, &(point){.measured = first, .source = ""}, NULL), PLAIT_OK);
    assert_int_equal(points_add(&list, &(point){.measured = second, .source = ""}, NULL), PLAIT_OK);
    return list;
}

static void test_name__is_what_the_tables_say(void **state)
{
    point_list list = named("h100_sxm", "h100_dgx");
    const char *name;

    (void)state;
    assert_int_equal(calibrate_name(NULL, &list, &name, &err), PLAIT_OK);
    assert_string_equal(name, "h100-80gb-sxm");
}

static void test_name__must_be_asked_for_among_several(void **state)
{
    point_list list = named("h100_sxm", "a100_sxm");
    const char *name;

    (void)state;
    assert_int_equal(calibrate_name(NULL, &list, &name, &err), PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, "--accelerator");
    assert_non_null(strstr(err.message, "h100-80gb-sxm and a100-80gb-sxm"));
    assert_int_equal(calibrate_name("a100-80gb-sxm", &list, &name, &err), PLAIT_OK);
}

static void test_name__of_a_sites_own_is_the_one_asked_for(void **state)
{
    point_list list = named("node-7", "node-7"), mixed = named("node-7", "node-8");
    const char *name;

    (void)state;
    assert_int_equal(calibrate_name(NULL, &list, &name, &err), PLAIT_ERROR_RANGE);
    assert_int_equal(calibrate_name("h200-141gb-sxm", &list, &name, &err), PLAIT_OK);
    assert_string_equal(list.point[0].measured, "");
    assert_int_equal(calibrate_name("h200-141gb-sxm", &mixed, &name, &err), PLAIT_ERROR_RANGE);
    assert_non_null(strstr(err.message, "node-7 and node-8"));
}

/* ---- ranges ---- */

static int check_block(const char *name, const plait_accelerator *gpu, const family *f, int block)
{
    family_subject *subject = plait_arena_alloc(arena, 1, sizeof *subject);
    fit_number number[FIT_MAX_NUMBERS];
    int wrong = 0, numbers;

    family_subject_init(gpu, subject);
    numbers = family_numbers(f, subject, block, number);
    for (int i = 0; i < numbers; i++) {
        const double x = *(const double *)(const void *)((const char *)subject + number[i].offset);

        if (x >= 0.999 * number[i].low && x <= 1.001 * number[i].high)
            continue;
        print_error("%s: %s %s[%d] is %g, expected %g to %g\n", name, f->section, number[i].key,
                    number[i].element, x / number[i].unit, number[i].low / number[i].unit,
                    number[i].high / number[i].unit);
        wrong++;
    }
    return wrong;
}

static bool has_block(const plait_accelerator *gpu, const family *f, int block)
{
    return f == &families[FAMILY_GEMM]         ? gpu->gemm[block].measured
           : f == &families[FAMILY_GROUPED]    ? gpu->grouped[block].measured
           : f == &families[FAMILY_ATTENTION]  ? gpu->attention[block].measured
           : f == &families[FAMILY_COLLECTIVE] ? gpu->collective[block].measured
                                               : true;
}

static void test_ranges__hold_for_every_shipped_accelerator(void **state)
{
    const char *const *names;
    size_t count;
    int wrong = 0;

    (void)state;
    assert_int_equal(plait_data_list(PLAIT_DATA_ACCELERATORS, arena, &names, &count, &err),
                     PLAIT_OK);
    for (size_t i = 0; i < count; i++) {
        const plait_accelerator gpu = find(names[i]);

        for (const family *f = families; f < families + FAMILIES; f++)
            for (int b = f->first; b < f->last; b++)
                if (has_block(&gpu, f, b))
                    wrong += check_block(names[i], &gpu, f, b);
    }
    assert_int_equal(wrong, 0);
}

/* Also what stands in where nobody measured anything. */
static void test_ranges__hold_for_every_family(void **state)
{
    static const char sheet[] =
        "{\"name\": \"x\", \"peak_tflops\": {\"bf16\": 1000, \"fp8\": 2000, \"nvfp4\": 4000}, "
        "\"compute_units\": 100, \"memory\": {\"memory_gib\": 80, \"hbm_tb_per_s\": 2}, "
        "\"scale_up\": {\"domain\": 8, \"bandwidth_gb_per_s\": 100}, "
        "\"node\": {\"accelerators\": 8, \"nic_gbit_per_s\": 200}, \"family\": \"%s\"}";
    const char *const *names;
    size_t count;
    int wrong = 0;

    (void)state;
    assert_int_equal(plait_data_list(PLAIT_DATA_FAMILIES, arena, &names, &count, &err), PLAIT_OK);
    for (size_t i = 0; i < count; i++) {
        const char *text = plait_arena_printf(arena, sheet, names[i]);
        plait_accelerator gpu;

        if (strcmp(names[i], "common") == 0)
            continue;
        assert_int_equal(plait_accelerator_parse(text, strlen(text), names[i], arena, &gpu, &err),
                         PLAIT_OK);
        for (const family *f = families; f < families + FAMILIES; f++)
            for (int b = f->first; b < f->last; b++)
                wrong += check_block(names[i], &gpu, f, b);
    }
    assert_int_equal(wrong, 0);
}

static void test_ranges__are_of_the_wire_where_they_are_rates(void **state)
{
    const plait_accelerator gpu = find("h100-80gb-sxm");
    family_subject *subject = plait_arena_alloc(arena, 1, sizeof *subject);
    fit_number number[FIT_MAX_NUMBERS];

    (void)state;
    family_subject_init(&gpu, subject);
    (void)family_numbers(&families[FAMILY_COLLECTIVE], subject, PLAIT_ALL_GATHER, number);
    assert_string_equal(number[6].key, "bus_gb_per_s");
    assert_near(number[6].high, 450e9, 1.0);
    assert_near(number[6].unit, 1e9, 0.0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(test_##name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(calibrate__recovers_the_constants_that_made_the_times),
        TEST(calibrate__leaves_the_rest_of_the_file_alone),
        TEST(calibrate__writes_the_same_file_twice),
        TEST(calibrate__fits_collectives_of_a_log),
        TEST(calibrate__too_few_points_change_nothing),
        TEST(calibrate__a_fit_that_is_far_off_is_not_used),
        TEST(calibrate__takes_over_the_kernels_of_the_same_die),
        TEST(calibrate__rows_of_one_source_count),
        TEST(name__is_what_the_tables_say),
        TEST(name__must_be_asked_for_among_several),
        TEST(name__of_a_sites_own_is_the_one_asked_for),
        TEST(ranges__hold_for_every_shipped_accelerator),
        TEST(ranges__hold_for_every_family),
        TEST(ranges__are_of_the_wire_where_they_are_rates),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
