/*
 * sets.c - groups with a run or two each whose bound is below the limit
 *
 * For each size a walk over the groups takes one option of each, or none. What is taken and the best of
 * the groups to come bound the step, as if they were one pipeline of cut layers; an option that holds too
 * little beside them ends its list, since those behind it hold less. (S.66, S.70)
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "search/pipeline/heterogeneous.h"
#include "base/numbers.h"
#include "search/space/space.h"

/* A choice, and the units of work that a stage of it holds at most in a plan worth keeping. (S.70) */
typedef struct set_choice {
    group_degrees *choice;
    double held;
} set_choice;

/* What no stages of a group are beyond. */
typedef struct set_reach {
    double held;        /* units of work by all of them, at most */
    double units_per_s; /* likewise */
    double unit_s;      /* at least */
    double least_s;     /* that one of them takes */
    double after_s;     /* that they leave behind the pipeline, at least */
    int stages;         /* at most */
} set_reach;

/* One run of a group, or two. */
typedef struct set_option {
    int runs;
    group_degrees *choice[2];
    int stages[2];
    set_reach reach;
} set_option;

/* Those of one group that a plan worth keeping may have, with most units held first. */
typedef struct set_list {
    int gpus; /* of the group */
    int choices;
    set_choice *choice;
    int options, room;
    set_option *option;
    set_reach reach; /* of all of them, or of all choices before there are options */
} set_list;

/* What is taken so far. */
typedef struct set_walk {
    hetero_problem *q;
    group_choices *out;
    bool unlike;  /* two runs in one of the groups, else one in each */
    double units; /* that all stages have to hold; the model's, less more than rounding */
    int microbatches;
    double *most_work; /* [layers + 1], of so many stages; 0: not known yet */
    set_list list[PLAIT_MAX_NODE_GROUPS];
    int runs;
    stage_run *run[HETERO_RUNS];
    int64_t budget; /* options to try; negative: it did not last */
    double floor;   /* of all sets */
    bool failed;
} set_walk;

/* Of the runs that are taken, and of any to come. */
typedef struct set_part {
    unsigned groups; /* bits */
    bool unlike;     /* a group has two */
    set_reach reach;
} set_part;

static double most_work_of(set_walk *walk, int stages)
{
    if (walk->most_work[stages] <= 0.0)
        walk->most_work[stages] = pipeline_max_work(stages, walk->microbatches);
    return walk->most_work[stages];
}

// ---- bounds --------------------------------------------------------------------------------

static void add_reach(set_reach *sum, const set_reach *more)
{
    sum->held += more->held;
    sum->units_per_s += more->units_per_s;
    sum->unit_s = smaller(sum->unit_s, more->unit_s);
    sum->least_s = larger(sum->least_s, more->least_s);
    sum->after_s = larger(sum->after_s, more->after_s);
    sum->stages += more->stages;
}

/* With the best that the groups from g on can add. */
static set_part with_rest(const set_walk *walk, set_part part, int g)
{
    for (; g < walk->q->problem->cluster->groups; g++)
        add_reach(&part.reach, &walk->list[g].reach);
    return part;
}

/*
 * Adds what group g may have at best: the most units a second, each in the least time. Where it has
 * one run, and the others cannot hold the model with half of its work, its stages are half full at least, and
 * more of them that take longer each would not end sooner (S.70). Else as many stages as any of its options has.
 */
static void add_best(const set_walk *walk, const set_part *most, double most_s, int g,
                     divisible_pipeline *cut)
{
    const set_reach *reach = &walk->list[g].reach;
    const double beside = most->reach.units_per_s - 0.5 * reach->units_per_s;
    const bool one_run = !walk->unlike || most->unlike;
    const bool half_full = one_run && beside * most_s < walk->units;

    if (reach->units_per_s > 0.0)
        divisible_add(cut, half_full ? reach->units_per_s * reach->unit_s : reach->stages,
                      reach->units_per_s, reach->unit_s);
}

