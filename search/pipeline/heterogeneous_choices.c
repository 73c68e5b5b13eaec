/*
 * heterogeneous_choices.c - lists group choices with one or two runs per group whose bound is below
 * the limit (S.66, S.70)
 *
 * For each size a depth-first walk over the groups takes one option of each group, or none. A
 * partial choice is bounded together with the best of the remaining groups, as one pipeline with
 * divisible layers. Options are sorted by the work that they hold, in descending order. The walk
 * stops at the first option that holds too little together with the best of the other groups.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "search/pipeline/heterogeneous.h"
#include "base/numbers.h"
#include "search/space/space.h"

/*
 * Degrees, and `held`: the most units of work that a stage of them holds in a plan below the limit.
 * (S.70)
 */
typedef struct set_choice {
    group_degrees *choice;
    double held;
} set_choice;

/* Bounds of the stages of a group, or of several groups together. */
typedef struct set_reach {
    double held;        /* upper bound of the units of work of all stages */
    double units_per_s; /* upper bound of the rate of all stages */
    double unit_s;      /* lower bound of the time of a unit */
    double least_s;     /* lower bound of f + b of the slowest stage */
    double tail_s;      /* lower bound of the longest tail */
    int stages;         /* upper bound */
} set_reach;

/* One option of a group: one run or two. */
typedef struct set_option {
    int runs;
    group_degrees *choice[2];
    int stages[2];
    set_reach reach;
} set_option;

/*
 * Degrees and options of one group for plans below the limit, options in descending order of work.
 */
typedef struct set_list {
    int gpus; /* GPUs of the group */
    int choices;
    set_choice *choice;
    int options, capacity;
    set_option *option;
    set_reach reach; /* best of all options, or of all degrees until options are listed */
} set_list;

/* State of the walk over the groups for one size, with the runs taken so far. */
typedef struct choice_search {
    hetero_problem *q;
    group_choices *out;
    bool uneven;  /* true: one of the groups has two runs; false: each has one */
    double units; /* work of the model, less a margin for rounding */
    int microbatches;
    double *max_work; /* [layers + 1] pipeline_max_work by stages; 0: not computed yet */
    set_list list[PLAIT_MAX_NODE_GROUPS];
    int runs;
    stage_run *run[HETERO_RUNS];
    int64_t budget;     /* options left to try; negative: exhausted */
    double lower_bound; /* lower bound of all choices */
    bool failed;
} choice_search;

/* A partial choice: its groups and bounds. */
typedef struct set_part {
    unsigned groups; /* bits */
    bool uneven;     /* true if a group has two runs */
    set_reach reach;
} set_part;

// ---- bounds --------------------------------------------------------------------------------

static void add_reach(set_reach *sum, const set_reach *more)
{
    sum->held += more->held;
    sum->units_per_s += more->units_per_s;
    sum->unit_s = smaller(sum->unit_s, more->unit_s);
    sum->least_s = larger(sum->least_s, more->least_s);
    sum->tail_s = larger(sum->tail_s, more->tail_s);
    sum->stages += more->stages;
}

/* Returns the partial choice extended by the best of the groups from g on. */
static set_part with_rest(const choice_search *search, set_part part, int g)
{
    for (; g < search->q->problem->cluster->groups; g++)
        add_reach(&part.reach, &search->list[g].reach);
    return part;
}

/*
 * Adds an upper bound of what group g can do: the most units per second, each in the least time. If
 * the group has one run, and the model does not fit into the other groups and half of this one, its
 * stages are at least half full, and then more but slower stages do not end sooner (S.70).
 * Otherwise it gets the most stages of any of its options.
 */
static void add_best(const choice_search *search, const set_part *most, double max_s, int g,
                     divisible_pipeline *cut)
{
    const set_reach *reach = &search->list[g].reach;
    const double beside = most->reach.units_per_s - 0.5 * reach->units_per_s;
    const bool one_run = !search->uneven || most->uneven;
    const bool half_full = one_run && beside * max_s < search->units;

    if (reach->units_per_s > 0.0)
        divisible_add(cut, half_full ? reach->units_per_s * reach->unit_s : reach->stages,
                      reach->units_per_s, reach->unit_s);
}

/* Returns the divisible pipeline of the runs taken so far and the best of the groups from g on. */
static divisible_pipeline cut_of(const choice_search *search, const set_part *most, double max_s,
                                 int g)
{
    divisible_pipeline cut = {.microbatches = search->microbatches, .one_s = most->reach.least_s};

    for (int r = 0; r < search->runs; r++) {
        const stage_run *run = search->run[r];
        divisible_add(&cut, run->stages, run->stages / run->choice->unit_s, run->choice->unit_s);
    }
    for (; g < search->q->problem->cluster->groups; g++)
        add_best(search, most, max_s, g, &cut);
    return cut;
}

