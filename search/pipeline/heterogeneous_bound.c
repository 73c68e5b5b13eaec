/*
 * heterogeneous_bound.c - lower bounds of a group choice, for any layers and any order of its
 * groups
 *
 * For p stages and m microbatches, let x be the longest f + b of a stage and W the sum of f + b
 * over all stages. The chains of C.73 that turn from forward to backward at the slowest stage give
 * the lower bounds
 *
 *     m x,   W + (m - (p + 1)/2) x,   2 W + (m - 1 - p) x                                    (S.61)
 *
 * The first is the work of the slowest stage. The second is the mean of two chains, for m > p. The
 * third is the chain to the last stage and back, for m >= 2: each stage that this chain passes only
 * once takes at most x. W is a bound, too, since each microbatch passes all stages.
 *
 * For a given x, W is least if the groups with the least time for a layer hold as much of the model
 * as x allows. A stage holds layers as long as they take at most x and fit the memory, with as many
 * microbatches in flight as if its group were the last of the order. S.62 is the least value, over
 * all x, of the largest of these bounds. The largest bound is computed only where one more layer
 * fits some stage or, with divisible layers, where one group less holds the model.
 *
 * A group holds layers within x if none of its stages takes more than x. A group has to hold the
 * layers that the other groups cannot hold within x, and its fullest stage holds its share of these
 * layers. This bounds the time of gradients, gathers and optimizer. (S.68)
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "search/pipeline/heterogeneous.h"
#include "base/numbers.h"

// ---- divisible work ------------------------------------------------------------------------

/*
 * The bounds of S.61 for given x and W: m x, W, the mean of two chains, and the chain to the last
 * stage and back. Bounds that do not apply to this m are 0.
 */
typedef struct chain_bounds {
    double alone_s, work_s, mean_s, round_s;
} chain_bounds;

static chain_bounds chains_of(const divisible_pipeline *cut, double slowest_s, double work_s)
{
    const double m = cut->microbatches, p = cut->stages;

    return (chain_bounds){
        .alone_s = m * slowest_s,
        .work_s = work_s,
        .mean_s = m > p ? work_s + (m - 0.5 * (p + 1.0)) * slowest_s : 0.0,
        .round_s = m > 1.0 ? 2.0 * work_s + (m - 1.0 - p) * slowest_s : 0.0,
    };
}

/* Returns a lower bound that holds for all x between those of a and b. */
static double least_between(const chain_bounds *a, const chain_bounds *b)
{
    const double alone_s = larger(smaller(a->alone_s, b->alone_s), smaller(a->work_s, b->work_s));

    return larger(alone_s, larger(smaller(a->mean_s, b->mean_s), smaller(a->round_s, b->round_s)));
}

/*
 * Returns a lower bound that holds for every x larger than that of a. All work is then in the
 * fastest stages, and only chains that grow with x count.
 */
static double least_from(const divisible_pipeline *cut, const chain_bounds *a)
{
    const double alone_s = larger(larger(a->alone_s, a->work_s), a->mean_s);

    return cut->microbatches - 1.0 >= cut->stages ? larger(alone_s, a->round_s) : alone_s;
}

void divisible_add(divisible_pipeline *cut, double stages, double units_per_s, double unit_s)
{
    int at = cut->parts++;

    for (; at > 0 && unit_s < cut->part[at - 1].unit_s; at--)
        cut->part[at] = cut->part[at - 1];
    cut->part[at] = (divisible_part){units_per_s, unit_s};
    cut->stages += stages;
}

/* Returns W of all units for x = slowest_s, with the fastest stages filled first. */
static double cut_work_s(const divisible_pipeline *cut, double units, double slowest_s)
{
    double work_s = cut->ends_s;

    for (int i = 0; i < cut->parts && units > 0.0; i++) {
        const double held = smaller(units, cut->part[i].units_per_s * slowest_s);
        work_s += held * cut->part[i].unit_s;
        units -= held;
    }
    return work_s;
}

