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
typedef struct conversion {
    const layer_graph *g;
    double bytes; /* bytes on a rank */
    double s;
    char *text;
} conversion;

/* Kinds of layouts along an axis, as bits 1 << lie. */
enum {
    WHOLE = 1 << LIE_WHOLE,
    PARTIAL = 1 << LIE_PARTIAL,
    CUT = 1 << LIE_BATCH | 1 << LIE_SEQUENCE | 1 << LIE_WIDTH | 1 << LIE_EXPERTS
};

static unsigned axes_from_to(const layer_graph *g, const spread *from, const spread *to, int before,
                             int after)
{
    unsigned axes = 0;

    for (int a = 0; a < g->mesh.axes; a++)
        if (g->mesh.size[a] > 1 && from->lie[a] != to->lie[a] && before >> from->lie[a] & 1 &&
            after >> to->lie[a] & 1)
            axes |= 1u << a;
    return axes;
}

/*
 * Returns the part of a collective's time that is exposed. Tensor-parallel overlap hides no
 * collective beyond the scale-up domain (C.60), and no all-to-all, since the exchange of tokens for
 * heads is synchronous (C.61).
 */
static double exposed_share(const conversion *w, unsigned axes, plait_collective_op op)
{
    const double share = plait_tp_exposed(w->g->problem->runtime, false);

    if (op == PLAIT_ALL_TO_ALL)
        return 1.0;
    return w->g->route[axes].levels > 1 ? fmax(1.0, share) : share;
}

static void append_name(conversion *w, unsigned axes, plait_collective_op op)
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

static void add_collective(conversion *w, unsigned axes, plait_collective_op op, double bytes)
{
    if (!axes)
        return;
    w->s += exposed_share(w, axes, op) *
            plait_collective_s(&w->g->route[axes], graph_network(w->g), op, bytes);
    append_name(w, axes, op);
}

/*
 * Adds the all-to-all that sends rows to the ranks of their experts. The dispatcher sends each
 * copy, or each row once per node. (C.56)
 */
static void add_dispatch(conversion *w, unsigned axes)
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
    append_name(w, axes, PLAIT_ALL_TO_ALL);
}

double convert_s(const layer_graph *g, const tensor *t, spread from, spread to,
                 char text[PLAIT_SPEC_CHARS])
{
    conversion w = {.g = g, .bytes = 2.0 * t->elements, .text = text}; // activations in 16 bits
    const unsigned slices = axes_from_to(g, &from, &to, WHOLE, CUT);
    const unsigned scatters = axes_from_to(g, &from, &to, PARTIAL, CUT);
    const unsigned gathers = axes_from_to(g, &from, &to, CUT, WHOLE);
    const unsigned exchanges = axes_from_to(g, &from, &to, CUT, CUT);
    unsigned experts = 0;

    for (int a = 0; a < g->mesh.axes; a++) {
        if (CUT >> from.lie[a] & 1)
            w.bytes /= g->mesh.size[a];
        if (exchanges >> a & 1u && (from.lie[a] == LIE_EXPERTS || to.lie[a] == LIE_EXPERTS))
            experts |= 1u << a;
    }
    if (text != NULL)
        text[0] = '\0';
    w.bytes /= g->route[slices].ranks;
    add_collective(&w, scatters, PLAIT_REDUCE_SCATTER, w.bytes);
    w.bytes /= g->route[scatters].ranks;
    if (experts)
        add_dispatch(&w, experts);
    add_collective(&w, exchanges & ~experts, PLAIT_ALL_TO_ALL, w.bytes);
    add_collective(&w, axes_from_to(g, &from, &to, PARTIAL, WHOLE), PLAIT_ALL_REDUCE, w.bytes);
    w.bytes *= g->route[gathers].ranks;
    add_collective(&w, gathers, PLAIT_ALL_GATHER, w.bytes);
    return w.s;
}
