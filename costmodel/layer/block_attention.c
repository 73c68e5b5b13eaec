/*
 * block_attention.c - multi-head, grouped-query and latent attention
 *
 * tp divides the heads and cp the sequence. The core attention is priced by the query-key pairs
 * that its mask allows.
 */
#include "costmodel/layer/block_build.h"
#include "base/numbers.h"

/*
 * Query-key pairs of the first `queries` of a causal sequence, if each sees at most `reach` keys.
 */
static double pairs(double queries, double reach)
{
    const double ramp = smaller(queries, reach);

    return ramp * (ramp + 1.0) / 2.0 + (queries - ramp) * ramp;
}

/*
 * C.13: mean number of keys that a query sees in a sequence of s tokens:
 *
 *     full mask        min(s, window, chunk)
 *     causal           (s + 1) / 2, as query i sees i keys
 *     causal, window   the first w queries see 1 .. w keys, the others w each
 *     causal, chunk    (chunk + 1) / 2: each chunk is a sequence of its own
 *
 * If only the last q tokens are queries (the keys of the others are cached), their pairs are those
 * of all s queries less those of the first s - q.
 */
double block_mean_keys(const plait_pass *pass, double window, double chunk, bool causal)
{
    const double context = pass->context_tokens;
    const double before = context - pass->query_tokens;
    const double reach =
        smaller(context, smaller(window > 0.0 ? window : context, chunk > 0.0 ? chunk : context));

    if (!causal)
        return reach;
    if (chunk > 0.0 && chunk < context && (window <= 0.0 || chunk <= window))
        return (chunk + 1.0) / 2.0;
    return before > 0.0 ? (pairs(context, reach) - pairs(before, reach)) / pass->query_tokens
                        : pairs(context, reach) / context;
}

// ---- context parallelism (C.16) ------------------------------------------------------------

static void add_cp(block_draft *draft, plait_collective_op op, plait_overlap_class overlap,
                   double bytes, double count)
{
    block_collective_add(draft, (plait_op){.part = PLAIT_PART_core_attn,
                                           .collective = op,
                                           .axis = PLAIT_AXIS_CP,
                                           .overlap = overlap,
                                           .bytes = bytes,
                                           .count = count});
}

/*
 * In a ring of n blocks K and V travel n-1 hops; the backward sends them again with their
 * gradients.
 */
static void exchange_ring(block_draft *draft, double kv_bytes, int blocks)
{
    const double hops = blocks - 1.0;

    if (block_is_forward(draft))
        add_cp(draft, PLAIT_P2P, PLAIT_OVERLAP_CP_RING, kv_bytes, hops);
    else if (block_is_backward_input(draft))
        add_cp(draft, PLAIT_P2P, PLAIT_OVERLAP_CP_RING, 2.0 * kv_bytes, hops);
}

/*
 * Each pass gathers all keys and values on every rank; the backward also reduces their gradients.
 */
static void exchange_gather(block_draft *draft, double kv_bytes)
{
    const double whole = kv_bytes * draft->shard->cp;

    if (block_is_forward(draft) || block_is_backward_input(draft))
        add_cp(draft, PLAIT_ALL_GATHER, PLAIT_OVERLAP_CP, whole, 1.0);
    if (block_is_backward_input(draft))
        add_cp(draft, PLAIT_REDUCE_SCATTER, PLAIT_OVERLAP_CP, whole, 1.0);
}

/*
 * Ulysses: one all-to-all each for q, k, v and the output; the backward repeats them. In between,
 * each rank has whole sequences of 1 / cp of the heads.
 */
static void exchange_all_to_all(block_draft *draft, double kv_bytes, const block_core *core)
{
    const double token_bytes = HALF_BYTES * draft->tokens * core->heads;

    if (!block_is_forward(draft) && !block_is_backward_input(draft))
        return;
    add_cp(draft, PLAIT_ALL_TO_ALL, PLAIT_OVERLAP_CP, token_bytes * core->qk_dim, 1.0);
    add_cp(draft, PLAIT_ALL_TO_ALL, PLAIT_OVERLAP_CP, kv_bytes / 2.0, 2.0);
    add_cp(draft, PLAIT_ALL_TO_ALL, PLAIT_OVERLAP_CP, token_bytes * core->v_dim, 1.0);
}