/* Returns the limit in seconds for plans over these groups. */
static double limit_s(const choice_search *search, unsigned groups)
{
    return hetero_limit(search->q) / hetero_weight(search->q, groups);
}

// ---- the walk ------------------------------------------------------------------------------

/* Returns the sends that are the same in every order of the groups. */
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

/*
 * Adds the choice of the runs taken so far if it has several runs, all groups of q->must, and a
 * bound below the limit.
 */
static void keep_choice(choice_search *search, const set_part *part)
{
    hetero_problem *q = search->q;
    group_choices *out = search->out;
    const int stages = part->reach.stages;
    group_choice set = {.weight = hetero_weight(q, part->groups), .runs = search->runs};

    if (search->runs < 2 || part->uneven != search->uneven || stages > q->problem->model->layers ||
        (part->groups & q->must) != q->must || !limits_allow(q->options, PLAIT_KEY_PP, stages))
        return;
    if (search->max_work[stages] <= 0.0)
        search->max_work[stages] = pipeline_max_work(stages, search->microbatches);
    memcpy(set.run, search->run, sizeof set.run);
    set.shape = (pipeline_shape){stages, search->microbatches, search->max_work[stages]};
    set.inside = sends_inside(&set);
    set.listed = q->listed++;
    set.bound = hetero_divisible_bound(q, &set);
    if (set.bound < hetero_limit(q) && q->problem->model->kinds == 1) {
        set.bound = hetero_whole_layer_bound(q, &set); // closer, but slower to compute
        search->failed = search->failed || set.bound < 0.0;
    }
    if (set.bound >= hetero_limit(q) || search->failed)
        return;
    group_choice *more =
        grow_by_one(out->arena, out->set, out->count, &out->capacity, sizeof *more);
    search->failed = !more;
    if (!more)
        return;
    out->set = more;
    out->set[out->count++] = set;
}

static void walk_groups(choice_search *search, int g, const set_part *part);

/*
 * Returns whether the partial choice and the best of the groups from g on may be below the limit.
 */
static bool is_hopeful(const choice_search *search, const set_part *part, int g)
{
    const set_part most = with_rest(search, *part, g);
    const double within_s = limit_s(search, part->groups);

    if (most.reach.held < search->units)
        return false;
    const divisible_pipeline cut = cut_of(search, &most, within_s / search->microbatches, g);
    return divisible_lower_bound_s(&cut, search->units) + most.reach.tail_s < within_s;
}

/* Takes an option of group g and walks the groups after it. */
static void walk_option(choice_search *search, const set_option *option, int g,
                        const set_part *part)
{
    const int runs = search->runs;

    for (int r = 0; r < option->runs; r++) {
        stage_run *run = hetero_run(search->q, option->choice[r], option->stages[r]);
        search->failed = search->failed || !run;
        search->run[search->runs++] = run;
    }
    if (!search->failed && is_hopeful(search, part, g + 1))
        walk_groups(search, g + 1, part);
    while (search->runs > runs)
        search->run[--search->runs] = NULL;
}

/* Walks the groups from g on. */
static void walk_groups(choice_search *search, int g, const set_part *part)
{
    const set_list *list = &search->list[g];

    if (g == search->q->problem->cluster->groups || search->failed) {
        keep_choice(search, part);
        return;
    }
    const set_part rest = with_rest(search, *part, g + 1);
    for (int i = 0; i < list->options && search->budget-- > 0; i++) {
        const set_option *option = &list->option[i];
        set_part own = *part;
        if (rest.reach.held + option->reach.held < search->units) // the options after it hold less
            break;
        if (part->uneven && option->runs > 1)
            continue;
        own.groups |= 1u << g;
        own.uneven = part->uneven || option->runs > 1;
        add_reach(&own.reach, &option->reach);
        walk_option(search, option, g, &own);
    }
    if (is_hopeful(search, part, g + 1))
        walk_groups(search, g + 1, part);
}

// ---- degrees and options -------------------------------------------------------------------

/*
 * Returns an upper bound of the work that a stage does in max_s and stores with one microbatch in
 * flight. (S.70)
 */
