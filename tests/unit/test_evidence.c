/* test_evidence.c - bands and ties from evidence, by hand */
#include <stdio.h>
#include <string.h>

#include "support/assert_near.h"
#include "support/must.h"
#include "plait/validate.h"

static plait_arena *arena;

#define HEADER "of,source,sweep,runtime,rules,narrowest,gpus,experts,calibrated,left_out,shipped\n"

static plait_evidence parsed(const char *text)
{
    plait_evidence evidence;
    plait_error err;

    must(plait_evidence_parse(text, strlen(text), "evidence.csv", arena, &evidence, &err), &err);
    return evidence;
}

static const plait_regime dense = {
    "megatron", PLAIT_RULES_MEGATRON, PLAIT_NARROWEST_FP8, 64, false, true, false};

/* ---- bands ---- */

static plait_band band_of(const plait_evidence *evidence, const plait_regime *regime,
                          const char *without)
{
    plait_band band;
    plait_error err;

    must(plait_evidence_band(evidence, regime, without, arena, &band, &err), &err);
    return band;
}

static double tie_of(const plait_evidence *evidence, const plait_regime *regime)
{
    plait_error err;
    double tie;

    must(plait_evidence_tie(evidence, regime, arena, &tie, &err), &err);
    return tie;
}

/* No memory is not "no band". */
static void test_bands_and_ties__say_when_memory_runs_out(void **state)
{
    const plait_evidence one = parsed(HEADER "step,a,,megatron,megatron,fp8,64,0,1,1.1,1\n");
    plait_arena *const empty = plait_arena_new();
    plait_band band;
    plait_error err;
    double tie;

    (void)state;
    assert_non_null(empty);
    plait_arena_fail_after(0);
    const plait_status of_band = plait_evidence_band(&one, &dense, NULL, empty, &band, &err);
    const plait_status of_tie = plait_evidence_tie(&one, &dense, empty, &tie, &err);
    plait_arena_fail_after(-1);
    plait_arena_free(empty);
    assert_int_equal(of_band, PLAIT_ERROR_NOMEM);
    assert_int_equal(of_tie, PLAIT_ERROR_NOMEM);
}

/* Nothing is known: no band. */
static void test_band__without_evidence_is_unknown(void **state)
{
    const plait_evidence nothing = {0};
    const plait_band band = band_of(&nothing, &dense, NULL);

    (void)state;
    assert_near(band.low, 0.0, 0.0);
    assert_near(band.high, 0.0, 0.0);
}

/* One run, 10 % slower than predicted, that shares all five: 1 to 1.1, and 2 % either way. */
static void test_band__holds_one_and_the_evidence(void **state)
{
    const plait_evidence one = parsed(HEADER "step,a,,megatron,megatron,fp8,64,0,1,1.1,1\n");
    const plait_band band = band_of(&one, &dense, NULL);

    (void)state;
    assert_near(band.low, exp(-0.02), 1e-12);
    assert_near(band.high, 1.1 * exp(0.02), 1e-12);
}

/* Other software, generation, scale, and experts: four times 1 % more. */
static void test_band__is_wider_where_nothing_is_alike(void **state)
{
    const plait_evidence one = parsed(HEADER "step,a,,fsdp,fsdp,bf16,8,1,1,1.1,1\n");
    const plait_band band = band_of(&one, &dense, NULL);

    (void)state;
    assert_near(band.low, exp(-0.06), 1e-12);
    assert_near(band.high, 1.1 * exp(0.06), 1e-12);
}

static void test_band__leaves_a_source_out(void **state)
{
    const plait_evidence two = parsed(
        HEADER
        "step,a,,megatron,megatron,fp8,64,0,1,2,1\nstep,b,,megatron,megatron,fp8,64,0,1,1.1,1\n");

    (void)state;
    assert_near(band_of(&two, &dense, "a").high, 1.1 * exp(0.02), 1e-12);
    assert_true(band_of(&two, &dense, NULL).high > 1.5);
}

