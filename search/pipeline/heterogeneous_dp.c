/*
 * heterogeneous_dp.c - finds the best layers of each stage for one order of groups
 *
 * The states of the engine (engine.h) are numbers of layers. The remaining stages are bounded from
 * the last one backwards, by the least time of any assignment of layers. Let x(s, i, j) be the
 * least f + b of stage s with layers i to j - 1 if it fits, and a(s, i, j) its least tail. Then the
 * bounds of stages s and later, which hold the layers from i on, are
 *
 *     slowest(s, i) = min over j of max(x(s, i, j), slowest(s + 1, j))                       (S.63)
 *     work(s, i)    = min over j of     x(s, i, j) + work(s + 1, j)
 *     tail(s, i)    = min over j of max(a(s, i, j), tail(s + 1, j))
 *
 * Several threads solve orders at the same time, so these functions write only to their own arena.
 */
#include <math.h>

#include "base/numbers.h"
#include "search/pipeline/heterogeneous.h"

/*
 * `min` and `max` bound the number of layers before each stage by the layers that the stages before
 * and after can hold. `rest` is computed only between these bounds and is infinite elsewhere. `row`
 * and `options` are taken from the caches of the degrees, which are filled before the search of the
 * order.
 */
typedef struct dp_context {
    const hetero_problem *q;
    const group_order *order;
    int stages, layers;
    const stage_bound **row; /* [stages] by range of layers */
    stage_options **options; /* [stages] by range of layers */
    int *min, *max;          /* [stages + 1] bounds of the layers before a stage */
    pipeline_rest *rest;     /* [stages + 1][layers + 1] */
} dp_context;

static double stage_s(const dp_context *d, int s, int first, int last)
{
    return d->row[s][hetero_range(d->q, first, last)].stage_s;
}

// ---- bounds --------------------------------------------------------------------------------

/*
 * Fills min and max from the most layers that each stage holds in a plan below the limit. With
 * several kinds of layers, each stage counts as able to hold all layers. Returns false if the order
 * cannot hold the model.
 */
static bool fill_window(dp_context *d)
{
    const int stages = d->stages;

    for (int s = 0; s < stages; s++) {
        const int end = d->layers - (stages - 1 - s); // each remaining stage has a layer
        int held = d->q->problem->model->kinds > 1 ? d->layers : 0;
        while (held < d->layers && stage_s(d, s, 0, held + 1) <= d->order->max_s)
            held++;
        if (held == 0)
            return false;
        const int most = d->max[s] + held;
        d->max[s + 1] = most < end ? most : end;
        d->min[s] = held; // most layers of stage s; the next loop replaces it by the bound
    }
    d->min[stages] = d->layers;
    for (int s = stages - 1; s >= 0; s--) {
        const int least = d->min[s + 1] - d->min[s];
        d->min[s] = least > s ? least : s;
    }
    return d->min[0] == 0 && d->max[stages] == d->layers;
}

/* Computes S.63 over the ranges of layers that a stage may hold in a plan below the limit. */
static void fill_rest(dp_context *d)
{
    const pipeline_rest nothing = {0.0, 0.0, 0.0}, never = {HUGE_VAL, HUGE_VAL, HUGE_VAL};

    for (int s = d->stages; s >= 0; s--)
        for (int i = 0; i <= d->layers; i++) {
            pipeline_rest *const rest = &d->rest[s * (d->layers + 1) + i];
            *rest = s == d->stages ? nothing : never;
            if (i < d->min[s] || i > d->max[s])
                *rest = never;
            else if (s < d->stages)
                for (int j = i + 1; j <= d->max[s + 1]; j++) {
                    const stage_bound *own = &d->row[s][hetero_range(d->q, i, j)];
                    const pipeline_rest *after = &d->rest[(s + 1) * (d->layers + 1) + j];
                    // more layers neither fit nor take less time
                    if (own->stage_s > d->order->max_s)
                        break;
                    rest->slowest_s =
                        smaller(rest->slowest_s, larger(own->stage_s, after->slowest_s));
                    rest->work_s = smaller(rest->work_s, own->stage_s + after->work_s);
                    rest->tail_s = smaller(rest->tail_s, larger(own->tail_s, after->tail_s));
                }
        }
}

static pipeline_rest rest_of(const void *context, int stage, int state)
{
    const dp_context *const d = context;

    return d->rest[stage * (d->layers + 1) + state];
}

