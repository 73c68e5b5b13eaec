/*
 * heterogeneous_orders.c - solves all orders of all group choices, in ascending order of bounds
 *
 * Choices are sorted by their lower bound. Every order of the runs of each choice is solved, until
 * the bound of the next choice reaches the objective of the worst kept plan; then the kept plans
 * are the best (S.66). Several threads solve a block of choices with the limit from before the
 * block, and the plans of the block are kept in order, so the result does not depend on the number
 * of threads.
 */
#include <limits.h>
#include <stdlib.h>

#include "search/pipeline/heterogeneous.h"
#include "base/numbers.h"
#include "base/threads.h"
#include "search/exhaustive/exhaustive.h"

enum {
    FEW = 4,    /* number of choices of each size that are solved before the next size is listed */
    SHORT = 4,  /* most labels per state when the first FEW choices are solved */
    BLOCK = 64, /* choices that threads solve at a time */
    MOST_CACHED = 32 << 20, /* bytes of the caches from which on they are released */
    SIZE_OPTIONS = 1 << 20, /* most options with two runs to try for each size (S.70) */
    ORDERS = 384            /* most orders of PLAIT_MAX_NODE_GROUPS groups with two runs each */
};

/* One choice of a block, with its orders and their best layers. */
typedef struct set_slot {
    plait_arena *arena;
    int orders;
    group_order order[ORDERS];
    hetero_layout layout[ORDERS];
} set_slot;

typedef struct order_search {
    hetero_problem *q;
    group_choices sets;
    int most_labels;
    set_slot *slot; /* [BLOCK] */
} order_search;

// ---- orders --------------------------------------------------------------------------------

/*
 * Adds a complete order with the sends between its stages, and computes the bounds of its stages.
 * This is done before the threads start, since they share these bounds.
 */
static bool add_order(hetero_problem *q, const group_order *from, set_slot *slot)
{
    group_order *const order = &slot->order[slot->orders++];
    plait_between_stages *const between = &order->between;
    plait_stage_pricer *before = NULL;

    *order = *from;
    *between = (plait_between_stages){0};
    for (int r = 0, s = 0; r < order->set->runs; r++) {
        group_degrees *const choice = order->run[r]->choice;
        const plait_between_stages *const inside = &choice->boundary;
        plait_stage_pricer *const pricer = hetero_pricer(q, choice, q->cached);
        if (!pricer)
            return false;
        if (before)
            plait_between_add_boundary(between, before, pricer);
        before = pricer;
        for (int n = 0; n < order->run[r]->stages; n++, s++) {
            if (n > 0) {
                between->sends_s += inside->sends_s;
                between->slowest_s = larger(between->slowest_s, inside->slowest_s);
                between->link_s = larger(between->link_s, inside->link_s);
            }
            if (!hetero_stage_bounds(q, choice, hetero_place_of(order->set, s),
                                     hetero_other_end(order, s), hetero_in_flight(order->set, s)))
                return false;
        }
    }
    return true;
}

/*
 * Returns whether run r may be at position `at` of the order: it is still left, and the two runs of
 * a group must be adjacent.
 */
static bool may_be_next(const group_order *order, int at, unsigned left, int r)
{
    const group_choice *set = order->set;
    const stage_run *before = at > 0 ? order->run[at - 1] : NULL;

    if (!(left >> r & 1u))
        return false;
    if (before && set->run[r]->choice->group == before->choice->group)
        return hetero_may_follow(before->choice, before->stages, set->run[r]->choice);
    for (int other = 0; before && other < set->runs; other++)
        if (left >> other & 1u && set->run[other]->choice->group == before->choice->group)
            return false;
    return true;
}

/* Adds every order of the runs that are left (bits) that can hold the model. */
static bool permute(hetero_problem *q, group_order *order, int at, unsigned left, set_slot *slot)
{
    if (at == order->set->runs) {
        const int holds = hetero_order_holds(q, order);
        return holds < 0 ? false : holds == 0 || add_order(q, order, slot);
    }
    for (int r = 0; r < order->set->runs; r++) {
        if (!may_be_next(order, at, left, r))
            continue;
        order->run[at] = order->set->run[r];
        if (!permute(q, order, at + 1, left & ~(1u << r), slot))
            return false;
    }
    return true;
}

// ---- blocks --------------------------------------------------------------------------------

plait_status hetero_build_plan(hetero_problem *q, const group_order *order,
                               const hetero_layout *layout, plait_plan *plan, plait_error *err)
{
    const int stages = order->set->shape.stages;
    plait_stage *stage = plait_arena_alloc(q->arena, (size_t)stages, sizeof *stage);
    plait_chunk *chunk = plait_arena_alloc(q->arena, (size_t)stages, sizeof *chunk);
    int s = 0;

    PLAIT_TRY(plait_check_allocated(stage && chunk, err));
    for (int r = 0; r < order->set->runs; r++)
        for (int n = 0; n < order->run[r]->stages; n++, s++) {
            if (!hetero_stage(q, order->run[r]->choice, hetero_place_of(order->set, s),
                              s > 0 ? layout->last[s - 1] : 0, layout->last[s],
                              q->space.recompute[layout->recompute[s]], q->arena, &stage[s]))
                return plait_fail_nomem(err);
            stage[s].degrees.pp = stages;
            chunk[s] = stage[s].chunk[0];
        }
    PLAIT_TRY(plait_plan_lay(&stage[0].degrees, chunk, q->arena, plan, err));
    for (s = 0; s < stages; s++)
        stage[s].degrees.split = plan->degrees.split;
    plan->stage = stage;
    return PLAIT_OK;
}

typedef struct order_block {
    hetero_problem *q;
    set_slot *slot;
    double limit;
} order_block;

