/*
 * refine_per_stage.c - searches choices for each stage, at every point where they may win
 *
 *     list    lists all points, without split and choices (per_stage.h), whose lower bound is below
 *             the best known step; the bound uses the times of layers that recompute nothing and
 *             the bytes of layers that recompute everything
 *     solve   solves points in ascending order of estimates: 1F1B by choosing layers and choices
 *             together (S.26); other schedules by trying the named splits and the seeds of layouts,
 *             each with the best choices of its stages
 *
 * Guarantee: no plan of this kind has a step time below `floor` of the result, as for layouts
 * (refine_layouts.c).
 */
#include <math.h>

#include "plan/layout.h"
#include "plait/lowlevel/schedule.h"
#include "search/pipeline/refine.h"
#include "search/pipeline/per_stage.h"

enum {
    MOST_SOLVED = 1 << 12,      /* most points to solve */
    MOST_NODES = 1 << 9,        /* most nodes of each branch and bound of a stage */
    MOST_NODES_PROVEN = 1 << 14 /* the same where layers and choices are solved together */
};

// ---- the list ------------------------------------------------------------------------------

/* Returns whether some stages may have the optimizer on the device and others on the host. */
static bool may_keep(const search_run *run)
{
    const plait_capabilities *can = &run->problem->runtime->can;

    return can->offload_by == PLAIT_BY_STAGE &&
           (can->takes[PLAIT_KEY_OFFLOAD] >> PLAIT_OFFLOAD_NONE & 1u) &&
           limits_allow_text(run->options, PLAIT_KEY_OFFLOAD,
                             plait_offload_name[PLAIT_OFFLOAD_NONE]);
}

/*
 * Returns loads with the times of layers that recompute nothing and the bytes of layers that
 * recompute everything. If the runtime can offload activations, layers store no activations on the
 * device.
 */
static plait_rank_loads least_loads(const search_run *run, search_worker *worker, plait_degrees d)
{
    const bool offloads = run->problem->runtime->can.takes[PLAIT_KEY_OFFLOAD_ACTS] > 1u;
    plait_rank_loads out;

    d.offload_acts = 0;
    d.recompute = (plait_recompute){.kind = PLAIT_RECOMPUTE_FULL};
    const plait_rank_loads full = plait_degrees_rank_loads(worker->table, &d);
    d.recompute.kind = PLAIT_RECOMPUTE_NONE;
    out = plait_degrees_rank_loads(worker->table, &d);
    for (int k = 0; k < run->problem->model->kinds; k++) {
        const double least = offloads ? 0.0 : full.layer[k].saved_bytes;
        out.layer[k].saved_bytes = fmin(out.layer[k].saved_bytes, least);
        out.rest[k] = out.layer[k];
    }
    if (may_keep(run) && d.offload != PLAIT_OFFLOAD_NONE && d.offload != PLAIT_OFFLOAD_PARAMS) {
        d.offload = PLAIT_OFFLOAD_NONE;
        d.offload_share = 0;
        out.after_s = fmin(out.after_s, plait_degrees_rank_loads(worker->table, &d).after_s);
    }
    return out;
}

/*
 * Returns whether layers and choices of a point are solved together. Such a point is solved even if
 * its estimate is large, since its result is proven.
 */
static bool solves_exactly(const search_run *run, const plait_degrees *d)
{
    return refine_may_layout(run) && per_stage_dp_applies(d);
}

