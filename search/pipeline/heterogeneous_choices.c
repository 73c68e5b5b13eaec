/*
 * heterogeneous_choices.c - lists the group choices that have a lower bound below the limit
 * (S.66, S.70)
 *
 * A run is a series of consecutive stages with equal degrees on GPUs of one group. An option of a
 * group is one run on all of its GPUs, or two runs that share them. For each size (hetero_size) a
 * depth-first walk over the groups takes one option of each group, or none. The options of a group
 * are sorted by the work that they hold, in descending order. The walk leaves a group at the first
 * option with which the model does not fit even if all other groups take their largest options.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "search/pipeline/heterogeneous.h"
#include "base/numbers.h"
#include "search/space/space.h"

/*
 * Degrees of a group. `held` is the most units of work that one stage with these degrees holds in a
 * plan below the limit. (S.70)
 */
typedef struct set_choice {
    group_degrees *choice;
    double held;
} set_choice;

/* Bounds of the stages of one option of a group, or the best bounds of several options. */
typedef struct set_reach {
    double held;        /* upper bound of the units of work of all stages */
    double units_per_s; /* upper bound of the rate of all stages */
    double unit_s;      /* lower bound of the time of a unit */
    int stages;         /* upper bound of the number of stages */
} set_reach;

/* One option of a group: one run or two. */
typedef struct set_option {
    int runs;
    group_degrees *choice[2];
    int stages[2];
    set_reach reach;
} set_option;

/*
 * Degrees and options of one group for plans below the limit. Options are in descending order of
 * the work that they hold.
 */
typedef struct set_list {
    int gpus; /* GPUs of the group */
    int choices;
    set_choice *choice;
    int options, capacity;
    set_option *option;
    set_reach reach; /* best bounds of all options, or of all degrees until options are listed */
} set_list;

/* State of the walk over the groups for one hetero_size, with the runs chosen so far. */
typedef struct choice_search {
    hetero_problem *q;
    group_choices *out;
    int groups;
    bool uneven;  /* true: one of the groups has two runs; false: each has one run */
    double units; /* work of the model, less a margin for rounding */
    int microbatches;
    double *max_work; /* [layers + 1] pipeline_max_work by number of stages; 0: not computed yet */
    set_list list[PLAIT_MAX_NODE_GROUPS];
    int runs;
    stage_run *run[HETERO_RUNS];
    int64_t budget; /* number of options left to try; negative: exhausted */
    bool failed;
} choice_search;

/* The groups that the walk has taken so far, and bounds of their stages. */
typedef struct set_part {
    unsigned groups; /* groups as bits */
    bool uneven;     /* true if a group has two runs */
    double held;
    int stages;
} set_part;

// ---- the walk ------------------------------------------------------------------------------

/* Adds a choice to the results. `set` is NULL if it cannot hold the model. */
static void add_bounded(choice_search *search, bounded_choice one, const group_choice *set)
{
    group_choices *const out = search->out;
    group_choice *const kept = set ? plait_arena_alloc(out->arena, 1, sizeof *kept) : NULL;
    bounded_choice *const more =
        grow_by_one(out->arena, out->choice, out->count, &out->capacity, sizeof *more);

    search->failed = !more || (set && !kept);
    if (search->failed)
        return;
    if (kept)
        *kept = *set;
    one.set = kept;
    out->choice = more;
    out->choice[out->count++] = one;
}

/*
 * Adds the choice of the runs taken so far if it has several runs, all groups of q->must, and a
 * bound below the limit.
 */
static void keep_choice(choice_search *search, const set_part *part)
{
    hetero_problem *q = search->q;
    group_choice set = {.weight = hetero_weight(q, part->groups), .runs = search->runs};

    if (search->runs < 2 || part->uneven != search->uneven ||
        part->stages > q->problem->model->layers || (part->groups & q->must) != q->must ||
        !limits_allow(q->options, PLAIT_KEY_PP, part->stages))
        return;
    double *const max_work = &search->max_work[part->stages];
    if (*max_work <= 0.0)
        *max_work = pipeline_max_work(part->stages, search->microbatches);
    memcpy(set.run, search->run, sizeof set.run);
    set.shape = (pipeline_shape){part->stages, search->microbatches, *max_work};
    for (int r = 0; r < set.runs; r++) { // sends that are the same in every order of the groups
        const plait_between_stages *one = &set.run[r]->choice->boundary;
        if (set.run[r]->stages < 2)
            continue;
        set.inside.sends_s += (set.run[r]->stages - 1) * one->sends_s;
        set.inside.slowest_s = larger(set.inside.slowest_s, one->slowest_s);
        set.inside.link_s = larger(set.inside.link_s, one->link_s);
    }
    bounded_choice one = {.listed = q->listed++, .bound = hetero_divisible_bound(q, &set)};
    bool holds = true;
    if (one.bound < hetero_limit(q) && q->problem->model->kinds == 1) {
        // closer than the divisible bound, but slower to compute
        one.bound = hetero_whole_layer_bound(q, &set);
        search->failed = search->failed || one.bound < 0.0;
    } else if (one.bound < hetero_limit(q)) {
        const int can = hetero_can_hold(q, &set);
        holds = can > 0;
        search->failed = search->failed || can < 0;
    }
    if (one.bound < hetero_limit(q) && !search->failed)
        add_bounded(search, one, holds ? &set : NULL);
}

