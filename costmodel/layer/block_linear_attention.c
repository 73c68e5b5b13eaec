/*
 * block_linear_attention.c - mixers whose cost is linear in the sequence: gated delta net, Kimi
 * delta attention, lightning attention, Mamba, Mamba-2, short convolutions and the RG-LRU
 */
#include "base/numbers.h"
#include "costmodel/layer/block_build.h"

/* Tokens of a chunk of the kernels of linear attention. (C.21) */
static const double delta_chunk = 64.0;

/* Tokens of a chunk of Mamba-2 if the model states none: the default of mamba_ssm. (C.192) */
static const double mamba_chunk = 256.0;

/* Forwards that a backward takes, which computes again what was not kept. (C.34) */
static const double delta_backward = 3.1, mamba_backward = 4.8;

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

/* Adds a gate on the output of a mixer, with or without a norm in the same kernel. */
static void add_output_gate(block_draft *draft, double width)
{
    block_memory_add(draft, PLAIT_PART_core_attn, draft->tokens * width,
                     block_traffic_of(BLOCK_PASS_OUTPUT_GATE, true));
}

// ---- states of serving (C.195) -------------------------------------------------------------

/* Bytes per element of the state of a recurrence; convolutions keep their inputs in 16 bits. */
static const double state_bytes = 4.0;

/*
 * Adds the cache of a sequence: the state of a recurrence, and the inputs of a convolution of
 * `kernel` tokens over `channels` channels. The kernel reads the newest input itself.
 */
static void cache_state(block_draft *draft, double state, double channels, int kernel)
{
    const double earlier = kernel > 1 ? kernel - 1.0 : 0.0;

    draft->out->cache.state += state_bytes * state + HALF_BYTES * earlier * channels;
}

/* Bytes of the state that a pass reads and writes in serving; 0 in training. */
static double state_traffic(const block_draft *draft)
{
    return draft->serving ? 2.0 * draft->pass.sequences * draft->out->cache.state : 0.0;
}

// ---- linear attention (C.21, C.190, C.191) --------------------------------------------------

/* Widths of linear attention on one rank. */
typedef struct delta_widths {
    double key_heads, value_heads;
    double key, value; /* all heads */
    double mixed;      /* q, k and v */
    double decay;      /* a decay per key channel of each value head; 0: one per head */
} delta_widths;

static delta_widths delta_widths_of(const plait_delta_net *d, int tp)
{
    delta_widths w = {.key_heads = block_share(d->key_heads, tp),
                      .value_heads = block_share(d->value_heads, tp)};

    w.key = w.key_heads * d->key_dim;
    w.value = w.value_heads * d->value_dim;
    w.mixed = 2.0 * w.key + w.value;
    w.decay = d->decay_rank > 0 ? w.value_heads * d->key_dim : 0.0;
    return w;
}

/*
 * FLOPs per token and value head, with chunks of C tokens and head widths dk of keys and dv of
 * values. The delta rule (C.21):
 *
 *     2 C (3 dk + 2 dv)  in the chunk: k k^T, its inverse applied to k and to v, q k^T, the product
 *                        with v
 *     6 dk dv            between chunks: the state is read, corrected and written, in three products
 *
 * Without the delta rule (C.191):
 *
 *     2 C (dk + dv)      in the chunk: q k^T and the product with v
 *     4 dk dv            between chunks: the state is read and written
 */
static double delta_flops(const plait_delta_net *d)
{
    const double key = d->key_dim, value = d->value_dim;

    return d->plain ? 2.0 * delta_chunk * (key + value) + 4.0 * key * value
                    : 2.0 * delta_chunk * (3.0 * key + 2.0 * value) + 6.0 * key * value;
}

/*
 * Adds a projection of low rank from `input`. The product to the rank is whole on each tensor rank.
 */
static void add_low_rank(block_draft *draft, block_stream input, int rank, double width)
{
    draft->at = input;
    block_product_add(draft, PLAIT_PART_qkv, draft->tokens, draft->model->hidden, rank,
                      PLAIT_DIM_WHOLE, false);
    block_product_add(draft, PLAIT_PART_qkv, draft->tokens, rank, width, PLAIT_DIM_HEADS, false);
    block_keep(draft, PLAIT_TENSOR_latent, draft->tokens * rank);
    block_keep(draft, PLAIT_TENSOR_qkv, draft->tokens * width);
}

