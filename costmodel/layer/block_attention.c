/*
 * block_attention.c - multi-head, grouped-query and latent attention
 *
 * tp divides the heads and cp the sequence. The cost of the core attention depends on the number of
 * query-key pairs that its mask allows.
 */
#include <math.h>

#include "costmodel/layer/block_build.h"
#include "base/numbers.h"
#include "plan/model_queries.h"

/*
 * Query-key pairs of the first `queries` tokens of a causal sequence, if each token attends to at
 * most `reach` keys.
 */
static double pairs(double queries, double reach)
{
    const double ramp = smaller(queries, reach);

    return ramp * (ramp + 1.0) / 2.0 + (queries - ramp) * ramp;
}

/*
 * C.13: mean number of keys that a query attends to in a sequence of s tokens:
 *
 *     full mask        min(s, window, chunk)
 *     causal           (s + 1) / 2, as query i attends to i keys
 *     causal, window   the first w queries attend to 1 .. w keys, the others to w each
 *     causal, chunk    (chunk + 1) / 2: each chunk is a separate sequence
 *
 * If only the last q tokens are queries, because the keys of the other tokens are cached, the pairs
 * are those of all s tokens minus those of the first s - q.
 */
static double mean_keys(const plait_pass *pass, double window, double chunk, bool causal)
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

/*
 * Pairs of a query and a compressed key, of the first `queries` tokens of a sequence: token i may
 * attend to the keys of the complete groups of `ratio` tokens up to i, at most to `most` of them.
 */
static double compressed_pairs(double queries, double ratio, double most)
{
    const double groups = smaller(floor(queries / ratio), most);

    return ratio * groups * (groups - 1.0) / 2.0 + groups * (queries - groups * ratio + 1.0);
}

/* Mean number of compressed keys of a query (C.175). */
static double mean_compressed(const plait_pass *pass, const plait_attention *a, double most)
{
    const double context = pass->context_tokens;
    const double ratio = a->compress;

    if (a->compress <= 0)
        return 0.0;
    if (a->full_mask)
        return smaller(floor(context / ratio), most);
    return (compressed_pairs(context, ratio, most) -
            compressed_pairs(context - pass->query_tokens, ratio, most)) /
           pass->query_tokens;
}

/* The core attention of one rank. */
typedef struct core_attention {
    double heads;    /* query heads on this rank */
    double kv_heads; /* key-value heads on this rank */
    double qk_dim, v_dim;
    double kv_width; /* elements per token that context parallelism exchanges */
    double cached;   /* elements per token that serving reads from the cache */
    double keys;     /* mean number of keys that a query attends to */
    double more;     /* compressed keys in addition to those of tokens, per token */
    bool causal;
    bool sparse; /* a separate sparse kernel, whatever the plan's attention kernel */
} core_attention;

// ---- context parallelism (C.16) ------------------------------------------------------------

static void add_cp(block_draft *draft, plait_collective_op op, plait_overlap_class overlap,
                   double bytes, double count)
{
    block_collective_add(draft, PLAIT_PART_core_attn, op, PLAIT_AXIS_CP, overlap, bytes, count);
}

/*
 * Adds the exchanges of context parallelism, in the forward and again in the backward:
 *
 *     ring        keys and values travel n-1 hops in a ring of n ranks; the backward sends them
 *                 again with their gradients
 *     gather      every rank gathers all keys and values; the backward also reduces their gradients
 *     all-to-all  (Ulysses) one each for q, k, v and the output; between them each rank has whole
 *                 sequences of 1 / cp of the heads
 *     both        all-to-all among groups of cp_inner ranks, a ring across these groups
 */