/*
 * W and the chains are linear in x between the values of x at which one part less holds all work.
 * (S.62)
 */
double divisible_lower_bound_s(const divisible_pipeline *cut, double units)
{
    double units_per_s = 0.0, before_s = 0.0, least_s = HUGE_VAL;
    chain_bounds before = {0};

    for (int i = 0; i < cut->parts; i++) {
        units_per_s += cut->part[i].units_per_s;
        const double slowest_s = larger(units / units_per_s, cut->one_s);
        const chain_bounds at = chains_of(cut, slowest_s, cut_work_s(cut, units, slowest_s));
        const bool between = i > 0 && slowest_s < before_s;
        least_s = smaller(least_s, between ? least_between(&at, &before) : least_from(cut, &at));
        before_s = slowest_s;
        before = at;
    }
    return least_s;
}

/* Bisects for the largest x with which the chains stay within the limit. */
double divisible_max_stage_s(const divisible_pipeline *cut, double units, double limit_s)
{
    double low = 0.0, high = limit_s / cut->microbatches;

    for (int i = 0; i < 40 && high < HUGE_VAL; i++) {
        const double middle = 0.5 * (low + high);
        const chain_bounds at = chains_of(cut, middle, cut_work_s(cut, units, middle));
        if (least_between(&at, &at) <= limit_s)
            low = middle;
        else
            high = middle;
    }
    return high;
}

// ---- group choices -------------------------------------------------------------------------

/* Returns a lower bound of f + b of embedding, modules and loss. */
static double ends_s(const group_choice *set)
{
    double first_s = HUGE_VAL, last_s = HUGE_VAL;

    for (int r = 0; r < set->runs; r++) {
        first_s = smaller(first_s, set->run[r]->choice->first_s);
        last_s = smaller(last_s, set->run[r]->choice->last_s);
    }
    return first_s + last_s;
}

/* Returns the objective of a step with this pipeline and this tail. */
static double objective_of(const hetero_problem *q, const group_choice *set, double pipeline_s,
                           double tail_s)
{
    return set->weight *
           (plait_between_step_s(q->problem, &set->inside, set->shape.microbatches, pipeline_s) +
            tail_s);
}

double hetero_divisible_bound(const hetero_problem *q, const group_choice *set)
{
    divisible_pipeline cut = {.microbatches = set->shape.microbatches, .ends_s = ends_s(set)};

    for (int r = 0; r < set->runs; r++) {
        const stage_run *run = set->run[r];
        cut.one_s = larger(cut.one_s, run->choice->least_s); // no stage is faster than one layer
        divisible_add(&cut, run->stages, run->stages / run->choice->unit_s, run->choice->unit_s);
    }
    return objective_of(q, set, divisible_lower_bound_s(&cut, q->units), 0.0);
}

// ---- whole layers --------------------------------------------------------------------------