/*
 * Adds the weights besides the projections. The delta rule has the convolution, per head a decay
 * and its bias (C.190: a bias per key channel), and a norm over one head. Lightning attention has a
 * fixed decay and a norm over all heads (C.191).
 */
static void add_delta_weights(block_draft *draft, const plait_delta_net *d, const delta_widths *w)
{
    double *dense = &draft->out->weights.dense;

    *dense += w->mixed * d->conv;
    if (d->plain)
        *dense += w->value;
    else
        *dense += w->value_heads + (d->decay_rank > 0 ? w->decay : w->value_heads) + d->value_dim;
}

/*
 * Adds the tensors that are kept besides the inputs of low-rank projections: the input and output
 * of the convolution or activation, the gate, the output and its gated norm; for the delta rule one
 * C x C matrix per chunk and head, or two with a decay per channel (C.190). The kernels of the gated
 * delta net need as many heads of q and k as of v, so these are repeated (C.21).
 */
static void keep_delta(block_draft *draft, const plait_delta_net *d, const delta_widths *w)
{
    const double tokens = draft->tokens;
    const bool repeats = !d->plain && d->decay_rank == 0 && d->value_heads > d->key_heads;
    const double repeated = repeats ? 2.0 * w->value_heads * d->key_dim : 0.0;
    const double matrices = d->plain ? 0.0 : d->decay_rank > 0 ? 2.0 : 1.0;

    block_keep(draft, PLAIT_TENSOR_qkv, tokens * (2.0 * w->mixed + repeated));
    if (d->gate_rank == 0)
        block_keep(draft, PLAIT_TENSOR_qkv, tokens * w->value);
    block_keep(draft, PLAIT_TENSOR_scan,
               tokens * (matrices * delta_chunk * w->value_heads + w->value));
    block_keep(draft, PLAIT_TENSOR_core_out, tokens * w->value);
}

/*
 * The projection makes q, k and v, the output gate unless that has a low rank, and one scalar beta
 * per value head for the delta rule; without decay_rank the delta rule has one decay per head. The
 * memory-bound kernel after it is the convolution, or without one the activation of q, k and v.
 */
void block_delta_net(block_draft *draft)
{
    const plait_delta_net *d = &draft->layer->delta_net;
    const delta_widths w = delta_widths_of(d, draft->shard->tp);
    const bool gated_net = !d->plain && d->decay_rank == 0; // C.21
    const double hidden = draft->model->hidden;
    const double tokens = draft->tokens;
    const block_stream input = draft->at;
    const double scalars = (d->plain ? 0.0 : gated_net ? 2.0 : 1.0) * w.value_heads;
    const double projected = w.mixed + (d->gate_rank > 0 ? 0.0 : w.value) + scalars;

    block_product_add(draft, PLAIT_PART_qkv, tokens, hidden, projected, PLAIT_DIM_HEADS, false);
    block_memory_add(draft, PLAIT_PART_conv, tokens * w.mixed,
                     block_traffic_of(BLOCK_PASS_CONVOLUTION, true));
    add_delta_weights(draft, d, &w);
    if (d->decay_rank > 0) {
        const block_stream mixed = draft->at;
        add_low_rank(draft, input, d->decay_rank, w.decay);
        block_join(draft, mixed);
    }
    exchange_states(draft, 0.5 * (projected + w.decay + w.value));
    cache_state(draft, w.value_heads * d->key_dim * d->value_dim, w.mixed, d->conv);
    block_recurrence_add(draft, PLAIT_PART_core_attn, tokens * w.value_heads * delta_flops(d),
                         HALF_BYTES * tokens * (w.mixed + w.decay + w.value) + state_traffic(draft),
                         tokens * w.value, delta_backward);
    keep_delta(draft, d, &w);
    if (d->gate_rank > 0) {
        const block_stream scanned = draft->at;
        add_low_rank(draft, input, d->gate_rank, w.value);
        block_join(draft, scanned);
    }
    if (!gated_net)
        add_output_gate(draft, w.value);
    block_product_add(draft, PLAIT_PART_attn_out, tokens, w.value, hidden, PLAIT_DIM_HIDDEN, false);
}

