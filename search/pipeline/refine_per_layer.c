/*
 * refine_per_layer.c - searches a tp and a ZeRO stage for each layer, at every point where they may
 * win
 *
 *     list    lists all points, without a choice of recomputation, whose lower bound is below the
 *             best known step; the bound uses the times of the fastest sharding (tp and ZeRO stage)
 *             and the bytes of the smallest one
 *     solve   finds the best plan of each point on each named split (per_layer.h), in ascending
 *             order of bounds                                                                (S.95)
 *
 * Guarantee: no plan of this kind has a step time below `floor` of the result, as for layouts
 * (refine_layouts.c).
 */
#include <math.h>
#include <string.h>

#include "search/pipeline/per_layer.h"
#include "rules/plan_check.h"
#include "plan/layer_sharding.h"
#include "search/pipeline/refine.h"

enum {
    MOST_SOLVED = 1 << 12, /* most points to solve */
    MOST_BOUNDS = 1 << 22  /* most bounds that all tasks of one listing compute together */
};

/* Relative tolerance for rounding: results and prices add the same numbers in different orders. */
static const double ROUNDING = 1e-9;

// ---- shardings and choices -----------------------------------------------------------------

/*
 * Returns the input of the search: the shardings, which are each tp of the space with each ZeRO
 * stage, and the choices of recomputation without offload, which are stored in `choice`.
 */
static per_layer_problem problem_of(const search_run *run,
                                    plait_recompute choice[PER_LAYER_CHOICES])
{
    const space_recompute *const all = &run->space->recompute;
    per_layer_problem q = {
        .problem = run->problem, .capacity_bytes = run->capacity_bytes, .choice = choice};

    for (int64_t r = 0; r < run->space->rows; r++)
        for (int z = 0; z < run->space->zero.count; z++) {
            const plait_cut one = {.tp = (short)run->space->row[r].degrees.tp,
                                   .zero = (unsigned char)run->space->zero.value[z]};
            int c = 0;
            while (c < q.shardings && !cut_same(q.sharding[c], one))
                c++;
            if (c == q.shardings && c < PER_LAYER_SHARDINGS)
                q.sharding[q.shardings++] = one;
        }
    for (int i = 0; i < all->count && q.choices < PER_LAYER_CHOICES; i++)
        if (all->value[i].offload_acts == 0)
            choice[q.choices++] = all->value[i].recompute;
    return q;
}

// ---- the list ------------------------------------------------------------------------------

typedef struct per_layer_listing {
    const search_run *run;
    search_worker *worker;
    const per_layer_problem *input;
} per_layer_listing;

static void take_least(plait_layer_load *least, const plait_layer_load *of)
{
    least->time.forward_s = fmin(least->time.forward_s, of->time.forward_s);
    least->time.backward_s = fmin(least->time.backward_s, of->time.backward_s);
    least->time.weight_s = fmin(least->time.weight_s, of->time.weight_s);
    least->work_s = fmin(least->work_s, of->work_s);
    least->state_bytes = fmin(least->state_bytes, of->state_bytes);
    least->saved_bytes = fmin(least->saved_bytes, of->saved_bytes);
    least->live_bytes = 0.0;
}

/*
 * Lowers `least` to the loads of layers with this tp, for ZeRO 0 and 3 and for no and full
 * recomputation.
 */
static void take_least_of_tp(const per_layer_listing *at, const plait_degrees *base, int tp,
                             plait_rank_loads *least)
{
    static const plait_recompute recompute[] = {{.kind = PLAIT_RECOMPUTE_NONE},
                                                {.kind = PLAIT_RECOMPUTE_FULL}};

    for (int i = 0; i < 4; i++) {
        const plait_cut sharding = {(short)tp, i < 2 ? 0 : 3};
        plait_degrees d = plait_degrees_cut(base, sharding);
        d.recompute = recompute[i % 2];
        d.scatter = PLAIT_SCATTER_MICROBATCH; // this value stores the fewest bytes of gradients
        const plait_rank_loads one = plait_degrees_rank_loads(at->worker->table, &d);
        take_least(&least->layer[0], &one.layer[0]);
        least->rest[0] = least->layer[0];
        least->rank_bytes = fmin(least->rank_bytes, one.rank_bytes);
        least->after_s = fmin(least->after_s, one.after_s);
        if (tp != base->tp)
            continue;
        take_least(&least->embedding, &one.embedding);
        take_least(&least->loss, &one.loss);
    }
}

