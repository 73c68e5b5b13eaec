/*
 * per_layer.c - sets up a point with the shardings that its layers may have, lists the runs of each
 * stage (S.92), and finds the best of them, stage by stage (S.93)
 *
 * The states of the engine (engine.h) are values of tp of the last layer of a stage, since the
 * hidden state is redistributed if the next layer has a different tp. S.91 bounds each of the
 * remaining stages. From these values the bound of S.61 excludes most points before the search
 * starts. (S.94)
 */
#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "search/pipeline/engine.h"
#include "search/pipeline/pack.h"
#include "search/pipeline/per_layer.h"
#include "rules/plan_check.h"
#include "plan/layer_sharding.h"

/* Most labels of one state: a budget instead of a time limit, so that results are reproducible. */
enum { MOST_LABELS = 1 << 10 };

/* Fraction of the capacity to use, so that sums in a different order do not exceed the capacity. */
static const double within = 1.0 - 1e-12;

/* Bits for the ends of the model that a stage has, and the number of their combinations. */
enum { EMBEDDING = 1, LOSS = 2, ENDS = 4 };

bool per_layer_applies(const plait_problem *problem, const plait_degrees *d)
{
    const plait_capabilities *const can = &problem->runtime->can;

    return (can->tp_by == PLAIT_BY_LAYER || can->zero_by == PLAIT_BY_LAYER) &&
           can->recompute_by == PLAIT_BY_LAYER && problem->model->kinds == 1 &&
           problem->model->mtp_layers == 0 && d->schedule == PLAIT_1F1B &&
           cuts_have_price(d, &no_reason);
}

// ---- a point -------------------------------------------------------------------------------

static bool add_sharding(per_layer_point *point, plait_cut sharding)
{
    const int c = point->shardings++;

    point->sharding[c] = sharding;
    point->own[c] = plait_degrees_cut(&point->degrees, sharding);
    point->pricer[c] =
        plait_stage_pricer_new(point->input->problem, 0, &point->own[c], NULL, point->arena);
    return point->pricer[c] != NULL;
}

per_layer_point *per_layer_begin(const per_layer_problem *q, const plait_degrees *d,
                                 plait_arena *arena)
{
    const plait_recompute none = {.kind = PLAIT_RECOMPUTE_NONE};
    per_layer_point *const point = plait_arena_alloc(arena, 1, sizeof *point);

    if (!point)
        return NULL;
    *point = (per_layer_point){
        .input = q,
        .degrees = *d,
        .layers = q->problem->model->layers,
        .microbatches = plait_degrees_microbatches(d, q->problem->job.gbs),
        .scale = q->problem->runtime->keep.fragmentation,
        .arena = arena,
    };
    if (!add_sharding(point, cut_of_degrees(d)))
        return NULL;
    for (int c = 0; c < q->shardings; c++)
        if (!cut_same(q->sharding[c], point->sharding[0]) &&
            cut_legal(q->problem, d, q->sharding[c], 0, 0, &no_reason) &&
            !add_sharding(point, q->sharding[c]))
            return NULL;
    const size_t shardings = (size_t)point->shardings;
    point->cost = plait_arena_alloc(arena, shardings * (size_t)q->choices, sizeof *point->cost);
    point->plain = plait_arena_alloc(arena, shardings, sizeof *point->plain);
    point->sum = plait_arena_alloc(arena, (shardings + ENDS) * (size_t)(point->layers + 1),
                                   sizeof *point->sum);
    if (!point->cost || !point->plain || !point->sum)
        return NULL;
    for (int c = 0; c < point->shardings; c++) {
        point->plain[c] = plait_stage_pricer_layer(point->pricer[c], 0, none);
        for (int r = 0; r < q->choices; r++)
            point->cost[c * q->choices + r] =
                plait_stage_pricer_layer(point->pricer[c], 0, q->choice[r]);
    }
    point->sends_s = plait_stage_pricer_sends_s(point->pricer[0]);
    return point;
}

/*
 * Returns the cost of a number of layers that recompute nothing. For the sharding of the point, the
 * cost includes these ends of the model.
 */