static void list_group(const search_run *run, search_worker *worker, refine_group *group,
                       search_found *found)
{
    plait_degrees d = group->degrees;
    plait_rank_loads bound = group->plain;

    // a bound with layers that recompute nothing and store no activations
    refine_take_least(run, worker, group, &bound);
    for (int k = 0; k < run->problem->model->kinds; k++)
        bound.layer[k].saved_bytes = bound.rest[k].saved_bytes = 0.0;
    if (may_keep(run))
        bound.after_s = 0.0; // an optimizer on the device takes less time than one on the host
    if (!refine_may_win(run, group, &bound, found))
        return;
    const plait_rank_loads base = bound;
    for (int s = 0; s < group->shards; s++) {
        refine_take_shard(run, group, s, &base, &bound);
        if (may_keep(run))
            bound.after_s = 0.0;
        if (!refine_may_win(run, group, &bound, found))
            continue;
        space_apply_shard(run->space, &group->shard[s], &d);
        if (!search_layers_may_fit(run, worker, &d, false, refine_best_s(run) - bound.after_s,
                                   run->capacity_bytes))
            continue;
        const plait_rank_loads loads = least_loads(run, worker, d);
        refine_add(run, group, &d, &loads, solves_exactly(run, &d) ? HUGE_VAL : 1.0, found);
    }
}

// ---- one point -----------------------------------------------------------------------------

/* State while one point is solved. */
typedef struct per_stage_attempt {
    const search_run *run;
    per_stage_problem input;
    plait_degrees degrees;
    plait_arena *scratch;
    double limit_s;
    plait_rank_loads loads; /* loads of the point without recomputation */
    bool refused;           /* true if a plan was rejected by its memory or a rule of the runtime */
    refine_solution *out;
} per_stage_attempt;

/*
 * Returns the time of a stage for one microbatch with which every plan of the point reaches the
 * limit: a step takes at least m (T - g) and the time after its pipeline, as for layouts
 * (layouts_bound.c). Infinite if pairs of microbatches hide time.
 */
static double most_round_s(const per_stage_attempt *at)
{
    const plait_degrees *const d = &at->degrees;
    const double rounding = 1e-9;

    if (isinf(at->limit_s) || d->ep_overlap != PLAIT_EP_OVERLAP_NONE)
        return HUGE_VAL;
    // an optimizer on the device takes less time than one on the host
    const double after_s = at->input.may_keep ? 0.0 : at->loads.after_s;
    return (1.0 + rounding) *
           ((at->limit_s - after_s) / at->loads.microbatches + 2.0 * d->vpp * at->loads.fused_s);
}

/*
 * Builds the plan of these chunks with the best choices of each stage. Returns false if no plan
 * fits or the plan is not below the limit.
 */
static bool choose(per_stage_attempt *at, const plait_degrees *d, const plait_chunk *chunks,
                   plait_arena *arena, plait_plan *plan, plait_cost *cost)
{
    per_stage_result result;

    at->input.most_round_s = most_round_s(at);
    if (per_stage_solve(&at->input, d, chunks, arena, &result, NULL) != PLAIT_OK) {
        at->out->failed = true;
        return false;
    }
    at->out->proven = at->out->proven && (!result.fits || result.gap <= 0.0);
    if (!result.refines || !result.fits || result.step_s >= at->limit_s)
        return false;
    if (per_stage_plan(&at->input, d, chunks, &result, arena, plan, NULL) != PLAIT_OK ||
        plait_plan_evaluate(at->run->problem, plan, NULL, arena, cost, NULL) != PLAIT_OK) {
        at->out->failed = true;
        return false;
    }
    at->refused = at->refused || cost->verdict != PLAIT_FITS;
    return cost->verdict == PLAIT_FITS && cost->step_s < at->limit_s;
}

static void try_chunks(per_stage_attempt *at, plait_split split, const plait_chunk *chunks)
{
    const plait_arena_mark mark = plait_arena_save(at->scratch);
    plait_degrees d = at->degrees;
    plait_plan plan;
    plait_cost cost;

    d.split = split;
    if (choose(at, &d, chunks, at->scratch, &plan, &cost) &&
        (split.kind != PLAIT_SPLIT_LAYOUT || layout_write(chunks, d.pp * d.vpp, at->out->layout))) {
        at->out->any = true;
        at->out->split = split;
        at->out->price.step_s = at->limit_s = cost.step_s;
    }
    plait_arena_rewind(at->scratch, mark);
}

