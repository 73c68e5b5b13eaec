/*
 * test_block_models.c - layers of DeepSeek-V4, Kimi K3, GLM-5.2, MiMo-V2, Nemotron 3,
 * LongCat-Flash, Gemma 3n and 4, against counts by hand
 */
#include <math.h>
#include <string.h>

#include "support/assert_near.h"
#include "plait/lowlevel/block.h"
#include "plait/runtime.h"
#include "plan/model_queries.h"

// ---- layers --------------------------------------------------------------------------------

static const plait_runtime fused = {.kernels = {.fused_norm = true,
                                                .fused_residual = true,
                                                .fused_rotary = true,
                                                .fused_activation = true,
                                                .fused_permute = true}};

static plait_shard shard_of(int tp, bool sp)
{
    return (plait_shard){.tp = tp,
                         .cp = 1,
                         .ep = 1,
                         .etp = 1,
                         .sp = sp,
                         .attention = PLAIT_ATTENTION_FUSED,
                         .runtime = &fused};
}

/* DeepSeek-V4-Flash: 64 heads of 512 over one key, ratios 0, 4 (with an indexer) and 128. */
static plait_layer flash_layer(int compress)
{
    plait_layer layer = {.name = "flash",
                         .norms = 2,
                         .mixer = PLAIT_MIXER_ATTENTION,
                         .attention = {.heads = 64,
                                       .kv_heads = 1,
                                       .head_dim = 512,
                                       .window = 128,
                                       .qk_norm = true,
                                       .rotary = true,
                                       .shared_kv = true,
                                       .sinks = true,
                                       .q_rank = 1024,
                                       .out_groups = 8,
                                       .out_rank = 1024,
                                       .compress = compress},
                         .ffn = PLAIT_FFN_MOE,
                         .moe = {.experts = 256,
                                 .topk = 6,
                                 .width = 2048,
                                 .shared_width = 2048,
                                 .gated = true,
                                 .router_bias = true}};

    if (compress == 4) {
        layer.attention.index_heads = 64;
        layer.attention.index_dim = 128;
        layer.attention.index_topk = 512;
    }
    return layer;
}

static const plait_model flash = {.hidden = 4096, .vocab = 129280, .layers = 1, .kinds = 1};

static plait_block describe(const plait_model *model, const plait_layer *layer, plait_shard shard,
                            plait_pass pass)
{
    plait_block block;

    plait_block_describe(model, layer, &shard, pass, &block);
    return block;
}

static plait_block forward_of(const plait_model *model, const plait_layer *layer, plait_shard shard,
                              double seq)
{
    return describe(model, layer, shard, (plait_pass){PLAIT_FORWARD, 1.0, seq, seq});
}

static plait_layer without_ffn(plait_layer layer)
{
    layer.ffn = PLAIT_FFN_NONE;
    layer.norms = 1;
    return layer;
}

static const plait_op *op_of(const plait_block *block, plait_op_kind kind, plait_part part, int nth)
{
    for (int i = 0; i < block->ops; i++)
        if (block->op[i].part == part && block->op[i].kind == kind && nth-- == 0)
            return &block->op[i];
    fail_msg("no %s", plait_part_name[part]);
    return NULL;
}

static double bytes_of(const plait_block *block, plait_op_kind kind, plait_part part)
{
    double bytes = 0.0;

    for (int i = 0; i < block->ops; i++)
        if (block->op[i].part == part && block->op[i].kind == kind)
            bytes += block->op[i].count * block->op[i].bytes;
    return bytes;
}

// ---- DeepSeek-V4 ---------------------------------------------------------------------------

/* h -> 1024 -> 64 x 512, h -> 512; 8 groups of 4096 -> 1024, 8192 -> h; norms 1024 + 512, 64 sinks,
 * and the norm of the layer. Ratio 4: key and score of 2 x 512, biases of 4 positions, a norm; the
 * indexer 1024 -> 8192, h -> 64, and a compressor of 2 x 128. Ratio 128: 512, 128 positions. */
static void test_compressed_attention__has_the_published_weights(void **state)
{
    static const double plain = 4096.0 * 1024 + 1024 + 1024.0 * 32768 + 4096.0 * 512 + 512 + 64 +
                                8.0 * 4096 * 1024 + 8192.0 * 4096 + 4096;
    static const double by_four = 2.0 * 4096 * 1024 + 4 * 1024 + 512;
    static const double indexer = 1024.0 * 8192 + 4096.0 * 64 + 2.0 * 4096 * 256 + 4 * 256 + 128;
    static const double by_128 = 2.0 * 4096 * 512 + 128.0 * 512 + 512;
    const struct {
        int compress;
        double weights;
    } cases[] = {{0, plain}, {4, plain + by_four + indexer}, {128, plain + by_128}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const plait_layer layer = without_ffn(flash_layer(cases[i].compress));
        const plait_block block = forward_of(&flash, &layer, shard_of(1, false), 4096.0);

        assert_near(block.weights.dense, cases[i].weights, 0.0);
        assert_near(block.weights.expert, 0.0, 0.0);
    }
}

