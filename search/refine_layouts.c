/*
 * refine_layouts.c - layers dealt to chunks otherwise than in words, at every point that may win by it
 *
 *     list    all points but for their split, as far as their floor (S.6, S.7) is below the best known
 *     solve   from the lowest floor on: the best deal of each (deal.h), until the next floor is no
 *             lower than the best                                                            (S.11)
 *
 * Guarantee: no layout at all has a step below `floor`, which is the best itself where each point that
 * was left could be solved with a proof. A budget of points ends it, never a clock.
 */
#include <math.h>

#include "answer.h"
#include "deal.h"
#include "plait/schedule.h"
#include "strategy.h"

enum { MOST_SOLVED = 1 << 11, BLOCK = 32 };

/* What is guessed to take longer than so many times the best known is not solved. */
static const double LIKELY = 1.01;

/* Without recomputation, gathers and optimizer, and whatever the memory. */
static double lean_floor_s(const search_run *run, search_worker *worker, plait_degrees d,
                           const deal_ranks *ranks)
{
    d.zero = 0;
    d.recompute = (plait_recompute){.kind = PLAIT_RECOMPUTE_NONE};
    d.offload_acts = 0;
    plait_portions portions = plait_degrees_portions(worker->table, &d);
    portions.after_s = 0.0;
    return deal_floor_s(ranks, &portions, HUGE_VAL, search_best_s(run));
}

static void add_point(const search_run *run, search_worker *worker, const plait_degrees *d,
                      const deal_ranks *ranks, search_found *found)
{
    const plait_portions portions = plait_degrees_portions(worker->table, d);
    const double best_s = search_best_s(run);
    open_point point = {
        .floor_s = deal_floor_s(ranks, &portions, run->capacity_bytes, best_s),
        .degrees = *d,
    };

    found->floors++;
    if (point.floor_s >= best_s)
        return;
    point.guess_s = deal_guess_s(ranks, &portions, run->capacity_bytes, LIKELY * best_s);
    if (point.guess_s >= LIKELY * best_s)
        found->open.floor_s = fmin(found->open.floor_s, point.floor_s);
    else if (!open_add(&found->open, &point))
        found->failed = true;
}

/* Every shard with every choice of recomputation of one group. full:N is the stages' to say. */
static void list_group(const search_run *run, search_worker *worker, const space_pipeline *p,
                       plait_degrees d, int shards, const deal_ranks *ranks, search_found *found)
{
    const bool paired = d.ep_overlap != PLAIT_EP_OVERLAP_NONE;
    const int choices = paired ? run->space->recompute.paired : run->space->recompute.count;

    for (int s = 0; s < shards; s++) {
        space_apply_shard(run->space, &p->shard[s], &d);
        for (int c = 0; c < choices; c++) {
            space_apply_choice(run->space, c, &d);
            add_point(run, worker, &d, ranks, found);
        }
    }
}

static void list_kind(const search_run *run, search_worker *worker, const space_pipeline *p,
                      int kind, search_found *found)
{
    const plait_schedule schedule = (plait_schedule)p->kind[kind].schedule;
    plait_degrees d = p->degrees;
    deal_ranks ranks;

    if (plait_schedule_copies(schedule) > 1)
        return;
    d.schedule = p->kind[kind].schedule;
    d.order = p->kind[kind].order;
    d.ep_overlap = p->kind[kind].ep_overlap;
    d.split = (plait_split){.kind = PLAIT_SPLIT_LAYOUT};
    for (d.vpp = 1; d.vpp <= search_most_turns(run, d.pp); d.vpp++) {
        if (!plait_schedule_takes(schedule, d.vpp) ||
            !limits_allow(run->options, PLAIT_KEY_VPP, d.vpp))
            continue;
        deal_ranks_init(&ranks, run->problem->model, &d,
                        plait_degrees_microbatches(&d, run->problem->job.gbs));
        if (lean_floor_s(run, worker, d, &ranks) < search_best_s(run))
            list_group(run, worker, p, d, p->kind[kind].shards, &ranks, found);
    }
}

static void list_row(const search_run *run, search_worker *worker, int64_t row, search_found *found)
{
    space_pipeline p;

    for (int i = 0; i < run->space->divisors.count; i++) {
        if (run->space->divisors.value[i] == 1 || !space_pipeline_at(&worker->cursor, row, i, &p))
            continue;
        const plait_price bound = plait_pipeline_bound(worker->table, &p.degrees);
        if (bound.peak_bytes > run->capacity_bytes || bound.step_s >= search_best_s(run) ||
            !search_may_list(run, found, bound.step_s))
            continue;
        for (int kind = 0; kind < p.kinds; kind++)
            list_kind(run, worker, &p, kind, found);
    }
}

static void list_batch(const search_run *run, search_worker *worker, int64_t batch,
                       search_found *found)
{
    const int64_t first = batch * run->batch_rows;

    for (int64_t r = first; r < first + run->batch_rows && r < run->space->rows; r++)
        list_row(run, worker, r, found);
    found->failed = found->failed || worker->cursor.failed;
}