static void exchange_context(block_draft *draft, const core_attention *core)
{
    const plait_shard *shard = draft->shard;
    const plait_cp_comm comm = shard->cp_comm;
    const double kv_bytes = HALF_BYTES * draft->tokens * core->kv_width;
    const double token_bytes = HALF_BYTES * draft->tokens * core->heads;

    if (shard->cp == 1 || (!draft->forward && !draft->backward_input))
        return;
    if (comm == PLAIT_CP_ALLGATHER) {
        add_cp(draft, PLAIT_ALL_GATHER, PLAIT_OVERLAP_CP, kv_bytes * shard->cp, 1.0);
        if (draft->backward_input)
            add_cp(draft, PLAIT_REDUCE_SCATTER, PLAIT_OVERLAP_CP, kv_bytes * shard->cp, 1.0);
        return;
    }
    if (comm == PLAIT_CP_A2A || comm == PLAIT_CP_A2A_P2P) {
        add_cp(draft, PLAIT_ALL_TO_ALL, PLAIT_OVERLAP_CP, token_bytes * core->qk_dim, 1.0);
        add_cp(draft, PLAIT_ALL_TO_ALL, PLAIT_OVERLAP_CP, kv_bytes / 2.0, 2.0);
        add_cp(draft, PLAIT_ALL_TO_ALL, PLAIT_OVERLAP_CP, token_bytes * core->v_dim, 1.0);
    }
    if (comm != PLAIT_CP_A2A)
        add_cp(draft, PLAIT_P2P, PLAIT_OVERLAP_CP_RING, (draft->forward ? 1.0 : 2.0) * kv_bytes,
               (comm == PLAIT_CP_A2A_P2P ? shard->cp / shard->cp_inner : shard->cp) - 1.0);
}

// ---- kernels -------------------------------------------------------------------------------

/*
 * C.14: one fused kernel, which never writes the scores to memory.
 *
 *     FLOPs        2 b heads (s / cp) (Dqk + Dv) keys for b sequences; backward 2.5 times these
 *     model FLOPs  with s instead of the mean keys if the mask is causal without a window or chunk;
 *                  backward twice these (C.4)
 *     bytes        queries and outputs of this rank, and keys and values, of all ranks if gathered
 *
 * In a ring each call processes s / cp tokens of the sequence. With all-to-all a rank has whole
 * sequences and 1 / cp of the heads. With both it has s n / cp tokens and 1 / n of the heads, where
 * n = cp_inner. The kernel keeps one log-sum-exp for each token and head.
 */
static void add_fused_core(block_draft *draft, const core_attention *core)
{
    const plait_shard *shard = draft->shard;
    const plait_pass *pass = &draft->pass;
    const bool backward = !draft->forward;
    const double query = pass->query_tokens / shard->cp;
    const double width = core->qk_dim + core->v_dim;
    const double per_key = 2.0 * pass->sequences * core->heads * query * width;
    const bool gathered = shard->cp > 1 && shard->cp_comm == PLAIT_CP_ALLGATHER;
    const double kv_tokens =
        (1.0 + core->more) * pass->sequences * pass->context_tokens / (gathered ? 1.0 : shard->cp);
    // C.350: serving reads from the cache the keys and values to which any query attends
    const double cached_bytes = pass->sequences * (core->keys + (pass->query_tokens - 1.0) / 2.0) *
                                core->cached *
                                (shard->cache_bytes > 0.0 ? shard->cache_bytes : HALF_BYTES);

    if (backward && !draft->backward_input)
        return;
    plait_op op = {
        .kind = PLAIT_OP_ATTENTION,
        .part = PLAIT_PART_core_attn,
        .layout = backward ? PLAIT_BACKWARD : PLAIT_FORWARD,
        .flops = (backward ? PLAIT_ATTENTION_BACKWARD : 1.0) * per_key * core->keys,
        .model_flops = (backward ? 2.0 : 1.0) * per_key *
                       smaller(core->causal ? 2.0 * core->keys : core->keys, pass->context_tokens),
        .bytes = draft->serving ? HALF_BYTES * width * draft->tokens * core->heads + cached_bytes
                                : HALF_BYTES * width *
                                      (draft->tokens * core->heads + kv_tokens * core->kv_heads),
        .sequences = pass->sequences,
        .heads = core->heads,
        .query = query,
        .context = pass->context_tokens,
        .head_dim = core->qk_dim,
        .ramp = pass->context_tokens,
    };
    if (shard->cp > 1 && shard->cp_comm == PLAIT_CP_P2P) { // one call for each block of keys
        op.count = shard->cp;
        op.flops /= shard->cp;
        op.model_flops /= shard->cp;
        op.ramp = query;
    }
    if (shard->cp > 1 && shard->cp_comm == PLAIT_CP_A2A) { // whole sequences, fewer heads
        op.heads = core->heads / shard->cp;
        op.query = pass->query_tokens;
    }
    if (shard->cp > 1 && shard->cp_comm == PLAIT_CP_A2A_P2P) { // heads and tokens of one ring
        op.heads = core->heads / shard->cp_inner;
        op.query = op.ramp = query * shard->cp_inner;
    }
    block_op_add(draft, op);
    block_keep(draft, PLAIT_TENSOR_lse, draft->tokens * core->heads);
}