static void solve_orders(int worker, int64_t i, void *context)
{
    const order_block *const block = context;
    set_slot *const slot = &block->slot[i];

    (void)worker;
    for (int l = 0; l < slot->orders; l++)
        slot->layout[l] = hetero_dp(block->q, &slot->order[l], block->limit, slot->arena);
}

static plait_status solve_block(order_search *search, const bounded_choice *choice, int sets,
                                plait_error *err)
{
    hetero_problem *q = search->q;
    order_block orders = {.q = q, .slot = search->slot, .limit = hetero_limit(q)};

    for (int i = 0; i < sets; i++) {
        const group_choice *const set = choice[i].set;
        search->slot[i].orders = 0;
        if (!set)
            continue;
        group_order order = {
            .set = set, .max_s = hetero_max_stage_s(q, set), .most_labels = search->most_labels};
        if (order.max_s < 0.0 ||
            (order.max_s > 0.0 && !permute(q, &order, 0, (1u << set->runs) - 1u, &search->slot[i])))
            return plait_fail_nomem(err);
    }
    threads_for(q->options->threads, sets, solve_orders, &orders);
    for (int i = 0; i < sets; i++) {
        set_slot *const slot = &search->slot[i];
        bool solved = false; // a choice counts as one point, however many orders it has
        for (int l = 0; l < slot->orders; l++) {
            const hetero_layout *layout = &slot->layout[l];
            plait_plan plan;
            if (layout->failed)
                return plait_fail_nomem(err);
            solved = solved || layout->solved;
            if (layout->objective >= hetero_limit(q))
                continue;
            PLAIT_TRY(hetero_build_plan(q, &slot->order[l], layout, &plan, err));
            hetero_keep(q, &plan, layout->objective);
        }
        q->solved += solved;
        plait_arena_rewind(slot->arena, 0);
    }
    return PLAIT_OK;
}

// ---- choices -------------------------------------------------------------------------------

static int by_bound(const void *left, const void *right)
{
    const bounded_choice *a = left, *b = right;

    if (a->bound < b->bound || a->bound > b->bound)
        return a->bound < b->bound ? -1 : 1;
    return (a->listed > b->listed) - (a->listed < b->listed);
}

/* Releases the caches when they are large; they are then computed again when they are needed. */
static void release_large_caches(hetero_problem *q)
{
    if (plait_arena_save(q->cached) > MOST_CACHED)
        hetero_release_caches(q);
}

/*
 * Solves choices from index `from` on, in ascending order of bounds: at most `most` of them, and
 * only those whose bound is below the limit.
 */
static plait_status solve_sets(order_search *search, int from, int most, plait_error *err)
{
    bounded_choice *const choice = search->sets.choice;
    const int count = search->sets.count - from;

    if (count == 0)
        return PLAIT_OK;
    qsort(&choice[from], (size_t)count, sizeof *choice, by_bound);
    for (int i = 0; i < count && i < most; i += BLOCK) {
        int sets = 0;
        while (sets < BLOCK && i + sets < count && i + sets < most &&
               choice[from + i + sets].bound < hetero_limit(search->q))
            sets++;
        if (sets == 0)
            break;
        PLAIT_TRY(solve_block(search, &choice[from + i], sets, err));
        release_large_caches(search->q);
    }
    return PLAIT_OK;
}

/*
 * Lists the choices of each size and solves the best few of them with short lists of labels, so
 * that good plans are found early. Then solves without this restriction all choices that may still
 * be better. Each size gets a share of the budget, so that no size exhausts it.
 */
static plait_status search_sizes(order_search *search, int64_t *budget, double *lower_bound,
                                 plait_error *err)
{
    hetero_problem *q = search->q;
    group_choices *sets = &search->sets;

    search->most_labels = SHORT;
    for (int size = 0; size < q->space.sizes; size++) {
        const int from = sets->count;
        int64_t share = !budget ? INT64_MAX : *budget < SIZE_OPTIONS ? *budget : SIZE_OPTIONS;
        double size_bound;
        if (budget)
            *budget -= share;
        PLAIT_TRY(plait_check_allocated(
            hetero_list_choices(q, size, budget != NULL, &share, &size_bound, sets), err));
        if (budget)
            *budget += share > 0 ? share : 0;
        if (budget && share < 0)
            *lower_bound = smaller(*lower_bound, size_bound);
        PLAIT_TRY(solve_sets(search, from, FEW, err));
        const int listed = sets->count;
        sets->count = from;
        for (int s = from; s < listed; s++)
            if (sets->choice[s].bound < hetero_limit(q))
                sets->choice[sets->count++] = sets->choice[s];
        release_large_caches(q);
    }
    search->most_labels = INT_MAX;
    return solve_sets(search, 0, sets->count, err);
}

plait_status hetero_search_orders(hetero_problem *q, int64_t *budget, double *lower_bound,
                                  plait_error *err)
{
    order_search search = {.q = q, .sets = {.arena = plait_arena_new()}};
    bool made = search.sets.arena != NULL;

    if (made)
        search.slot = plait_arena_alloc(search.sets.arena, BLOCK, sizeof *search.slot);
    made = search.slot != NULL;
    for (int i = 0; made && i < BLOCK; i++) {
        search.slot[i].arena = plait_arena_new();
        made = search.slot[i].arena != NULL;
    }
    const plait_status status =
        made ? search_sizes(&search, budget, lower_bound, err) : plait_fail_nomem(err);
    hetero_release_caches(q); // the next space has other recomputation
    for (int i = 0; search.slot && i < BLOCK; i++)
        plait_arena_free(search.slot[i].arena);
    plait_arena_free(search.sets.arena);
    return status;
}
