/*
 * bounds.c - what no layers of a line can undercut, whatever the order of its groups
 *
 * Let x be the longest f + b of a stage and W their sum. Of the chains of C.73 that turn at a stage of x,
 *
 *     m x,   W + (m - (p + 1)/2) x,   2 W + (m - 1 - p) x                                       (S.61)
 *
 * are bounds. The first is its own work. The second is the mean of two chains, where m > p. The third is
 * the chain to the last stage and back: of those stages that it passes once only, x or p - m + 1 times
 * another, none takes more than x (m >= 2). Each microbatch passes all stages: W is a bound, too.
 *
 * For given x, W is least where the groups that are quickest for a layer hold as much of the model as x
 * lets them: a stage holds layers while they take x at most and fit the memory with as many microbatches in
 * flight as if its group were the last of the line. The least over x of the largest bound is S.62; it changes only where one
 * more layer fits somewhere, or for fractions of layers where one group less holds the whole model.
 */
#include <math.h>
#include <stdlib.h>

#include "mixed.h"

/*
 * The most work that p stages can have in a pipeline of one second: each in its turn as much as its own
 * chains leave, m x_s + P_s and 2 W - P_s + (m - 1 - p + s) x_s for s > p - m, W + (m - 1) x_s / 2 for the
 * others, with P_s the work before it. More before it never leaves less in all. (S.62)
 */
static double most_before_s(int p, int m, double work_s)
{
    double before_s = 0.0;

    for (int s = 0; s < p; s++) {
        const double turns = m - 1.0 - p + s;
        double x_s = (1.0 - before_s) / m;
        if (s > p - m && turns > 0.0)
            x_s = fmin(x_s, (1.0 - 2.0 * work_s + before_s) / turns);
        if (s <= p - m && m > 1)
            x_s = fmin(x_s, 2.0 * (1.0 - work_s) / (m - 1.0));
        before_s += fmax(0.0, x_s);
    }
    return before_s;
}

double mixed_most_work(int p, int m)
{
    double low = 0.0, high = 1.0;

    for (int i = 0; i < 50; i++) {
        const double middle = 0.5 * (low + high);
        if (most_before_s(p, m, middle) >= middle)
            low = middle;
        else
            high = middle;
    }
    return high;
}

double mixed_pipeline_bound_s(const mixed_shape *shape, double slowest_s, double work_s)
{
    const int stages = shape->stages, microbatches = shape->microbatches;
    const double m = microbatches;
    const double mean_s = work_s + (m - 0.5 * (stages + 1)) * slowest_s;
    const double round_s = 2.0 * work_s + (m - 1.0 - stages) * slowest_s;

    const double alone_s = fmax(work_s / shape->most_work, m * slowest_s);

    return microbatches > stages ? fmax(alone_s, fmax(mean_s, round_s))
           : microbatches > 1    ? fmax(alone_s, round_s)
                                 : alone_s;
}

// ---- fractions of layers -------------------------------------------------------------------

/* The groups by the time that a unit takes, the quickest first; a short list. */
static void by_unit(mixed_choice **choice, int groups)
{
    for (int g = 1; g < groups; g++)
        for (int h = g; h > 0 && choice[h]->unit_s < choice[h - 1]->unit_s; h--) {
            mixed_choice *const before = choice[h - 1];
            choice[h - 1] = choice[h];
            choice[h] = before;
        }
}

/* What the ends of the model add to W at least. */
static double ends_s(mixed_choice *const *choice, int groups)
{
    double first_s = HUGE_VAL, last_s = HUGE_VAL;

    for (int g = 0; g < groups; g++) {
        first_s = fmin(first_s, choice[g]->first_s);
        last_s = fmin(last_s, choice[g]->last_s);
    }
    return first_s + last_s;
}

/* No stage is quicker than one layer. */
static double one_layer_s(mixed_choice *const *choice, int groups)
{
    double slowest_s = 0.0;

    for (int g = 0; g < groups; g++)
        slowest_s = fmax(slowest_s, choice[g]->least_s);
    return slowest_s;
}

