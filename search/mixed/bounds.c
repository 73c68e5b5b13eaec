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
 *
 * What the other groups cannot hold within x a group has to, and its fullest stage its share of that: so
 * long do gradients, gathers and optimizer take at least. (S.68)
 */
#include <math.h>
#include <stdlib.h>

#include "mixed.h"
#include "numbers.h"

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
            x_s = smaller(x_s, (1.0 - 2.0 * work_s + before_s) / turns);
        if (s <= p - m && m > 1)
            x_s = smaller(x_s, 2.0 * (1.0 - work_s) / (m - 1.0));
        before_s += larger(0.0, x_s);
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

    const double alone_s = larger(work_s / shape->most_work, m * slowest_s);

    return microbatches > stages ? larger(alone_s, larger(mean_s, round_s))
           : microbatches > 1    ? larger(alone_s, round_s)
                                 : alone_s;
}

// ---- fractions of layers -------------------------------------------------------------------

/* The groups of a set by the time that a unit takes, the quickest first; a short list. */
static void by_unit(const mixed_set *set, int order[PLAIT_MAX_NODE_GROUPS])
{
    for (int g = 0; g < set->groups; g++) {
        int at = g;
        for (; at > 0 && set->choice[g]->unit_s < set->choice[order[at - 1]]->unit_s; at--)
            order[at] = order[at - 1];
        order[at] = g;
    }
}

/* What the ends of the model add to W at least. */
static double ends_s(const mixed_set *set)
{
    double first_s = HUGE_VAL, last_s = HUGE_VAL;

    for (int g = 0; g < set->groups; g++) {
        first_s = smaller(first_s, set->choice[g]->first_s);
        last_s = smaller(last_s, set->choice[g]->last_s);
    }
    return first_s + last_s;
}

/* No stage is quicker than one layer. */
static double one_layer_s(const mixed_set *set)
{
    double slowest_s = 0.0;

    for (int g = 0; g < set->groups; g++)
        slowest_s = larger(slowest_s, set->choice[g]->least_s);
    return slowest_s;
}

/* The objective of a pipeline of so many seconds, and what follows it. */
static double objective_of(const mixed_question *q, const mixed_set *set, double pipeline_s,
                           double after_s)
{
    return set->weight *
           (plait_between_step_s(q->problem, &set->inside, set->shape.microbatches, pipeline_s) +
            after_s);
}

/* W of whole units with x, the quickest groups full. */
static double fractional_work_s(const mixed_question *q, const mixed_set *set, const int *order,
                                double slowest_s)
{
    double units = q->units, work_s = ends_s(set);

    for (int at = 0; at < set->groups && units > 0.0; at++) {
        const mixed_choice *choice = set->choice[order[at]];
        const double held = smaller(units, choice->stages * slowest_s / choice->unit_s);
        work_s += held * choice->unit_s;
        units -= held;
    }
    return work_s;
}

double mixed_fractional_bound(const mixed_question *q, const mixed_set *set)
{
    int order[PLAIT_MAX_NODE_GROUPS];
    const double one_s = one_layer_s(set);
    double units_per_s = 0.0, least_s = HUGE_VAL;

    by_unit(set, order);
    for (int at = 0; at < set->groups; at++) {
        units_per_s += set->choice[order[at]]->stages / set->choice[order[at]]->unit_s;
        const double slowest_s = larger(q->units / units_per_s, one_s);
        least_s =
            smaller(least_s, mixed_pipeline_bound_s(&set->shape, slowest_s,
                                                    fractional_work_s(q, set, order, slowest_s)));
    }
    return objective_of(q, set, least_s, 0.0);
}

// ---- whole layers --------------------------------------------------------------------------

