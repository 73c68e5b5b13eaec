/*
 * block_ffn.c - feed-forward parts: dense (C.19), and mixture of experts (C.20)
 *
 *     not gated  fc1 [h, f], activation, fc2 [f, h]
 *     gated      fc1 [h, 2 f] makes gate and up; fc2 reads act(gate) up
 *
 *     experts    tokens of a rank (1 / tp of them under sp)
 *       -> router -> [projection to the latent] -> permute -> all-to-all over ep -> [all-gather over etp]
 *       -> experts: fc1, activation, fc2
 *       -> [reduce-scatter over etp] -> all-to-all -> unpermute -> [projection from the latent]
 *     shared experts: a dense MLP, divided by tp, on every token in addition
 */
#include <math.h>

#include "costmodel/layer/block_build.h"
#include "base/numbers.h"
#include "plan/model_queries.h"

/*
 * tp divides the width. The outputs of fc1 and of the activation are kept, and act_mid, the
 * activated gate before the product with up, for software that keeps it.
 */
void block_mlp(block_draft *draft, plait_mlp mlp, bool shared)
{
    const double width = block_share(mlp.width, draft->shard->tp);
    const double fc1_width = width * (mlp.gated ? 2.0 : 1.0);
    const double tokens = draft->tokens;
    const double hidden = draft->model->hidden;

    block_product_add(draft, shared ? PLAIT_PART_shared : PLAIT_PART_fc1, tokens, hidden, fc1_width,
                      PLAIT_DIM_FFN, mlp.bias);
    block_memory_add(draft, shared ? PLAIT_PART_shared : PLAIT_PART_act, tokens * width,
                     block_traffic_of(mlp.gated ? BLOCK_PASS_GATED : BLOCK_PASS_ACTIVATION,
                                      draft->shard->runtime->kernels.fused_activation));
    block_keep(draft, shared ? PLAIT_TENSOR_shared_fc1_out : PLAIT_TENSOR_fc1_out,
               tokens * fc1_width);
    if (mlp.gated && !shared)
        block_keep(draft, PLAIT_TENSOR_act_mid, tokens * width);
    block_keep(draft, shared ? PLAIT_TENSOR_shared_act_out : PLAIT_TENSOR_act_out, tokens * width);
    block_product_add(draft, shared ? PLAIT_PART_shared : PLAIT_PART_fc2, tokens, width, hidden,
                      PLAIT_DIM_HIDDEN, mlp.bias);
}

// ---- exchange of experts' tokens -----------------------------------------------------------

/*
 * Bytes per element of DeepEP's fp8 dispatch: one byte, and a scale of four bytes for each 128
 * elements. (C.152)
 */
static const double fp8_bytes = 1.0 + 4.0 / 128.0;

/* Width of the tokens that a layer's experts exchange, read and write. */
static double token_width(const block_draft *draft)
{
    return moe_token_width(draft->model, &draft->layer->moe);
}

/* Rows that experts with a capacity compute as a share of the routed rows. (C.155) */
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
 * Tokens that a rank sends to the experts, out of the T tokens of its microbatch: T / tp under sp,
 * and also if each expert is on one rank (etp = 1), since the tensor ranks then divide the tokens
 * among themselves. Otherwise every tensor rank sends all T tokens.
 */
static double tokens_sent(const block_draft *draft)
{
    const plait_shard *shard = draft->shard;

    return shard->sp || shard->etp == 1 ? draft->tokens / shard->tp : draft->tokens;
}

/* Does an exchange send tokens or gradients to the experts, rather than back from them? */
static bool goes_to_experts(const block_draft *draft, plait_part part)
{
    return (part == PLAIT_PART_dispatch) == draft->forward;
}

/*
 * The exchange of the all-gather dispatcher: every rank of the expert group gathers all tokens, and
 * the results are summed and scattered. (C.151)
 */
static plait_op exchange_of_all(const block_draft *draft, plait_part part, double tokens)
{
    return (plait_op){
        .kind = PLAIT_OP_COLLECTIVE,
        .part = part,
        .collective = goes_to_experts(draft, part) ? PLAIT_ALL_GATHER : PLAIT_REDUCE_SCATTER,
        .axis = PLAIT_AXIS_EP,
        .overlap = PLAIT_OVERLAP_EP,
        .bytes = HALF_BYTES * tokens * token_width(draft),
        .count = 1.0,
        .dispatcher = PLAIT_DISPATCH_ALLGATHER,
    };
}

/*
 * The exchange of dispatch or combine: this rank sends each token to its experts, with 2 bytes per
 * element, or in fp8. Software that sends a token only once to each node (moe_dedup) sends it to at
 * most group_topk nodes if the router selects groups, else to at most topk nodes.
 */
