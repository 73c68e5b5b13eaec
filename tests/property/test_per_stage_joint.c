/*
 * test_per_stage_joint.c - layers and choices by dynamic programming, by the MILP and by every layout
 *
 * Small models of one kind of layers on a few stages, in more and less memory. Both are compared with the shortest of all
 * layouts, each with its stages' own choices.
 */
#include <string.h>

#include "support/arenas_fixture.h"
#include "search/pipeline/per_stage.h"
#include "joint.h"
#include "support/must.h"
#include "plait/data.h"
#include "search/space/space.h"
#include "plait/lowlevel/schedule.h"
#include "support/random_below.h"

enum { TURNS = 500, LAYERS = 8, STAGES = 3 };

static uint64_t random_seed = 25;

typedef struct world {
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    plait_degrees degrees;
    per_stage_problem input;
    per_stage_point point;
    double sends_s; /* of a step of stages that take no time */
} world;

static void load(world *w)
{
    plait_error err;

    memset(w, 0, sizeof *w);
    must(plait_model_find("llama-3.1-8b", arena, &w->model, NULL, &err), &err);
    must(plait_cluster_find("h100-80gb-sxm:4x8", arena, &w->cluster, &err), &err);
    must(plait_runtime_find("companion", arena, &w->runtime, &err), &err);
}

/* A few layers, stages and microbatches, and three choices at most. */
static void draw(world *w)
{
    stage_cost nothing[STAGES] = {0};
    plait_search_options options;
    plait_error err;

    w->model.layers = 2 + random_below(LAYERS - 1);
    w->degrees = plait_degrees_init();
    w->degrees.pp = 2 + random_below(STAGES - 1);
    w->degrees.split.kind = PLAIT_SPLIT_SPREAD;
    if (w->degrees.pp > w->model.layers)
        w->degrees.pp = 2;
    w->degrees.dp = w->degrees.shard_group = 1 + random_below(3);
    w->degrees.zero = (unsigned char)random_below(2);
    w->degrees.grad_sync = random_below(2) ? PLAIT_SYNC_BULK : PLAIT_SYNC_BUCKETED;
    w->problem = (plait_problem){.model = &w->model,
                                 .cluster = &w->cluster,
                                 .runtime = &w->runtime,
                                 .job = {.seq = 4096,
                                         .gbs = w->degrees.dp * (1 + random_below(8)),
                                         .gpus = w->degrees.dp * w->degrees.pp}};
    plait_search_options_init(&options);
    must(plait_search_limit(&options, "offload_acts=none", &err), &err);
    plait_table *const table = plait_table_new(&w->problem, scratch);
    space_recompute list;
    must(space_list_recompute(&w->problem, &options, scratch, &list, &err), &err);
    per_stage_begin(&w->problem, list.value, list.count, table, &w->input);
    must(per_stage_at(&w->input, &w->degrees, scratch, &w->point, &err), &err);
    for (int stage = 0; stage < STAGES; stage++)
        nothing[stage].load.count = 1;
    w->sends_s = plait_stages_price(table, &w->degrees, nothing).step_s;
}

/* A pipeline, and with what follows it. */
typedef struct layout_time {
    double pipeline_s, time_s;
} layout_time;

static layout_time shorter(layout_time a, layout_time b)
{
    return (layout_time){fmin(a.pipeline_s, b.pipeline_s), fmin(a.time_s, b.time_s)};
}

