/*
 * refine_layouts.c - layers dealt to chunks otherwise than in words, at every point that may win by it
 *
 *     list    all points but for their split, as far as their floor (S.6, S.7) is below the best known
 *     solve   the best deal of each (deal.h), those first that are guessed to be fastest     (S.11)
 *
 * Guarantee: no layout of the sort that deal.h says has a step below `floor`, which is the best itself
 * where each point that was left could be solved with a proof. A budget of points ends it, never a
 * clock.
 */
#include <math.h>

#include "search/answer.h"
#include "plait/schedule.h"
#include "rules/plan_check.h"
#include "search/pipeline/refine.h"

enum { MOST_SOLVED = 1 << 11 };

/* What is guessed to take longer than so many times the best known is not solved. */
static const double LIKELY = 1.01;

/* What is dealt with the choice of `d`, without gathers: no shard has less time. */
static plait_portions lean_portions(search_worker *worker, plait_degrees d)
{
    d.zero = 0;
    return plait_degrees_portions(worker->table, &d);
}

/* State, and what follows the pipeline, as far as it is the least of both. */
static void take_less(const search_run *run, const plait_portions *other, plait_portions *least)
{
    for (int k = 0; k < run->problem->model->kinds; k++) {
        least->layer[k].state_bytes =
            fmin(least->layer[k].state_bytes, other->layer[k].state_bytes);
        least->rest[k].state_bytes = least->layer[k].state_bytes;
    }
    least->rank_bytes = fmin(least->rank_bytes, other->rank_bytes);
    least->after_s = fmin(least->after_s, other->after_s);
}

/* The least of any shard of a group: what it keeps beside activations. */
static plait_portions least_of_shards(const search_run *run, search_worker *worker,
                                      const refine_group *group, plait_degrees d)
{
    plait_portions least = {0};

    for (int s = 0; s < group->shards; s++) {
        space_apply_shard(run->space, &group->shard[s], &d);
        const plait_portions portions = plait_degrees_portions(worker->table, &d);
        if (s == 0)
            least = portions;
        take_less(run, &portions, &least);
    }
    return least;
}

/* May a deal win at all, and with which choices, whatever the shard? */
static bool use_choices(const search_run *run, search_worker *worker, const refine_group *group,
                        int choices)
{
    const double best_s = refine_best_s(run);
    plait_degrees d = group->degrees;

    d.recompute = (plait_recompute){.kind = PLAIT_RECOMPUTE_NONE};
    d.offload_acts = 0;
    plait_portions lean = lean_portions(worker, d);
    lean.after_s = 0.0;
    if (layout_lower_bound_s(&group->ranks, &lean, HUGE_VAL, best_s) >= best_s)
        return false;
    const plait_portions least = least_of_shards(run, worker, group, d);
    for (int c = 0; c < choices; c++) {
        space_apply_choice(run->space, c, &d);
        lean = lean_portions(worker, d);
        take_less(run, &least, &lean);
        worker->use[c] =
            layout_lower_bound_s(&group->ranks, &lean, run->capacity_bytes, best_s) < best_s;
    }
    return true;
}

/* Every shard with every choice of recomputation but full:N, of which each chunk has its own part. */
static void list_group(const search_run *run, search_worker *worker, const refine_group *group,
                       search_found *found)
{
    const bool paired = group->degrees.ep_overlap != PLAIT_EP_OVERLAP_NONE;
    const int choices = paired ? run->space->recompute.paired : run->space->recompute.count;
    plait_degrees d = group->degrees;

    if (!use_choices(run, worker, group, choices))
        return;
    for (int s = 0; s < group->shards; s++) {
        space_apply_shard(run->space, &group->shard[s], &d);
        for (int c = 0; c < choices; c++) {
            if (!worker->use[c])
                continue;
            space_apply_choice(run->space, c, &d);
            const plait_portions portions = plait_degrees_portions(worker->table, &d);
            refine_add(run, group, &d, &portions, LIKELY, found);
        }
    }
}