/* The pipeline of the runs that are taken, and the best of the groups from g on. */
static divisible_pipeline cut_of(const set_walk *walk, const set_part *most, double most_s, int g)
{
    divisible_pipeline cut = {.microbatches = walk->microbatches, .one_s = most->reach.least_s};

    for (int r = 0; r < walk->runs; r++) {
        const stage_run *run = walk->run[r];
        divisible_add(&cut, run->stages, run->stages / run->choice->unit_s, run->choice->unit_s);
    }
    for (; g < walk->q->problem->cluster->groups; g++)
        add_best(walk, most, most_s, g, &cut);
    return cut;
}

/* The longest pipeline that a plan worth keeping over these groups may have. */
static double limit_s(const set_walk *walk, unsigned groups)
{
    return hetero_limit(walk->q) / hetero_weight(walk->q, groups);
}

/* Of all groups chosen, the cheaper form first; infinite where the layers do not fit. */
static double bound_of_set(set_walk *walk, const group_choice *set)
{
    hetero_problem *q = walk->q;
    const double bound = hetero_divisible_bound(q, set);

    if (bound >= hetero_limit(q) || q->problem->model->kinds > 1)
        return bound;
    const double whole = hetero_whole_layer_bound(q, set);
    walk->failed = walk->failed || whole < 0.0;
    return whole;
}

// ---- the walk ------------------------------------------------------------------------------

/* Sends that every order of the groups has. */
static plait_between_stages sends_inside(const group_choice *set)
{
    plait_between_stages sum = {0};

    for (int r = 0; r < set->runs; r++) {
        const plait_between_stages *one = &set->run[r]->choice->boundary;
        if (set->run[r]->stages < 2)
            continue;
        sum.sends_s += (set->run[r]->stages - 1) * one->sends_s;
        sum.slowest_s = larger(sum.slowest_s, one->slowest_s);
        sum.link_s = larger(sum.link_s, one->link_s);
    }
    return sum;
}

/* Not of one group alone with all stages alike, and with the groups that have to be used? */
static bool make_set(set_walk *walk, const set_part *part, group_choice *set)
{
    const unsigned must = walk->q->must;
    const int stages = part->reach.stages;

    *set = (group_choice){.weight = hetero_weight(walk->q, part->groups), .runs = walk->runs};
    memcpy(set->run, walk->run, sizeof set->run);
    if (walk->runs < 2 || part->unlike != walk->unlike ||
        stages > walk->q->problem->model->layers || (part->groups & must) != must ||
        !limits_allow(walk->q->options, PLAIT_KEY_PP, stages))
        return false;
    set->shape = (pipeline_shape){stages, walk->microbatches, most_work_of(walk, stages)};
    set->inside = sends_inside(set);
    return true;
}

static void keep_set(set_walk *walk, const set_part *part)
{
    group_choices *out = walk->out;
    group_choice set;

    if (!make_set(walk, part, &set))
        return;
    set.listed = walk->q->lines++;
    set.bound = bound_of_set(walk, &set);
    if (set.bound >= hetero_limit(walk->q) || walk->failed)
        return;
    group_choice *more = grow_by_one(out->arena, out->set, out->count, &out->room, sizeof *more);
    walk->failed = !more;
    if (!more)
        return;
    out->set = more;
    out->set[out->count++] = set;
}

static void walk_groups(set_walk *walk, int g, const set_part *part);

/* May what is taken, and the best of the groups from g on, be worth keeping? */
static bool is_hopeful(const set_walk *walk, const set_part *part, int g)
{
    const set_part most = with_rest(walk, *part, g);
    const double within_s = limit_s(walk, part->groups);

    if (most.reach.held < walk->units)
        return false;
    const divisible_pipeline cut = cut_of(walk, &most, within_s / walk->microbatches, g);
    return divisible_lower_bound_s(&cut, walk->units) + most.reach.after_s < within_s;
}