static void exchange(block_draft *draft, const block_core *core)
{
    const double kv_bytes = HALF_BYTES * draft->tokens * core->kv_width;

    if (draft->shard->cp == 1)
        return;
    switch (draft->shard->cp_comm) {
    case PLAIT_CP_ALLGATHER:
        exchange_gather(draft, kv_bytes);
        break;
    case PLAIT_CP_A2A:
        exchange_all_to_all(draft, kv_bytes, core);
        break;
    case PLAIT_CP_A2A_P2P: // a block has cp_inner times the tokens and 1/cp_inner of the heads
        exchange_all_to_all(draft, kv_bytes, core);
        exchange_ring(draft, kv_bytes, draft->shard->cp / draft->shard->cp_inner);
        break;
    default:
        exchange_ring(draft, kv_bytes, draft->shard->cp);
        break;
    }
}

// ---- kernels -------------------------------------------------------------------------------

/* C.350: bytes that a pass reads from the cache: the keys and values that any query attends to. */
static double cached_bytes(const block_draft *draft, const block_core *core)
{
    const double seen = core->keys + (draft->pass.query_tokens - 1.0) / 2.0;
    const double element = draft->shard->cache_bytes > 0.0 ? draft->shard->cache_bytes : HALF_BYTES;

    return draft->pass.sequences * seen * core->cached * element;
}

/*
 * C.14: one fused kernel, whose scores never reach memory.
 *
 *     FLOPs   2 b heads (s / cp) (Dqk + Dv) keys, 2.5 times that backward
 *     model   the same with all s keys of an unlimited causal mask, twice that backward (C.4)
 *     bytes   queries and outputs of this rank, keys and values of all ranks if they are gathered
 *
 * In a ring each call processes s / cp tokens of the sequence; with all-to-all a rank has whole
 * sequences and 1 / cp of the heads; with both, s n / cp tokens and 1 / n of the heads, n =
 * cp_inner. The kernel keeps one log-sum-exp for each token and head.
 */
static void draw_fused(block_draft *draft, const block_core *core)
{
    const plait_shard *shard = draft->shard;
    const bool backward = !block_is_forward(draft);
    const double query = draft->pass.query_tokens / shard->cp;
    const double width = core->qk_dim + core->v_dim;
    const double per_key = 2.0 * draft->pass.sequences * core->heads * query * width;
    const bool gathered = shard->cp > 1 && shard->cp_comm == PLAIT_CP_ALLGATHER;
    const double kv_tokens =
        draft->pass.sequences * draft->pass.context_tokens / (gathered ? 1.0 : shard->cp);

    if (backward && !block_is_backward_input(draft))
        return;
    plait_op op = {
        .kind = PLAIT_OP_ATTENTION,
        .part = PLAIT_PART_core_attn,
        .layout = backward ? PLAIT_BACKWARD : PLAIT_FORWARD,
        .flops = (backward ? PLAIT_ATTENTION_BACKWARD : 1.0) * per_key * core->keys,
        .model_flops =
            (backward ? 2.0 : 1.0) * per_key *
            smaller(core->causal ? 2.0 * core->keys : core->keys, draft->pass.context_tokens),
        .bytes =
            block_is_serving(draft)
                ? HALF_BYTES * width * draft->tokens * core->heads + cached_bytes(draft, core)
                : HALF_BYTES * width * (draft->tokens * core->heads + kv_tokens * core->kv_heads),
        .sequences = draft->pass.sequences,
        .heads = core->heads,
        .query = query,
        .context = draft->pass.context_tokens,
        .head_dim = core->qk_dim,
        .ramp =
            shard->cp > 1 && shard->cp_comm == PLAIT_CP_P2P ? query : draft->pass.context_tokens,
    };
    if (shard->cp > 1 && shard->cp_comm == PLAIT_CP_P2P) { // one call for each block of keys
        op.count = shard->cp;
        op.flops /= shard->cp;
        op.model_flops /= shard->cp;
    }
    if (shard->cp > 1 && shard->cp_comm == PLAIT_CP_A2A) { // whole sequences, fewer heads
        op.heads = core->heads / shard->cp;
        op.query = draft->pass.query_tokens;
    }
    if (shard->cp > 1 && shard->cp_comm == PLAIT_CP_A2A_P2P) { // heads and tokens of one ring
        op.heads = core->heads / shard->cp_inner;
        op.query = op.ramp = query * shard->cp_inner;
    }
    block_op_add(draft, op);
    block_keep(draft, PLAIT_TENSOR_lse, draft->tokens * core->heads);
}

