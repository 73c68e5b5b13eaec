/*
 * lines.c - all lines, the one with the least bound first
 *
 * Sets are sorted by their bound, and every order of their groups is dealt layers until the bound of the
 * next set reaches the worst plan that is kept: so the plans that are kept are the best. (S.66) A block
 * of sets is dealt by several threads against what was known before it, and what it finds is kept in
 * order: neither the number of threads nor their luck changes the answer.
 */
#include <limits.h>
#include <stdlib.h>

#include "search/pipeline/heterogeneous.h"
#include "base/numbers.h"
#include "search/exhaustive/exhaustive.h"

enum {
    FEW = 4,    /* sets of each size that are dealt layers before those of the next are listed */
    SHORT = 4,  /* labels of a state then */
    BLOCK = 64, /* sets at a time */
    SIZE_OPTIONS = 1 << 20,
    ORDERS = 384 /* of PLAIT_MAX_NODE_GROUPS groups with two runs each */
};

/* A set of a block: its lines, and what they hold. */
typedef struct set_slot {
    plait_arena *arena;
    int lines;
    group_order line[ORDERS];
    hetero_layout dealt[ORDERS];
} set_slot;

typedef struct line_walk {
    hetero_problem *q;
    group_choices sets;
    int most_labels;
    set_slot *slot; /* [BLOCK] */
} line_walk;

// ---- orders --------------------------------------------------------------------------------

static plait_between_stages sends_of(const group_order *line)
{
    plait_between_stages sum = {0};

    for (int r = 0; r < line->set->runs; r++) {
        plait_stage_sort *const sort = line->run[r]->choice->sort;
        for (int s = 1; s < line->run[r]->stages; s++)
            plait_between_add_boundary(&sum, sort, sort);
        if (r > 0)
            plait_between_add_boundary(&sum, line->run[r - 1]->choice->sort, sort);
    }
    return sum;
}

/* Rows are shared, and made before threads look at them. */
static bool make_rows(hetero_problem *q, const group_order *line)
{
    int at = 0;

    for (int r = 0; r < line->set->runs; r++)
        for (int n = 0; n < line->run[r]->stages; n++, at++)
            if (!hetero_stage_bounds(q, line->run[r]->choice, hetero_place_of(line->set, at),
                                     hetero_other_end(line, at), hetero_in_flight(line->set, at)))
                return false;
    return true;
}

/* The run at `at` of a line may be this one: the other of the same group comes at once. */
static bool may_be_next(const group_order *line, int at, unsigned left, int r)
{
    const group_choice *set = line->set;
    const stage_run *before = at > 0 ? line->run[at - 1] : NULL;

    if (!(left >> r & 1u))
        return false;
    if (before && set->run[r]->choice->group == before->choice->group)
        return hetero_may_follow(before->choice, before->stages, set->run[r]->choice);
    for (int other = 0; before && other < set->runs; other++)
        if (left >> other & 1u && set->run[other]->choice->group == before->choice->group)
            return false;
    return true;
}

/* Every order of the runs that are left (bits), from `at` on. */
static bool permute(hetero_problem *q, group_order *line, int at, unsigned left, set_slot *slot)
{
    if (at == line->set->runs) {
        line->between = sends_of(line);
        slot->line[slot->lines++] = *line;
        return make_rows(q, line);
    }
    for (int r = 0; r < line->set->runs; r++) {
        if (!may_be_next(line, at, left, r))
            continue;
        line->run[at] = line->set->run[r];
        if (!permute(q, line, at + 1, left & ~(1u << r), slot))
            return false;
    }
    return true;
}

static bool list_lines(const line_walk *walk, const group_choice *set, set_slot *slot)
{
    hetero_problem *q = walk->q;
    group_order line = {
        .set = set, .most_s = hetero_max_stage_s(q, set), .most_labels = walk->most_labels};

    slot->lines = 0;
    return line.most_s <= 0.0 || permute(q, &line, 0, (1u << set->runs) - 1u, slot);
}

// ---- blocks --------------------------------------------------------------------------------

static void deal_slot(const hetero_problem *q, double limit, set_slot *slot)
{
    for (int l = 0; l < slot->lines; l++)
        slot->dealt[l] = hetero_dp(q, &slot->line[l], limit, slot->arena);
}