/* The groups behind g, with the runs of an option of g. */
static void walk_option(set_walk *walk, const set_option *option, int g, const set_part *part)
{
    const int runs = walk->runs;

    for (int r = 0; r < option->runs; r++) {
        stage_run *run = hetero_run(walk->q, option->choice[r], option->stages[r]);
        walk->failed = walk->failed || !run;
        walk->run[walk->runs++] = run;
    }
    if (!walk->failed && is_hopeful(walk, part, g + 1))
        walk_groups(walk, g + 1, part);
    while (walk->runs > runs)
        walk->run[--walk->runs] = NULL;
}

/* Group g on. */
static void walk_groups(set_walk *walk, int g, const set_part *part)
{
    const set_list *list = &walk->list[g];

    if (g == walk->q->problem->cluster->groups || walk->failed) {
        keep_set(walk, part);
        return;
    }
    const set_part rest = with_rest(walk, *part, g + 1);
    for (int i = 0; i < list->options && walk->budget-- > 0; i++) {
        const set_option *option = &list->option[i];
        set_part own = *part;
        if (rest.reach.held + option->reach.held <
            walk->units) // nor will those behind it hold more
            break;
        if (part->unlike && option->runs > 1)
            continue;
        own.groups |= 1u << g;
        own.unlike = part->unlike || option->runs > 1;
        add_reach(&own.reach, &option->reach);
        walk_option(walk, option, g, &own);
    }
    if (is_hopeful(walk, part, g + 1))
        walk_groups(walk, g + 1, part);
}

// ---- what is worth a walk ------------------------------------------------------------------

/*
 * Units that a stage of a choice holds while it takes as long as a plan worth keeping lets it, and has
 * room for one microbatch of them. (S.70)
 */
static double held_of(set_walk *walk, group_degrees *choice, double most_s)
{
    hetero_problem *q = walk->q;
    const int layers = q->problem->model->layers;
    int held = 0;

    if (q->problem->model->kinds > 1 || most_s == HUGE_VAL || choice->kind_s[0] > most_s)
        return choice->least_s > most_s ? 0.0 : smaller(q->units, most_s / choice->unit_s);
    const stage_bound *row = hetero_stage_bounds(q, choice, HETERO_MIDDLE, choice->group, 1);
    walk->failed = walk->failed || !row;
    while (row && held < layers && row[hetero_range(q, 0, held + 1)].stage_s <= most_s)
        held++;
    return held * q->kind_units[0];
}

/* So many stages of a choice. */
static set_reach reach_of(const set_choice *one, double stages)
{
    const group_degrees *choice = one->choice;

    return (set_reach){.held = stages * one->held,
                       .units_per_s = stages / choice->unit_s,
                       .unit_s = choice->unit_s,
                       .least_s = choice->least_s,
                       .stages = (int)stages};
}

static void widen(set_reach *reach, const set_reach *own, bool first)
{
    reach->after_s = first ? own->after_s : smaller(reach->after_s, own->after_s);
    reach->held = larger(reach->held, own->held);
    reach->units_per_s = larger(reach->units_per_s, own->units_per_s);
    reach->unit_s = smaller(reach->unit_s, own->unit_s);
    reach->stages = own->stages > reach->stages ? own->stages : reach->stages;
}

/* The best of all choices of a group, as if all of its GPUs were in stages of one. */
static void reach_choices(set_list *list)
{
    list->reach = (set_reach){.unit_s = HUGE_VAL};
    for (int c = 0; c < list->choices; c++) {
        const set_choice *one = &list->choice[c];
        const set_reach own = reach_of(one, (double)list->gpus / one->choice->gpus);
        widen(&list->reach, &own, c == 0);
    }
}

static void reach_options(set_list *list)
{
    list->reach = (set_reach){.unit_s = HUGE_VAL};
    for (int i = 0; i < list->options; i++)
        widen(&list->reach, &list->option[i].reach, i == 0);
}

/* Those of one run, or all of them. */
static bool list_choices(set_walk *walk, const degrees_list *all, set_list *out)
{
    *out = (set_list){
        .choice = plait_arena_alloc(walk->q->scratch, (size_t)all->count + 1, sizeof *out->choice),
        .gpus = all->gpus};
    for (int c = 0; out->choice && c < all->count; c++)
        if (walk->unlike || all->choice[c]->whole)
            out->choice[out->choices++] = (set_choice){all->choice[c], 0.0};
    reach_choices(out);
    return out->choice != NULL;
}

