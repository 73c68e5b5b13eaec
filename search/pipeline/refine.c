/* refine.c - what searches beyond uniform plans share: groups, points that may win, their order */
#include "search/pipeline/refine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plait/schedule.h"
#include "plan/split.h"
#include "base/text.h"

/* Of all tasks of one listing: a budget, never a clock. */
static const int64_t MOST_FLOORS = 1 << 29;

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

bool refine_asks_full_layers(const search_run *run)
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

/* Chunks a rank that are worth a try in a layout: no more than there is something for. */
static int most_turns(const search_run *run, int pp)
{
    const int items = split_most_chunks(run->problem->model->layers, PLAIT_SPLIT_BOTH);
    const int can = run->problem->runtime->can.most[PLAIT_KEY_VPP];
    const int filled = (items + pp - 1) / pp;

    return filled < can ? filled : can;
}

static void list_kind(const search_run *run, search_worker *worker, const space_pipeline *p,
                      int kind, refine_list *list, search_found *found)
{
    const plait_schedule schedule = (plait_schedule)p->kind[kind].schedule;
    refine_group group;
    plait_degrees *const d = &group.degrees;

    if (plait_schedule_copies(schedule) > 1)
        return;
    group.shards = p->kind[kind].shards;
    group.shard = p->kind[kind].shard;
    *d = p->degrees;
    d->schedule = p->kind[kind].schedule;
    d->order = p->kind[kind].order;
    d->ep_overlap = p->kind[kind].ep_overlap;
    d->split = (plait_split){.kind = PLAIT_SPLIT_LAYOUT};
    for (d->vpp = 1; d->vpp <= most_turns(run, d->pp); d->vpp++) {
        if (!plait_schedule_takes(schedule, d->vpp) ||
            !limits_allow(run->options, PLAIT_KEY_VPP, d->vpp))
            continue;
        layout_shape_init(&group.ranks, run->problem->model, d,
                          plait_degrees_microbatches(d, run->problem->job.gbs));
        list(run, worker, &group, found);
    }
}

/* May one more pipeline of a task be looked into? Else its bound stands for all of its points. */
static bool has_budget(const search_run *run, search_found *found, double bound_s)
{
    const int64_t tasks = (run->space->rows + run->batch_rows - 1) / run->batch_rows;

    if (found->floors < MOST_FLOORS / tasks + 1)
        return true;
    found->open.floor_s = fmin(found->open.floor_s, bound_s);
    return false;
}

static bool may_be_better(const search_run *run, plait_price bound)
{
    return bound.peak_bytes <= run->capacity_bytes && bound.step_s < refine_best_s(run);
}

static void list_row(const search_run *run, search_worker *worker, int64_t row, refine_list *list,
                     search_found *found)
{
    space_pipeline p;

    if (search_row_floor(run, worker, &run->space->row[row]) > run->capacity_bytes)
        return;
    for (int i = 0; i < run->space->divisors.count; i++) {
        if (run->space->divisors.value[i] == 1 || !space_ranks_at(&worker->cursor, row, i, &p) ||
            !may_be_better(run,
                           plait_pipeline_floor(worker->table, &p.degrees, run->capacity_bytes)) ||
            !space_kinds_of(&worker->cursor, i, &p) || !space_shards_of(&worker->cursor, i, &p))
            continue;
        const plait_price bound = plait_pipeline_bound(worker->table, &p.degrees);
        if (!may_be_better(run, bound) || !has_budget(run, found, bound.step_s))
            continue;
        for (int kind = 0; kind < p.kinds; kind++)
            list_kind(run, worker, &p, kind, list, found);
    }
}

void refine_batch(const search_run *run, search_worker *worker, int64_t batch, refine_list *list,
                  search_found *found)
{
    const int64_t first = batch * run->batch_rows;

    for (int64_t r = first; r < first + run->batch_rows && r < run->space->rows; r++)
        list_row(run, worker, r, list, found);
    found->failed = found->failed || worker->cursor.failed;
}