static const plait_sharding_cost *sum_of_layers(const per_layer_point *point, int sharding,
                                                int ends, int layers)
{
    const bool own = sharding == 0;
    const int row = own ? point->shardings + ends : sharding;
    plait_sharding_cost *const cached = &point->sum[row * (point->layers + 1) + layers];
    const plait_chunk chunk = {
        .last = layers, .embedding = own && (ends & EMBEDDING), .loss = own && (ends & LOSS)};
    const plait_stage stage = {
        .chunks = 1, .chunk = &chunk, .degrees = point->own[sharding], .layers = layers};

    if (cached->cost.load.count == 0)
        *cached = plait_sharding_cost_of(point->pricer[sharding], &stage, 0.0, own);
    return cached;
}

/* Returns the ends of the model that stage s has, as bits. */
static int ends_of(const per_layer_point *point, int s)
{
    return (s == 0 ? EMBEDDING : 0) | (s == point->degrees.pp - 1 ? LOSS : 0);
}

static double in_flight_of(const per_layer_point *point, int s)
{
    return plait_schedule_in_flight(PLAIT_1F1B, point->degrees.pp, s, 1, point->microbatches);
}

// ---- a lower bound (S.91) ------------------------------------------------------------------
//
//     minimise    sum over options o of x_o t_o
//     subject to  sum x_o = layers,   sum x_o g_o <= room,   x_o >= 0
//
// An option is a sharding with a kind of recomputation. x_o layers have option o; each takes t_o
// seconds, and g_o bytes of the device for its state and its microbatches in flight. Memory is the
// only constraint besides the count of layers, so a mix of two options is optimal.

typedef struct relaxed_option {
    double time_s, bytes;
} relaxed_option;

/*
 * Returns the least time of layers that mix two options; infinite if they do not fit with the
 * smaller one.
 */
static double mix_s(relaxed_option a, relaxed_option b, double layers, double room)
{
    const relaxed_option small = a.bytes <= b.bytes ? a : b;
    const relaxed_option large = a.bytes <= b.bytes ? b : a;
    const double over = layers * large.bytes - room;

    if (layers * small.bytes > room)
        return HUGE_VAL;
    if (over <= 0.0)
        return layers * fmin(a.time_s, b.time_s);
    const double saved = large.bytes - small.bytes; // positive, since only the smaller one fits
    const double share = fmin(1.0, over / saved / layers);
    const double mixed_s = layers * (share * small.time_s + (1.0 - share) * large.time_s);
    return fmin(mixed_s, layers * small.time_s);
}

static double state_bytes_of(const plait_sharding_cost *sum)
{
    const stage_state *const state = &sum->cost.state;

    return state->weights_bytes + state->gradients_bytes + state->optimizer_bytes +
           state->buffers_bytes + sum->cost.buffers_bytes;
}

/* Returns a lower bound of f + b of stage s; infinite if nothing fits. (S.91) */
static double stage_lower_bound_s(const per_layer_point *point, int s, int layers)
{
    const per_layer_problem *const q = point->input;
    const int end = ends_of(point, s);
    const plait_sharding_cost *const ends = sum_of_layers(point, 0, end, 0);
    const double ends_s = ends->cost.load.forward_s + ends->cost.load.backward_s;
    const double in_flight = in_flight_of(point, s);
    const double room = q->capacity_bytes -
                        plait_sharding_cost_peak(point->pricer[0], ends, in_flight) +
                        point->scale * ends->spare_bytes;
    const int options = point->shardings * q->choices;
    relaxed_option option[(PER_LAYER_SHARDINGS + 1) * PER_LAYER_CHOICES];
    double best_s = HUGE_VAL;

    if (layers == 0)
        return room >= 0.0 ? ends_s : HUGE_VAL;
    for (int o = 0; o < options; o++) {
        const int sharding = o / q->choices;
        const double state_bytes = (state_bytes_of(sum_of_layers(point, sharding, end, layers)) -
                                    state_bytes_of(sum_of_layers(point, sharding, end, 0))) /
                                   layers;
        option[o] =
            (relaxed_option){point->cost[o].forward_s + point->cost[o].backward_s,
                             point->scale * (state_bytes + in_flight * point->cost[o].saved_bytes)};
    }
    for (int a = 0; a < options; a++)
        for (int b = a; b < options; b++)
            best_s = fmin(best_s, mix_s(option[a], option[b], layers, room));
    return ends_s + best_s;
}

// ---- options of a stage (S.92) -------------------------------------------------------------
//
//     one run    each sharding
//     two runs   each pair of shardings in either order, with every number of layers in the first
//
// In each case the layers have the fastest recomputation that fits the memory (S.21).