static int by_time(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

/* The k-th stage from the end of the line has k microbatches in flight, or all. */
static const mixed_least *row_from_end(mixed_question *q, mixed_choice *choice, int k)
{
    const int microbatches = mixed_microbatches(q, choice->size);

    return mixed_row(q, choice, MIXED_MIDDLE, choice->group, k < microbatches ? k : microbatches);
}

/* The times at which one more layer fits the stages of a choice, ascending. */
static bool list_fills(mixed_question *q, mixed_choice *choice)
{
    const int layers = q->problem->model->layers;
    double *fill;

    for (int k = 1; k <= choice->stages; k++) {
        const mixed_least *row = row_from_end(q, choice, k);
        if (!row)
            return false;
        for (int l = 1; l < layers && row[mixed_range(q, 0, l)].stage_s < HUGE_VAL; l++)
            choice->fills++;
    }
    fill = plait_arena_alloc(q->arena, (size_t)choice->fills + 1, sizeof *fill);
    if (!fill)
        return false;
    for (int k = 1, at = 0; k <= choice->stages; k++) {
        const mixed_least *row = row_from_end(q, choice, k);
        for (int l = 1; l < layers && row[mixed_range(q, 0, l)].stage_s < HUGE_VAL; l++)
            fill[at++] = row[mixed_range(q, 0, l)].stage_s;
    }
    qsort(fill, (size_t)choice->fills, sizeof *fill, by_time);
    fill[choice->fills] = HUGE_VAL;
    choice->fill_s = fill;
    return true;
}

/* What a stage with so many layers or more leaves behind the pipeline, wherever it is. */
static bool list_afters(mixed_question *q, mixed_choice *choice)
{
    const int layers = q->problem->model->layers;
    const mixed_least *row[MIXED_PLACES];
    double *after_s = plait_arena_alloc(q->arena, (size_t)layers + 2, sizeof *after_s);
    double least_s = HUGE_VAL;

    for (int place = 0; place < MIXED_PLACES; place++) {
        row[place] = mixed_row(q, choice, (mixed_place)place, choice->group, 1);
        if (!row[place] || !after_s)
            return false;
    }
    for (int l = layers; l > 0; l--) {
        for (int place = 0; place < MIXED_PLACES; place++)
            least_s = smaller(least_s, row[place][mixed_range(q, 0, l)].after_s);
        after_s[l] = q->problem->model->tied || least_s == HUGE_VAL ? 0.0 : least_s;
    }
    choice->after_s = after_s;
    return true;
}

static bool list_layers(mixed_question *q, const mixed_set *set)
{
    for (int g = 0; g < set->groups; g++) {
        mixed_choice *choice = set->choice[g];
        if (!choice->fill_s && (!list_fills(q, choice) || !list_afters(q, choice)))
            return false;
    }
    return true;
}

/* Layers that the stages of each choice hold within x. */
typedef struct held_layers {
    int of[PLAIT_MAX_NODE_GROUPS];
    int all;
} held_layers;

/* The next x at which more is held, which then is. */
static double hold_more(const mixed_set *set, held_layers *held)
{
    double next_s = HUGE_VAL;

    for (int g = 0; g < set->groups; g++)
        next_s = smaller(next_s, set->choice[g]->fill_s[held->of[g]]);
    for (int g = 0; g < set->groups && next_s < HUGE_VAL; g++)
        while (set->choice[g]->fill_s[held->of[g]] <= next_s) {
            held->of[g]++;
            held->all++;
        }
    return next_s;
}

static bool can_hold(const mixed_question *q, const mixed_set *set, const held_layers *held)
{
    for (int g = 0; g < set->groups; g++)
        if (held->of[g] < set->choice[g]->stages)
            return false;
    return held->all >= q->problem->model->layers;
}

/* What follows the pipeline, where no group holds more than this. (S.68) */
static double least_after_s(const mixed_question *q, const mixed_set *set, const held_layers *held)
{
    double after_s = 0.0;

    for (int g = 0; g < set->groups; g++) {
        const int stages = set->choice[g]->stages;
        const int others = held->all - held->of[g];
        const int left = q->problem->model->layers - others;
        const int fullest = left > stages ? (left + stages - 1) / stages : 1;
        after_s = larger(after_s, set->choice[g]->after_s[fullest]);
    }
    return after_s;
}

/* W with one layer in each stage, and of the others as many as they hold in the quickest groups. */
static double whole_work_s(const mixed_question *q, const mixed_set *set, const int *order,
                           const held_layers *held)
{
    int left = q->problem->model->layers - set->shape.stages;
    double work_s = ends_s(set);

    for (int at = 0; at < set->groups; at++) {
        const mixed_choice *choice = set->choice[order[at]];
        const int room = held->of[order[at]] - choice->stages;
        const int more = room < left ? room : left;
        work_s += (more + choice->stages) * choice->kind_s[0];
        left -= more;
    }
    return work_s;
}

/* Every x at which one more layer fits. */
double mixed_whole_bound(mixed_question *q, const mixed_set *set)
{
    int order[PLAIT_MAX_NODE_GROUPS];
    held_layers held = {{0}, 0};
    double least = HUGE_VAL;

    if (!list_layers(q, set))
        return -1.0;
    by_unit(set, order);
    for (double x_s = hold_more(set, &held);
         x_s < HUGE_VAL && objective_of(q, set, set->shape.microbatches * x_s, 0.0) < least;
         x_s = hold_more(set, &held))
        if (can_hold(q, set, &held)) {
            const double pipeline_s =
                mixed_pipeline_bound_s(&set->shape, x_s, whole_work_s(q, set, order, &held));
            least = smaller(least, objective_of(q, set, pipeline_s, least_after_s(q, set, &held)));
        }
    return least;
}

/* Less what is sent, and what follows the pipeline, which is more the less a stage may take. */
double mixed_set_most_s(const mixed_question *q, const mixed_set *set)
{
    const double limit_s =
        mixed_limit(q) / set->weight -
        plait_between_sends_s(q->problem, &set->inside, set->shape.microbatches, HUGE_VAL);
    double most_s = limit_s / set->shape.microbatches;

    for (bool less = q->problem->model->kinds == 1; less;) {
        held_layers held = {{0}, 0};
        held_layers more = held;
        while (hold_more(set, &more) <= most_s && more.all > held.all)
            held = more;
        if (!can_hold(q, set, &held))
            return 0.0;
        const double within_s = (limit_s - least_after_s(q, set, &held)) / set->shape.microbatches;
        less = within_s < most_s;
        most_s = less ? within_s : most_s;
    }
    return most_s;
}