void refine_add(const search_run *run, const refine_group *group, const plait_degrees *degrees,
                const plait_portions *portions, double likely, search_found *found)
{
    const double best_s = refine_best_s(run);
    open_point point = {
        .floor_s = layout_lower_bound_s(&group->ranks, portions, run->capacity_bytes, best_s),
        .degrees = *degrees,
    };

    found->floors++;
    if (point.floor_s >= best_s)
        return;
    point.guess_s =
        layout_estimate_s(&group->ranks, portions, run->capacity_bytes, likely * best_s);
    if (point.guess_s >= likely * best_s)
        found->open.floor_s = fmin(found->open.floor_s, point.floor_s);
    else if (!open_add(&found->open, &point))
        found->failed = true;
}

// ---- open points ---------------------------------------------------------------------------

bool open_add(point_list *list, const open_point *point)
{
    enum { FIRST_ROOM = 64 };

    if (list->count == list->room) {
        const int64_t room = list->room > 0 ? 2 * list->room : FIRST_ROOM;
        open_point *more = plait_arena_alloc(list->arena, (size_t)room, sizeof *more);
        if (!more)
            return false;
        if (list->count > 0)
            memcpy(more, list->point, (size_t)list->count * sizeof *more);
        list->point = more;
        list->room = room;
    }
    list->point[list->count++] = *point;
    return true;
}

static int by_guess(const void *left, const void *right)
{
    const open_point *a = left, *b = right;

    return a->guess_s != b->guess_s ? (a->guess_s > b->guess_s) - (a->guess_s < b->guess_s)
                                    : (a->index > b->index) - (a->index < b->index);
}

/* The order in which points are solved: by guess, then as listed. */
static void open_sort(point_list *list)
{
    for (int64_t i = 0; i < list->count; i++)
        list->point[i].index = i;
    if (list->count > 0)
        qsort(list->point, (size_t)list->count, sizeof *list->point, by_guess);
}

/* The least floor of the points from `first` on, and of those left out. */
static double open_floor_s(const point_list *list, int64_t first)
{
    double floor_s = list->floor_s;

    for (int64_t i = first; i < list->count; i++)
        floor_s = fmin(floor_s, list->point[i].floor_s);
    return floor_s;
}

void refine_leave(refine_state *at, int64_t i, double floor_s)
{
    at->floor_s = fmin(at->floor_s, fmax(at->open.point[i].floor_s, floor_s));
}

// ---- a whole refinement --------------------------------------------------------------------

/* Dollars are proportional to seconds, so that what is told in seconds holds for both. */
static void tell(const refine_state *at, int64_t settled, plait_refinement *out)
{
    const double left_s = fmin(at->floor_s, open_floor_s(&at->open, settled));

    *out = (plait_refinement){
        .any = at->any,
        .floor = fmin(left_s, at->limit_s),
        .optimal = left_s >= at->limit_s,
        .points = at->open.count,
        .solved = at->solved,
    };
}

plait_status refine_points(const search_run *run, const refine_steps *steps, void *context,
                           refine_state *at, plait_refinement *out, plait_error *err)
{
    plan_space space = *run->space;
    search_run listing = *run;
    search_found found;
    int64_t settled;

    space.layouts = steps->layouts;
    listing.space = &space;
    listing.coarse = false;
    PLAIT_TRY(search_batches(&listing, steps->list, &found, err));
    *at = (refine_state){.open = found.open, .limit_s = refine_best_s(run), .floor_s = HUGE_VAL};
    open_sort(&at->open);
    PLAIT_TRY(search_blocks(&listing, found.open.count, REFINE_BLOCK, steps->solve, steps->settle,
                            context, &settled, err));
    if (at->failed)
        return plait_fail_nomem(err);
    tell(at, settled, out);
    return PLAIT_OK;
}
