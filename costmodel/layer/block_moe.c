/*
 * block_moe.c - mixture of experts: route, dispatch, expert products, combine (C.20)
 *
 *     tokens of a rank (1 / tp of them under sp)
 *       -> router -> permute -> all-to-all over ep -> [all-gather over etp]
 *       -> experts: fc1, activation, fc2
 *       -> [reduce-scatter over etp] -> all-to-all -> unpermute
 *     shared experts run on every token in addition, divided by tp like a dense MLP
 */
#include <math.h>

#include "costmodel/layer/block_build.h"
#include "base/numbers.h"
#include "plan/model_queries.h"

/*
 * Bytes per element of DeepEP's fp8: one byte, and a scale of four bytes for each 128 elements.
 * (C.152)
 */
static const double fp8_bytes = 1.0 + 4.0 / 128.0;

/* The share of the routed rows that experts with a capacity compute. (C.155) */
static double rows_kept(const plait_moe *moe)
{
    return moe->capacity <= 0.0 || (moe->capacity > 1.0 && !moe->padded) ? 1.0 : moe->capacity;
}

/* Rows of the fullest rank divided by the mean. (C.20) */
static double imbalance_of(const block_draft *draft, const plait_moe *moe)
{
    return moe_imbalance(moe, draft->shard->runtime->factor.ep_imbalance, draft->shard->ep);
}

/*
 * Activations that the fullest rank keeps, divided by the mean. Only an imbalance that the job
 * states counts: without that of the profile, predictions agree with measured peaks.
 */
static double uneven_memory(const block_draft *draft, const plait_moe *moe)
{
    return draft->shard->runtime->imbalance_stated ? larger(1.0, imbalance_of(draft, moe)) : 1.0;
}

/*
 * Tokens that a rank sends to the experts: T / tp under sp, and also if each expert is whole (etp =
 * 1), since the tensor ranks then divide the tokens among themselves. Otherwise every tensor rank
 * has all T tokens.
 */
static double tokens_sent(const block_draft *draft)
{
    const plait_shard *shard = draft->shard;

    return shard->sp || shard->etp == 1 ? draft->tokens / shard->tp : draft->tokens;
}

/* Does an exchange carry tokens or gradients to the experts, or back from them? */
static bool goes_to_experts(const block_draft *draft, plait_part part)
{
    return (part == PLAIT_PART_dispatch) == block_is_forward(draft);
}

static bool sends_nothing(const block_draft *draft, int ranks)
{
    return ranks == 1 || draft->pass.kind == PLAIT_BACKWARD_WEIGHT;
}

/* Every rank of the group gathers all tokens; the results are summed and scattered. (C.151) */
static plait_op exchange_of_all(const block_draft *draft, plait_part part)
{
    return (plait_op){
        .part = part,
        .collective = goes_to_experts(draft, part) ? PLAIT_ALL_GATHER : PLAIT_REDUCE_SCATTER,
        .axis = PLAIT_AXIS_EP,
        .overlap = PLAIT_OVERLAP_EP,
        .bytes = HALF_BYTES * draft->shard->ep * tokens_sent(draft) * draft->model->hidden,
        .dispatcher = PLAIT_DISPATCH_ALLGATHER,
    };
}

/*
 * Dispatch or combine: each token that this rank sends goes to topk experts, with 2 bytes per
 * element. Software that sends a token once per node (moe_dedup) reaches at most group_topk nodes
 * if the router selects groups, else at most topk.
 */
static plait_op exchange_of_copies(const block_draft *draft, plait_part part)
{
    const plait_moe *moe = &draft->layer->moe;
    const plait_shard *shard = draft->shard;
    const bool once =
        shard->runtime->overlap.moe_dedup || shard->dispatcher != PLAIT_DISPATCH_ALLTOALL;
    const double nodes = moe->group_topk > 0 ? moe->group_topk : moe->topk;
    const bool narrow =
        shard->dispatcher == PLAIT_DISPATCH_DEEPEP_FP8 && goes_to_experts(draft, part);

    return (plait_op){
        .part = part,
        .collective = PLAIT_ALL_TO_ALL,
        .axis = PLAIT_AXIS_EP,
        .overlap = PLAIT_OVERLAP_EP,
        .bytes = (narrow ? fp8_bytes : HALF_BYTES) * tokens_sent(draft) * rows_kept(moe) *
                 moe->topk * draft->model->hidden,
        .node_copies = once ? nodes : 0.0,
        .topk = moe->topk,
        .experts = moe->experts,
        .dispatcher = shard->dispatcher,
        .imbalance = imbalance_of(draft, moe),
    };
}

static plait_op exchange_of(const block_draft *draft, plait_part part)
{
    return draft->shard->dispatcher == PLAIT_DISPATCH_ALLGATHER ? exchange_of_all(draft, part)
                                                                : exchange_of_copies(draft, part);
}

static void exchange(block_draft *draft, plait_part part)
{
    if (!block_is_serving(draft) && !sends_nothing(draft, draft->shard->ep))
        block_collective_add(draft, exchange_of(draft, part));
}