/* Rows of weights 4 (unlike) and 16: middles at 1/10 and 3/5; 90 % is the second, 10 % the first. */
static void test_band__believes_fitted_and_unfitted_less_of_each_other(void **state)
{
    const char *const text = HEADER "step,a,,fsdp,megatron,fp8,64,0,%d,%g,1\n"
                                    "step,b,,fsdp,megatron,fp8,64,0,%d,%g,1\n";
    const plait_evidence alike = parsed(plait_arena_printf(arena, text, 0, 0.5, 1, 0.8));
    const plait_evidence apart = parsed(plait_arena_printf(arena, text, 1, 0.5, 0, 0.8));

    (void)state;
    assert_near(band_of(&alike, &dense, NULL).low, 0.5 * exp(-0.03), 1e-12);
    assert_true(band_of(&apart, &dense, NULL).low < band_of(&alike, &dense, NULL).low * 1.001);
}

/* Four equal rows, middles of their weights at 1/8, 3/8, 5/8, 7/8: the 90 % quantile is the last. */
static void test_band__is_of_quantiles(void **state)
{
    const plait_evidence four = parsed(
        HEADER
        "step,a,,megatron,megatron,fp8,64,0,1,0.9,1\nstep,a,,megatron,megatron,fp8,64,0,1,1.2,1\n"
        "step,a,,megatron,megatron,fp8,64,0,1,1,1\nstep,a,,megatron,megatron,fp8,64,0,1,1.05,1\n");
    const plait_band band = band_of(&four, &dense, NULL);

    (void)state;
    assert_near(band.low, 0.9 * exp(-0.02), 1e-12);
    assert_near(band.high, 1.2 * exp(0.02), 1e-12);
}

/* ---- memory ---- */

static plait_band memory_band_of(const plait_evidence *evidence, const plait_regime *regime)
{
    plait_band band;
    plait_error err;

    must(plait_evidence_memory_band(evidence, regime, NULL, arena, &band, &err), &err);
    return band;
}

/* Ten peaks e^0.1 over their predictions: 75 % of them lie so near, so does the quartile's sigma. */
static const char *ten_peaks(const char *runtime, const char *rules, double ratio)
{
    char *text = plait_arena_text(arena, "");

    for (int i = 0; i < 10; i++)
        text = plait_arena_printf(arena, "%smemory,a-%s,,%s,%s,fp8,64,0,1,%.17g,1\n", text, runtime,
                                  runtime, rules, ratio);
    return text;
}

static void test_memory_band__is_of_the_quartile(void **state)
{
    const plait_evidence one = parsed(
        plait_arena_printf(arena, "%s%s", HEADER, ten_peaks("megatron", "megatron", exp(0.1))));
    const plait_band band = memory_band_of(&one, &dense);

    (void)state;
    assert_int_equal(one.count, 0);
    assert_int_equal(one.memories, 10);
    assert_near(log(band.high), 0.1 * 1.2815515655446004 / 1.1503493803760079 + 0.02, 1e-12);
    assert_near(log(band.low), -log(band.high), 1e-12);
}

/* The own software outvotes three others. */
static void test_memory_band__is_the_median_voice(void **state)
{
    const plait_evidence four = parsed(plait_arena_printf(
        arena, "%s%s%s%s%s", HEADER, ten_peaks("megatron", "megatron", exp(0.01)),
        ten_peaks("nanotron", "generic", exp(0.3)), ten_peaks("fsdp", "fsdp", exp(0.2)),
        ten_peaks("torchtitan", "torchtitan", exp(0.25))));
    plait_regime other = dense;

    (void)state;
    other.runtime = "unheard";
    other.rules = PLAIT_RULES_GENERIC;
    assert_true(memory_band_of(&four, &dense).high < exp(0.08));
    assert_true(memory_band_of(&four, &other).high > exp(0.2));
}

/* Rules that stand on Megatron's are as good as Megatron's own. */
static void test_memory_band__of_a_fork_hears_the_forked(void **state)
{
    const plait_evidence three = parsed(plait_arena_printf(
        arena, "%s%s%s%s", HEADER, ten_peaks("megatron", "megatron", exp(0.01)),
        ten_peaks("nanotron", "generic", exp(0.3)), ten_peaks("fsdp", "fsdp", exp(0.2))));
    plait_regime unheard = dense;

    (void)state;
    unheard.runtime = "unheard";
    const double own = memory_band_of(&three, &unheard).high;
    unheard.rules = PLAIT_RULES_MEGATRON_DEEPSPEED;
    assert_near(memory_band_of(&three, &unheard).high, own, 1e-12);
    unheard.rules = PLAIT_RULES_TORCHTITAN;
    assert_true(memory_band_of(&three, &unheard).high > 1.1 * own);
}

