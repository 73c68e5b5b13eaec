/* price_inside.c - communication inside an operator: attention context, norm statistics (S.46) */
#include <math.h>

#include "search/operators/layer_graph.h"

plait_network graph_network(const layer_graph *g)
{
    const plait_factors *factor = &g->problem->runtime->factor;

    return (plait_network){.nic = factor->nic, .rails = factor->rails, .hop_s = factor->hop_s};
}

/*
 * Returns the exposed seconds of exchanging keys and values between the ranks that share sequences.
 * A ring overlaps with attention (C.61).
 */
static double context_s(const layer_graph *g, const strategy *s, const plait_block *block,
                        double attention_s)
{
    const plait_route *route = &g->route[mesh_axes(&g->mesh, s->use, PLAIT_USE_SEQUENCE)];
    double sum = 0.0;

    for (int i = 0; i < block->ops; i++) {
        const plait_op *op = &block->op[i];
        if (op->kind != PLAIT_OP_COLLECTIVE || op->axis != PLAIT_AXIS_CP)
            continue;
        const double all =
            op->count * plait_collective_s(route, graph_network(g), op->collective, op->bytes);
        sum += op->overlap == PLAIT_OVERLAP_CP_RING
                   ? fmax(0.0, all - attention_s * op->count / (op->count + 1.0))
                   : all;
    }
    return sum;
}

bool node_is_norm(const node *n)
{
    return (n->part == PLAIT_PART_norm || n->part == PLAIT_PART_linear_norm) &&
           n->place.makes == PLAIT_DIM_HIDDEN;
}

/* Returns the seconds in which a norm over a cut width sums four bytes per token, in each pass. */
static double statistics_s(const layer_graph *g, const node *n, const strategy *s)
{
    const unsigned axes = mesh_axes(&g->mesh, s->use, PLAIT_USE_OUT);
    const double tokens = g->sequences * g->problem->job.seq /
                          mesh_ways(&g->mesh, s->use, PLAIT_USE_BATCH) /
                          mesh_ways(&g->mesh, s->use, PLAIT_USE_SEQUENCE);

    if (!axes || !node_is_norm(n))
        return 0.0;
    return plait_collective_s(&g->route[axes], graph_network(g), PLAIT_ALL_REDUCE, 4.0 * tokens);
}

double inside_s(const layer_graph *g, const node *n, const strategy *s, const plait_block *block,
                double kernels_s)
{
    const bool exchanges =
        n->kind == NODE_CORE && mesh_ways(&g->mesh, s->use, PLAIT_USE_SEQUENCE) > 1;

    return statistics_s(g, n, s) + (exchanges ? context_s(g, s, block, kernels_s) : 0.0);
}
