/* layer_price.c - seconds and bytes of one kind of layer under one set of degrees */
#include <math.h>
#include <string.h>

#include "numbers.h"
#include "table.h"

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

plait_shard shard_of(const plait_problem *problem, const plait_degrees *d)
{
    return (plait_shard){
        .tp = d->tp,
        .cp = d->cp,
        .ep = d->ep,
        .etp = d->etp,
        .sp = d->sp,
        .cp_comm = (plait_cp_comm)d->cp_comm,
        .attention = problem->job.attention,
        .runtime = problem->runtime,
    };
}

plait_pass pass_of(const plait_problem *problem, const plait_degrees *d, plait_pass_kind kind)
{
    return (plait_pass){kind, d->mbs, problem->job.seq, problem->job.seq};
}

plait_route route_of_axis(const plait_problem *problem, const plait_degrees *d, plait_axis axis)
{
    return plait_route_of(problem->cluster, plait_group_of(d, axis));
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

collective_time collective_time_of(const plait_problem *problem, const plait_degrees *d,
                                   const plait_op *op, double attention_s)
{
    const plait_route route = route_of_axis(problem, d, op->axis);
    const plait_network network = network_of(problem);
    const double one_s =
        op->overlap == PLAIT_OVERLAP_EP
            ? problem->runtime->factor.ep_imbalance *
                  plait_expert_all_to_all_s(&route, network, op->bytes, op->topk, op->node_copies)
            : plait_collective_s(&route, network, op->collective, op->bytes);
    const double seconds = op->count * one_s;

    return (collective_time){
        .seconds = seconds,
        .exposed_s = exposed_s(problem, op, route.levels > 1, seconds, attention_s),
    };
}

static layer_term term_of(const plait_op *op)
{
    if (op->kind == PLAIT_OP_COLLECTIVE)
        return op->axis == PLAIT_AXIS_CP   ? LAYER_CP
               : op->axis == PLAIT_AXIS_EP ? LAYER_EP
                                           : LAYER_TP;
    if (op->part == PLAIT_PART_core_attn || op->part == PLAIT_PART_indexer)
        return LAYER_ATTENTION;
    return op->kind == PLAIT_OP_MEMORY || op->kind == PLAIT_OP_SCAN ? LAYER_MEMORY_OPS
                                                                    : LAYER_MATMUL;
}

/* Grouped products wait for the fullest expert rank. */
static double imbalance_of(const plait_problem *problem, const plait_op *op, const plait_shard *s)
{
    return op->kind == PLAIT_OP_GROUPED_GEMM && s->ep > 1 ? problem->runtime->factor.ep_imbalance
                                                          : 1.0;
}

// ---- one block -----------------------------------------------------------------------------

static void price_block(const plait_problem *problem, const plait_degrees *d,
                        const plait_block *block, double terms[LAYER_TERMS],
                        double part_s[PLAIT_PARTS])
{
    const plait_kernel_context context = kernel_context_of(problem);
    const plait_shard shard = shard_of(problem, d);

    for (int i = 0; i < block->ops; i++) {
        const plait_op *op = &block->op[i];
        if (op->kind == PLAIT_OP_COLLECTIVE)
            continue;
        const double s = plait_op_s(&context, op) * imbalance_of(problem, op, &shard);
        terms[term_of(op)] += s;
        part_s[op->part] += s;
    }
    for (int i = 0; i < block->ops; i++) {
        const plait_op *op = &block->op[i];
        if (op->kind != PLAIT_OP_COLLECTIVE)
            continue;
        const double s = collective_time_of(problem, d, op, terms[LAYER_ATTENTION]).exposed_s;
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

/* Launch time of a layer's forward; an MoE layer has about 2.2 times the kernels. */
static double host_time(const plait_problem *problem, const plait_layer *layer, int tp)
{
    const plait_runtime *r = problem->runtime;
    const double kernels = layer && layer->ffn == PLAIT_FFN_MOE ? 2.2 : 1.0;

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

    for (unsigned t = 0; t < PLAIT_TENSORS; t++)
        price->saved_bytes[t] = plait_block_saved_bytes(block, shard, ~(1u << t));
    price->kept_bytes = sum_of(price->saved_bytes, PLAIT_TENSORS);
    price->input_bytes = keeps[PLAIT_TENSOR_norm_in] * block->saved[PLAIT_TENSOR_norm_in];
}

typedef void block_describer(const plait_model *model, const plait_shard *shard, plait_pass pass,
                             plait_block *out);

static void describe(const plait_problem *problem, const plait_layer *layer, block_describer *end,
                     const plait_shard *shard, plait_pass pass, plait_block *block)
{
    if (layer)
        plait_block_describe(problem->model, layer, shard, pass, block);
    else
        end(problem->model, shard, pass, block);
}

static void price_layer(const plait_problem *problem, const plait_degrees *d,
                        const plait_layer *layer, block_describer *end, layer_price *out)
{
    const plait_shard shard = shard_of(problem, d);
    double unused[PLAIT_PARTS] = {0};
    plait_block block;

    memset(out, 0, sizeof *out);
    describe(problem, layer, end, &shard, pass_of(problem, d, PLAIT_BACKWARD), &block);
    price_block(problem, d, &block, out->backward, unused);
    out->weight_s = weight_gradient_s(problem, &block);
    describe(problem, layer, end, &shard, pass_of(problem, d, PLAIT_FORWARD), &block);
    price_block(problem, d, &block, out->forward, out->part_s);
    out->forward_gpu_s = sum_of(out->forward, LAYER_TERMS);
    out->backward_gpu_s = sum_of(out->backward, LAYER_TERMS);
    out->host_s = host_time(problem, layer, d->tp);
    out->busy_s = out->forward[LAYER_MATMUL] + out->forward[LAYER_ATTENTION] +
                  out->backward[LAYER_MATMUL] + out->backward[LAYER_ATTENTION];
    out->moving_s = out->forward[LAYER_MEMORY_OPS] + out->backward[LAYER_MEMORY_OPS];
    out->cp_bytes = exchanged_bytes(&block);
    out->weights = block.weights;
    keep_bytes(problem, &block, &shard, out);
    // `full` keeps one input a layer, however many norms it has.
    if (layer && layer->norms > 1)
        out->input_bytes /= layer->norms;
}

/* What a pipeline send carries: the hidden state, cut by tp under sp or scatter-gather. */
static double send_bytes(const plait_problem *problem, const plait_degrees *d)
{
    const double whole = 2.0 * d->mbs * problem->job.seq / d->cp * (double)problem->model->hidden;

    return d->sp || problem->runtime->overlap.p2p_scatter ? whole / d->tp : whole;
}

static double logit_bytes(const plait_problem *problem, const plait_degrees *d)
{
    const plait_residents *keep = &problem->runtime->keep;
    const double entries = (double)d->mbs * problem->job.seq / d->cp * problem->model->vocab;

    return keep->logits * entries / (keep->logits_whole ? 1 : d->tp);
}

/* Keys and values of other ranks: two blocks in a ring, all of them when gathered. */
static double cp_buffer_bytes(const plait_problem *problem, const plait_degrees *d,
                              const layer_row *row)
{
    double widest = 0.0;

    for (int k = 0; k < problem->model->kinds; k++)
        widest = larger(widest, row->price[k].cp_bytes);
    return widest * (d->cp_comm == PLAIT_CP_P2P ? 2.0 : 1.0);
}

void layer_row_fill(const plait_problem *problem, const plait_degrees *d, layer_row *row)
{
    row->shard = shard_of(problem, d);
    for (int k = 0; k < problem->model->kinds; k++)
        price_layer(problem, d, &problem->model->kind[k], NULL, &row->price[k]);
    price_layer(problem, d, NULL, plait_block_embedding, &row->price[ROW_EMBEDDING]);
    price_layer(problem, d, NULL, plait_block_head, &row->price[ROW_HEAD]);
    row->p2p_bytes = send_bytes(problem, d);
    row->logit_bytes = logit_bytes(problem, d);
    row->cp_buffer_bytes = cp_buffer_bytes(problem, d, row);
}

/*
 * Some stage computes the loss, and some stage runs a layer backward: whether that layer was kept
 * or rebuilt, all that it keeps is there at once.
 */
double plait_layers_floor_bytes(const plait_problem *problem, const plait_degrees *d)
{
    const plait_shard shard = shard_of(problem, d);
    double least = HUGE_VAL;
    plait_block block;

    for (int k = 0; k < problem->model->kinds; k++) {
        plait_block_describe(problem->model, &problem->model->kind[k], &shard,
                             pass_of(problem, d, PLAIT_FORWARD), &block);
        least = smaller(least, plait_block_saved_bytes(&block, &shard, 0));
    }
    return problem->runtime->keep.reserved_ratio * larger(least, logit_bytes(problem, d));
}

// ---- recomputation, gathers and launches ---------------------------------------------------

/* Launching runs ahead of the device until it is the slower of the two (C.37). */
static double behind_host(double gpu_s, double host_s)
{
    if (host_s <= 0.0)
        return gpu_s;
    const double high = larger(gpu_s, host_s);
    const double low = smaller(gpu_s, host_s);
    const double ratio = low / high;
    return high * sqrt(sqrt(1.0 + ratio * ratio * ratio * ratio));
}

/* C.63: the part of a gather that does not fit under the layer, and a share that never hides. */
static double gather_exposed_s(const plait_problem *problem, double comm_s, double compute_s)
{
    return larger(0.0, comm_s - compute_s) +
           problem->runtime->overlap.dp_exposed * smaller(comm_s, compute_s);
}

/* What runs again: its time, and its share of the layer's launches, each part alike. */
typedef struct rerun {
    double seconds;
    double launches;
} rerun;

static rerun rerun_of(const layer_price *price, plait_recompute recompute)
{
    const plait_recompute_masks masks = plait_recompute_masks_of(recompute);
    double all = 0.0;
    rerun again = {0.0, 0.0};

    if (recompute.kind == PLAIT_RECOMPUTE_NONE)
        return again;
    if (recompute.kind == PLAIT_RECOMPUTE_FULL)
        return (rerun){price->forward_gpu_s, 1.0};
    for (int p = 0; p < PLAIT_PARTS; p++) {
        const double share = masks.parts >> p & 1u ? 1.0 : masks.half_parts >> p & 1u ? 0.5 : 0.0;
        again.seconds += share * price->part_s[p];
        if (price->part_s[p] > 0.0) {
            again.launches += share;
            all += 1.0;
        }
    }
    again.launches = all > 0.0 ? again.launches / all : 0.0;
    return again;
}

static double saved_bytes(const layer_price *price, plait_recompute recompute)
{
    const plait_recompute_masks masks = plait_recompute_masks_of(recompute);
    double bytes = 0.0;

    if (recompute.kind == PLAIT_RECOMPUTE_NONE)
        return price->kept_bytes;
    if (recompute.kind == PLAIT_RECOMPUTE_FULL)
        return price->input_bytes;
    for (int t = 0; t < PLAIT_TENSORS; t++)
        if (!(masks.tensors >> t & 1u))
            bytes += price->saved_bytes[t] * (masks.half_tensors >> t & 1u ? 0.5 : 1.0);
    return bytes;
}

/* What one layer waits for, forward and backward, by cause. */
typedef struct layer_split_time {
    double forward_gather_s, backward_gather_s;
    double recompute_s;
    double forward_s, backward_s;
} layer_split_time;

static layer_split_time split_time(const plait_problem *problem, const layer_price *price,
                                   const layer_gather *gather, plait_recompute recompute)
{
    const rerun again = rerun_of(price, recompute);
    layer_split_time t = {.recompute_s = again.seconds};
    const double forward_gpu_s = price->forward_gpu_s;
    const double backward_gpu_s = price->backward_gpu_s + t.recompute_s;

    t.forward_gather_s = gather_exposed_s(problem, gather->gather_s, forward_gpu_s);
    t.backward_gather_s =
        gather_exposed_s(problem, gather->gather_s + gather->scatter_s, backward_gpu_s);
    t.forward_s = behind_host(forward_gpu_s + t.forward_gather_s, price->host_s);
    t.backward_s =
        behind_host(backward_gpu_s + t.backward_gather_s, price->host_s * (1.2 + again.launches));
    return t;
}

layer_time layer_time_of(const plait_problem *problem, const layer_price *price,
                         const layer_gather *gather, plait_recompute recompute)
{
    const layer_split_time t = split_time(problem, price, gather, recompute);
    const double saved = saved_bytes(price, recompute);

    return (layer_time){
        .forward_s = t.forward_s,
        .backward_s = t.backward_s,
        .saved_bytes = saved,
        .busy_s = price->busy_s + t.recompute_s,
        .moving_s = price->moving_s,
        .live_bytes = price->kept_bytes - saved,
    };
}

void layer_terms_of(const plait_problem *problem, const layer_price *price,
                    const layer_gather *gather, plait_recompute recompute,
                    double terms[LAYER_TERMS])
{
    const layer_split_time t = split_time(problem, price, gather, recompute);

    for (int i = 0; i < LAYER_TERMS; i++)
        terms[i] = price->forward[i] + price->backward[i];
    terms[LAYER_RECOMPUTE] = t.recompute_s;
    terms[LAYER_GATHER] = t.forward_gather_s + t.backward_gather_s;
    terms[LAYER_LAUNCH] = t.forward_s - price->forward_gpu_s - t.forward_gather_s + t.backward_s -
                          price->backward_gpu_s - t.recompute_s - t.backward_gather_s;
}
