/*
 * per_stage_choose.c - finds the choices of one stage that fit its memory and make a microbatch
 * fastest (S.23). The method depends on the runtime:
 *
 *     recompute_by layer   solves S.21 for the number of layers with each choice
 *     recompute_by stage   tries every choice for all layers, and no recomputation together with
 *                          every number of leading layers that are recomputed in full (full:N)
 */
#include <math.h>
#include <string.h>

#include "search/pipeline/pack.h"
#include "search/pipeline/per_stage.h"

/* Fraction of the capacity to use, so that sums in a different order do not exceed the capacity. */
static const double within = 1.0 - 1e-12;

/* State while the choices of a stage are searched. */
typedef struct stage_work {
    const per_stage_point *point;
    int stage;
    const plait_chunk *chunk; /* [vpp] chunks of the rank */
    double *in_flight;        /* [vpp] microbatches in flight */
    plait_arena *arena;
} stage_work;

/* Returns f + b of a microbatch that the next choice of the stage must not reach. */
static double limit_s(const stage_work *work, const per_stage_stage *best)
{
    return fmin(per_stage_round_s(best), work->point->input->most_round_s);
}

// ---- groups of equal layers ----------------------------------------------------------------

static int count_kind(const stage_work *work, plait_chunk chunk, int kind)
{
    const unsigned char *const kinds = work->point->input->problem->model->layer_kind;
    int count = 0;

    for (int i = chunk.first; i < chunk.last; i++)
        count += kinds[i] == kind;
    return count;
}

/*
 * Returns the base of the stage, the costs that do not depend on the choices of its layers, if the
 * stage and its modules that predict further tokens offload the activations of `set`.
 */
static plait_stage_base base_with(const stage_work *work, unsigned char set)
{
    plait_degrees own = *work->point->degrees;

    own.offload_acts = set;
    if (work->point->kept) {
        own.offload = PLAIT_OFFLOAD_NONE;
        own.offload_share = 0;
    }
    return plait_stage_base_of(work->point->input->table, work->point->degrees, work->stage,
                               work->chunk, &own, work->in_flight);
}

/*
 * Updates the base for `set`. Without modules that predict further tokens, all sets have the same
 * base.
 */
static void update_base(const stage_work *work, unsigned char set, per_stage_stage *stage)
{
    if (work->point->input->problem->model->mtp_layers == 0 || stage->base_set == set)
        return;
    stage->base = base_with(work, set);
    stage->base_set = set;
}

/* Sets the counts of a stage, and the sums of the times and bytes of its layers. */
static void take_counts(const per_stage_point *point, unsigned char set, const int *count,
                        per_stage_stage *out)
{
    const int choices = point->input->choices;
    double held_bytes = 0.0, live_bytes = 0.0;

    out->time = chunk_time_of(&out->base.cost.load);
    out->count = count;
    out->offload_acts = set;
    for (int i = 0; i < out->groups * choices; i++) {
        const per_stage_group *const group = &out->group[i / choices];
        const plait_layer_cost *const one = per_stage_cost(point, group->kind, i % choices);
        if (count[i] == 0)
            continue;
        out->time.forward_s += count[i] * one->forward_s;
        out->time.backward_s += count[i] * one->backward_s;
        out->time.weight_s += count[i] * one->weight_s;
        held_bytes += count[i] * group->in_flight * one->saved_bytes;
        live_bytes = fmax(live_bytes, one->live_bytes);
    }
    out->peak_bytes =
        plait_stage_base_peak(point->input->problem, &out->base, held_bytes, live_bytes);
}

// ---- each layer its own choice -------------------------------------------------------------

