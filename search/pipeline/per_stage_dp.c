/*
 * per_stage_dp.c - assigns layers to the stages of 1F1B, each of which has its own choices (S.26)
 *
 * The states of the engine (engine.h) are numbers of layers. The choices of a stage (S.23) are
 * computed once for all ranges with the same number of layers of each kind. The first answer is the
 * assignment that minimises the time of the slowest stage; its step time is the limit of the
 * search. tests/property/per_stage_joint/ compares the result with a joint integer program of
 * layers and choices (S.25).
 */
#include <limits.h>
#include <math.h>

#include "search/pipeline/engine.h"
#include "search/pipeline/per_stage.h"

/* Times of a stage, per microbatch and per step. */
typedef struct stage_price {
    /* times per microbatch; negative: not computed yet; infinite: does not fit */
    plait_chunk_time time;
    plait_stage_tail tail;
} stage_price;

typedef struct dp_context {
    const per_stage_point *point;
    plait_arena *arena;
    per_stage_layout *out;
    pipeline_problem problem;
    int stages, layers, microbatches;
    int ranges;                /* number of different identifiers in `range` */
    const int *range;          /* [layers + 1][layers + 1] result of pipeline_ranges */
    stage_price *price;        /* [homes][stages][ranges] cached prices */
    per_stage_point on_device; /* the point with the optimizer on the device */
    int homes;                 /* number of places that the optimizer may have: 1 or 2 */
    double fastest_s;          /* f + b of all layers, each with its fastest choice */
    double best_s;             /* best step time so far, without sends */
} dp_context;

bool per_stage_dp_applies(const plait_degrees *d)
{
    return d->schedule == PLAIT_1F1B && d->vpp == 1;
}

// ---- prices --------------------------------------------------------------------------------

/*
 * Prices a stage of layers [first, last) with its best choices, or reads the price from the cache.
 * Home 1 has the optimizer on the device. Home 0 has it where the degrees of the point have it;
 * with two homes that is the host, which leaves more device memory, so the microbatch is never
 * slower.
 */
static plait_status price_stage(dp_context *w, int s, int first, int last, int home,
                                stage_price *out, plait_error *err)
{
    const per_stage_point *const point = home ? &w->on_device : w->point;
    const int range = w->range[first * (w->layers + 1) + last];
    stage_price *const cached = &w->price[(home * w->stages + s) * w->ranges + range];

    if (cached->time.forward_s < 0.0) {
        const plait_model *const model = w->point->input->problem->model;
        const bool is_last = s == w->stages - 1;
        const plait_chunk chunk = {first, last, s == 0, is_last, is_last ? model->mtp_layers : 0};
        const plait_arena_mark mark = plait_arena_save(w->arena);
        per_stage_stage stage;

        PLAIT_TRY(per_stage_choose(point, s, &chunk, w->arena, &stage, err));
        *cached = (stage_price){.time = {HUGE_VAL, HUGE_VAL, HUGE_VAL}};
        if (stage.count != NULL) {
            const plait_degrees *const d = w->point->degrees;
            const stage_cost cost = plait_stage_base_cost(&stage.base, d, &stage.time);
            *cached =
                (stage_price){stage.time, plait_stage_tail_of(w->point->input->problem, d, &cost)};
        }
        w->out->programs++;
        w->out->proven = w->out->proven && stage.proven;
        plait_arena_rewind(w->arena, mark);
    }
    *out = *cached;
    return PLAIT_OK;
}

static double round_of(const stage_price *price)
{
    return price->time.forward_s + price->time.backward_s;
}

// ---- the first answer ----------------------------------------------------------------------

/*
 * Finds the assignment that minimises the time of the slowest stage, and its step time without
 * sends. slowest(s, u) is the least such time for the first u layers on stages 0 to s: the minimum
 * over n of max(slowest(s - 1, u - n), time of stage s with n layers). *fits is false if no
 * assignment fits.
 */
static plait_status fill_even(dp_context *w, int *out, bool *fits, plait_error *err)
{
    const int all = w->layers + 1;
    const size_t cells = (size_t)w->stages * (size_t)all;
    double *const slowest = plait_arena_alloc(w->arena, cells, sizeof *slowest);
    int *const layers = plait_arena_alloc(w->arena, cells, sizeof *layers);
    pipeline_label label = {.chain = plait_chain_begin()};
    stage_price price;

    PLAIT_TRY(plait_check_allocated(slowest && layers, err));
    for (int s = 0; s < w->stages; s++)
        for (int u = s == w->stages - 1 ? w->layers : 0; u <= w->layers; u++) {
            double best_s = HUGE_VAL;
            for (int n = s == 0 ? u : 0; n <= u; n++) {
                PLAIT_TRY(price_stage(w, s, u - n, u, 0, &price, err));
                if (round_of(&price) >= best_s)
                    break; // more layers take longer
                const double before_s = s == 0 ? 0.0 : slowest[(s - 1) * all + u - n];
                if (fmax(before_s, round_of(&price)) < best_s) {
                    best_s = fmax(before_s, round_of(&price));
                    layers[s * all + u] = n;
                }
            }
            slowest[s * all + u] = best_s;
        }
    *fits = slowest[cells - 1] < HUGE_VAL;
    for (int s = w->stages - 1, u = w->layers; *fits && s >= 0; s--) {
        out[s] = layers[s * all + u];
        u -= out[s];
    }
    for (int s = 0, first = 0; *fits && s < w->stages; first += out[s++]) {
        PLAIT_TRY(price_stage(w, s, first, first + out[s], 0, &price, err));
        pipeline_pass(&w->problem, &(pipeline_option){price.time, price.tail, 0, NULL}, &label);
    }
    w->best_s = label.chain.whole_s + pipeline_tail_s(&label.tail);
    return PLAIT_OK;
}