/* What a stage of each choice of group g holds. */
static void hold_choices(set_walk *walk, int g)
{
    const set_part none = {.reach.unit_s = HUGE_VAL};
    const set_part most = with_rest(walk, none, 0);
    const double within_s = limit_s(walk, 1u << g);
    const divisible_pipeline cut = cut_of(walk, &most, within_s / walk->microbatches, 0);
    const double most_s = divisible_max_stage_s(&cut, walk->units, within_s);
    set_list *list = &walk->list[g];

    for (int c = 0; c < list->choices; c++)
        list->choice[c].held = held_of(walk, list->choice[c].choice, most_s);
}

/* What the other groups hold at most. */
static double held_beside(const set_walk *walk, int g)
{
    double held = 0.0;

    for (int h = 0; h < walk->q->problem->cluster->groups; h++)
        held += h == g ? 0.0 : walk->list[h].reach.held;
    return held;
}

/*
 * Leaves those of which one stage, the best of its group and of all others still hold the model.
 * Returns whether all do.
 */
static bool clear_choices(set_walk *walk, int g)
{
    set_list *list = &walk->list[g];
    const double others = held_beside(walk, g);
    const int count = list->choices;

    list->choices = 0;
    for (int c = 0; c < count; c++) {
        const set_choice one = list->choice[c];
        const double stages = (double)list->gpus / one.choice->gpus;
        const double beside =
            walk->unlike ? (1.0 - 1.0 / stages) * list->reach.held : (stages - 1.0) * one.held;
        if (one.held > 0.0 && one.held + beside + others >= walk->units)
            list->choice[list->choices++] = one;
    }
    reach_choices(list);
    return list->choices == count;
}

/*
 * What stages of an option leave behind the pipeline: all other groups together hold so much, and the fullest
 * stage its share of the rest. (S.68)
 */
static double after_of(set_walk *walk, const set_option *option, double others)
{
    hetero_problem *q = walk->q;
    const double layers = (walk->units - others) / q->kind_units[0] / option->reach.stages;
    double after_s = HUGE_VAL;

    if (q->problem->model->kinds > 1)
        return 0.0;
    for (int r = 0; r < option->runs; r++) {
        const double *of = hetero_tail_bounds(q, option->choice[r]);
        walk->failed = walk->failed || !of;
        after_s = of ? smaller(after_s, of[layers > 1.0 ? (int)ceil(layers) : 1]) : 0.0;
    }
    return after_s;
}

static void add_option(set_walk *walk, set_list *list, double others, set_option *option)
{
    if (option->reach.held + others < walk->units)
        return;
    option->reach.after_s = after_of(walk, option, others);
    set_option *more =
        grow_by_one(walk->q->scratch, list->option, list->options, &list->room, sizeof *more);
    walk->failed = walk->failed || !more;
    if (!more)
        return;
    list->option = more;
    list->option[list->options++] = *option;
}

/* Stages of `second` on 1, 2, .. times their GPUs, of `first` on all others. */
static void add_pairs(set_walk *walk, set_list *list, double others, const set_choice *first,
                      const set_choice *second)
{
    group_degrees *const a = first->choice, *const b = second->choice;
    const int layers = walk->q->problem->model->layers;

    for (int n = 1; n * b->gpus < list->gpus && n < layers && !walk->failed; n++) {
        const int rest = list->gpus - n * b->gpus, stages = rest / a->gpus;
        if (rest % a->gpus != 0 || stages + n > layers ||
            !(hetero_may_follow(a, stages, b) || hetero_may_follow(b, n, a)))
            continue;
        set_option pair = {
            .runs = 2, .choice = {a, b}, .stages = {stages, n}, .reach = reach_of(first, stages)};
        const set_reach more = reach_of(second, n);
        add_reach(&pair.reach, &more);
        add_option(walk, list, others, &pair);
    }
}