/* Solves S.21 for a stage that offloads `set`. Its layers must take less than `below_s`. */
static plait_status pack_under(const stage_work *work, unsigned char set, double below_s,
                               const per_stage_stage *stage, pack_result *out, plait_error *err)
{
    const per_stage_problem *const q = work->point->input;
    const size_t groups = (size_t)stage->groups;
    pack_option *const option =
        plait_arena_alloc(work->arena, groups * (size_t)q->choices, sizeof *option);
    int *const layers = plait_arena_alloc(work->arena, groups, sizeof *layers);

    PLAIT_TRY(plait_check_allocated(option && layers, err));
    for (int g = 0; g < stage->groups; g++) {
        layers[g] = stage->group[g].layers;
        for (int c = 0; c < q->choices; c++) {
            const plait_layer_cost *const one =
                per_stage_cost(work->point, stage->group[g].kind, c);
            // Full recomputation is compatible with any set.
            const bool may = q->choice[c].offload_acts == set ||
                             q->choice[c].recompute.kind == PLAIT_RECOMPUTE_FULL;
            option[g * q->choices + c] = (pack_option){one->forward_s + one->backward_s,
                                                       stage->group[g].in_flight * one->saved_bytes,
                                                       may ? one->live_bytes : HUGE_VAL};
        }
    }
    const pack_problem problem = {
        .groups = stage->groups,
        .layers = layers,
        .options = q->choices,
        .option = option,
        .room_bytes = (q->capacity_bytes * within - stage->base.bytes) /
                      q->problem->runtime->keep.fragmentation,
        .live_bytes = stage->base.cost.load.live_bytes,
        .below_s = below_s,
        .nodes = q->nodes,
    };
    return pack_solve(&problem, work->arena, out, err);
}

static plait_status choose_layers(const stage_work *work, per_stage_stage *out, plait_error *err)
{
    const double scale = work->point->input->problem->runtime->keep.fragmentation;

    for (unsigned char set = 0; set < PLAIT_OFFLOAD_SETS; set++) {
        per_stage_stage next = *out;
        pack_result packed;

        if (!(work->point->sets >> set & 1u))
            continue;
        update_base(work, set, &next);
        const double ends_s = next.base.cost.load.forward_s + next.base.cost.load.backward_s;
        PLAIT_TRY(pack_under(work, set, limit_s(work, out) - ends_s, &next, &packed, err));
        if (packed.fits) {
            take_counts(work->point, set, packed.count, &next);
            *out = next;
        }
        out->need_bytes = fmin(out->need_bytes, next.base.bytes + scale * packed.need_bytes);
        out->nodes += packed.nodes;
        out->proven = out->proven && packed.proven;
    }
    return PLAIT_OK;
}

// ---- one choice a stage --------------------------------------------------------------------

/*
 * One choice for all layers, except the leading layers of each chunk, which have full
 * recomputation.
 */
typedef struct stage_choice {
    int full;                  /* choice of the leading layers */
    int full_recompute_layers; /* number of leading layers of each chunk */
    int rest;                  /* choice of the other layers */
} stage_choice;

static void count_choice(const stage_work *work, const per_stage_stage *stage,
                         const stage_choice *one, int *count)
{
    const int choices = work->point->input->choices;

    memset(count, 0, (size_t)(stage->groups * choices) * sizeof *count);
    for (int g = 0; g < stage->groups; g++) {
        const per_stage_group *const group = &stage->group[g];
        int leading = 0;
        for (int v = 0; v < work->point->degrees->vpp; v++) {
            plait_chunk part = work->chunk[v];
            if (group->chunk >= 0 && group->chunk != v)
                continue;
            if (one->full_recompute_layers < part.last - part.first)
                part.last = part.first + one->full_recompute_layers;
            leading += count_kind(work, part, group->kind);
        }
        count[g * choices + one->full] += leading;
        count[g * choices + one->rest] += group->layers - leading;
    }
}

/*
 * Records a choice in *best, and its counts in `kept`, if it fits and is faster than the best so
 * far.
 */