// ---- solving -------------------------------------------------------------------------------

typedef struct layout_search {
    point_list *open;
    deal_found slot[BLOCK];
    bool failed;
    double limit_s; /* of the best known */
    double floor_s; /* of what is not solved with a proof */
    int64_t solved;
    bool any;
    plan_point best;
} layout_search;

static void solve_point(const search_run *run, search_worker *worker, int64_t i, void *context)
{
    layout_search *search = context;
    deal_found *found = &search->slot[i % BLOCK];
    const plait_arena_mark mark = plait_arena_save(worker->scratch);
    deal_trial trial = {
        .table = worker->table,
        .degrees = search->open->point[i].degrees,
        .scratch = worker->scratch,
        .capacity_bytes = run->capacity_bytes,
        .limit_s = search->limit_s,
    };
    const plait_portions portions = plait_degrees_portions(worker->table, &trial.degrees);
    deal_row row;

    *found = (deal_found){.any = false};
    if (deal_row_make(run->problem, &trial.degrees, &portions, run->capacity_bytes, worker->scratch,
                      &row))
        deal_solve(&trial, &row, found);
    else
        trial.failed = true;
    plait_arena_rewind(worker->scratch, mark);
    if (trial.failed) {
        found->any = found->proven = false;
    }
}

/* The software has the last word: a layout may break a rule that the space does not know. */
static bool is_legal(const search_run *run, const plait_degrees *d)
{
    return plait_degrees_check(run->problem, d, NULL, 0) != PLAIT_INVALID;
}

static void settle_point(const search_run *run, layout_search *search, int64_t i)
{
    const deal_found *found = &search->slot[i % BLOCK];
    const open_point *open = &search->open->point[i];
    plan_point point = {.degrees = open->degrees, .price = found->price};

    search->solved++;
    point.degrees.split.layout = found->text;
    const bool legal = !found->any || is_legal(run, &point.degrees);
    if (!found->proven || !legal)
        search->floor_s = fmin(search->floor_s, fmax(open->floor_s, found->floor_s));
    if (!found->any || !legal || found->price.step_s >= search->limit_s)
        return;
    point.degrees.split.layout = plait_arena_printf(run->arena, "%s", found->text);
    if (!point.degrees.split.layout) {
        search->failed = true;
        return;
    }
    point.objective = objective_of(run, point.price);
    search->limit_s = point.price.step_s;
    search->best = point;
    search->any = true;
}

static bool settle(const search_run *run, int64_t first, int64_t end, void *context)
{
    layout_search *search = context;

    for (int64_t i = first; i < end; i++)
        settle_point(run, search, i);
    if (end == search->open->count || search->failed)
        return false;
    return search->solved < MOST_SOLVED;
}

// ---- the refinement ------------------------------------------------------------------------

static bool suits(const search_run *run)
{
    const plait_search_options *options = run->options;

    if (search_asks_full_layers(run))
        return false;
    for (int i = 0; i < options->limits; i++)
        if (options->limit[i].key == PLAIT_KEY_SPLIT)
            return false;
    return search_ranks_steps(run) &&
           (run->problem->runtime->can.takes[PLAIT_KEY_SPLIT] >> PLAIT_SPLIT_LAYOUT & 1u) &&
           run->problem->runtime->can.most[PLAIT_KEY_PP] > 1;
}

static plait_status refine(search_run *run, plait_refinement *out, plait_error *err)
{
    plan_space space = *run->space;
    search_run listing = *run;
    search_found found;

    space.layouts = true;
    listing.space = &space;
    listing.coarse = false;
    PLAIT_TRY(search_batches(&listing, list_batch, &found, err));
    layout_search *search = plait_arena_alloc(run->arena, 1, sizeof *search);
    if (!search)
        return plait_fail_nomem(err);
    *search =
        (layout_search){.open = &found.open, .limit_s = search_best_s(run), .floor_s = HUGE_VAL};
    open_sort(&found.open);
    PLAIT_TRY(search_blocks(&listing, found.open.count, BLOCK, solve_point, settle, search, err));
    if (search->failed)
        return plait_fail_nomem(err);
    const double floor_s =
        fmin(fmin(search->floor_s, open_floor_s(search->open, search->solved)), search->limit_s);
    *out = (plait_refinement){
        .any = search->any,
        .floor = floor_s, // dollars are proportional to it
        .optimal = floor_s >= search->limit_s,
        .points = found.open.count,
        .solved = search->solved,
    };
    if (!search->any)
        return PLAIT_OK;
    plait_ranked *best;
    PLAIT_TRY(answer_ranking(run, &search->best, 1, &best, err));
    out->best = best[0];
    return PLAIT_OK;
}

const search_refinement search_layouts = {
    .name = "layouts",
    .strategy = "dp",
    .suits = suits,
    .run = refine,
};
