/* block_linear_attention.c - gated delta net and Mamba, whose cost is linear in the sequence */
#include "costmodel/layer/block_build.h"

/* Tokens of a chunk of the chunkwise delta rule (Yang et al., arXiv 2412.06464). (C.21) */
static const double delta_chunk = 64.0;

/*
 * Adds the exchanges of context parallelism, as in Ulysses: one all-to-all after which each rank
 * has whole sequences of fewer heads, and one back. `width` is the mean of both widths.
 */
static void exchange_states(block_draft *draft, double width)
{
    if (draft->shard->cp > 1 && draft->pass.kind != PLAIT_BACKWARD_WEIGHT)
        block_collective_add(draft, PLAIT_PART_core_attn, PLAIT_ALL_TO_ALL, PLAIT_AXIS_CP,
                             PLAIT_OVERLAP_CP, HALF_BYTES * draft->tokens * width, 2.0);
}

/*
 * Bytes per element of the state of a recurrence, which vLLM and SGLang store in fp32 in serving.
 * (C.350)
 */
static const double state_bytes = 4.0;

/* Bytes of the state that a pass reads and writes in serving; 0 in training. */
static double state_traffic(const block_draft *draft)
{
    return draft->serving ? 2.0 * draft->pass.sequences * draft->out->cache.state : 0.0;
}

/*
 * C.21: the gated delta rule processes C tokens (a chunk) at a time. FLOPs for each token and value
 * head, with head widths dk of keys and dv of values:
 *
 *     2 C (3 dk + 2 dv)  in the chunk: k k^T, its inverse applied to k and to v, q k^T, the product
 *                        with v
 *     6 dk dv            between chunks: the state is read, corrected and written, in three products
 *
 * The projection makes q, k, v, an output gate as wide as v, and two scalars for each value head.
 * The input and output of the convolution, the gate, one C x C matrix per chunk and head, the output
 * and its gated norm are kept. The kernels need as many heads of q and k as of v, so these are
 * repeated.
 */
void block_delta_net(block_draft *draft)
{
    const plait_delta_net *d = &draft->layer->delta_net;
    const int tp = draft->shard->tp;
    const double hidden = draft->model->hidden;
    const double tokens = draft->tokens;
    const double value_heads = block_share(d->value_heads, tp);
    const double key_width = block_share(d->key_heads, tp) * d->key_dim;
    const double value_width = value_heads * d->value_dim;
    const double mixed = 2.0 * key_width + value_width;
    const double flops_a_head = 2.0 * delta_chunk * (3.0 * d->key_dim + 2.0 * d->value_dim) +
                                6.0 * (double)d->key_dim * d->value_dim;
    const double repeated = d->value_heads > d->key_heads ? 2.0 * value_heads * d->key_dim : 0.0;

    block_product_add(draft, PLAIT_PART_qkv, tokens, hidden,
                      mixed + value_width + 2.0 * value_heads, PLAIT_DIM_HEADS, false);
    block_memory_add(draft, PLAIT_PART_conv, tokens * mixed,
                     block_traffic_of(BLOCK_PASS_CONVOLUTION, true));
    draft->out->weights.dense += mixed * d->conv + 2.0 * value_heads + d->value_dim;
    exchange_states(draft, 0.5 * (mixed + value_width + 2.0 * value_heads + value_width));
    draft->out->cache.state = state_bytes * (value_heads * d->key_dim * d->value_dim) +
                              HALF_BYTES * mixed * (d->conv > 1 ? d->conv - 1.0 : 0.0);
    block_scan_add(draft, PLAIT_PART_core_attn, tokens * value_heads * flops_a_head,
                   HALF_BYTES * tokens * (mixed + value_width) + state_traffic(draft),
                   tokens * value_width);
    block_keep(draft, PLAIT_TENSOR_qkv, tokens * (2.0 * mixed + value_width + repeated));
    block_keep(draft, PLAIT_TENSOR_scan, tokens * (delta_chunk * value_heads + value_width));
    block_keep(draft, PLAIT_TENSOR_core_out, tokens * value_width);
    block_product_add(draft, PLAIT_PART_attn_out, tokens, value_width, hidden, PLAIT_DIM_HIDDEN,
                      false);
}