/* Walks the groups from g on. */
static void walk_groups(choice_search *search, int g, const set_part *part)
{
    const set_list *list = &search->list[g];
    const int runs = search->runs;
    double others = part->held;

    if (search->failed)
        return;
    if (g == search->groups) {
        keep_choice(search, part);
        return;
    }
    for (int h = g + 1; h < search->groups; h++)
        others += search->list[h].reach.held;
    for (int i = 0; i < list->options && search->budget-- > 0; i++) {
        const set_option *option = &list->option[i];
        if (others + option->reach.held < search->units) // the options after it hold less
            break;
        if (part->uneven && option->runs > 1)
            continue;
        const set_part own = {
            .groups = part->groups | 1u << g,
            .uneven = part->uneven || option->runs > 1,
            .held = part->held + option->reach.held,
            .stages = part->stages + option->reach.stages,
        };
        for (int r = 0; r < option->runs; r++) {
            search->run[runs + r] = hetero_run(search->q, option->choice[r], option->stages[r]);
            search->failed = search->failed || !search->run[runs + r];
        }
        search->runs = runs + option->runs;
        walk_groups(search, g + 1, &own);
        search->runs = runs;
    }
    if (others >= search->units)
        walk_groups(search, g + 1, part);
}

// ---- degrees and options -------------------------------------------------------------------

/* Returns the bounds of a number of stages with the same degrees. */
static set_reach reach_of(const set_choice *one, double stages)
{
    const double unit_s = one->choice->unit_s;

    return (set_reach){stages * one->held, stages / unit_s, unit_s, (int)stages};
}

static void widen(set_reach *reach, const set_reach *own)
{
    reach->held = larger(reach->held, own->held);
    reach->units_per_s = larger(reach->units_per_s, own->units_per_s);
    reach->unit_s = smaller(reach->unit_s, own->unit_s);
    reach->stages = own->stages > reach->stages ? own->stages : reach->stages;
}

/* Sets list->reach to the best bounds of all degrees of the group, each as if it used all GPUs. */
static void reach_choices(set_list *list)
{
    list->reach = (set_reach){.unit_s = HUGE_VAL};
    for (int c = 0; c < list->choices; c++) {
        const set_choice *one = &list->choice[c];
        const set_reach own = reach_of(one, (double)list->gpus / one->choice->gpus);
        widen(&list->reach, &own);
    }
}

/*
 * Returns a divisible pipeline that is at least as good as any choice: in each group it has the
 * most units per second, the least time of a unit, and the most stages of any of its options.
 */
static divisible_pipeline best_of_all(const choice_search *search)
{
    divisible_pipeline cut = {.microbatches = search->microbatches};

    for (int g = 0; g < search->groups; g++) {
        const set_reach *const reach = &search->list[g].reach;
        if (reach->units_per_s > 0.0)
            divisible_add(&cut, reach->stages, reach->units_per_s, reach->unit_s);
    }
    return cut;
}

/* Returns an upper bound of the work that a stage does in max_s. (S.70) */
static double done_within(const choice_search *search, const group_degrees *choice, double max_s)
{
    return choice->least_s > max_s ? 0.0 : smaller(search->q->units, max_s / choice->unit_s);
}

/*
 * As done_within, but of whole layers with the recomputation of the current list, for a model with
 * one kind of layers. The margin is for rounding.
 */
static double recomputed_within(const choice_search *search, const group_degrees *choice,
                                double max_s)
{
    const hetero_problem *const q = search->q;
    const double done = done_within(search, choice, max_s);

    if (q->problem->model->kinds > 1 || max_s == HUGE_VAL)
        return done;
    const double layers = floor(max_s / choice->list_s[q->space.index] * (1.0 + 1e-9));
    return smaller(done, layers * q->kind_units[0]);
}

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
        return done_within(search, choice, max_s);
    const plait_arena_mark mark = plait_arena_save(q->cached);
    const bool fresh = !choice->cache || choice->generation != q->generation;
    const stage_bound *row = hetero_stage_bounds(q, choice, HETERO_MIDDLE, choice->group, 1);
    search->failed = search->failed || !row;
    while (row && held < layers && row[hetero_range(q, 0, held + 1)].stage_s <= max_s)
        held++;
    if (fresh) { // most degrees are removed next, so their bounds are not kept
        choice->cache = NULL;
        plait_arena_rewind(q->cached, mark);
    }
    return held * q->kind_units[0];
}

/* Returns an upper bound of the work that the groups other than g hold. */
static double held_beside(const choice_search *search, int g)
{
    double held = 0.0;

    for (int h = 0; h < search->groups; h++)
        held += h == g ? 0.0 : search->list[h].reach.held;
    return held;
}