// ---- Mamba (C.22, C.192) --------------------------------------------------------------------

/*
 * C.192: Mamba-2 (Dao and Gu, arXiv 2405.21060). Groups of heads share B and C. The scan processes
 * C tokens (a chunk) at a time; FLOPs per token, with inner width i, state n and g groups:
 *
 *     2 C g n   C B^T of each group
 *     C i       its product with x, of which the kernel skips the masked half
 *     4 i n     the state of the chunk, and its product with C
 *
 * Its kernels read x, B and C twice and write the output. They write the states of the chunks in
 * fp32, pass them on in 16 bits (12 bytes per state in all), and write and read C B^T in fp32. A
 * decode pass has chunks of one token and none of these tensors.
 *
 * The input projection, the outputs of the scan before and after the gate, and that of the norm are
 * kept; the convolution and the states are recomputed.
 */
static void add_mamba_2(block_draft *draft)
{
    const plait_mamba *s = &draft->layer->mamba;
    const plait_shard *shard = draft->shard;
    const bool decodes = draft->pass.kind == PLAIT_DECODE;
    const int own_chunk = shard->runtime->kernels.mamba_chunk;
    const double stated = own_chunk > 0 ? own_chunk : s->chunk > 0 ? s->chunk : mamba_chunk;
    const double chunk = decodes ? 1.0 : stated;
    const double hidden = draft->model->hidden;
    const double tokens = draft->tokens;
    const double heads = block_share(s->heads, shard->tp);
    const double inner = heads * (s->inner / s->heads);
    const double own = block_share(s->groups, shard->tp);
    const double groups = shard->cp > 1 ? larger(own, shard->cp) : own; // C.192: copies for cp
    const double projected = 2.0 * inner + 2.0 * own * s->state + heads;
    const double copied = 2.0 * (groups - own) * s->state;
    const double channels = inner + 2.0 * own * s->state;
    const double chunks = decodes ? 0.0 : 12.0 * inner * s->state / chunk + 8.0 * groups * chunk;

    block_product_add(draft, PLAIT_PART_qkv, tokens, hidden, projected, PLAIT_DIM_HEADS, false);
    exchange_states(draft, 0.5 * (projected + copied + inner));
    block_memory_add(draft, PLAIT_PART_conv, tokens * (channels + copied),
                     block_traffic_of(BLOCK_PASS_CONVOLUTION, true));
    draft->out->weights.dense += channels * (s->conv + 1.0) + 3.0 * heads + inner;
    cache_state(draft, inner * s->state, channels, s->conv);
    block_recurrence_add(
        draft, PLAIT_PART_core_attn,
        tokens * (2.0 * chunk * groups * s->state + chunk * inner + 4.0 * inner * s->state),
        tokens * (HALF_BYTES * (3.0 * inner + 4.0 * groups * s->state) + chunks) +
            state_traffic(draft),
        tokens * inner, mamba_backward);
    add_output_gate(draft, inner);
    block_keep(draft, PLAIT_TENSOR_qkv, tokens * (projected + copied));
    block_keep(draft, PLAIT_TENSOR_scan, 2.0 * tokens * inner);
    block_keep(draft, PLAIT_TENSOR_core_out, tokens * inner);
    block_product_add(draft, PLAIT_PART_attn_out, tokens, inner, hidden, PLAIT_DIM_HIDDEN, false);
}

/*
 * C.22: Mamba (Gu and Dao, arXiv 2312.00752). The scan takes nine FLOPs per token, channel and
 * state, and moves x, z, dt and y of each channel once, and B and C once. Under tp the small
 * parameters dt, B and C are summed over the ranks. x before and after the convolution, z, and the
 * output of the scan are kept.
 */
static void add_mamba_1(block_draft *draft)
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
    cache_state(draft, inner * s->state, inner, s->conv);
    block_scan_add(draft, PLAIT_PART_core_attn, 9.0 * tokens * inner * s->state,
                   HALF_BYTES * tokens * (4.0 * inner + parameters) + state_traffic(draft),
                   tokens * inner);
    block_keep(draft, PLAIT_TENSOR_qkv, tokens * (3.0 * inner + parameters));
    block_keep(draft, PLAIT_TENSOR_scan, tokens * inner);
    block_keep(draft, PLAIT_TENSOR_core_out, tokens * inner);
    block_product_add(draft, PLAIT_PART_attn_out, tokens, inner, hidden, PLAIT_DIM_HIDDEN, false);
}