/* Adds one kernel that computes a batch of products, one for each sequence and head. */
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
 * Adds two batched products with memory-bound kernels on the scores between them. A fused
 * scale-mask-softmax kernel reads and writes each score once; eager PyTorch runs five kernels:
 * scale, mask, cast, softmax and cast. (C.15)
 */
static void add_unfused_core(block_draft *draft, const core_attention *core)
{
    const bool fused_softmax = draft->shard->attention == PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL ||
                               draft->shard->runtime->kernels.fused_softmax;
    const bool dropout = draft->model->dropout;
    const double query = draft->pass.query_tokens / draft->shard->cp;
    const double context = draft->pass.context_tokens;
    const double batch = draft->pass.sequences * core->heads;
    const double scores = batch * query * context;
    const double more = dropout ? 5.0 : 0.0; // reads and writes a score, and a mask of one byte
    block_traffic traffic = block_traffic_of(BLOCK_PASS_SOFTMAX, fused_softmax);

    traffic.forward += more;
    traffic.backward += more;
    if (draft->forward || draft->backward_input) {
        const double passes = draft->forward ? 1.0 : 2.0;
        add_batched(draft, batch, query, context, core->qk_dim, passes);
        add_batched(draft, batch, query, core->v_dim, context, passes);
    }
    block_pass_add(draft, PLAIT_PART_core_attn, scores, traffic);
    block_keep(draft, PLAIT_TENSOR_scores, scores);
    if (dropout)
        block_keep(draft, PLAIT_TENSOR_scores_dropout, scores);
}

/* Adds the core attention with its exchanges; its output is kept for the backward pass. */
static void add_core(block_draft *draft, core_attention core)
{
    block_place(draft, PLAIT_DIM_HEADS, draft->tokens * core.heads * core.v_dim);
    exchange_context(draft, &core);
    if (draft->shard->attention <= PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL && !core.sparse)
        add_unfused_core(draft, &core);
    else
        add_fused_core(draft, &core);
    block_keep(draft, PLAIT_TENSOR_core_out, draft->tokens * core.heads * core.v_dim);
}

// ---- sparse-attention indexer --------------------------------------------------------------

/* Bytes of a cached indexer key: fp8, with a scale of four bytes (DeepSeek-V3.2's own kernels). */
static double index_key_bytes(int heads, int dim)
{
    return heads > 0 ? dim + 4.0 : 0.0;
}

/*
 * Adds the scores of an indexer, which are written once in 16 bits and read once, and of which only
 * the highest are used. The graph leaves out the indices of the selected keys: a few numbers per
 * token, without a gradient.
 *
 * @param width      width of all heads of the indexer
 * @param keys       mean number of keys that a query is compared with
 * @param key_bytes  bytes of keys read from the cache in serving
 */
static void add_scores(block_draft *draft, double width, double keys, double key_bytes)
{
    const double tokens = draft->tokens;

    block_scan_add(draft, PLAIT_PART_indexer, 2.0 * tokens * keys * width,
                   2.0 * HALF_BYTES * tokens * keys + (draft->serving ? key_bytes : 0.0),
                   tokens * keys);
}

// ---- grouped-query attention (C.17) --------------------------------------------------------

static block_traffic rotary_traffic(const block_draft *draft)
{
    return block_traffic_of(BLOCK_PASS_ROTARY, draft->shard->runtime->kernels.fused_rotary);
}

/* Is a window or chunk of `reach` tokens (0: none) shorter than the context? */
static bool is_limited(int reach, double context)
{
    return reach > 0 && reach < context;
}

/*
 * C.174: queries through a latent of q_rank elements, which every tensor rank computes whole, with a
 * norm on it. The latent is kept before and after its norm.
 *
 * @return  the latent
 */
