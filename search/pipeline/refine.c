/*
 * refine.c - lists the points where plans that are not uniform may win, sorts them by estimate, and
 * solves them in blocks
 */
#include "search/pipeline/refine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plait/lowlevel/schedule.h"
#include "plan/split.h"
#include "base/text.h"
#include "costmodel/api.h"

enum {
    BLOCK = 32,           /* number of points that threads solve before results are merged */
    MOST_BOUNDS = 1 << 29 /* most bounds that all tasks of one listing compute together */
};

double refine_best_s(const search_run *run)
{
    return run->known->top.count > 0 ? run->known->top.plan[0].price.step_s : run->below;
}

bool refine_ranks_steps(const search_run *run)
{
    return run->options->objective == PLAIT_MINIMISE_TIME ||
           run->options->objective == PLAIT_MINIMISE_COST;
}

bool refine_is_open(const search_run *run, plait_key_id key)
{
    for (int i = 0; i < run->options->limits; i++)
        if (run->options->limit[i].key == key)
            return false;
    return true;
}

bool refine_may_layout(const search_run *run)
{
    return refine_is_open(run, PLAIT_KEY_SPLIT) &&
           (run->problem->runtime->can.takes[PLAIT_KEY_SPLIT] >> PLAIT_SPLIT_LAYOUT & 1u);
}

bool refine_requires_full_layers(const search_run *run)
{
    for (int i = 0; i < run->options->limits; i++)
        if (run->options->limit[i].key == PLAIT_KEY_RECOMPUTE &&
            text_starts_with(run->options->limit[i].value, "full:"))
            return true;
    return false;
}

const space_splits *refine_splits(const search_run *run, int pp)
{
    int i = 0;

    while (run->space->divisors.value[i] != pp)
        i++;
    return &run->space->splits[i];
}

void refine_rank(const search_run *run, const plait_cost *cost, plait_ranked *out)
{
    out->price = (plait_price){.step_s = cost->step_s,
                               .peak_bytes = cost->memory.peak_bytes,
                               .busy_s = cost->busy_s,
                               .moving_s = cost->moving_s,
                               .exact = true};
    out->objective = objective_of(run, out->price);
    out->index = -1;
}

// ---- groups --------------------------------------------------------------------------------

static void list_kind(const search_run *run, search_worker *worker, const space_pipeline *p,
                      int kind, refine_list *list, search_found *found)
{
    const plait_schedule schedule = (plait_schedule)p->kind[kind].schedule;
    const int items = split_most_chunks(run->problem->model->layers, PLAIT_SPLIT_BOTH);
    const int filled =
        (items + p->degrees.pp - 1) / p->degrees.pp; // with more chunks per rank some stay empty
    const int can = run->problem->runtime->can.most[PLAIT_KEY_VPP];
    refine_group group;
    plait_degrees *const d = &group.degrees;

    if (plait_schedule_replicas(schedule) > 1)
        return;
    group.shards = p->kind[kind].shards;
    group.shard = p->kind[kind].shard;
    *d = p->degrees;
    d->schedule = p->kind[kind].schedule;
    d->order = p->kind[kind].order;
    d->ep_overlap = p->kind[kind].ep_overlap;
    d->split = (plait_split){.kind = PLAIT_SPLIT_LAYOUT};
    for (d->vpp = 1; d->vpp <= filled && d->vpp <= can; d->vpp++) {
        if (!plait_schedule_takes(schedule, d->vpp) ||
            !limits_allow(run->options, PLAIT_KEY_VPP, d->vpp))
            continue;
        layout_shape_init(&group.shape, run->problem->model, d,
                          plait_degrees_microbatches(d, run->problem->job.gbs));
        list(run, worker, &group, found);
    }
}

static bool may_be_better(const search_run *run, plait_price bound)
{
    return bound.peak_bytes <= run->capacity_bytes && bound.step_s < refine_best_s(run);
}

/*
 * Lists the groups of a pipeline with one microbatch size, an index of the space's sizes. If the task
 * has no budget of bounds left, it adds no points; the bound of the pipeline then counts for all of
 * its points.
 */
static void list_size(const search_run *run, search_worker *worker, const space_row *row,
                      search_pipeline *p, int size, refine_list *list, search_found *found)
{
    const int64_t tasks = (run->space->rows + run->batch_rows - 1) / run->batch_rows;
    plait_degrees *const d = &p->all.degrees;

    d->mbs = run->space->microbatch.value[size];
    if (plait_pipeline_floor_s(worker->table, d) >= refine_best_s(run) ||
        (p->all.kinds == 0 && !space_kinds_of(&worker->cursor, row, p->at, &p->all)))
        return;
    const plait_price bound = plait_pipeline_bound(worker->table, d);
    if (!may_be_better(run, bound))
        return;
    if (found->floors >= MOST_BOUNDS / tasks + 1) {
        found->open.floor_s = fmin(found->open.floor_s, bound.step_s);
        return;
    }
    for (int kind = 0; kind < p->all.kinds; kind++)
        if (space_size_legal(&p->all.kind[kind], size))
            list_kind(run, worker, &p->all, kind, list, found);
}