/*
 * Removes the degrees that no plan can use: one stage with them, together with the best of its
 * group and of all other groups, cannot hold the model. Returns true if none was removed.
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

/* Removes all degrees of all groups that no plan can use. */
static void clear_all(choice_search *search)
{
    bool unchanged = false;

    for (int g = 0; g < search->groups; g++)
        reach_choices(&search->list[g]);
    while (!unchanged) {
        unchanged = true;
        for (int g = 0; g < search->groups; g++)
            unchanged = clear_choices(search, g) && unchanged;
    }
}

/* Adds an option if it can hold the model together with the other groups. */
static void add_option(choice_search *search, set_list *list, double others,
                       const set_option *option)
{
    if (option->reach.held + others < search->units)
        return;
    set_option *more =
        grow_by_one(search->q->scratch, list->option, list->options, &list->capacity, sizeof *more);
    search->failed = search->failed || !more;
    if (!more)
        return;
    list->option = more;
    list->option[list->options++] = *option;
}

/* Adds options of two runs: 1, 2, .. stages of `second`, and `first` on all other GPUs. */
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
        const set_reach one = reach_of(first, stages), two = reach_of(second, n);
        const set_option pair = {.runs = 2,
                                 .choice = {a, b},
                                 .stages = {stages, n},
                                 .reach = {one.held + two.held, one.units_per_s + two.units_per_s,
                                           smaller(one.unit_s, two.unit_s), stages + n}};
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
        const set_option whole = {
            .runs = 1, .choice = {one->choice}, .stages = {stages}, .reach = reach_of(one, stages)};
        if (one->choice->fills_group)
            add_option(search, list, others, &whole);
        for (int d = c + 1; search->uneven && d < list->choices && !search->failed; d++)
            add_pairs(search, list, others, one, &list->choice[d]);
    }
    if (list->options > 0)
        qsort(list->option, (size_t)list->options, sizeof *list->option, by_held);
}

/* Lists the degrees of each group that a plan below the limit may use, and their options. */
static void list_groups(choice_search *search, const degrees_list *all)
{
    hetero_problem *q = search->q;
    double max_s[PLAIT_MAX_NODE_GROUPS];

    for (int g = 0; g < search->groups; g++) {
        set_list *const list = &search->list[g];
        *list = (set_list){
            .choice = plait_arena_alloc(q->scratch, (size_t)all[g].count + 1, sizeof *list->choice),
            .gpus = all[g].gpus};
        search->failed = search->failed || !list->choice;
        for (int c = 0; list->choice && c < all[g].count; c++)
            if (search->uneven || all[g].choice[c]->fills_group)
                list->choice[list->choices++] = (set_choice){all[g].choice[c], 0.0};
        reach_choices(list);
    }
    const divisible_pipeline cut = best_of_all(search);
    for (int g = 0; g < search->groups; g++) {
        set_list *const list = &search->list[g];
        max_s[g] =
            divisible_max_stage_s(&cut, search->units, hetero_limit(q) / hetero_weight(q, 1u << g));
        for (int c = 0; c < list->choices; c++)
            list->choice[c].held = recomputed_within(search, list->choice[c].choice, max_s[g]);
    }
    clear_all(search); // time alone removes most degrees, and memory takes much longer to price
    for (int g = 0; g < search->groups; g++) {
        set_list *const list = &search->list[g];
        for (int c = 0; c < list->choices; c++)
            list->choice[c].held = held_of(search, list->choice[c].choice, max_s[g]);
    }
    clear_all(search);
    for (int g = 0; g < search->groups; g++)
        list_options(search, g);
    for (int g = 0; g < search->groups; g++) {
        set_list *const list = &search->list[g];
        list->reach = (set_reach){.unit_s = HUGE_VAL};
        for (int i = 0; i < list->options; i++)
            widen(&list->reach, &list->option[i].reach);
    }
}

bool hetero_list_choices(hetero_problem *q, int size, bool uneven, int64_t *budget,
                         double *lower_bound, group_choices *out)
{
    const plait_arena_mark mark = plait_arena_save(q->scratch);
    const size_t layers = (size_t)q->problem->model->layers;
    const set_part none = {0};
    choice_search search = {
        .q = q,
        .out = out,
        .groups = q->problem->cluster->groups,
        .uneven = uneven,
        .units = q->units * (1.0 - 1e-9),
        .microbatches = hetero_microbatches(q, q->space.size[size]),
        .max_work = plait_arena_alloc(q->scratch, layers + 1, sizeof *search.max_work),
        .budget = *budget,
    };
    double least = HUGE_VAL;

    search.failed = !search.max_work;
    if (!search.failed)
        list_groups(&search, &q->space.list[size * PLAIT_MAX_NODE_GROUPS]);
    const divisible_pipeline cut = best_of_all(&search);
    for (int g = 0; g < search.groups; g++)
        least =
            smaller(least, hetero_weight(q, 1u << g) * divisible_lower_bound_s(&cut, search.units));
    *lower_bound = smaller(least, hetero_limit(q));
    if (*lower_bound < hetero_limit(q))
        walk_groups(&search, 0, &none);
    *budget = search.budget;
    plait_arena_rewind(q->scratch, mark);
    return !search.failed;
}