static void test_memory_band__without_evidence_is_unknown(void **state)
{
    const plait_evidence nothing = {0};

    (void)state;
    assert_near(memory_band_of(&nothing, &dense).high, 0.0, 0.0);
}

/* ---- ties ---- */

/*
 * Shipped errors of e^-0.2, e^-0.1, 1, e^0.1, e^0.2: distances from the median 0, .1, .1, .2, .2, whose
 * middles lie at 0.1, 0.3, 0.5, 0.7, 0.9: the 80 % quantile is 0.2.
 */
static void test_tie__is_the_spread_inside_sweeps(void **state)
{
    char text[1024];
    plait_evidence evidence;

    (void)state;
    snprintf(
        text, sizeof text,
        HEADER
        "step,a,s,megatron,megatron,fp8,64,0,1,1,%.17g\nstep,a,s,megatron,megatron,fp8,64,0,1,1,%."
        "17g\n"
        "step,a,s,megatron,megatron,fp8,64,0,1,1,1\nstep,a,s,megatron,megatron,fp8,64,0,1,1,%.17g\n"
        "step,a,s,megatron,megatron,fp8,64,0,1,1,%.17g\n",
        exp(-0.2), exp(-0.1), exp(0.1), exp(0.2));
    evidence = parsed(text);
    assert_near(tie_of(&evidence, &dense), exp(sqrt(2.0) * 0.2), 1e-12);
}

static void test_tie__needs_a_sweep_of_five(void **state)
{
    const plait_evidence few = parsed(HEADER "step,a,s,megatron,megatron,fp8,64,0,1,1,1.1\nstep,a,"
                                             "s,megatron,megatron,fp8,64,0,1,1,0.9\n");

    (void)state;
    assert_near(tie_of(&few, &dense), 0.0, 0.0);
}

/* ---- the file ---- */

static void refused(const char *text, const char *where, const char *message)
{
    plait_evidence evidence;
    plait_error err;

    assert_int_not_equal(plait_evidence_parse(text, strlen(text), "e.csv", arena, &evidence, &err),
                         PLAIT_OK);
    assert_string_equal(err.where, where);
    assert_non_null(strstr(err.message, message));
}

static void test_evidence__says_where_it_is_wrong(void **state)
{
    (void)state;
    refused("of,source,sweep\nstep,a,b\n", "e.csv", "expected a column \"runtime\"");
    refused(HEADER "step,a,,megatron,megatron,fp8,0,0,1,1,1\n", "e.csv:2:gpus", "found");
    refused(HEADER "step,a,,megatron,megatron,int4,64,0,1,1,1\n", "e.csv:2:narrowest", "int4");
    refused(HEADER "step,a,,megatron,megatron,fp8,64,0,1,0,1\n", "e.csv:2:left_out", "found");
    refused(HEADER "step,a,,megatron,megatron,fp8,64,0,1,1,nan\n", "e.csv:2:shipped", "nan");
}

/* A quote and a comma in a name survive. */
static void test_evidence__reads_what_it_writes(void **state)
{
    const plait_evidence before =
        parsed(HEADER "step,\"a \"\"b\"\", c\",s,megatron,megatron,fp8,64,0,1,1.25,0.9\n");
    const char *text;
    plait_error err;
    size_t length;

    (void)state;
    must(plait_evidence_text(&before, arena, &text, &length, &err), &err);
    assert_int_equal(length, strlen(text));
    const plait_evidence after = parsed(text);
    assert_int_equal(after.count, 1);
    assert_string_equal(after.row[0].source, "a \"b\", c");
    assert_string_equal(after.row[0].sweep, "s");
    assert_int_equal(after.row[0].regime.gpus, 64);
    assert_true(after.row[0].regime.calibrated && !after.row[0].regime.experts);
    assert_near(after.row[0].left_out, 1.25, 0.0);
    assert_near(after.row[0].shipped, 0.9, 0.0);
}