/*
 * Returns the lower bound of a point. Each load of a layer is the least of all shardings; embedding
 * and loss have the tp of the point.
 */
static double bound_of(const per_layer_listing *at, const plait_degrees *d)
{
    const per_layer_problem *const q = at->input;
    plait_rank_loads least = plait_degrees_rank_loads(at->worker->table, d);
    layout_shape shape;

    take_least_of_tp(at, d, d->tp, &least);
    for (int c = 0; c < q->shardings; c++) {
        const int tp = q->sharding[c].tp;
        const plait_degrees own = plait_degrees_cut(d, (plait_cut){(short)tp, d->zero});
        if (tp != d->tp && (c == 0 || tp != q->sharding[c - 1].tp) && d->tp * d->dp % tp == 0 &&
            d->mbs * tp % d->tp == 0 && plan_layers_legal(at->run->problem, &own, &no_reason))
            take_least_of_tp(at, d, tp, &least);
    }
    layout_shape_init(&shape, at->run->problem->model, d);
    layout_shape_add_memory(&shape, d, least.microbatches);
    return layout_lower_bound_s(&shape, &least, at->run->capacity_bytes, refine_best_s(at->run));
}

/*
 * Lists the points of one schedule. Points whose state has the same number formats share a bound.
 */
static void list_pipeline(const per_layer_listing *at, const space_pipeline *p, int kind,
                          search_found *found)
{
    open_point point = {.degrees = p->degrees};
    plait_degrees *const d = &point.degrees;
    // number formats for which point.floor_s was computed; valid if `any`
    plait_state_bytes bounded;
    bool any = false;

    d->schedule = p->kind[kind].schedule;
    d->order = p->kind[kind].order;
    d->ep_overlap = p->kind[kind].ep_overlap;
    d->vpp = 1;
    d->recompute = (plait_recompute){.kind = PLAIT_RECOMPUTE_NONE};
    d->offload_acts = 0;
    for (int s = 0; s < p->kind[kind].shards; s++) {
        space_apply_shard(at->run->space, &p->kind[kind].shard[s], d);
        if (!per_layer_applies(at->run->problem, d))
            continue;
        const plait_state_bytes state = plait_state_of(at->run->problem, d);
        if (!any || memcmp(&state, &bounded, sizeof state) != 0) {
            point.floor_s = point.guess_s = bound_of(at, d);
            found->floors++;
            bounded = state;
            any = true;
        }
        if (point.floor_s < refine_best_s(at->run) && !open_add(&found->open, &point))
            found->failed = true;
    }
}

/* Lists the points of a pipeline with all sizes of its row. */
static void list_sizes(const per_layer_listing *at, const space_row *row, space_pipeline *p,
                       search_found *found)
{
    for (int size = row->first; size < row->first + row->sizes; size++) {
        p->degrees.mbs = at->run->space->microbatch.value[size];
        for (int kind = 0; kind < p->kinds; kind++)
            if (space_size_legal(&p->kind[kind], size))
                list_pipeline(at, p, kind, found);
    }
}

static void list_batch(const search_run *run, search_worker *worker, int64_t batch,
                       search_found *found)
{
    const int64_t first = batch * run->batch_rows;
    const int64_t tasks = (run->space->rows + run->batch_rows - 1) / run->batch_rows;
    plait_recompute choices[PER_LAYER_CHOICES];
    const per_layer_problem problem = problem_of(run, choices);
    const per_layer_listing at = {run, worker, &problem};
    space_pipeline p;

    for (int64_t r = first; r < first + run->batch_rows && r < run->space->rows; r++)
        for (int i = 0; i < run->space->divisors.count; i++) {
            const space_row *const row = &run->space->row[r];

            if (!space_pipeline_at(&worker->cursor, row, i, &p))
                continue;
            if (found->floors > MOST_BOUNDS / tasks) {
                found->open.floor_s = 0.0; // the points left out have no bound
                break;
            }
            list_sizes(&at, row, &p, found);
        }
    found->failed = found->failed || worker->cursor.failed;
}

// ---- one point -----------------------------------------------------------------------------