/* One option of a stage: its runs and their times. */
typedef struct run_option {
    plait_chunk_time time;
    plait_stage_tail tail;
    per_layer_stage stage;
    struct run_option *next;
} run_option;

/* A stage while its options are listed. */
typedef struct stage_slot {
    const per_layer_point *point;
    int stage, layers;
    int tp_before;
    double below_s; /* limit of f + b: slower options are skipped */
    int ends;
    double in_flight;
    bool last;
    plait_arena *arena;
    pack_option *option; /* [PER_LAYER_RUNS][choices] */
    /* [shardings] undominated options, by the first sharding with the same last tp */
    run_option **out;
    bool proven; /* false if a limit of nodes was reached */
} stage_slot;

static bool dominates(const run_option *a, const run_option *b)
{
    return a->time.forward_s <= b->time.forward_s && a->time.backward_s <= b->time.backward_s &&
           a->tail.reduce_s <= b->tail.reduce_s && a->tail.gather_s <= b->tail.gather_s &&
           a->tail.optimizer_s <= b->tail.optimizer_s;
}

/*
 * Inserts an option unless another one with the same last tp dominates it; removes the options that
 * it dominates.
 */
static plait_status keep_option(const stage_slot *w, const run_option *option, int last_tp,
                                plait_error *err)
{
    const per_layer_point *const point = w->point;
    const size_t choices = (size_t)point->input->choices;
    int c = 0;

    while (point->sharding[c].tp != last_tp)
        c++;
    run_option **link = &w->out[c];
    while (*link != NULL) {
        if (dominates(*link, option))
            return PLAIT_OK;
        if (dominates(option, *link))
            *link = (*link)->next;
        else
            link = &(*link)->next;
    }
    run_option *const kept = plait_arena_alloc(w->arena, 1, sizeof *kept);
    int *const count = plait_arena_alloc(w->arena, PER_LAYER_RUNS * choices, sizeof *count);
    PLAIT_TRY(plait_check_allocated(kept && count, err));
    *kept = *option;
    for (int r = 0; r < option->stage.runs; r++)
        kept->stage.run[r].count = memcpy(count + (size_t)r * choices, option->stage.run[r].count,
                                          choices * sizeof *count);
    kept->next = NULL;
    *link = kept;
    return PLAIT_OK;
}

/*
 * Solves S.21 for the runs of a stage: finds the fastest recomputation of their layers that fits.
 * `sum` has the costs of the runs without recomputation and the times of the relocations, which
 * need `between_bytes`. A relocation redistributes the hidden state between layers of different tp.
 */
static plait_status pack_runs(const stage_slot *w, const per_layer_stage *stage,
                              const plait_sharding_cost *sum, double between_bytes,
                              pack_result *out, plait_error *err)
{
    const per_layer_point *const point = w->point;
    const int choices = point->input->choices;
    const stage_load *const ends = &sum_of_layers(point, 0, w->ends, 0)->cost.load;
    plait_sharding_cost bare = *sum;
    int layers[PER_LAYER_RUNS] = {0};
    double plain_s = 0.0; // f + b of the layers if they recompute nothing

    bare.cost.load.saved_bytes = ends->saved_bytes;
    bare.cost.load.live_bytes = 0.0;
    for (int r = 0; r < stage->runs; r++) {
        const plait_layer_cost *const cost = &point->cost[stage->run[r].sharding * choices];
        const plait_layer_cost *const plain = &point->plain[stage->run[r].sharding];
        layers[r] = stage->run[r].layers;
        plain_s += layers[r] * (plain->forward_s + plain->backward_s);
        for (int c = 0; c < choices; c++)
            w->option[r * choices + c] = (pack_option){
                .time_s = cost[c].forward_s + cost[c].backward_s,
                .saved_bytes = point->scale * w->in_flight * cost[c].saved_bytes,
                .live_bytes = point->scale * cost[c].live_bytes,
            };
    }
    const double all_s = sum->cost.load.forward_s + sum->cost.load.backward_s;
    const pack_problem problem = {
        .groups = stage->runs,
        .layers = layers,
        .options = choices,
        .option = w->option,
        .room_bytes = point->input->capacity_bytes * within -
                      plait_sharding_cost_peak(point->pricer[0], &bare, w->in_flight) -
                      point->scale * between_bytes,
        .live_bytes = point->scale * ends->live_bytes,
        .below_s = w->below_s - (all_s - plain_s),
        .nodes = point->input->nodes,
    };
    return pack_solve(&problem, w->arena, out, err);
}