static int by_held(const void *left, const void *right)
{
    const set_option *a = left, *b = right;

    if (a->reach.held < b->reach.held || a->reach.held > b->reach.held)
        return a->reach.held < b->reach.held ? 1 : -1;
    for (int r = 0; r < 2; r++)
        if (a->stages[r] != b->stages[r])
            return a->stages[r] - b->stages[r];
    return 0;
}

static void list_options(set_walk *walk, int g)
{
    set_list *list = &walk->list[g];
    const double others = held_beside(walk, g);

    for (int c = 0; c < list->choices && !walk->failed; c++) {
        const set_choice *one = &list->choice[c];
        const int stages = one->choice->most_stages;
        set_option whole = {
            .runs = 1, .choice = {one->choice}, .stages = {stages}, .reach = reach_of(one, stages)};
        if (one->choice->whole)
            add_option(walk, list, others, &whole);
        for (int d = c + 1; walk->unlike && d < list->choices && !walk->failed; d++)
            add_pairs(walk, list, others, one, &list->choice[d]);
    }
    if (list->options > 0)
        qsort(list->option, (size_t)list->options, sizeof *list->option, by_held);
}

static bool list_useful(set_walk *walk, const degrees_list *all)
{
    const int groups = walk->q->problem->cluster->groups;
    bool settled = false;

    for (int g = 0; g < groups; g++)
        if (!list_choices(walk, &all[g], &walk->list[g]))
            return false;
    for (int g = 0; g < groups; g++)
        hold_choices(walk, g);
    for (int g = 0; g < groups; g++)
        reach_choices(&walk->list[g]);
    while (!settled) {
        settled = true;
        for (int g = 0; g < groups; g++)
            settled = clear_choices(walk, g) && settled;
    }
    for (int g = 0; g < groups; g++)
        list_options(walk, g);
    for (int g = 0; g < groups; g++)
        reach_options(&walk->list[g]);
    return !walk->failed;
}

/* Of all sets: each has one group at least. */
static double floor_of(const set_walk *walk, const set_part *none)
{
    const set_part most = with_rest(walk, *none, 0);
    double floor = HUGE_VAL;

    for (int g = 0; g < walk->q->problem->cluster->groups; g++) {
        const divisible_pipeline cut =
            cut_of(walk, &most, limit_s(walk, 1u << g) / walk->microbatches, 0);
        floor = smaller(floor, hetero_weight(walk->q, 1u << g) *
                                   divisible_lower_bound_s(&cut, walk->units));
    }
    return floor;
}

static bool walk_size(set_walk *walk, int size)
{
    hetero_problem *q = walk->q;
    const plait_arena_mark mark = plait_arena_save(q->scratch);
    const set_part none = {.reach.unit_s = HUGE_VAL};

    walk->microbatches = hetero_microbatches(q, q->space.size[size]);
    walk->units = q->units * (1.0 - 1e-9);
    walk->most_work = plait_arena_alloc(q->scratch, (size_t)q->problem->model->layers + 1,
                                        sizeof *walk->most_work);
    walk->failed =
        !walk->most_work || !list_useful(walk, &q->space.list[size * PLAIT_MAX_NODE_GROUPS]);
    if (!walk->failed && is_hopeful(walk, &none, 0)) {
        walk->floor = floor_of(walk, &none);
        walk_groups(walk, 0, &none);
    }
    plait_arena_rewind(q->scratch, mark);
    return !walk->failed;
}

bool hetero_list_choices(hetero_problem *q, int size, group_choices *out)
{
    set_walk walk = {.q = q, .out = out, .budget = INT64_MAX};

    return walk_size(&walk, size);
}

bool hetero_list_uneven(hetero_problem *q, int size, int64_t *budget, double *floor,
                        group_choices *out)
{
    set_walk walk = {
        .q = q, .out = out, .unlike = true, .budget = *budget, .floor = hetero_limit(q)};
    const bool done = walk_size(&walk, size);

    *budget = walk.budget;
    *floor = walk.floor;
    return done;
}