/* Finds the fastest plan of one split that is below limit_s. Returns false if none is. */
static bool solve_split(const search_run *run, per_layer_point *point, const plait_degrees *d,
                        double limit_s, plait_arena *arena, plait_plan *plan, plait_cost *cost,
                        refine_solution *out)
{
    int layers[PLAIT_MAX_LAYERS];
    plait_chunk chunks[PLAIT_MAX_LAYERS];
    per_layer_result result;

    if (!plait_split_layers(run->problem->model, d, layers) ||
        !plait_chunks_of(run->problem->model, d, chunks))
        return false;
    if (per_layer_dp(point, layers, limit_s, arena, &result, NULL) != PLAIT_OK) {
        out->failed = true;
        return false;
    }
    out->proven = out->proven && result.proven;
    if (!result.fits)
        return false;
    if (per_layer_plan(point, chunks, &result, arena, plan, NULL) != PLAIT_OK ||
        plait_plan_evaluate(run->problem, plan, NULL, arena, cost, NULL) != PLAIT_OK) {
        out->failed = true;
        return false;
    }
    out->proven = out->proven && cost->step_s <= result.step_s * (1.0 + ROUNDING);
    return cost->verdict == PLAIT_FITS && cost->step_s < limit_s;
}

static void solve_point(const search_run *run, search_worker *worker, const void *context,
                        const open_point *open, double limit_s, refine_solution *out)
{
    const space_splits *const splits = refine_splits(run, open->degrees.pp);
    const space_split_range *const range = space_splits_for(splits, PLAIT_1F1B);
    const plait_arena_mark mark = plait_arena_save(worker->scratch);
    plait_recompute choices[PER_LAYER_CHOICES];
    const per_layer_problem problem = problem_of(run, choices);

    (void)context;
    out->proven = true;
    per_layer_point *const point = per_layer_begin(&problem, &open->degrees, worker->scratch);
    out->failed = point == NULL;
    for (int i = range->first; i < range->end && !out->failed; i++) {
        plait_degrees d = open->degrees;
        plait_plan plan;
        plait_cost cost;
        d.split = splits->split[i].split;
        if (splits->split[i].vpp != 1 ||
            !solve_split(run, point, &d, limit_s, worker->scratch, &plan, &cost, out))
            continue;
        out->any = true;
        out->split = d.split;
        out->price.step_s = limit_s = cost.step_s;
    }
    plait_arena_rewind(worker->scratch, mark);
}

static plait_status rank(search_run *run, const void *context, const plait_degrees *degrees,
                         const refine_solution *best, plait_ranked *out, plait_error *err)
{
    const double limit_s = best->price.step_s * (1.0 + ROUNDING);
    plait_recompute choices[PER_LAYER_CHOICES];
    const per_layer_problem problem = problem_of(run, choices);
    refine_solution again = {.any = false};
    plait_degrees d = *degrees;
    plait_cost cost;

    (void)context;
    d.split = best->split;
    per_layer_point *const point = per_layer_begin(&problem, &d, run->arena);
    PLAIT_TRY(plait_check_allocated(
        point && solve_split(run, point, &d, limit_s, run->arena, &out->plan, &cost, &again), err));
    refine_rank(run, &cost, out);
    return PLAIT_OK;
}

// ---- the refinement ------------------------------------------------------------------------

static bool is_applicable(const search_run *run)
{
    const plait_capabilities *const can = &run->problem->runtime->can;
    plait_recompute choices[PER_LAYER_CHOICES];
    const int shardings = problem_of(run, choices).shardings;

    return refine_ranks_steps(run) && run->problem->model->kinds == 1 &&
           run->problem->model->mtp_layers == 0 && can->recompute_by == PLAIT_BY_LAYER &&
           (can->tp_by == PLAIT_BY_LAYER || can->zero_by == PLAIT_BY_LAYER) && shardings > 1 &&
           shardings < PER_LAYER_SHARDINGS; // at the limit the list of shardings may be incomplete
}

static plait_status refine(search_run *run, plait_refinement *out, plait_error *err)
{
    const refine_steps steps = {.list = list_batch,
                                .solve = solve_point,
                                .rank = rank,
                                .most_solved = MOST_SOLVED,
                                .most_work = INT64_MAX};

    return refine_points(run, &steps, out, err);
}

const search_refinement search_per_layer = {
    .name = "per-layer TP and ZeRO",
    .is_applicable = is_applicable,
    .run = refine,
};
