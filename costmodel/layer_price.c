/* layer_price.c - seconds and bytes of one kind of layer under one set of degrees */
#include <math.h>
#include <string.h>

#include "layer_row.h"
#include "numbers.h"

// ---- from the problem to the operators' terms ----------------------------------------------

plait_kernel_context kernel_context_of(const plait_problem *problem)
{
    return (plait_kernel_context){
        .accelerator = plait_cluster_accelerator(problem->cluster, 0),
        .runtime = problem->runtime,
        .precision = problem->job.precision,
        .attention = problem->job.attention,
    };
}

plait_network network_of(const plait_problem *problem)
{
    return (plait_network){.nic = problem->runtime->factor.nic,
                           .rails = problem->runtime->factor.rails,
                           .hop_s = problem->runtime->factor.hop_s};
}

static plait_shard shard_of(const plait_problem *problem, const layer_key *key)
{
    return (plait_shard){
        .tp = key->tp,
        .cp = key->cp,
        .ep = key->ep,
        .etp = key->etp,
        .sp = key->sp,
        .cp_comm = (plait_cp_comm)key->cp_comm,
        .cp_inner =
            key->cp_comm == PLAIT_CP_A2A_P2P ? plait_context_inner(problem, key->tp, key->cp) : 1,
        .attention = problem->job.attention,
        .precision = problem->job.precision,
        .runtime = problem->runtime,
    };
}

plait_pass pass_of(const plait_problem *problem, const layer_key *key, plait_pass_kind kind)
{
    return (plait_pass){kind, key->mbs, problem->job.seq, problem->job.seq};
}

/* Neighbours exchange heads; the ranks of one place in each such group form a ring. (C.173) */
static void place_context(const plait_problem *problem, layer_row *row)
{
    const int inner = row->shard.cp_inner;
    const int tp = row->key.tp;

    row->cp_heads = plait_route_of(
        problem->cluster, (plait_group_shape){.ranks = inner, .runs = 1, .run = {{inner, tp}}});
    row->cp_rings = plait_route_of(problem->cluster,
                                   (plait_group_shape){.ranks = row->key.cp / inner,
                                                       .runs = 1,
                                                       .run = {{row->key.cp / inner, tp * inner}}});
}

/*
 * The ranks of a layer are numbered first, whatever the order of the other axes: tp, then cp, and
 * experts over both. An expert group that reaches beyond them is one run where stages are outermost,
 * and refused where they are not (rule P2), so that a layer's price needs no other key.
 */
static void place_groups(const plait_problem *problem, layer_row *row)
{
    const layer_key *const key = &row->key;
    const struct {
        plait_axis axis;
        int size, stride;
    } groups[] = {
        {PLAIT_AXIS_TP, key->tp, 1},
        {PLAIT_AXIS_CP, key->cp, key->tp},
        {PLAIT_AXIS_ETP, key->etp, 1},
        {PLAIT_AXIS_EP, key->ep, key->etp},
    };

    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        row->route[groups[g].axis] = plait_route_of(
            problem->cluster, (plait_group_shape){.ranks = groups[g].size,
                                                  .runs = 1,
                                                  .run = {{groups[g].size, groups[g].stride}}});
    if (key->cp_comm == PLAIT_CP_A2A_P2P)
        place_context(problem, row);
}

const plait_route *op_route(const layer_row *row, const plait_op *op)
{
    if (op->axis != PLAIT_AXIS_CP || row->shard.cp_comm != PLAIT_CP_A2A_P2P)
        return &row->route[op->axis];
    return op->collective == PLAIT_P2P ? &row->cp_rings : &row->cp_heads;
}

/*
 * What stays exposed (C.60, C.61, C.62). Tensor-parallel overlap works through memory that the
 * scale-up domain shares, so beyond it nothing hides; a ring hides behind the attention of the
 * blocks that are already there.
 */