static void try_named_splits(per_stage_attempt *at, const space_splits *splits)
{
    const space_split_range *range = space_splits_for(splits, (plait_schedule)at->degrees.schedule);
    plait_chunk chunks[PLAIT_MAX_LAYERS];

    for (int i = range->first; i < range->end; i++) {
        plait_degrees d = at->degrees;
        d.split = splits->split[i].split;
        if (splits->split[i].vpp == d.vpp && plait_chunks_of(at->run->problem->model, &d, chunks))
            try_chunks(at, d.split, chunks);
    }
}

/*
 * For 1F1B: solves layers and choices together. The named splits are among the assignments of
 * layers that this covers.
 */
static void try_dp(per_stage_attempt *at)
{
    const double limit_s = at->limit_s;
    const plait_arena_mark mark = plait_arena_save(at->scratch);
    // S.26 minimises the step time less sends, which are the same for every layout. With grad_sync
    // shifted, S.26 minimises only a lower bound of this time.
    const bool exact = at->degrees.grad_sync != PLAIT_SYNC_SHIFTED && at->loads.fused_s <= 0.0;
    plait_chunk chunks[PLAIT_MAX_LAYERS];
    per_stage_point point;
    per_stage_layout found;

    at->input.most_round_s = most_round_s(at);
    at->input.nodes = MOST_NODES_PROVEN;
    if (per_stage_at(&at->input, &at->degrees, at->scratch, &point, NULL) != PLAIT_OK ||
        per_stage_dp(&point, at->scratch, &found, NULL) != PLAIT_OK)
        at->out->failed = true;
    else if (found.fits) {
        at->refused = false;
        at->out->floor_s = found.proven ? found.time_s : 0.0;
        plait_chunks_deal(at->run->problem->model, found.layers, at->degrees.pp, chunks);
        try_chunks(at, (plait_split){.kind = PLAIT_SPLIT_LAYOUT}, chunks);
        at->out->proven = found.proven && (found.time_s >= limit_s || (exact && !at->refused));
    } else
        at->out->proven = found.proven;
    plait_arena_rewind(at->scratch, mark);
}

/* For other schedules: tries the layouts whose slowest rank is fastest if nothing is recomputed. */
static void try_seeds(per_stage_attempt *at)
{
    const plait_arena_mark mark = plait_arena_save(at->scratch);
    plait_chunk chunks[PLAIT_MAX_LAYERS];
    layout_items row;
    const int count = at->degrees.pp * at->degrees.vpp;
    // an optimizer on the device takes less time than that of the loads
    const double limit_s = at->input.may_keep ? HUGE_VAL : at->limit_s;
    int *ends = plait_arena_alloc(at->scratch, (size_t)(LAYOUT_SEEDS * count), sizeof *ends);

    if (!ends ||
        !layout_items_make(at->run->problem, &at->degrees, &at->loads, HUGE_VAL, at->scratch, &row))
        at->out->failed = true;
    else
        for (int s = 0, seeds = layout_seeds(&row, limit_s, ends); s < seeds; s++) {
            layout_chunks(&row, ends + s * count, chunks);
            try_chunks(at, (plait_split){.kind = PLAIT_SPLIT_LAYOUT}, chunks);
        }
    at->out->proven = false;
    plait_arena_rewind(at->scratch, mark);
}

static per_stage_attempt begin_attempt(const search_run *run, const space_recompute *choice,
                                       plait_table *table, plait_arena *scratch,
                                       const plait_degrees *d, double limit_s, refine_solution *out)
{
    per_stage_attempt at = {
        .run = run, .degrees = *d, .scratch = scratch, .limit_s = limit_s, .out = out};

    at.degrees.recompute = (plait_recompute){.kind = PLAIT_RECOMPUTE_NONE};
    at.degrees.offload_acts = 0;
    per_stage_begin(run->problem, choice->value, choice->count, table, &at.input);
    at.input.may_keep = may_keep(run);
    at.input.nodes = MOST_NODES;
    at.loads = plait_degrees_rank_loads(table, &at.degrees);
    return at;
}

