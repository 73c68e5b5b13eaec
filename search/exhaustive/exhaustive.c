/*
 * exhaustive.c - searches every point of the space and prunes by lower bounds
 *
 * Guarantee: the ranking and the front are those of pricing every point. With lower bounds t and b
 * of the time and memory of a set of points, and k plans requested, the set is skipped if
 *
 *     out of memory   b > capacity, or                                                       (S.1)
 *     outranked       objective(t, b) > objective of the k-th best known plan, and           (S.2)
 *     dominated       some known plan is as fast as t and as small as b, better in one       (S.3)
 *
 * The price of a schedule without a closed form is only a lower bound. A plan that this price does
 * not exclude is simulated before it is ranked, so the ranking is that of simulating all plans.
 * (S.4) Without a requested front, S.3 counts as satisfied. When searching for the closest
 * infeasible plan, S.2 also prunes plans that need nearly as much memory as the best known one.
 * (S.13) A set that does not fit is searched only for the best tight plan, and only if that can be
 * better than every plan that fits. (S.5)
 *
 * Known plans are those of a coarse pass over a small part of the space, those of earlier waves of
 * tasks (parallel.c), and those that the same task has found. A task does not use plans of another
 * task of its wave, so pruning does not depend on threads. Bounds are computed for rows (memory
 * only), pipelines and groups (space.h). Complexity: one row of prices for each set of layer
 * degrees, one bound for each pipeline and group, one price for each remaining point.
 */
#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "plait/lowlevel/schedule.h"
#include "search/exhaustive/exhaustive.h"
#include "plan/model_queries.h"
#include "costmodel/api.h"
#include "plait/cost.h"

// ---- bounds --------------------------------------------------------------------------------

/*
 * Returns the objective above which plans are outranked. In a large space the search for the
 * closest plan also excludes plans that reduce the excess memory of the best known plan by a
 * fraction of less than PLAIT_CLOSEST_WITHIN. (S.13)
 */
static double limit_of(const search_run *run, const plan_top *top)
{
    const double limit = top_limit(top);

    return run->closest && search_is_large(run->space) && top->count == top->room
               ? limit - PLAIT_CLOSEST_WITHIN * (limit - run->short_of_bytes)
               : limit;
}

static bool is_outranked(const search_run *run, const search_found *found, plait_price bound)
{
    const double objective = objective_of(run, bound);

    if (objective >= run->below)
        return true;
    for (const search_found *known = found; known; known = known->before)
        if (objective > limit_of(run, &known->top))
            return true;
    return false;
}

static bool dominated(const search_run *run, const search_found *found, plait_price bound)
{
    bool yes = run->alone;

    for (const search_found *known = found; known && !yes; known = known->before)
        yes = front_dominates(&known->front, bound);
    return yes;
}

/* Returns whether a known plan is better than every tight plan with at least this objective. */
static bool tight_outranked(const search_found *found, double objective)
{
    for (const search_found *known = found; known; known = known->before)
        if ((known->top.count > 0 && objective > known->top.plan[0].objective) ||
            objective > top_limit(&known->tight_best))
            return true;
    return false;
}

/* Returns whether a full ranking that was known before this task excludes the objective. */
static bool outranked_before(const search_found *found, double objective)
{
    const search_found *known = found->before;

    while (known && objective <= top_limit(&known->top))
        known = known->before;
    return known != NULL;
}

/* The plans that a search needs from a set of points: none, tight ones, or all. */
typedef enum set_use { SET_NOTHING, SET_TIGHT, SET_ALL } set_use;

static set_use smaller_use(set_use a, set_use b)
{
    return a < b ? a : b;
}

/*
 * A bound may exceed a price by this fraction, since it adds the same terms in another order.
 * Without this margin the search could skip the very plan that the coarse pass found.
 */
static const double rounding = 1e-12;

static plait_price less_rounding(plait_price bound)
{
    bound.step_s *= 1.0 - rounding;
    bound.busy_s *= 1.0 - rounding;
    bound.moving_s *= 1.0 - rounding;
    bound.peak_bytes *= 1.0 - rounding;
    return bound;
}

/*
 * Returns the plans to search for in a set of points with these lower bounds. A set without a plan
 * that fits may still contain the best tight one. (S.5)
 */
