/*
 * price_operator.c - kernels, communication and bytes kept for backward of each strategy (S.46)
 *
 * The description of a layer (block.h) lists the kernels of a rank for given parallel degrees. A
 * strategy is priced by the description with the degrees equivalent to it, and by the kernels at
 * its node's place.
 *
 *     sequences  B / (batch experts)      tp = etp  ways of heads or ffn, whichever side has them
 *     cp         sequence                 ep        experts
 *
 * No degree cuts the hidden width. For a strategy that cuts it, that dimension of products and the
 * bytes of other operators are divided.
 */
#include <math.h>

#include "search/operators/layer_graph.h"

/* Number of parts into which a strategy cuts each dimension: the degrees of the description. */
typedef struct shape {
    int batch, sequence, tp, experts;
} shape;

static int cut_ways(const layer_graph *g, const node *n, const strategy *s)
{
    const plait_use cut = node_cut(n);

    return cut == PLAIT_USE_REPLICATE ? 1 : mesh_ways(&g->mesh, s->use, cut);
}

static shape shape_of(const layer_graph *g, const node *n, const strategy *s)
{
    return (shape){
        .batch = mesh_ways(&g->mesh, s->use, PLAIT_USE_BATCH),
        .sequence = mesh_ways(&g->mesh, s->use, PLAIT_USE_SEQUENCE),
        .tp = cut_ways(g, n, s),
        .experts = mesh_ways(&g->mesh, s->use, PLAIT_USE_EXPERTS),
    };
}

static bool same_shape(shape a, shape b)
{
    return a.batch == b.batch && a.sequence == b.sequence && a.tp == b.tp && a.experts == b.experts;
}

static plait_shard shard_of(const layer_graph *g, shape of)
{
    const unsigned takes = g->problem->runtime->can.takes[PLAIT_KEY_CP_COMM];

    return (plait_shard){
        .tp = of.tp,
        .cp = of.sequence,
        .ep = of.experts,
        .etp = of.tp,
        .cp_comm = takes >> PLAIT_CP_P2P & 1u ? PLAIT_CP_P2P : PLAIT_CP_ALLGATHER,
        .cp_inner = 1,
        .attention = plait_attention_usual(g->problem),
        .precision = g->problem->job.precision,
        .runtime = g->problem->runtime,
    };
}

static void describe_block(const layer_graph *g, shape of, plait_pass_kind kind, plait_block *out)
{
    const plait_shard shard = shard_of(g, of);
    const double seq = g->problem->job.seq;

    plait_block_describe(g->problem->model, g->layer, &shard,
                         (plait_pass){kind, g->sequences / of.batch / of.experts, seq, seq}, out);
}

// ---- communication -------------------------------------------------------------------------

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

static bool is_norm(const node *n)
{
    return (n->part == PLAIT_PART_norm || n->part == PLAIT_PART_linear_norm) &&
           n->place.makes == PLAIT_DIM_HIDDEN;
}

/*
 * Returns the seconds of the all-reduce of a norm's sums if its width is cut: four bytes per token
 * in each pass.
 */
static double statistics_s(const layer_graph *g, const node *n, const strategy *s)
{
    const unsigned axes = mesh_axes(&g->mesh, s->use, PLAIT_USE_OUT);
    const double tokens = g->sequences * g->problem->job.seq /
                          mesh_ways(&g->mesh, s->use, PLAIT_USE_BATCH) /
                          mesh_ways(&g->mesh, s->use, PLAIT_USE_SEQUENCE);

    if (!axes || !is_norm(n))
        return 0.0;
    return plait_collective_s(&g->route[axes], graph_network(g), PLAIT_ALL_REDUCE, 4.0 * tokens);
}

/*
 * Returns the exposed seconds of the communication inside an operator: attention context and norm
 * statistics. (S.46)
 */
static double inside_s(const layer_graph *g, const node *n, const strategy *s,
                       const plait_block *block, double kernels_s)
{
    const bool exchanges =
        n->kind == NODE_CORE && mesh_ways(&g->mesh, s->use, PLAIT_USE_SEQUENCE) > 1;

    return statistics_s(g, n, s) + (exchanges ? context_s(g, s, block, kernels_s) : 0.0);
}

// ---- kernels -------------------------------------------------------------------------------

/*
 * Returns the dimension of a product's kernel that is the hidden width, for [rows, k] x [k, n]
 * (C.10).
 */
static double *hidden_side(const node *n, plait_op *op)
{
    const bool of_input = node_cut(n) == PLAIT_USE_OUT || n->place.takes == PLAIT_DIM_HIDDEN;

    switch (op->layout) {
    case PLAIT_BACKWARD_INPUT:
        return of_input ? &op->n : &op->k;
    case PLAIT_BACKWARD_WEIGHT:
        return of_input ? &op->m : &op->n;
    default:
        return of_input ? &op->k : &op->n;
    }
}