/*
 * Solves a point. `context` is a space_recompute with the choices that may differ between stages.
 */
static void solve_point(const search_run *run, search_worker *worker, const void *context,
                        const open_point *point, double limit_s, refine_solution *out)
{
    const space_recompute *const choice = context;
    per_stage_attempt at =
        begin_attempt(run, choice, worker->table, worker->scratch, &point->degrees, limit_s, out);

    out->skipped = point->floor_s >= limit_s;
    // The point is not searched if no choice may differ between stages.
    out->proven = out->skipped || choice->count > 0;
    if (out->skipped || !out->proven || !per_stage_may_choose(&at.input, &at.degrees))
        return;
    try_named_splits(&at, refine_splits(run, at.degrees.pp));
    if (solves_exactly(run, &at.degrees))
        try_dp(&at);
    else if (refine_may_layout(run))
        try_seeds(&at);
    // A choice that all layers of a plan must share may be faster, so there is no proof.
    if (choice->count < run->space->recompute.count) {
        out->proven = false;
        out->floor_s = 0.0;
    }
}

static plait_status rank(search_run *run, const void *context, const plait_degrees *degrees,
                         const refine_solution *best, plait_ranked *out, plait_error *err)
{
    plait_table *const table = plait_table_new(run->problem, run->arena);
    refine_solution again = {.any = false};
    plait_chunk chunks[PLAIT_MAX_LAYERS];
    plait_cost cost;

    PLAIT_TRY(plait_check_allocated(table, err));
    per_stage_attempt at =
        begin_attempt(run, context, table, run->arena, degrees, HUGE_VAL, &again);
    plait_degrees d = at.degrees;
    d.split = best->split;
    d.split.layout = best->layout;
    if (!plait_chunks_of(run->problem->model, &d, chunks) ||
        !choose(&at, &d, chunks, run->arena, &out->plan, &cost))
        return plait_fail_nomem(err);
    refine_rank(run, &cost, out);
    return PLAIT_OK;
}

// ---- the refinement ------------------------------------------------------------------------

static bool is_applicable(const search_run *run)
{
    return refine_ranks_steps(run) && refine_is_open(run, PLAIT_KEY_RECOMPUTE) &&
           run->problem->runtime->can.recompute_by > PLAIT_BY_PLAN &&
           run->problem->runtime->can.most[PLAIT_KEY_PP] > 1;
}

/* Returns the number of sets of activations that a stage may offload, each solved on its own. */
static int offload_sets(const space_recompute *choices)
{
    unsigned sets = 0;
    int count = 0;

    for (int i = 0; i < choices->count; i++)
        sets |= 1u << choices->value[i].offload_acts;
    for (; sets; sets &= sets - 1)
        count++;
    return count > 0 ? count : 1;
}

static plait_status refine(search_run *run, plait_refinement *out, plait_error *err)
{
    const space_recompute *const all = &run->space->recompute;
    space_choice *const choice =
        plait_arena_alloc(run->arena, (size_t)all->count + 1, sizeof *choice);
    space_recompute own = {.value = choice};
    const refine_steps steps = {.group = list_group,
                                .solve = solve_point,
                                .rank = rank,
                                .context = &own,
                                .most_solved = MOST_SOLVED,
                                .most_work = REFINE_MOST_WORK / offload_sets(all),
                                .layouts = refine_may_layout(run),
                                .mixes = true,
                                .least_stages = 1};

    PLAIT_TRY(plait_check_allocated(choice, err));
    // Choices that all layers of a plan must share are searched only among uniform plans (rule
    // P40).
    for (int i = 0; i < all->count; i++)
        if (!(run->problem->runtime->can.recompute_alike >> all->value[i].recompute.kind & 1u))
            choice[own.count++] = all->value[i];
    return refine_points(run, &steps, out, err);
}

const search_refinement search_per_stage = {
    .name = "stages",
    .is_applicable = is_applicable,
    .run = refine,
};
