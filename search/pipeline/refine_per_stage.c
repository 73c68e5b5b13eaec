/*
 * refine_stages.c - each stage with choices of its own, at every point that may win by them
 *
 *     list    all points but for split and choice, as far as their floor is below the best known: that of
 *             layers which recompute nothing and keep no more than whole recomputation leaves
 *     solve   the likeliest first: 1F1B with its layers dealt anew (S.26), else the splits in
 *             words and what layouts are dealt from, each with the best choices of its stages
 *
 * Guarantee: as that of layouts (refine_layouts.c): `floor` bounds what was left.
 */
#include <math.h>
#include <string.h>

#include "search/answer.h"
#include "plan/layout.h"
#include "plait/schedule.h"
#include "search/pipeline/refine.h"
#include "search/pipeline/per_stage.h"

enum {
    MOST_SOLVED = 1 << 12,
    MOST_NODES = 1 << 12 /* of the branch and bound of one stage */
};

// ---- the list ------------------------------------------------------------------------------

/* May a stage keep the optimizer's state on the device where others have it on the host? */
static bool may_keep(const search_run *run)
{
    const plait_capabilities *can = &run->problem->runtime->can;

    return can->offload_by == PLAIT_BY_STAGE &&
           (can->takes[PLAIT_KEY_OFFLOAD] >> PLAIT_OFFLOAD_NONE & 1u) &&
           limits_allow_text(run->options, PLAIT_KEY_OFFLOAD,
                             plait_offload_name[PLAIT_OFFLOAD_NONE]);
}

/* Times without recomputation, bytes with all of it; what waits on the host is not on the device. */
static plait_portions lean_portions(const search_run *run, search_worker *worker, plait_degrees d)
{
    const bool offloads = run->problem->runtime->can.takes[PLAIT_KEY_OFFLOAD_ACTS] > 1u;
    plait_portions lean;

    d.offload_acts = 0;
    d.recompute = (plait_recompute){.kind = PLAIT_RECOMPUTE_FULL};
    const plait_portions full = plait_degrees_portions(worker->table, &d);
    d.recompute.kind = PLAIT_RECOMPUTE_NONE;
    lean = plait_degrees_portions(worker->table, &d);
    for (int k = 0; k < run->problem->model->kinds; k++) {
        const double least = offloads ? 0.0 : full.layer[k].saved_bytes;
        lean.layer[k].saved_bytes = fmin(lean.layer[k].saved_bytes, least);
        lean.rest[k] = lean.layer[k];
    }
    if (may_keep(run) && d.offload != PLAIT_OFFLOAD_NONE && d.offload != PLAIT_OFFLOAD_PARAMS) {
        d.offload = PLAIT_OFFLOAD_NONE;
        d.offload_share = 0;
        lean.after_s = fmin(lean.after_s, plait_degrees_portions(worker->table, &d).after_s);
    }
    return lean;
}

static bool layouts_allowed(const search_run *run)
{
    return refine_is_open(run, PLAIT_KEY_SPLIT) &&
           (run->problem->runtime->can.takes[PLAIT_KEY_SPLIT] >> PLAIT_SPLIT_LAYOUT & 1u);
}

/* Are layers and choices solved together? Then even an unlikely point is worth its proof. */
static bool solves_exactly(const search_run *run, const plait_degrees *d)
{
    return layouts_allowed(run) && per_stage_dp_applies(d);
}

static void list_group(const search_run *run, search_worker *worker, const refine_group *group,
                       search_found *found)
{
    plait_degrees d = group->degrees;

    for (int s = 0; s < group->shards; s++) {
        space_apply_shard(run->space, &group->shard[s], &d);
        const plait_portions portions = lean_portions(run, worker, d);
        refine_add(run, group, &d, &portions, solves_exactly(run, &d) ? HUGE_VAL : 1.0, found);
    }
}

static void list_batch(const search_run *run, search_worker *worker, int64_t batch,
                       search_found *found)
{
    refine_batch(run, worker, batch, list_group, found);
}

// ---- one point -----------------------------------------------------------------------------

/* A point on its way: the best dealing of its layers so far, and what it takes with its choices. */
typedef struct per_stage_attempt {
    const search_run *run;
    per_stage_problem question;
    plait_degrees degrees;
    plait_arena *scratch; /* rewound */
    double limit_s;
    bool any, proven, failed;
    bool skipped;   /* its floor says enough */
    bool refused;   /* some plan may run out, or breaks a rule of the software */
    double floor_s; /* where it is not proven: no plan of this point takes less */
    double step_s;
    char layout[PLAIT_VALUE_SIZE]; /* where the split has no word ... */
    plait_split split;             /* ... else the word */
} per_stage_attempt;

