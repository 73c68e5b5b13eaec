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

/* Groups with a choice each, in no order yet. */
typedef struct line_set {
    double bound;
    int size; /* which number of sequences */
    mixed_choice *choice[PLAIT_MAX_NODE_GROUPS];
} line_set;

typedef struct line_walk {
    mixed_question *q;
    int size;
    int microbatches;
    int most; /* choices of a group that are looked at */
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

/* Work of all layers where each is on the nodes that are quickest for it. */
static double least_work_s(const mixed_question *q, mixed_choice *const *choice, int groups)
{
    double work_s = 0.0;

    for (int i = 0; i < q->problem->model->layers; i++) {
        const int k = q->problem->model->layer_kind[i];
        double least_s = HUGE_VAL;
        for (int g = 0; g < groups; g++)
            least_s = fmin(least_s, choice[g]->kind_s[k]);
        work_s += least_s;
    }
    return work_s;
}

static double bound_of_set(const line_walk *walk, mixed_choice *const *choice, int groups,
                           unsigned which, int stages)
{
    const double slowest_s = mixed_whole_layers_s(walk->q, choice, groups);

    return mixed_weight(walk->q, which) *
           mixed_pipeline_bound_s(stages, walk->microbatches, slowest_s,
                                  least_work_s(walk->q, choice, groups));
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
    walk->set[walk->count] = (line_set){.bound = bound, .size = walk->size};
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
    for (int c = 0; c < list->count && c < walk->most; c++) {
        const double own_per_s = list->choice[c]->stages / list->choice[c]->unit_s;
        const unsigned with = which | 1u << g;
        if (mixed_weight(q, with) *
                mixed_fractional_s(q, units_per_s + own_per_s + rest_per_s, walk->microbatches) >=
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

static plait_status deal_sets(line_walk *walk, plait_error *err)
{
    mixed_question *q = walk->q;

    if (walk->count > 0)
        qsort(walk->set, (size_t)walk->count, sizeof *walk->set, by_bound);
    for (int i = 0; i < walk->count && walk->set[i].bound < mixed_limit(q); i++) {
        unsigned which;
        mixed_line line = {.microbatches =
                               q->problem->job.gbs / q->sequences[walk->set[i].size]};
        line.groups = used(walk->set[i].choice, line.choice, &which, &line.stages);
        line.weight = mixed_weight(q, which);
        PLAIT_TRY(permute(q, &line, 0, err));
    }
    return PLAIT_OK;
}

/* All sets of the `most` quickest choices of each group. */
static plait_status walk_all(mixed_question *q, int most, plait_error *err)
{
    plait_arena *arena = plait_arena_new();
    line_walk walk = {.q = q, .most = most, .arena = arena};
    plait_status status = PLAIT_OK;

    if (!arena)
        return plait_fail_nomem(err);
    for (walk.size = 0; walk.size < q->sizes; walk.size++) {
        walk.microbatches = q->problem->job.gbs / q->sequences[walk.size];
        walk_groups(&walk, 0, 0.0, 0);
    }
    status = walk.failed ? plait_fail_nomem(err) : deal_sets(&walk, err);
    plait_arena_free(arena);
    return status;
}

plait_status mixed_walk(mixed_question *q, plait_error *err)
{
    PLAIT_TRY(walk_all(q, 2, err)); // good plans first: they cut off most of the others
    q->lines = 0;
    return walk_all(q, 1 << 24, err);
}