static plait_op exchange_of(const block_draft *draft, plait_part part)
{
    const plait_moe *moe = &draft->layer->moe;
    const plait_shard *shard = draft->shard;
    const bool once =
        shard->runtime->overlap.moe_dedup || shard->dispatcher != PLAIT_DISPATCH_ALLTOALL;
    const double topk = moe_mean_topk(moe);
    const double nodes = moe->group_topk > 0 ? moe->group_topk : topk;
    const bool narrow =
        shard->dispatcher == PLAIT_DISPATCH_DEEPEP_FP8 && goes_to_experts(draft, part);

    if (shard->dispatcher == PLAIT_DISPATCH_ALLGATHER)
        return exchange_of_all(draft, part, shard->ep * tokens_sent(draft));
    return (plait_op){
        .kind = PLAIT_OP_COLLECTIVE,
        .part = part,
        .collective = PLAIT_ALL_TO_ALL,
        .axis = PLAIT_AXIS_EP,
        .overlap = PLAIT_OVERLAP_EP,
        .bytes = (narrow ? fp8_bytes : HALF_BYTES) * tokens_sent(draft) * rows_kept(moe) * topk *
                 token_width(draft),
        .count = 1.0,
        .node_copies = once ? nodes : 0.0,
        .topk = topk,
        .experts = moe->experts + moe->redundant,
        .dispatcher = shard->dispatcher,
        .imbalance = imbalance_of(draft, moe),
    };
}

plait_op plait_block_exchange(const plait_model *model, const plait_layer *layer,
                              const plait_shard *shard, plait_pass pass, plait_part part)
{
    plait_block block;
    const block_draft draft = block_draft_of(model, layer, shard, pass, &block);

    return exchange_of(&draft, part);
}

/*
 * Number of data-parallel attention groups, which have different tokens, among the ranks that share
 * the experts.
 */
static double attention_ranks(const plait_shard *shard)
{
    return (double)shard->ep * shard->etp / shard->tp;
}

/*
 * Adds the exchange of dispatch or combine. In serving (C.353), if all ranks have the same tokens,
 * each computes its share of the experts and one all-reduce sums the results; if ranks have
 * different tokens, they gather all tokens and scatter the sums. Results of latent experts are
 * projected before the sum, unless a norm needs the sum.
 */
static void exchange_tokens(block_draft *draft, plait_part part)
{
    const plait_shard *shard = draft->shard;
    const double ranks = attention_ranks(shard);

    if (!draft->serving) {
        if (shard->ep > 1 && draft->pass.kind != PLAIT_BACKWARD_WEIGHT)
            block_op_add(draft, exchange_of(draft, part));
        return;
    }
    if ((double)shard->ep * shard->etp <= 1.0)
        return;
    if (ranks > 1.0)
        block_op_add(draft, exchange_of_all(draft, part, ranks * draft->tokens));
    else if (part == PLAIT_PART_combine)
        block_collective_add(
            draft, part, PLAIT_ALL_REDUCE, PLAIT_AXIS_TP, PLAIT_OVERLAP_TP,
            HALF_BYTES * draft->tokens *
                (draft->layer->moe.latent_norm ? token_width(draft) : draft->model->hidden),
            1.0);
}

/*
 * The ranks that share an expert (etp > 1) gather its rows before the expert, and reduce and
 * scatter its outputs after it.
 */
static void gather_expert_tp(block_draft *draft, plait_part part, double rows)
{
    if (!draft->serving && draft->shard->etp > 1 && draft->pass.kind != PLAIT_BACKWARD_WEIGHT)
        block_collective_add(
            draft, part, goes_to_experts(draft, part) ? PLAIT_ALL_GATHER : PLAIT_REDUCE_SCATTER,
            PLAIT_AXIS_ETP, PLAIT_OVERLAP_TP, HALF_BYTES * rows * token_width(draft), 1.0);
}

// ---- experts -------------------------------------------------------------------------------

/*
 * C.304: time of PyTorch's kernels that add the biases expert by expert, over that of their traffic
 * at the rate of other passes. In a graph of a whole step the biases are added for all experts at
 * once.
 */
static const double eager_bias = 2.5;

static block_traffic scaled(block_traffic traffic, double share)
{
    return (block_traffic){share * traffic.forward, share * traffic.backward};
}

/*
 * Adds the grouped products over `rows` rows, which the experts of the rank share evenly; all ranks
 * wait for the fullest. Memory-bound operations of experts are fused, except for their bias.
 */
