/* test_why.c - the questions that follow a search: why not, what would fit, what binds */
#include <stdio.h>
#include <string.h>

#include "support/assert_near.h"
#include "support/must.h"
#include "plait/data.h"
#include "plait/search.h"
#include "support/world.h"

/* A question with its own copies of what it points to. */
static plait_arena *arena;

static void load(world *w, const char *model, int gpus, int seq, const char *limits)
{
    world_make(w, model, "megatron", "h100-80gb-sxm:4x8",
               (plait_job){.seq = seq, .gbs = 32, .gpus = gpus}, arena);
    world_limit(w, limits);
}

// ---- what would make a plan fit ------------------------------------------------------------

/* Each change names a plan that fits under it, priced to the digit. */
static void test_relaxations__fit_when_they_are_made(void **state)
{
    plait_relaxation found[PLAIT_MAX_RELAXATIONS];
    plait_error err;
    world w;
    int count;

    (void)state;
    load(&w, "llama-3.1-70b", 8, 8192, "tp=8");
    must(plait_relaxations(&w.problem, &w.options, arena, found, &count, &err), &err);
    assert_true(count > 0);
    for (int i = 0; i < count; i++) {
        plait_problem changed = w.problem;
        plait_cluster cluster = w.cluster;
        plait_cost cost;

        changed.job = found[i].job;
        changed.cluster = &cluster;
        must(plait_cluster_take(&cluster, changed.job.gpus, &err), &err);
        must(plait_plan_evaluate(&changed, &found[i].best.plan, NULL, arena, &cost, &err), &err);
        assert_int_equal(cost.verdict, PLAIT_FITS);
        assert_true(cost.step_s == found[i].best.price.step_s);
        assert_true(found[i].change[0] != '\0');
    }
}

/* "0 found" is an answer: no memory is not. */
static void test_relaxations__say_when_memory_runs_out(void **state)
{
    plait_relaxation found[PLAIT_MAX_RELAXATIONS];
    plait_status status = PLAIT_ERROR_NOMEM;
    plait_error err;
    int expected, count, failed = 0;
    world w;

    (void)state;
    load(&w, "llama-3.1-70b", 8, 8192, "tp=8,mbs=1,recompute=full");
    must(plait_relaxations(&w.problem, &w.options, arena, found, &expected, &err), &err);
    for (long calls = 0; status != PLAIT_OK; calls = calls + 1 + calls / 8) {
        plait_arena *small = plait_arena_new();

        assert_non_null(small);
        plait_arena_fail_after(calls);
        status = plait_relaxations(&w.problem, &w.options, small, found, &count, &err);
        plait_arena_fail_after(-1);
        plait_arena_free(small);
        assert_true(status == PLAIT_OK || status == PLAIT_ERROR_NOMEM);
        failed += status != PLAIT_OK;
    }
    assert_int_equal(count, expected);
    assert_true(failed > 10);
}

// ---- changes -------------------------------------------------------------------------------

static int keys_apart(const plait_degrees *a, const plait_degrees *b, plait_key_set changed)
{
    int outside = 0;

    for (int key = 0; key < PLAIT_KEYS; key++)
        outside += key != PLAIT_KEY_DP && !(changed & PLAIT_KEY_BIT(key)) &&
                   !plait_key_same(a, b, (plait_key_id)key) && (plait_keys[key].matters == NULL);
    return outside;
}

