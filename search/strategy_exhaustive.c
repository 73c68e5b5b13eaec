/*
 * strategy_exhaustive.c - every point of the space, with bounds
 *
 * Guarantee: the ranking and the front are those of pricing every point. A group of points G is
 * skipped when its lower bounds (t, b) of time and memory satisfy
 *
 *     no room:   b > capacity, or                                                  (S.1)
 *     outranked: objective(t, b) > the k-th best known plan's, and                 (S.2)
 *                some known plan is as fast and as small as (t, b), better in one  (S.3)
 *
 * Known plans are those of a coarse pass over a small part of the space, and those that the same
 * task has found so far; a task never looks at another's finds, so what is pruned does not depend
 * on threads. Complexity: one row a set of layer degrees, one bound a group, one price a point
 * that is left.
 */
#include <math.h>

#include "strategy.h"

// ---- bounds --------------------------------------------------------------------------------

static bool outranked(const search_run *run, const search_found *found, plait_price bound)
{
    const double objective = objective_bound(run, bound);

    return objective > top_limit(&found->top) || (run->best && objective > top_limit(run->best));
}

static bool covered(const search_run *run, const search_found *found, plait_price bound)
{
    return front_dominates(&found->front, bound) ||
           (run->front && front_dominates(run->front, bound));
}

static bool can_skip(const search_run *run, const search_found *found, plait_price bound)
{
    if (!run->options->prune)
        return false;
    return bound.peak_bytes > run->capacity_bytes ||
           (outranked(run, found, bound) && covered(run, found, bound));
}

// ---- points --------------------------------------------------------------------------------

static void consider(const search_run *run, search_worker *worker, search_found *found,
                     const plait_degrees *degrees, plait_price price, int64_t index)
{
    found->priced++;
    if (price.peak_bytes > run->capacity_bytes)
        return;
    found->fits++;
    const bool ranks = top_wants(&found->top, objective_bound(run, price), index);
    const bool fronts = !(run->front && front_dominates(run->front, price)) &&
                        !front_dominates(&found->front, price);
    if (!ranks && !fronts)
        return;
    const plait_ranked plan = {*degrees, price, objective_exact(run, worker, degrees, price),
                               index};
    if (ranks)
        top_add(&found->top, &plan);
    if (fronts && !front_add(&found->front, &plan))
        found->failed = true;
}

/* The coarse pass looks at the plain choices: full:N at no N. */
static int choices_of(const search_run *run, const space_group *group)
{
    const int all = space_recompute_choices(run->space, group);
    const int plain = run->space->recompute.count;

    return run->coarse && plain > 0 && plain < all ? plain : all;
}

static void price_group(const search_run *run, search_worker *worker, const plait_degrees *shards,
                        int shard_count, int choices, int64_t first, search_found *found)
{
    int64_t index = first;

    for (int s = 0; s < shard_count; s++) {
        plait_degrees degrees = shards[s];
        for (int c = 0; c < choices; c++) {
            degrees.recompute = space_recompute_choice(run->space, c);
            consider(run, worker, found, &degrees, plait_degrees_cost(worker->table, &degrees),
                     index++);
        }
    }
}

static void explore_group(const search_run *run, search_worker *worker, const space_group *group,
                          int64_t batch, search_found *found)
{
    const plait_arena_mark mark = plait_arena_save(worker->scratch);
    const plait_degrees *shards;
    const int shard_count = space_shards(run->space, group, worker->scratch, &shards);
    const int choices = choices_of(run, group);

    if (shard_count < 0) {
        found->failed = true;
        return;
    }
    // Points of a task are numbered behind all of the tasks before it.
    const int64_t first = (batch << 40) + found->points;
    found->points += (int64_t)shard_count * choices;
    if (!can_skip(run, found, plait_degrees_bound(worker->table, &group->degrees)))
        price_group(run, worker, shards, shard_count, choices, first, found);
    plait_arena_rewind(worker->scratch, mark);
}

// ---- rows ----------------------------------------------------------------------------------

/* The coarse pass keeps to one context rank and small microbatches. */
static bool row_wanted(const search_run *run, const plait_degrees *row)
{
    return !run->coarse || (row->cp == 1 && row->mbs <= 4);
}

static void explore(const search_run *run, search_worker *worker, int64_t batch,
                    search_found *found)
{
    const int64_t first = batch * SEARCH_BATCH_ROWS;
    const int64_t end =
        first + SEARCH_BATCH_ROWS < run->space->rows ? first + SEARCH_BATCH_ROWS : run->space->rows;

    for (int64_t r = first; r < end && !found->failed; r++) {
        const plait_arena_mark mark = plait_arena_save(worker->scratch);
        const space_group *groups;
        if (!row_wanted(run, &run->space->row[r]))
            continue;
        const int count = space_groups(run->space, r, worker->scratch, &groups);
        if (count < 0)
            found->failed = true;
        for (int g = 0; g < count && !found->failed; g++)
            explore_group(run, worker, &groups[g], batch, found);
        plait_arena_rewind(worker->scratch, mark);
    }
}

// ---- the run -------------------------------------------------------------------------------

static plait_status exhaustive_run(search_run *run, search_found *found, plait_error *err)
{
    search_found coarse;

    if (run->options->prune) {
        run->coarse = true;
        PLAIT_TRY(search_batches(run, explore, &coarse, err));
        run->coarse = false;
        run->best = &coarse.top;
        run->front = &coarse.front;
    }
    const plait_status status = search_batches(run, explore, found, err);
    run->best = NULL;
    run->front = NULL;
    return status;
}

const plait_strategy plait_strategy_exhaustive = {
    .name = "exhaustive",
    .proves_optimal = true,
    .run = exhaustive_run,
};
