/*
 * convert.c - time to convert a tensor from one layout to another (S.48)
 *
 * The table lists the conversions along an axis of n ranks. The third column is the collective, the
 * fourth the bytes that it is priced with, the last the bytes on a rank afterwards; S is the bytes
 * on a rank before. Axes with the same conversion use one collective over all of their ranks. The
 * conversions run in this order, which keeps S small:
 *
 *     whole   -> cut      no collective: a slice        0           S / n
 *     partial -> cut      reduce-scatter                S           S / n
 *     cut     -> cut      all-to-all                    S           S
 *     partial -> whole    all-reduce                    S           S
 *     cut     -> whole    all-gather                    S n         S n
 *
 * In backward the gradient is converted in the opposite direction by the same table: the gradient
 * of a copy is a partial sum, and the gradient of a partial sum must be whole.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "search/operators/layer_graph.h"
#include "plait/lowlevel/block.h"

/* A conversion in progress: the bytes on a rank now, and the seconds so far. */
typedef struct way {
    const layer_graph *g;
    const tensor *t;
    double bytes; /* bytes on a rank */
    double s;
    char *text;
} way;

static bool is_cut(unsigned char l)
{
    return l >= LIE_BATCH && l <= LIE_EXPERTS;
}

/* Predicate on a layout: is_whole, is_partial or is_cut. */
typedef bool is_sort(unsigned char l);

static bool is_whole(unsigned char l)
{
    return l == LIE_WHOLE;
}

static bool is_partial(unsigned char l)
{
    return l == LIE_PARTIAL;
}

static unsigned axes_from_to(const layer_graph *g, const spread *from, const spread *to,
                             is_sort *before, is_sort *after)
{
    unsigned axes = 0;

    for (int a = 0; a < g->mesh.axes; a++)
        if (g->mesh.size[a] > 1 && from->lie[a] != to->lie[a] && before(from->lie[a]) &&
            after(to->lie[a]))
            axes |= 1u << a;
    return axes;
}

/*
 * Returns the part of a collective's time that is exposed. Tensor-parallel overlap hides no
 * collective beyond the scale-up domain (C.60), and no all-to-all, since the exchange of tokens for
 * heads is synchronous (C.61).
 */
static double exposed_share(const way *w, unsigned axes, plait_collective_op op)
{
    const double share = w->g->problem->runtime->overlap.tp_exposed;

    if (op == PLAIT_ALL_TO_ALL)
        return 1.0;
    return w->g->route[axes].levels > 1 ? fmax(1.0, share) : share;
}

static void say(way *w, unsigned axes, plait_collective_op op)
{
    static const char *const words[PLAIT_FITTED_COLLECTIVES] = {"all-reduce", "all-gather",
                                                                "reduce-scatter", "all-to-all"};
    const char *separator = " ";

    if (w->text == NULL)
        return;
    size_t used = strlen(w->text);
    used += (size_t)snprintf(w->text + used, PLAIT_SPEC_CHARS - used, "%s%s", used ? " + " : "",
                             words[op]);
    for (int a = 0; a < w->g->mesh.axes && used < PLAIT_SPEC_CHARS; a++)
        if (axes >> a & 1u) {
            used += (size_t)snprintf(w->text + used, PLAIT_SPEC_CHARS - used, "%s%d", separator, a);
            separator = ",";
        }
}

static void go(way *w, unsigned axes, plait_collective_op op, double bytes)
{
    if (!axes)
        return;
    w->s += exposed_share(w, axes, op) *
            plait_collective_s(&w->g->route[axes], graph_network(w->g), op, bytes);
    say(w, axes, op);
}

/*
 * Adds the all-to-all that sends rows to the ranks of their experts. The dispatcher sends each
 * copy, or each row once per node. (C.56)
 */
static void go_to_experts(way *w, unsigned axes)
{
    const layer_graph *g = w->g;
    const plait_shard shard = {.tp = 1,
                               .cp = 1,
                               .ep = g->route[axes].ranks,
                               .etp = 1,
                               .runtime = g->problem->runtime,
                               .dispatcher = PLAIT_DISPATCH_ALLTOALL};
    const plait_op op = plait_block_exchange(
        g->problem->model, g->layer, &shard,
        (plait_pass){PLAIT_FORWARD, g->sequences, g->problem->job.seq, g->problem->job.seq},
        PLAIT_PART_dispatch);

    w->s += g->problem->runtime->overlap.ep_exposed * (op.imbalance > 0.0 ? op.imbalance : 1.0) *
            plait_expert_all_to_all_s(&g->route[axes], graph_network(g), w->bytes, op.topk,
                                      op.node_copies);
    say(w, axes, PLAIT_ALL_TO_ALL);
}

static void exchange(way *w, const spread *from, const spread *to)
{
    const unsigned axes = axes_from_to(w->g, from, to, is_cut, is_cut);
    unsigned experts = 0;

    for (int a = 0; a < w->g->mesh.axes; a++)
        if (axes >> a & 1u && (from->lie[a] == LIE_EXPERTS || to->lie[a] == LIE_EXPERTS))
            experts |= 1u << a;
    if (experts)
        go_to_experts(w, experts);
    go(w, axes & ~experts, PLAIT_ALL_TO_ALL, w->bytes);
}

/* Returns the bytes on a rank of a tensor with this layout, in the 16-bit format of activations. */
static double bytes_at(const layer_graph *g, const tensor *t, const spread *from)
{
    double bytes = 2.0 * t->elements;

    for (int a = 0; a < g->mesh.axes; a++)
        if (is_cut(from->lie[a]))
            bytes /= g->mesh.size[a];
    return bytes;
}

double convert_s(const layer_graph *g, const tensor *t, spread from, spread to,
                 char text[PLAIT_SPEC_CHARS])
{
    way w = {.g = g, .t = t, .bytes = bytes_at(g, t, &from), .text = text};
    const unsigned slices = axes_from_to(g, &from, &to, is_whole, is_cut);
    const unsigned scatters = axes_from_to(g, &from, &to, is_partial, is_cut);
    const unsigned gathers = axes_from_to(g, &from, &to, is_cut, is_whole);

    if (text != NULL)
        text[0] = '\0';
    w.bytes /= g->route[slices].ranks;
    go(&w, scatters, PLAIT_REDUCE_SCATTER, w.bytes);
    w.bytes /= g->route[scatters].ranks;
    exchange(&w, &from, &to);
    go(&w, axes_from_to(g, &from, &to, is_partial, is_whole), PLAIT_ALL_REDUCE, w.bytes);
    w.bytes *= g->route[gathers].ranks;
    go(&w, gathers, PLAIT_ALL_GATHER, w.bytes);
    return w.s;
}
