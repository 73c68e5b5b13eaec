/*
 * layouts_bound.c - lower bounds of every layout of a point
 *
 * T is the work of the slowest rank for one microbatch, in seconds, and W the work of all items. A
 * step takes at least m (T - g) and the time after its pipeline, with p ranks, m microbatches and g
 * the most time per microbatch that fusing passes saves a rank. Then
 *
 *     T >= W / p                                                                         (S.6)
 *     T >= (W - p g) / (m (1 - (1 - 1/m)^p)) + g,  if each rank waits for all before it  (S.12)
 *     T >= the least T with which the ranks can hold all layers of one kind:             (S.7)
 *          sum over ranks r of min((T - before_r / m) / w, layers that fit) >= layers of the kind
 *
 * S.7 counts whole layers, of w seconds each, with the loss on one rank. before_r is the time that
 * rank r waits at the start for one forward of the chunks before its own and, if backwards are not
 * split, for one backward of them. Each of these chunks has at least q - 1 layers (layouts.h).
 *
 * In the memory of a rank, q - 1 layers of each middle chunk count with the microbatches in flight
 * of that chunk, and all other layers with those of the chunk of the rank that has fewest.
 */
#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "search/pipeline/layouts.h"

// ---- the shape -----------------------------------------------------------------------------

static void fill_in_flight(const plait_degrees *d, int microbatches, int rank, layout_shape *out)
{
    const plait_schedule schedule = (plait_schedule)d->schedule;
    double weight[PLAIT_MAX_LAYERS], held[PLAIT_MAX_LAYERS];

    for (int v = 0; v < d->vpp; v++)
        weight[v] = 1.0;
    plait_schedule_in_flight_chunks(schedule, d->pp, rank, d->vpp, microbatches, weight, held);
    out->in_flight[rank] = held[0];
    out->middle[rank] = out->mean[rank] = 0.0;
    out->middle_chunks[rank] = 0;
    for (int v = 0; v < d->vpp; v++) {
        const int chunk = plait_schedule_chunk(schedule, d->pp, rank, v);
        out->in_flight[rank] = smaller(out->in_flight[rank], held[v]);
        out->mean[rank] += held[v] / d->vpp;
        if (chunk > 0 && chunk < d->pp * d->vpp - 1) {
            out->middle_chunks[rank]++;
            out->middle[rank] += held[v];
        }
    }
}

void layout_shape_init(layout_shape *out, const plait_model *model, const plait_degrees *d)
{
    const int each = model->layers / (d->pp * d->vpp);

    out->ranks = d->pp;
    out->vpp = d->vpp;
    out->kinds = model->kinds;
    out->modules = model->mtp_layers;
    out->least = each > 1 ? each - 1 : 0;
    out->returns_whole = d->ep_overlap == PLAIT_EP_OVERLAP_NONE &&
                         (d->schedule == PLAIT_1F1B || d->schedule == PLAIT_INTERLEAVED);
    for (int k = 0; k < model->kinds; k++)
        out->layers[k] = 0;
    for (int i = 0; i < model->layers; i++)
        out->layers[model->layer_kind[i]]++;
}

void layout_shape_add_memory(layout_shape *out, const plait_degrees *d, int microbatches)
{
    for (int r = 0; r < d->pp; r++)
        fill_in_flight(d, microbatches, r, out);
}

// ---- layers of one kind (S.7) --------------------------------------------------------------

/* Input of the bounds. The last four fields are set for each kind of layers in turn. */
typedef struct bound_input {
    const layout_shape *shape;
    const plait_rank_loads *of;
    double free_bytes; /* memory of a rank for items */
    bool estimate;     /* true: computes an estimate for equal chunks instead of a bound */
    int kind;
    double layer_s;                   /* w: work of a layer for one microbatch */
    int fits[PLAIT_MAX_LAYERS];       /* [ranks] number of layers that fit the memory */
    double waits_s[PLAIT_MAX_LAYERS]; /* [ranks] before_r / m, the wait per microbatch */
} bound_input;

/*
 * Returns how many times `size` fits into `room`, with a margin for rounding; at most
 * PLAIT_MAX_LAYERS.
 */
static int times_in(double room, double size)
{
    const double times = room / size * (1.0 + 1e-12);

    return times > 0.0 ? (int)smaller(times, PLAIT_MAX_LAYERS) : 0;
}

static double work_s(const plait_rank_loads *of, int kind)
{
    return smaller(of->layer[kind].work_s, of->rest[kind].work_s);
}

static int layers_that_fit(const bound_input *in, int rank)
{
    const layout_shape *shape = in->shape;
    const plait_layer_load *layer = &in->of->layer[in->kind], *rest = &in->of->rest[in->kind];
    const double in_flight = in->estimate ? shape->mean[rank] : shape->in_flight[rank];
    double free_bytes = in->free_bytes;

    if (isinf(free_bytes))
        return PLAIT_MAX_LAYERS;
    if (!in->estimate)
        free_bytes -= shape->least * smaller(layer->saved_bytes, rest->saved_bytes) *
                      (shape->middle[rank] - shape->middle_chunks[rank] * in_flight);
    return times_in(free_bytes, smaller(layer->state_bytes + in_flight * layer->saved_bytes,
                                        rest->state_bytes + in_flight * rest->saved_bytes));
}

/*
 * Returns a lower bound of the time per microbatch that a rank waits for the middle chunks before
 * its first chunk.
 */