// ---- options -------------------------------------------------------------------------------

static plait_status list_lengths(pipeline_engine *engine, void *context, int s, int first,
                                 plait_error *err)
{
    dp_context *const w = context;

    for (int last = s == w->stages - 1 ? w->layers : first; last <= w->layers; last++)
        for (int home = 0; home < w->homes; home++) {
            stage_price price;

            PLAIT_TRY(price_stage(w, s, first, last, home, &price, err));
            if (w->microbatches * round_of(&price) < w->best_s)
                pipeline_extend(engine, &(pipeline_option){price.time, price.tail, last, NULL});
            // with more layers both homes are too slow, since home 0 leaves more memory
            else if (home == 0)
                return PLAIT_OK;
        }
    return PLAIT_OK;
}

/* Bounds the remaining stages as if the remaining work were divided equally. */
static pipeline_rest rest_of(const void *context, int stage, int first)
{
    const dp_context *const w = context;
    const double left_s = w->fastest_s * (w->layers - first) / w->layers;
    const int stages = w->stages - stage;

    return (pipeline_rest){.slowest_s = stages > 0 ? left_s / stages : 0.0, .work_s = left_s};
}

/* Sums f + b of all layers, each with its fastest choice, and allocates the prices. */
static plait_status begin_dp(dp_context *w, plait_error *err)
{
    const per_stage_problem *const q = w->point->input;
    const plait_model *const model = q->problem->model;

    for (int i = 0; i < model->layers; i++) {
        const plait_layer_cost *const cost = &w->point->cost[model->layer_kind[i] * q->choices];
        double fastest = HUGE_VAL;
        for (int c = 0; c < q->choices; c++)
            fastest = fmin(fastest, cost[c].forward_s + cost[c].backward_s);
        w->fastest_s += fastest;
    }
    w->range = pipeline_ranges(model, w->arena, &w->ranges);
    const size_t prices = (size_t)(w->homes * w->stages) * (size_t)w->ranges;
    w->price = plait_arena_alloc(w->arena, prices, sizeof *w->price);
    PLAIT_TRY(plait_check_allocated(w->range && w->price, err));
    for (size_t i = 0; i < prices; i++)
        w->price[i].time.forward_s = -1.0;
    return PLAIT_OK;
}

/* Replaces `layers` by those of the best label, if that is faster than the first answer. */
static plait_status improve(dp_context *w, int *layers, plait_error *err)
{
    const pipeline_label *path[PLAIT_MAX_LAYERS];
    pipeline_result dp;

    w->problem.limit = w->best_s * (1.0 - 1e-12); // with a margin for rounding
    PLAIT_TRY(pipeline_solve(&w->problem, w->arena, &dp, err));
    w->out->labels = dp.labels;
    if (dp.best < 0)
        return PLAIT_OK;
    w->best_s = dp.value;
    pipeline_path(&dp, dp.best, w->stages, path);
    for (int s = 0; s < w->stages; s++)
        layers[s] = path[s]->state - (s > 0 ? path[s - 1]->state : 0);
    return PLAIT_OK;
}

plait_status per_stage_dp(const per_stage_point *point, plait_arena *arena, per_stage_layout *out,
                          plait_error *err)
{
    const plait_problem *const problem = point->input->problem;
    const plait_degrees *const d = point->degrees;
    const int microbatches = plait_degrees_microbatches(d, problem->job.gbs);
    int *const layers = plait_arena_alloc(arena, (size_t)d->pp, sizeof *layers);
    const plait_arena_mark mark = plait_arena_save(arena);
    dp_context w = {
        .point = point,
        .arena = arena,
        .out = out,
        .problem = {.shape = {d->pp, microbatches, 1.0},
                    .states = problem->model->layers + 1,
                    .goal = problem->model->layers,
                    .reductions_add = d->grad_sync == PLAIT_SYNC_BULK,
                    .weight = 1.0,
                    .most_labels = INT_MAX,
                    .context = &w,
                    .list = list_lengths,
                    .rest = rest_of},
        .stages = d->pp,
        .layers = problem->model->layers,
        .microbatches = microbatches,
        .on_device = per_stage_on_device(point),
        .homes = per_stage_may_differ_in_offload(point) ? 2 : 1,
    };

    *out = (per_stage_layout){.proven = true, .time_s = HUGE_VAL, .layers = layers};
    PLAIT_TRY(plait_check_allocated(layers, err));
    PLAIT_TRY(begin_dp(&w, err));
    PLAIT_TRY(fill_even(&w, layers, &out->fits, err));
    if (out->fits) {
        PLAIT_TRY(improve(&w, layers, err));
        out->time_s = w.best_s;
    }
    plait_arena_rewind(arena, mark);
    return PLAIT_OK;
}