plait_op plait_block_exchange(const plait_model *model, const plait_layer *layer,
                              const plait_shard *shard, plait_pass pass, plait_part part)
{
    const block_draft draft = {
        .model = model,
        .layer = layer,
        .shard = shard,
        .pass = pass,
        .tokens = pass.sequences * pass.query_tokens / shard->cp,
    };
    plait_op op = exchange_of(&draft, part);

    op.kind = PLAIT_OP_COLLECTIVE;
    op.count = 1.0;
    return op;
}

/*
 * Ranks that share an expert (etp) gather its rows before it, and reduce and scatter its outputs
 * after it.
 */
static void gather_expert_tp(block_draft *draft, plait_part part, double rows, bool into)
{
    if (block_is_serving(draft) || sends_nothing(draft, draft->shard->etp))
        return;
    const bool gathers = into == block_is_forward(draft);
    block_collective_add(draft,
                         (plait_op){.part = part,
                                    .collective = gathers ? PLAIT_ALL_GATHER : PLAIT_REDUCE_SCATTER,
                                    .axis = PLAIT_AXIS_ETP,
                                    .overlap = PLAIT_OVERLAP_TP,
                                    .bytes = HALF_BYTES * rows * draft->model->hidden});
}

/*
 * A CUDA graph of a whole step has buffers of a fixed size, for more rows than arrive. The kept
 * tensors of a layer are copied out of them, and back for its backward. (C.306)
 */
static void stash(block_draft *draft, double routed, double fc1_out, double act_out)
{
    const plait_shard *shard = draft->shard;
    const double input_bytes =
        block_quantises_once(shard) ? plait_quantised_bytes(shard->precision) : HALF_BYTES;
    const double kept = input_bytes * (routed + act_out) + HALF_BYTES * fc1_out;
    const block_traffic copy = {2.0, 2.0};

    draft->placed = true;
    block_memory_add(draft, PLAIT_PART_expert_fc2, kept, copy);
    draft->placed = false;
}

/*
 * Groups with different tokens among the ranks that share the experts: data-parallel attention
 * ranks.
 */
static double attention_ranks(const plait_shard *shard)
{
    return (double)shard->ep * shard->etp / shard->tp;
}

/*
 * C.352: expected number of this rank's experts that receive any of the n tokens of all ranks, if
 * each token takes k of E experts at random: E/ep (1 - (1 - k/E)^n).
 */
static double experts_reached(const block_draft *draft, const plait_moe *moe)
{
    const double n = draft->tokens * attention_ranks(draft->shard);
    const double missed = pow(1.0 - (double)moe->topk / moe->experts, n);

    return larger(block_share(moe->experts, draft->shard->ep) * (1.0 - missed), 1e-9);
}

/*
 * C.353: serving. If all ranks have the same tokens, each computes its share of the experts and one
 * all-reduce sums the results. If ranks have different tokens, they gather all tokens and scatter
 * the sums.
 */
static void exchange_serving(block_draft *draft, plait_part part)
{
    const plait_shard *shard = draft->shard;
    const double ranks = (double)shard->ep * shard->etp;

    if (ranks <= 1.0)
        return;
    if (attention_ranks(shard) > 1.0) {
        block_collective_add(
            draft,
            (plait_op){
                .part = part,
                .collective = part == PLAIT_PART_dispatch ? PLAIT_ALL_GATHER : PLAIT_REDUCE_SCATTER,
                .axis = PLAIT_AXIS_EP,
                .overlap = PLAIT_OVERLAP_EP,
                .bytes = HALF_BYTES * attention_ranks(shard) * draft->tokens * draft->model->hidden,
                .dispatcher = PLAIT_DISPATCH_ALLGATHER});
    } else if (part == PLAIT_PART_combine) {
        block_collective_add(
            draft, (plait_op){.part = part,
                              .collective = PLAIT_ALL_REDUCE,
                              .axis = PLAIT_AXIS_TP,
                              .overlap = PLAIT_OVERLAP_TP,
                              .bytes = HALF_BYTES * draft->tokens * draft->model->hidden});
    }
}

/*
 * Grouped products over `rows` rows, divided evenly among the experts of the rank; imbalance_of
 * then adds the effect of uneven routing. Memory-bound operations of experts are fused, except for
 * their bias.
 */