/* 43 layers, 284.4 B parameters of which 13 B to 13.9 B are active (model card). */
static void test_flash__has_the_parameters_of_its_card(void **state)
{
    const plait_layer kinds[] = {flash_layer(0), flash_layer(4), flash_layer(128)};
    unsigned char layer_kind[43];
    plait_model model = flash;

    (void)state;
    for (int i = 0; i < 43; i++)
        layer_kind[i] = (unsigned char)(i < 2 ? 0 : i % 2 == 0 ? 1 : 2);
    model.layers = 43;
    model.kinds = 3;
    model.kind = kinds;
    model.layer_kind = layer_kind;
    model.streams = 4;
    const plait_params params = plait_model_params(&model);
    assert_near_relative(params.total, 284.4e9, 1e-3);
    assert_true(params.active > 13.0e9 && params.active < 13.9e9);
}

/* Sum over the queries 1 .. s of min(i, 128) + min(i / ratio, most), quotients rounded down. */
static double keys_by_hand(int first, int s, int ratio, int most)
{
    double sum = 0.0;

    for (int i = first; i <= s; i++)
        sum += (i < 128 ? i : 128) + (i / ratio < most ? i / ratio : most);
    return sum / (s - first + 1);
}

/* The core attention of a token takes 2 x 64 heads x (512 + 512) FLOPs a key. */
static void test_compressed_attention__attends_to_window_and_compressed_keys(void **state)
{
    const struct {
        int compress, s, most;
    } cases[] = {{4, 4096, 512}, {4, 1024, 512}, {128, 4096, 4096}, {128, 1000, 4096}, {4, 3, 512}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int s = cases[i].s;
        const plait_layer layer = flash_layer(cases[i].compress);
        const double keys = keys_by_hand(1, s, cases[i].compress, cases[i].most);
        const plait_block block = forward_of(&flash, &layer, shard_of(1, false), s);
        const plait_op *core = op_of(&block, PLAIT_OP_ATTENTION, PLAIT_PART_core_attn, 0);

        assert_near_relative(core->flops, 2.0 * s * 64 * 1024 * keys, 1e-12);
        assert_near_relative(core->model_flops, s > 128 ? core->flops : core->model_flops, 1e-12);
    }
    // the last 24 of 1000 tokens as queries, after 976 cached ones
    const plait_layer layer = flash_layer(128);
    const plait_block block = describe(&flash, &layer, shard_of(1, false),
                                       (plait_pass){PLAIT_PREFILL, 1.0, 24.0, 1000.0});
    assert_near_relative(op_of(&block, PLAIT_OP_ATTENTION, PLAIT_PART_core_attn, 0)->flops,
                         2.0 * 24 * 64 * 1024 * keys_by_hand(977, 1000, 128, 4096), 1e-12);
}

/* The indexer compares a query with all compressed keys, i / 4 for query i, in 64 heads of 128. */
static void test_indexer__scores_compressed_keys(void **state)
{
    const plait_layer layer = flash_layer(4);
    const plait_block block = forward_of(&flash, &layer, shard_of(1, false), 4096.0);
    double pairs = 0.0;

    (void)state;
    for (int i = 1; i <= 4096; i++)
        pairs += i / 4;
    const plait_op *scores = op_of(&block, PLAIT_OP_SCAN, PLAIT_PART_indexer, 0);
    assert_near_relative(scores->flops, 2.0 * pairs * 8192.0, 1e-12);
    assert_near_relative(scores->bytes, 4.0 * pairs, 1e-12);
}

/* A sparse kernel runs even if the plan's attention is unfused: no scores are kept. */
static void test_compressed_attention__keeps_no_scores(void **state)
{
    plait_shard shard = shard_of(1, false);
    const plait_layer layer = flash_layer(4);

    (void)state;
    shard.attention = PLAIT_ATTENTION_UNFUSED;
    const plait_block block = forward_of(&flash, &layer, shard, 1024.0);
    assert_near(block.saved[PLAIT_TENSOR_scores], 0.0, 0.0);
    // a token: 1024 before and after its norm, and 8 x 1024 between the output's products
    assert_near(block.saved[PLAIT_TENSOR_latent], 1024.0 * (2 * 1024 + 8 * 1024), 0.0);
    // queries and keys; key and score of the compressor, 2 x 512 each in fp32; 512/4 twice
    assert_near(block.saved[PLAIT_TENSOR_qkv], 1024.0 * (64 * 512 + 512 + 2 * 2 * 1024 + 2 * 128),
                0.0);
}