/* Of these layers, with each stage's own choices; infinite where one does not fit. */
static layout_time time_of(const world *w, const int *layers, double *fullest)
{
    const layout_time never = {HUGE_VAL, HUGE_VAL};
    stage_cost cost[STAGES];
    plait_rank_run run[STAGES];
    int first = 0;

    for (int s = 0; s < w->degrees.pp; s++) {
        const bool last = s == w->degrees.pp - 1;
        const plait_chunk chunk = {first, first + layers[s], s == 0, last, 0};
        per_stage_stage stage;
        plait_error err;
        must(per_stage_choose(&w->point, s, &chunk, scratch, &stage, &err), &err);
        *fullest = fmax(*fullest, stage.need_bytes);
        if (stage.count == NULL)
            return never;
        cost[s] = plait_stage_base_cost(&stage.base, &w->degrees, &stage.time);
        run[s] = (plait_rank_run){1, stage.time, stage.time, stage.time};
        first = chunk.last;
    }
    const plait_pipeline_load load = {
        .ranks = w->degrees.pp,
        .chunks = 1,
        .microbatches = plait_degrees_microbatches(&w->degrees, w->problem.job.gbs),
        .runs = w->degrees.pp,
        .run = run,
    };
    const plait_price price = plait_stages_price(w->input.table, &w->degrees, cost);
    assert_true(price.exact);
    return (layout_time){plait_pipeline_s(PLAIT_1F1B, &load), price.step_s - w->sends_s};
}

static layout_time best_layout(const world *w, int s, int left, int *layers, double *fullest)
{
    layout_time best = {HUGE_VAL, HUGE_VAL};

    if (s == w->degrees.pp - 1) {
        layers[s] = left;
        return time_of(w, layers, fullest);
    }
    for (int n = 0; n <= left; n++) {
        layers[s] = n;
        best = shorter(best, best_layout(w, s + 1, left - n, layers, fullest));
    }
    return best;
}

/* Both solvers find the best of all layouts, and layers that take as long. */
static void hold(const world *w, layout_time best)
{
    double fullest = 0.0;
    joint_result joint;
    per_stage_layout layout;
    plait_error err;

    must(joint_solve(&w->point, scratch, &joint, &err), &err);
    must(per_stage_dp(&w->point, scratch, &layout, &err), &err);
    assert_int_equal(joint.layers != NULL, !isinf(best.time_s));
    assert_int_equal(layout.fits, !isinf(best.time_s));
    if (!layout.fits)
        return;
    assert_near_relative(joint.pipeline_s, best.pipeline_s, 1e-6);
    assert_near_relative(time_of(w, joint.layers, &fullest).pipeline_s, best.pipeline_s, 1e-6);
    assert_near_relative(layout.time_s, best.time_s, 1e-9);
    assert_near_relative(time_of(w, layout.layers, &fullest).time_s, best.time_s, 1e-9);
    assert_true(layout.proven);

    // With one node for each stage, a result that is worse is not called proven.
    per_stage_problem few = *w->point.input;
    per_stage_point hasty = w->point;
    few.nodes = 1;
    hasty.input = &few;
    must(per_stage_dp(&hasty, scratch, &layout, &err), &err);
    if (layout.proven)
        assert_near_relative(layout.time_s, best.time_s, 1e-9);
}

static void test_joint__as_every_layout_of_500_pipelines(void **state)
{
    int misfits = 0, tight = 0;
    world w;

    (void)state;
    load(&w);
    for (int turn = 0; turn < TURNS; turn++) {
        const plait_arena_mark mark = plait_arena_save(scratch);
        int layers[STAGES];
        double fullest = 0.0;
        draw(&w);
        w.input.capacity_bytes = 1e18;
        const layout_time free = best_layout(&w, 0, w.model.layers, layers, &fullest);
        w.input.capacity_bytes = fullest * (0.305 + random_below(80) / 100.0);
        const layout_time best = best_layout(&w, 0, w.model.layers, layers, &fullest);

        misfits += isinf(best.time_s);
        tight += !isinf(best.time_s) && best.time_s > free.time_s * 1.0001;
        hold(&w, best);
        plait_arena_rewind(scratch, mark);
    }
    print_message("%d do not fit, %d in memory that binds\n", misfits, tight);
    assert_true(misfits > 20 && tight > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_joint__as_every_layout_of_500_pipelines),
    };
    return cmocka_run_group_tests(tests, make_arenas, free_arenas);
}