/* Adds a batched product, one for each head, in one kernel. */
static void add_batched(block_draft *draft, double batch, double m, double n, double k,
                        double passes)
{
    const double flops = 2.0 * batch * m * n * k;

    block_op_add(draft, (plait_op){.kind = PLAIT_OP_GEMM,
                                   .part = PLAIT_PART_core_attn,
                                   .m = m,
                                   .n = n,
                                   .k = k,
                                   .batch = batch,
                                   .flops = flops,
                                   .model_flops = flops,
                                   .bytes = HALF_BYTES * batch * (m * k + k * n + m * n),
                                   .misaligned = block_misaligned(n, k),
                                   .count = passes});
}

/*
 * Two batched products with passes over the scores between them. A fused scale-mask-softmax reads
 * and writes each score once; eager PyTorch runs scale, mask, cast, softmax and cast. (C.15)
 */
static void draw_unfused(block_draft *draft, const block_core *core)
{
    const bool fused_softmax = draft->shard->attention == PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL ||
                               draft->shard->runtime->kernels.fused_softmax;
    const bool dropout = draft->model->dropout;
    const double query = draft->pass.query_tokens / draft->shard->cp;
    const double context = draft->pass.context_tokens;
    const double batch = draft->pass.sequences * core->heads;
    const double scores = batch * query * context;
    const double more = dropout ? 5.0 : 0.0; // a score read and written, and a mask of one byte
    block_traffic traffic = block_traffic_of(BLOCK_PASS_SOFTMAX, fused_softmax);

    traffic.forward += more;
    traffic.backward += more;

    if (block_is_forward(draft) || block_is_backward_input(draft)) {
        const double passes = block_is_forward(draft) ? 1.0 : 2.0;
        add_batched(draft, batch, query, context, core->qk_dim, passes);
        add_batched(draft, batch, query, core->v_dim, context, passes);
    }
    block_memory_add(draft, PLAIT_PART_core_attn, scores, traffic);
    block_keep(draft, PLAIT_TENSOR_scores, scores);
    if (dropout)
        block_keep(draft, PLAIT_TENSOR_scores_dropout, scores);
}

/* The output of the core attention is kept for the backward pass. */
void block_core_add(block_draft *draft, block_core core)
{
    block_place(draft, PLAIT_DIM_HEADS, draft->tokens * core.heads * core.v_dim);
    draft->placed = true;
    exchange(draft, &core);
    if (draft->shard->attention <= PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL)
        draw_unfused(draft, &core);
    else
        draw_fused(draft, &core);
    draft->placed = false;
    block_keep(draft, PLAIT_TENSOR_core_out, draft->tokens * core.heads * core.v_dim);
}

// ---- grouped-query attention (C.17) --------------------------------------------------------

static block_traffic rotary_traffic(const block_draft *draft)
{
    return block_traffic_of(BLOCK_PASS_ROTARY, draft->shard->runtime->kernels.fused_rotary);
}

/* Does a window or chunk of `reach` tokens limit the keys? If it is as long as the context, no. */
static bool is_limited(int reach, double context)
{
    return reach > 0 && reach < context;
}

/*
 * Operators: one product for q, k and v, [one pass for rotary positions and norms of q and k], the
 * core, [a gate on its output], the output projection. If tp exceeds the number of key-value heads,
 * each rank has a copy of one. If the values are the keys (shared_kv), they are projected and kept
 * once.
 */