static set_use use_of(const search_run *run, const search_found *found, plait_price computed)
{
    const plait_price bound = less_rounding(computed);

    if (run->counts)
        return bound.peak_bytes > run->capacity_bytes ||
                       objective_of(run, bound) > variants_most(run)
                   ? SET_NOTHING
                   : SET_ALL;
    if (!run->options->prune)
        return SET_ALL;
    if (bound.peak_bytes <= run->capacity_bytes)
        return is_outranked(run, found, bound) && dominated(run, found, bound) ? SET_NOTHING
                                                                               : SET_ALL;
    return bound.peak_bytes > run->tight_bytes || tight_outranked(found, objective_of(run, bound))
               ? SET_NOTHING
               : SET_TIGHT;
}

/* Returns the memory above which a set is skipped, whatever its time. */
static double most_bytes(const search_run *run, const search_found *found)
{
    double most = larger(run->capacity_bytes, run->tight_bytes);

    if (!run->options->prune)
        return HUGE_VAL;
    for (const search_found *known = found; known && run->closest; known = known->before)
        most = smaller(most, limit_of(run, &known->top));
    return most * (1.0 + rounding);
}

// ---- points --------------------------------------------------------------------------------

/* The lists that a plan may enter: the ranking, the front, and the best tight plan. */
typedef struct plan_place {
    bool ranks, fronts, tight;
} plan_place;

static plan_place place_of(const search_run *run, const search_found *found, const plan_point *plan)
{
    if (plan->price.peak_bytes > run->capacity_bytes)
        return (plan_place){.tight = !tight_outranked(found, plan->objective)};
    return (plan_place){
        .ranks = plan->objective < run->below &&
                 top_wants(&found->top, plan->objective, plan->index) &&
                 !outranked_before(found, plan->objective),
        .fronts = !dominated(run, found, plan->price),
    };
}

/*
 * Returns whether the offloaded bytes fit a node's host memory; true if the cluster's file does not
 * state its size.
 */
static bool host_fits(const search_run *run, search_worker *worker, const plait_degrees *degrees)
{
    const double host_bytes = run->problem->cluster->host_memory_bytes;

    return host_bytes == 0.0 || plait_degrees_host_bytes(worker->table, degrees) <= host_bytes;
}

/*
 * Returns the number of choices of recomputation to try with a split. The coarse pass excludes
 * full:N.
 */
static int choices_of(const search_run *run, const space_split *split, space_choice_class class)
{
    const int plain = run->space->recompute.of[class].count;
    const int all = (int)space_choices_in(&run->space->recompute, class, 1, split->choices);

    return run->coarse && plain > 0 ? plain : all;
}

/*
 * Counts a priced plan. Host memory is checked here only for offloaded state. For offloaded
 * activations it is checked when a plan enters a list.
 */
static void count_plan(const search_run *run, search_worker *worker, const plait_degrees *degrees,
                       plait_price price, search_found *found)
{
    const bool holds = degrees->offload == PLAIT_OFFLOAD_NONE || host_fits(run, worker, degrees);
    const bool fits = price.peak_bytes <= run->capacity_bytes;

    found->priced++;
    found->fits += holds && fits;
    found->tight += holds && !fits && price.peak_bytes <= run->tight_bytes;
}

/* Numbers of shards and choices below which a bound takes longer to compute than it saves. */
enum { SHARDS_WORTH_A_BOUND = 4, CHOICES_WORTH_A_BOUND = 4 };

/*
 * Sets worker->use of each choice of recomputation by its lower bound over all shards. (C.93)
 * Returns the number of choices that are left.
 */
static int use_choices(const search_run *run, search_worker *worker, plait_degrees degrees,
                       int choices, int shards, set_use most, const search_found *found)
{
    const double bytes = most_bytes(run, found);
    int left = 0;

    for (int c = 0; c < choices; c++) {
        worker->use[c] = (unsigned char)most;
        if (shards >= SHARDS_WORTH_A_BOUND) {
            space_apply_choice(run->space, c, &degrees);
            worker->bound[c] =
                plait_choice_bound(worker->table, &degrees, bytes, &worker->activations[c]);
            worker->use[c] = (unsigned char)smaller_use(most, use_of(run, found, worker->bound[c]));
        }
        left += worker->use[c] != SET_NOTHING;
    }
    return left;
}