/* 8 ranks: 8 heads and one group each; the key, the compressor and the indexer are copies. */
static void test_compressed_attention__is_cut_by_heads_and_groups(void **state)
{
    const plait_layer layer = without_ffn(flash_layer(4));
    const plait_block one = forward_of(&flash, &layer, shard_of(1, false), 1024.0);
    const plait_block part = forward_of(&flash, &layer, shard_of(8, true), 1024.0);
    const double cut = 1024.0 * 32768 + 8.0 * 4096 * 1024 + 8192.0 * 4096 + 64.0;
    const plait_op *groups = op_of(&part, PLAIT_OP_GEMM, PLAIT_PART_attn_out, 0);

    (void)state;
    assert_near(part.weights.dense, one.weights.dense - cut * 7.0 / 8.0, 0.0);
    assert_near(groups->batch, 1.0, 0.0);
    assert_near(groups->k, 4096.0, 0.0);
    assert_near(groups->n, 1024.0, 0.0);
    const plait_op *all = op_of(&one, PLAIT_OP_GEMM, PLAIT_PART_attn_out, 0);
    assert_near(all->batch, 8.0, 0.0);
    assert_near(all->flops, 2.0 * 1024 * 8 * 4096 * 1024, 0.0);
}

/* A gather of context ranks has each key once, and one compressed key for 4 tokens. */
static void test_context_ranks__exchange_compressed_keys(void **state)
{
    const plait_layer layer = flash_layer(4);
    plait_shard shard = shard_of(1, false);

    (void)state;
    shard.cp = 2;
    shard.cp_comm = PLAIT_CP_ALLGATHER;
    const plait_block block = forward_of(&flash, &layer, shard, 1024.0);
    assert_near(bytes_of(&block, PLAIT_OP_COLLECTIVE, PLAIT_PART_core_attn),
                2.0 * 1024.0 * 512.0 * 1.25, 0.0);
}

/* SGLang: 584 bytes a key in fp8 (448 + 2 x 64 + 8), 1024 in 16 bits; an indexer's key 132; states
 * of 8 x 8192 and 8 x 2048 bytes for ratio 4, of 128 x 4096 for 128. */
static void test_cache__is_that_of_sglang(void **state)
{
    const plait_pass decode = {PLAIT_DECODE, 1.0, 1.0, 10000.0};
    plait_shard shard = shard_of(8, false);
    const plait_layer by_four = flash_layer(4), by_128 = flash_layer(128);

    (void)state;
    plait_block block = describe(&flash, &by_four, shard, decode);
    assert_near(block.cache.width, 512.0, 0.0);
    assert_near(block.cache.reach, 128.0, 0.0);
    assert_near(block.cache.compressed, 512.0 / 4.0, 0.0);
    assert_near(block.cache.index, 132.0 / 4.0, 0.0);
    assert_near(block.cache.state, 8.0 * 8192 + 8.0 * 2048, 0.0);
    shard.cache_bytes = 1.0;
    block = describe(&flash, &by_128, shard, decode);
    assert_near(block.cache.width, 584.0, 0.0);
    assert_near(block.cache.compressed, 584.0 / 128.0, 1e-12);
    assert_near(block.cache.index, 0.0, 0.0);
    assert_near(block.cache.state, 128.0 * 4096, 0.0);
    // one query reads 128 keys and 78 compressed keys
    const plait_op *core = op_of(&block, PLAIT_OP_ATTENTION, PLAIT_PART_core_attn, 0);
    assert_near(core->bytes, 2.0 * 1024 * 8 + (128.0 + 78.0) * 584.0, 1e-6);
}

/* 4 streams: half a layer has 24 x 16384 weights, 24 biases, 3 scales; the head 4 x 16384 + 4 + 1.
 * Bytes of a token and element of h, forward: 2 (n + 1) before and 2 (2 n + 1) after a half. */