static double held_of(choice_search *search, group_degrees *choice, double max_s)
{
    hetero_problem *q = search->q;
    const int layers = q->problem->model->layers;
    int held = 0;

    if (q->problem->model->kinds > 1 || max_s == HUGE_VAL || choice->kind_s[0] > max_s)
        return choice->least_s > max_s ? 0.0 : smaller(q->units, max_s / choice->unit_s);
    const stage_bound *row = hetero_stage_bounds(q, choice, HETERO_MIDDLE, choice->group, 1);
    search->failed = search->failed || !row;
    while (row && held < layers && row[hetero_range(q, 0, held + 1)].stage_s <= max_s)
        held++;
    return held * q->kind_units[0];
}

/* Returns the bounds of this number of stages with the same degrees. */
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
    reach->tail_s = first ? own->tail_s : smaller(reach->tail_s, own->tail_s);
    reach->held = larger(reach->held, own->held);
    reach->units_per_s = larger(reach->units_per_s, own->units_per_s);
    reach->unit_s = smaller(reach->unit_s, own->unit_s);
    reach->stages = own->stages > reach->stages ? own->stages : reach->stages;
}

/* Sets list->reach to the best of all degrees of the group, each as if it used all GPUs. */
static void reach_choices(set_list *list)
{
    list->reach = (set_reach){.unit_s = HUGE_VAL};
    for (int c = 0; c < list->choices; c++) {
        const set_choice *one = &list->choice[c];
        const set_reach own = reach_of(one, (double)list->gpus / one->choice->gpus);
        widen(&list->reach, &own, c == 0);
    }
}

/* Copies the degrees of a group that the walk may use. */
static bool list_choices(choice_search *search, const degrees_list *all, set_list *out)
{
    *out = (set_list){.choice = plait_arena_alloc(search->q->scratch, (size_t)all->count + 1,
                                                  sizeof *out->choice),
                      .gpus = all->gpus};
    for (int c = 0; out->choice && c < all->count; c++)
        if (search->uneven || all->choice[c]->fills_group)
            out->choice[out->choices++] = (set_choice){all->choice[c], 0.0};
    reach_choices(out);
    return out->choice != NULL;
}

/* Computes `held` for all degrees of group g. */
static void hold_choices(choice_search *search, int g)
{
    const set_part none = {.reach.unit_s = HUGE_VAL};
    const set_part most = with_rest(search, none, 0);
    const double within_s = limit_s(search, 1u << g);
    const divisible_pipeline cut = cut_of(search, &most, within_s / search->microbatches, 0);
    const double max_s = divisible_max_stage_s(&cut, search->units, within_s);
    set_list *list = &search->list[g];

    for (int c = 0; c < list->choices; c++)
        list->choice[c].held = held_of(search, list->choice[c].choice, max_s);
}

/* Returns an upper bound of the work that the groups other than g hold. */
static double held_beside(const choice_search *search, int g)
{
    double held = 0.0;

    for (int h = 0; h < search->q->problem->cluster->groups; h++)
        held += h == g ? 0.0 : search->list[h].reach.held;
    return held;
}

/*
 * Removes degrees of which one stage, together with the best of its group and of all other groups,
 * cannot hold the model. Returns true if none was removed.
 */
static bool clear_choices(choice_search *search, int g)
{
    set_list *list = &search->list[g];
    const double others = held_beside(search, g);
    const int count = list->choices;

    list->choices = 0;
    for (int c = 0; c < count; c++) {
        const set_choice one = list->choice[c];
        const double stages = (double)list->gpus / one.choice->gpus;
        const double beside =
            search->uneven ? (1.0 - 1.0 / stages) * list->reach.held : (stages - 1.0) * one.held;
        if (one.held > 0.0 && one.held + beside + others >= search->units)
            list->choice[list->choices++] = one;
    }
    reach_choices(list);
    return list->choices == count;
}

/*
 * Returns a lower bound of an option's tail: its fullest stage holds at least its share of the work
 * that the other groups cannot hold. (S.68)
 */
static double tail_of(choice_search *search, const set_option *option, double others)
{
    hetero_problem *q = search->q;
    const double layers = (search->units - others) / q->kind_units[0] / option->reach.stages;
    double tail_s = HUGE_VAL;

    if (q->problem->model->kinds > 1)
        return 0.0;
    for (int r = 0; r < option->runs; r++) {
        const double *of = hetero_tail_bounds(q, option->choice[r]);
        search->failed = search->failed || !of;
        tail_s = of ? smaller(tail_s, of[layers > 1.0 ? (int)ceil(layers) : 1]) : 0.0;
    }
    return tail_s;
}

static void add_option(choice_search *search, set_list *list, double others, set_option *option)
{
    if (option->reach.held + others < search->units)
        return;
    option->reach.tail_s = tail_of(search, option, others);
    set_option *more =
        grow_by_one(search->q->scratch, list->option, list->options, &list->capacity, sizeof *more);
    search->failed = search->failed || !more;
    if (!more)
        return;
    list->option = more;
    list->option[list->options++] = *option;
}

