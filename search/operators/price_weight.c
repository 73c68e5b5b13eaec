/*
 * price_weight.c - state, gathers and reductions of a weight, by its home (S.47)
 *
 * A rank uses P parameters, and r ranks use the same ones (axes of use batch, sequence and
 * replicate); t of these process different tokens (batch, sequence). C.81 gives the bytes per
 * parameter.
 *
 *     home   state of a layer                 once per step                    each microbatch
 *     whole  P (weight + gradient + opt.)     all-reduce over t
 *     zero1  P (weight + gradient) + P/r opt. reduce-scatter, all-gather, r
 *     zero3  P/r (weight + gradient + opt.)                                    2 all-gathers, reduce-scatter, r
 *
 * Gathers and reductions of c seconds overlap with the kernels of the same operator, k seconds, as
 * C.66 defines it for stages: max(dp_exposed c, c - window k) is exposed. Operators do not share
 * windows, so the sum is an upper bound of the exposed time with shared windows. C.69 gives the
 * optimizer's step.
 */
#include <math.h>

#include "search/operators/layer_graph.h"

static double exposed_behind_s(const layer_graph *g, double comm_s, double compute_s)
{
    const plait_overlaps *overlap = &g->problem->runtime->overlap;

    return fmax(overlap->dp_exposed * comm_s, comm_s - overlap->window * compute_s);
}

static double over_s(const layer_graph *g, unsigned axes, plait_collective_op op, double bytes)
{
    return g->route[axes].ranks > 1
               ? plait_collective_s(&g->route[axes], graph_network(g), op, bytes)
               : 0.0;
}

/*
 * Returns the seconds of the optimizer: norm, clip and step over the shard, and passes over the
 * whole gradient. (C.69)
 */
static double optimizer_s(const layer_graph *g, double whole, double shard)
{
    const plait_state_bytes *state = &g->state;
    const double bytes = shard * (state->step_bytes + state->shard_passes * state->gradient) +
                         state->buffer_passes * state->gradient * whole;

    return g->problem->runtime->factor.memory * bytes /
           plait_cluster_accelerator(g->problem->cluster, 0)->hbm_bytes_per_s;
}

static double reduced_s(const layer_graph *g, const strategy *s, double comm_s)
{
    return g->problem->runtime->can.takes[PLAIT_KEY_GRAD_SYNC] >> PLAIT_SYNC_BUCKETED & 1u
               ? exposed_behind_s(g, comm_s, s->backward_s)
               : comm_s;
}

void price_weight(const layer_graph *g, const node *n, strategy *s)
{
    const unsigned tokens = mesh_axes(&g->mesh, s->use, PLAIT_USE_BATCH) |
                            mesh_axes(&g->mesh, s->use, PLAIT_USE_SEQUENCE);
    const unsigned axes = tokens | mesh_axes(&g->mesh, s->use, PLAIT_USE_REPLICATE);
    const double ranks = g->route[axes].ranks;
    const plait_state_bytes *state = &g->state;
    const double live = g->problem->runtime->keep.transient_layers;

    s->homes = n->params <= 0.0 || ranks == 1 ? 1 : PLAIT_WEIGHT_HOMES;
    for (int home = 0; home < s->homes; home++) {
        const double parts = home >= PLAIT_WEIGHT_ZERO3 ? ranks : 1.0;
        const double opt_parts = home >= PLAIT_WEIGHT_ZERO1 ? ranks : 1.0;
        s->state_bytes[home] = s->params * ((state->weight + state->gradient) / parts +
                                            state->optimizer / opt_parts + state->replicated);
        s->sync_s[home] = optimizer_s(g, s->params / parts, s->params / opt_parts);
    }
    const double bytes = state->gradient_reduce * s->params;
    s->sync_s[PLAIT_WEIGHT_WHOLE] += reduced_s(g, s, over_s(g, tokens, PLAIT_ALL_REDUCE, bytes));
    if (s->homes == 1)
        return;
    const double gather_s = over_s(g, axes, PLAIT_ALL_GATHER, state->gather * s->params);
    const double scatter_s = over_s(g, axes, PLAIT_REDUCE_SCATTER, bytes);
    const double gather_left_s = g->problem->runtime->overlap.param_gather
                                     ? exposed_behind_s(g, gather_s, s->forward_s)
                                     : gather_s;
    s->sync_s[PLAIT_WEIGHT_ZERO1] += reduced_s(g, s, scatter_s) + gather_left_s;
    s->gather_s[PLAIT_WEIGHT_ZERO3] = exposed_behind_s(g, gather_s, s->forward_s) +
                                      exposed_behind_s(g, gather_s + scatter_s, s->backward_s);
    s->gathered_bytes[PLAIT_WEIGHT_ZERO3] =
        live * (state->gather + state->gradient_reduce) * s->params;
}
