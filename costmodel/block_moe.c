/*
 * block_moe.c - mixture of experts: route, dispatch, expert products, combine (C.20)
 *
 *     tokens of a rank (divided by tp under sp)
 *       -> router -> permute -> all-to-all over ep -> [all-gather over etp]
 *       -> experts: fc1, activation, fc2
 *       -> [reduce-scatter over etp] -> all-to-all -> unpermute
 *     shared experts run beside them on every token, cut by tp like a dense MLP
 */
#include <math.h>

#include "block_build.h"

/*
 * Dispatch or combine: each of the tokens that this rank sends goes to topk experts, 2 bytes an
 * element. Software that sends a token once a node (moe_dedup) says how many nodes one reaches: its
 * groups where the router picks groups, else as many as experts.
 */
static void exchange(block_draft *draft, const plait_moe *moe, plait_part part, double tokens)
{
    const plait_shard *shard = draft->shard;
    const bool dedup = shard->runtime->overlap.moe_dedup;
    const double nodes = moe->group_topk > 0 ? moe->group_topk : moe->topk;

    if (shard->ep == 1 || draft->pass.kind == PLAIT_BACKWARD_WEIGHT)
        return;
    block_collective_add(draft,
                         (plait_op){.part = part,
                                    .collective = PLAIT_ALL_TO_ALL,
                                    .axis = PLAIT_AXIS_EP,
                                    .overlap = PLAIT_OVERLAP_EP,
                                    .bytes = HALF_BYTES * tokens * moe->topk * draft->model->hidden,
                                    .node_copies = dedup ? nodes : 0.0,
                                    .topk = moe->topk});
}

/* Ranks that share an expert (etp) gather its rows before it and scatter its sums behind. */
static void gather_expert_tp(block_draft *draft, plait_part part, double rows, bool into)
{
    if (draft->shard->etp == 1 || draft->pass.kind == PLAIT_BACKWARD_WEIGHT)
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
 * Grouped products over `rows` of all experts of the rank together, dealt evenly; how uneven routing
 * really is comes on top (ep_imbalance, layer_price.c). Kernels of experts are fused everywhere.
 */
static void draw_experts(block_draft *draft, const plait_moe *moe, double rows)
{
    const plait_shard *shard = draft->shard;
    const double experts = block_share(moe->experts, shard->ep);
    const double width = block_share(moe->width, shard->etp);
    const double fc1_width = width * (moe->gated ? 2.0 : 1.0);
    const double hidden = draft->model->hidden;
    const double rows_each = rows / experts;

    block_linear_add(draft, (block_linear){.part = PLAIT_PART_expert_fc1,
                                           .rows = rows_each,
                                           .n = fc1_width,
                                           .k = hidden,
                                           .experts = experts,
                                           .bias = moe->bias});
    block_memory_add(draft, PLAIT_PART_expert_act, rows * width,
                     block_traffic_of(moe->gated ? BLOCK_PASS_GATED : BLOCK_PASS_ACTIVATION, true));
    block_linear_add(draft, (block_linear){.part = PLAIT_PART_expert_fc2,
                                           .rows = rows_each,
                                           .n = hidden,
                                           .k = width,
                                           .experts = experts,
                                           .bias = moe->bias});
    block_keep(draft, PLAIT_TENSOR_routed, rows * hidden);
    block_keep(draft, PLAIT_TENSOR_expert_fc1_out, rows * fc1_width);
    block_keep(draft, PLAIT_TENSOR_expert_act_out, rows * width);
    block_keep(draft, PLAIT_TENSOR_routed_out, rows * hidden);
}

/* A dense MLP of every token, with exchanges of tensor parallelism of its own. */
static void draw_shared(block_draft *draft, const plait_moe *moe)
{
    block_tp_enter(draft, PLAIT_PART_shared);
    block_mlp(draft, (plait_mlp){.width = moe->shared_width, .gated = moe->gated}, true);
    block_tp_leave(draft, PLAIT_PART_shared);
    if (moe->shared_gate)
        draft->out->weights.dense += draft->model->hidden;
}

/*
 * C.20. A rank sends its own tokens: T / tp under sp, or where each expert is whole (etp 1) and
 * tensor ranks deal tokens among them. It receives T et / tp topk rows, on average.
 */
void block_moe(block_draft *draft)
{
    const plait_moe *moe = &draft->layer->moe;
    const plait_shard *shard = draft->shard;
    // Without sp every tensor rank holds all tokens; the expert-tensor group then splits them.
    const double sent = shard->sp || shard->etp == 1 ? draft->tokens / shard->tp : draft->tokens;
    const double rows = draft->tokens * shard->etp / shard->tp * moe->topk;
    const block_traffic permute = block_traffic_of(BLOCK_PASS_PERMUTE, true);

    block_linear_add(draft, (block_linear){.part = PLAIT_PART_router,
                                           .rows = draft->norm_tokens,
                                           .n = moe->experts,
                                           .k = draft->model->hidden,
                                           .bias = moe->router_bias});
    block_keep(draft, PLAIT_TENSOR_router, draft->norm_tokens * moe->experts);
    block_memory_add(draft, PLAIT_PART_dispatch, rows * draft->model->hidden, permute);
    exchange(draft, moe, PLAIT_PART_dispatch, sent);
    gather_expert_tp(draft, PLAIT_PART_dispatch, rows, true);
    draw_experts(draft, moe, rows);
    gather_expert_tp(draft, PLAIT_PART_combine, rows, false);
    exchange(draft, moe, PLAIT_PART_combine, sent);
    block_memory_add(draft, PLAIT_PART_combine, rows * draft->model->hidden, permute);
    if (moe->shared_width > 0)
        draw_shared(draft, moe);
}