plait_status hetero_build_plan(hetero_problem *q, const group_order *line,
                               const hetero_layout *dealt, plait_plan *plan, plait_error *err)
{
    const int stages = line->set->shape.stages;
    plait_stage *stage = plait_arena_alloc(q->arena, (size_t)stages, sizeof *stage);
    plait_chunk *chunk = plait_arena_alloc(q->arena, (size_t)stages, sizeof *chunk);
    int s = 0;

    if (!stage || !chunk)
        return plait_fail_nomem(err);
    for (int r = 0; r < line->set->runs; r++)
        for (int n = 0; n < line->run[r]->stages; n++, s++) {
            if (!hetero_stage(q, line->run[r]->choice, hetero_place_of(line->set, s),
                              s > 0 ? dealt->last[s - 1] : 0, dealt->last[s],
                              q->space.recompute[dealt->recompute[s]], q->arena, &stage[s]))
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

static plait_status keep_slot(hetero_problem *q, set_slot *slot, plait_error *err)
{
    bool solved = false; // a set is one point, whatever the orders of its groups

    for (int l = 0; l < slot->lines; l++) {
        const hetero_layout *dealt = &slot->dealt[l];
        plait_plan plan;
        if (dealt->failed)
            return plait_fail_nomem(err);
        solved = solved || dealt->solved;
        if (dealt->objective >= hetero_limit(q))
            continue;
        PLAIT_TRY(hetero_build_plan(q, &slot->line[l], dealt, &plan, err));
        hetero_keep(q, &plan, dealt->objective);
    }
    q->solved += solved;
    plait_arena_rewind(slot->arena, 0);
    return PLAIT_OK;
}

static plait_status deal_block(line_walk *walk, const group_choice *set, int sets, plait_error *err)
{
    hetero_problem *q = walk->q;
    const double limit = hetero_limit(q);

    for (int i = 0; i < sets; i++)
        if (!list_lines(walk, &set[i], &walk->slot[i]))
            return plait_fail_nomem(err);
#pragma omp parallel for schedule(dynamic, 1) num_threads(search_threads(q->options->threads))
    for (int i = 0; i < sets; i++)
        deal_slot(q, limit, &walk->slot[i]);
    for (int i = 0; i < sets; i++)
        PLAIT_TRY(keep_slot(q, &walk->slot[i], err));
    return PLAIT_OK;
}

// ---- sets ----------------------------------------------------------------------------------

static int by_bound(const void *left, const void *right)
{
    const group_choice *a = left, *b = right;

    if (a->bound < b->bound || a->bound > b->bound)
        return a->bound < b->bound ? -1 : 1;
    return (a->listed > b->listed) - (a->listed < b->listed);
}

/* So many of the sets from `from` on, until the bound reaches what is kept. */
static plait_status deal_sets(line_walk *walk, int from, int most, plait_error *err)
{
    group_choice *set = walk->sets.set;
    const int count = walk->sets.count - from;

    if (count == 0)
        return PLAIT_OK;
    qsort(&set[from], (size_t)count, sizeof *set, by_bound);
    for (int i = 0; i < count && i < most; i += BLOCK) {
        int sets = 0;
        while (sets < BLOCK && i + sets < count && i + sets < most &&
               set[from + i + sets].bound < hetero_limit(walk->q))
            sets++;
        if (sets == 0)
            break;
        PLAIT_TRY(deal_block(walk, &set[from + i], sets, err));
    }
    return PLAIT_OK;
}

/* Of what was listed for one size the best few with short lists of labels, so that good plans are known early. */
static plait_status deal_few(line_walk *walk, int from, plait_error *err)
{
    group_choices *sets = &walk->sets;

    walk->most_labels = SHORT;
    PLAIT_TRY(deal_sets(walk, from, FEW, err));
    const int listed = sets->count;
    sets->count = from;
    for (int s = from; s < listed; s++)
        if (sets->set[s].bound < hetero_limit(walk->q))
            sets->set[sets->count++] = sets->set[s];
    return PLAIT_OK;
}

/* Then all that may still be better, whole. */
static plait_status layout_enumerate(line_walk *walk, plait_error *err)
{
    walk->most_labels = INT_MAX;
    return deal_sets(walk, 0, walk->sets.count, err);
}

static plait_status walk_sizes(line_walk *walk, plait_error *err)
{
    hetero_problem *q = walk->q;

    for (int size = 0; size < q->space.sizes; size++) {
        const int from = walk->sets.count;
        if (!hetero_list_choices(q, size, &walk->sets))
            return plait_fail_nomem(err);
        PLAIT_TRY(deal_few(walk, from, err));
    }
    return layout_enumerate(walk, err);
}

/* No size may try all of the options for itself. */
static plait_status walk_sizes_unlike(line_walk *walk, int64_t *budget, double *floor,
                                      plait_error *err)
{
    hetero_problem *q = walk->q;

    for (int size = 0; size < q->space.sizes; size++) {
        const int from = walk->sets.count;
        int64_t share = *budget < SIZE_OPTIONS ? *budget : SIZE_OPTIONS;
        double size_floor;
        *budget -= share;
        if (!hetero_list_uneven(q, size, &share, &size_floor, &walk->sets))
            return plait_fail_nomem(err);
        *budget += share > 0 ? share : 0;
        if (share < 0)
            *floor = smaller(*floor, size_floor);
        PLAIT_TRY(deal_few(walk, from, err));
    }
    return layout_enumerate(walk, err);
}

static bool make_slots(line_walk *walk)
{
    walk->slot = plait_arena_alloc(walk->sets.arena, BLOCK, sizeof *walk->slot);
    for (int i = 0; walk->slot && i < BLOCK; i++) {
        walk->slot[i].arena = plait_arena_new();
        if (!walk->slot[i].arena)
            return false;
    }
    return walk->slot != NULL;
}

static plait_status begin_walk(line_walk *walk, plait_error *err)
{
    return walk->sets.arena && make_slots(walk) ? PLAIT_OK : plait_fail_nomem(err);
}

static void end_walk(line_walk *walk)
{
    for (int i = 0; walk->slot && i < BLOCK; i++)
        plait_arena_free(walk->slot[i].arena);
    plait_arena_free(walk->sets.arena);
}

plait_status hetero_search_orders(hetero_problem *q, plait_error *err)
{
    line_walk walk = {.q = q, .sets = {.arena = plait_arena_new()}};
    plait_status status = begin_walk(&walk, err);

    if (status == PLAIT_OK)
        status = walk_sizes(&walk, err);
    end_walk(&walk);
    return status;
}

plait_status hetero_search_uneven(hetero_problem *q, int64_t *budget, double *floor,
                                  plait_error *err)
{
    line_walk walk = {.q = q, .sets = {.arena = plait_arena_new()}};
    plait_status status = begin_walk(&walk, err);

    if (status == PLAIT_OK)
        status = walk_sizes_unlike(&walk, budget, floor, err);
    end_walk(&walk);
    return status;
}