static void test_streams__are_mixed_around_each_half(void **state)
{
    const plait_layer layer = flash_layer(0);
    const plait_shard shard = shard_of(1, false);
    plait_model model = flash;
    const double T = 1024.0, h = 4096.0;
    plait_block head[2];

    (void)state;
    const plait_block one = forward_of(&model, &layer, shard, T);
    plait_block_head(&model, &shard, (plait_pass){PLAIT_FORWARD, 1.0, T, T}, &head[0]);
    model.streams = 4;
    const plait_block four = forward_of(&model, &layer, shard, T);
    plait_block_head(&model, &shard, (plait_pass){PLAIT_FORWARD, 1.0, T, T}, &head[1]);
    assert_near(four.weights.dense - one.weights.dense, 2.0 * (24.0 * 16384 + 24 + 3), 0.0);
    assert_near(head[1].weights.dense - head[0].weights.dense, 4.0 * 16384 + 4 + 1, 0.0);
    assert_near(bytes_of(&four, PLAIT_OP_MEMORY, PLAIT_PART_residual), 2.0 * T * h * (10 + 18),
                0.0);
    assert_near(bytes_of(&one, PLAIT_OP_MEMORY, PLAIT_PART_residual), 2.0 * T * h * 6, 0.0);
    // a half keeps its 4 input streams and its output, besides the input of its norm
    assert_near(four.saved[PLAIT_TENSOR_norm_in] - one.saved[PLAIT_TENSOR_norm_in],
                2.0 * T * h * 5.0, 0.0);
    // the product of the coefficients stays in 16 bits
    const plait_op *mixing = op_of(&four, PLAIT_OP_GEMM, PLAIT_PART_residual, 0);
    assert_false(mixing->matrix_precision);
    assert_near(mixing->flops, 2.0 * T * 16384 * 24, 0.0);
    assert_near(model_sent_width(&model), 4.0 * h, 0.0);
    assert_near(model_kept_width(&model), 4.0 * h, 0.0);
    // sequence parallelism divides the streams
    const plait_block part = forward_of(&model, &layer, shard_of(8, true), T);
    assert_near(bytes_of(&part, PLAIT_OP_MEMORY, PLAIT_PART_residual), T / 4.0 * h * 28, 0.0);
}

/* Bytes per token and element of h, backward: 2 (2 n + 1) before and 2 (3 n + 2) after a half. */
static void test_streams__cost_more_backward(void **state)
{
    const plait_layer layer = without_ffn(flash_layer(0));
    plait_model model = flash;

    (void)state;
    model.streams = 4;
    const plait_block back = describe(&model, &layer, shard_of(1, false),
                                      (plait_pass){PLAIT_BACKWARD, 1.0, 1024.0, 1024.0});
    assert_near(bytes_of(&back, PLAIT_OP_MEMORY, PLAIT_PART_residual), 1024.0 * 4096.0 * (18 + 28),
                0.0);
}

// ---- Kimi K3 -------------------------------------------------------------------------------

/* 93 layers in blocks of 12: 400 / 93 blocks before the mixers, 408 / 93 before the other halves;
 * two halves have a query and a norm each, and so does the head. */
static void test_attention_residuals__read_the_earlier_blocks(void **state)
{
    const plait_layer layer = flash_layer(0);
    plait_model model = flash;
    const double T = 1024.0, h = 4096.0;
    const double before[] = {400.0 / 93.0, 408.0 / 93.0};

    (void)state;
    model.layers = 93;
    const plait_block plain = forward_of(&model, &layer, shard_of(1, false), T);
    model.residual_block = 12;
    const plait_block block = forward_of(&model, &layer, shard_of(1, false), T);
    assert_near(model_mean_blocks(&model, false), before[0], 1e-12);
    assert_near(model_mean_blocks(&model, true), before[1], 1e-12);
    assert_near(block.weights.dense - plain.weights.dense, 2.0 * 2.0 * h, 0.0);
    // a kernel reads the blocks and the sum, and writes one tensor
    assert_near_relative(bytes_of(&block, PLAIT_OP_MEMORY, PLAIT_PART_residual) -
                             bytes_of(&plain, PLAIT_OP_MEMORY, PLAIT_PART_residual),
                         2.0 * T * h * (before[0] + before[1] + 4.0), 1e-12);
    // two sums, and one block for 12 layers
    assert_near_relative(block.saved[PLAIT_TENSOR_norm_in] - plain.saved[PLAIT_TENSOR_norm_in],
                         T * h * (2.0 + 1.0 / 12.0), 1e-12);
    // between layers travel the sum and the mean of ceil(i / 12) blocks over i = 1 .. 92
    assert_near_relative(model_sent_width(&model), h * (1.0 + 400.0 / 92.0), 1e-12);
    assert_near_relative(model_kept_width(&model), h * (1.0 + 1.0 / 12.0), 1e-12);
}

