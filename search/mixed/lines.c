/*
 * lines.c - all lines, the one with the least bound first
 *
 * For each number of sequences a walk over the groups takes one choice of each, or none. What is taken
 * and the quickest choices of the groups to come bound the step (S.61), and a choice that comes behind
 * one which is cut off is slower still. What is left is sorted by S.62 and dealt layers until the bound reaches the
 * worst plan that is kept: so the plans that are kept are the best. (S.66)
 */
#include <math.h>
#include <stdlib.h>

#include "grow.h"
#include "mixed.h"

/* Sets of each size that are dealt layers before the others are listed. */
enum { FEW = 4 };

/* Groups with a choice each, in no order yet. */
typedef struct line_set {
    double bound;
    int size; /* which */
    double most_work;
    mixed_choice *choice[PLAIT_MAX_NODE_GROUPS];
} line_set;

typedef struct line_walk {
    mixed_question *q;
    int size;
    int microbatches;
    double most_work[PLAIT_MAX_LAYERS + 1]; /* of so many stages; 0: not known yet */
    mixed_choice *choice[PLAIT_MAX_NODE_GROUPS];
    int count, room;
    line_set *set;
    plait_arena *arena;
    bool failed;
} line_walk;

static const mixed_list *list_of(const line_walk *walk, int g)
{
    return &walk->q->list[walk->size * PLAIT_MAX_NODE_GROUPS + g];
}

// ---- sets ----------------------------------------------------------------------------------

/* The groups of a set, closed up; returns how many. */
static int used(mixed_choice *const *choice, mixed_choice **out, unsigned *groups, int *stages)
{
    int count = 0;

    *groups = 0;
    *stages = 0;
    for (int g = 0; g < PLAIT_MAX_NODE_GROUPS; g++)
        if (choice[g]) {
            out[count++] = choice[g];
            *groups |= 1u << g;
            *stages += choice[g]->stages;
        }
    return count;
}

static double most_work_of(line_walk *walk, int stages)
{
    if (walk->most_work[stages] <= 0.0)
        walk->most_work[stages] = mixed_most_work(stages, walk->microbatches);
    return walk->most_work[stages];
}

/* Sends that every order of the groups has. */
static plait_between_stages sends_inside(mixed_choice *const *choice, int groups)
{
    plait_between_stages sum = {0};

    for (int g = 0; g < groups; g++) {
        const plait_between_stages *one = &choice[g]->boundary;
        if (choice[g]->stages < 2)
            continue;
        sum.sends_s += (choice[g]->stages - 1) * one->sends_s;
        sum.slowest_s = fmax(sum.slowest_s, one->slowest_s);
        sum.link_s = fmax(sum.link_s, one->link_s);
    }
    return sum;
}

/* The bound of a set, the cheaper form first. */
static double bound_of_set(line_walk *walk, mixed_choice *const *choice, int groups, unsigned which,
                           int stages)
{
    mixed_question *q = walk->q;
    const mixed_shape shape = {stages, walk->microbatches, most_work_of(walk, stages)};
    const double weight = mixed_weight(q, which);
    const plait_between_stages sends = sends_inside(choice, groups);
    const double bound =
        weight * plait_between_step_s(q->problem, &sends, shape.microbatches,
                                      mixed_fractional_bound_s(q, choice, groups, &shape));

    if (bound >= mixed_limit(q) || q->problem->model->kinds > 1)
        return bound;
    const double most_s = mixed_limit(q) / weight / shape.microbatches;
    const double whole_s = mixed_whole_bound_s(q, choice, groups, &shape, most_s);
    return whole_s < HUGE_VAL
               ? weight * plait_between_step_s(q->problem, &sends, shape.microbatches, whole_s)
               : HUGE_VAL;
}

static void keep_set(line_walk *walk)
{
    mixed_choice *choice[PLAIT_MAX_NODE_GROUPS];
    unsigned which;
    int stages;
    const int groups = used(walk->choice, choice, &which, &stages);

    if (groups < 2 || stages > walk->q->problem->model->layers ||
        (which & walk->q->must) != walk->q->must)
        return;
    walk->q->lines++;
    const double bound = bound_of_set(walk, choice, groups, which, stages);
    if (bound >= mixed_limit(walk->q))
        return;
    line_set *more = grow_by_one(walk->arena, walk->set, walk->count, &walk->room, sizeof *more);
    walk->failed = walk->failed || !more;
    if (!more)
        return;
    walk->set = more;
    walk->set[walk->count] =
        (line_set){.bound = bound, .size = walk->size, .most_work = most_work_of(walk, stages)};
    for (int g = 0; g < PLAIT_MAX_NODE_GROUPS; g++)
        walk->set[walk->count].choice[g] = walk->choice[g];
    walk->count++;
}