void block_mamba(block_draft *draft)
{
    if (draft->layer->mamba.heads > 0)
        add_mamba_2(draft);
    else
        add_mamba_1(draft);
}

// ---- short convolutions (C.193) -------------------------------------------------------------

/*
 * LFM2: one product for the input and two gates, a convolution between two products with the gates,
 * and the output product. The input of each of these kernels is kept.
 */
static void add_short_conv(block_draft *draft)
{
    const plait_conv *c = &draft->layer->conv;
    const double width = block_share(c->width, draft->shard->tp);
    const double elements = draft->tokens * width;

    block_product_add(draft, PLAIT_PART_qkv, draft->tokens, draft->model->hidden, 3.0 * width,
                      PLAIT_DIM_HEADS, c->bias);
    block_memory_add(draft, PLAIT_PART_conv, elements,
                     block_traffic_of(BLOCK_PASS_OUTPUT_GATE, true));
    block_pass_add(draft, PLAIT_PART_conv, elements,
                   block_traffic_of(BLOCK_PASS_CONVOLUTION, true));
    draft->out->weights.dense += width * (c->kernel + (c->bias ? 1.0 : 0.0));
    cache_state(draft, 0.0, width, c->kernel);
    if (draft->serving)
        block_scan_add(draft, PLAIT_PART_core_attn, 0.0, state_traffic(draft), elements);
    add_output_gate(draft, width);
    block_keep(draft, PLAIT_TENSOR_qkv, 5.0 * elements);
    block_keep(draft, PLAIT_TENSOR_core_out, elements);
}

/*
 * RG-LRU (De et al., arXiv 2402.19427): two products make the input x and the gate y. x passes a
 * convolution; two gates of it, block-diagonal products of `blocks` blocks each, set the decay and
 * the input of h = a h + sqrt(1 - a^2) i x, of about ten FLOPs per channel. The kernel reads x and
 * both gates and writes h. y (before its activation), x before and after the convolution, both
 * gates, h and its product with y are kept.
 */
static void add_rg_lru(block_draft *draft)
{
    const plait_conv *c = &draft->layer->conv;
    const double width = block_share(c->width, draft->shard->tp);
    const double hidden = draft->model->hidden;
    const double tokens = draft->tokens;
    const double elements = tokens * width;

    block_product_add(draft, PLAIT_PART_qkv, tokens, hidden, 2.0 * width, PLAIT_DIM_HEADS, c->bias);
    exchange_states(draft, width);
    block_memory_add(draft, PLAIT_PART_conv, elements,
                     block_traffic_of(BLOCK_PASS_CONVOLUTION, true));
    const block_stream channels = draft->at;
    block_product_add(draft, PLAIT_PART_conv, tokens, (double)(c->width / c->blocks), 2.0 * width,
                      PLAIT_DIM_HEADS, true);
    block_join(draft, channels);
    draft->out->weights.dense += width * (c->kernel + (c->bias ? 1.0 : 0.0) + 1.0);
    cache_state(draft, width, width, c->kernel);
    block_scan_add(draft, PLAIT_PART_core_attn, 10.0 * elements,
                   4.0 * HALF_BYTES * elements + state_traffic(draft), elements);
    add_output_gate(draft, width);
    block_keep(draft, PLAIT_TENSOR_qkv, 5.0 * elements);
    block_keep(draft, PLAIT_TENSOR_scan, elements);
    block_keep(draft, PLAIT_TENSOR_core_out, elements);
}

void block_conv(block_draft *draft)
{
    const plait_conv *c = &draft->layer->conv;

    if (c->blocks > 0)
        add_rg_lru(draft);
    else
        add_short_conv(draft);
    block_product_add(draft, PLAIT_PART_attn_out, draft->tokens,
                      block_share(c->width, draft->shard->tp), draft->model->hidden,
                      PLAIT_DIM_HIDDEN, c->bias);
}