static void add_experts(block_draft *draft, const plait_moe *moe, double rows)
{
    const plait_shard *shard = draft->shard;
    const int held = moe->experts + moe->redundant;
    const double experts = block_share(held, shard->ep);
    const double width = block_share(moe->width, shard->etp);
    const double fc1_width = width * (moe->gated ? 2.0 : 1.0);
    const double token = token_width(draft);
    const double uneven = imbalance_of(draft, moe);
    const plait_kernel_set *kernels = &shard->runtime->kernels;
    const block_traffic copy = {2.0, 2.0};
    const double unfused = block_unfused_share(shard, moe);
    const block_traffic act =
        block_traffic_of(moe->gated ? BLOCK_PASS_GATED : BLOCK_PASS_ACTIVATION, true);
    const block_traffic bias = block_traffic_of(BLOCK_PASS_EXPERT_BIAS, !kernels->expert_streams);
    // Rows of the fullest rank, for its kept activations. Only an imbalance that the job states
    // counts: predictions without the profile's imbalance agree with measured peaks.
    const double kept = rows * (shard->runtime->imbalance_stated ? larger(1.0, uneven) : 1.0);
    block_linear product = {.part = PLAIT_PART_expert_fc1,
                            .rows = rows / experts,
                            .n = fc1_width,
                            .k = token,
                            .experts = experts,
                            .makes = PLAIT_DIM_FFN,
                            .bias = moe->bias,
                            .imbalance = uneven,
                            .rows_kept = rows_kept(moe)};

    // C.352: expected number of this rank's experts that receive any of the n tokens of all ranks,
    // if each token selects k of E experts at random: E/ep (1 - (1 - k/E)^n). E includes copies.
    if (draft->serving) {
        const double n = draft->tokens * attention_ranks(shard);
        const double missed = pow(1.0 - moe_mean_topk(moe) / held, n);

        product.reached = larger(experts * (1.0 - missed), 1e-9);
    }
    block_linear_add(draft, product);
    block_memory_add(draft, PLAIT_PART_expert_act, rows * width, scaled(act, unfused));
    product.part = PLAIT_PART_expert_fc2;
    product.n = token;
    product.k = width;
    product.makes = moe->latent > 0 ? PLAIT_DIM_WHOLE : PLAIT_DIM_HIDDEN;
    block_linear_add(draft, product);
    if (moe->bias)
        block_memory_add(
            draft, PLAIT_PART_expert_fc2, rows * token,
            scaled(bias, shard->switches.cuda_graph == PLAIT_GRAPH_FULL ? 1.0 : eager_bias));
    // C.306: a CUDA graph of a whole step has buffers of a fixed size, for more rows than arrive.
    // The kept tensors of a layer are copied from these buffers, and back before its backward.
    if (kernels->compiled_step || shard->switches.cuda_graph == PLAIT_GRAPH_FULL) {
        const double input_bytes =
            block_quantises_once(shard) ? plait_quantised_bytes(shard->precision) : HALF_BYTES;

        block_pass_add(
            draft, PLAIT_PART_expert_fc2,
            input_bytes * (rows * token + rows * width) + HALF_BYTES * (rows * fc1_width), copy);
    }
    block_keep(draft, PLAIT_TENSOR_routed, kept * token);
    block_keep(draft, PLAIT_TENSOR_expert_fc1_out, kept * fc1_width);
    block_keep(draft, PLAIT_TENSOR_expert_act_out, kept * width);
    block_keep(draft, PLAIT_TENSOR_routed_out, kept * token);
}

/*
 * C.176: latent experts. Every rank projects its own tokens, before the dispatch and after the
 * combine, with whole weights: Megatron-Core's two projections are duplicated over tp. Their inputs
 * are kept, that of the first as the input of the router.
 */
static void add_latent_in(block_draft *draft, const plait_moe *moe)
{
    if (moe->latent > 0)
        block_product_add(draft, PLAIT_PART_moe_latent, draft->norm_tokens, draft->model->hidden,
                          moe->latent, PLAIT_DIM_WHOLE, false);
}

static void add_latent_out(block_draft *draft, const plait_moe *moe)
{
    const double elements = draft->norm_tokens * moe->latent;

    if (moe->latent <= 0)
        return;
    if (moe->latent_norm) {
        block_memory_add(draft, PLAIT_PART_moe_latent, elements,
                         block_traffic_of(BLOCK_PASS_NORM, true));
        block_keep(draft, PLAIT_TENSOR_routed, elements);
        draft->out->weights.dense += moe->latent;
    }
    block_keep(draft, PLAIT_TENSOR_routed, elements);
    block_product_add(draft, PLAIT_PART_moe_latent, draft->norm_tokens, moe->latent,
                      draft->model->hidden, PLAIT_DIM_HIDDEN, false);
}

/* Does the runtime offer a switch of the plan, which is off? */
static bool is_off(const plait_shard *shard, plait_key_id key, bool on)
{
    return !on && (shard->runtime->can.takes[key] >> 1 & 1u);
}

/*
 * Adds the kernels of a router that is not fused: its scores, choice of experts and load-balancing
 * loss launch 20 kernels more in forward and 6 more in backward than the fused router. (C.390)
 */