/*
 * Returns the i-th index in search order. The search for the closest plan starts at the end of each
 * list, where plans need the least memory.
 */
static int search_order(const search_run *run, int i, int count)
{
    return run->closest ? count - 1 - i : i;
}

/*
 * Prices one shard with every choice of recomputation. In a set that does not fit, plans are not
 * counted as priced, although the best tight plan is searched among them.
 */
static void price_shard(const search_run *run, search_worker *worker, plait_degrees degrees,
                        int choices, int64_t first, set_use most, search_found *found)
{
    for (int i = 0; i < choices; i++) {
        const int c = search_order(run, i, choices);
        const set_use use = smaller_use(most, (set_use)worker->shard_use[c]);
        if (use == SET_NOTHING)
            continue;
        space_apply_choice(run->space, c, &degrees);
        const plait_price price = plait_degrees_cost(worker->table, &degrees);
        if (use == SET_ALL)
            count_plan(run, worker, &degrees, price, found);
        // A plan that may enter a list by its lower bound is simulated, then placed by its exact
        // price. (S.4) The coarse pass instead simulates its remaining plans at its end.
        if (price.peak_bytes > run->capacity_bytes && price.peak_bytes > run->tight_bytes)
            continue;
        const plait_price least = price.exact ? price : less_rounding(price);
        plan_point plan = {degrees, least, objective_of(run, least), first + c};
        if (run->counts) {
            if (price.peak_bytes <= run->capacity_bytes)
                variants_count(run, worker, found, &plan);
            continue;
        }
        plan_place place = place_of(run, found, &plan);
        if (!(place.ranks || place.fronts || place.tight) || !host_fits(run, worker, &degrees))
            continue;
        if (!price.exact && !run->coarse) {
            found->simulated++;
            if (plait_degrees_simulate(worker->table, &degrees, worker->scratch, &plan.price,
                                       NULL) != PLAIT_OK)
                found->failed = true;
            plan.objective = objective_of(run, plan.price);
            place = place_of(run, found, &plan);
        }
        if (place.ranks)
            top_add(&found->top, &plan);
        if (place.tight)
            top_add(&found->tight_best, &plan);
        if (place.fronts && !front_add(&found->front, &plan))
            found->failed = true;
    }
}

/*
 * Sets worker->shard_use of each choice by the time of the choice with any shard, and the memory of
 * both. (C.94) Returns whether a choice is left.
 */
static bool use_choices_of_shard(const search_run *run, search_worker *worker,
                                 const plait_class_bytes *rest, int choices,
                                 const search_found *found)
{
    bool any = false;

    for (int c = 0; c < choices; c++) {
        set_use use = (set_use)worker->use[c];
        if (use != SET_NOTHING) {
            plait_price bound = worker->bound[c];
            bound.peak_bytes =
                larger(bound.peak_bytes, plait_shard_choice_bytes(rest, &worker->activations[c]));
            use = smaller_use(use, use_of(run, found, bound));
        }
        worker->shard_use[c] = (unsigned char)use;
        any = any || use != SET_NOTHING;
    }
    return any;
}

/*
 * Returns the plans to search for in a shard. First only its memory is computed, which excludes most
 * shards together with the time of their group or of its choices.
 *
 * @param bounded  whether the choices have bounds
 */
static set_use shard_use(const search_run *run, search_worker *worker, const plait_degrees *degrees,
                         plait_price of_group, int choices, bool bounded, set_use most,
                         const search_found *found)
{
    plait_class_bytes rest;

    of_group.peak_bytes = plait_shard_bound_bytes(worker->table, degrees, &rest);
    most = smaller_use(most, use_of(run, found, of_group));
    if (most == SET_NOTHING ||
        (bounded && !use_choices_of_shard(run, worker, &rest, choices, found)))
        return SET_NOTHING;
    return smaller_use(most, use_of(run, found, plait_shard_bound(worker->table, degrees)));
}

/*
 * Bounds each choice over all shards and each shard over all choices, then prices what remains.
 *
 * @param bound  bound of the group (C.90)
 */
