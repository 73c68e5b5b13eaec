/* test_companion.c - launch.json: ranks by hand, its schema, and the way back to the same plan */
#include <stdio.h>
#include <string.h>

#include "support/arena_fixture.h"
#include "io/json/json.h"
#include "support/json_schema.h"
#include "support/launched.h"
#include "support/must.h"
#include "plait/lowlevel/schedule.h"
#include "launch/companion/companion.h"
#include "launch/import.h"

// ---- ranks ---------------------------------------------------------------------------------

static void assert_groups(const plait_degrees *d, launch_group kind, int groups, int ranks,
                          const int *expected)
{
    launch_group_list list;
    plait_error err;

    must(launch_groups(d, kind, arena, &list, &err), &err);
    assert_int_equal(list.groups, groups);
    assert_int_equal(list.ranks, ranks);
    for (int i = 0; i < groups * ranks; i++)
        assert_int_equal(list.rank[i], expected[i]);
}

#define ASSERT_GROUPS(d, kind, groups, ranks, ...)                                                 \
    assert_groups(d, LAUNCH_GROUP_##kind, groups, ranks, (const int[]){__VA_ARGS__})

/*
 * 16 ranks, tp 2, dp 4, pp 2, ep 4 with etp 1, shards of 2, innermost first tp dp pp:
 *
 *     stage 0    0 1 | 2 3 | 4 5 | 6 7          tp within the bars, dp across them
 *     stage 1    8 9 | a b | c d | e f
 */
static void test_groups__of_16_ranks_by_hand(void **state)
{
    plait_degrees d = plait_degrees_init();

    (void)state;
    d.tp = 2;
    d.dp = 4;
    d.pp = 2;
    d.ep = 4;
    d.shard_group = 2;
    ASSERT_GROUPS(&d, tp, 8, 2, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    ASSERT_GROUPS(&d, cp, 16, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    ASSERT_GROUPS(&d, dp, 4, 4, 0, 2, 4, 6, 1, 3, 5, 7, 8, 10, 12, 14, 9, 11, 13, 15);
    ASSERT_GROUPS(&d, pp, 8, 2, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
    ASSERT_GROUPS(&d, ep, 4, 4, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    ASSERT_GROUPS(&d, edp, 8, 2, 0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
    ASSERT_GROUPS(&d, shard, 8, 2, 0, 2, 1, 3, 4, 6, 5, 7, 8, 10, 9, 11, 12, 14, 13, 15);
    ASSERT_GROUPS(&d, shard_replicas, 8, 2, 0, 4, 1, 5, 2, 6, 3, 7, 8, 12, 9, 13, 10, 14, 11, 15);
    ASSERT_GROUPS(&d, stage, 2, 8, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
    ASSERT_GROUPS(&d, embedding, 8, 2, 0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
}

/* pp 4 on 8 ranks, tp 2: the ends of each pipeline, and of a pipeline of one stage itself. */
static void test_embedding_groups__are_the_ends_of_pipelines(void **state)
{
    plait_degrees d = plait_degrees_init();

    (void)state;
    d.tp = 2;
    d.pp = 4;
    ASSERT_GROUPS(&d, embedding, 2, 2, 0, 6, 1, 7);
    d.pp = 1;
    ASSERT_GROUPS(&d, embedding, 2, 1, 0, 1);
}

/* cp 4, dp 3 with stages between them: 6 replicas are one and a half runs of cp. */
static void test_groups_that_overlap__are_refused(void **state)
{
    plait_degrees d = plait_degrees_init();
    launch_group_list list;
    plait_error err;

    (void)state;
    d.cp = 4;
    d.dp = 3;
    d.pp = 2;
    d.shard_group = 6;
    d.order = PLAIT_ORDER_TP_CP_PP_DP;
    assert_int_equal(launch_groups(&d, LAUNCH_GROUP_shard, arena, &list, &err), PLAIT_ERROR_RANGE);
    d.order = PLAIT_ORDER_TP_CP_DP_PP;
    must(launch_groups(&d, LAUNCH_GROUP_shard, arena, &list, &err), &err);
}

// ---- there and back ------------------------------------------------------------------------

static const launched_case cases[] = {
    {"llama-3.1-8b", "h100-80gb-sxm:2x8", "megatron", 16, 4096, 64, "tp=2 pp=2"},
    {"llama-3.1-8b", "h100-80gb-sxm:4x8", "megatron", 32, 8192, 32,
     "tp=4 pp=2 vpp=4 recompute=full:8 order=tp-cp-pp-dp"},
    {"llama-3.1-8b", "h100-80gb-sxm:8x8", "torchtitan", 64, 8192, 64, "zero=3 shard_group=8"},
    {"mixtral-8x7b", "h200-141gb-sxm:8x8", "megatron", 64, 4096, 128, "tp=2 ep=8 etp=1 pp=2"},
    {"deepseek-v2-lite", "h800", "deepseek", 32, 4096, 64,
     "ep=8 pp=4 schedule=dualpipe split=spread"},
    {"gemma-2-2b", "mi300x", "megatron", 8, 4096, 16, "recompute=selective"},
    {"llama-3.1-70b", "h100-80gb-sxm:8x8", "nanotron", 64, 4096, 64, "tp=8 pp=4"},
};

enum { CASES = sizeof cases / sizeof *cases };

static const char *render(const plait_launch *launch)
{
    plait_launch_folder folder;
    plait_error err;

    must(plait_launch_render(launch, PLAIT_LAUNCH_COMPANION, arena, &folder, &err), &err);
    assert_int_equal(folder.files, 1);
    return launched_file(&folder, "launch.json");
}

static plait_status import(const char *text, plans_entry *out, plait_error *err)
{
    const char *warning;

    return launch_import(PLAIT_LAUNCH_COMPANION, text, strlen(text), "launch.json", NULL, arena,
                         out, &warning, err);
}

/* The launch.json of what another launch.json says. */
static const char *render_again(const plans_entry *entry)
{
    plait_runtime runtime;
    plait_cluster cluster = *entry->cluster;
    plait_problem problem = {.model = entry->model, .cluster = &cluster, .runtime = &runtime};
    plait_plan plan;
    plait_cost cost;
    plait_error err;

    must(plait_runtime_find(entry->runtime, arena, &runtime, &err), &err);
    must(plait_cluster_take(&cluster, entry->gpus, &err), &err);
    problem.job = (plait_job){.seq = entry->seq,
                              .gbs = entry->gbs,
                              .gpus = entry->gpus,
                              .precision = (plait_precision)entry->precision};
    must(plait_plan_expand(&problem, &entry->degrees, arena, &plan, &err), &err);
    must(plait_plan_evaluate(&problem, &plan, NULL, arena, &cost, &err), &err);
    return render(&(plait_launch){.problem = &problem, .plan = &plan, .cost = &cost});
}

/* Every byte is the same, prices included: model, cluster, job and degrees are. */
static void test_a_file__reads_back_as_the_same_plan(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        launched_plan made;
        plans_entry entry;
        plait_error err;
        const char *text;

        launched_make(&cases[i], arena, &made);
        text = render(&made.launch);
        must(import(text, &entry, &err), &err);
        for (int k = 0; k < PLAIT_KEYS; k++) {
            const plait_key_id key = (plait_key_id)k;
            char before[96], after[96];
            assert_string_equal(plait_degrees_get(&entry.degrees, key, after, sizeof after),
                                plait_degrees_get(&made.plan.degrees, key, before, sizeof before));
        }
        assert_string_equal(render_again(&entry), text);
    }
}

/* Four layers of stage 0 run again, stage 1 offloads: written, by the schema, and read. */
static void test_choices_of_stages__read_back(void **state)
{
    static const launched_case free = {
        "llama-3.1-8b", "h100-80gb-sxm:2x8", "companion", 16, 4096, 64, "tp=2 pp=2"};
    plait_recompute recompute[16] = {{0}};
    plait_stage stage[2];
    launched_plan made;
    plans_entry entry;
    plait_error err;

    (void)state;
    launched_make(&free, arena, &made);
    memcpy(stage, made.plan.stage, sizeof stage);
    for (int i = 0; i < 4; i++)
        recompute[i].kind = PLAIT_RECOMPUTE_FULL;
    stage[0].recompute = recompute;
    stage[1].degrees.offload_acts = 1;
    made.plan.stage = stage;
    const char *const text = render(&made.launch);
    must(json_schema_check("docs/launch.schema.json", text, "launch.json", &err), &err);
    must(import(text, &entry, &err), &err);
    assert_int_equal(entry.stage[0].recomputes, 16);
    assert_int_equal(entry.stage[0].recompute[3].kind, PLAIT_RECOMPUTE_FULL);
    assert_int_equal(entry.stage[0].recompute[4].kind, PLAIT_RECOMPUTE_NONE);
    assert_int_equal(entry.stage[1].own.offload_acts, 1);
}

static void test_a_file__is_what_its_schema_says(void **state)
{
    (void)state;
    for (int i = 0; i < CASES; i++) {
        launched_plan made;
        plait_error err;

        launched_make(&cases[i], arena, &made);
        must(
            json_schema_check("docs/launch.schema.json", render(&made.launch), "launch.json", &err),
            &err);
    }
}

// ---- the words of the schema ---------------------------------------------------------------

typedef struct word_list {
    const char *definition;
    const char *const *words;
} word_list;

static plait_status check_words(const json_cursor *schema, plait_arena *in, void *list,
                                plait_error *err)
{
    const word_list *const of = list;
    json_cursor definitions, definition, words, word;
    size_t count = 0;
    int ignored;

    (void)in;
    PLAIT_TRY(json_object(schema, "$defs", &definitions, err));
    PLAIT_TRY(json_object(&definitions, of->definition, &definition, err));
    PLAIT_TRY(json_array(&definition, "enum", &words, err));
    for (bool more = json_first(&words, &word); more; more = json_next(&word))
        PLAIT_TRY(json_as_word(&word, of->words, &ignored, err));
    while (of->words[count] != NULL)
        count++;
    return count == json_count(&words)
               ? PLAIT_OK
               : json_fail(&words, PLAIT_ERROR_SCHEMA, err, "expected %zu words", count);
}

static void test_the_schema__has_all_words_and_no_other(void **state)
{
    static const word_list lists[] = {{"precision", plait_precision_name},
                                      {"attention", plait_attention_kernel_name},
                                      {"schedule", plait_schedule_name},
                                      {"grad_sync", plait_grad_sync_name}};

    (void)state;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        word_list list = lists[i];
        plait_error err;

        must(json_load("docs/launch.schema.json", check_words, arena, &list, &err), &err);
    }
}

// ---- files that contradict themselves ------------------------------------------------------

/* The text with the first `from` behind `after` made into `to`. */
static const char *edited(const char *text, const char *after, const char *from, const char *to)
{
    const char *const place = strstr(strstr(text, after), from);

    assert_non_null(place);
    return plait_arena_printf(arena, "%.*s%s%s", (int)(place - text), text, to,
                              place + strlen(from));
}

static void assert_refused(const char *text, const char *where, const char *message)
{
    plans_entry entry;
    plait_error err;

    assert_int_not_equal(import(text, &entry, &err), PLAIT_OK);
    assert_string_equal(err.where, where);
    assert_string_equal(err.message, message);
}

static const char *sixteen_ranks(void)
{
    launched_plan made;

    launched_make(&cases[0], arena, &made);
    return render(&made.launch);
}

static void test_groups_of_other_degrees__are_refused(void **state)
{
    const char *const text = sixteen_ranks();

    (void)state;
    assert_refused(edited(text, "\"groups\"", "[2, 3]", "[2, 4]"), "launch.json:/groups/tp/1/1",
                   "expected 3, found 4");
    assert_refused(edited(text, "\"groups\"", "[2, 3]", "[2]"), "launch.json:/groups/tp",
                   "expected groups with 16 ranks in total, found 15");
    assert_refused(edited(text, "\"pp\": [", "[0, 8]", "[0, 8, 4]"), "launch.json:/groups/pp/0",
                   "expected 2 elements, found 3");
    assert_refused(edited(text, "\"groups\"", "\"replicas\"", "\"replikas\""),
                   "launch.json:/groups/replikas",
                   "expected the key \"replicas\", found \"replikas\"");
}

static void test_degrees_that_do_not_divide__are_refused(void **state)
{
    const char *const text = sixteen_ranks();

    (void)state;
    assert_refused(edited(text, "\"degrees\"", "\"tp\": 2", "\"tp\": 3"), "launch.json:/degrees",
                   "expected tp x pp x cp that divides the GPUs, found other values");
    assert_refused(edited(text, "\"degrees\"", "\"dp\": 4", "\"dp\": 2"), "launch.json:/degrees/dp",
                   "expected 4, found 2");
    assert_refused(edited(text, "\"degrees\"", "\"pp\": 2", "\"pp\": 1"), "launch.json:/degrees/dp",
                   "expected 8, found 4");
}

static void test_stages_and_actions_of_other_plans__are_refused(void **state)
{
    const char *const text = sixteen_ranks();

    (void)state;
    assert_refused(edited(text, "\"model\"", "\"count\": 32", "\"count\": 33"),
                   "launch.json:/degrees",
                   "expected a split that assigns 33 layers to pp x vpp chunks, found none");
    assert_refused(edited(text, "\"stages\"", "[0, 16]", "[0, 17]"),
                   "launch.json:/stages/0/chunks/0/layers/1", "expected 16, found 17");
    assert_refused(edited(text, "\"actions\"", "\"0F1\"", "\"0F2\""),
                   "launch.json:/schedule/actions/0/1", "expected \"0F1\", found \"0F2\"");
    assert_refused(edited(text, "\"schedule\": {", "\"1f1b\"", "\"gpipe\""),
                   "launch.json:/schedule/name", "expected \"1f1b\", found \"gpipe\"");
}

static void test_other_documents__are_refused(void **state)
{
    const char *const text = sixteen_ranks();

    (void)state;
    assert_refused(edited(text, "{", "\"version\": 1", "\"version\": 2"), "launch.json:/version",
                   "expected an integer from 1 to 1, found 2");
    assert_refused(edited(text, "{", "\"plait-launch\"", "\"plait-lunch\""), "launch.json:/format",
                   "expected \"plait-launch\", found \"plait-lunch\"");
    assert_refused("{\"format\": \"plait-launch\", \"version\": 1}", "launch.json:/model",
                   "expected a complete object, found nothing or null");
}

// ---- memory that runs out ------------------------------------------------------------------

static void test_memory_that_runs_out__is_an_error_of_both_ways(void **state)
{
    launched_plan made;
    const char *const text = sixteen_ranks();
    plait_status rendered, imported;
    long calls = 0;

    (void)state;
    launched_make(&cases[0], arena, &made);
    do {
        plait_arena *small = plait_arena_new();
        plait_launch_folder folder;
        plans_entry entry;
        const char *warning;
        plait_error err;

        assert_non_null(small);
        plait_arena_fail_after(calls);
        rendered = plait_launch_render(&made.launch, PLAIT_LAUNCH_COMPANION, small, &folder, &err);
        plait_arena_fail_after(calls++);
        imported = launch_import(PLAIT_LAUNCH_COMPANION, text, strlen(text), "launch.json", NULL,
                                 small, &entry, &warning, &err);
        plait_arena_fail_after(-1);
        assert_true(rendered == PLAIT_OK || rendered == PLAIT_ERROR_NOMEM);
        assert_true(imported == PLAIT_OK || imported == PLAIT_ERROR_NOMEM);
        plait_arena_free(small);
    } while (rendered != PLAIT_OK || imported != PLAIT_OK);
    assert_true(calls > 1);
}

// ---- schedules -----------------------------------------------------------------------------

/* 16 stages and 5120 microbatches are 163,840 actions: the parameters say them. */
static void test_long_schedules__are_left_to_their_parameters(void **state)
{
    static const launched_case large = {
        "llama-3.1-70b", "h100-80gb-sxm:16x8", "megatron", 128, 4096, 5120, "tp=8 pp=16 mbs=1"};
    launched_plan made;
    plans_entry entry;
    plait_error err;
    const char *text;

    (void)state;
    launched_make(&large, arena, &made);
    text = render(&made.launch);
    assert_non_null(strstr(text, "\"actions\": null"));
    must(import(text, &entry, &err), &err);
    must(json_schema_check("docs/launch.schema.json", text, "launch.json", &err), &err);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_groups__of_16_ranks_by_hand),
        cmocka_unit_test(test_embedding_groups__are_the_ends_of_pipelines),
        cmocka_unit_test(test_groups_that_overlap__are_refused),
        cmocka_unit_test(test_a_file__reads_back_as_the_same_plan),
        cmocka_unit_test(test_choices_of_stages__read_back),
        cmocka_unit_test(test_a_file__is_what_its_schema_says),
        cmocka_unit_test(test_the_schema__has_all_words_and_no_other),
        cmocka_unit_test(test_groups_of_other_degrees__are_refused),
        cmocka_unit_test(test_degrees_that_do_not_divide__are_refused),
        cmocka_unit_test(test_stages_and_actions_of_other_plans__are_refused),
        cmocka_unit_test(test_other_documents__are_refused),
        cmocka_unit_test(test_memory_that_runs_out__is_an_error_of_both_ways),
        cmocka_unit_test(test_long_schedules__are_left_to_their_parameters),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