/* Adds options with 1, 2, .. stages of `second`, and `first` on all other GPUs. */
static void add_pairs(choice_search *search, set_list *list, double others, const set_choice *first,
                      const set_choice *second)
{
    group_degrees *const a = first->choice, *const b = second->choice;
    const int layers = search->q->problem->model->layers;

    for (int n = 1; n * b->gpus < list->gpus && n < layers && !search->failed; n++) {
        const int rest = list->gpus - n * b->gpus, stages = rest / a->gpus;
        if (rest % a->gpus != 0 || stages + n > layers ||
            !(hetero_may_follow(a, stages, b) || hetero_may_follow(b, n, a)))
            continue;
        set_option pair = {
            .runs = 2, .choice = {a, b}, .stages = {stages, n}, .reach = reach_of(first, stages)};
        const set_reach more = reach_of(second, n);
        add_reach(&pair.reach, &more);
        add_option(search, list, others, &pair);
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

static void list_options(choice_search *search, int g)
{
    set_list *list = &search->list[g];
    const double others = held_beside(search, g);

    for (int c = 0; c < list->choices && !search->failed; c++) {
        const set_choice *one = &list->choice[c];
        const int stages = one->choice->max_stages;
        set_option whole = {
            .runs = 1, .choice = {one->choice}, .stages = {stages}, .reach = reach_of(one, stages)};
        if (one->choice->fills_group)
            add_option(search, list, others, &whole);
        for (int d = c + 1; search->uneven && d < list->choices && !search->failed; d++)
            add_pairs(search, list, others, one, &list->choice[d]);
    }
    if (list->options > 0)
        qsort(list->option, (size_t)list->options, sizeof *list->option, by_held);
}

static bool list_useful(choice_search *search, const degrees_list *all)
{
    const int groups = search->q->problem->cluster->groups;
    bool settled = false;

    for (int g = 0; g < groups; g++)
        if (!list_choices(search, &all[g], &search->list[g]))
            return false;
    for (int g = 0; g < groups; g++)
        hold_choices(search, g);
    for (int g = 0; g < groups; g++)
        reach_choices(&search->list[g]);
    while (!settled) {
        settled = true;
        for (int g = 0; g < groups; g++)
            settled = clear_choices(search, g) && settled;
    }
    for (int g = 0; g < groups; g++)
        list_options(search, g);
    for (int g = 0; g < groups; g++) {
        set_list *list = &search->list[g];
        list->reach = (set_reach){.unit_s = HUGE_VAL};
        for (int i = 0; i < list->options; i++)
            widen(&list->reach, &list->option[i].reach, i == 0);
    }
    return !search->failed;
}

/* Returns a lower bound of all choices, each of which has at least one group. */
static double lower_bound_of(const choice_search *search, const set_part *none)
{
    const set_part most = with_rest(search, *none, 0);
    double lower_bound = HUGE_VAL;

    for (int g = 0; g < search->q->problem->cluster->groups; g++) {
        const divisible_pipeline cut =
            cut_of(search, &most, limit_s(search, 1u << g) / search->microbatches, 0);
        lower_bound = smaller(lower_bound, hetero_weight(search->q, 1u << g) *
                                               divisible_lower_bound_s(&cut, search->units));
    }
    return lower_bound;
}

bool hetero_list_choices(hetero_problem *q, int size, bool uneven, int64_t *budget,
                         double *lower_bound, group_choices *out)
{
    const plait_arena_mark mark = plait_arena_save(q->scratch);
    const set_part none = {.reach.unit_s = HUGE_VAL};
    choice_search search = {
        .q = q,
        .out = out,
        .uneven = uneven,
        .units = q->units * (1.0 - 1e-9),
        .microbatches = hetero_microbatches(q, q->space.size[size]),
        .max_work = plait_arena_alloc(q->scratch, (size_t)q->problem->model->layers + 1,
                                      sizeof *search.max_work),
        .budget = *budget,
        .lower_bound = hetero_limit(q),
    };

    search.failed =
        !search.max_work || !list_useful(&search, &q->space.list[size * PLAIT_MAX_NODE_GROUPS]);
    if (!search.failed && is_hopeful(&search, &none, 0)) {
        search.lower_bound = lower_bound_of(&search, &none);
        walk_groups(&search, 0, &none);
    }
    *budget = search.budget;
    *lower_bound = search.lower_bound;
    plait_arena_rewind(q->scratch, mark);
    return !search.failed;
}