static block_stream add_query_latent(block_draft *draft, double q_rank)
{
    const double tokens = draft->tokens;

    block_product_add(draft, PLAIT_PART_qkv, tokens, draft->model->hidden, q_rank, PLAIT_DIM_WHOLE,
                      false);
    block_memory_add(draft, PLAIT_PART_norm, tokens * q_rank,
                     block_traffic_of(BLOCK_PASS_NORM, true));
    block_keep(draft, PLAIT_TENSOR_latent, 2.0 * tokens * q_rank);
    draft->out->weights.dense += q_rank;
    return draft->at;
}

/* Adds the product for q, k and v; queries have a separate product if they have a latent. */
static void add_projections(block_draft *draft, const plait_attention *a, double queries,
                            double keys_values, block_stream *latent)
{
    const block_stream input = draft->at;
    const double tokens = draft->tokens;
    const double hidden = draft->model->hidden;

    if (a->q_rank <= 0) {
        block_product_add(draft, PLAIT_PART_qkv, tokens, hidden, queries + keys_values,
                          PLAIT_DIM_HEADS, a->qkv_bias);
        return;
    }
    *latent = add_query_latent(draft, a->q_rank);
    block_product_add(draft, PLAIT_PART_mla_up, tokens, a->q_rank, queries, PLAIT_DIM_HEADS,
                      a->qkv_bias);
    if (a->reused_kv)
        return;
    const block_stream heads = draft->at;
    draft->at = input;
    block_product_add(draft, PLAIT_PART_qkv, tokens, hidden, keys_values,
                      a->kv_heads > 1 ? PLAIT_DIM_HEADS : PLAIT_DIM_WHOLE, a->qkv_bias);
    const block_stream keys = draft->at;
    draft->at = heads;
    block_join(draft, keys);
}

/*
 * Tokens that contribute to a compressed key, over `compress`. Layers with an indexer compress
 * overlapping groups: each token makes one half for its own group and one for the next (C.175).
 */
static double overlaps(const plait_attention *a)
{
    return a->index_topk > 0 ? 2.0 : 1.0;
}

/* Bytes of a sequence's incomplete groups in serving: keys and scores in fp32 (C.365). */
static double compressor_state(const plait_attention *a, double width)
{
    return 2.0 * 4.0 * overlaps(a) * a->compress * overlaps(a) * width;
}

/*
 * Adds a compressor: a key and a score for each token, both in fp32, whose weighted sums over groups
 * of tokens are compressed keys of `width` elements, with a norm and rotary positions. The positions
 * inside a group add learned biases to the scores. Every tensor rank has all of it. (C.175)
 */
static void add_compressor(block_draft *draft, const plait_attention *a, plait_part part,
                           double width)
{
    const double tokens = draft->tokens;
    const double made = overlaps(a) * width;
    const double compressed = tokens / a->compress * width;

    block_product_add(draft, part, tokens, draft->model->hidden, 2.0 * made, PLAIT_DIM_WHOLE,
                      false);
    block_place(draft, PLAIT_DIM_WHOLE, compressed);
    block_pass_add(draft, part, tokens * made, block_traffic_of(BLOCK_PASS_COMPRESS, true));
    block_pass_add(draft, part, compressed, block_traffic_of(BLOCK_PASS_NORM, true));
    block_pass_add(draft, part, compressed, rotary_traffic(draft));
    draft->out->weights.dense += a->compress * made + width;
    draft->out->cache.state += compressor_state(a, width);
}

/*
 * Adds compressed keys, and the indexer that selects among them (C.175). The keys and scores in
 * fp32, and the compressed keys before and after their norm, are kept, except for the indexer's.
 *
 * @param input   the input of the layer's projections
 * @param latent  the input of the indexer's queries
 */
