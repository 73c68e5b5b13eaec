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

#include "mixed.h"
#include "strategy.h"

enum {
    FEW = 4,    /* sets of each size that are dealt layers before those of the next are listed */
    SHORT = 4,  /* labels of a state then */
    BLOCK = 64, /* sets at a time */
    ORDERS = 24 /* of PLAIT_MAX_NODE_GROUPS groups */
};

/* A set of a block: its lines, and what they hold. */
typedef struct set_slot {
    plait_arena *arena;
    int lines;
    mixed_line line[ORDERS];
    mixed_dealt dealt[ORDERS];
} set_slot;

typedef struct line_walk {
    mixed_question *q;
    mixed_sets sets;
    int most_labels;
    set_slot *slot; /* [BLOCK] */
} line_walk;

// ---- orders --------------------------------------------------------------------------------

static plait_between_stages sends_of(const mixed_line *line)
{
    plait_between_stages sum = {0};

    for (int g = 0; g < line->set->groups; g++) {
        for (int s = 1; s < line->choice[g]->stages; s++)
            plait_between_add_boundary(&sum, line->choice[g]->sort, line->choice[g]->sort);
        if (g > 0)
            plait_between_add_boundary(&sum, line->choice[g - 1]->sort, line->choice[g]->sort);
    }
    return sum;
}

/* Rows are shared, and made before threads look at them. */
static bool make_rows(mixed_question *q, const mixed_line *line)
{
    int at = 0;

    for (int g = 0; g < line->set->groups; g++)
        for (int n = 0; n < line->choice[g]->stages; n++, at++)
            if (!mixed_row(q, line->choice[g], mixed_place_of(line->set, at), mixed_other(line, at),
                           mixed_in_flight(line->set, at)))
                return false;
    return true;
}

/* Every order of the groups from `at` on. */
static bool permute(mixed_question *q, mixed_line *line, int at, set_slot *slot)
{
    if (at == line->set->groups || at == PLAIT_MAX_NODE_GROUPS) {
        line->between = sends_of(line);
        slot->line[slot->lines++] = *line;
        return make_rows(q, line);
    }
    for (int g = at; g < line->set->groups && g < PLAIT_MAX_NODE_GROUPS; g++) {
        mixed_choice *const here = line->choice[at];
        line->choice[at] = line->choice[g];
        line->choice[g] = here;
        if (!permute(q, line, at + 1, slot))
            return false;
        line->choice[g] = line->choice[at];
        line->choice[at] = here;
    }
    return true;
}

static bool list_lines(const line_walk *walk, const mixed_set *set, set_slot *slot)
{
    mixed_question *q = walk->q;
    mixed_line line = {
        .set = set, .most_s = mixed_set_most_s(q, set), .most_labels = walk->most_labels};

    for (int g = 0; g < set->groups; g++)
        line.choice[g] = set->choice[g];
    slot->lines = 0;
    return line.most_s <= 0.0 || permute(q, &line, 0, slot);
}

// ---- blocks --------------------------------------------------------------------------------

static void deal_slot(const mixed_question *q, double limit, set_slot *slot)
{
    for (int l = 0; l < slot->lines; l++)
        slot->dealt[l] = mixed_deal(q, &slot->line[l], limit, slot->arena);
}

plait_status mixed_build(mixed_question *q, const mixed_line *line, const mixed_dealt *dealt,
                         plait_plan *plan, plait_error *err)
{
    const int stages = line->set->shape.stages;
    plait_stage *stage = plait_arena_alloc(q->arena, (size_t)stages, sizeof *stage);
    plait_chunk *chunk = plait_arena_alloc(q->arena, (size_t)stages, sizeof *chunk);
    int s = 0;

    if (!stage || !chunk)
        return plait_fail_nomem(err);
    for (int g = 0; g < line->set->groups; g++)
        for (int n = 0; n < line->choice[g]->stages; n++, s++) {
            if (!mixed_stage(q, line->choice[g], mixed_place_of(line->set, s),
                             s > 0 ? dealt->last[s - 1] : 0, dealt->last[s],
                             q->recompute[dealt->recompute[s]], q->arena, &stage[s]))
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

static plait_status keep_slot(mixed_question *q, set_slot *slot, plait_error *err)
{
    bool solved = false; // a set is one point, whatever the orders of its groups

    for (int l = 0; l < slot->lines; l++) {
        const mixed_dealt *dealt = &slot->dealt[l];
        plait_plan plan;
        if (dealt->failed)
            return plait_fail_nomem(err);
        solved = solved || dealt->solved;
        if (dealt->objective >= mixed_limit(q))
            continue;
        PLAIT_TRY(mixed_build(q, &slot->line[l], dealt, &plan, err));
        mixed_keep(q, &plan, dealt->objective);
    }
    q->solved += solved;
    plait_arena_rewind(slot->arena, 0);
    return PLAIT_OK;
}

static plait_status deal_block(line_walk *walk, const mixed_set *set, int sets, plait_error *err)
{
    mixed_question *q = walk->q;
    const double limit = mixed_limit(q);

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
    const mixed_set *a = left, *b = right;

    if (a->bound < b->bound || a->bound > b->bound)
        return a->bound < b->bound ? -1 : 1;
    return (a->listed > b->listed) - (a->listed < b->listed);
}

/* So many of the sets from `from` on, until the bound reaches what is kept. */
static plait_status deal_sets(line_walk *walk, int from, int most, plait_error *err)
{
    mixed_set *set = walk->sets.set;
    const int count = walk->sets.count - from;

    if (count == 0)
        return PLAIT_OK;
    qsort(&set[from], (size_t)count, sizeof *set, by_bound);
    for (int i = 0; i < count && i < most; i += BLOCK) {
        int sets = 0;
        while (sets < BLOCK && i + sets < count && i + sets < most &&
               set[from + i + sets].bound < mixed_limit(walk->q))
            sets++;
        if (sets == 0)
            break;
        PLAIT_TRY(deal_block(walk, &set[from + i], sets, err));
    }
    return PLAIT_OK;
}

/*
 * Of each size the best few with short lists of labels, so that good plans are known early; then all that
 * may still be better, whole.
 */
static plait_status walk_sizes(line_walk *walk, plait_error *err)
{
    mixed_question *q = walk->q;
    mixed_sets *sets = &walk->sets;

    walk->most_labels = SHORT;
    for (int size = 0; size < q->sizes; size++) {
        const int from = sets->count;
        if (!mixed_list_sets(q, size, sets))
            return plait_fail_nomem(err);
        PLAIT_TRY(deal_sets(walk, from, FEW, err));
        const int listed = sets->count;
        sets->count = from;
        for (int s = from; s < listed; s++)
            if (sets->set[s].bound < mixed_limit(q))
                sets->set[sets->count++] = sets->set[s];
    }
    walk->most_labels = INT_MAX;
    return deal_sets(walk, 0, sets->count, err);
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

plait_status mixed_walk(mixed_question *q, plait_error *err)
{
    line_walk walk = {.q = q, .sets = {.arena = plait_arena_new()}};
    const bool made = walk.sets.arena && make_slots(&walk);
    const plait_status status = made ? walk_sizes(&walk, err) : plait_fail_nomem(err);

    for (int i = 0; walk.slot && i < BLOCK; i++)
        plait_arena_free(walk.slot[i].arena);
    plait_arena_free(walk.sets.arena);
    return status;
}