void block_attention(block_draft *draft)
{
    const plait_attention *a = &draft->layer->attention;
    const double heads = block_share(a->heads, draft->shard->tp);
    const double kv_heads = block_share(a->kv_heads, draft->shard->tp);
    const double q_width = heads * a->head_dim;
    const double kv_width = kv_heads * a->head_dim;
    const double key_width = a->shared_kv ? 0.0 : kv_width;
    const double projected = q_width * (a->gate ? 2.0 : 1.0) + kv_width + key_width;
    const double tokens = draft->tokens;
    const double context = draft->pass.context_tokens;

    block_linear_add(draft, (block_linear){.part = PLAIT_PART_qkv,
                                           .rows = tokens,
                                           .n = projected,
                                           .k = draft->model->hidden,
                                           .makes = PLAIT_DIM_HEADS,
                                           .bias = a->qkv_bias});
    block_keep(draft, PLAIT_TENSOR_qkv, tokens * (projected - key_width));
    block_keep(draft, PLAIT_TENSOR_keys, tokens * key_width);
    if (a->rotary || a->qk_norm) {
        block_memory_add(draft, PLAIT_PART_rotary, tokens * (q_width + kv_width),
                         rotary_traffic(draft));
        block_keep(draft, PLAIT_TENSOR_rotary, tokens * (q_width + kv_width));
    }
    draft->out->cache.width = kv_width + key_width;
    draft->out->cache.reach = a->window > 0 ? a->window : a->chunk;
    if (a->qk_norm)
        draft->out->weights.dense += 2.0 * a->head_dim;
    if (a->sinks)
        draft->out->weights.dense += heads;
    block_core_add(draft,
                   (block_core){
                       .heads = heads,
                       .kv_heads = kv_heads,
                       .qk_dim = a->head_dim,
                       .v_dim = a->head_dim,
                       .kv_width = 2.0 * kv_width,
                       .cached = kv_width + key_width,
                       .keys = block_mean_keys(&draft->pass, a->window, a->chunk, !a->full_mask),
                       .causal = !a->full_mask && !is_limited(a->window, context) &&
                                 !is_limited(a->chunk, context),
                   });
    if (a->gate)
        block_memory_add(draft, PLAIT_PART_core_attn, tokens * q_width,
                         block_traffic_of(BLOCK_PASS_OUTPUT_GATE, true));
    block_linear_add(draft, (block_linear){.part = PLAIT_PART_attn_out,
                                           .rows = tokens,
                                           .n = draft->model->hidden,
                                           .k = q_width,
                                           .makes = PLAIT_DIM_HIDDEN,
                                           .bias = a->out_bias});
}

// ---- multi-head latent attention (C.18) ----------------------------------------------------

/*
 * Queries go through a latent: a down-projection from hidden to q_rank, a norm, an up-projection to
 * the heads. Every tensor rank runs the whole down-projection; tp divides the up-projection. The
 * latent and its norm's output are kept. Returns the input of the indexer's queries: the latent,
 * or, if the model has none, the hidden state.
 */
static block_stream draw_query(block_draft *draft, const plait_mla *a, double heads)
{
    block_stream latent = draft->at;
    const double tokens = draft->tokens;
    const double hidden = draft->model->hidden;
    const double width = heads * (a->nope_dim + a->rope_dim);

    if (a->q_rank > 0) {
        block_linear_add(
            draft,
            (block_linear){.part = PLAIT_PART_qkv, .rows = tokens, .n = a->q_rank, .k = hidden});
        block_memory_add(draft, PLAIT_PART_norm, tokens * a->q_rank,
                         block_traffic_of(BLOCK_PASS_NORM, true));
        latent = draft->at;
        block_linear_add(draft, (block_linear){.part = PLAIT_PART_mla_up,
                                               .rows = tokens,
                                               .n = width,
                                               .k = a->q_rank,
                                               .makes = PLAIT_DIM_HEADS});
        block_keep(draft, PLAIT_TENSOR_latent, 2.0 * tokens * a->q_rank);
        draft->out->weights.dense += a->q_rank;
    } else {
        block_linear_add(draft, (block_linear){.part = PLAIT_PART_qkv,
                                               .rows = tokens,
                                               .n = width,
                                               .k = hidden,
                                               .makes = PLAIT_DIM_HEADS});
    }
    block_keep(draft, PLAIT_TENSOR_qkv, tokens * width);
    return latent;
}

/* Keys and values share a latent; all heads share the rotary part of the keys, projected once. */
static void draw_key_value(block_draft *draft, const plait_mla *a, double heads)
{
    const double tokens = draft->tokens;
    const double width = heads * (a->nope_dim + a->v_dim);

    block_linear_add(draft, (block_linear){.part = PLAIT_PART_qkv,
                                           .rows = tokens,
                                           .n = a->kv_rank + a->rope_dim,
                                           .k = draft->model->hidden});
    block_memory_add(draft, PLAIT_PART_norm, tokens * a->kv_rank,
                     block_traffic_of(BLOCK_PASS_NORM, true));
    block_linear_add(draft, (block_linear){.part = PLAIT_PART_mla_up,
                                           .rows = tokens,
                                           .n = width,
                                           .k = a->kv_rank,
                                           .makes = PLAIT_DIM_HEADS});
    block_keep(draft, PLAIT_TENSOR_latent, tokens * (2.0 * a->kv_rank + a->rope_dim));
    draft->out->weights.dense += a->kv_rank;
    // The kept keys contain a copy of the shared rotary part for each head.
    block_keep(draft, PLAIT_TENSOR_qkv, tokens * (width + heads * a->rope_dim));
}

/* Bytes of a cached indexer key: fp8, with a scale of four bytes (DeepSeek-V3.2's own kernels). */
static double index_key_bytes(const plait_mla *a)
{
    return a->index_topk > 0 ? a->index_dim + 4.0 : 0.0;
}

