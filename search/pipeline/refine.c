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
    BLOCK = 32,            /* number of items that threads solve before results are merged */
    MOST_BOUNDS = 1 << 20, /* most lower bounds of points that one listing computes */
    MOST_TRIES = 256,      /* most points that are solved while points are listed */
    MOST_KEPT = 1 << 15 /* points that are kept for solving, several times as many as are solved */
};

/* While points are listed, a point is solved if its estimate is below this share of the best step. */
static const double WORTH_A_TRY = 0.98;

double refine_best_s(const search_run *run)
{
    return fmin(run->refined_s,
                run->known->top.count > 0 ? run->known->top.plan[0].price.step_s : run->below);
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

/*
 * Returns a lower bound of the load of a layer: `base` has a choice of recomputation without the
 * gathers of ZeRO, `own` has the gathers and the state of a shard without recomputation.
 */
static plait_layer_load larger_load(const plait_layer_load *base, const plait_layer_load *own,
                                    bool pairs)
{
    plait_layer_load out = *base;

    out.time.forward_s = fmax(base->time.forward_s, own->time.forward_s);
    out.time.backward_s = fmax(base->time.backward_s, own->time.backward_s);
    // the time that pairs of microbatches save depends on the number of chunks
    if (!pairs)
        out.work_s = fmax(base->work_s, own->work_s);
    out.state_bytes = own->state_bytes;
    return out;
}

void refine_take_shard(const search_run *run, const refine_group *group, int s,
                       const plait_rank_loads *base, plait_rank_loads *bound)
{
    const refine_shard *const own = &group->of_shard[s];
    const bool pairs = group->degrees.ep_overlap != PLAIT_EP_OVERLAP_NONE;

    bound->rank_bytes = own->rank_bytes;
    bound->after_s = own->after_s;
    for (int k = 0; k < run->problem->model->kinds; k++) {
        bound->layer[k] = larger_load(&base->layer[k], &own->layer[k], pairs);
        bound->rest[k] = larger_load(&base->rest[k], &own->layer[k], pairs);
    }
}

/* Computes the loads of all shards, and the least of them, once for all groups of a kind. */
static void fill_shards(const search_run *run, search_worker *worker, refine_group *group)
{
    const size_t kinds = (size_t)run->problem->model->kinds;
    plait_degrees d = group->degrees;

    d.recompute = (plait_recompute){.kind = PLAIT_RECOMPUTE_NONE};
    d.offload_acts = 0;
    group->least_rank_bytes = group->least_after_s = HUGE_VAL;
    for (size_t k = 0; k < kinds; k++)
        group->least_state_bytes[k] = HUGE_VAL;
    for (int s = 0; s < group->shards; s++) {
        space_apply_shard(run->space, &group->shard[s], &d);
        const plait_rank_loads one = plait_degrees_rank_loads(worker->table, &d);
        refine_shard *const kept = &group->of_shard[s];

        kept->rank_bytes = one.rank_bytes;
        kept->after_s = one.after_s;
        memcpy(kept->layer, one.layer, kinds * sizeof *kept->layer);
        group->least_rank_bytes = fmin(group->least_rank_bytes, one.rank_bytes);
        group->least_after_s = fmin(group->least_after_s, one.after_s);
        for (size_t k = 0; k < kinds; k++)
            group->least_state_bytes[k] =
                fmin(group->least_state_bytes[k], one.layer[k].state_bytes);
    }
    group->least_valid = true;
}

void refine_take_least(const search_run *run, search_worker *worker, refine_group *group,
                       plait_rank_loads *loads)
{
    if (!group->least_valid)
        fill_shards(run, worker, group);
    loads->rank_bytes = fmin(loads->rank_bytes, group->least_rank_bytes);
    loads->after_s = fmin(loads->after_s, group->least_after_s);
    for (int k = 0; k < run->problem->model->kinds; k++) {
        loads->layer[k].state_bytes =
            fmin(loads->layer[k].state_bytes, group->least_state_bytes[k]);
        loads->rest[k].state_bytes = loads->layer[k].state_bytes;
    }
}

/* Allocates the loads of shards in worker->scratch. Returns false when out of memory. */
static bool make_shards(const search_run *run, search_worker *worker, int shards,
                        refine_group *group)
{
    const size_t kinds = (size_t)run->problem->model->kinds;
    plait_layer_load *const layer =
        plait_arena_alloc(worker->scratch, (size_t)shards * kinds, sizeof *layer);

    group->of_shard = plait_arena_alloc(worker->scratch, (size_t)shards, sizeof *group->of_shard);
    group->least_state_bytes =
        plait_arena_alloc(worker->scratch, kinds, sizeof *group->least_state_bytes);
    if (!layer || !group->of_shard || !group->least_state_bytes)
        return false;
    for (int s = 0; s < shards; s++)
        group->of_shard[s].layer = layer + (size_t)s * kinds;
    return true;
}

/*
 * Returns whether a group can win if memory is unlimited and its step ends with the pipeline. Sets
 * the shape without memory, and the plain loads.
 */
static bool may_be_fast(const search_run *run, search_worker *worker, refine_group *group)
{
    const double best_s = refine_best_s(run);
    plait_degrees d = group->degrees;

    layout_shape_init(&group->shape, run->problem->model, &d);
    d.zero = 0;
    d.recompute = (plait_recompute){.kind = PLAIT_RECOMPUTE_NONE};
    d.offload_acts = 0;
    group->plain = plait_degrees_rank_loads(worker->table, &d);
    const double after_s = group->plain.after_s;
    group->plain.after_s = 0.0;
    const double bound_s = layout_lower_bound_s(&group->shape, &group->plain, HUGE_VAL, best_s);
    group->plain.after_s = after_s;
    return bound_s < best_s;
}

/* Returns the degrees of a kind, without chunks and a split. */
static plait_degrees degrees_of(const space_pipeline *p, const space_kind *kind)
{
    plait_degrees d = p->degrees;

    d.schedule = kind->schedule;
    d.order = kind->order;
    d.ep_overlap = kind->ep_overlap;
    return d;
}

/* Returns whether the layers of a kind may fit ranks that are faster than the best known plan. */
static bool kind_may_fit(const search_run *run, search_worker *worker, const space_pipeline *p,
                         const space_kind *kind)
{
    const plait_degrees d = degrees_of(p, kind);

    return search_layers_may_fit(run, worker, &d, true, refine_best_s(run), run->capacity_bytes);
}

static void list_kind(const search_run *run, search_worker *worker, const space_pipeline *p,
                      int kind, refine_list *list, search_found *found)
{
    const plait_schedule schedule = (plait_schedule)p->kind[kind].schedule;
    const int items = split_most_chunks(run->problem->model->layers, PLAIT_SPLIT_BOTH);
    const int filled =
        (items + p->degrees.pp - 1) / p->degrees.pp; // with more chunks per rank some stay empty
    const int can = run->problem->runtime->can.most[PLAIT_KEY_VPP];
    const plait_arena_mark mark = plait_arena_save(worker->scratch);
    refine_group group;
    plait_degrees *const d = &group.degrees;

    if (plait_schedule_replicas(schedule) > 1 || p->kind[kind].shards == 0 ||
        !kind_may_fit(run, worker, p, &p->kind[kind]))
        return;
    if (!make_shards(run, worker, p->kind[kind].shards, &group)) {
        found->failed = true;
        return;
    }
    group.least_valid = false;
    group.of_choice = NULL;
    group.shards = p->kind[kind].shards;
    group.shard = p->kind[kind].shard;
    *d = degrees_of(p, &p->kind[kind]);
    d->split = (plait_split){.kind = PLAIT_SPLIT_LAYOUT};
    for (d->vpp = 1; d->vpp <= filled && d->vpp <= can; d->vpp++) {
        if (!plait_schedule_takes(schedule, d->vpp) ||
            !limits_allow(run->options, PLAIT_KEY_VPP, d->vpp))
            continue;
        if (!may_be_fast(run, worker, &group))
            continue;
        layout_shape_add_memory(&group.shape, d, group.plain.microbatches);
        list(run, worker, &group, found);
    }
    plait_arena_rewind(worker->scratch, mark);
}

// ---- pipelines -----------------------------------------------------------------------------

/* Adds a pipeline of a row with one microbatch size, an index of the space's sizes. */
static void add_pipeline(const search_run *run, search_worker *worker, const space_row *row,
                         search_pipeline *p, int size, search_found *found)
{
    plait_degrees *const d = &p->all.degrees;

    d->mbs = run->space->microbatch.value[size];
    if (!space_takes_size(&p->all, size) ||
        plait_pipeline_floor_s(worker->table, d) >= refine_best_s(run))
        return;
    const plait_price bound = plait_pipeline_bound(worker->table, d);
    if (bound.peak_bytes > run->capacity_bytes || bound.step_s >= refine_best_s(run))
        return;
    bool any = false;
    for (int k = 0; k < p->all.kinds && !any; k++)
        any = space_size_legal(&p->all.kind[k], size) &&
              kind_may_fit(run, worker, &p->all, &p->all.kind[k]);
    if (any &&
        !open_add_pipeline(&found->pipelines, (open_pipeline){.floor_s = bound.step_s,
                                                              .row = (int)(row - run->space->row),
                                                              .size = size,
                                                              .pp_at = p->at}))
        found->failed = true;
}

static void list_row(const search_run *run, search_worker *worker, const space_row *row,
                     search_found *found)
{
    int count = 0;

    for (int i = 0; i < run->space->divisors.count; i++) {
        search_pipeline *const p = &worker->pipeline[count];

        p->at = i;
        count +=
            run->space->divisors.value[i] >= run->least_stages &&
            space_ranks_at(&worker->cursor, row, i, &p->all) &&
            plait_pipeline_floor_bytes(worker->table, &p->all.degrees) <= run->capacity_bytes &&
            space_kinds_of(&worker->cursor, row, i, false, &p->all);
    }
    for (int k = 0; count > 0 && k < row->sizes; k++)
        if (row->sequence_bytes * space_size(run->space, row, k) <= run->capacity_bytes)
            for (int p = 0; p < count; p++)
                add_pipeline(run, worker, row, &worker->pipeline[p], row->first + k, found);
}

/* Lists the pipelines of a task whose bound (C.91) is below the best known step. */
static void list_pipelines(const search_run *run, search_worker *worker, int64_t batch,
                           search_found *found)
{
    const int64_t first = batch * run->batch_rows;

    for (int64_t r = first; r < first + run->batch_rows && r < run->space->rows; r++)
        list_row(run, worker, &run->space->row[r], found);
    found->failed = found->failed || worker->cursor.failed;
}

// ---- points --------------------------------------------------------------------------------

bool refine_may_win(const search_run *run, const refine_group *group, const plait_rank_loads *bound,
                    search_found *found)
{
    const double best_s = refine_best_s(run);

    found->floors++;
    return layout_lower_bound_s(&group->shape, bound, run->capacity_bytes, best_s) < best_s;
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

// ---- the list of points --------------------------------------------------------------------

/* Compares points by estimate, then by order of listing. */
static int by_estimate(const void *left, const void *right)
{
    const open_point *a = left, *b = right;

    return a->guess_s != b->guess_s ? (a->guess_s > b->guess_s) - (a->guess_s < b->guess_s)
                                    : (a->index > b->index) - (a->index < b->index);
}

/* Numbers points by position and sorts them by estimate. */
static void sort_points(point_list *list)
{
    for (int64_t i = 0; i < list->count; i++)
        list->point[i].index = i;
    if (list->count > 0)
        qsort(list->point, (size_t)list->count, sizeof *list->point, by_estimate);
}

/* State of a refinement. */
typedef struct refine_state {
    const refine_steps *steps;
    search_run *listing;     /* its refined_s is at most the step of the best solution so far */
    pipeline_list pipelines; /* pipelines to list, in ascending order of their bounds */
    point_list open;         /* points to solve */
    int64_t removed;         /* points with larger estimates, which are not kept */
    int64_t unlisted;        /* number of pipelines that the budget of bounds left out */
    int64_t floors;          /* number of lower bounds computed for points */
    int64_t tries;           /* number of points solved while points are listed */
    double floor_s;          /* lower bound of the points left out or solved without a proof */
    int64_t solved;          /* number of points solved, not counting skipped ones */
    int64_t work;            /* layers times stages of the points since the latest gain */
    bool any;                /* true if `best` is valid: a plan better than all earlier ones */
    bool failed;             /* true if out of memory */
    refine_solution best;
    plait_degrees best_degrees;
    refine_solution slot[BLOCK];
    plait_degrees slot_degrees[BLOCK];
    search_found listed[BLOCK]; /* points of one pipeline of a block */
} refine_state;

static void keep_solution(refine_state *at, const refine_solution *one,
                          const plait_degrees *degrees)
{
    at->failed = at->failed || one->failed;
    if (!one->any || one->price.step_s >= at->listing->refined_s)
        return;
    at->any = true;
    at->best = *one;
    at->best_degrees = *degrees;
    at->listing->refined_s = one->price.step_s;
    at->work = 0;
}

/*
 * Lists the points of pipeline i. If one of them may be much better than the best known plan, solves
 * it, so that later pipelines are compared with a better plan.
 */
static void list_points(const search_run *run, search_worker *worker, int64_t i, void *context)
{
    refine_state *const at = context;
    const open_pipeline *const pipeline = &at->pipelines.pipeline[i];
    const double best_s = refine_best_s(run);
    search_found *const found = &at->listed[i % BLOCK];
    const open_point *first = NULL;
    space_pipeline p;

    at->slot[i % BLOCK] = (refine_solution){.any = false};
    found->open.count = 0;
    found->open.floor_s = HUGE_VAL;
    found->floors = 0;
    if (pipeline->floor_s >= best_s)
        return;
    found->failed =
        !space_pipeline_at(&worker->cursor, &run->space->row[pipeline->row], pipeline->pp_at, &p);
    p.degrees.mbs = run->space->microbatch.value[pipeline->size];
    for (int kind = 0; !found->failed && kind < p.kinds; kind++)
        if (space_size_legal(&p.kind[kind], pipeline->size))
            list_kind(run, worker, &p, kind, at->steps->group, found);
    for (int64_t k = 0; k < found->open.count; k++)
        if (!first || found->open.point[k].guess_s < first->guess_s)
            first = &found->open.point[k];
    if (first && first->guess_s < WORTH_A_TRY * best_s && at->tries < MOST_TRIES) {
        at->slot_degrees[i % BLOCK] = first->degrees;
        at->steps->solve(run, worker, at->steps->context, first, best_s, &at->slot[i % BLOCK]);
    }
}

/*
 * Removes the points with the largest estimates from a list that has become much longer than the
 * number of points that will be solved. Their bounds count as those of points left out.
 */
static void remove_excess(refine_state *at)
{
    if (at->open.count <= 2 * MOST_KEPT)
        return;
    sort_points(&at->open);
    for (int64_t i = MOST_KEPT; i < at->open.count; i++)
        at->floor_s = fmin(at->floor_s, at->open.point[i].floor_s);
    at->removed += at->open.count - MOST_KEPT;
    at->open.count = MOST_KEPT;
}

/* Takes the points of a block of pipelines, and the solutions that were tried. */
static bool keep_points(const search_run *run, int64_t first, int64_t end, void *context)
{
    refine_state *const at = context;

    for (int64_t i = first; i < end; i++) {
        search_found *const found = &at->listed[i % BLOCK];
        const refine_solution *const tried = &at->slot[i % BLOCK];

        at->failed = at->failed || found->failed;
        at->floors += found->floors;
        at->tries += tried->any || tried->proven;
        at->floor_s = fmin(at->floor_s, found->open.floor_s);
        keep_solution(at, tried, &at->slot_degrees[i % BLOCK]);
        for (int64_t k = 0; k < found->open.count; k++)
            if (found->open.point[k].floor_s < at->listing->refined_s &&
                !open_add(&at->open, &found->open.point[k]))
                at->failed = true;
        remove_excess(at);
    }
    return !at->failed && at->floors < MOST_BOUNDS && !(run->any_fits && at->any);
}

/* Compares pipelines by bound, then by position in the space. */
static int by_bound(const void *left, const void *right)
{
    const open_pipeline *const a = left, *const b = right;

    return a->floor_s != b->floor_s ? (a->floor_s > b->floor_s) - (a->floor_s < b->floor_s)
           : a->row != b->row       ? a->row - b->row
           : a->size != b->size     ? a->size - b->size
                                    : a->pp_at - b->pp_at;
}

/*
 * Lists the points of all pipelines that may win, those with the least bounds first. If the budget
 * of bounds ends, the bounds of the other pipelines count for their points.
 */
static plait_status list_by_pipelines(search_run *listing, refine_state *at, plait_error *err)
{
    search_found found;
    int64_t done;

    PLAIT_TRY(search_batches(listing, list_pipelines, &found, err));
    at->pipelines = found.pipelines;
    if (at->pipelines.count > 0)
        qsort(at->pipelines.pipeline, (size_t)at->pipelines.count, sizeof *at->pipelines.pipeline,
              by_bound);
    for (int i = 0; i < BLOCK; i++) {
        at->listed[i].open.arena = plait_arena_new();
        at->failed = at->failed || !at->listed[i].open.arena;
    }
    const plait_status status =
        at->failed ? plait_fail_nomem(err)
                   : search_blocks(listing, at->pipelines.count, listing->any_fits ? 1 : BLOCK,
                                   list_points, keep_points, at, &done, err);
    for (int i = 0; i < BLOCK; i++)
        plait_arena_free(at->listed[i].open.arena);
    PLAIT_TRY(status);
    for (int64_t i = done; i < at->pipelines.count; i++)
        if (at->pipelines.pipeline[i].floor_s < refine_best_s(listing)) {
            at->floor_s = fmin(at->floor_s, at->pipelines.pipeline[i].floor_s);
            at->unlisted++;
        }
    return PLAIT_OK;
}

// ---- solving -------------------------------------------------------------------------------

static void solve_point(const search_run *run, search_worker *worker, int64_t i, void *context)
{
    refine_state *const at = context;
    refine_solution *const out = &at->slot[i % BLOCK];

    *out = (refine_solution){.any = false};
    at->steps->solve(run, worker, at->steps->context, &at->open.point[i], refine_best_s(run), out);
}

static bool keep_best(const search_run *run, int64_t first, int64_t end, void *context)
{
    refine_state *const at = context;

    for (int64_t i = first; i < end; i++) {
        const refine_solution *const one = &at->slot[i % BLOCK];
        if (!one->skipped) {
            at->solved++;
            at->work += (int64_t)run->problem->model->layers * at->open.point[i].degrees.pp;
        }
        if (!one->proven)
            at->floor_s = fmin(at->floor_s, fmax(at->open.point[i].floor_s, one->floor_s));
        keep_solution(at, one, &at->open.point[i].degrees);
    }
    return !at->failed && at->solved < at->steps->most_solved && at->work < at->steps->most_work &&
           !(run->any_fits && at->any);
}

/* Removes the points whose bounds reach the best step that was found while points were listed. */
static void drop_late_points(const search_run *run, point_list *list)
{
    int64_t kept = 0;

    for (int64_t i = 0; i < list->count; i++)
        if (list->point[i].floor_s < refine_best_s(run))
            list->point[kept++] = list->point[i];
    list->count = kept;
}

/* Refines with lists in `scratch`; only the best plan is in run->arena. */
static plait_status refine_in(search_run *run, const refine_steps *steps, plait_arena *scratch,
                              plait_refinement *out, plait_error *err)
{
    refine_state *const at = plait_arena_alloc(scratch, 1, sizeof *at);
    plan_space space = *run->space;
    search_run listing = *run;
    search_found found;
    int64_t done;

    PLAIT_TRY(plait_check_allocated(at, err));
    space.layouts = steps->layouts;
    listing.arena = scratch;
    listing.space = &space;
    listing.coarse = false;
    listing.least_stages = steps->least_stages;
    listing.mixes = steps->mixes;
    *at = (refine_state){.steps = steps,
                         .listing = &listing,
                         .open = {.floor_s = HUGE_VAL, .arena = scratch},
                         .floor_s = HUGE_VAL};
    if (steps->group) {
        PLAIT_TRY(list_by_pipelines(&listing, at, err));
    } else {
        PLAIT_TRY(search_batches(&listing, steps->list, &found, err));
        at->open = found.open;
        at->floor_s = found.open.floor_s;
    }
    if (run->any_fits && at->any)
        at->open.count = 0;
    drop_late_points(&listing, &at->open);
    sort_points(&at->open);
    PLAIT_TRY(
        search_blocks(&listing, at->open.count, BLOCK, solve_point, keep_best, at, &done, err));
    if (at->failed)
        return plait_fail_nomem(err);
    const double best_s = refine_best_s(&listing);

    for (int64_t i = done; i < at->open.count; i++)
        at->floor_s = fmin(at->floor_s, at->open.point[i].floor_s);
    *out = (plait_refinement){
        .any = at->any,
        .floor = fmin(at->floor_s, best_s), // in seconds, since cost is proportional to time
        .optimal = at->floor_s >= best_s,
        .points = at->open.count + at->removed,
        .solved = at->solved,
        .unlisted = at->unlisted,
    };
    return at->any ? steps->rank(run, steps->context, &at->best_degrees, &at->best, &out->best, err)
                   : PLAIT_OK;
}

plait_status refine_points(search_run *run, const refine_steps *steps, plait_refinement *out,
                           plait_error *err)
{
    plait_arena *const scratch = plait_arena_new();

    PLAIT_TRY(plait_check_allocated(scratch, err));
    const plait_status status = refine_in(run, steps, scratch, out, err);
    plait_arena_free(scratch);
    return status;
}