static void price_group(const search_run *run, search_worker *worker, const space_kind *kind,
                        plait_degrees degrees, plait_price bound, int choices, int64_t first,
                        set_use most, search_found *found)
{
    const int left = use_choices(run, worker, degrees, choices, kind->shards, most, found);
    const bool bounded = kind->shards >= SHARDS_WORTH_A_BOUND;

    memcpy(worker->shard_use, worker->use, (size_t)choices);
    for (int i = 0; left > 0 && i < kind->shards; i++) {
        const int s = search_order(run, i, kind->shards);
        space_apply_shard(run->space, &kind->shard[s], &degrees);
        const set_use use =
            choices < CHOICES_WORTH_A_BOUND
                ? most
                : shard_use(run, worker, &degrees, bound, choices, bounded, most, found);
        if (use != SET_NOTHING)
            price_shard(run, worker, degrees, choices, first + (int64_t)s * choices, use, found);
    }
}

bool search_layers_may_fit(const search_run *run, search_worker *worker, const plait_degrees *d,
                           bool any_shard, double most_s, double most_bytes)
{
    const space_recompute *const all = &run->space->recompute;
    const space_choice_class class = space_class_of(d);
    const bool full_layers = all->full_layers && space_has_full_layers(class);
    const plait_layers_query query = {
        .choices = run->mixes ? all->count : all->of[class].count,
        .choice = run->mixes ? all->value : all->of[class].value,
        .mix = run->mixes    ? PLAIT_MIX_ALL
               : full_layers ? PLAIT_MIX_FULL
                             : PLAIT_MIX_NONE,
        .any_shard = any_shard,
        .most_s = most_s,
        .most_bytes = most_bytes,
    };

    return plait_layers_may_fit(worker->table, d, &query);
}

/*
 * Returns whether a kind may have a plan that enters a list. Only in a search for the fastest plans
 * alone, since a plan that is slow and small may be on a front.
 */
static bool kind_may_rank(const search_run *run, search_worker *worker, const plait_degrees *d,
                          const search_found *found)
{
    double most_s = HUGE_VAL;

    if (!run->alone || !run->options->prune || run->closest || run->counts ||
        run->options->objective != PLAIT_MINIMISE_TIME)
        return true;
    for (const search_found *known = found; known; known = known->before)
        most_s = smaller(most_s, top_limit(&known->top));
    return search_layers_may_fit(run, worker, d, true,
                                 smaller(most_s, run->below) * (1.0 + rounding),
                                 most_bytes(run, found));
}

/* Searches all groups of one kind and size. `first` is the index of their first point. */
static void explore_kind(const search_run *run, search_worker *worker, const space_pipeline *p,
                         const space_kind *kind, int64_t first, set_use most, search_found *found)
{
    const space_split_range *splits = space_splits_for(p->splits, (plait_schedule)kind->schedule);
    plait_degrees degrees = p->degrees;

    degrees.schedule = kind->schedule;
    degrees.order = kind->order;
    degrees.ep_overlap = kind->ep_overlap;
    const space_choice_class class = space_class_of(&degrees);
    if (!kind_may_rank(run, worker, &degrees, found))
        return;
    for (int i = splits->first; i < splits->end; i++) {
        const space_split *split = &p->splits->split[i];
        degrees.vpp = split->vpp;
        degrees.split = split->split;
        const plait_price bound =
            plait_degrees_bound(worker->table, &degrees, most_bytes(run, found));
        const set_use use = smaller_use(most, use_of(run, found, bound));
        if (use != SET_NOTHING)
            price_group(run, worker, kind, degrees, bound, choices_of(run, split, class), first,
                        use, found);
        first += kind->shards * space_choices_in(&run->space->recompute, class, 1, split->choices);
    }
}

/*
 * Returns whether this pass counts points: they are counted if the result reports their number, and
 * in the coarse pass for S.14.
 */
static bool counts_points(const search_run *run)
{
    return run->coarse ? run->fits_only : !(run->closest || run->fits_only || isfinite(run->below));
}

// ---- rows ----------------------------------------------------------------------------------

/*
 * In a search for the closest plan the coarse pass tries every 16th row, since the memory of the
 * smallest plan hardly differs between rows.
 */
enum { CLOSEST_STRIDE = 16 };

/*
 * Returns whether this pass searches a row. The coarse pass searches rows with a small cp and the
 * smallest microbatch. A pass that counts variants searches rows that may contain one.
 */