/*
 * Finds the fastest recomputation of the layers of these runs, and keeps the result as an option if
 * it fits.
 */
static plait_status try_runs(stage_slot *w, per_layer_stage stage, plait_error *err)
{
    const per_layer_point *const point = w->point;
    const plait_problem *const problem = point->input->problem;
    const plait_degrees *const d = &point->degrees;
    const plait_arena_mark mark = plait_arena_save(w->arena);
    plait_layout_change between = {0};
    pack_result packed;
    const plait_sharding_cost *of_run[PER_LAYER_RUNS];
    int tp = w->tp_before, own = 0;

    for (int r = 0; r < stage.runs; r++)
        own += stage.run[r].sharding == 0 ? stage.run[r].layers : 0;
    const plait_sharding_cost *const of_own = sum_of_layers(point, 0, w->ends, own);
    plait_chunk_time time = chunk_time_of(&of_own->cost.load);
    for (int r = 0; r < stage.runs; r++) {
        const int sharding = stage.run[r].sharding, to = point->sharding[sharding].tp;
        of_run[r] = sum_of_layers(point, sharding, w->ends, stage.run[r].layers);
        time.forward_s += sharding != 0 ? of_run[r]->cost.load.forward_s : 0.0;
        time.backward_s += sharding != 0 ? of_run[r]->cost.load.backward_s : 0.0;
        plait_relocation_add(&between, plait_relocation_of(problem, d, tp, to));
        tp = to;
    }
    if (w->last) { // the output layer has the tp of the point's degrees
        plait_relocation_add(&between, plait_relocation_of(problem, d, tp, d->tp));
        tp = d->tp;
    }
    time.forward_s += between.forward_s;
    time.backward_s += between.backward_s;
    if (time.forward_s + time.backward_s >= w->below_s)
        return PLAIT_OK;
    plait_sharding_cost sum = *of_own;
    stage_load *const load = &sum.cost.load;
    for (int r = 0; r < stage.runs; r++)
        if (stage.run[r].sharding != 0)
            plait_sharding_cost_add(&sum, of_run[r]);
    load->forward_s = time.forward_s;
    load->backward_s = time.backward_s;
    PLAIT_TRY(pack_runs(w, &stage, &sum, between.bytes, &packed, err));
    w->proven = w->proven && packed.proven;
    if (!packed.fits) {
        plait_arena_rewind(w->arena, mark);
        return PLAIT_OK;
    }
    for (int r = 0; r < stage.runs; r++) {
        const int choices = point->input->choices, sharding = stage.run[r].sharding;
        stage.run[r].count = packed.count + r * choices;
        for (int c = 0; c < choices; c++) {
            const plait_layer_cost *const cost = &point->cost[sharding * choices + c];
            const double n = stage.run[r].count[c];
            load->forward_s += n * (cost->forward_s - point->plain[sharding].forward_s);
            load->backward_s += n * (cost->backward_s - point->plain[sharding].backward_s);
        }
    }
    load->index = w->stage;
    const run_option option = {.time = chunk_time_of(load),
                               .tail = plait_stage_tail_of(problem, d, &sum.cost),
                               .stage = stage};
    return keep_option(w, &option, tp, err);
}

/* Lists the undominated options of a stage that fit. (S.92) */
static plait_status list_runs(stage_slot *w, plait_error *err)
{
    const int shardings = w->point->shardings;

    for (int a = 0; a < shardings; a++) {
        const per_layer_stage one = {.runs = w->layers > 0,
                                     .run = {{.sharding = a, .layers = w->layers}}};
        PLAIT_TRY(try_runs(w, one, err));
        for (int b = 0; b < shardings; b++)
            for (int n = 1; b != a && n < w->layers; n++) {
                const per_layer_stage two = {.runs = 2,
                                             .run = {{.sharding = a, .layers = n},
                                                     {.sharding = b, .layers = w->layers - n}}};
                PLAIT_TRY(try_runs(w, two, err));
            }
    }
    return PLAIT_OK;
}

// ---- all stages ----------------------------------------------------------------------------

typedef struct dp_context {
    const per_layer_point *point;
    const int *layers;
    double limit_s;      /* limit of the step, less its sends */
    double *least;       /* [pp] lower bound of f + b of each stage */
    pipeline_rest *rest; /* [pp + 1] */
    plait_arena *arena;
    bool proven;
} dp_context;

