/*
 * per_layer.c - sets up a point with the shardings that its layers may have, bounds its stages, and
 * builds the plans of results
 */
#include <math.h>

#include "search/pipeline/per_layer.h"
#include "rules/plan_check.h"
#include "plan/layer_sharding.h"

bool per_layer_applies(const plait_problem *problem, const plait_degrees *d)
{
    const plait_capabilities *const can = &problem->runtime->can;

    return (can->tp_by == PLAIT_BY_LAYER || can->zero_by == PLAIT_BY_LAYER) &&
           can->recompute_by == PLAIT_BY_LAYER && problem->model->kinds == 1 &&
           problem->model->mtp_layers == 0 && d->schedule == PLAIT_1F1B &&
           cuts_have_price(d, &no_reason);
}

// ---- shares --------------------------------------------------------------------------------

const plait_cut_share *per_layer_share(const per_layer_point *point, int sharding, int ends,
                                       int layers)
{
    const bool own = sharding == 0;
    const int row = own ? point->shardings + ends : sharding;
    plait_cut_share *const cached = &point->share[row * (point->layers + 1) + layers];
    const plait_chunk chunk = {.last = layers,
                               .embedding = own && (ends & PER_LAYER_EMBEDDING),
                               .loss = own && (ends & PER_LAYER_LOSS)};
    const plait_stage stage = {
        .chunks = 1, .chunk = &chunk, .degrees = point->own[sharding], .layers = layers};

    if (cached->state_bytes < 0.0)
        *cached = plait_cut_share_of(point->sort[sharding], &stage, own);
    return cached;
}

// ---- a point -------------------------------------------------------------------------------

static bool add_sharding(per_layer_point *point, plait_cut sharding)
{
    const int c = point->shardings++;

    point->sharding[c] = sharding;
    point->own[c] = plait_degrees_cut(&point->degrees, sharding);
    point->sort[c] = plait_stage_pricer_new(point->input->problem, 0, &point->own[c], point->arena);
    return point->sort[c] != NULL;
}

static bool list_shardings(per_layer_point *point)
{
    const per_layer_problem *const q = point->input;

    if (!add_sharding(point, cut_of_degrees(&point->degrees)))
        return false;
    for (int c = 0; c < q->shardings; c++)
        if (!cut_same(q->sharding[c], point->sharding[0]) &&
            cut_legal(q->problem, &point->degrees, q->sharding[c], 0, 0, &no_reason) &&
            !add_sharding(point, q->sharding[c]))
            return false;
    return true;
}

static bool list_costs(per_layer_point *point)
{
    const per_layer_problem *const q = point->input;
    const plait_recompute none = {.kind = PLAIT_RECOMPUTE_NONE};
    const size_t shardings = (size_t)point->shardings, choices = (size_t)q->choices;
    const size_t shares = (shardings + PER_LAYER_ENDS) * (size_t)(point->layers + 1);

    point->cost = plait_arena_alloc(point->arena, shardings * choices, sizeof *point->cost);
    point->plain = plait_arena_alloc(point->arena, shardings, sizeof *point->plain);
    point->share = plait_arena_alloc(point->arena, shares, sizeof *point->share);
    if (!point->cost || !point->plain || !point->share)
        return false;
    for (int c = 0; c < point->shardings; c++) {
        point->plain[c] = plait_cut_layer_cost(point->sort[c], 0, none);
        for (int r = 0; r < q->choices; r++)
            point->cost[c * q->choices + r] = plait_cut_layer_cost(point->sort[c], 0, q->choice[r]);
    }
    for (size_t i = 0; i < shares; i++)
        point->share[i].state_bytes = -1.0;
    return true;
}

per_layer_point *per_layer_begin(const per_layer_problem *q, const plait_degrees *d,
                                 plait_arena *arena)
{
    per_layer_point *const point = plait_arena_alloc(arena, 1, sizeof *point);

    if (!point)
        return NULL;
    *point = (per_layer_point){
        .input = q,
        .degrees = *d,
        .layers = q->problem->model->layers,
        .microbatches = plait_degrees_microbatches(d, q->problem->job.gbs),
        .arena = arena,
    };
    if (!list_shardings(point) || !list_costs(point))
        return NULL;
    point->sends_s = plait_cut_sends_s(point->sort[0]);
    return point;
}

