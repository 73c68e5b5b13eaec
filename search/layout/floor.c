/*
 * floor.c - what no deal of a point undercuts
 *
 *     T >= W / p,   W the work of all items for a microbatch                            (S.6)
 *     T >= the least that lets ranks hold all layers of at least w seconds, for each w: (S.7)
 *          sum over ranks of min(floor(T / w), what fits) >= how many there are
 *
 * of the rank that works longest, one of them with the loss beside; a step is at least m T and what
 * follows it.
 */
#include <math.h>
#include <string.h>

#include "deal.h"

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

/* How many of `size` there are in `room`, with what rounding takes; at most as many as layers can be. */
static int times_in(double room, double size)
{
    const double times = room / size * (1.0 + 1e-12);

    return times > 0.0 ? (int)lesser(times, PLAIT_MAX_LAYERS) : 0;
}

deal_ranks deal_ranks_of(const plait_model *model, const plait_degrees *d, int microbatches)
{
    deal_ranks out = {.ranks = d->pp, .turns = d->vpp};
    double weight[PLAIT_MAX_LAYERS], held[PLAIT_MAX_LAYERS];

    for (int i = 0; i < model->layers; i++)
        out.layers[model->layer_kind[i]]++;
    out.kinds = model->kinds;
    out.modules = model->mtp_layers;
    for (int v = 0; v < d->vpp; v++)
        weight[v] = 1.0;
    for (int r = 0; r < d->pp; r++) {
        plait_schedule_held((plait_schedule)d->schedule, d->pp, r, d->vpp, microbatches, weight,
                            held);
        out.held[r] = held[0];
        for (int v = 1; v < d->vpp; v++)
            out.held[r] = lesser(out.held[r], held[v]);
    }
    return out;
}

/* What one layer of a kind takes at least. */
static double work_s(const plait_portions *of, int kind)
{
    return lesser(of->layer[kind].work_s, of->rest[kind].work_s);
}

/* Everything that is asked of the ranks. */
typedef struct floor_question {
    const deal_ranks *ranks;
    const plait_portions *of;
    double room_bytes; /* of a rank, for what it is dealt */
} floor_question;

static double bytes(const plait_portion *of, double held)
{
    return of->state_bytes + held * of->saved_bytes;
}

/* Layers that fit a rank, if they are of those that take least. */
static int layers_that_fit(const floor_question *ask, int rank)
{
    const double held = ask->ranks->held[rank];
    double least = HUGE_VAL;

    if (isinf(ask->room_bytes))
        return PLAIT_MAX_LAYERS;
    for (int k = 0; k < ask->ranks->kinds; k++)
        if (ask->ranks->layers[k] > 0)
            least = lesser(least,
                           lesser(bytes(&ask->of->layer[k], held), bytes(&ask->of->rest[k], held)));
    return times_in(ask->room_bytes, least);
}

/* Can ranks that work T at most hold so many layers of w seconds, one of them with the loss beside? */
static bool holds(const floor_question *ask, double longest_s, double least_s, int layers)
{
    const int alone = times_in(longest_s, least_s);
    const int beside = times_in(longest_s - ask->of->loss.work_s, least_s);
    int count = 0, lost = PLAIT_MAX_LAYERS;

    if (longest_s < ask->of->loss.work_s)
        return false;
    for (int r = 0; r < ask->ranks->ranks; r++) {
        const int fits = layers_that_fit(ask, r);
        const int here = fits < alone ? fits : alone;
        const int there = fits < beside ? fits : beside;
        count += here;
        lost = here - there < lost ? here - there : lost;
    }
    return count - lost >= layers;
}

static int layers_of_at_least(const floor_question *ask, double least_s)
{
    int layers = 0;

    for (int k = 0; k < ask->ranks->kinds; k++)
        layers += work_s(ask->of, k) >= least_s ? ask->ranks->layers[k] : 0;
    return layers;
}

/* The least T for the layers of at least w seconds, from below by halving; infinite above `high`. */
static double least_longest_s(const floor_question *ask, double least_s, double low, double high)
{
    const int layers = layers_of_at_least(ask, least_s);

    if (!holds(ask, high, least_s, layers))
        return HUGE_VAL;
    if (holds(ask, low, least_s, layers))
        return low;
    for (int halving = 0; halving < 40 && high - low > 1e-7 * high; halving++) {
        const double middle = 0.5 * (low + high);
        if (holds(ask, middle, least_s, layers))
            high = middle;
        else
            low = middle;
    }
    return low;
}

double deal_floor_s(const deal_ranks *ranks, const plait_portions *of, double capacity_bytes,
                    double limit_s)
{
    const floor_question ask = {ranks, of, capacity_bytes - of->rank_bytes};
    const double saved_s = 2.0 * ranks->turns * of->fused_s;
    double all_s = of->embedding.work_s + of->loss.work_s + ranks->modules * of->module.work_s;

    for (int k = 0; k < ranks->kinds; k++)
        all_s += ranks->layers[k] * work_s(of, k);
    const double most_s =
        isinf(limit_s) ? all_s : (limit_s - of->after_s) / of->microbatches + saved_s;
    double longest_s = all_s / ranks->ranks;
    if (longest_s > most_s || ask.room_bytes < 0.0)
        return HUGE_VAL;
    for (int k = 0; k < ranks->kinds; k++)
        if (ranks->layers[k] > 0 && work_s(of, k) > 0.0)
            longest_s = fmax(longest_s, least_longest_s(&ask, work_s(of, k), longest_s, most_s));
    return of->microbatches * fmax(0.0, longest_s - saved_s) + of->after_s;
}