static double exposed_s(const plait_problem *problem, const plait_op *op, bool leaves_domain,
                        double seconds, double attention_s)
{
    const plait_overlaps *overlap = &problem->runtime->overlap;

    switch (op->overlap) {
    case PLAIT_OVERLAP_TP:
        return (leaves_domain ? larger(1.0, overlap->tp_exposed) : overlap->tp_exposed) * seconds;
    case PLAIT_OVERLAP_EP:
        return overlap->ep_exposed * seconds;
    case PLAIT_OVERLAP_CP_RING:
        return larger(0.0, seconds - attention_s * op->count / (op->count + 1.0));
    default:
        return seconds;
    }
}

/* All calls of one collective operator. An expert all-to-all waits for the fullest rank. */
collective_time collective_time_of(const plait_problem *problem, const layer_row *row,
                                   const plait_op *op, double attention_s)
{
    const plait_route *const route = op_route(row, op);
    const plait_network network = network_of(problem);
    const double one_s =
        op->overlap == PLAIT_OVERLAP_EP
            ? problem->runtime->factor.ep_imbalance *
                  plait_expert_all_to_all_s(route, network, op->bytes, op->topk, op->node_copies)
            : plait_collective_s(route, network, op->collective, op->bytes);
    const double seconds = op->count * one_s;

    return (collective_time){
        .seconds = seconds,
        .exposed_s = exposed_s(problem, op, route->levels > 1, seconds, attention_s),
    };
}

layer_term term_of(const plait_op *op)
{
    if (op->kind == PLAIT_OP_COLLECTIVE)
        return op->axis == PLAIT_AXIS_CP   ? LAYER_cp_comm
               : op->axis == PLAIT_AXIS_EP ? LAYER_ep_comm
                                           : LAYER_tp_comm;
    if (op->part == PLAIT_PART_core_attn || op->part == PLAIT_PART_indexer)
        return LAYER_attention;
    return op->kind == PLAIT_OP_MEMORY || op->kind == PLAIT_OP_SCAN ? LAYER_memory_ops
                                                                    : LAYER_matmul;
}

/* Grouped products wait for the fullest expert rank. */
static double imbalance_of(const plait_problem *problem, const plait_op *op, const plait_shard *s)
{
    return op->kind == PLAIT_OP_GROUPED_GEMM && s->ep > 1 ? problem->runtime->factor.ep_imbalance
                                                          : 1.0;
}

// ---- one block -----------------------------------------------------------------------------

/*
 * Operators by term and by part (C.36). Collectives come second, since what a ring leaves exposed
 * depends on the attention that it hides behind.
 */
static void price_block(const plait_problem *problem, const layer_row *row,
                        const plait_block *block, double terms[LAYER_TERMS],
                        double part_s[PLAIT_PARTS])
{
    const plait_kernel_context context = kernel_context_of(problem);

    for (int i = 0; i < block->ops; i++) {
        const plait_op *op = &block->op[i];
        if (op->kind == PLAIT_OP_COLLECTIVE)
            continue;
        const double s = plait_op_s(&context, op) * imbalance_of(problem, op, &row->shard);
        terms[term_of(op)] += s;
        part_s[op->part] += s;
    }
    for (int i = 0; i < block->ops; i++) {
        const plait_op *op = &block->op[i];
        if (op->kind != PLAIT_OP_COLLECTIVE)
            continue;
        const double s = collective_time_of(problem, row, op, terms[LAYER_attention]).exposed_s;
        terms[term_of(op)] += s;
        part_s[op->part] += s;
    }
}

static double weight_gradient_s(const plait_problem *problem, const plait_block *block)
{
    const plait_kernel_context context = kernel_context_of(problem);
    double s = 0.0;

    for (int i = 0; i < block->ops; i++)
        if (block->op[i].layout == PLAIT_BACKWARD_WEIGHT)
            s += plait_op_s(&context, &block->op[i]);
    return s;
}