/* Fewest keys first, each better than asked for; no plan of one changed mbs is better than the one there. */
static void test_changes__are_few_and_the_best_of_their_sort(void **state)
{
    enum { MOST = 64 };
    plait_change *found;
    plait_search_result best;
    plait_degrees from;
    plait_error err;
    int count;
    world w;

    (void)state;
    found = plait_arena_alloc(arena, MOST, sizeof *found);
    assert_non_null(found);
    load(&w, "llama-3.1-8b", 8, 8192, "tp=2,pp=1,cp=1,mbs=1,zero=1,recompute=none");
    must(plait_search(&w.problem, &w.options, arena, &best, &err), &err);
    assert_true(best.plans > 0);
    from = best.plan[0].plan.degrees;
    w.options.limits = 0;
    must(plait_changes(&w.problem, &w.options, &from, best.plan[0].objective, MOST, arena, found,
                       &count, &err),
         &err);
    assert_in_range(count, 1, MOST);
    for (int i = 0; i < count; i++) {
        assert_true(found[i].best.objective < best.plan[0].objective);
        assert_true(found[i].keys >= 1);
        assert_int_equal(keys_apart(&from, &found[i].best.plan.degrees, found[i].changed), 0);
        if (i > 0)
            assert_true(found[i].keys > found[i - 1].keys ||
                        (found[i].keys == found[i - 1].keys &&
                         found[i].best.objective >= found[i - 1].best.objective));
    }
}

/* A plan that cannot run is repaired by the fewest keys, and what is proposed runs and fits. */
static void test_ways_out__run_and_fit(void **state)
{
    enum { MOST = 3 };
    const plait_key_set given = PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_EP);
    plait_change found[MOST];
    plait_degrees d = plait_degrees_init();
    plait_error err;
    int count;
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", 8, 4096, "");
    d.tp = 2, d.ep = 8, d.dp = 4;
    must(plait_degrees_complete(&w.problem, given, &d, arena, &err), &err);
    assert_int_equal(d.etp, 2);
    assert_int_equal(plait_degrees_check(&w.problem, &d, NULL, 0), PLAIT_INVALID);
    must(plait_ways_out(&w.problem, given, 0, &d, MOST, arena, found, &count, &err), &err);
    assert_in_range(count, 1, MOST);
    assert_int_equal(found[0].changed, PLAIT_KEY_BIT(PLAIT_KEY_ETP));
    assert_int_equal(found[0].best.plan.degrees.etp, 1);
    for (int i = 0; i < count; i++) {
        plait_cost cost;

        must(plait_plan_evaluate(&w.problem, &found[i].best.plan, NULL, arena, &cost, &err), &err);
        assert_int_equal(cost.verdict, PLAIT_FITS);
    }
    assert_int_equal(plait_ways_out(&w.problem, given, 0, &d, 0, arena, found, &count, &err),
                     PLAIT_ERROR_RANGE);
}

/* A plan out of memory keeps what is fixed; state on the host is a way out, with the ZeRO stage it needs. */
static void test_ways_out__keep_what_is_fixed(void **state)
{
    const plait_key_set given = PLAIT_KEY_BIT(PLAIT_KEY_TP);
    plait_change found[3];
    plait_degrees d = plait_degrees_init();
    plait_error err;
    int count;
    world w;

    (void)state;
    world_make(&w, "llama-3.1-70b", "megatron", "dgx-a100",
               (plait_job){.seq = 4096, .gbs = 64, .gpus = 8}, arena);
    d.tp = 8, d.dp = 1;
    must(plait_degrees_complete(&w.problem, given, &d, arena, &err), &err);
    must(plait_ways_out(&w.problem, given, given, &d, 3, arena, found, &count, &err), &err);
    assert_int_equal(count, 1);
    assert_int_equal(found[0].changed, PLAIT_KEY_BIT(PLAIT_KEY_OFFLOAD));
    assert_int_equal(found[0].best.plan.degrees.tp, 8);
    assert_int_equal(found[0].best.plan.degrees.offload, PLAIT_OFFLOAD_OPTIMIZER);
    must(plait_ways_out(&w.problem, PLAIT_ALL_KEYS, PLAIT_ALL_KEYS, &d, 3, arena, found, &count,
                        &err),
         &err);
    assert_int_equal(count, 0);
}