static bool row_wanted(const search_run *run, const space_row *row)
{
    const plait_degrees *const d = &row->degrees;

    if (run->counts)
        return variants_in_row(run, d);
    if (run->coarse && run->closest && (row - run->space->row) % CLOSEST_STRIDE != 0)
        return false;
    // The coarse pass tries cp up to 4. For models with experts, which have many rows, it tries
    // only cp 1. Both limits were chosen by measured search times.
    return !run->coarse ||
           (d->cp <= (model_has_experts(run->problem->model) ? 1 : 4) && d->mbs == 1);
}

static bool pipeline_wanted(const search_run *run, plait_degrees row, int pp)
{
    row.pp = pp;
    return !run->counts || variants_in_pipeline(run, &row);
}

/*
 * Lists the pipelines of a row that bounds do not exclude for every size, in worker->pipeline, and
 * counts their points. If points are not counted, shards are listed only when a size needs them.
 * Returns the number of pipelines.
 */
static int list_pipelines(const search_run *run, search_worker *worker, const space_row *row,
                          int64_t batch, search_found *found)
{
    const bool sharded = counts_points(run);
    int count = 0;

    for (int i = 0; i < run->space->divisors.count; i++) {
        search_pipeline *const p = &worker->pipeline[count];

        if (!pipeline_wanted(run, row->degrees, run->space->divisors.value[i]) ||
            !space_ranks_at(&worker->cursor, row, i, &p->all) ||
            !space_kinds_of(&worker->cursor, row, i, sharded, &p->all))
            continue;
        // Indices of the points of a task are larger than those of all tasks before it.
        p->first = (batch << 40) + found->points;
        p->at = i;
        p->sharded = sharded;
        found->points += p->all.points;
        p->state_bytes = plait_pipeline_floor_bytes(worker->table, &p->all.degrees);
        count += use_of(run, found, (plait_price){.peak_bytes = p->state_bytes}) != SET_NOTHING;
    }
    return count;
}

/* Lists the shards of a pipeline, unless they are listed. */
static void list_shards(search_worker *worker, const space_row *row, search_pipeline *p)
{
    if (!p->sharded)
        p->sharded = space_kinds_of(&worker->cursor, row, p->at, true, &p->all);
}

/* Searches the points of a pipeline with one microbatch size, an index of the space's sizes. */
static void explore_size(const search_run *run, search_worker *worker, const space_row *row,
                         search_pipeline *p, int size, set_use use, search_found *found)
{
    plait_degrees *const d = &p->all.degrees;
    int64_t first = p->first;

    d->mbs = run->space->microbatch.value[size];
    if ((run->counts && !variants_in_size(run, d)) || !space_takes_size(&p->all, size))
        return;
    set_use most =
        smaller_use(use, use_of(run, found,
                                (plait_price){.step_s = plait_pipeline_floor_s(worker->table, d),
                                              .peak_bytes = p->state_bytes}));
    if (most == SET_NOTHING)
        return;
    list_shards(worker, row, p);
    most = smaller_use(most, use_of(run, found, plait_pipeline_bound(worker->table, d)));
    for (int k = 0; most != SET_NOTHING && k < p->all.kinds; k++) {
        const space_kind *const kind = &p->all.kind[k];
        const unsigned short before = kind->sizes[row->first];

        if (space_size_legal(kind, size))
            explore_kind(run, worker, &p->all, kind,
                         first + (kind->sizes[size] - before) * kind->points, most, found);
        first += (kind->sizes[row->first + row->sizes] - before) * kind->points;
    }
}

static void explore_row(const search_run *run, search_worker *worker, const space_row *row,
                        int64_t batch, search_found *found)
{
    const int pipelines = list_pipelines(run, worker, row, batch, found);
    const int sizes = run->coarse ? 1 : row->sizes;

    for (int i = 0; pipelines > 0 && i < sizes; i++) {
        const double least = row->sequence_bytes * space_size(run->space, row, i);
        const set_use use = use_of(run, found, (plait_price){.peak_bytes = least});

        for (int p = 0; use != SET_NOTHING && p < pipelines; p++)
            explore_size(run, worker, row, &worker->pipeline[p], row->first + i, use, found);
    }
}

static void explore(const search_run *run, search_worker *worker, int64_t batch,
                    search_found *found)
{
    const int64_t first = batch * run->batch_rows;
    const int64_t last = first + run->batch_rows;

    for (int64_t r = first; r < last && r < run->space->rows; r++)
        if (row_wanted(run, &run->space->row[r]))
            explore_row(run, worker, &run->space->row[r], batch, found);
    found->failed = found->failed || worker->cursor.failed;
}