/* W of whole units with x, the quickest groups full. */
static double fractional_work_s(const mixed_question *q, mixed_choice *const *choice, int groups,
                                double slowest_s)
{
    double units = q->units, work_s = ends_s(choice, groups);

    for (int g = 0; g < groups && units > 0.0; g++) {
        const double held = fmin(units, choice[g]->stages * slowest_s / choice[g]->unit_s);
        work_s += held * choice[g]->unit_s;
        units -= held;
    }
    return work_s;
}

double mixed_fractional_bound_s(const mixed_question *q, mixed_choice *const *of, int groups,
                                const mixed_shape *shape)
{
    mixed_choice *choice[PLAIT_MAX_NODE_GROUPS];
    double units_per_s = 0.0;
    double least_s = HUGE_VAL;

    for (int g = 0; g < groups; g++)
        choice[g] = of[g];
    by_unit(choice, groups);
    for (int g = 0; g < groups; g++) {
        units_per_s += choice[g]->stages / choice[g]->unit_s;
        const double slowest_s = fmax(q->units / units_per_s, one_layer_s(choice, groups));
        least_s =
            fmin(least_s, mixed_pipeline_bound_s(shape, slowest_s,
                                                 fractional_work_s(q, choice, groups, slowest_s)));
    }
    return least_s;
}

// ---- whole layers --------------------------------------------------------------------------

static int by_time(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* The times at which one more layer fits the stages of a choice, up to most_s, ascending. */
static bool list_fills(mixed_question *q, mixed_choice *choice, int microbatches, double most_s)
{
    const int layers = q->problem->model->layers;
    const double most = fmin(layers, most_s / choice->kind_s[0] + 1.0); // of one stage
    double *fill =
        plait_arena_alloc(q->arena, (size_t)choice->stages * (size_t)most + 1, sizeof *fill);

    if (!fill)
        return false;
    for (int k = 1; k <= choice->stages; k++)
        for (int l = 1; l <= (int)most && l < layers; l++) {
            const mixed_ways *ways = mixed_ways_of(q, choice, MIXED_MIDDLE, choice->group, 0, l);
            double least_s = HUGE_VAL;
            for (int w = 0; ways && w < ways->count; w++)
                if (ways->way[w].most_in_flight >= (k < microbatches ? k : microbatches))
                    least_s =
                        fmin(least_s, ways->way[w].price.forward_s + ways->way[w].price.backward_s);
            if (!ways)
                return false;
            if (least_s > most_s)
                break;
            fill[choice->fills++] = least_s;
        }
    qsort(fill, (size_t)choice->fills, sizeof *fill, by_time);
    choice->fill_s = fill;
    return true;
}

/* Layers that the stages of a choice hold in this time. */
static int held_within(const mixed_choice *choice, double slowest_s)
{
    int low = 0, high = choice->fills;

    while (low < high) {
        const int middle = (low + high) / 2;
        if (choice->fill_s[middle] <= slowest_s)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The bound for one x; infinite where the layers do not fit. */
static double bound_at(const mixed_question *q, mixed_choice *const *choice, int groups,
                       const mixed_shape *shape, double slowest_s)
{
    int layers = q->problem->model->layers - shape->stages; // beside one in each stage
    double work_s = ends_s(choice, groups);

    for (int g = 0; g < groups; g++) {
        const int more = held_within(choice[g], slowest_s) - choice[g]->stages;
        const int held = more < layers ? more : layers;
        if (more < 0)
            return HUGE_VAL;
        work_s += (held + choice[g]->stages) * choice[g]->kind_s[0];
        layers -= held;
    }
    return layers > 0 ? HUGE_VAL : mixed_pipeline_bound_s(shape, slowest_s, work_s);
}

/* Every x at which one more layer fits. */
double mixed_whole_bound_s(mixed_question *q, mixed_choice *const *of, int groups,
                           const mixed_shape *shape, double most_s)
{
    mixed_choice *choice[PLAIT_MAX_NODE_GROUPS];
    double least_s = HUGE_VAL;

    for (int g = 0; g < groups; g++) {
        choice[g] = of[g];
        if (!choice[g]->fill_s && !list_fills(q, choice[g], shape->microbatches, most_s))
            return 0.0;
    }
    by_unit(choice, groups);
    for (int g = 0; g < groups; g++)
        for (int i = 0; i < choice[g]->fills; i++)
            least_s = fmin(least_s, bound_at(q, choice, groups, shape, choice[g]->fill_s[i]));
    return least_s;
}
