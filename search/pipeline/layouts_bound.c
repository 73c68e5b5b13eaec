/*
 * floor.c - what no deal of a point undercuts
 *
 *     T >= W / p,   W the work of all items for a microbatch                             (S.6)
 *     T >= (W - p g) / (m (1 - (1 - 1/m)^p)) + g,  where each rank waits for all before it  (S.12)
 *     T >= the least that lets ranks hold all layers of one kind, each of w seconds:     (S.7)
 *          sum over ranks r of min((T - before_r / m) / w, what fits) >= how many there are
 *
 * in whole layers, one rank with the loss beside; a step is at least m T and what follows it. A rank
 * waits for a forward, and where backwards return whole for a backward, of the chunks before its own,
 * which hold q - 1 layers each; what it holds of its chunks in the middle is in flight as often as
 * they are, and of others as the one that is least so.
 */
#include <math.h>
#include <string.h>

#include "search/pipeline/layouts.h"

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

/* Is a chunk neither the first nor the last of the pipeline? */
static bool in_the_middle(const plait_degrees *d, int rank, int v)
{
    const int chunk = plait_schedule_chunk((plait_schedule)d->schedule, d->pp, rank, v);

    return chunk > 0 && chunk < d->pp * d->vpp - 1;
}

static void hold(const plait_degrees *d, int microbatches, int rank, layout_shape *out)
{
    double weight[PLAIT_MAX_LAYERS], held[PLAIT_MAX_LAYERS];

    for (int v = 0; v < d->vpp; v++)
        weight[v] = 1.0;
    plait_schedule_held((plait_schedule)d->schedule, d->pp, rank, d->vpp, microbatches, weight,
                        held);
    out->held[rank] = held[0];
    out->middle[rank] = out->usual[rank] = 0.0;
    out->middles[rank] = 0;
    for (int v = 0; v < d->vpp; v++) {
        out->held[rank] = lesser(out->held[rank], held[v]);
        out->usual[rank] += held[v] / d->vpp;
        if (in_the_middle(d, rank, v)) {
            out->middles[rank]++;
            out->middle[rank] += held[v];
        }
    }
}

void layout_shape_init(layout_shape *out, const plait_model *model, const plait_degrees *d,
                       int microbatches)
{
    const int each = model->layers / (d->pp * d->vpp);

    out->ranks = d->pp;
    out->turns = d->vpp;
    out->kinds = model->kinds;
    out->modules = model->mtp_layers;
    out->least = each > 1 ? each - 1 : 0;
    out->turns_back = d->ep_overlap == PLAIT_EP_OVERLAP_NONE &&
                      (d->schedule == PLAIT_1F1B || d->schedule == PLAIT_INTERLEAVED);
    for (int k = 0; k < model->kinds; k++)
        out->layers[k] = 0;
    for (int i = 0; i < model->layers; i++)
        out->layers[model->layer_kind[i]]++;
    for (int r = 0; r < d->pp; r++)
        hold(d, microbatches, r, out);
}

/* What one layer of a kind takes at least. */
static double work_s(const plait_portions *of, int kind)
{
    return lesser(of->layer[kind].work_s, of->rest[kind].work_s);
}

/* Everything that is asked of the ranks. */
typedef struct floor_question {
    const layout_shape *ranks;
    const plait_portions *of;
    double room_bytes; /* of a rank, for what it is dealt */
    bool guess;        /* as if chunks were equal */
    int kind;          /* of the layers that are asked of ... */
    double least_s;    /* ... and w, what one works */
    int fits[PLAIT_MAX_LAYERS];
    double waits_s[PLAIT_MAX_LAYERS];
} floor_question;

static double bytes(const plait_portion *of, double held)
{
    return of->state_bytes + held * of->saved_bytes;
}

static double saved_bytes(const plait_portion *of, double held)
{
    return held * of->saved_bytes;
}

static double forward_s(const plait_portion *of, double held)
{
    (void)held;
    return of->time.forward_s;
}

static double both_s(const plait_portion *of, double held)
{
    (void)held;
    return of->time.forward_s + of->time.backward_s;
}

/* Of one layer the less, as the first of a chunk or behind. */
static double one_layer(const plait_portions *all, int kind,
                        double (*of)(const plait_portion *, double), double held)
{
    return lesser(of(&all->layer[kind], held), of(&all->rest[kind], held));
}

/* Layers that fit a rank. */
static int layers_that_fit(const floor_question *ask, int rank)
{
    const layout_shape *ranks = ask->ranks;
    const double held = ask->guess ? ranks->usual[rank] : ranks->held[rank];
    double room_bytes = ask->room_bytes;

    if (isinf(room_bytes))
        return PLAIT_MAX_LAYERS;
    if (!ask->guess)
        room_bytes -= ranks->least * one_layer(ask->of, ask->kind, saved_bytes, 1.0) *
                      (ranks->middle[rank] - ranks->middles[rank] * held);
    return times_in(room_bytes, one_layer(ask->of, ask->kind, bytes, held));
}