/* h -> 96 x 128, cut by tp, kept as the queries are; a product with the output of the core. */
static void test_latent_attention__may_have_an_output_gate(void **state)
{
    plait_layer layer = {.norms = 1,
                         .mixer = PLAIT_MIXER_MLA,
                         .mla = {.heads = 96,
                                 .q_rank = 1536,
                                 .kv_rank = 512,
                                 .nope_dim = 128,
                                 .rope_dim = 64,
                                 .v_dim = 128}};
    const plait_model model = {.hidden = 7168, .vocab = 1000, .layers = 1, .kinds = 1};
    const plait_block plain = forward_of(&model, &layer, shard_of(4, true), 512.0);

    (void)state;
    layer.mla.gate = true;
    const plait_block gated = forward_of(&model, &layer, shard_of(4, true), 512.0);
    assert_near(gated.weights.dense - plain.weights.dense, 7168.0 * 24 * 128, 0.0);
    assert_near(gated.saved[PLAIT_TENSOR_qkv] - plain.saved[PLAIT_TENSOR_qkv], 512.0 * 24 * 128,
                0.0);
    assert_near(bytes_of(&gated, PLAIT_OP_MEMORY, PLAIT_PART_core_attn), 6.0 * 512 * 24 * 128, 0.0);
}

/* GLM-5.2: an indexer h -> 128 and h -> 32, 2048 -> 32 x 128, a norm of 128 with bias; the layers
 * after it have none, but attend to its 2048 keys, too. */
static void test_latent_attention__may_reuse_an_indexer(void **state)
{
    plait_layer layer = {.norms = 1,
                         .mixer = PLAIT_MIXER_MLA,
                         .mla = {.heads = 64,
                                 .q_rank = 2048,
                                 .kv_rank = 512,
                                 .nope_dim = 192,
                                 .rope_dim = 64,
                                 .v_dim = 256,
                                 .index_heads = 32,
                                 .index_dim = 128,
                                 .index_topk = 2048}};
    const plait_model model = {.hidden = 6144, .vocab = 1000, .layers = 1, .kinds = 1};
    const plait_block own = forward_of(&model, &layer, shard_of(1, false), 8192.0);

    (void)state;
    layer.mla.index_heads = layer.mla.index_dim = 0;
    const plait_block reused = forward_of(&model, &layer, shard_of(1, false), 8192.0);
    assert_near(own.weights.dense - reused.weights.dense,
                6144.0 * 128 + 6144.0 * 32 + 2048.0 * 32 * 128 + 2.0 * 128, 0.0);
    for (int i = 0; i < reused.ops; i++)
        assert_int_not_equal(reused.op[i].part, PLAIT_PART_indexer);
    const plait_op *core = op_of(&reused, PLAIT_OP_ATTENTION, PLAIT_PART_core_attn, 0);
    assert_near(core->flops, 2.0 * 8192 * 64 * (256 + 256) * 2048, 0.0);
    assert_near(op_of(&own, PLAIT_OP_ATTENTION, PLAIT_PART_core_attn, 0)->flops, core->flops, 0.0);
    assert_near(own.cache.index, 132.0, 0.0);
    assert_near(reused.cache.index, 0.0, 0.0);
    assert_near(reused.cache.width, 512.0 + 64.0, 0.0);
}

// ---- grouped-query attention ---------------------------------------------------------------

/* Gemma 4 E2B, a full layer: h -> 8 x 512, and unless reused h -> 2 x 512; 8 x 512 -> h; norms of q
 * and of k, and the norm of the layer. */
static void test_reused_keys__have_no_weights_and_no_cache(void **state)
{
    static const double queries = 2.0 * 1536 * 8 * 512 + 512 + 1536;
    plait_layer layer = {
        .norms = 1,
        .mixer = PLAIT_MIXER_ATTENTION,
        .attention = {.heads = 8, .kv_heads = 1, .head_dim = 512, .qk_norm = true, .rotary = true}};
    const plait_model model = {.hidden = 1536, .vocab = 1000, .layers = 1, .kinds = 1};
    const plait_pass decode = {PLAIT_DECODE, 1.0, 1.0, 1000.0};
    const plait_block own = forward_of(&model, &layer, shard_of(1, false), 256.0);
    const plait_block own_decode = describe(&model, &layer, shard_of(1, false), decode);

    (void)state;
    layer.attention.reused_kv = true;
    const plait_block reused = forward_of(&model, &layer, shard_of(1, false), 256.0);
    const plait_block reused_decode = describe(&model, &layer, shard_of(1, false), decode);
    assert_near(own.weights.dense, queries + 2.0 * 1536 * 512 + 512, 0.0);
    assert_near(reused.weights.dense, queries, 0.0);
    assert_near(op_of(&reused, PLAIT_OP_GEMM, PLAIT_PART_qkv, 0)->flops, 2.0 * 256 * 1536 * 4096,
                0.0);
    assert_near(reused.saved[PLAIT_TENSOR_qkv], 256.0 * 4096, 0.0);
    assert_near(reused.saved[PLAIT_TENSOR_keys], 0.0, 0.0);
    assert_near(reused.saved[PLAIT_TENSOR_rotary], 256.0 * 4096, 0.0);
    assert_near(own_decode.cache.width, 1024.0, 0.0);
    assert_near(reused_decode.cache.width, 0.0, 0.0);
    // both attend to the same keys, which they read from a cache
    const plait_op *core = op_of(&reused_decode, PLAIT_OP_ATTENTION, PLAIT_PART_core_attn, 0);
    assert_near(core->bytes, 2.0 * 1024 * 8 + 2.0 * 1000 * 1024, 0.0);
    assert_near(op_of(&own_decode, PLAIT_OP_ATTENTION, PLAIT_PART_core_attn, 0)->bytes, core->bytes,
                0.0);
    assert_near(op_of(&own, PLAIT_OP_ATTENTION, PLAIT_PART_core_attn, 0)->flops,
                op_of(&reused, PLAIT_OP_ATTENTION, PLAIT_PART_core_attn, 0)->flops, 0.0);
}