// ---- a lower bound (S.91) ------------------------------------------------------------------
//
//     minimise    sum over options o of x_o t_o
//     subject to  sum x_o = layers,   sum x_o g_o <= room,   x_o >= 0
//
// Memory is the only constraint beside the count, so a mix of two options is optimal. An option is
// a sharding with a choice; a layer of option o takes t_o seconds, and g_o bytes of the device for
// its microbatches in flight.

typedef struct relaxed_option {
    double time_s, bytes;
} relaxed_option;

/* Returns the least time of a mix of two options; infinite if the smaller one does not fit. */
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

static relaxed_option option_of(const per_layer_point *point, int s, int layers, int sharding,
                                int choice)
{
    const plait_degrees *const d = &point->degrees;
    const plait_layer_cost *const cost = &point->cost[sharding * point->input->choices + choice];
    const int ends = per_layer_ends(point, s);
    const double state_bytes = (per_layer_share(point, sharding, ends, layers)->state_bytes -
                                per_layer_share(point, sharding, ends, 0)->state_bytes) /
                               layers;
    const double in_flight = plait_schedule_in_flight(PLAIT_1F1B, d->pp, s, 1, point->microbatches);
    const double scale = point->input->problem->runtime->keep.fragmentation;

    return (relaxed_option){cost->forward_s + cost->backward_s,
                            scale * (state_bytes + in_flight * cost->saved_bytes)};
}

double per_layer_lower_bound_s(const per_layer_point *point, int s, int layers)
{
    const per_layer_problem *const q = point->input;
    const plait_cut_share *const ends = per_layer_share(point, 0, per_layer_ends(point, s), 0);
    const double ends_s = ends->time.forward_s + ends->time.backward_s;
    const double in_flight =
        plait_schedule_in_flight(PLAIT_1F1B, point->degrees.pp, s, 1, point->microbatches);
    const double room = q->capacity_bytes - plait_cut_peak(point->sort[0], ends, in_flight) +
                        q->problem->runtime->keep.fragmentation * ends->spare_bytes;
    const int options = point->shardings * q->choices;
    relaxed_option option[(PER_LAYER_SHARDINGS + 1) * PER_LAYER_CHOICES];
    double best_s = HUGE_VAL;

    if (layers == 0)
        return room >= 0.0 ? ends_s : HUGE_VAL;
    for (int o = 0; o < options; o++)
        option[o] = option_of(point, s, layers, o / q->choices, o % q->choices);
    for (int a = 0; a < options; a++)
        for (int b = a; b < options; b++)
            best_s = fmin(best_s, mix_s(option[a], option[b], layers, room));
    return ends_s + best_s;
}

// ---- plans ---------------------------------------------------------------------------------

/* Lists the choice of each layer of a run, full recomputation first. */
static void list_choices(const per_layer_problem *q, const per_layer_run *run, plait_recompute *out)
{
    int at = 0;

    for (int whole = 1; whole >= 0; whole--)
        for (int c = 0; c < q->choices; c++)
            if ((q->choice[c].kind == PLAIT_RECOMPUTE_FULL) == whole)
                for (int n = 0; n < run->count[c]; n++)
                    out[at++] = q->choice[c];
}

static plait_status plan_stage(const per_layer_point *point, const per_layer_stage *from,
                               plait_arena *arena, plait_stage *out, plait_error *err)
{
    const size_t layers = (size_t)out->layers + 1;
    plait_recompute *const recompute = plait_arena_alloc(arena, layers, sizeof *recompute);
    plait_cut *const sharding = plait_arena_alloc(arena, layers, sizeof *sharding);

    PLAIT_TRY(plait_check_allocated(recompute && sharding, err));
    for (int r = 0, at = 0; r < from->runs; at += from->run[r++].layers) {
        list_choices(point->input, &from->run[r], recompute + at);
        for (int i = 0; i < from->run[r].layers; i++)
            sharding[at + i] = point->sharding[from->run[r].sharding];
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