static double sum_of(const double *values, int count)
{
    double sum = 0.0;

    for (int i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

/* Launch time of a layer's forward; an MoE layer has more kernels. Graphs launch for nothing. (C.37) */
static double host_time(const plait_problem *problem, const plait_layer *layer, int tp)
{
    const plait_runtime *r = problem->runtime;
    const double kernels = layer && layer->ffn == PLAIT_FFN_MOE ? r->factor.host_experts : 1.0;

    if (r->kernels.cuda_graphs || !layer)
        return 0.0;
    return (kernels * r->factor.host_s + (tp > 1 ? r->factor.host_tp_s : 0.0)) /
           problem->cluster->host_speed;
}

/* The largest buffer that context parallelism exchanges. */
static double exchanged_bytes(const plait_block *block)
{
    double bytes = 0.0;

    for (int i = 0; i < block->ops; i++)
        if (block->op[i].kind == PLAIT_OP_COLLECTIVE && block->op[i].axis == PLAIT_AXIS_CP)
            bytes = larger(bytes, block->op[i].bytes);
    return bytes;
}

static void keep_bytes(const plait_problem *problem, const plait_block *block,
                       const plait_shard *shard, layer_price *price)
{
    const double *keeps = problem->runtime->keep.keeps;

    plait_block_tensor_bytes(block, shard, price->saved_bytes);
    price->kept_bytes = sum_of(price->saved_bytes, PLAIT_TENSORS);
    price->input_bytes = keeps[PLAIT_TENSOR_norm_in] * block->saved[PLAIT_TENSOR_norm_in];
}

// ---- rows ----------------------------------------------------------------------------------

void row_describe(const plait_problem *problem, const layer_row *row, int r, plait_pass_kind kind,
                  plait_block *block)
{
    const plait_model *model = problem->model;
    const plait_pass pass = pass_of(problem, &row->key, kind);

    if (r == ROW_EMBEDDING)
        plait_block_embedding(model, &row->shard, pass, block);
    else if (r == ROW_HEAD || r == ROW_MTP_HEAD)
        plait_block_head(model, &row->shard, pass, block);
    else
        plait_block_describe(model, row_layer(model, r), &row->shard, pass, block);
}

const plait_layer *row_layer(const plait_model *model, int r)
{
    if (r == ROW_MTP)
        return &model->kind[model->mtp_kind];
    return r < PLAIT_MAX_LAYER_KINDS ? &model->kind[r] : NULL;
}

static void price_row(const plait_problem *problem, layer_row *row, int r)
{
    const plait_layer *layer = row_layer(problem->model, r);
    layer_price *out = &row->price[r];
    double unused[PLAIT_PARTS] = {0};
    plait_shard kept = row->shard;
    plait_block block;

    if (layer == NULL) // no product of the ends is narrow (C.10)
        kept.precision = PLAIT_BF16;
    memset(out, 0, sizeof *out);
    row_describe(problem, row, r, PLAIT_BACKWARD, &block);
    price_block(problem, row, &block, out->backward, unused);
    out->weight_s = weight_gradient_s(problem, &block);
    row_describe(problem, row, r, PLAIT_FORWARD, &block);
    price_block(problem, row, &block, out->forward, out->part_s);
    out->forward_gpu_s = sum_of(out->forward, LAYER_TERMS);
    out->backward_gpu_s = sum_of(out->backward, LAYER_TERMS);
    out->host_s = host_time(problem, layer, row->key.tp);
    out->busy_s = out->forward[LAYER_matmul] + out->forward[LAYER_attention] +
                  out->backward[LAYER_matmul] + out->backward[LAYER_attention];
    out->moving_s = out->forward[LAYER_memory_ops] + out->backward[LAYER_memory_ops];
    out->cp_bytes = exchanged_bytes(&block);
    out->weights = out->gathered = block.weights;
    keep_bytes(problem, &block, &kept, out);
    // `full` keeps one input a layer, however many norms it has.
    if (layer && layer->norms > 1)
        out->input_bytes /= layer->norms;
}

/*
 * A multi-token-prediction module is a layer with a projection of [hidden; embedding], whose time
 * (1 % of a layer) is left out, and a pass through the head, which it shares. Where the head does not
 * stand beside the embedding, tied or predicting models hold a copy of the table there. (C.81)
 */
static void price_ends(const plait_problem *problem, layer_row *row)
{
    const plait_model *model = problem->model;
    const double hidden = model->hidden;
    const int tp = row->key.tp;

    price_row(problem, row, ROW_EMBEDDING);
    price_row(problem, row, ROW_HEAD);
    row->price[ROW_TABLE] = (layer_price){
        .weights.dense = (double)((model->vocab + tp - 1) / tp) * hidden,
    };
    if (model->mtp_layers == 0)
        return;
    row->price[ROW_MTP] = row->price[model->mtp_kind];
    row->price[ROW_MTP].weights.dense += 2.0 * hidden * hidden / tp;
    row->price[ROW_MTP_HEAD] = row->price[ROW_HEAD];
    row->price[ROW_MTP_HEAD].weights = (plait_weights){0};
}

/* What a pipeline send carries: the hidden state, cut by tp under sp or scatter-gather. (C.64) */
static double send_bytes(const plait_problem *problem, const layer_key *key)
{
    const double whole =
        2.0 * key->mbs * problem->job.seq / key->cp * (double)problem->model->hidden;

    return key->sp || problem->runtime->overlap.p2p_scatter ? whole / key->tp : whole;
}

/* Logits and their gradient of one microbatch, as the runtime's loss keeps them. (C.83) */
static double logit_bytes(const plait_problem *problem, const layer_key *key)
{
    const plait_residents *keep = &problem->runtime->keep;
    const double entries = (double)key->mbs * problem->job.seq / key->cp * problem->model->vocab;

    return keep->logits * entries / (keep->logits_whole ? 1 : key->tp);
}

/* Keys and values of other ranks: two blocks in a ring, all of them when gathered. (C.83) */
static double cp_buffer_bytes(const plait_problem *problem, const layer_row *row)
{
    double widest = 0.0;

    for (int k = 0; k < problem->model->kinds; k++)
        widest = larger(widest, row->price[k].cp_bytes);

    const bool rings = row->key.cp_comm == PLAIT_CP_P2P || row->key.cp_comm == PLAIT_CP_A2A_P2P;

    return widest * (rings ? 2.0 : 1.0);
}

void layer_row_fill(const plait_problem *problem, layer_key key, layer_row *row)
{
    row->key = key;
    row->shard = shard_of(problem, &key);
    place_groups(problem, row);
    for (int k = 0; k < problem->model->kinds; k++)
        price_row(problem, row, k);
    price_ends(problem, row);
    row->p2p_bytes = send_bytes(problem, &key);
    row->logit_bytes = logit_bytes(problem, &key);
    row->cp_buffer_bytes = cp_buffer_bytes(problem, row);
}

/*
 * Some stage computes the loss, and some stage runs a layer backward: whether that layer was kept
 * or rebuilt, all that it keeps is there at once. (C.92)
 */
double plait_layers_floor_bytes(const plait_problem *problem, const plait_degrees *d)
{
    const layer_key key = layer_key_of(d);
    const plait_shard shard = shard_of(problem, &key);
    double least = HUGE_VAL;
    plait_block block;

    for (int k = 0; k < problem->model->kinds; k++) {
        plait_block_describe(problem->model, &problem->model->kind[k], &shard,
                             pass_of(problem, &key, PLAIT_FORWARD), &block);
        least = smaller(least, plait_block_saved_bytes(&block, &shard, 0));
    }
    return problem->runtime->keep.fragmentation * larger(least, logit_bytes(problem, &key));
}