/* MiMo-V2-Flash, a full layer: 64 heads of 192 over 4 keys of 192 and 4 values of 128. */
static void test_values__may_be_narrower_than_keys(void **state)
{
    const plait_layer layer = {
        .norms = 1,
        .mixer = PLAIT_MIXER_ATTENTION,
        .attention = {.heads = 64, .kv_heads = 4, .head_dim = 192, .v_dim = 128, .rotary = true}};
    const plait_model model = {.hidden = 4096, .vocab = 1000, .layers = 1, .kinds = 1};
    const plait_block block = forward_of(&model, &layer, shard_of(1, false), 512.0);

    (void)state;
    assert_near(block.weights.dense,
                4096.0 * (64 * 192 + 4 * 192 + 4 * 128) + 64.0 * 128 * 4096 + 4096, 0.0);
    const plait_op *core = op_of(&block, PLAIT_OP_ATTENTION, PLAIT_PART_core_attn, 0);
    assert_near(core->flops, 2.0 * 512 * 64 * (192 + 128) * 513 / 2, 0.0);
    assert_near(core->bytes, 2.0 * 512 * (64 + 4) * (192 + 128), 0.0);
    assert_near(block.saved[PLAIT_TENSOR_qkv], 512.0 * (64 * 192 + 4 * 128), 0.0);
    assert_near(block.saved[PLAIT_TENSOR_keys], 512.0 * 4 * 192, 0.0);
    assert_near(block.saved[PLAIT_TENSOR_rotary], 512.0 * 68 * 192, 0.0);
    assert_near(block.saved[PLAIT_TENSOR_core_out], 512.0 * 64 * 128, 0.0);
    assert_near(block.cache.width, 4.0 * (192 + 128), 0.0);
    const plait_block part = forward_of(&model, &layer, shard_of(4, true), 512.0);
    assert_near(part.cache.width, 192.0 + 128.0, 0.0);
    assert_near(part.weights.dense - 4096.0, (block.weights.dense - 4096.0) / 4.0, 0.0);
}

// ---- experts -------------------------------------------------------------------------------

/* Nemotron 3 Super: tokens of 4096 become latents of 1024, which 22 of 512 experts read. */
static plait_layer latent_layer(void)
{
    return (plait_layer){
        .norms = 1,
        .ffn = PLAIT_FFN_MOE,
        .moe = {.experts = 512, .topk = 22, .width = 2688, .shared_width = 5376, .latent = 1024}};
}

/* Two projections 4096 x 1024, whole on every rank; experts of 2 x 2688 x 1024; the router and the
 * shared expert keep the hidden width. */
static void test_latent_experts__are_as_wide_as_the_latent(void **state)
{
    const plait_layer layer = latent_layer();
    plait_shard shard = shard_of(4, true);

    (void)state;
    shard.ep = 4;
    const double T = 1024.0, sent = T / 4.0;
    const plait_block block = forward_of(&flash, &layer, shard, T);
    assert_near(block.weights.dense,
                4096.0 + 4096.0 * 512 + 2.0 * 4096 * 1024 + 2.0 * 4096 * 5376 / 4, 0.0);
    assert_near(block.weights.expert, 128.0 * 2.0 * 2688 * 1024, 0.0);
    for (int i = 0; i < block.ops; i++)
        if (block.op[i].axis == PLAIT_AXIS_EP && block.op[i].kind == PLAIT_OP_COLLECTIVE)
            assert_near(block.op[i].bytes, 2.0 * sent * 22 * 1024, 0.0);
    // each rank projects its own tokens
    for (int i = 0; i < 2; i++)
        assert_near(op_of(&block, PLAIT_OP_GEMM, PLAIT_PART_moe_latent, i)->flops,
                    2.0 * sent * 4096 * 1024, 0.0);
    assert_near(op_of(&block, PLAIT_OP_GROUPED_GEMM, PLAIT_PART_expert_fc1, 0)->k, 1024.0, 0.0);
    // tokens as experts receive them, and the sum that the second projection reads
    assert_near(block.saved[PLAIT_TENSOR_routed], sent * 22 * 1024 + sent * 1024, 0.0);
    assert_near(block.saved[PLAIT_TENSOR_routed_out], sent * 22 * 1024, 0.0);
    assert_near(bytes_of(&block, PLAIT_OP_MEMORY, PLAIT_PART_dispatch), 4.0 * sent * 22 * 1024,
                0.0);
}