// ---- options -------------------------------------------------------------------------------

static plait_status list_options(pipeline_engine *engine, void *context, int s, int i,
                                 plait_error *err)
{
    const dp_context *const d = context;
    const int in_flight = hetero_in_flight(d->order->set, s);

    (void)err;
    for (int j = i + 1; j <= d->max[s + 1] && stage_s(d, s, i, j) <= d->order->max_s; j++) {
        const stage_options *options = &d->options[s][hetero_range(d->q, i, j)];
        for (int o = 0; o < options->count; o++) {
            const stage_option *one = &options->option[o];
            if (one->max_in_flight >= in_flight)
                pipeline_extend(engine, &(pipeline_option){one->time, one->tail, j, one});
        }
    }
    return PLAIT_OK;
}

static double step_of(const void *context, double pipeline_s, const plait_stage_tail *tail)
{
    const dp_context *const d = context;
    const double sends_s = plait_between_sends_s(d->q->problem, &d->order->between,
                                                 d->order->set->shape.microbatches, pipeline_s);

    return pipeline_s + sends_s + tail->reduce_s + tail->gather_s + tail->optimizer_s;
}

// ---- one order -----------------------------------------------------------------------------

static plait_status solve(dp_context *d, double limit, plait_arena *arena, hetero_layout *out)
{
    const pipeline_problem problem = {
        .shape = d->order->set->shape,
        .states = d->layers + 1,
        .goal = d->layers,
        .weight = d->order->set->weight,
        .limit = limit,
        .most_labels = d->order->most_labels,
        .context = d,
        .list = list_options,
        .rest = rest_of,
        .step_s = step_of,
    };
    const size_t stages = (size_t)d->stages;
    const pipeline_label *path[PLAIT_MAX_LAYERS];
    pipeline_result dp;

    d->row = plait_arena_alloc(arena, stages, sizeof(stage_bound *));
    d->options = plait_arena_alloc(arena, stages, sizeof(stage_options *));
    d->min = plait_arena_alloc(arena, stages + 1, sizeof *d->min);
    d->max = plait_arena_alloc(arena, stages + 1, sizeof *d->max);
    d->rest = plait_arena_alloc(arena, (stages + 1) * (size_t)(d->layers + 1), sizeof *d->rest);
    if (!d->row || !d->options || !d->min || !d->max || !d->rest)
        return PLAIT_ERROR_NOMEM;
    for (int r = 0, s = 0; r < d->order->set->runs; r++)
        for (int n = 0; n < d->order->run[r]->stages; n++, s++) {
            group_degrees *const choice = d->order->run[r]->choice;
            const hetero_place place = hetero_place_of(d->order->set, s);
            const int end = hetero_end(d->q, choice, place, hetero_other_end(d->order, s));
            d->row[s] = choice->cache->bounds[place][end][hetero_in_flight(d->order->set, s)];
            d->options[s] = choice->cache->options[place][end];
        }
    if (!fill_window(d))
        return PLAIT_OK;
    fill_rest(d);
    PLAIT_TRY(pipeline_solve(&problem, arena, &dp, NULL));
    out->solved = dp.bound < limit;
    out->objective = dp.value;
    if (dp.best >= 0)
        pipeline_path(&dp, dp.best, d->stages, path);
    for (int s = 0; dp.best >= 0 && s < d->stages; s++) {
        out->last[s] = (short)path[s]->state;
        out->recompute[s] = (unsigned char)((const stage_option *)path[s]->choice)->recompute;
    }
    return PLAIT_OK;
}

hetero_layout hetero_dp(const hetero_problem *q, const group_order *order, double limit,
                        plait_arena *arena)
{
    const size_t stages = (size_t)order->set->shape.stages;
    hetero_layout out = {.objective = HUGE_VAL,
                         .last = plait_arena_alloc(arena, stages, sizeof *out.last),
                         .recompute = plait_arena_alloc(arena, stages, sizeof *out.recompute)};
    const plait_arena_mark mark = plait_arena_save(arena);
    dp_context d = {.q = q,
                    .order = order,
                    .stages = order->set->shape.stages,
                    .layers = q->problem->model->layers};

    out.failed = !out.last || !out.recompute || solve(&d, limit, arena, &out) != PLAIT_OK;
    plait_arena_rewind(arena, mark);
    return out;
}