static void list_batch(const search_run *run, search_worker *worker, int64_t batch,
                       search_found *found)
{
    refine_batch(run, worker, batch, list_group, found);
}

// ---- solving -------------------------------------------------------------------------------

typedef struct layout_search {
    refine_state at;
    layout_result slot[REFINE_BLOCK];
    plan_point best;
} layout_search;

static void solve_point(const search_run *run, search_worker *worker, int64_t i, void *context)
{
    layout_search *search = context;
    layout_result *found = &search->slot[i % REFINE_BLOCK];
    const plait_arena_mark mark = plait_arena_save(worker->scratch);
    layout_pricer trial = {
        .table = worker->table,
        .degrees = search->at.open.point[i].degrees,
        .scratch = worker->scratch,
        .capacity_bytes = run->capacity_bytes,
        .limit_s = search->at.limit_s,
    };
    const plait_portions portions = plait_degrees_portions(worker->table, &trial.degrees);
    layout_items row;

    *found = (layout_result){.any = false};
    if (layout_items_make(run->problem, &trial.degrees, &portions, run->capacity_bytes,
                          worker->scratch, &row))
        layout_solve(&trial, &row, found);
    else
        trial.failed = true;
    plait_arena_rewind(worker->scratch, mark);
    found->failed = trial.failed;
}

/* The software has the last word: a layout may break a rule that the space does not know. */
static bool is_legal(const search_run *run, const plait_degrees *d)
{
    return plan_degrees_legal(run->problem, d, &nobody_asks);
}

static void settle_point(const search_run *run, layout_search *search, int64_t i)
{
    const layout_result *found = &search->slot[i % REFINE_BLOCK];
    const open_point *open = &search->at.open.point[i];
    plan_point point = {.degrees = open->degrees, .price = found->price};

    search->at.solved++;
    search->at.failed = search->at.failed || found->failed;
    point.degrees.split.layout = found->text;
    const bool legal = !found->any || is_legal(run, &point.degrees);
    if (!found->proven || !legal)
        refine_leave(&search->at, i, found->floor_s);
    if (!found->any || !legal || found->price.step_s >= search->at.limit_s)
        return;
    point.degrees.split.layout = plait_arena_printf(run->arena, "%s", found->text);
    if (!point.degrees.split.layout) {
        search->at.failed = true;
        return;
    }
    point.objective = objective_of(run, point.price);
    search->at.limit_s = point.price.step_s;
    search->best = point;
    search->at.any = true;
}

static bool settle(const search_run *run, int64_t first, int64_t end, void *context)
{
    layout_search *search = context;

    for (int64_t i = first; i < end; i++)
        settle_point(run, search, i);
    return !search->at.failed && search->at.solved < MOST_SOLVED;
}

// ---- the refinement ------------------------------------------------------------------------

static bool suits(const search_run *run)
{
    return refine_ranks_steps(run) && refine_is_open(run, PLAIT_KEY_SPLIT) &&
           !refine_asks_full_layers(run) &&
           (run->problem->runtime->can.takes[PLAIT_KEY_SPLIT] >> PLAIT_SPLIT_LAYOUT & 1u) &&
           run->problem->runtime->can.most[PLAIT_KEY_PP] > 1;
}

static plait_status refine(search_run *run, plait_refinement *out, plait_error *err)
{
    const refine_steps steps = {list_batch, solve_point, settle, true};
    layout_search *search = plait_arena_alloc(run->arena, 1, sizeof *search);
    plait_ranked *best;

    if (!search)
        return plait_fail_nomem(err);
    PLAIT_TRY(refine_points(run, &steps, search, &search->at, out, err));
    if (!search->at.any)
        return PLAIT_OK;
    PLAIT_TRY(answer_ranking(run, &search->best, 1, &best, err));
    out->best = best[0];
    return PLAIT_OK;
}

const search_refinement search_layouts = {
    .name = "layouts",
    .suits = suits,
    .run = refine,
};
