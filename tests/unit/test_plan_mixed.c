/* test_plan_mixed.c - which plans over several sorts of nodes are legal, and what is said of the others */
#include <string.h>

#include "support/arena_fixture.h"
#include "support/must.h"
#include "plait/data.h"
#include "plait/plan.h"
#include "plait/search.h"

enum { STAGES = 4 };

/* Stages 0 and 1 on two nodes of H100, 2 and 3 on two of A100, each a node with tp 4. */
typedef struct world {
    plait_model model;
    plait_runtime runtime;
    plait_cluster cluster;
    plait_problem problem;
    plait_stage stage[STAGES];
    plait_chunk chunk[STAGES];
    plait_recompute none[8];
    plait_plan plan;
} world;

static void set_shape(plait_stage *stage, int tp, int dp, int mbs)
{
    stage->degrees.tp = stage->degrees.etp = tp;
    stage->degrees.sp = tp > 1;
    stage->degrees.dp = stage->degrees.shard_group = dp;
    stage->degrees.mbs = mbs;
}

static void make(world *w)
{
    plait_error err;

    memset(w, 0, sizeof *w);
    must(plait_model_find("llama-3.1-8b", arena, &w->model, NULL, &err), &err);
    must(plait_cluster_find("h100-80gb-sxm:2x8+a100-80gb-sxm:2x8", arena, &w->cluster, &err), &err);
    must(plait_runtime_find("companion", arena, &w->runtime, &err), &err);
    plait_problem_init(&w->problem);
    w->problem.model = &w->model;
    w->problem.cluster = &w->cluster;
    w->problem.runtime = &w->runtime;
    w->problem.job = (plait_job){.seq = 4096, .gbs = 64, .gpus = w->cluster.gpus};

    plait_degrees d = plait_degrees_init();
    d.pp = STAGES;
    d.tp = 4;
    d.dp = 2;
    d.zero = 1;
    plait_degrees_fill(&w->problem,
                       PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_PP) |
                           PLAIT_KEY_BIT(PLAIT_KEY_DP) | PLAIT_KEY_BIT(PLAIT_KEY_MBS) |
                           PLAIT_KEY_BIT(PLAIT_KEY_ZERO) | PLAIT_KEY_BIT(PLAIT_KEY_SCHEDULE),
                       &d);
    d.split.kind = PLAIT_SPLIT_LAYOUT;
    for (int s = 0; s < STAGES; s++)
        w->chunk[s] = (plait_chunk){
            .first = 8 * s, .last = 8 * (s + 1), .embedding = s == 0, .loss = s == STAGES - 1};
    must(plait_plan_lay(&d, w->chunk, arena, &w->plan, &err), &err);
    for (int s = 0; s < STAGES; s++) {
        w->stage[s] = (plait_stage){.chunks = 1,
                                    .chunk = &w->chunk[s],
                                    .degrees = w->plan.degrees,
                                    .recompute = w->none,
                                    .layers = 8,
                                    .group = s / 2};
        set_shape(&w->stage[s], 4, 2, 1);
    }
    w->plan.stage = w->stage;
}

static void assert_legal(const world *w)
{
    char why[400] = "";

    if (plait_plan_check(&w->problem, &w->plan, NULL, why, sizeof why) == PLAIT_INVALID)
        fail_msg("expected a legal plan, found: %s", why);
}

static void assert_refused(const world *w, const char *expected)
{
    char why[400] = "";

    assert_int_equal(plait_plan_check(&w->problem, &w->plan, NULL, why, sizeof why), PLAIT_INVALID);
    assert_string_equal(why, expected);
}

static void test_groups__hold_their_stages_in_one_run(void **state)
{
    world w;

    (void)state;
    make(&w);
    assert_legal(&w);
    w.stage[1].group = 1;
    w.stage[2].group = 0;
    assert_refused(
        &w, "stage 2 is in node group 0: the stages of a group must be consecutive (rule P32)");
    w.stage[1].group = 0;
    assert_refused(&w, "stage 0 is in node group 0: the stages of this group need 24 GPUs, but the "
                       "group has 16 (rule P32)");
}

static void test_stages__take_the_same_sequences_at_a_time(void **state)
{
    world w;

    (void)state;
    make(&w);
    set_shape(&w.stage[3], 8, 1, 2);
    assert_legal(&w);
    w.stage[3].degrees.mbs = 1;
    assert_refused(
        &w, "stage 3 has microbatches of dp 1 x mbs 1 sequences, but stage 0 of 2 x 1 (rule P33)");
}

static void test_stages__of_one_group_begin_where_theirs_would(void **state)
{
    world w;

    (void)state;
    make(&w);
    set_shape(&w.stage[2], 2, 2, 1); // 4 GPUs, then a node of 8
    set_shape(&w.stage[3], 4, 2, 1);
    assert_refused(&w, "stage 3 has 8 GPUs and begins at GPU 4 of its group, which is neither a "
                       "multiple of the 8 GPUs of a node nor of the GPUs of the stage (rule P48)");
    set_shape(&w.stage[2], 4, 2, 1);
    set_shape(&w.stage[3], 2, 2, 1); // a node, then half of one
    assert_legal(&w);
}

static void test_stages__that_differ_need_software_that_runs_them(void **state)
{
    world w;

    (void)state;
    make(&w);
    w.runtime.can.stages_differ = false;
    w.runtime.name = "megatron";
    assert_refused(&w,
                   "megatron runs all stages with the same degrees on one kind of node (rule P31)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_groups__hold_their_stages_in_one_run, begin, end),
        cmocka_unit_test_setup_teardown(test_stages__take_the_same_sequences_at_a_time, begin, end),
        cmocka_unit_test_setup_teardown(test_stages__of_one_group_begin_where_theirs_would, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_stages__that_differ_need_software_that_runs_them,
                                        begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