/* A norm needs the sum of the experts' outputs, so serving reduces the latent; else the output. */
static void test_latent_experts__are_summed_before_a_norm(void **state)
{
    plait_layer layer = latent_layer();
    plait_shard shard = shard_of(4, false);
    const plait_pass decode = {PLAIT_DECODE, 8.0, 1.0, 100.0};

    (void)state;
    shard.etp = 4;
    plait_block block = describe(&flash, &layer, shard, decode);
    assert_near(bytes_of(&block, PLAIT_OP_COLLECTIVE, PLAIT_PART_combine), 2.0 * 8 * 4096, 0.0);
    assert_near(bytes_of(&block, PLAIT_OP_COLLECTIVE, PLAIT_PART_shared), 0.0, 0.0);
    const double weights = block.weights.dense;
    layer.moe.latent_norm = true;
    block = describe(&flash, &layer, shard, decode);
    assert_near(bytes_of(&block, PLAIT_OP_COLLECTIVE, PLAIT_PART_combine), 2.0 * 8 * 1024, 0.0);
    assert_near(bytes_of(&block, PLAIT_OP_COLLECTIVE, PLAIT_PART_shared), 2.0 * 8 * 4096, 0.0);
    assert_near(block.weights.dense - weights, 1024.0, 0.0);
}

/* LongCat-Flash: 12 of 512 experts and 256 without computation, so 8 on average. */
static void test_zero_experts__take_a_third_of_the_choices(void **state)
{
    plait_layer layer = {
        .norms = 1,
        .ffn = PLAIT_FFN_MOE,
        .moe = {.experts = 512, .topk = 12, .width = 2048, .gated = true, .zero_experts = 256}};
    plait_model model = {.hidden = 6144,
                         .vocab = 1000,
                         .layers = 1,
                         .kinds = 1,
                         .kind = &layer,
                         .layer_kind = (const unsigned char[]){0}};
    plait_shard shard = shard_of(1, false);

    (void)state;
    shard.ep = 8;
    const plait_block block = forward_of(&model, &layer, shard, 512.0);
    const plait_op *fc1 = op_of(&block, PLAIT_OP_GROUPED_GEMM, PLAIT_PART_expert_fc1, 0);
    assert_near(moe_mean_topk(&layer.moe), 8.0, 1e-12);
    assert_near(fc1->batch * fc1->m, 512.0 * 8.0, 1e-9);
    assert_near(block.weights.dense, 6144.0 * (512 + 256) + 6144.0, 0.0);
    const plait_op *sent = op_of(&block, PLAIT_OP_COLLECTIVE, PLAIT_PART_dispatch, 0);
    assert_near(sent->bytes, 2.0 * 512 * 8 * 6144, 1e-6);
    assert_near(sent->topk, 8.0, 1e-12);
    const plait_params params = plait_model_params(&model);
    assert_near_relative(params.total - params.active, 3.0 * 6144 * 2048 * (512 - 8), 1e-12);
}

// ---- Gemma 3n and 4 ------------------------------------------------------------------------

/* LAuReL: 2 x h x 64 and a norm. Per-layer embeddings: h x 256 twice and a norm a layer; a table of
 * 1000 rows of 2 x 256, h -> 512 and a norm of 256 before the first layer. */