static void list_row(const search_run *run, search_worker *worker, const space_row *row,
                     refine_list *list, search_found *found)
{
    int count = 0;

    for (int i = 0; i < run->space->divisors.count; i++) {
        search_pipeline *const p = &worker->pipeline[count];

        p->at = i;
        count += run->space->divisors.value[i] > 1 &&
                 space_ranks_at(&worker->cursor, row, i, &p->all) &&
                 plait_pipeline_floor_bytes(worker->table, &p->all.degrees) <= run->capacity_bytes;
    }
    for (int k = 0; count > 0 && k < row->sizes; k++)
        if (row->sequence_bytes * space_size(run->space, row, k) <= run->capacity_bytes)
            for (int p = 0; p < count; p++)
                list_size(run, worker, row, &worker->pipeline[p], row->first + k, list, found);
}

void refine_batch(const search_run *run, search_worker *worker, int64_t batch, refine_list *list,
                  search_found *found)
{
    const int64_t first = batch * run->batch_rows;

    for (int64_t r = first; r < first + run->batch_rows && r < run->space->rows; r++)
        list_row(run, worker, &run->space->row[r], list, found);
    found->failed = found->failed || worker->cursor.failed;
}

void refine_add(const search_run *run, const refine_group *group, const plait_degrees *degrees,
                const plait_rank_loads *loads, double likely, search_found *found)
{
    const double best_s = refine_best_s(run);
    open_point point = {
        .floor_s = layout_lower_bound_s(&group->shape, loads, run->capacity_bytes, best_s),
        .degrees = *degrees,
    };

    found->floors++;
    if (point.floor_s >= best_s)
        return;
    point.guess_s = layout_estimate_s(&group->shape, loads, run->capacity_bytes, likely * best_s);
    if (point.guess_s >= likely * best_s)
        found->open.floor_s = fmin(found->open.floor_s, point.floor_s);
    else if (!open_add(&found->open, &point))
        found->failed = true;
}

// ---- open points ---------------------------------------------------------------------------

/* Compares points by estimate, then by order of listing. */
static int by_estimate(const void *left, const void *right)
{
    const open_point *a = left, *b = right;

    return a->guess_s != b->guess_s ? (a->guess_s > b->guess_s) - (a->guess_s < b->guess_s)
                                    : (a->index > b->index) - (a->index < b->index);
}

// ---- solving -------------------------------------------------------------------------------

typedef struct refine_state {
    const refine_steps *steps;
    point_list open; /* points to solve */
    double limit_s;  /* step time of the best known plan */
    double floor_s;  /* lower bound of the points that were solved without a proof */
    int64_t solved;  /* number of points solved, not counting skipped ones */
    bool any;        /* true if `best` is valid: a plan better than all earlier ones */
    bool failed;     /* true if out of memory */
    refine_solution best;
    plait_degrees best_degrees;
    refine_solution slot[BLOCK];
} refine_state;

static void solve_point(const search_run *run, search_worker *worker, int64_t i, void *context)
{
    refine_state *const at = context;
    refine_solution *const out = &at->slot[i % BLOCK];

    *out = (refine_solution){.any = false};
    at->steps->solve(run, worker, at->steps->context, &at->open.point[i], at->limit_s, out);
}

static bool keep_best(const search_run *run, int64_t first, int64_t end, void *context)
{
    refine_state *const at = context;

    (void)run;
    for (int64_t i = first; i < end; i++) {
        const refine_solution *const one = &at->slot[i % BLOCK];
        at->solved += !one->skipped;
        at->failed = at->failed || one->failed;
        if (!one->proven)
            at->floor_s = fmin(at->floor_s, fmax(at->open.point[i].floor_s, one->floor_s));
        if (!one->any || one->price.step_s >= at->limit_s)
            continue;
        at->any = true;
        at->best = *one;
        at->best_degrees = at->open.point[i].degrees;
        at->limit_s = one->price.step_s;
    }
    return !at->failed && at->solved < at->steps->most_solved;
}

plait_status refine_points(search_run *run, const refine_steps *steps, plait_refinement *out,
                           plait_error *err)
{
    refine_state *const at = plait_arena_alloc(run->arena, 1, sizeof *at);
    plan_space space = *run->space;
    search_run listing = *run;
    search_found found;
    int64_t done;

    PLAIT_TRY(plait_check_allocated(at, err));
    space.layouts = steps->layouts;
    listing.space = &space;
    listing.coarse = false;
    PLAIT_TRY(search_batches(&listing, steps->list, &found, err));
    at->steps = steps;
    at->open = found.open;
    at->limit_s = refine_best_s(run);
    at->floor_s = HUGE_VAL;
    for (int64_t i = 0; i < at->open.count; i++)
        at->open.point[i].index = i;
    if (at->open.count > 0)
        qsort(at->open.point, (size_t)at->open.count, sizeof *at->open.point, by_estimate);
    PLAIT_TRY(
        search_blocks(&listing, at->open.count, BLOCK, solve_point, keep_best, at, &done, err));
    if (at->failed)
        return plait_fail_nomem(err);
    // lower bound of all points without a proof
    double left_s = fmin(at->floor_s, at->open.floor_s);
    for (int64_t i = done; i < at->open.count; i++)
        left_s = fmin(left_s, at->open.point[i].floor_s);
    *out = (plait_refinement){
        .any = at->any,
        .floor = fmin(left_s, at->limit_s), // in seconds, since cost is proportional to time
        .optimal = left_s >= at->limit_s,
        .points = at->open.count,
        .solved = at->solved,
    };
    return at->any ? steps->rank(run, steps->context, &at->best_degrees, &at->best, &out->best, err)
                   : PLAIT_OK;
}