static double kernels_s(const layer_graph *g, const node *n, const plait_block *block, int hidden)
{
    const plait_accelerator *gpu = plait_cluster_accelerator(g->problem->cluster, 0);
    const plait_kernel_context context = {
        .accelerator = gpu,
        .slowest = plait_slowest(gpu, &g->problem->job),
        .runtime = g->problem->runtime,
        .precision = g->problem->job.precision,
        .attention = plait_attention_usual(g->problem),
    };
    double s = 0.0;

    for (int i = 0; i < block->ops; i++) {
        plait_op op = block->op[i];

        if (op.kind == PLAIT_OP_COLLECTIVE || op.place.number != n->place.number)
            continue;
        if (hidden > 1) {
            if (n->kind == NODE_PRODUCT)
                *hidden_side(n, &op) /= hidden;
            op.flops /= hidden;
            op.bytes /= hidden;
        }
        s += plait_op_s(&context, &op) * (op.imbalance > 0.0 ? op.imbalance : 1.0);
    }
    return s;
}

// ---- bytes kept for backward ---------------------------------------------------------------

/* Returns the part whose operator accounts for a class of kept tensors. */
static plait_part owner_of(plait_tensor kept)
{
    switch (kept) {
    case PLAIT_TENSOR_qkv:
    case PLAIT_TENSOR_keys:
    case PLAIT_TENSOR_latent:
        return PLAIT_PART_qkv;
    case PLAIT_TENSOR_rotary:
        return PLAIT_PART_rotary;
    case PLAIT_TENSOR_scores:
    case PLAIT_TENSOR_scores_dropout:
    case PLAIT_TENSOR_lse:
    case PLAIT_TENSOR_core_out:
    case PLAIT_TENSOR_scan:
        return PLAIT_PART_core_attn;
    case PLAIT_TENSOR_fc1_out:
        return PLAIT_PART_fc1;
    case PLAIT_TENSOR_act_mid:
    case PLAIT_TENSOR_act_out:
        return PLAIT_PART_act;
    case PLAIT_TENSOR_dropout:
        return PLAIT_PART_residual;
    case PLAIT_TENSOR_router:
        return PLAIT_PART_router;
    case PLAIT_TENSOR_routed:
        return PLAIT_PART_dispatch;
    case PLAIT_TENSOR_expert_fc1_out:
        return PLAIT_PART_expert_fc1;
    case PLAIT_TENSOR_expert_act_out:
        return PLAIT_PART_expert_act;
    case PLAIT_TENSOR_routed_out:
        return PLAIT_PART_expert_fc2;
    case PLAIT_TENSOR_shared_fc1_out:
    case PLAIT_TENSOR_shared_act_out:
        return PLAIT_PART_shared;
    default: // inputs, casts and outputs of norms
        return PLAIT_PART_norm;
    }
}

/*
 * Returns the part whose kept tensors are charged to the node. All norms over the hidden width
 * count as NORM; norms over latents count as no part.
 */
static plait_part part_that_keeps(const node *n)
{
    if (is_norm(n))
        return PLAIT_PART_norm;
    return n->part == PLAIT_PART_norm ? PLAIT_PARTS : n->part;
}

static double kept_bytes(const layer_graph *g, const node *n, shape of, const plait_block *block)
{
    const plait_shard shard = shard_of(g, of);
    const plait_part part = part_that_keeps(n);
    double bytes[PLAIT_TENSORS], sum = 0.0;
    int sharers = 0;

    plait_block_tensor_bytes(block, &shard, bytes);
    for (int i = 0; i < g->nodes; i++)
        sharers += part_that_keeps(&g->node[i]) == part;
    for (int t = 0; t < PLAIT_TENSORS; t++)
        if (owner_of((plait_tensor)t) == part)
            sum += bytes[t];
    return sum / sharers;
}

// ---- all strategies ------------------------------------------------------------------------

static void price_strategy(const layer_graph *g, const node *n, shape of,
                           const plait_block *forward, const plait_block *backward, strategy *s)
{
    const int hidden = mesh_ways(&g->mesh, s->use, PLAIT_USE_IN) *
                       mesh_ways(&g->mesh, s->use, PLAIT_USE_OUT) / cut_ways(g, n, s);

    s->forward_s = kernels_s(g, n, forward, hidden);
    s->backward_s = kernels_s(g, n, backward, hidden);
    s->inside_forward_s = inside_s(g, n, s, forward, s->forward_s);
    s->inside_backward_s = inside_s(g, n, s, backward, s->backward_s);
    s->kept_bytes = kept_bytes(g, n, of, forward) / hidden;
    s->params = n->params / of.tp / of.experts / hidden;
}

static bool is_priced(const strategy *s)
{
    return s->params >= 0.0;
}

/* Prices all strategies with the same degrees by one description. */
static void price_alike(layer_graph *g, shape of)
{
    plait_block forward, backward;

    describe_block(g, of, PLAIT_FORWARD, &forward);
    describe_block(g, of, PLAIT_BACKWARD, &backward);
    for (int i = 0; i < g->nodes; i++)
        for (int k = 0; k < g->node[i].strategies; k++) {
            strategy *s = &g->node[i].strategy[k];
            if (!is_priced(s) && same_shape(shape_of(g, &g->node[i], s), of))
                price_strategy(g, &g->node[i], of, &forward, &backward, s);
        }
}

void price_operators(layer_graph *g)
{
    for (int i = 0; i < g->nodes; i++)
        for (int k = 0; k < g->node[i].strategies; k++)
            g->node[i].strategy[k].params = -1.0;
    for (int i = 0; i < g->nodes; i++)
        for (int k = 0; k < g->node[i].strategies; k++)
            if (!is_priced(&g->node[i].strategy[k]))
                price_alike(g, shape_of(g, &g->node[i], &g->node[i].strategy[k]));
}