/* What a rank waits for at least, a microbatch: chunks in the middle that stand before its first. */
static double waits_s(const floor_question *ask, int rank)
{
    const layout_shape *ranks = ask->ranks;
    double least_s = HUGE_VAL;

    if (ask->guess || rank < 2 || ranks->least == 0)
        return 0.0;
    for (int k = 0; k < ranks->kinds; k++)
        if (ranks->layers[k] > 0)
            least_s =
                lesser(least_s, one_layer(ask->of, k, ranks->turns_back ? both_s : forward_s, 0.0));
    return (rank - 1) * ranks->least * least_s / ask->of->microbatches;
}

/* Can ranks that work T at most hold so many layers of w seconds, one of them with the loss beside? */
static bool holds(const floor_question *ask, double longest_s, int layers)
{
    const double loss_s = ask->of->loss.work_s;
    int count = 0, lost = PLAIT_MAX_LAYERS;

    if (longest_s < loss_s)
        return false;
    for (int r = 0; r < ask->ranks->ranks; r++) {
        const double left_s = longest_s - ask->waits_s[r];
        const int fits = ask->fits[r];
        const int alone = times_in(left_s, ask->least_s),
                  beside = times_in(left_s - loss_s, ask->least_s);
        const int here = fits < alone ? fits : alone;
        const int there = fits < beside ? fits : beside;
        count += here;
        lost = here - there < lost ? here - there : lost;
    }
    return count - lost >= layers;
}

/* The least T for the layers that are asked of, from below by halving; infinite above `high`. */
static double least_longest_s(const floor_question *ask, double low, double high)
{
    const int layers = ask->ranks->layers[ask->kind];

    if (!holds(ask, high, layers))
        return HUGE_VAL;
    if (holds(ask, low, layers))
        return low;
    for (int halving = 0; halving < 40 && high - low > 1e-7 * high; halving++) {
        const double middle = 0.5 * (low + high);
        if (holds(ask, middle, layers))
            high = middle;
        else
            low = middle;
    }
    return low;
}

/* S.7 for one kind. */
static double longest_of_kind_s(floor_question *ask, int kind, double low, double high)
{
    ask->kind = kind;
    ask->least_s = work_s(ask->of, kind);
    for (int r = 0; r < ask->ranks->ranks; r++)
        ask->fits[r] = layers_that_fit(ask, r);
    return least_longest_s(ask, low, high);
}

/* W, the work of all items for a microbatch. */
static double all_work_s(const layout_shape *ranks, const plait_portions *of)
{
    double all_s = of->embedding.work_s + of->loss.work_s + ranks->modules * of->module.work_s;

    for (int k = 0; k < ranks->kinds; k++)
        all_s += ranks->layers[k] * work_s(of, k);
    return all_s;
}

/*
 * 1F1B with one chunk a rank: m T_r + T_0 + .. + T_r-1 <= M for every r. Most work is done where each
 * holds with equality, T_r = (M / m) (1 - 1 / m)^r; the sum of these is W, less what fusing saves. (S.12)
 */
static double staggered_s(const floor_question *ask, double all_s, double saved_s)
{
    const layout_shape *ranks = ask->ranks;
    const double m = ask->of->microbatches;

    if (ranks->turns > 1 || !ranks->turns_back)
        return 0.0;
    return (all_s - ranks->ranks * saved_s) / (m * (1.0 - pow(1.0 - 1.0 / m, ranks->ranks))) +
           saved_s;
}

/* The least that the rank which works longest takes, of what `most_s` leaves room for. */
static double longest_s(floor_question *ask, double most_s, double saved_s)
{
    const layout_shape *ranks = ask->ranks;
    const plait_portions *of = ask->of;
    const double all_s = all_work_s(ranks, of);

    double longest = fmax(all_s / ranks->ranks, staggered_s(ask, all_s, saved_s));
    if (longest > most_s || ask->room_bytes < 0.0)
        return HUGE_VAL;
    for (int r = 0; r < ranks->ranks; r++)
        ask->waits_s[r] = waits_s(ask, r);
    for (int k = 0; k < ranks->kinds; k++)
        if (ranks->layers[k] > 0 && work_s(of, k) > 0.0 && longest <= most_s)
            longest =
                fmax(longest, longest_of_kind_s(ask, k, longest, isinf(most_s) ? all_s : most_s));
    return longest;
}

double layout_lower_bound_s(const layout_shape *ranks, const plait_portions *of,
                            double capacity_bytes, double limit_s)
{
    const double saved_s = 2.0 * ranks->turns * of->fused_s;
    floor_question ask; // large: only what is asked is filled

    ask.ranks = ranks;
    ask.of = of;
    ask.room_bytes = capacity_bytes - of->rank_bytes;
    ask.guess = false;
    const double longest =
        longest_s(&ask, (limit_s - of->after_s) / of->microbatches + saved_s, saved_s);
    return of->microbatches * fmax(0.0, longest - saved_s) + of->after_s;
}

/* Its bubble is what the other ranks work for a microbatch, a chunk of them at a time. */
double layout_estimate_s(const layout_shape *ranks, const plait_portions *of, double capacity_bytes,
                         double limit_s)
{
    floor_question ask;

    ask.ranks = ranks;
    ask.of = of;
    ask.room_bytes = capacity_bytes - of->rank_bytes;
    ask.guess = true;
    const double longest = longest_s(&ask, (limit_s - of->after_s) / of->microbatches, 0.0);
    const double others_s = fmax(0.0, all_work_s(ranks, of) - longest);
    return of->microbatches * longest + others_s / ranks->turns + of->after_s;
}