static void add_compressed_keys(block_draft *draft, const plait_attention *a, block_stream input,
                                block_stream latent)
{
    const double tokens = draft->tokens;
    const double hidden = draft->model->hidden;
    const double width = (double)a->kv_heads * a->head_dim;
    const double index_width = (double)a->index_heads * a->index_dim;

    draft->at = input;
    add_compressor(draft, a, PLAIT_PART_qkv, width);
    block_keep(draft, PLAIT_TENSOR_qkv,
               tokens * (4.0 * overlaps(a) * width + 2.0 * width / a->compress));
    if (a->index_topk <= 0)
        return;
    const block_stream compressed = draft->at;
    draft->at = latent;
    block_product_add(draft, PLAIT_PART_indexer, tokens, a->q_rank > 0 ? a->q_rank : hidden,
                      index_width, PLAIT_DIM_WHOLE, false);
    const block_stream queries = draft->at;
    draft->at = input;
    add_compressor(draft, a, PLAIT_PART_indexer, a->index_dim);
    const block_stream keys = draft->at;
    draft->at = input;
    block_product_add(draft, PLAIT_PART_indexer, tokens, hidden, a->index_heads, PLAIT_DIM_WHOLE,
                      false);
    block_join(draft, keys);
    block_join(draft, queries);
    draft->out->cache.index = index_key_bytes(a->index_heads, a->index_dim) / a->compress;
    add_scores(draft, index_width, mean_compressed(&draft->pass, a, HUGE_VAL),
               draft->pass.sequences * draft->pass.context_tokens * draft->out->cache.index);
    draft->at = compressed;
}

/*
 * Additional bytes of a cached key of DeepSeek-V4 in an 8-bit format: its 64 rotary elements stay in
 * 16 bits, and 8 bytes are scales (C.365).
 */
static double narrow_row_bytes(const block_draft *draft, const plait_attention *a)
{
    const double rotary_elements = 64.0, scale_bytes = 8.0;

    return attention_is_shared_latent(a) && draft->shard->cache_bytes == 1.0
               ? rotary_elements + scale_bytes
               : 0.0;
}

/*
 * Adds the output projection, or with groups of heads (C.174) one product for each group to
 * out_rank elements and a product of all of these.
 */
static void add_output(block_draft *draft, const plait_attention *a, double width)
{
    const double tokens = draft->tokens;
    double reduced = width;

    if (a->out_groups > 0) {
        const double groups = block_share(a->out_groups, draft->shard->tp);

        reduced = groups * a->out_rank;
        block_linear_add(draft, (block_linear){.part = PLAIT_PART_attn_out,
                                               .rows = tokens,
                                               .k = width / groups,
                                               .n = a->out_rank,
                                               .blocks = groups,
                                               .makes = PLAIT_DIM_HEADS});
        block_keep(draft, PLAIT_TENSOR_latent, tokens * reduced);
    }
    block_product_add(draft, PLAIT_PART_attn_out, tokens, reduced, draft->model->hidden,
                      PLAIT_DIM_HIDDEN, a->out_bias);
}

/*
 * The operators are one product for q, k and v, optionally one kernel for rotary positions and
 * norms of q and k, the core attention, optionally a gate on its output, and the output projection.
 * If tp exceeds the number of key-value heads, each rank has a copy of one head. If keys and values
 * are the same tensor (shared_kv), it is projected and kept once. With a latent of the queries, the
 * norm of a query head has no weights.
 *
 * C.196: a layer that reuses the keys and values of an earlier one (reused_kv) only makes queries.
 * Its core attention reads the cache of the earlier layer, which keeps them for backward, too.
 */
