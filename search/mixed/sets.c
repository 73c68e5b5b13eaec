/*
 * sets.c - groups with a choice each whose bound is below the limit
 *
 * For each size a walk over the groups takes one choice of each, or none. What is taken and the quickest
 * choices of the groups to come bound the step, as if they were one pipeline of cut layers; a choice whose
 * bound by rate alone reaches the limit ends its list, since those behind it are slower still. (S.66)
 */
#include <math.h>

#include "grow.h"
#include "mixed.h"
#include "numbers.h"
#include "space.h"

/* What is taken so far. */
typedef struct set_walk {
    mixed_question *q;
    mixed_sets *out;
    const mixed_list *list; /* [PLAIT_MAX_NODE_GROUPS]: of this size */
    int microbatches;
    double *most_work; /* [layers + 1], of so many stages; 0: not known yet */
    mixed_choice *choice[PLAIT_MAX_NODE_GROUPS];
    bool failed;
} set_walk;

/* Of the choices that are taken, and of any to come: at most, and at least. */
typedef struct set_part {
    unsigned groups; /* bits */
    int stages;
    double units_per_s;
    double unit_s;
} set_part;

static double most_work_of(set_walk *walk, int stages)
{
    if (walk->most_work[stages] <= 0.0)
        walk->most_work[stages] = mixed_most_work(stages, walk->microbatches);
    return walk->most_work[stages];
}

// ---- bounds --------------------------------------------------------------------------------

static set_part with_choice(const set_part *part, const mixed_choice *choice)
{
    return (set_part){.groups = part->groups | 1u << choice->group,
                      .stages = part->stages + choice->stages,
                      .units_per_s = part->units_per_s + choice->stages / choice->unit_s,
                      .unit_s = smaller(part->unit_s, choice->unit_s)};
}

/* With the best that the groups from g on can add. */
static set_part with_rest(const set_walk *walk, set_part part, int g)
{
    for (; g < walk->q->problem->cluster->groups; g++) {
        part.stages += walk->list[g].most_stages;
        part.units_per_s += walk->list[g].most_units_per_s;
        part.unit_s = smaller(part.unit_s, walk->list[g].least_unit_s);
    }
    return part;
}

/* By what its stages can do in a second, and one of them has to. */
static double rate_bound(const set_walk *walk, const set_part *part, double least_s)
{
    const mixed_question *q = walk->q;

    return mixed_weight(q, part->groups) * walk->microbatches *
           larger(q->units / part->units_per_s, least_s);
}

/* By its pipeline: fewer stages than it may have would hold no more. */
static double part_bound(set_walk *walk, const set_part *part, double least_s)
{
    const mixed_question *q = walk->q;
    const int layers = q->problem->model->layers;
    const int stages = part->stages < layers ? part->stages : layers;
    const mixed_shape shape = {stages, walk->microbatches, most_work_of(walk, stages)};
    const double slowest_s = larger(q->units / part->units_per_s, least_s);

    return mixed_weight(q, part->groups) *
           mixed_pipeline_bound_s(&shape, slowest_s, q->units * part->unit_s);
}

/* Of all groups chosen, the cheaper form first; infinite where the layers do not fit. */
static double bound_of_set(set_walk *walk, const mixed_set *set)
{
    mixed_question *q = walk->q;
    const double bound = mixed_fractional_bound(q, set);

    if (bound >= mixed_limit(q) || q->problem->model->kinds > 1)
        return bound;
    const double whole = mixed_whole_bound(q, set);
    walk->failed = walk->failed || whole < 0.0;
    return whole;
}

// ---- the walk ------------------------------------------------------------------------------

/* Sends that every order of the groups has. */
static plait_between_stages sends_inside(const mixed_set *set)
{
    plait_between_stages sum = {0};

    for (int g = 0; g < set->groups; g++) {
        const plait_between_stages *one = &set->choice[g]->boundary;
        if (set->choice[g]->stages < 2)
            continue;
        sum.sends_s += (set->choice[g]->stages - 1) * one->sends_s;
        sum.slowest_s = larger(sum.slowest_s, one->slowest_s);
        sum.link_s = larger(sum.link_s, one->link_s);
    }
    return sum;
}

/* Of at least two groups, and with those that have to be used? */
static bool make_set(set_walk *walk, const set_part *part, mixed_set *set)
{
    const unsigned must = walk->q->must;

    *set = (mixed_set){.weight = mixed_weight(walk->q, part->groups)};
    for (int g = 0; g < PLAIT_MAX_NODE_GROUPS; g++)
        if (walk->choice[g])
            set->choice[set->groups++] = walk->choice[g];
    if (set->groups < 2 || part->stages > walk->q->problem->model->layers ||
        (part->groups & must) != must ||
        !limits_allow(walk->q->options, PLAIT_KEY_PP, part->stages))
        return false;
    set->shape = (mixed_shape){part->stages, walk->microbatches, most_work_of(walk, part->stages)};
    set->inside = sends_inside(set);
    return true;
}

static void keep_set(set_walk *walk, const set_part *part)
{
    mixed_sets *out = walk->out;
    mixed_set set;

    if (!make_set(walk, part, &set))
        return;
    set.listed = walk->q->lines++;
    set.bound = bound_of_set(walk, &set);
    if (set.bound >= mixed_limit(walk->q) || walk->failed)
        return;
    mixed_set *more = grow_by_one(out->arena, out->set, out->count, &out->room, sizeof *more);
    walk->failed = !more;
    if (!more)
        return;
    out->set = more;
    out->set[out->count++] = set;
}

/* Group g on. */
static void walk_groups(set_walk *walk, int g, const set_part *part)
{
    const mixed_question *q = walk->q;

    if (g == q->problem->cluster->groups || walk->failed) {
        keep_set(walk, part);
        return;
    }
    for (int c = 0; c < walk->list[g].count; c++) {
        mixed_choice *choice = walk->list[g].choice[c];
        const set_part own = with_choice(part, choice);
        const set_part most = with_rest(walk, own, g + 1);
        if (rate_bound(walk, &most, 0.0) >= mixed_limit(q))
            break;
        if (part_bound(walk, &most, choice->least_s) >= mixed_limit(q))
            continue;
        walk->choice[g] = choice;
        walk_groups(walk, g + 1, &own);
    }
    walk->choice[g] = NULL;
    const set_part most = with_rest(walk, *part, g + 1);
    if (most.units_per_s > 0.0 && part_bound(walk, &most, 0.0) < mixed_limit(q))
        walk_groups(walk, g + 1, part);
}

bool mixed_list_sets(mixed_question *q, int size, mixed_sets *out)
{
    const plait_arena_mark mark = plait_arena_save(q->scratch);
    const set_part none = {.unit_s = HUGE_VAL};
    set_walk walk = {.q = q,
                     .out = out,
                     .list = &q->list[size * PLAIT_MAX_NODE_GROUPS],
                     .microbatches = mixed_microbatches(q, q->size[size])};

    walk.most_work = plait_arena_alloc(q->scratch, (size_t)q->problem->model->layers + 1,
                                       sizeof *walk.most_work);
    walk.failed = !walk.most_work;
    if (walk.most_work)
        walk_groups(&walk, 0, &none);
    plait_arena_rewind(q->scratch, mark);
    return !walk.failed;
}