static void try_choice(const stage_work *work, const stage_choice *one, int *count, int *kept,
                       per_stage_stage *best)
{
    const per_stage_problem *const q = work->point->input;
    const unsigned char set = q->choice[one->rest].offload_acts;
    per_stage_stage next = *best;

    update_base(work, set, &next);
    count_choice(work, best, one, count);
    take_counts(work->point, set, count, &next);
    if (next.time.forward_s == HUGE_VAL)
        return;
    next.nodes = ++best->nodes;
    next.need_bytes = best->need_bytes = fmin(best->need_bytes, next.peak_bytes);
    if (next.peak_bytes > q->capacity_bytes * within ||
        per_stage_round_s(&next) >= limit_s(work, best))
        return;
    *best = next;
    best->count = memcpy(kept, count, (size_t)(next.groups * q->choices) * sizeof *kept);
}

static plait_status choose_one(const stage_work *work, per_stage_stage *out, plait_error *err)
{
    const per_stage_problem *const q = work->point->input;
    const size_t all = (size_t)out->groups * (size_t)q->choices;
    const bool has_leading = q->problem->runtime->can.full_layers;
    // number of layers of the longest chunk; choice of the leading layers
    int longest = 0, full = -1;
    int *const kept = plait_arena_alloc(work->arena, all, sizeof *kept);
    int *const count = plait_arena_alloc(work->arena, all, sizeof *count);

    PLAIT_TRY(plait_check_allocated(kept && count, err));
    for (int v = 0; v < work->point->degrees->vpp; v++) {
        const int layers = work->chunk[v].last - work->chunk[v].first;
        longest = layers > longest ? layers : longest;
    }
    for (int c = 0; c < q->choices && has_leading && full < 0; c++)
        if (q->choice[c].recompute.kind == PLAIT_RECOMPUTE_FULL)
            full = c;
    for (int c = 0; c < q->choices; c++) {
        const bool none = q->choice[c].recompute.kind == PLAIT_RECOMPUTE_NONE;

        if (!(work->point->sets >> q->choice[c].offload_acts & 1u))
            continue;
        try_choice(work, &(stage_choice){c, 0, c}, count, kept, out);
        for (int n = 1; none && full >= 0 && n < longest; n++)
            try_choice(work, &(stage_choice){full, n, c}, count, kept, out);
    }
    return PLAIT_OK;
}

plait_status per_stage_choose(const per_stage_point *point, int s, const plait_chunk *chunk,
                              plait_arena *arena, per_stage_stage *out, plait_error *err)
{
    const plait_model *const model = point->input->problem->model;
    const size_t chunks = (size_t)point->degrees->vpp;
    per_stage_group *const group =
        plait_arena_alloc(arena, (size_t)model->kinds * chunks, sizeof *group);
    const stage_work work = {
        .point = point,
        .stage = s,
        .chunk = chunk,
        .in_flight = plait_arena_alloc(arena, chunks, sizeof *work.in_flight),
        .arena = arena,
    };

    PLAIT_TRY(plait_check_allocated(group && work.in_flight, err));
    *out = (per_stage_stage){
        .group = group, .need_bytes = HUGE_VAL, .proven = true, .kept = point->kept};
    out->base = base_with(&work, point->degrees->offload_acts);
    out->base_set = point->degrees->offload_acts;
    // Make a group for each kind of layers, and for each chunk if the chunks of the rank have
    // different numbers of microbatches in flight.
    for (int k = 0; k < model->kinds; k++)
        for (int v = 0; v < (out->base.uneven ? (int)chunks : 1); v++) {
            const int layers =
                out->base.uneven ? count_kind(&work, chunk[v], k) : out->base.layers[k];
            if (layers > 0)
                group[out->groups++] =
                    (per_stage_group){k, out->base.uneven ? v : -1, layers, work.in_flight[v]};
        }
    return point->input->problem->runtime->can.recompute_by == PLAIT_BY_LAYER
               ? choose_layers(&work, out, err)
               : choose_one(&work, out, err);
}