static void test_evidence__keeps_racks_jobs_and_plans(void **state)
{
    const plait_evidence before = parsed(
        "of,source,sweep,runtime,rules,narrowest,gpus,experts,calibrated,left_out,shipped,rack,"
        "job,plan\n"
        "step,a,,megatron,megatron,fp4,72,1,1,1,1,1,m/gb200-nvl72/mxfp8,dispatcher=hybridep "
        "schedule=1f1b\nmemory,a,,megatron,megatron,fp4,72,1,1,1,1,1,,\n");
    const char *text;
    plait_error err;
    size_t length;

    (void)state;
    must(plait_evidence_text(&before, arena, &text, &length, &err), &err);
    const plait_evidence after = parsed(text);
    assert_int_equal(after.count, 1);
    assert_int_equal(after.memories, 1);
    assert_true(after.row[0].regime.rack);
    assert_string_equal(after.row[0].job, "m/gb200-nvl72/mxfp8");
    assert_string_equal(after.row[0].plan, "dispatcher=hybridep schedule=1f1b");
    refused(
        "of,source,sweep,runtime,rules,narrowest,gpus,experts,calibrated,left_out,shipped,rack\n"
        "step,a,,megatron,megatron,fp8,64,0,1,1,1,2\n",
        "e.csv:2:rack", "found");
}

/* Older files have neither: no row is in a rack, and no row supports a technique. */
static void test_evidence__of_older_files_supports_nothing(void **state)
{
    const plait_evidence old = parsed(HEADER "step,a,,megatron,megatron,fp8,64,0,1,1,1\n");

    (void)state;
    assert_false(old.row[0].regime.rack);
    assert_string_equal(old.row[0].job, "");
    assert_string_equal(old.row[0].plan, "");
    assert_int_equal(
        plait_evidence_of_value(&old, &dense, PLAIT_KEY_SCHEDULE, PLAIT_1F1B, NULL).jobs, 0);
}

/* What is shipped loads, knows both kinds of profiles, and holds most of what it is made of. */
static void test_evidence__is_shipped(void **state)
{
    plait_evidence evidence;
    plait_error err;
    size_t fitted = 0;

    (void)state;
    must(plait_evidence_find(arena, &evidence, &err), &err);
    assert_true(evidence.count > 500);
    for (size_t i = 0; i < evidence.count; i++)
        fitted += evidence.row[i].regime.calibrated;
    assert_true(fitted > 100 && fitted < evidence.count);
    assert_true(evidence.memories > 500);
}

static int set_up(void **state)
{
    (void)state;
    arena = plait_arena_new();
    return arena == NULL;
}

static int tear_down(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bands_and_ties__say_when_memory_runs_out),
        cmocka_unit_test(test_band__without_evidence_is_unknown),
        cmocka_unit_test(test_band__holds_one_and_the_evidence),
        cmocka_unit_test(test_band__is_wider_where_nothing_is_alike),
        cmocka_unit_test(test_band__leaves_a_source_out),
        cmocka_unit_test(test_band__believes_fitted_and_unfitted_less_of_each_other),
        cmocka_unit_test(test_band__is_of_quantiles),
        cmocka_unit_test(test_memory_band__is_of_the_quartile),
        cmocka_unit_test(test_memory_band__is_the_median_voice),
        cmocka_unit_test(test_memory_band__of_a_fork_hears_the_forked),
        cmocka_unit_test(test_memory_band__without_evidence_is_unknown),
        cmocka_unit_test(test_tie__is_the_spread_inside_sweeps),
        cmocka_unit_test(test_tie__needs_a_sweep_of_five),
        cmocka_unit_test(test_evidence__says_where_it_is_wrong),
        cmocka_unit_test(test_evidence__reads_what_it_writes),
        cmocka_unit_test(test_evidence__keeps_racks_jobs_and_plans),
        cmocka_unit_test(test_evidence__of_older_files_supports_nothing),
        cmocka_unit_test(test_evidence__is_shipped),
    };

    return cmocka_run_group_tests(tests, set_up, tear_down);
}