/* The plan of these chunks with the best choices of its stages; false where none fits or wins. */
static bool choose(per_stage_attempt *at, const plait_degrees *d, const plait_chunk *chunks,
                   plait_arena *arena, plait_plan *plan, double *step_s)
{
    per_stage_result result;
    plait_cost cost;

    if (per_stage_solve(&at->question, d, chunks, arena, &result, NULL) != PLAIT_OK) {
        at->failed = true;
        return false;
    }
    at->proven = at->proven && (!result.fits || result.gap <= 0.0);
    if (!result.refines || !result.fits || result.step_s >= at->limit_s)
        return false;
    if (per_stage_plan(&at->question, d, chunks, &result, arena, plan, NULL) != PLAIT_OK ||
        plait_plan_cost(at->run->problem, plan, arena, &cost, NULL) != PLAIT_OK) {
        at->failed = true;
        return false;
    }
    *step_s = cost.step_s;
    at->refused = at->refused || cost.verdict != PLAIT_FITS;
    return cost.verdict == PLAIT_FITS && cost.step_s < at->limit_s;
}

static void try_chunks(per_stage_attempt *at, plait_split split, const plait_chunk *chunks)
{
    const plait_arena_mark mark = plait_arena_save(at->scratch);
    plait_degrees d = at->degrees;
    plait_plan plan;
    double step_s;

    d.split = split;
    if (choose(at, &d, chunks, at->scratch, &plan, &step_s) &&
        (split.kind != PLAIT_SPLIT_LAYOUT || layout_write(chunks, d.pp * d.vpp, at->layout))) {
        at->any = true;
        at->split = split;
        at->step_s = at->limit_s = step_s;
    }
    plait_arena_rewind(at->scratch, mark);
}

static void try_words(per_stage_attempt *at, const space_splits *splits)
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

/* Is what S.26 minimises the step, less sends that are the same whatever is dealt? */
static bool deals_the_step(const per_stage_attempt *at)
{
    return at->degrees.grad_sync != PLAIT_SYNC_SHIFTED &&
           plait_degrees_portions(at->question.table, &at->degrees).fused_s <= 0.0;
}

/* 1F1B: layers and choices together, exactly, those of the splits in words among them. */
static void try_dealt(per_stage_attempt *at)
{
    const double limit_s = at->limit_s;
    const plait_arena_mark mark = plait_arena_save(at->scratch);
    plait_chunk chunks[PLAIT_MAX_LAYERS];
    per_stage_point point;
    per_stage_layout dealt;

    if (per_stage_at(&at->question, &at->degrees, at->scratch, &point, NULL) != PLAIT_OK ||
        per_stage_dp(&point, at->scratch, &dealt, NULL) != PLAIT_OK)
        at->failed = true;
    else if (dealt.fits) {
        at->refused = false;
        at->floor_s = dealt.time_s;
        plait_chunks_deal(at->run->problem->model, dealt.layers, at->degrees.pp, chunks);
        try_chunks(at, (plait_split){.kind = PLAIT_SPLIT_LAYOUT}, chunks);
        at->proven = dealt.time_s >= limit_s || (deals_the_step(at) && !at->refused);
    } else
        at->proven = true;
    plait_arena_rewind(at->scratch, mark);
}

/* Else the layouts that no rank works longest in, were nothing recomputed. */
static void try_seeds(per_stage_attempt *at)
{
    const plait_arena_mark mark = plait_arena_save(at->scratch);
    const plait_portions portions = plait_degrees_portions(at->question.table, &at->degrees);
    plait_chunk chunks[PLAIT_MAX_LAYERS];
    layout_items row;
    const int count = at->degrees.pp * at->degrees.vpp;
    int *ends = plait_arena_alloc(at->scratch, (size_t)(LAYOUT_SEEDS * count), sizeof *ends);

    if (!ends ||
        !layout_items_make(at->run->problem, &at->degrees, &portions, HUGE_VAL, at->scratch, &row))
        at->failed = true;
    else
        for (int s = 0, seeds = layout_seeds(&row, ends); s < seeds; s++) {
            layout_chunks(&row, ends + s * count, chunks);
            try_chunks(at, (plait_split){.kind = PLAIT_SPLIT_LAYOUT}, chunks);
        }
    at->proven = false;
    plait_arena_rewind(at->scratch, mark);
}

