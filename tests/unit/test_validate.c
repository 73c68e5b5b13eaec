/* test_validate.c - statistics by hand, rows to plans, and what a file of runs may not be */
#include <stdio.h>
#include <string.h>

#include "support/assert_near.h"
#include "plait/units.h"
#include "plait/validate.h"
#include "validate/statistics.h"

static plait_arena *arena;

static int set_up(void **state)
{
    (void)state;
    arena = plait_arena_new();
    return arena != NULL ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

/* ---- statistics ---- */

/* |errors| 0.1 0.2 0.3 0.4: mean and median 0.25, bias (0.1 - 0.2 + 0.3 + 0.4) / 4 = 0.15, and the
 * 90th percentile at place 0.9 * 3 = 2.7: 0.3 + 0.7 * 0.1. */
static void test_errors__by_hand(void **state)
{
    const double error[] = {0.1, -0.2, 0.4, 0.3};
    double scratch[4];
    const plait_errors found = statistics_errors(error, 4, scratch);

    (void)state;
    assert_int_equal(found.rows, 4);
    assert_near(found.mape, 0.25, 1e-12);
    assert_near(found.median, 0.25, 1e-12);
    assert_near(found.bias, 0.15, 1e-12);
    assert_near(found.p90, 0.37, 1e-12);
}

static void test_errors__of_nothing_are_unknown(void **state)
{
    double scratch[1] = {0.0};
    const plait_errors found = statistics_errors(scratch, 0, scratch);

    (void)state;
    assert_int_equal(found.rows, 0);
    assert_true(isnan(found.mape) && isnan(found.median) && isnan(found.p90) && isnan(found.bias));
}

/* Without ties 1 - 6 sum d^2 / (n (n^2 - 1)): ranks 1 2 3 4 5 and 2 1 4 3 5, d^2 = 1 1 1 1 0. */
static void test_spearman__without_ties(void **state)
{
    const double a[] = {1, 2, 3, 4, 5}, b[] = {20, 10, 40, 30, 50};
    double scratch[10];

    (void)state;
    assert_near(statistics_spearman(a, b, 5, scratch), 1.0 - 6.0 * 4.0 / 120.0, 1e-12);
}

/* Ranks of b: 1.5 1.5 3.5 3.5 against 1 2 3 4: covariance 4, variances 5 and 4. */
static void test_spearman__shares_ranks_of_ties(void **state)
{
    const double a[] = {1, 2, 3, 4}, b[] = {7, 7, 9, 9};
    double scratch[8];

    (void)state;
    assert_near(statistics_spearman(a, b, 4, scratch), 4.0 / sqrt(20.0), 1e-12);
}

/* 10 pairs, of which two (1 2 and 3 4) are discordant: (8 - 2) / 10. */
static void test_kendall__without_ties(void **state)
{
    const double a[] = {1, 2, 3, 4, 5}, b[] = {20, 10, 40, 30, 50};

    (void)state;
    assert_near(statistics_kendall(a, b, 5), 0.6, 1e-12);
}

/* 6 pairs, two of them tied in b: 4 concordant / sqrt(6 * 4). */
static void test_kendall__is_tau_b_where_values_tie(void **state)
{
    const double a[] = {1, 2, 3, 4}, b[] = {7, 7, 9, 9};

    (void)state;
    assert_near(statistics_kendall(a, b, 4), 4.0 / sqrt(24.0), 1e-12);
}

static void test_correlations__of_a_constant_are_unknown(void **state)
{
    const double a[] = {1, 2, 3}, b[] = {5, 5, 5};
    double scratch[6];

    (void)state;
    assert_true(isnan(statistics_spearman(a, b, 3, scratch)));
    assert_true(isnan(statistics_kendall(a, b, 3)));
}

/* The second is predicted fastest and takes 11 s where the best takes 10. */
static void test_regret__by_hand(void **state)
{
    const double predicted[] = {9, 8, 12}, measured[] = {10, 11, 13};

    (void)state;
    assert_near(statistics_regret(predicted, measured, 3, 0.0), 0.1, 1e-12);
    assert_near(statistics_regret(predicted, measured, 3, 0.12), 0.0, 0.0);
    assert_near(statistics_regret(measured, measured, 3, 0.0), 0.0, 0.0);
}

/* 3 of 4 failures and 8 of 16 others: (0.75 + 0.5) / 2. */
static void test_balanced_accuracy__by_hand(void **state)
{
    const plait_confusion both = {
        .true_positives = 3, .false_negatives = 1, .true_negatives = 8, .false_positives = 8};
    const plait_confusion only_ran = {.true_negatives = 8, .false_positives = 8};

    (void)state;
    assert_near(statistics_balanced_accuracy(&both), 0.625, 1e-12);
    assert_true(isnan(statistics_balanced_accuracy(&only_ran)));
}

/* ---- a file of runs ---- */

#define COLUMNS                                                                                    \
    "id,source,sweep,model,layers,hidden,heads,ffn_hidden,mlp,vocab,seq_len,accelerator,gpus,"     \
    "gpus_per_node,runtime,precision,tp,pp,mbs,gbs,outcome,step_time_s,experts,topk,moe_ffn,"      \
    "notes,trust,mem_peak_gib,mem_scope,recompute,zero"

static plait_status parse(const char *text, plait_runs *runs, plait_error *err)
{
    return plait_runs_parse(text, strlen(text), "runs.csv", arena, runs, err);
}

static const char *row(const char *changes)
{
    return plait_arena_printf(arena, COLUMNS "\n%s\n", changes);
}

static plait_run_price priced(const char *cells)
{
    plait_run_price price;
    plait_runs runs;
    plait_error err = {PLAIT_OK, "", ""};

    if (parse(row(cells), &runs, &err) != PLAIT_OK)
        fail_msg("%s: %s", err.where, err.message);
    assert_int_equal(runs.count, 1);
    assert_int_equal(plait_run_evaluate(&runs.run[0], arena, &price, &err), PLAIT_OK);
    return price;
}

static void assert_refused(const char *text, const char *where, const char *message)
{
    plait_error err = {PLAIT_OK, "", ""};
    plait_runs runs;

    assert_int_not_equal(parse(text, &runs, &err), PLAIT_OK);
    assert_string_equal(err.where, where);
    assert_non_null(strstr(err.message, message));
}

static void test_runs__refuse_unknown_columns_with_the_nearest(void **state)
{
    (void)state;
    assert_refused("id,step_times_s\n", "runs.csv:1", "\"step_time_s\"");
}

static void test_runs__name_a_column_that_is_missing(void **state)
{
    (void)state;
    assert_refused("id,source\n", "runs.csv", "expected a column \"model\"");
}

static void test_runs__say_where_a_number_is_none(void **state)
{
    (void)state;
    assert_refused(row("a,s,,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,megatron,bf16,2,one,1,8,"
                       "ok,1,,,,,,,,,"),
                   "runs.csv:2:pp", "found \"one\"");
    assert_refused(row("a,s,,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,megatron,bf16,2,1,1,8,"
                       "ok,-1,,,,,,,,,"),
                   "runs.csv:2:step_time_s", "found \"-1\"");
    assert_refused(row("a,s,,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,megatron,bf16,2,1,1,8,"
                       "ok,1e-9,,,,,,,,,"),
                   "runs.csv:2:step_time_s", "found \"1e-9\"");
    assert_refused(row("a,s,,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,megatron,bf16,2,1,1,8,"
                       "crsh,1,,,,,,,,,"),
                   "runs.csv:2:outcome", "expected crash");
}

/* ---- a row as a plan ---- */

static void test_row__of_gelu_is_a_gpt(void **state)
{
    const plait_run_price price =
        priced("a,s,,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,megatron,bf16,2,1,1,8,ok,1,,,,,,"
               "1.5,max,,");
    const plait_model *const model = price.problem.model;

    (void)state;
    assert_true(price.priced);
    assert_true(model->tied && model->layer_norm && model->dropout);
    assert_int_equal(model->learned_positions, 128);
    assert_true(model->kind[0].mlp.bias && !model->kind[0].mlp.gated);
    assert_int_equal(price.degrees.dp, 4);
    assert_near(price.run->peak_bytes, 1.5 * PLAIT_GIB, 0.0);
    assert_near(price.memory_bytes, price.cost.stage[0].allocated_bytes, 0.0);
}

static void test_row__of_swiglu_is_a_llama(void **state)
{
    const plait_run_price price =
        priced("a,s,,m,2,64,4,256,swiglu,100,128,h100-80gb-sxm,8,8,nanotron,bf16,2,1,1,8,ok,1,,,,"
               "tied,,,,,");

    (void)state;
    assert_true(price.priced);
    assert_true(price.problem.model->tied && !price.problem.model->layer_norm);
    assert_true(!price.problem.model->dropout && price.problem.model->kind[0].attention.rotary);
}

static void test_row__takes_its_switches_from_the_notes(void **state)
{
    const plait_run_price price =
        priced("a,s,,m,2,64,4,256,swiglu,100,128,a100-80gb-sxm,8,8,aa-scaling,bf16,1,1,1,8,ok,1,,,,"
               "fused-norm cuda-graph=full_iteration,,,,,");

    (void)state;
    assert_true(price.problem.runtime->kernels.fused_norm);
    assert_int_equal(price.degrees.switches.cuda_graph, PLAIT_GRAPH_FULL);
}

static void test_row__cuts_a_named_model_to_its_depth(void **state)
{
    const plait_run_price price =
        priced("a,s,,deepseek-v3,5,7168,128,18432,swiglu,129280,4096,h100-80gb-sxm,64,8,megatron,"
               "bf16,1,1,1,64,ok,1,256,8,2048,dense-layers=1 etp=1,,,,,");
    const plait_model *const model = price.problem.model;

    (void)state;
    assert_true(price.priced);
    assert_int_equal(model->layers, 5);
    assert_int_equal(model->kind[model->layer_kind[0]].ffn, PLAIT_FFN_MLP);
    assert_int_equal(model->kind[model->layer_kind[1]].ffn, PLAIT_FFN_MOE);
    assert_int_equal(model->kind[0].mixer, PLAIT_MIXER_MLA);
    assert_int_equal(price.degrees.etp, 1);
}

/* 70 layers on 12 stages: with embedding and head 72, 6 a stage. */
static void test_row__counts_embedding_and_head_where_layers_do_not_divide(void **state)
{
    const plait_run_price price =
        priced("a,s,,m,70,64,4,256,gelu,100,128,a100-80gb-sxm,48,8,megatron,bf16,4,12,1,12,ok,1,,,,"
               ",,,,,");

    (void)state;
    assert_true(price.priced);
    assert_int_equal(price.degrees.split.kind, PLAIT_SPLIT_BOTH);
}

static void test_row__beyond_our_rules_is_priced_with_a_note(void **state)
{
    const plait_run_price price =
        priced("a,s,,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,megatron,bf16,1,1,1,8,ok,1,,,,,,,,"
               "full,3");

    (void)state;
    assert_true(price.priced);
    assert_non_null(strstr(price.note, "violates a rule: megatron has no ZeRO 3"));
}

static void test_row__of_an_attention_kernel_beyond_our_rules_is_priced(void **state)
{
    const plait_run_price price = priced(
        "a,s,,gpt-oss-20b,24,2880,64,2880,swiglu,201088,4096,h100-80gb-sxm,8,8,fsdp,bf16,1,1,"
        "1,64,ok,1,32,4,2880,,,,,full,3");

    (void)state;
    assert_true(price.priced);
    assert_int_equal(price.degrees.attention, PLAIT_ATTENTION_FLASH2);
    assert_non_null(
        strstr(price.note, "violates a rule: the model needs sinks, which attention flash2"));
}

static void test_row__that_does_not_divide_says_why(void **state)
{
    const plait_run_price price =
        priced("a,s,,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,megatron,bf16,3,1,1,8,ok,1,,,,,,,,"
               ",");

    (void)state;
    assert_false(price.priced);
    assert_int_equal(price.verdict, PLAIT_INVALID);
    assert_non_null(strstr(price.note, "tp 3 does not divide 4 heads"));
}

static void test_row__of_unknown_software_is_taken_for_megatron(void **state)
{
    const plait_run_price price =
        priced("a,s,,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,homegrown,bf16,2,1,1,8,ok,1,,,,,,,"
               ",none,");

    (void)state;
    assert_true(price.priced);
    assert_string_equal(price.problem.runtime->name, "homegrown");
    assert_int_equal(price.problem.runtime->rules, PLAIT_RULES_MEGATRON);
    assert_non_null(strstr(price.note, "no profile for runtime \"homegrown\", megatron used"));
}

/* What is not fitted has a wider band than what is. */
static void test_row__of_unknown_software_has_a_wide_band(void **state)
{
    const plait_run_price known =
        priced("a,s,,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,megatron,bf16,2,1,1,8,ok,1,,,,,,,"
               ",none,");
    const plait_run_price unknown =
        priced("a,s,,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,homegrown,bf16,2,1,1,8,ok,1,,,,,,,"
               ",none,");

    (void)state;
    assert_near_relative(unknown.cost.step_s, known.cost.step_s, 1e-12);
    assert_true(unknown.cost.step_high_s > known.cost.step_high_s);
}

static void test_row__does_not_open_paths(void **state)
{
    const plait_run_price price = priced(
        "a,s,,m,2,64,4,256,gelu,100,128,/etc/passwd,8,8,megatron,bf16,2,1,1,8,ok,1,,,,,,,,,");

    (void)state;
    assert_false(price.priced);
    assert_non_null(strstr(price.note, "found a path"));
}

/* ---- the whole ---- */

/* Plans that differ in tp and batch of five measured runs; one of them failed. */
static void test_validate__ranks_sweeps_and_counts_failures(void **state)
{
    static const char text[] = COLUMNS "\na,s,w,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,"
                                       "megatron,bf16,1,1,1,8,ok,1,,,,,,,,none,"
                                       "\nb,s,w,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,"
                                       "megatron,bf16,2,1,1,8,ok,2,,,,,,,,none,"
                                       "\nc,s,w,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,"
                                       "megatron,bf16,4,1,1,8,ok,3,,,,,,,,none,"
                                       "\nd,s,w,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,"
                                       "megatron,bf16,1,2,1,8,ok,4,,,,,,,,none,"
                                       "\ne,s,w,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,"
                                       "megatron,bf16,2,2,1,8,ok,5,,,,,,,,none,"
                                       "\nf,s,w,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,"
                                       "megatron,bf16,3,2,1,8,ok,5,,,,,,,,none,"
                                       "\ng,s,w,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,"
                                       "megatron,bf16,2,2,1,8,oom,,,,,,,,,none,"
                                       "\n";
    plait_validation found;
    plait_runs runs;
    plait_error err = {PLAIT_OK, "", ""};

    (void)state;
    assert_int_equal(parse(text, &runs, &err), PLAIT_OK);
    assert_int_equal(plait_validate(&runs, arena, &found, &err), PLAIT_OK);
    assert_int_equal(found.runs->count, 7);
    assert_int_equal(found.priced, 6);
    assert_int_equal(found.timed, 6);
    assert_int_equal(found.timed_priced, 5);
    assert_int_equal(found.sweeps, 1);
    assert_int_equal(found.sweep[0].plans, 5);
    assert_int_equal(found.sweep[0].best, 0);
    assert_int_equal(found.confusion_total.false_negatives, 1);
    assert_int_equal(found.confusion_total.true_negatives, 5);
    assert_int_equal(found.reasons, 1);
    assert_string_equal(found.unpriced[0].first, "f");
    assert_int_equal(found.worst_count, 5);
}

static void test_validate__of_no_rows_is_empty(void **state)
{
    plait_validation found;
    plait_runs runs;
    plait_error err = {PLAIT_OK, "", ""};
    const char *text;
    size_t length;

    (void)state;
    assert_int_equal(parse(COLUMNS "\n", &runs, &err), PLAIT_OK);
    assert_int_equal(plait_validate(&runs, arena, &found, &err), PLAIT_OK);
    assert_int_equal(found.priced, 0);
    assert_true(isnan(found.total.mape));
    assert_int_equal(plait_validation_plot(&found, arena, &text, &length, &err), PLAIT_OK);
    assert_non_null(strstr(text, "</svg>"));
}

/* Every allocation may fail, and each failure comes back. */
static void test_validate__survives_running_out_of_memory(void **state)
{
    const char *const text =
        row("a,s,,m,2,64,4,256,gelu,100,128,h100-80gb-sxm,8,8,megatron,bf16,2,1,1,8,ok,1,,,,,,,,,");
    plait_status status = PLAIT_ERROR_NOMEM;
    long calls = 0;

    (void)state;
    for (; status != PLAIT_OK && calls < 400000; calls += 1 + calls / 8) {
        plait_arena *scratch = plait_arena_new();
        plait_validation found;
        plait_runs runs;
        plait_error err = {PLAIT_OK, "", ""};

        assert_non_null(scratch);
        plait_arena_fail_after(calls);
        status = plait_runs_parse(text, strlen(text), "runs.csv", scratch, &runs, &err);
        if (status == PLAIT_OK)
            status = plait_validate(&runs, scratch, &found, &err);
        plait_arena_fail_after(-1);
        assert_true(status == PLAIT_OK || status == PLAIT_ERROR_NOMEM);
        plait_arena_free(scratch);
    }
    assert_int_equal(status, PLAIT_OK);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_errors__by_hand),
        TEST(test_errors__of_nothing_are_unknown),
        TEST(test_spearman__without_ties),
        TEST(test_spearman__shares_ranks_of_ties),
        TEST(test_kendall__without_ties),
        TEST(test_kendall__is_tau_b_where_values_tie),
        TEST(test_correlations__of_a_constant_are_unknown),
        TEST(test_regret__by_hand),
        TEST(test_balanced_accuracy__by_hand),
        TEST(test_runs__refuse_unknown_columns_with_the_nearest),
        TEST(test_runs__name_a_column_that_is_missing),
        TEST(test_runs__say_where_a_number_is_none),
        TEST(test_row__of_gelu_is_a_gpt),
        TEST(test_row__of_swiglu_is_a_llama),
        TEST(test_row__takes_its_switches_from_the_notes),
        TEST(test_row__cuts_a_named_model_to_its_depth),
        TEST(test_row__counts_embedding_and_head_where_layers_do_not_divide),
        TEST(test_row__beyond_our_rules_is_priced_with_a_note),
        TEST(test_row__of_an_attention_kernel_beyond_our_rules_is_priced),
        TEST(test_row__that_does_not_divide_says_why),
        TEST(test_row__of_unknown_software_is_taken_for_megatron),
        TEST(test_row__of_unknown_software_has_a_wide_band),
        TEST(test_row__does_not_open_paths),
        TEST(test_validate__ranks_sweeps_and_counts_failures),
        TEST(test_validate__of_no_rows_is_empty),
        TEST(test_validate__survives_running_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