static void test_ways_out__say_when_memory_runs_out(void **state)
{
    const plait_key_set given = PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_EP);
    plait_degrees d = plait_degrees_init();
    plait_status status = PLAIT_ERROR_NOMEM;
    plait_change found[1];
    plait_error err;
    int failed = 0, count;
    world w;

    (void)state;
    load(&w, "qwen3-30b-a3b", 8, 4096, "");
    d.tp = 2, d.ep = 8, d.dp = 4;
    must(plait_degrees_complete(&w.problem, given, &d, arena, &err), &err);
    for (long calls = 0; status != PLAIT_OK; calls = calls + 1 + calls / 2) {
        plait_arena *small = plait_arena_new();

        assert_non_null(small);
        plait_arena_fail_after(calls);
        status = plait_ways_out(&w.problem, given, 0, &d, 1, small, found, &count, &err);
        plait_arena_fail_after(-1);
        plait_arena_free(small);
        assert_true(status == PLAIT_OK || status == PLAIT_ERROR_NOMEM);
        failed += status != PLAIT_OK;
    }
    assert_int_equal(count, 1);
    assert_true(failed > 5);
}

/* 61 layers divide into no 16 chunks in words: the runtime has layouts, and the best one fits. */
static void test_completion__takes_a_layout_where_no_words_divide(void **state)
{
    const plait_key_set given = PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_PP) |
                                PLAIT_KEY_BIT(PLAIT_KEY_VPP) | PLAIT_KEY_BIT(PLAIT_KEY_EP) |
                                PLAIT_KEY_BIT(PLAIT_KEY_ETP);
    plait_degrees d = plait_degrees_init();
    plait_error err;
    world w;

    (void)state;
    world_make(&w, "deepseek-v3", "megatron", "h100-80gb-sxm:32x8",
               (plait_job){.seq = 4096, .gbs = 2048, .gpus = 256}, arena);
    d.tp = 8, d.pp = 2, d.vpp = 8, d.ep = 128, d.etp = 1, d.dp = 16;
    must(plait_degrees_complete(&w.problem, given, &d, arena, &err), &err);
    assert_int_equal(d.split.kind, PLAIT_SPLIT_LAYOUT);
    assert_int_equal(plait_degrees_check(&w.problem, &d, NULL, 0), PLAIT_FITS);
    d = plait_degrees_init(); // nothing fits: a level layout, with its price
    d.pp = 2, d.vpp = 8, d.ep = 32, d.dp = 128, d.etp = 1;
    must(plait_degrees_complete(&w.problem, given, &d, arena, &err), &err);
    assert_int_equal(d.split.kind, PLAIT_SPLIT_LAYOUT);
    assert_string_equal(d.split.layout, "Et*3|(t*4|)*14ttmL");
    assert_int_equal(plait_degrees_check(&w.problem, &d, NULL, 0), PLAIT_FITS);
    d.split = (plait_split){.kind = PLAIT_SPLIT_EVEN}; // what was asked for stays
    must(
        plait_degrees_complete(&w.problem, given | PLAIT_KEY_BIT(PLAIT_KEY_SPLIT), &d, arena, &err),
        &err);
    assert_int_equal(d.split.kind, PLAIT_SPLIT_EVEN);
}

/* DeepSpeed has neither tensor nor context parallelism: Megatron fits the sequence. */
static void test_relax_runtime__finds_software_that_fits(void **state)
{
    plait_relaxation found;
    plait_runtime other;
    plait_problem with;
    plait_error err;
    bool fits;
    world w;

    (void)state;
    load(&w, "qwen3-8b", 8, 120000, "");
    must(plait_runtime_find("deepspeed", arena, &other, &err), &err);
    with = w.problem;
    with.runtime = &other;
    must(plait_relax_runtime(&w.problem, &with, &w.options, false, arena, &found, &fits, &err),
         &err);
    assert_false(fits);
    must(plait_relax_runtime(&with, &w.problem, &w.options, false, arena, &found, &fits, &err),
         &err);
    assert_true(fits);
    assert_non_null(strstr(found.change, "runtime megatron instead of deepspeed, with tp "));
    assert_ptr_equal(found.runtime, w.problem.runtime);
    assert_true(found.best.price.peak_bytes <= plait_capacity_bytes(&w.problem, w.problem.risk));
}