// ---- the run -------------------------------------------------------------------------------

/* Prices a plan of the coarse pass exactly, to the same digits as the second pass. */
static plait_status make_exact(const search_run *run, search_worker *worker, plan_point *plan,
                               plait_error *err)
{
    if (plan->price.exact)
        return PLAIT_OK;
    plan->price = plait_degrees_cost(worker->table, &plan->degrees);
    PLAIT_TRY(
        plait_degrees_simulate(worker->table, &plan->degrees, worker->scratch, &plan->price, err));
    plan->objective = objective_of(run, plan->price);
    return PLAIT_OK;
}

/*
 * The coarse pass ranks some plans by lower bounds. The second pass compares with exact prices, so
 * those plans are simulated and ranked again.
 */
static plait_status make_all_exact(const search_run *run, search_found *known, plait_error *err)
{
    const search_found bounded = *known;
    search_worker *const worker = search_first_worker(run);

    known->front = (plan_front){.arena = run->arena, .within = search_front_within(run)};
    if (!worker || !top_make(&known->top, run->options->top, run->options->distinct, run->arena) ||
        !top_make(&known->tight_best, 1, 0, run->arena))
        return plait_fail_nomem(err);
    for (int i = 0; i < bounded.top.count; i++) {
        PLAIT_TRY(make_exact(run, worker, &bounded.top.plan[i], err));
        top_add(&known->top, &bounded.top.plan[i]);
    }
    for (int i = 0; i < bounded.tight_best.count; i++) {
        PLAIT_TRY(make_exact(run, worker, &bounded.tight_best.plan[i], err));
        top_add(&known->tight_best, &bounded.tight_best.plan[i]);
    }
    for (int i = 0; i < bounded.front.count; i++) {
        PLAIT_TRY(make_exact(run, worker, &bounded.front.plan[i], err));
        PLAIT_TRY(plait_check_allocated(front_add(&known->front, &bounded.front.plan[i]), err));
    }
    return PLAIT_OK;
}

/*
 * With fits_only, a plan that the coarse pass finds to fit is the result if the space is large or
 * the pass had more points than this. (S.14)
 */
enum { POINTS_WORTH_A_PROOF = 1 << 20 };

/*
 * If memory is short for the second pass on one thread, the plans that were found until then are the
 * result.
 */
static plait_status both_passes(search_run *run, search_found *coarse, search_found *found,
                                plait_error *err)
{
    run->coarse = true;
    plait_status status = search_batches(run, explore, coarse, err);

    run->coarse = false;
    PLAIT_TRY(status);
    PLAIT_TRY(make_all_exact(run, coarse, err));
    if (run->fits_only && coarse->top.count > 0 &&
        (search_is_large(run->space) || coarse->points > POINTS_WORTH_A_PROOF)) {
        *found = *coarse;
        return PLAIT_OK;
    }
    run->known = coarse;
    status = search_batches(run, explore, found, err);
    if (status == PLAIT_ERROR_NOMEM && run->threads == 1 && !run->closest &&
        coarse->top.count > 0) {
        if (found->top.count == 0 || top_leads(&coarse->top.plan[0], &found->top))
            *found = *coarse;
        found->unfinished = true;
        return PLAIT_OK;
    }
    PLAIT_TRY(status);
    if (run->closest && found->top.count == 0)
        found->top = coarse->top; // no plan is better by PLAIT_CLOSEST_WITHIN
    return PLAIT_OK;
}

plait_status search_exhaustive(search_run *run, search_found *found, plait_error *err)
{
    search_found coarse;

    run->learns = run->options->prune;
    const plait_status status = run->options->prune && !isfinite(run->below)
                                    ? both_passes(run, &coarse, found, err)
                                    : search_batches(run, explore, found, err);
    run->learns = false;
    run->known = NULL;
    return status;
}

plait_status search_count_variants(search_run *run, const search_found *found,
                                   variant_count **counted, plait_error *err)
{
    search_found pass;

    run->known = found;
    run->counts = true;
    const plait_status status = search_batches(run, explore, &pass, err);
    run->known = NULL;
    run->counts = false;
    *counted = pass.variant;
    return status;
}