/*
 * Lists the options of a stage. In a pipeline below the limit, the stage takes at most below_s,
 * given the lower bounds of the other stages. (S.61)
 */
static plait_status list_options(pipeline_engine *engine, void *context, int s, int state,
                                 plait_error *err)
{
    dp_context *const w = context;
    const per_layer_point *const point = w->point;
    const int stages = point->degrees.pp, microbatches = point->microbatches;
    const double others_s = w->rest[0].work_s - w->least[s];
    const double mean = microbatches > stages ? microbatches - 0.5 * (stages + 1.0) : 0.0;
    const size_t shardings = (size_t)point->shardings;
    const size_t options = PER_LAYER_RUNS * (size_t)point->input->choices;
    stage_slot slot = {
        .point = point,
        .stage = s,
        .layers = w->layers[s],
        .tp_before = point->sharding[state].tp,
        .below_s = smaller(w->limit_s / microbatches, (w->limit_s - others_s) / (1.0 + mean)),
        .ends = ends_of(point, s),
        .in_flight = in_flight_of(point, s),
        .last = s == stages - 1,
        .arena = w->arena,
        .option = plait_arena_alloc(w->arena, options, sizeof *slot.option),
        .out = plait_arena_alloc(w->arena, shardings, sizeof *slot.out),
        .proven = true,
    };

    PLAIT_TRY(plait_check_allocated(slot.option && slot.out, err));
    PLAIT_TRY(list_runs(&slot, err));
    w->proven = w->proven && slot.proven;
    for (int next = 0; next < point->shardings; next++)
        for (const run_option *option = slot.out[next]; option; option = option->next)
            pipeline_extend(engine, &(pipeline_option){option->time, option->tail, next, option});
    return PLAIT_OK;
}

static pipeline_rest rest_of(const void *context, int stage, int state)
{
    (void)state;
    return ((const dp_context *)context)->rest[stage];
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
        .goal = 0, // the output layer has the tp of the point's degrees
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
    for (int s = stages - 1; s >= 0; s--) {
        w.least[s] = stage_lower_bound_s(point, s, layers[s]);
        w.rest[s].work_s = w.rest[s + 1].work_s + w.least[s];
        w.rest[s].slowest_s = larger(w.rest[s + 1].slowest_s, w.least[s]);
    }
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
        stage[s] = ((const run_option *)path[s]->choice)->stage;
    return PLAIT_OK;
}

// ---- plans ---------------------------------------------------------------------------------

/*
 * Fills the recomputation and sharding of each layer of a stage. In each run, layers with full
 * recomputation come first.
 */
static plait_status plan_stage(const per_layer_point *point, const per_layer_stage *from,
                               plait_arena *arena, plait_stage *out, plait_error *err)
{
    const per_layer_problem *const q = point->input;
    const size_t layers = (size_t)out->layers + 1;
    plait_recompute *const recompute = plait_arena_alloc(arena, layers, sizeof *recompute);
    plait_cut *const sharding = plait_arena_alloc(arena, layers, sizeof *sharding);
    int at = 0;

    PLAIT_TRY(plait_check_allocated(recompute && sharding, err));
    for (int r = 0; r < from->runs; r++)
        for (int whole = 1; whole >= 0; whole--)
            for (int c = 0; c < q->choices; c++)
                for (int n = 0; (q->choice[c].kind == PLAIT_RECOMPUTE_FULL) == whole &&
                                n < from->run[r].count[c];
                     n++, at++) {
                    recompute[at] = q->choice[c];
                    sharding[at] = point->sharding[from->run[r].sharding];
                }
    out->recompute = recompute;
    out->cut = sharding;
    return PLAIT_OK;
}

plait_status per_layer_plan(const per_layer_point *point, const plait_chunk *chunk,
                            const per_layer_result *result, plait_arena *arena, plait_plan *out,
                            plait_error *err)
{
    const int stages = point->degrees.pp;
    plait_stage *const stage = plait_arena_alloc(arena, (size_t)stages, sizeof *stage);

    PLAIT_TRY(plait_check_allocated(stage, err));
    PLAIT_TRY(plait_plan_lay(&point->degrees, chunk, arena, out, err));
    for (int s = 0; s < stages; s++) {
        stage[s] = out->stage[s];
        PLAIT_TRY(plan_stage(point, &result->stage[s], arena, &stage[s], err));
    }
    out->stage = stage;
    return PLAIT_OK;
}