static double waits_s(const bound_input *in, int rank)
{
    const layout_shape *shape = in->shape;
    double least_s = HUGE_VAL;

    if (in->estimate || rank < 2 || shape->least == 0)
        return 0.0;
    for (int k = 0; k < shape->kinds; k++) {
        const plait_chunk_time *layer = &in->of->layer[k].time, *rest = &in->of->rest[k].time;
        if (shape->layers[k] == 0)
            continue;
        least_s =
            smaller(least_s, shape->returns_whole ? smaller(layer->forward_s + layer->backward_s,
                                                            rest->forward_s + rest->backward_s)
                                                  : smaller(layer->forward_s, rest->forward_s));
    }
    return (rank - 1) * shape->least * least_s / in->of->microbatches;
}

/*
 * Returns whether ranks with at most this work per microbatch can hold all layers of the kind, if
 * one of the ranks also has the loss.
 */
static bool can_hold(const bound_input *in, double longest_s)
{
    const double loss_s = in->of->loss.work_s;
    int count = 0, lost = PLAIT_MAX_LAYERS;

    if (longest_s < loss_s)
        return false;
    for (int r = 0; r < in->shape->ranks; r++) {
        const double left_s = longest_s - in->waits_s[r];
        const int fits = in->fits[r];
        const int alone = times_in(left_s, in->layer_s);
        const int beside = times_in(left_s - loss_s, in->layer_s);
        const int here = fits < alone ? fits : alone;
        const int there = fits < beside ? fits : beside;
        count += here;
        lost = here - there < lost ? here - there : lost;
    }
    return count - lost >= in->shape->layers[in->kind];
}

/* Returns S.7 for one kind of layers, from below by bisection; infinite if above `high`. */
static double longest_of_kind_s(bound_input *in, int kind, double low, double high)
{
    in->kind = kind;
    in->layer_s = work_s(in->of, kind);
    for (int r = 0; r < in->shape->ranks; r++)
        in->fits[r] = layers_that_fit(in, r);
    if (!can_hold(in, high))
        return HUGE_VAL;
    if (can_hold(in, low))
        return low;
    for (int halving = 0; halving < 40 && high - low > 1e-7 * high; halving++) {
        const double middle = 0.5 * (low + high);
        if (can_hold(in, middle))
            high = middle;
        else
            low = middle;
    }
    return low;
}

// ---- all bounds ----------------------------------------------------------------------------

/* Returns W, the work of all items per microbatch. */
static double all_work_s(const layout_shape *shape, const plait_rank_loads *of)
{
    double all_s = of->embedding.work_s + of->loss.work_s + shape->modules * of->module.work_s;

    for (int k = 0; k < shape->kinds; k++)
        all_s += shape->layers[k] * work_s(of, k);
    return all_s;
}

/*
 * Returns a lower bound of T, the work of the slowest rank; infinite if above `most_s`. For 1F1B
 * with one chunk per rank, m T_r + T_0 + .. + T_r-1 <= M for every rank r, with T_r the work of
 * rank r and M the time of the pipeline. The ranks do most work if each of these is an equality,
 * T_r = (M / m) (1 - 1 / m)^r. The sum of these T_r is W, less the time saved by fusing. (S.12)
 */
static double longest_s(bound_input *in, double most_s, double saved_s)
{
    const layout_shape *shape = in->shape;
    const plait_rank_loads *of = in->of;
    const double all_s = all_work_s(shape, of), m = of->microbatches;
    double longest = all_s / shape->ranks;

    if (shape->vpp == 1 && shape->returns_whole)
        longest = fmax(longest, (all_s - shape->ranks * saved_s) /
                                        (m * (1.0 - pow(1.0 - 1.0 / m, shape->ranks))) +
                                    saved_s);
    if (longest > most_s || in->free_bytes < 0.0)
        return HUGE_VAL;
    for (int r = 0; r < shape->ranks; r++)
        in->waits_s[r] = waits_s(in, r);
    for (int k = 0; k < shape->kinds; k++)
        if (shape->layers[k] > 0 && work_s(of, k) > 0.0 && longest <= most_s)
            longest =
                fmax(longest, longest_of_kind_s(in, k, longest, isinf(most_s) ? all_s : most_s));
    return longest;
}

double layout_lower_bound_s(const layout_shape *shape, const plait_rank_loads *of,
                            double capacity_bytes, double limit_s)
{
    const double saved_s = 2.0 * shape->vpp * of->fused_s;
    bound_input in; // only the fields in use are initialised, since the struct is large

    in.shape = shape;
    in.of = of;
    in.free_bytes = capacity_bytes - of->rank_bytes;
    in.estimate = false;
    const double longest =
        longest_s(&in, (limit_s - of->after_s) / of->microbatches + saved_s, saved_s);
    return of->microbatches * fmax(0.0, longest - saved_s) + of->after_s;
}

/*
 * Adds an estimate of the bubble to the work of the slowest rank: the work of the other ranks for
 * one microbatch, divided by the chunks per rank.
 */
double layout_estimate_s(const layout_shape *shape, const plait_rank_loads *of,
                         double capacity_bytes, double limit_s)
{
    bound_input in;

    in.shape = shape;
    in.of = of;
    in.free_bytes = capacity_bytes - of->rank_bytes;
    in.estimate = true;
    const double longest = longest_s(&in, (limit_s - of->after_s) / of->microbatches, 0.0);
    const double others_s = fmax(0.0, all_work_s(shape, of) - longest);
    return of->microbatches * longest + others_s / shape->vpp + of->after_s;
}