void block_attention(block_draft *draft)
{
    const plait_attention *a = &draft->layer->attention;
    const double heads = block_share(a->heads, draft->shard->tp);
    const double kv_heads = block_share(a->kv_heads, draft->shard->tp);
    const double v_dim = attention_v_dim(a);
    const double q_width = heads * a->head_dim;
    const double out_width = heads * v_dim;
    const double key_width = kv_heads * a->head_dim;
    const double kv_width = key_width + (a->shared_kv ? 0.0 : kv_heads * v_dim);
    const double made_keys = a->reused_kv ? 0.0 : key_width;
    const double made = a->reused_kv ? 0.0 : kv_width;
    const double kept_keys = a->shared_kv ? 0.0 : made_keys;
    const double projected = q_width + (a->gate ? out_width : 0.0);
    const double tokens = draft->tokens;
    const double context = draft->pass.context_tokens;
    const double cached = kv_width + narrow_row_bytes(draft, a);
    const double most = a->index_topk > 0 ? a->index_topk : HUGE_VAL;
    const double more = a->compress > 0 ? 1.0 / a->compress : 0.0;
    const block_stream input = draft->at;
    block_stream latent = input, compressed = {.places = 0};

    add_projections(draft, a, projected, made, &latent);
    if (a->compress > 0) {
        const block_stream heads_projected = draft->at;

        add_compressed_keys(draft, a, input, latent);
        compressed = draft->at;
        draft->at = heads_projected;
    }
    block_keep(draft, PLAIT_TENSOR_qkv, tokens * (projected + made - kept_keys));
    block_keep(draft, PLAIT_TENSOR_keys, tokens * kept_keys);
    if (a->rotary || a->qk_norm) {
        block_memory_add(draft, PLAIT_PART_rotary, tokens * (q_width + made_keys),
                         rotary_traffic(draft));
        block_keep(draft, PLAIT_TENSOR_rotary, tokens * (q_width + made_keys));
    }
    draft->out->cache.width = a->reused_kv ? 0.0 : cached;
    draft->out->cache.reach = a->window > 0 ? a->window : a->chunk;
    draft->out->cache.compressed = more * cached;
    if (a->qk_norm)
        draft->out->weights.dense += (a->q_rank > 0 || a->reused_kv ? 1.0 : 2.0) * a->head_dim;
    if (a->sinks)
        draft->out->weights.dense += heads;
    block_join(draft, compressed);
    add_core(draft, (core_attention){
                        .heads = heads,
                        .kv_heads = kv_heads,
                        .qk_dim = a->head_dim,
                        .v_dim = v_dim,
                        .kv_width = a->compress > 0 ? key_width * (1.0 + more)
                                                    : kv_heads * (a->head_dim + v_dim),
                        .cached = cached,
                        .keys = mean_keys(&draft->pass, a->window, a->chunk, !a->full_mask) +
                                mean_compressed(&draft->pass, a, most),
                        .more = more,
                        .sparse = a->compress > 0 || attention_is_shared_latent(a),
                        .causal = !a->full_mask && a->compress <= 0 &&
                                  !is_limited(a->window, context) && !is_limited(a->chunk, context),
                    });
    if (a->gate)
        block_memory_add(draft, PLAIT_PART_core_attn, tokens * out_width,
                         block_traffic_of(BLOCK_PASS_OUTPUT_GATE, true));
    add_output(draft, a, out_width);
}

// ---- multi-head latent attention (C.18) ----------------------------------------------------

/*
 * The indexer (DeepSeek sparse attention) scores all query-key pairs with a few small heads, and
 * the core attention then uses only the keys with the highest scores. The norm of the indexer's key
 * has a weight and a bias.
 *
 * @param latent  the input of the indexer's queries
 */
static void add_indexer(block_draft *draft, const plait_mla *a, block_stream latent,
                        block_stream input)
{
    const double tokens = draft->tokens;
    const double hidden = draft->model->hidden;
    const double width = (double)a->index_heads * a->index_dim;

    draft->at = latent;
    block_product_add(draft, PLAIT_PART_indexer, tokens, a->q_rank > 0 ? a->q_rank : hidden, width,
                      PLAIT_DIM_WHOLE, false);
    const block_stream queries = draft->at;
    draft->at = input;
    block_product_add(draft, PLAIT_PART_indexer, tokens, hidden, a->index_dim, PLAIT_DIM_WHOLE,
                      false);
    const block_stream key = draft->at;
    draft->at = input;
    block_product_add(draft, PLAIT_PART_indexer, tokens, hidden, a->index_heads, PLAIT_DIM_WHOLE,
                      false);
    draft->out->weights.dense += 2.0 * a->index_dim;
    block_join(draft, key);
    block_join(draft, queries);
    add_scores(draft, width, mean_keys(&draft->pass, 0.0, 0.0, true),
               draft->pass.sequences * draft->pass.context_tokens *
                   index_key_bytes(a->index_heads, a->index_dim));
}

/*
 * C.187: projects a gate of `width` elements per token for the output of the core attention; a
 * width of 0 adds nothing. Returns the gate. The draft stays where it was.
 */
static block_stream add_gate(block_draft *draft, double width, block_stream input)
{
    const block_stream attended = draft->at;
    block_stream gate = {.places = 0};

    if (width > 0.0) {
        draft->at = input;
        block_product_add(draft, PLAIT_PART_qkv, draft->tokens, draft->model->hidden, width,
                          PLAIT_DIM_HEADS, false);
        block_keep(draft, PLAIT_TENSOR_qkv, draft->tokens * width);
        gate = draft->at;
    }
    draft->at = attended;
    return gate;
}