/* Offload is proposed for the runtime of the question, and the least that another one needs. */
static void test_relaxations__offload_to_the_host(void **state)
{
    plait_relaxation found[PLAIT_MAX_RELAXATIONS], instead;
    plait_runtime other;
    plait_problem with;
    plait_error err;
    bool fits;
    int count;
    world w;

    (void)state;
    world_make(&w, "llama-3.1-70b", "megatron", "dgx-a100",
               (plait_job){.seq = 4096, .gbs = 64, .gpus = 8}, arena);
    plait_search_options_init(&w.options);
    must(plait_relaxations(&w.problem, &w.options, arena, found, &count, &err), &err);
    assert_in_range(count, 1, PLAIT_MAX_RELAXATIONS);
    assert_string_equal(found[0].change, "search with --fix offload=optimizer");
    assert_true(found[0].best.price.peak_bytes <= plait_capacity_bytes(&w.problem, w.problem.risk));
    must(plait_search_limit(&w.options, "offload=optimizer", &err),
         &err); // no advice to do the same
    must(plait_relaxations(&w.problem, &w.options, arena, found, &count, &err), &err);
    assert_null(strstr(found[0].change, "offload=optimizer"));
    w.options.limits = 0;
    must(plait_runtime_find("deepspeed", arena, &other, &err), &err);
    with = w.problem;
    with.runtime = &other;
    must(plait_relax_runtime(&w.problem, &with, &w.options, false, arena, &instead, &fits, &err),
         &err);
    assert_false(fits);
    must(plait_relax_runtime(&w.problem, &with, &w.options, true, arena, &instead, &fits, &err),
         &err);
    assert_true(fits);
    assert_non_null(
        strstr(instead.change, "instead of megatron, --fix offload=gradients, with tp "));
}

static void test_first_relaxation__is_the_first_of_all(void **state)
{
    plait_relaxation found[PLAIT_MAX_RELAXATIONS], first;
    plait_error err;
    bool any;
    int count;
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", 8, 8192, "tp=3,mbs=1");
    must(plait_relaxations(&w.problem, &w.options, arena, found, &count, &err), &err);
    must(plait_first_relaxation(&w.problem, &w.options, arena, &first, &any, &err), &err);
    assert_true(any);
    assert_true(count >= 1);
    assert_string_equal(first.change, found[0].change);
    assert_int_equal(strncmp(first.change, "tp = ", 5), 0);
}

// ---- why not -------------------------------------------------------------------------------

static void test_why_not__says_what_is_lost(void **state)
{
    plait_error err;
    plait_why why;
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", 32, 4096, "recompute=none");
    must(plait_why_not(&w.problem, &w.options, "tp=8,pp=4", arena, &why, &err), &err);
    assert_int_equal(why.verdict, PLAIT_FITS);
    assert_int_equal(why.best.plan.degrees.tp, 8);
    assert_int_equal(why.best.plan.stages, 4);
    assert_non_null(strstr(why.sentence, "% more than the "));
    must(plait_why_not(&w.problem, &w.options, "tp=3", arena, &why, &err), &err);
    assert_false(why.any);
    assert_non_null(strstr(why.sentence, "no"));
}

// ---- what binds ----------------------------------------------------------------------------

/* More of a resource never costs time; the peak of what is busiest gains most of all. */
static void test_sensitivities__are_of_the_plan_that_is_given(void **state)
{
    static const int counts[] = {9, 8, 8, 7};
    plait_sensitivity found[PLAIT_SENSITIVITIES];
    plait_degrees degrees = plait_degrees_init();
    plait_chunk chunks[4];
    plait_plan plan;
    plait_cost cost;
    plait_error err;
    world w;

    (void)state;
    load(&w, "llama-3.1-8b", 32, 4096, "recompute=none");
    degrees.pp = 4;
    degrees.tp = 2;
    degrees.sp = true;
    degrees.dp = degrees.shard_group = 4;
    degrees.zero = 1;
    degrees.etp = 2;
    degrees.split.kind = PLAIT_SPLIT_LAYOUT;
    plait_chunks_deal(&w.model, counts, 4, chunks);
    must(plait_plan_lay(&degrees, chunks, arena, &plan, &err), &err);
    must(plait_plan_evaluate(&w.problem, &plan, NULL, arena, &cost, &err), &err);
    assert_int_equal(cost.verdict, PLAIT_FITS);
    must(plait_sensitivities(&w.problem, &plan, arena, found, &err), &err);
    assert_true(found[0].gain > 0.02);
    for (int i = 0; i < PLAIT_SENSITIVITIES; i++) {
        assert_true(found[i].gain >= 0.0 && found[i].gain < 0.1);
        assert_near_relative(found[i].step_s, cost.step_s * (1.0 - found[i].gain), 1e-12);
    }
}

