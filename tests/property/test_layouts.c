/*
 * test_layouts.c - the best layout of a point is what pricing every layout finds
 *
 * Small models on two to four ranks: every way to cut the row of embedding, layers, module and loss is
 * spelled, read back, and priced as a plan, by an enumerator that shares no code with the search.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/assert_near.h"
#include "search/pipeline/layouts.h"
#include "support/must.h"
#include "plait/data.h"
#include "support/few_draws.h"
#include "costmodel/api.h"
#include "plait/lowlevel/schedule.h"

enum { INSTANCES = FEW_DRAWS ? 100 : 1000 };

static plait_arena *arena;

static uint64_t state = 20260101;

static int below(int n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

// ---- questions -----------------------------------------------------------------------------

typedef struct instance {
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    plait_degrees degrees;
    double capacity_bytes;
} instance;

/* A shipped model with fewer layers: dense alone, or dense before experts and a module behind. */
static void cut_model(instance *of, int layers)
{
    static const char *const names[] = {"llama-3.1-8b", "deepseek-v3", "gemma-2-2b", "gpt2-xl"};
    plait_error err;

    must(plait_model_find(names[below(4)], arena, &of->model, NULL, &err), &err);
    of->model.layers = layers;
    of->model.layer_kind += below(4); // so that both kinds are among them
}

static void choose_degrees(instance *of, int ranks, plait_schedule schedule)
{
    static const plait_recompute_kind recompute[] = {
        PLAIT_RECOMPUTE_NONE, PLAIT_RECOMPUTE_SELECTIVE, PLAIT_RECOMPUTE_FULL};
    plait_degrees *d = &of->degrees;

    *d = plait_degrees_init();
    d->pp = ranks;
    d->vpp = plait_schedule_takes(schedule, 1) ? 1 : 2;
    d->schedule = (unsigned char)schedule;
    d->dp = 8 / ranks;
    d->shard_group = d->dp;
    d->zero = (unsigned char)below(2);
    d->recompute.kind = (unsigned char)recompute[below(3)];
    d->split.kind = PLAIT_SPLIT_LAYOUT;
}

static void make(instance *of)
{
    static const plait_schedule schedules[] = {PLAIT_1F1B,  PLAIT_1F1B,        PLAIT_1F1B,
                                               PLAIT_GPIPE, PLAIT_INTERLEAVED, PLAIT_ZB_V};
    const plait_schedule schedule = schedules[below(6)];
    const int ranks = plait_schedule_takes(schedule, 1) ? 2 << below(2) : 2;
    plait_error err;

    cut_model(of, 2 + below(ranks == 4 ? 5 : 6));
    must(plait_cluster_find("h100-80gb-sxm:1x8", arena, &of->cluster, &err), &err);
    must(plait_runtime_find("companion", arena, &of->runtime, &err), &err);
    choose_degrees(of, ranks, schedule);
    of->problem = (plait_problem){
        .model = &of->model,
        .cluster = &of->cluster,
        .runtime = &of->runtime,
        .job = {.seq = 256 << below(4),
                .gbs = of->degrees.dp * ranks * (1 + below(5)),
                .gpus = 8,
                .precision = PLAIT_BF16},
    };
    of->degrees.attention = (unsigned char)plait_attention_usual(&of->problem);
    of->capacity_bytes = HUGE_VAL;
}

// ---- every layout --------------------------------------------------------------------------

typedef struct brute {
    const instance *of;
    bool pipeline; /* compared by the pipeline alone */
    char row[64];  /* EttttmL */
    char text[192];
    int layouts;
    double best_s, least_bytes;
    double best_step_s;
} brute;

static double time_of(const plait_cost *cost, bool pipeline)
{
    return pipeline
               ? cost->step_s - cost->step.dp_comm_s - cost->step.optimizer_s - cost->step.pp_comm_s
               : cost->step_s;
}

static void price(brute *all)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    plait_degrees d = all->of->degrees;
    plait_plan plan;
    plait_cost cost;
    plait_error err;

    d.split.layout = all->text;
    must(plait_plan_expand(&all->of->problem, &d, arena, &plan, &err), &err);
    must(plait_plan_evaluate(&all->of->problem, &plan, NULL, arena, &cost, &err), &err);
    assert_int_not_equal(cost.verdict, PLAIT_INVALID);
    plait_arena_rewind(arena, mark);
    all->layouts++;
    all->least_bytes = fmin(all->least_bytes, cost.memory.peak_bytes);
    if (cost.memory.peak_bytes > all->of->capacity_bytes)
        return;
    all->best_s = fmin(all->best_s, time_of(&cost, all->pipeline));
    all->best_step_s = fmin(all->best_step_s, cost.step_s);
}

/* A module is in the last chunk of its rank, and with rank 0 in the last of all. */
static bool module_suits(const instance *of, int chunk)
{
    const plait_degrees *d = &of->degrees;
    const int chunks = d->pp * d->vpp;

    return chunk == chunks - 1 ||
           (chunk >= chunks - d->pp &&
            plait_schedule_rank((plait_schedule)d->schedule, d->pp, chunk) != 0);
}