/* Group g on, where those before have this capacity. */
static void walk_groups(line_walk *walk, int g, double units_per_s, unsigned which)
{
    const mixed_question *q = walk->q;
    double rest_per_s = 0.0;

    if (g == q->problem->cluster->groups || walk->failed) {
        keep_set(walk);
        return;
    }
    for (int h = g + 1; h < q->problem->cluster->groups; h++)
        rest_per_s += list_of(walk, h)->most_units_per_s;
    const mixed_list *list = list_of(walk, g);
    for (int c = 0; c < list->count; c++) {
        if (mixed_weight(q, which | 1u << g) * walk->microbatches * list->choice[c]->least_s >=
            mixed_limit(q))
            continue;
        const double own_per_s = list->choice[c]->stages / list->choice[c]->unit_s;
        const unsigned with = which | 1u << g;
        if (mixed_weight(q, with) * walk->microbatches * q->units /
                (units_per_s + own_per_s + rest_per_s) >=
            mixed_limit(q))
            break;
        walk->choice[g] = list->choice[c];
        walk_groups(walk, g + 1, units_per_s + own_per_s, with);
    }
    walk->choice[g] = NULL;
    walk_groups(walk, g + 1, units_per_s, which);
}

// ---- orders --------------------------------------------------------------------------------

static plait_status deal_order(mixed_question *q, mixed_line *line, plait_error *err)
{
    line->between = (plait_between_stages){0};
    for (int g = 0; g < line->groups; g++) {
        for (int s = 1; s < line->choice[g]->stages; s++)
            plait_between_add_boundary(&line->between, line->choice[g]->sort,
                                       line->choice[g]->sort);
        if (g > 0)
            plait_between_add_boundary(&line->between, line->choice[g - 1]->sort,
                                       line->choice[g]->sort);
    }
    return mixed_deal(q, line, err);
}

/* Every order of the groups from `at` on. */
static plait_status permute(mixed_question *q, mixed_line *line, int at, plait_error *err)
{
    if (at == line->groups || at == PLAIT_MAX_NODE_GROUPS)
        return deal_order(q, line, err);
    for (int g = at; g < line->groups && g < PLAIT_MAX_NODE_GROUPS; g++) {
        mixed_choice *const here = line->choice[at];
        line->choice[at] = line->choice[g];
        line->choice[g] = here;
        PLAIT_TRY(permute(q, line, at + 1, err));
        line->choice[g] = line->choice[at];
        line->choice[at] = here;
    }
    return PLAIT_OK;
}

static int by_bound(const void *left, const void *right)
{
    const line_set *a = left, *b = right;

    if (a->bound < b->bound || a->bound > b->bound)
        return a->bound < b->bound ? -1 : 1;
    return a->size - b->size;
}

static plait_status deal_set(mixed_question *q, const line_set *set, plait_error *err)
{
    unsigned which;
    mixed_line line = {.shape = {.microbatches = mixed_microbatches(q, q->size[set->size]),
                                 .most_work = set->most_work}};

    line.groups = used(set->choice, line.choice, &which, &line.shape.stages);
    line.weight = mixed_weight(q, which);
    return permute(q, &line, 0, err);
}

/* So many of the sets from `from` on, until the bound reaches what is kept. */
static plait_status deal_sets(line_walk *walk, int from, int most, plait_error *err)
{
    const int count = walk->count - from;

    if (count > 0)
        qsort(&walk->set[from], (size_t)count, sizeof *walk->set, by_bound);
    for (int i = from; i < walk->count && i < from + most; i++) {
        if (walk->set[i].bound >= mixed_limit(walk->q))
            break;
        PLAIT_TRY(deal_set(walk->q, &walk->set[i], err));
    }
    return PLAIT_OK;
}

static void walk_size(line_walk *walk, int size)
{
    walk->size = size;
    walk->microbatches = mixed_microbatches(walk->q, walk->q->size[size]);
    for (int p = 0; p <= PLAIT_MAX_LAYERS; p++)
        walk->most_work[p] = 0.0;
    walk_groups(walk, 0, 0.0, 0);
}

/* Of each size the best few, so that good plans are known early; then all that may still be better. */
static plait_status walk_sizes(line_walk *walk, plait_error *err)
{
    mixed_question *q = walk->q;

    for (int size = 0; size < q->sizes; size++) {
        const int from = walk->count;
        walk_size(walk, size);
        if (walk->failed)
            return plait_fail_nomem(err);
        PLAIT_TRY(deal_sets(walk, from, FEW, err));
        int kept = from;
        for (int i = from; i < walk->count; i++)
            if (walk->set[i].bound < mixed_limit(q))
                walk->set[kept++] = walk->set[i];
        walk->count = kept;
    }
    return deal_sets(walk, 0, walk->count, err);
}

plait_status mixed_walk(mixed_question *q, plait_error *err)
{
    plait_arena *arena = plait_arena_new();
    line_walk *walk = arena ? plait_arena_alloc(arena, 1, sizeof *walk) : NULL;
    plait_status status;

    if (walk)
        *walk = (line_walk){.q = q, .arena = arena};
    status = walk ? walk_sizes(walk, err) : plait_fail_nomem(err);
    plait_arena_free(arena);
    return status;
}