static void test_further_branches__have_their_weights(void **state)
{
    plait_layer layer = {.norms = 2,
                         .mixer = PLAIT_MIXER_ATTENTION,
                         .attention = {.heads = 8, .kv_heads = 2, .head_dim = 256},
                         .ffn = PLAIT_FFN_MLP,
                         .mlp = {.width = 8192, .gated = true}};
    plait_model model = {.hidden = 2048,
                         .vocab = 1000,
                         .layers = 2,
                         .kinds = 1,
                         .kind = &layer,
                         .layer_kind = (const unsigned char[]){0, 0},
                         .tied = true};
    const double T = 512.0, h = 2048.0;

    (void)state;
    const plait_block plain = forward_of(&model, &layer, shard_of(2, true), T);
    const plait_params before = plait_model_params(&model);
    layer.laurel_rank = 64;
    layer.per_layer_dim = 256;
    model.per_layer_vocab = 1000;
    const plait_block block = forward_of(&model, &layer, shard_of(2, true), T);
    const plait_params after = plait_model_params(&model);
    const double more = 2.0 * h * 64 + h + 2.0 * h * 256 + h;
    const double first = h * 512 + 256;
    assert_near(block.weights.dense - plain.weights.dense, more, 0.0);
    assert_near(after.total - before.total, 2.0 * more + first + 1000.0 * 512, 0.0);
    assert_near(after.active - before.active, 2.0 * more + first, 0.0);
    // each rank has half of the tokens; 64; 256 before and after the gate
    assert_near(block.saved[PLAIT_TENSOR_latent], T / 2.0 * (64 + 2 * 256), 0.0);
    double flops = 0.0;
    for (int i = 0; i < block.ops; i++)
        if (block.op[i].kind == PLAIT_OP_GEMM && block.op[i].part == PLAIT_PART_residual)
            flops += block.op[i].flops;
    assert_near(flops, 2.0 * T / 2.0 * h * (2 * 64 + 2 * 256), 0.0);
}

// ---- limits --------------------------------------------------------------------------------

/* A layer with every branch at once, on ranks of all kinds: its operators and inputs fit a block. */
static void test_all_branches__fit_a_block(void **state)
{
    plait_layer layer = flash_layer(4);
    plait_model model = flash;
    plait_shard shard = shard_of(2, true);
    const unsigned char layer_kind[] = {0};

    (void)state;
    layer.second_mixer = PLAIT_MIXER_MAMBA;
    layer.mamba = (plait_mamba){.inner = 4096, .state = 16, .conv = 4, .dt_rank = 256};
    layer.attention.gate = true;
    layer.norms = 4;
    layer.moe.latent = 1024;
    layer.moe.latent_norm = layer.moe.bias = layer.moe.shared_gate = true;
    layer.moe.zero_experts = 16;
    layer.laurel_rank = 64;
    layer.per_layer_dim = 256;
    model.kind = &layer;
    model.layer_kind = layer_kind;
    model.streams = 4;
    model.residual_block = 1;
    shard.cp = shard.ep = shard.etp = 2;
    for (int parallel = 0; parallel < 2; parallel++) {
        layer.parallel_residual = parallel;
        const plait_block block =
            describe(&model, &layer, shard, (plait_pass){PLAIT_BACKWARD, 1.0, 1024.0, 1024.0});

        print_message("%d operators\n", block.ops);
        assert_true(block.ops <= PLAIT_MAX_OPS - 16);
        for (int i = 0; i < block.ops; i++)
            assert_true(block.op[i].place.inputs <= PLAIT_MAX_READS &&
                        isfinite(block.op[i].bytes) && block.op[i].bytes >= 0.0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_compressed_attention__has_the_published_weights),
        cmocka_unit_test(test_flash__has_the_parameters_of_its_card),
        cmocka_unit_test(test_compressed_attention__attends_to_window_and_compressed_keys),
        cmocka_unit_test(test_indexer__scores_compressed_keys),
        cmocka_unit_test(test_compressed_attention__keeps_no_scores),
        cmocka_unit_test(test_compressed_attention__is_cut_by_heads_and_groups),
        cmocka_unit_test(test_context_ranks__exchange_compressed_keys),
        cmocka_unit_test(test_cache__is_that_of_sglang),
        cmocka_unit_test(test_streams__are_mixed_around_each_half),
        cmocka_unit_test(test_streams__cost_more_backward),
        cmocka_unit_test(test_attention_residuals__read_the_earlier_blocks),
        cmocka_unit_test(test_latent_attention__may_have_an_output_gate),
        cmocka_unit_test(test_latent_attention__may_reuse_an_indexer),
        cmocka_unit_test(test_reused_keys__have_no_weights_and_no_cache),
        cmocka_unit_test(test_values__may_be_narrower_than_keys),
        cmocka_unit_test(test_latent_experts__are_as_wide_as_the_latent),
        cmocka_unit_test(test_latent_experts__are_summed_before_a_norm),
        cmocka_unit_test(test_zero_experts__take_a_third_of_the_choices),
        cmocka_unit_test(test_further_branches__have_their_weights),
        cmocka_unit_test(test_all_branches__fit_a_block),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