/* Writes the row from `at` on in every way, chunk `chunk` being begun. */
static void cut(brute *all, size_t at, int chunk, size_t used)
{
    const int chunks = all->of->degrees.pp * all->of->degrees.vpp;
    const bool begun = used > 0 && all->text[used - 1] != '|';

    if (all->row[at] == '\0') {
        all->text[used] = '\0';
        if (chunk == chunks - 1)
            price(all);
        return;
    }
    if (chunk < chunks - 1 && (chunk > 0 || begun)) {
        all->text[used] = '|';
        cut(all, at, chunk + 1, used + 1);
    }
    if ((all->row[at] == 'L' && chunk < chunks - 1) ||
        (all->row[at] == 'm' && !module_suits(all->of, chunk)))
        return;
    all->text[used] = all->row[at];
    cut(all, at + 1, chunk, used + 1);
}

static brute try_all(const instance *of, bool pipeline)
{
    brute all = {.of = of,
                 .pipeline = pipeline,
                 .best_s = HUGE_VAL,
                 .least_bytes = HUGE_VAL,
                 .best_step_s = HUGE_VAL};

    snprintf(all.row, sizeof all.row, "E%.*s%.*sL", of->model.layers, "tttttttttttttttttttt",
             of->model.mtp_layers, "mmmm");
    cut(&all, 0, 0, 0);
    return all;
}

// ---- the search's --------------------------------------------------------------------------

static layout_result solve(const instance *of, layout_items *row)
{
    plait_table *table = plait_table_new(&of->problem, arena);
    plait_arena *scratch = plait_arena_new();
    layout_pricer pricer = {
        .problem = &of->problem,
        .table = table,
        .degrees = of->degrees,
        .scratch = scratch,
        .capacity_bytes = of->capacity_bytes,
        .limit_s = HUGE_VAL,
    };
    layout_result found;

    const plait_rank_loads loads = plait_degrees_rank_loads(table, &of->degrees);
    assert_true(
        layout_items_make(&of->problem, &of->degrees, &loads, of->capacity_bytes, arena, row));
    layout_solve(&pricer, row, &found);
    assert_false(pricer.failed);
    plait_arena_free(scratch);
    return found;
}

static void check(instance *of)
{
    layout_items row;
    const bool pipeline = of->degrees.schedule == PLAIT_1F1B;
    brute all = try_all(of, pipeline);

    if (below(3) == 0) { // and with memory for some of them
        of->capacity_bytes = all.least_bytes * (1.0 + 1e-9 + 0.1 * below(4));
        all = try_all(of, pipeline);
    }
    const layout_result found = solve(of, &row);

    assert_true(all.layouts > 1);
    assert_true(found.proven || pipeline);
    assert_int_equal(found.any, isfinite(all.best_s));
    if (!found.any)
        return;
    // What was found costs as a plan what the search says.
    plait_degrees d = of->degrees;
    plait_plan plan;
    plait_cost cost;
    plait_error err;
    d.split.layout = found.text;
    must(plait_plan_expand(&of->problem, &d, arena, &plan, &err), &err);
    must(plait_plan_evaluate(&of->problem, &plan, NULL, arena, &cost, &err), &err);
    assert_near_relative(cost.step_s, found.price.step_s, 1e-9);
    assert_near_relative(cost.memory.peak_bytes, found.price.peak_bytes, 1e-9);
    // 1F1B is solved for its pipeline; what follows that may be longer on another rank, and is then no proof.
    if (found.proven)
        assert_near_relative(cost.step_s, all.best_step_s, 1e-9);
    assert_true(found.floor_s <= all.best_step_s * (1.0 + 1e-9) || found.proven);
    if (pipeline && isinf(found.pipeline_s)) { // few layouts are all tried, and none is left out
        assert_true(found.proven);
        return;
    }
    assert_near_relative(pipeline ? found.pipeline_s : cost.step_s, all.best_s, 1e-9);
    if (pipeline)
        return;
    layout_shape *ranks = plait_arena_alloc(arena, 1, sizeof *ranks);
    plait_table *table = plait_table_new(&of->problem, arena);
    const plait_rank_loads loads = plait_degrees_rank_loads(table, &of->degrees);
    layout_shape_init(ranks, &of->model, &of->degrees);
    layout_shape_add_memory(ranks, &of->degrees, loads.microbatches);
    const double floor_s = layout_lower_bound_s(ranks, &loads, of->capacity_bytes, HUGE_VAL);
    if (ranks->least == 0)
        assert_true(floor_s <= cost.step_s * (1.0 + 1e-9));
}

static void test_layouts__are_the_best_of_all(void **unused)
{
    (void)unused;
    for (int i = 0; i < INSTANCES; i++) {
        instance of;

        arena = plait_arena_new();
        assert_non_null(arena);
        make(&of);
        check(&of);
        plait_arena_free(arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts__are_the_best_of_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
