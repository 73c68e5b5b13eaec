/*
 * per_layer_dp.c - finds the best option of S.92 for each stage of a pipeline, stage by stage
 * (S.93)
 *
 * The state of the engine is the tp of the last layer, since the hidden state is redistributed if
 * the next layer has a different one. S.91 bounds each of the remaining stages; the bound of S.61
 * from these values rules out most points before the search starts. (S.94)
 */
#include <math.h>

#include "base/numbers.h"
#include "search/pipeline/engine.h"
#include "search/pipeline/per_layer.h"

/* Most labels of one state: a budget instead of a time limit, so that results are reproducible. */
enum { MOST_LABELS = 1 << 10 };

typedef struct dp_context {
    const per_layer_point *point;
    const int *layers;
    double limit_s;      /* limit of the step without sends */
    double *least;       /* [pp] lower bound of f + b of each stage */
    pipeline_rest *rest; /* [pp + 1] */
    plait_arena *arena;
    bool proven;
} dp_context;

/*
 * Returns the longest f + b that a stage can have in a pipeline below the limit, given the work of
 * the other stages. (S.61)
 */
static double max_round_s(int stages, int microbatches, double others_s, double limit_s)
{
    const double mean = microbatches > stages ? microbatches - 0.5 * (stages + 1.0) : 0.0;

    return smaller(limit_s / microbatches, (limit_s - others_s) / (1.0 + mean));
}

static plait_status list_options(pipeline_engine *engine, void *context, int stage, int state,
                                 plait_error *err)
{
    dp_context *const w = context;
    const per_layer_point *const point = w->point;
    const double others_s = w->rest[0].work_s - w->least[stage];
    const per_layer_slot slot = {
        .stage = stage,
        .layers = w->layers[stage],
        .tp_before = point->sharding[state].tp,
        .below_s = max_round_s(point->degrees.pp, point->microbatches, others_s, w->limit_s),
    };
    per_layer_option **const filled =
        plait_arena_alloc(w->arena, (size_t)point->shardings, sizeof(per_layer_option *));

    PLAIT_TRY(plait_check_allocated(filled, err));
    PLAIT_TRY(per_layer_fill(point, &slot, w->arena, &w->proven, filled, err));
    for (int next = 0; next < point->shardings; next++)
        for (const per_layer_option *option = filled[next]; option; option = option->next)
            pipeline_extend(engine, &(pipeline_option){option->time, option->tail, next, option});
    return PLAIT_OK;
}

static pipeline_rest rest_of(const void *context, int stage, int state)
{
    (void)state;
    return ((const dp_context *)context)->rest[stage];
}

static void fill_rest(dp_context *w)
{
    for (int s = w->point->degrees.pp - 1; s >= 0; s--) {
        w->least[s] = per_layer_lower_bound_s(w->point, s, w->layers[s]);
        w->rest[s].work_s = w->rest[s + 1].work_s + w->least[s];
        w->rest[s].slowest_s = larger(w->rest[s + 1].slowest_s, w->least[s]);
    }
}

plait_status per_layer_dp(per_layer_point *point, const int *layers, double limit_s,
                          plait_arena *arena, per_layer_result *out, plait_error *err)
{
    const int stages = point->degrees.pp;
    per_layer_stage *const stage = plait_arena_alloc(arena, (size_t)stages, sizeof *stage);
    dp_context w = {
        .point = point,
        .layers = layers,
        .limit_s = limit_s - point->sends_s,
        .least = plait_arena_alloc(arena, (size_t)stages, sizeof *w.least),
        .rest = plait_arena_alloc(arena, (size_t)stages + 1, sizeof *w.rest),
        .arena = arena,
        .proven = true,
    };
    const pipeline_problem problem = {
        .shape = {stages, point->microbatches, 1.0},
        .states = point->shardings,
        .goal = 0, // the output layer has the point's own tp
        .reductions_add = point->degrees.grad_sync == PLAIT_SYNC_BULK,
        .weight = 1.0,
        .limit = w.limit_s,
        .most_labels = MOST_LABELS,
        .context = &w,
        .list = list_options,
        .rest = rest_of,
    };
    const pipeline_label *path[PLAIT_MAX_LAYERS];
    pipeline_result dp;

    PLAIT_TRY(plait_check_allocated(stage && w.least && w.rest, err));
    fill_rest(&w);
    PLAIT_TRY(pipeline_solve(&problem, arena, &dp, err));
    *out = (per_layer_result){
        .fits = dp.best >= 0,
        .proven = w.proven && dp.complete,
        .step_s = dp.value + point->sends_s,
        .labels = dp.labels,
        .stage = stage,
    };
    if (out->fits)
        pipeline_path(&dp, dp.best, stages, path);
    for (int s = 0; out->fits && s < stages; s++)
        stage[s] = ((const per_layer_option *)path[s]->choice)->stage;
    return PLAIT_OK;
}