static void attempt(const search_run *run, const space_recompute *choice, plait_table *table,
                    plait_arena *scratch, const plait_degrees *d, double limit_s,
                    per_stage_attempt *at)
{
    *at = (per_stage_attempt){
        .run = run, .degrees = *d, .scratch = scratch, .limit_s = limit_s, .proven = true};
    at->degrees.recompute = (plait_recompute){.kind = PLAIT_RECOMPUTE_NONE};
    at->degrees.offload_acts = 0;
    per_stage_begin(run->problem, choice->value, choice->count, table, &at->question);
    at->question.may_keep = may_keep(run);
    at->question.nodes = MOST_NODES;
    at->proven = choice->count > 0; // else all are of those that only a whole plan has
    if (!at->proven || !per_stage_may_choose(&at->question, &at->degrees))
        return;
    try_words(at, refine_splits(run, d->pp));
    if (solves_exactly(run, &at->degrees))
        try_dealt(at);
    else if (layouts_allowed(run))
        try_seeds(at);
    if (choice->count < run->space->recompute.count) { // what all layers have alike may be faster
        at->proven = false;
        at->floor_s = 0.0;
    }
}

// ---- solving -------------------------------------------------------------------------------

typedef struct per_stage_search {
    refine_state at;
    space_recompute choice; /* those that stages may have apart from one another */
    per_stage_attempt slot[REFINE_BLOCK];
    per_stage_attempt best;
} per_stage_search;

static void solve_point(const search_run *run, search_worker *worker, int64_t i, void *context)
{
    per_stage_search *search = context;

    search->slot[i % REFINE_BLOCK] = (per_stage_attempt){.skipped = true, .proven = true};
    if (search->at.open.point[i].floor_s >= search->at.limit_s)
        return;
    attempt(run, &search->choice, worker->table, worker->scratch, &search->at.open.point[i].degrees,
            search->at.limit_s, &search->slot[i % REFINE_BLOCK]);
}

static bool settle(const search_run *run, int64_t first, int64_t end, void *context)
{
    per_stage_search *search = context;

    (void)run;
    for (int64_t i = first; i < end; i++) {
        const per_stage_attempt *at = &search->slot[i % REFINE_BLOCK];
        search->at.solved += !at->skipped;
        search->at.failed = search->at.failed || at->failed;
        if (!at->proven)
            refine_leave(&search->at, i, at->floor_s);
        if (!at->any || at->step_s >= search->at.limit_s)
            continue;
        search->at.any = true;
        search->best = *at;
        search->at.limit_s = at->step_s;
    }
    return !search->at.failed && search->at.solved < MOST_SOLVED;
}

/* The best again, into the caller's arena. */
static plait_status take_best(search_run *run, per_stage_search *search, plait_refinement *out,
                              plait_error *err)
{
    per_stage_attempt *at = &search->best;
    plait_chunk chunks[PLAIT_MAX_LAYERS];
    plait_degrees d = at->degrees;
    plait_cost cost;
    double step_s;

    at->question.table = plait_table_new(run->problem, run->arena);
    if (!at->question.table)
        return plait_fail_nomem(err);
    d.split = at->split;
    d.split.layout = at->layout;
    at->run = run;
    at->limit_s = HUGE_VAL;
    if (!plait_chunks_of(run->problem->model, &d, chunks) ||
        !choose(at, &d, chunks, run->arena, &out->best.plan, &step_s))
        return plait_fail_nomem(err);
    PLAIT_TRY(plait_plan_cost(run->problem, &out->best.plan, run->arena, &cost, err));
    refine_rank(run, &cost, &out->best);
    return PLAIT_OK;
}

// ---- the refinement ------------------------------------------------------------------------

static bool suits(const search_run *run)
{
    return refine_ranks_steps(run) && refine_is_open(run, PLAIT_KEY_RECOMPUTE) &&
           run->problem->runtime->can.recompute_by > PLAIT_BY_PLAN &&
           run->problem->runtime->can.most[PLAIT_KEY_PP] > 1;
}

/* Without those that only all layers have: the points of the space have them already. (rule P40) */
static plait_status list_choices(search_run *run, space_recompute *out, plait_error *err)
{
    const space_recompute *all = &run->space->recompute;
    space_choice *choice = plait_arena_alloc(run->arena, (size_t)all->count + 1, sizeof *choice);

    if (!choice)
        return plait_fail_nomem(err);
    *out = (space_recompute){.value = choice};
    for (int i = 0; i < all->count; i++)
        if (!(run->problem->runtime->can.recompute_alike >> all->value[i].recompute.kind & 1u))
            choice[out->count++] = all->value[i];
    return PLAIT_OK;
}

static plait_status refine(search_run *run, plait_refinement *out, plait_error *err)
{
    const refine_steps steps = {list_batch, solve_point, settle, layouts_allowed(run)};
    per_stage_search *search = plait_arena_alloc(run->arena, 1, sizeof *search);

    if (!search)
        return plait_fail_nomem(err);
    PLAIT_TRY(list_choices(run, &search->choice, err));
    PLAIT_TRY(refine_points(run, &steps, search, &search->at, out, err));
    return search->at.any ? take_best(run, search, out, err) : PLAIT_OK;
}

const search_refinement search_per_stage = {
    .name = "stages",
    .suits = suits,
    .run = refine,
};