/* The least recomputation that fits, and nothing else of the plan moved. */
static void test_recomputation__is_chosen_for_given_stages(void **state)
{
    static const int counts[] = {20, 20, 20, 20};
    plait_degrees degrees = plait_degrees_init();
    plait_chunk chunks[4];
    plait_plan plan, chosen;
    plait_cost before, after;
    plait_error err;
    world w;

    (void)state;
    load(&w, "llama-3.1-70b", 32, 8192, "recompute=none");
    degrees.pp = 4;
    degrees.tp = 8;
    degrees.etp = 8;
    degrees.sp = true;
    degrees.zero = 1;
    degrees.mbs = 2;
    degrees.split.kind = PLAIT_SPLIT_LAYOUT;
    plait_chunks_deal(&w.model, counts, 4, chunks);
    must(plait_plan_lay(&degrees, chunks, arena, &plan, &err), &err);
    must(plait_plan_evaluate(&w.problem, &plan, NULL, arena, &before, &err), &err);
    assert_int_equal(before.verdict, PLAIT_OUT_OF_MEMORY);
    must(plait_plan_choose_recompute(&w.problem, &plan, arena, &chosen, &err), &err);
    must(plait_plan_evaluate(&w.problem, &chosen, NULL, arena, &after, &err), &err);
    assert_int_equal(after.verdict, PLAIT_FITS);
    assert_true(after.step_s < 1.4 * before.step_s);
    assert_int_equal(chosen.degrees.split.kind, PLAIT_SPLIT_LAYOUT);
    for (int s = 0; s < 4; s++)
        assert_int_equal(chosen.stage[s].layers, 20);
}

static int make_arena(void **state)
{
    (void)state;
    arena = plait_arena_new();
    return arena ? 0 : -1;
}

static int free_arena(void **state)
{
    (void)state;
    plait_arena_fail_after(-1);
    plait_arena_free(arena);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_relaxations__fit_when_they_are_made, make_arena,
                                        free_arena),
        cmocka_unit_test_setup_teardown(test_relaxations__say_when_memory_runs_out, make_arena,
                                        free_arena),
        cmocka_unit_test_setup_teardown(test_changes__are_few_and_the_best_of_their_sort,
                                        make_arena, free_arena),
        cmocka_unit_test_setup_teardown(test_ways_out__run_and_fit, make_arena, free_arena),
        cmocka_unit_test_setup_teardown(test_ways_out__keep_what_is_fixed, make_arena, free_arena),
        cmocka_unit_test_setup_teardown(test_ways_out__say_when_memory_runs_out, make_arena,
                                        free_arena),
        cmocka_unit_test_setup_teardown(test_completion__takes_a_layout_where_no_words_divide,
                                        make_arena, free_arena),
        cmocka_unit_test_setup_teardown(test_relax_runtime__finds_software_that_fits, make_arena,
                                        free_arena),
        cmocka_unit_test_setup_teardown(test_relaxations__offload_to_the_host, make_arena,
                                        free_arena),
        cmocka_unit_test_setup_teardown(test_first_relaxation__is_the_first_of_all, make_arena,
                                        free_arena),
        cmocka_unit_test_setup_teardown(test_why_not__says_what_is_lost, make_arena, free_arena),
        cmocka_unit_test_setup_teardown(test_sensitivities__are_of_the_plan_that_is_given,
                                        make_arena, free_arena),
        cmocka_unit_test_setup_teardown(test_recomputation__is_chosen_for_given_stages, make_arena,
                                        free_arena),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