static void draw_experts(block_draft *draft, const plait_moe *moe, double rows)
{
    const plait_shard *shard = draft->shard;
    const double experts = block_share(moe->experts, shard->ep);
    const double width = block_share(moe->width, shard->etp);
    const double fc1_width = width * (moe->gated ? 2.0 : 1.0);
    const double hidden = draft->model->hidden;
    const double rows_each = rows / experts;
    const double reached = block_is_serving(draft) ? experts_reached(draft, moe) : 0.0;
    const plait_kernel_set *kernels = &shard->runtime->kernels;
    const block_traffic inside = {0.0, 0.0};
    const double kept = rows * uneven_memory(draft, moe);

    block_linear_add(draft, (block_linear){.part = PLAIT_PART_expert_fc1,
                                           .rows = rows_each,
                                           .n = fc1_width,
                                           .k = hidden,
                                           .experts = experts,
                                           .reached = reached,
                                           .makes = PLAIT_DIM_FFN,
                                           .bias = moe->bias});
    block_memory_add(
        draft, PLAIT_PART_expert_act, rows * width,
        kernels->fused_experts
            ? inside
            : block_traffic_of(moe->gated ? BLOCK_PASS_GATED : BLOCK_PASS_ACTIVATION, true));
    block_linear_add(draft, (block_linear){.part = PLAIT_PART_expert_fc2,
                                           .rows = rows_each,
                                           .n = hidden,
                                           .k = width,
                                           .experts = experts,
                                           .reached = reached,
                                           .makes = PLAIT_DIM_HIDDEN,
                                           .bias = moe->bias});
    if (moe->bias)
        block_memory_add(draft, PLAIT_PART_expert_fc2, rows * hidden,
                         block_traffic_of(BLOCK_PASS_EXPERT_BIAS,
                                          kernels->fused_experts || !kernels->expert_streams));
    if (kernels->cuda_graphs)
        stash(draft, rows * hidden, rows * fc1_width, rows * width);
    block_keep(draft, PLAIT_TENSOR_routed, kept * hidden);
    block_keep(draft, PLAIT_TENSOR_expert_fc1_out, kept * fc1_width);
    block_keep(draft, PLAIT_TENSOR_expert_act_out, kept * width);
    block_keep(draft, PLAIT_TENSOR_routed_out, kept * hidden);
}

/*
 * Grouped products wait for the fullest rank. Their model FLOPs are those of a router without a
 * capacity: dropped rows count, padding does not.
 */
static void count_routed(block_draft *draft, const plait_moe *moe)
{
    const double uneven = imbalance_of(draft, moe);
    const double kept = rows_kept(moe);

    for (int i = 0; i < draft->out->ops; i++) {
        plait_op *op = &draft->out->op[i];
        if (op->kind != PLAIT_OP_GROUPED_GEMM)
            continue;
        op->imbalance = uneven;
        op->model_flops = op->flops / kept;
    }
}

/* Shared experts are a dense MLP over every token, with their own tensor-parallel collectives. */
static void draw_shared(block_draft *draft, const plait_moe *moe)
{
    block_tp_enter(draft, PLAIT_PART_shared);
    block_mlp(draft, (plait_mlp){.width = moe->shared_width, .gated = moe->gated}, true);
    if (!block_is_serving(draft) || attention_ranks(draft->shard) > 1.0)
        block_tp_leave(draft, PLAIT_PART_shared); // else the experts' sum is reduced with it
    if (moe->shared_gate)
        draft->out->weights.dense += draft->model->hidden;
}

/*
 * C.20. A rank receives T etp / tp topk rows on average, or the rows of its experts' capacity. The
 * all-gather dispatcher brings each token of the group once, and the rank then selects these rows.
 */
void block_moe(block_draft *draft)
{
    const plait_moe *moe = &draft->layer->moe;
    const plait_shard *shard = draft->shard;
    const double rows = rows_kept(moe) * draft->tokens * shard->etp / shard->tp * moe->topk;
    const double shared_rows = shard->dispatcher == PLAIT_DISPATCH_ALLGATHER
                                   ? tokens_sent(draft) * shard->ep * shard->etp
                                   : rows;
    const block_traffic permute = block_traffic_of(BLOCK_PASS_PERMUTE, true);
    const block_stream tokens = draft->at;

    block_linear_add(draft, (block_linear){.part = PLAIT_PART_router,
                                           .rows = draft->norm_tokens,
                                           .n = moe->experts,
                                           .k = draft->model->hidden,
                                           .bias = moe->router_bias});
    block_keep(draft, PLAIT_TENSOR_router, draft->norm_tokens * moe->experts);
    const block_stream routed = draft->at;
    draft->at = tokens;
    block_join(draft, routed);
    block_memory_add(draft, PLAIT_PART_dispatch, rows * draft->model->hidden, permute);
    exchange(draft, PLAIT_PART_dispatch);
    if (block_is_serving(draft))
        exchange_serving(draft, PLAIT_PART_dispatch);
    gather_expert_tp(draft, PLAIT_PART_dispatch, shared_rows, true);
    draw_experts(draft, moe, rows);
    count_routed(draft, moe);
    gather_expert_tp(draft, PLAIT_PART_combine, shared_rows, false);
    exchange(draft, PLAIT_PART_combine);
    if (block_is_serving(draft))
        exchange_serving(draft, PLAIT_PART_combine);
    block_place(draft, PLAIT_DIM_HIDDEN, draft->tokens * draft->model->hidden);
    draft->placed = true;
    block_memory_add(draft, PLAIT_PART_combine, rows * draft->model->hidden, permute);
    draft->placed = false;
    if (moe->shared_width > 0) {
        const block_stream combined = draft->at;
        draft->at = tokens;
        draw_shared(draft, moe);
        block_join(draft, combined);
    }
}
