/*
 * refine_layouts.c - searches layouts other than the named splits, at every point where they may
 * win
 *
 *     list    lists all points, without a split, whose lower bound (S.6, S.7) is below the best
 *             known step
 *     solve   finds the best layout of each point (layouts.h), in ascending order of
 *             estimates                                                                      (S.11)
 *
 * Guarantee: no layout of the form that layouts.h describes has a step time below `floor` of the
 * result. `floor` equals the best step time if every listed point was solved with a proof. The
 * search ends after a budget of points, never after a time limit.
 */
#include <math.h>
#include <string.h>

#include "plait/lowlevel/schedule.h"
#include "search/pipeline/refine.h"

enum { MOST_SOLVED = 1 << 11 }; /* most points to solve */

/* Points with an estimate of LIKELY times the best known step time or more are not solved. */
static const double LIKELY = 1.01;

/*
 * Returns the loads of `d` without the gathers of ZeRO, so that they are a lower bound for every
 * shard (zero, shard_group and the free keys).
 */
static plait_rank_loads bound_loads(search_worker *worker, plait_degrees d)
{
    d.zero = 0;
    return plait_degrees_rank_loads(worker->table, &d);
}

/*
 * Fills of_choice, once for all groups of a kind, with the number of pairs of this group. Returns
 * false when out of memory.
 */
static bool fill_choices(const search_run *run, search_worker *worker, refine_group *group,
                         int choices)
{
    const size_t kinds = (size_t)run->problem->model->kinds;
    plait_degrees d = group->degrees;

    group->of_choice =
        plait_arena_alloc(worker->scratch, (size_t)choices * 2 * kinds, sizeof *group->of_choice);
    for (int c = 0; group->of_choice && c < choices; c++) {
        plait_layer_load *const layer = group->of_choice + (size_t)c * 2 * kinds;
        space_apply_choice(run->space, c, &d);
        plait_rank_loads loads = bound_loads(worker, d);
        refine_take_least(run, worker, group, &loads);
        memcpy(layer, loads.layer, kinds * sizeof *layer);
        memcpy(layer + kinds, loads.rest, kinds * sizeof *layer);
    }
    return group->of_choice != NULL;
}

/*
 * Marks in worker->use the choices of recomputation with which some layout may win, by a bound with
 * the least state bytes and the least time after the pipeline of all shards. Returns whether a
 * choice can win.
 */
static bool use_choices(const search_run *run, search_worker *worker, refine_group *group,
                        int choices, search_found *found)
{
    const int kinds = run->problem->model->kinds;
    const double best_s = refine_best_s(run);
    plait_rank_loads bound = group->plain;
    bool any = false;

    if (!group->of_choice && !fill_choices(run, worker, group, choices)) {
        found->failed = true;
        return false;
    }
    refine_take_least(run, worker, group, &bound);
    for (int c = 0; c < choices; c++) {
        const plait_layer_load *const layer = group->of_choice + (size_t)c * 2 * (size_t)kinds;

        memcpy(bound.layer, layer, (size_t)kinds * sizeof *layer);
        memcpy(bound.rest, layer + kinds, (size_t)kinds * sizeof *layer);
        for (int k = 0; k < kinds; k++) {
            bound.layer[k].work_s = plait_layer_work_s(&bound.layer[k], bound.pairs);
            bound.rest[k].work_s = plait_layer_work_s(&bound.rest[k], bound.pairs);
        }
        worker->use[c] =
            layout_lower_bound_s(&group->shape, &bound, run->capacity_bytes, best_s) < best_s;
        any = any || worker->use[c];
    }
    return any;
}

/* Adds the points of a group with every marked choice and every shard. */
static void list_group(const search_run *run, search_worker *worker, refine_group *group,
                       search_found *found)
{
    const int choices = run->space->recompute.of[space_class_of(&group->degrees)].count;
    plait_degrees d = group->degrees;

    if (!use_choices(run, worker, group, choices, found))
        return;
    for (int c = 0; c < choices; c++) {
        if (!worker->use[c])
            continue;
        space_apply_choice(run->space, c, &d);
        const plait_rank_loads base = bound_loads(worker, d);
        plait_rank_loads bound = base;
        for (int s = 0; s < group->shards; s++) {
            refine_take_shard(run, group, s, &base, &bound);
            if (!refine_may_win(run, group, &bound, found))
                continue;
            space_apply_shard(run->space, &group->shard[s], &d);
            const plait_rank_loads loads = plait_degrees_rank_loads(worker->table, &d);
            refine_add(run, group, &d, &loads, LIKELY, found);
        }
    }
}

// ---- solving -------------------------------------------------------------------------------

/* Solves a point. */
static void solve_point(const search_run *run, search_worker *worker, const void *context,
                        const open_point *open, double limit_s, refine_solution *out)
{
    const plait_arena_mark mark = plait_arena_save(worker->scratch);
    layout_pricer pricer = {
        .problem = run->problem,
        .table = worker->table,
        .degrees = open->degrees,
        .scratch = worker->scratch,
        .capacity_bytes = run->capacity_bytes,
        .limit_s = limit_s,
    };
    const plait_rank_loads loads = plait_degrees_rank_loads(worker->table, &open->degrees);
    layout_result found = {.any = false};
    layout_items row;

    (void)context;
    if (layout_items_make(run->problem, &open->degrees, &loads, run->capacity_bytes,
                          worker->scratch, &row))
        layout_solve(&pricer, &row, &found);
    else
        pricer.failed = true;
    plait_arena_rewind(worker->scratch, mark);
    out->any = found.any;
    out->proven = found.proven;
    out->failed = pricer.failed;
    out->floor_s = found.floor_s;
    out->price = found.price;
    memcpy(out->layout, found.text, sizeof out->layout);
}

static plait_status rank(search_run *run, const void *context, const plait_degrees *degrees,
                         const refine_solution *best, plait_ranked *out, plait_error *err)
{
    plan_point point = {
        .degrees = *degrees, .price = best->price, .objective = objective_of(run, best->price)};
    plait_ranked *ranked;

    (void)context;
    point.degrees.split.layout = plait_arena_printf(run->arena, "%s", best->layout);
    PLAIT_TRY(plait_check_allocated(point.degrees.split.layout, err));
    PLAIT_TRY(answer_ranking(run, &point, 1, &ranked, err));
    *out = ranked[0];
    return PLAIT_OK;
}

// ---- the refinement ------------------------------------------------------------------------

static bool is_applicable(const search_run *run)
{
    return refine_ranks_steps(run) && refine_may_layout(run) && !refine_requires_full_layers(run) &&
           run->problem->runtime->can.most[PLAIT_KEY_PP] > 1;
}

static plait_status refine(search_run *run, plait_refinement *out, plait_error *err)
{
    const refine_steps steps = {.group = list_group,
                                .solve = solve_point,
                                .rank = rank,
                                .most_solved = MOST_SOLVED,
                                .most_work = REFINE_MOST_WORK,
                                .layouts = true,
                                .least_stages = 2};

    return refine_points(run, &steps, out, err);
}

const search_refinement search_layouts = {
    .name = "layouts",
    .is_applicable = is_applicable,
    .run = refine,
};