static int by_time(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/*
 * Lists, in ascending order, the values of x from which on one more layer fits some stage of a run.
 * The k-th stage from the end of the run has min(k, m) microbatches in flight.
 */
static bool list_fills(hetero_problem *q, stage_run *run)
{
    const int layers = q->problem->model->layers;
    const int microbatches = hetero_microbatches(q, run->choice->size);
    const plait_arena_mark mark = plait_arena_save(q->scratch);
    double *fill = plait_arena_alloc(q->scratch, (size_t)(run->stages * layers), sizeof *fill);

    run->fills = 0;
    for (int k = 1; fill && k <= run->stages; k++) {
        const stage_bound *row = hetero_stage_bounds(
            q, run->choice, HETERO_MIDDLE, run->choice->group, k < microbatches ? k : microbatches);
        if (!row)
            return false;
        for (int l = 1; l < layers && row[hetero_range(q, 0, l)].stage_s < HUGE_VAL; l++)
            fill[run->fills++] = row[hetero_range(q, 0, l)].stage_s;
    }
    if (!fill)
        return false;
    qsort(fill, (size_t)run->fills, sizeof *fill, by_time);
    double *const kept = plait_arena_alloc(q->cached, (size_t)run->fills + 1, sizeof *kept);
    if (!kept)
        return false;
    memcpy(kept, fill, (size_t)run->fills * sizeof *fill);
    kept[run->fills] = HUGE_VAL;
    run->fill_s = kept;
    run->generation = q->generation;
    plait_arena_rewind(q->scratch, mark);
    return true;
}

/*
 * Lists lower bounds of the tail of a stage in any place, by the least number of its layers. (S.68)
 */
static bool list_tail_bounds(hetero_problem *q, group_degrees *choice)
{
    const int layers = q->problem->model->layers;
    const stage_bound *row[HETERO_PLACES];
    double *tail_s = plait_arena_alloc(q->cached, (size_t)layers + 2, sizeof *tail_s);
    double least_s = HUGE_VAL;

    for (int place = 0; place < HETERO_PLACES; place++) {
        row[place] = hetero_stage_bounds(q, choice, (hetero_place)place, choice->group, 1);
        if (!row[place] || !tail_s)
            return false;
    }
    for (int l = layers; l > 0; l--) {
        for (int place = 0; place < HETERO_PLACES; place++)
            least_s = smaller(least_s, row[place][hetero_range(q, 0, l)].tail_s);
        tail_s[l] = q->problem->model->tied || least_s == HUGE_VAL ? 0.0 : least_s;
    }
    choice->cache->tail_s = tail_s;
    return true;
}

/* Lists the fills and the tails of all runs. Returns false if out of memory. */
static bool list_bounds(hetero_problem *q, const group_choice *set)
{
    for (int r = 0; r < set->runs; r++) {
        stage_run *const run = set->run[r];
        const bool filled = run->fill_s && run->generation == q->generation;
        const degrees_cache *const cache = hetero_cache(q, run->choice);
        if (!cache || (!filled && !list_fills(q, run)) ||
            (!cache->tail_s && !list_tail_bounds(q, run->choice)))
            return false;
    }
    return true;
}

/* Numbers of layers that the stages of each run, and all stages, hold within x. */
typedef struct held_layers {
    int of[HETERO_RUNS];
    int all;
} held_layers;

/*
 * Advances to the next x at which some run holds more layers, and returns it; infinite after the
 * last.
 */
static double hold_more(const group_choice *set, held_layers *held)
{
    double next_s = HUGE_VAL;

    for (int r = 0; r < set->runs; r++)
        next_s = smaller(next_s, set->run[r]->fill_s[held->of[r]]);
    for (int r = 0; r < set->runs && next_s < HUGE_VAL; r++)
        while (set->run[r]->fill_s[held->of[r]] <= next_s) {
            held->of[r]++;
            held->all++;
        }
    return next_s;
}

static bool can_hold(const hetero_problem *q, const group_choice *set, const held_layers *held)
{
    for (int r = 0; r < set->runs; r++)
        if (held->of[r] < set->run[r]->stages)
            return false;
    return held->all >= q->problem->model->layers;
}

/* Returns a lower bound of the tail if no run holds more layers than `held`. (S.68) */
static double least_tail_s(const hetero_problem *q, const group_choice *set,
                           const held_layers *held)
{
    double tail_s = 0.0;

    for (int r = 0; r < set->runs; r++) {
        const int stages = set->run[r]->stages;
        const int others = held->all - held->of[r];
        const int left = q->problem->model->layers - others;
        const int fullest = left > stages ? (left + stages - 1) / stages : 1;
        tail_s = larger(tail_s, set->run[r]->choice->cache->tail_s[fullest]);
    }
    return tail_s;
}

/*
 * Takes the least bound over all x at which one more layer fits. For W, each stage has one layer,
 * and the fastest runs that can hold them have the other layers.
 */
double hetero_whole_layer_bound(hetero_problem *q, const group_choice *set)
{
    int order[HETERO_RUNS]; // indices of runs in ascending order of the time of a unit of work
    held_layers held = {{0}, 0};
    double least = HUGE_VAL;

    if (!list_bounds(q, set))
        return -1.0;
    for (int r = 0; r < set->runs; r++) {
        const stage_run *run = set->run[r];
        int at = r;
        for (; at > 0 && run->choice->unit_s < set->run[order[at - 1]]->choice->unit_s; at--)
            order[at] = order[at - 1];
        order[at] = r;
    }
    for (double x_s = hold_more(set, &held);
         x_s < HUGE_VAL && objective_of(q, set, set->shape.microbatches * x_s, 0.0) < least;
         x_s = hold_more(set, &held)) {
        int left = q->problem->model->layers - set->shape.stages;
        double work_s = ends_s(set);
        if (!can_hold(q, set, &held))
            continue;
        for (int at = 0; at < set->runs; at++) {
            const stage_run *run = set->run[order[at]];
            const int room = held.of[order[at]] - run->stages;
            const int more = room < left ? room : left;
            work_s += (more + run->stages) * run->choice->kind_s[0];
            left -= more;
        }
        const double pipeline_s = pipeline_lower_bound_s(&set->shape, x_s, work_s);
        least = smaller(least, objective_of(q, set, pipeline_s, least_tail_s(q, set, &held)));
    }
    return least;
}

/*
 * Returns the limit less sends and the bound of the tail, divided by m. A smaller result raises the
 * bound of the tail, so the computation is repeated until the result stays the same.
 */
double hetero_max_stage_s(hetero_problem *q, const group_choice *set)
{
    const bool whole = q->problem->model->kinds == 1;

    const double limit_s =
        hetero_limit(q) / set->weight -
        plait_between_sends_s(q->problem, &set->inside, set->shape.microbatches, HUGE_VAL);
    double max_s = limit_s / set->shape.microbatches;

    if (whole && !list_bounds(q, set))
        return -1.0;
    for (bool less = whole; less;) {
        held_layers held = {{0}, 0};
        held_layers more = held;
        while (hold_more(set, &more) <= max_s && more.all > held.all)
            held = more;
        if (!can_hold(q, set, &held))
            return 0.0;
        const double within_s = (limit_s - least_tail_s(q, set, &held)) / set->shape.microbatches;
        less = within_s < max_s;
        max_s = less ? within_s : max_s;
    }
    return max_s;
}

// ---- what an order holds -------------------------------------------------------------------

/*
 * Returns an upper bound of the units that a run holds if `after` stages follow it, each with as
 * many microbatches in flight as stages follow it.
 */
static double units_of_run(const stage_run *run, int after)
{
    const double *const held = run->choice->cache->held_units;

    return held[after + run->stages] - held[after];
}

static bool list_held(hetero_problem *q, const group_choice *set)
{
    for (int r = 0; r < set->runs; r++)
        if (!hetero_held_units(q, set->run[r]->choice))
            return false;
    return true;
}

int hetero_order_holds(hetero_problem *q, const group_order *order)
{
    double units = q->units * (1.0 - 1e-9); // a margin for rounding

    if (!list_held(q, order->set))
        return -1;
    for (int r = order->set->runs - 1, after = 0; r >= 0; r--) {
        units -= units_of_run(order->run[r], after);
        after += order->run[r]->stages;
    }
    return units <= 0.0;
}

/* Returns whether the runs that are left (bits) can hold `units` before `after` stages. */
static bool left_can_hold(const group_choice *set, unsigned left, int after, double units)
{
    if (left == 0)
        return units <= 0.0;
    for (int r = 0; r < set->runs; r++) {
        const stage_run *const run = set->run[r];
        if (left >> r & 1u && left_can_hold(set, left & ~(1u << r), after + run->stages,
                                            units - units_of_run(run, after)))
            return true;
    }
    return false;
}

int hetero_can_hold(hetero_problem *q, const group_choice *set)
{
    if (!list_held(q, set))
        return -1;
    return left_can_hold(set, (1u << set->runs) - 1u, 0, q->units * (1.0 - 1e-9));
}