/*
 * The indexer scores all query-key pairs with a few small heads, and attention then uses the best
 * keys only. The scores are written once in 16 bits and read once; the norm of the indexer's key
 * has a weight and a bias.
 */
static void draw_indexer(block_draft *draft, const plait_mla *a, block_stream latent,
                         block_stream input)
{
    const double tokens = draft->tokens;
    const double hidden = draft->model->hidden;
    const double width = (double)a->index_heads * a->index_dim;
    const double keys = block_mean_keys(&draft->pass, 0.0, 0.0, true);
    const bool serving = block_is_serving(draft);
    const double key_bytes =
        serving ? draft->pass.sequences * draft->pass.context_tokens * index_key_bytes(a) : 0.0;

    draft->at = latent;
    block_linear_add(draft, (block_linear){.part = PLAIT_PART_indexer,
                                           .rows = tokens,
                                           .n = width,
                                           .k = a->q_rank > 0 ? a->q_rank : hidden});
    const block_stream queries = draft->at;
    draft->at = input;
    block_linear_add(
        draft,
        (block_linear){.part = PLAIT_PART_indexer, .rows = tokens, .n = a->index_dim, .k = hidden});
    const block_stream key = draft->at;
    draft->at = input;
    block_linear_add(
        draft, (block_linear){
                   .part = PLAIT_PART_indexer, .rows = tokens, .n = a->index_heads, .k = hidden});
    draft->out->weights.dense += 2.0 * a->index_dim;
    block_join(draft, key);
    block_join(draft, queries);
    block_scan_add(draft, PLAIT_PART_indexer, 2.0 * tokens * keys * width,
                   2.0 * HALF_BYTES * tokens * keys + key_bytes, tokens * keys);
}

/*
 * C.351: in decoding, the up-projections of keys and values are absorbed into the queries and the
 * output (the same work per token), and all heads attend to the latent itself, which every tensor
 * rank stores.
 */
static block_core absorbed_core(const plait_mla *a, double heads, double keys)
{
    const double latent = a->kv_rank + a->rope_dim;

    return (block_core){.heads = heads,
                        .kv_heads = 1.0,
                        .qk_dim = latent,
                        .v_dim = a->kv_rank,
                        .cached = latent,
                        .keys = keys};
}

/*
 * Up-projections make heads of nope_dim + rope_dim for queries and keys and of v_dim for values;
 * the rest is as in attention. The indices of the keys that the indexer selects are not a tensor of
 * the graph: they are a few numbers per token, without a gradient.
 */
void block_mla(block_draft *draft)
{
    const plait_mla *a = &draft->layer->mla;
    const double heads = block_share(a->heads, draft->shard->tp);
    const double qk_dim = a->nope_dim + a->rope_dim;
    double keys = block_mean_keys(&draft->pass, 0.0, 0.0, true);

    const block_stream input = draft->at;
    const block_stream latent = draw_query(draft, a, heads);
    const block_stream queries = draft->at;
    draft->at = input;
    draw_key_value(draft, a, heads);
    block_join(draft, queries);
    const block_stream projected = draft->at;
    if (a->index_topk > 0) {
        draw_indexer(draft, a, latent, input);
        keys = smaller(keys, a->index_topk);
    }
    draft->at = projected;
    block_memory_add(draft, PLAIT_PART_rotary, draft->tokens * 2.0 * heads * qk_dim,
                     rotary_traffic(draft));
    block_keep(draft, PLAIT_TENSOR_rotary, draft->tokens * 2.0 * heads * qk_dim);
    draft->out->cache =
        (plait_cache){.width = a->kv_rank + a->rope_dim, .index = index_key_bytes(a)};
    if (draft->pass.kind == PLAIT_DECODE)
        block_core_add(draft, absorbed_core(a, heads, keys));
    else
        block_core_add(draft, (block_core){.heads = heads,
                                           .kv_heads = heads,
                                           .cached = a->kv_rank + a->rope_dim,
                                           .qk_dim = qk_dim,
                                           .v_dim = a->v_dim,
                                           .kv_width = heads * (qk_dim + a->v_dim),
                                           .keys = keys,
                                           .causal = a->index_topk == 0});
    block_linear_add(draft, (block_linear){.part = PLAIT_PART_attn_out,
                                           .rows = draft->tokens,
                                           .n = draft->model->hidden,
                                           .k = heads * a->v_dim,
                                           .makes = PLAIT_DIM_HIDDEN});
}