/*
 * C.22: Mamba (Gu and Dao, arXiv 2312.00752). The scan takes nine FLOPs per token, channel and
 * state, and moves x, z, dt and y of each channel once, and B and C once. Under tp the small
 * parameters dt, B and C are summed over the ranks. x before and after the convolution, z, and the
 * output of the scan are kept.
 */
void block_mamba(block_draft *draft)
{
    const plait_mamba *s = &draft->layer->mamba;
    const double inner = block_share(s->inner, draft->shard->tp);
    const double hidden = draft->model->hidden;
    const double tokens = draft->tokens;
    const double parameters = s->dt_rank + 2.0 * s->state;

    block_product_add(draft, PLAIT_PART_qkv, tokens, hidden, 2.0 * inner, PLAIT_DIM_HEADS, false);
    block_memory_add(draft, PLAIT_PART_conv, tokens * inner,
                     block_traffic_of(BLOCK_PASS_CONVOLUTION, true));
    const block_stream channels = draft->at;
    block_product_add(draft, PLAIT_PART_conv, tokens, inner, parameters, PLAIT_DIM_WHOLE, false);
    if (draft->shard->tp > 1 && draft->pass.kind != PLAIT_BACKWARD_WEIGHT)
        block_collective_add(draft, PLAIT_PART_conv, PLAIT_ALL_REDUCE, PLAIT_AXIS_TP,
                             PLAIT_OVERLAP_TP, HALF_BYTES * tokens * parameters, 1.0);
    block_product_add(draft, PLAIT_PART_conv, tokens, s->dt_rank, inner, PLAIT_DIM_HEADS, true);
    block_join(draft, channels);
    draft->out->weights.dense += inner * (s->conv + 1.0 + s->state + 1.0);
    exchange_states(draft, inner);
    draft->out->cache.state = inner * (state_bytes * s->state + HALF_BYTES * (s->conv - 1.0));
    block_scan_add(draft, PLAIT_PART_core_attn, 9.0 * tokens * inner * s->state,
                   HALF_BYTES * tokens * (4.0 * inner + parameters) + state_traffic(draft),
                   tokens * inner);
    block_keep(draft, PLAIT_TENSOR_qkv, tokens * (3.0 * inner + parameters));
    block_keep(draft, PLAIT_TENSOR_scan, tokens * inner);
    block_keep(draft, PLAIT_TENSOR_core_out, tokens * inner);
    block_product_add(draft, PLAIT_PART_attn_out, tokens, inner, hidden, PLAIT_DIM_HIDDEN, false);
}

/*
 * Gated short convolution (LFM2): one product for the input and two gates, a convolution between
 * two products with the gates, and the output product. tp divides the channels.
 */
void block_conv(block_draft *draft)
{
    const plait_conv *c = &draft->layer->conv;
    const double width = block_share(c->width, draft->shard->tp);
    const double hidden = draft->model->hidden;
    const double tokens = draft->tokens;

    block_product_add(draft, PLAIT_PART_qkv, tokens, hidden, 3.0 * width, PLAIT_DIM_HEADS, c->bias);
    block_memory_add(draft, PLAIT_PART_conv, tokens * width,
                     block_traffic_of(BLOCK_PASS_CONVOLUTION, true));
    draft->out->weights.dense += width * (c->kernel + (c->bias ? 1.0 : 0.0));
    draft->out->cache.state = HALF_BYTES * width * c->kernel;
    block_keep(draft, PLAIT_TENSOR_qkv, 3.0 * tokens * width);
    block_keep(draft, PLAIT_TENSOR_core_out, tokens * width);
    block_product_add(draft, PLAIT_PART_attn_out, tokens, width, hidden, PLAIT_DIM_HIDDEN, c->bias);
}