static void add_router_kernels(block_draft *draft, double elements)
{
    static const double forward = 20.0, backward = 6.0;
    const plait_shard *shard = draft->shard;
    const block_traffic each = block_traffic_of(BLOCK_PASS_ROUTER, false);
    const double count = draft->forward ? forward : draft->backward_input ? backward : 0.0;

    if (count > 0.0 && is_off(shard, PLAIT_KEY_ROUTER_FUSION, shard->switches.router_fusion))
        block_op_add(draft,
                     (plait_op){.kind = PLAIT_OP_MEMORY,
                                .part = PLAIT_PART_router,
                                .bytes = (draft->forward ? each.forward : each.backward) * elements,
                                .count = count});
}

/*
 * C.20: of T tokens per microbatch, a rank receives T topk etp / tp rows on average, or as many as
 * the capacity of its experts allows. Zero experts (C.177) have no rows: they add the token itself,
 * times its score, on the token's own rank. With the all-gather dispatcher a rank receives each token of
 * the group once and then selects these rows. Shared experts are a dense MLP over every token, with
 * separate tensor-parallel collectives.
 *
 * Software with indexed_permute gathers rows by an index, copies them into padded groups and back,
 * and adds them to their tokens by a scatter. It multiplies rows by their scores in fp32. HybridEP's
 * kernels permute the tokens that they send.
 */
void block_moe(block_draft *draft)
{
    const plait_moe *moe = &draft->layer->moe;
    const plait_shard *shard = draft->shard;
    const double hidden = draft->model->hidden;
    const double token = token_width(draft);
    const double rows =
        rows_kept(moe) * draft->tokens * shard->etp / shard->tp * moe_mean_topk(moe);
    const double choices = moe->experts + moe->zero_experts;
    const double shared_rows = shard->dispatcher == PLAIT_DISPATCH_ALLGATHER
                                   ? tokens_sent(draft) * shard->ep * shard->etp
                                   : rows;
    const plait_kernel_set *kernels = &shard->runtime->kernels;
    const bool indexed = kernels->indexed_permute &&
                         (shard->ep == 1 || shard->dispatcher != PLAIT_DISPATCH_HYBRIDEP);
    const bool apart = (shard->ep == 1 || shard->dispatcher != PLAIT_DISPATCH_HYBRIDEP) &&
                       is_off(shard, PLAIT_KEY_PERMUTE_FUSION, shard->switches.permute_fusion);
    const block_traffic permute = apart ? block_traffic_of(BLOCK_PASS_PERMUTE_APART, false)
                                        : block_traffic_of(BLOCK_PASS_PERMUTE, !indexed);
    const block_stream tokens = draft->at;

    block_product_add(draft, PLAIT_PART_router, draft->norm_tokens, hidden, choices,
                      PLAIT_DIM_WHOLE, moe->router_bias);
    add_router_kernels(draft, draft->norm_tokens * choices);
    block_keep(draft, PLAIT_TENSOR_router, draft->norm_tokens * choices);
    const block_stream routed = draft->at;
    draft->at = tokens;
    add_latent_in(draft, moe);
    block_join(draft, routed);
    block_memory_add(draft, PLAIT_PART_dispatch, rows * token, permute);
    exchange_tokens(draft, PLAIT_PART_dispatch);
    gather_expert_tp(draft, PLAIT_PART_dispatch, shared_rows);
    add_experts(draft, moe, rows);
    gather_expert_tp(draft, PLAIT_PART_combine, shared_rows);
    exchange_tokens(draft, PLAIT_PART_combine);
    block_place(draft, moe->latent > 0 ? PLAIT_DIM_WHOLE : PLAIT_DIM_HIDDEN, draft->tokens * token);
    block_pass_add(draft, PLAIT_PART_combine, rows * token, permute);
    if (indexed)
        block_pass_add(draft, PLAIT_PART_combine, rows * token,
                       block_traffic_of(BLOCK_PASS_SCORES, kernels->fused_activation));
    if (moe->zero_experts > 0)
        block_pass_add(draft, PLAIT_PART_combine, draft->norm_tokens * token,
                       block_traffic_of(BLOCK_PASS_POSITIONS, true));
    add_latent_out(draft, moe);
    if (moe->shared_width > 0) {
        const block_stream combined = draft->at;

        draft->at = tokens;
        block_tp_enter(draft, PLAIT_PART_shared);
        block_mlp(draft, (plait_mlp){.width = moe->shared_width, .gated = moe->gated}, true);
        if (!draft->serving || attention_ranks(shard) > 1.0 || moe->latent_norm)
            block_tp_leave(draft, PLAIT_PART_shared); // else the all-reduce of experts includes it
        if (moe->shared_gate)
            draft->out->weights.dense += hidden;
        block_join(draft, combined);
    }
}