/*
 * Queries have a latent if q_rank > 0: a down-projection from hidden to q_rank, a norm, and an
 * up-projection to the heads. Keys and values share another latent; all heads share the rotary part
 * of the keys, which is projected once. Every tensor rank runs the whole down-projections. tp
 * divides the up-projections, whose heads have nope_dim + rope_dim elements for queries and keys,
 * and v_dim for values. Latents and the outputs of their norms are kept.
 *
 * C.351: in decoding, the up-projections of keys and values are applied to the queries and the
 * output instead (equal work per token), and all heads attend to the latent, which every tensor
 * rank stores.
 */
void block_mla(block_draft *draft)
{
    const plait_mla *a = &draft->layer->mla;
    const double tokens = draft->tokens;
    const double hidden = draft->model->hidden;
    const double heads = block_share(a->heads, draft->shard->tp);
    const double qk_dim = a->nope_dim + a->rope_dim;
    const double latent_width = a->kv_rank + a->rope_dim;
    const double kv_width = heads * (a->nope_dim + a->v_dim);
    const block_traffic norm = block_traffic_of(BLOCK_PASS_NORM, true);
    const block_stream input = draft->at;
    const bool absorbed = draft->pass.kind == PLAIT_DECODE;
    block_stream latent = input;
    double keys = mean_keys(&draft->pass, 0.0, 0.0, true);

    if (a->q_rank > 0) {
        latent = add_query_latent(draft, a->q_rank);
        block_product_add(draft, PLAIT_PART_mla_up, tokens, a->q_rank, heads * qk_dim,
                          PLAIT_DIM_HEADS, false);
    } else {
        block_product_add(draft, PLAIT_PART_qkv, tokens, hidden, heads * qk_dim, PLAIT_DIM_HEADS,
                          false);
    }
    block_keep(draft, PLAIT_TENSOR_qkv, tokens * (heads * qk_dim));
    const block_stream queries = draft->at;

    draft->at = input;
    block_product_add(draft, PLAIT_PART_qkv, tokens, hidden, latent_width, PLAIT_DIM_WHOLE, false);
    block_memory_add(draft, PLAIT_PART_norm, tokens * a->kv_rank, norm);
    block_product_add(draft, PLAIT_PART_mla_up, tokens, a->kv_rank, kv_width, PLAIT_DIM_HEADS,
                      false);
    block_keep(draft, PLAIT_TENSOR_latent, tokens * (2.0 * a->kv_rank + a->rope_dim));
    draft->out->weights.dense += a->kv_rank;
    // The kept keys contain a copy of the shared rotary part for each head.
    block_keep(draft, PLAIT_TENSOR_qkv, tokens * (kv_width + heads * a->rope_dim));
    block_join(draft, queries);
    const block_stream projected = draft->at;

    if (a->index_heads > 0) // without heads: C.197
        add_indexer(draft, a, latent, input);
    if (a->index_topk > 0)
        keys = smaller(keys, a->index_topk);
    draft->at = projected;
    block_memory_add(draft, PLAIT_PART_rotary, tokens * 2.0 * heads * qk_dim,
                     rotary_traffic(draft));
    block_keep(draft, PLAIT_TENSOR_rotary, tokens * 2.0 * heads * qk_dim);
    draft->out->cache = (plait_cache){.width = latent_width,
                                      .index = index_key_bytes(a->index_heads, a->index_dim)};
    const block_stream gate = add_gate(draft, a->gate ? heads * a->v_dim : 0.0, input);
    add_core(draft, (core_attention){
                        .heads = heads,
                        .kv_heads = absorbed ? 1.0 : heads,
                        .qk_dim = absorbed ? latent_width : qk_dim,
                        .v_dim = absorbed ? a->kv_rank : a->v_dim,
                        .kv_width = absorbed ? 0.0 : heads * (qk_dim + a->v_dim),
                        .cached = latent_width,
                        .keys = keys,
                        .causal = !absorbed && a->index_topk == 0,
                    });
    if (a->gate) {
        block_join(draft, gate);
        block_memory_add(draft, PLAIT_PART_core_attn, tokens * heads * a->v_dim,
                         block_traffic_of(BLOCK_PASS_OUTPUT_GATE, true));
    }
    block_product_add(draft, PLAIT_PART_attn_out, tokens, heads * a->v_dim, hidden,
                      PLAIT_DIM_HIDDEN, false);
}
