/*
 * test_block_mixers.c - recurrent mixers: weights, FLOPs, kept tensors and states, counted by hand
 * for published models
 */
#include "support/assert_near.h"
#include "plait/lowlevel/block.h"
#include "plait/runtime.h"

static const plait_runtime bare = {0};

/* A mixer alone after one norm, with hidden width `hidden`. */
typedef struct one_layer {
    plait_model model;
    plait_layer layer;
    plait_shard shard;
} one_layer;

static one_layer layer_of(int hidden, plait_mixer_kind mixer)
{
    return (one_layer){
        .model = {.hidden = hidden, .vocab = 1000, .layers = 1, .kinds = 1},
        .layer = {.norms = 1, .mixer = mixer},
        .shard = {.tp = 1,
                  .cp = 1,
                  .ep = 1,
                  .etp = 1,
                  .attention = PLAIT_ATTENTION_FUSED,
                  .runtime = &bare},
    };
}

/* Nemotron-3-Nano: 64 heads of 64, 8 groups, state 128, chunks of 128. */
static one_layer nemotron(void)
{
    one_layer x = layer_of(2688, PLAIT_MIXER_MAMBA);

    x.layer.mamba = (plait_mamba){
        .inner = 4096, .state = 128, .conv = 4, .heads = 64, .groups = 8, .chunk = 128};
    return x;
}

/* Kimi-Linear-48B-A3B: 32 heads of 128, both low ranks 128. */
static one_layer kimi(void)
{
    one_layer x = layer_of(2304, PLAIT_MIXER_DELTA_NET);

    x.layer.delta_net = (plait_delta_net){.key_heads = 32,
                                          .value_heads = 32,
                                          .key_dim = 128,
                                          .value_dim = 128,
                                          .conv = 4,
                                          .decay_rank = 128,
                                          .gate_rank = 128};
    return x;
}

/* MiniMax-01: 64 heads of 128. */
static one_layer minimax(void)
{
    one_layer x = layer_of(6144, PLAIT_MIXER_DELTA_NET);

    x.layer.delta_net = (plait_delta_net){
        .key_heads = 64, .value_heads = 64, .key_dim = 128, .value_dim = 128, .plain = true};
    return x;
}

/* LFM2-1.2B */
static one_layer lfm2(void)
{
    one_layer x = layer_of(2048, PLAIT_MIXER_CONV);

    x.layer.conv = (plait_conv){.width = 2048, .kernel = 3};
    return x;
}

/* RecurrentGemma-2B */
static one_layer griffin(void)
{
    one_layer x = layer_of(2560, PLAIT_MIXER_CONV);

    x.layer.conv = (plait_conv){.width = 2560, .kernel = 4, .blocks = 10, .bias = true};
    return x;
}

static plait_block describe(const one_layer *x, plait_pass_kind kind, double tokens, double context)
{
    plait_block block;

    plait_block_describe(&x->model, &x->layer, &x->shard, (plait_pass){kind, 1.0, tokens, context},
                         &block);
    return block;
}

/* The description of one token of a forward pass, whose sums are those per token. */
static plait_block token_of(const one_layer *x)
{
    return describe(x, PLAIT_FORWARD, 1.0, 1.0);
}

static double flops_of(const plait_block *block, plait_op_kind kind)
{
    double flops = 0.0;

    for (int i = 0; i < block->ops; i++)
        if (block->op[i].kind == kind)
            flops += block->op[i].count * block->op[i].flops;
    return flops;
}

static double scan_bytes(const plait_block *block)
{
    double bytes = 0.0;

    for (int i = 0; i < block->ops; i++)
        if (block->op[i].kind == PLAIT_OP_SCAN)
            bytes += block->op[i].bytes;
    return bytes;
}

static double collectives(const plait_block *block, plait_axis axis, double *bytes)
{
    double count = 0.0;

    *bytes = 0.0;
    for (int i = 0; i < block->ops; i++)
        if (block->op[i].kind == PLAIT_OP_COLLECTIVE && block->op[i].axis == axis) {
            count += block->op[i].count;
            *bytes += block->op[i].count * block->op[i].bytes;
        }
    return count;
}

/* Elements that a mixer keeps, without the norm before it. */
static double kept(const plait_block *block)
{
    return block->saved[PLAIT_TENSOR_qkv] + block->saved[PLAIT_TENSOR_latent] +
           block->saved[PLAIT_TENSOR_scan] + block->saved[PLAIT_TENSOR_core_out];
}

// ---- Mamba-2 -------------------------------------------------------------------------------

/*
 * in 2688 x (2 4096 + 2 8 128 + 64), out 4096 x 2688, convolution (4 + 1) (4096 + 2048), three
 * numbers per head, norms of 4096 and 2688.
 */
static void test_mamba_2__has_the_weights_of_nemotron(void **state)
{
    const one_layer x = nemotron();

    (void)state;
    assert_near(token_of(&x).weights.dense,
                2688.0 * 10304 + 4096.0 * 2688 + 5 * 6144 + 3 * 64 + 4096 + 2688, 0.0);
}

/* Chunks of 128: 2 128 8 128 for C B^T, 128 4096 for its product with x, 4 4096 128 for states. */
static void test_mamba_2__scans_in_chunks(void **state)
{
    one_layer x = nemotron();
    const plait_block block = token_of(&x);

    (void)state;
    assert_near(flops_of(&block, PLAIT_OP_SCAN), 262144.0 + 524288 + 2097152, 0.0);
    assert_near(flops_of(&block, PLAIT_OP_GEMM), 2.0 * 2688 * (10304 + 4096), 0.0);
    assert_near(scan_bytes(&block), 2.0 * (3 * 4096 + 4 * 1024) + 12 * 4096 + 8 * 8 * 128, 0.0);
    x.layer.mamba.chunk = 0;
    const plait_block usual = token_of(&x); // 256
    assert_near(flops_of(&usual, PLAIT_OP_SCAN), 524288.0 + 1048576 + 2097152, 0.0);
}

/* The runtime's 64 instead of the model's 128. */
static void test_mamba_2__scans_in_the_chunks_of_the_runtime(void **state)
{
    const plait_runtime own = {.kernels.mamba_chunk = 64};
    one_layer x = nemotron();

    (void)state;
    x.shard.runtime = &own;
    const plait_block block = token_of(&x);
    assert_near(flops_of(&block, PLAIT_OP_SCAN), 131072.0 + 262144 + 2097152, 0.0);
}

/* The projection of 10304, and three tensors of 4096; no states. */
static void test_mamba_2__keeps_its_projection_and_three_outputs(void **state)
{
    const one_layer x = nemotron();
    const plait_block block = token_of(&x);

    (void)state;
    assert_near(kept(&block), 10304.0 + 3 * 4096, 0.0);
    assert_near(block.saved[PLAIT_TENSOR_core_out], 4096.0, 0.0);
}

/* 4 ranks: 16 heads and 2 groups each. Only the output is summed. */
static void test_mamba_2__is_divided_by_tensor_ranks(void **state)
{
    one_layer x = nemotron();
    double bytes;

    (void)state;
    x.shard.tp = 4;
    const plait_block block = token_of(&x);
    assert_near(block.weights.dense,
                2688.0 * 2576 + 1024.0 * 2688 + 5 * 1536 + 3 * 16 + 1024 + 2688, 0.0);
    assert_near(collectives(&block, PLAIT_AXIS_TP, &bytes), 1.0, 0.0);
    assert_near(bytes, 2.0 * 2688, 0.0);
}

/* 8 tensor ranks with one group each, copied for 4 context ranks: 2 3 128 more elements. */
static void test_mamba_2__copies_groups_for_context_ranks(void **state)
{
    one_layer x = nemotron();
    double bytes;

    (void)state;
    x.shard.tp = 8;
    x.shard.cp = 4;
    const plait_block block = describe(&x, PLAIT_FORWARD, 4.0, 4.0);
    const double sent = 2 * 512 + 2 * 128 + 8 + 2 * 3 * 128, returned = 512.0;
    assert_near(collectives(&block, PLAIT_AXIS_CP, &bytes), 2.0, 0.0);
    assert_near(bytes, 2.0 * (sent + returned), 0.0);
    assert_near(kept(&block), sent + 3 * 512, 0.0);
    assert_near(flops_of(&block, PLAIT_OP_SCAN), 2.0 * 128 * 4 * 128 + 128 * 512 + 4 * 512 * 128,
                0.0);
}

/* Decoding moves the state once in each direction, and has no chunks. */
static void test_mamba_2__decodes_from_its_state(void **state)
{
    const one_layer x = nemotron();
    const plait_block block = describe(&x, PLAIT_DECODE, 1.0, 100000.0);

    (void)state;
    assert_near(block.cache.state, 4.0 * 64 * 64 * 128 + 2 * 3 * 6144, 0.0);
    assert_near(scan_bytes(&block), 2.0 * (3 * 4096 + 4 * 1024) + 2.0 * block.cache.state, 0.0);
    assert_near(flops_of(&block, PLAIT_OP_SCAN), 2.0 * 8 * 128 + 4096 + 4.0 * 4096 * 128, 0.0);
}

/* 8 groups on 16 ranks: vLLM extends them to 16, so (4096 + 2 16 128) / 16 channels. */
static void test_mamba_2__has_one_group_on_each_of_more_ranks(void **state)
{
    one_layer x = nemotron();

    (void)state;
    x.shard.tp = 16;
    assert_near(token_of(&x).cache.state, 4.0 * 4 * 64 * 128 + 2 * 3 * 512, 0.0);
}

// ---- Mamba ---------------------------------------------------------------------------------

/* 5120 channels: state of 16 in fp32, three inputs of a convolution of four tokens. */
static void test_mamba__keeps_a_state_and_three_inputs(void **state)
{
    one_layer x = layer_of(2560, PLAIT_MIXER_MAMBA);

    (void)state;
    x.layer.mamba = (plait_mamba){.inner = 5120, .state = 16, .conv = 4, .dt_rank = 160};
    assert_near(token_of(&x).cache.state, 5120.0 * (4 * 16 + 2 * 3), 0.0);
}

// ---- linear attention ----------------------------------------------------------------------

/* Qwen3-Next: 32 heads of values over 16 of keys, all of 128. */
static void test_gated_delta_net__of_qwen3_next(void **state)
{
    one_layer x = layer_of(2048, PLAIT_MIXER_DELTA_NET);
    double bytes;

    (void)state;
    x.layer.delta_net = (plait_delta_net){
        .key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128, .conv = 4};
    const plait_block block = token_of(&x);
    assert_near(block.weights.dense,
                2048.0 * (8192 + 4096 + 64) + 4096.0 * 2048 + 4 * 8192 + 64 + 128 + 2048, 0.0);
    assert_near(flops_of(&block, PLAIT_OP_SCAN), 32.0 * (2 * 64 * 5 * 128 + 6 * 128 * 128), 0.0);
    assert_near(kept(&block), 2.0 * 8192 + 4096 + 2 * 4096 + 64 * 32 + 2 * 4096, 0.0);
    assert_near(block.cache.state, 4.0 * 32 * 128 * 128 + 2 * 3 * 8192, 0.0);
    x.shard.cp = 2;
    const plait_block half = describe(&x, PLAIT_FORWARD, 2.0, 2.0);
    assert_near(collectives(&half, PLAIT_AXIS_CP, &bytes), 2.0, 0.0);
    assert_near(bytes, 2.0 * (8192 + 4096 + 64 + 4096), 0.0);
}

/* q, k, v and o of 2304 x 4096, beta 2304 x 32, two low ranks of (2304 + 4096) 128. */
static void test_kimi_delta_attention__has_its_weights(void **state)
{
    one_layer x = kimi();
    const double matrix = 2304.0 * 4096, low = (2304.0 + 4096) * 128;
    const double rest = 2304.0 * 32 + 4 * 12288 + 32 + 4096 + 128 + 2304;

    (void)state;
    assert_near(token_of(&x).weights.dense, 4 * matrix + 2 * low + rest, 0.0);
    x.layer.delta_net.gate_rank = 0; // Kimi K3
    assert_near(token_of(&x).weights.dense, 5 * matrix + low + rest, 0.0);
    x.shard.tp = 4; // the products to the ranks and the norms are whole
    assert_near(token_of(&x).weights.dense,
                (5 * matrix + 128.0 * 4096 + rest - 128 - 2304) / 4 + 2304.0 * 128 + 128 + 2304,
                0.0);
}

static void test_kimi_delta_attention__computes_and_keeps(void **state)
{
    const one_layer x = kimi();
    const plait_block block = token_of(&x);

    (void)state;
    assert_near(flops_of(&block, PLAIT_OP_SCAN), 32.0 * (2 * 64 * 5 * 128 + 6 * 128 * 128), 0.0);
    assert_near(flops_of(&block, PLAIT_OP_GEMM),
                2.0 * (4 * 2304.0 * 4096 + 2304 * 32 + 2 * (2304.0 + 4096) * 128), 0.0);
    assert_near(scan_bytes(&block), 2.0 * (3 * 4096 + 4096 + 4096), 0.0);
    assert_near(kept(&block), 2.0 * 12288 + 2 * (4096 + 128) + 2 * 64 * 32 + 2 * 4096, 0.0);
    assert_near(block.cache.state, 4.0 * 32 * 128 * 128 + 2 * 3 * 12288, 0.0);
}

/* q, k, v, gate and o of 6144 x 8192; no convolution, and a norm over all heads. */
static void test_lightning_attention__computes_and_keeps(void **state)
{
    const one_layer x = minimax();
    const plait_block block = token_of(&x);

    (void)state;
    assert_near(block.weights.dense, 5.0 * 6144 * 8192 + 8192 + 6144, 0.0);
    assert_near(flops_of(&block, PLAIT_OP_SCAN), 64.0 * (2 * 64 * 256 + 4 * 128 * 128), 0.0);
    assert_near(kept(&block), 2.0 * 3 * 8192 + 8192 + 2 * 8192, 0.0);
    assert_near(block.cache.state, 4.0 * 64 * 128 * 128, 0.0);
}

// ---- convolutions --------------------------------------------------------------------------

static void test_short_convolution__computes_and_keeps(void **state)
{
    const one_layer x = lfm2();
    const plait_block block = token_of(&x);
    const plait_block decode = describe(&x, PLAIT_DECODE, 1.0, 500.0);

    (void)state;
    assert_near(block.weights.dense, 4.0 * 2048 * 2048 + 3 * 2048 + 2048, 0.0);
    assert_near(flops_of(&block, PLAIT_OP_GEMM), 2.0 * 4 * 2048 * 2048, 0.0);
    assert_near(kept(&block), 6.0 * 2048, 0.0);
    assert_near(scan_bytes(&block), 0.0, 0.0);
    assert_near(decode.cache.state, 2.0 * 2 * 2048, 0.0);
    assert_near(scan_bytes(&decode), 2.0 * decode.cache.state, 0.0);
}

/* Two inputs and an output of 2560^2, two gates of ten blocks of 256^2, biases, one number each. */
static void test_rg_lru__computes_and_keeps(void **state)
{
    one_layer x = griffin();
    const plait_block block = token_of(&x);
    const double products = 3.0 * 2560 * 2560 + 2.0 * 10 * 256 * 256;
    double bytes;

    (void)state;
    assert_near(block.weights.dense,
                products + (2 + 2 + 1) * 2560.0 + (4 + 1) * 2560.0 + 2560 + 2560, 0.0);
    assert_near(flops_of(&block, PLAIT_OP_GEMM), 2.0 * products, 0.0);
    assert_near(flops_of(&block, PLAIT_OP_SCAN), 10.0 * 2560, 0.0);
    assert_near(kept(&block), 7.0 * 2560, 0.0);
    assert_near(block.cache.state, 4.0 * 2560 + 2 * 3 * 2560, 0.0);
    x.shard.cp = 2;
    const plait_block half = describe(&x, PLAIT_FORWARD, 2.0, 2.0);
    assert_near(collectives(&half, PLAIT_AXIS_CP, &bytes), 2.0, 0.0);
    assert_near(bytes, 2.0 * 2.0 * 2560, 0.0);
}

// ---- two mixers ----------------------------------------------------------------------------

/* Falcon-H1-0.5B: the sum of both mixers, which share the norm; each sums its output over tp. */
static void test_two_mixers__are_the_sum_of_both(void **state)
{
    one_layer both = layer_of(1024, PLAIT_MIXER_ATTENTION);
    double bytes;

    (void)state;
    both.layer.attention = (plait_attention){.heads = 8, .kv_heads = 2, .head_dim = 64};
    both.layer.mamba = (plait_mamba){
        .inner = 1536, .state = 128, .conv = 4, .heads = 24, .groups = 1, .chunk = 128};
    one_layer attention = both, mamba = both;
    both.layer.second_mixer = PLAIT_MIXER_MAMBA;
    mamba.layer.mixer = PLAIT_MIXER_MAMBA;
    const plait_block sum = token_of(&both), a = token_of(&attention), m = token_of(&mamba);
    assert_near(sum.weights.dense, a.weights.dense + m.weights.dense - 1024, 0.0);
    assert_near(kept(&sum), kept(&a) + kept(&m), 0.0);
    assert_near(flops_of(&sum, PLAIT_OP_GEMM),
                flops_of(&a, PLAIT_OP_GEMM) + flops_of(&m, PLAIT_OP_GEMM), 0.0);
    assert_near(sum.cache.width, 2.0 * 2 * 64, 0.0);
    assert_near(sum.cache.state, 4.0 * 1536 * 128 + 2 * 3 * (1536 + 256), 0.0);
    both.shard.tp = 2;
    const plait_block part = token_of(&both);
    assert_near(collectives(&part, PLAIT_AXIS_TP, &bytes), 2.0, 0.0);
}

// ---- all -----------------------------------------------------------------------------------

/* Backward of inputs and of weights are one backward, and states do not depend on the context. */
static void test_mixers__are_consistent_between_passes(void **state)
{
    const one_layer each[] = {nemotron(), kimi(), minimax(), lfm2(), griffin()};

    (void)state;
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        const plait_block all = describe(&each[i], PLAIT_BACKWARD, 64.0, 64.0);
        const plait_block input = describe(&each[i], PLAIT_BACKWARD_INPUT, 64.0, 64.0);
        const plait_block weight = describe(&each[i], PLAIT_BACKWARD_WEIGHT, 64.0, 64.0);
        const plait_block early = describe(&each[i], PLAIT_DECODE, 1.0, 10.0);
        const plait_block late = describe(&each[i], PLAIT_DECODE, 1.0, 1e6);
        const plait_block forward = describe(&each[i], PLAIT_FORWARD, 64.0, 64.0);
        const double gemm = flops_of(&all, PLAIT_OP_GEMM);
        assert_near_relative(flops_of(&input, PLAIT_OP_GEMM) + flops_of(&weight, PLAIT_OP_GEMM),
                             gemm, 1e-12);
        assert_near_relative(2.0 * flops_of(&forward, PLAIT_OP_GEMM), gemm, 1e-12);
        assert_near(scan_bytes(&early), scan_bytes(&late), 0.0);
        assert_near(early.cache.state, late.cache.state, 0.0);
        assert_near(early.cache.width, 0.0, 0.0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mamba_2__has_the_weights_of_nemotron),
        cmocka_unit_test(test_mamba_2__scans_in_chunks),
        cmocka_unit_test(test_mamba_2__scans_in_the_chunks_of_the_runtime),
        cmocka_unit_test(test_mamba_2__keeps_its_projection_and_three_outputs),
        cmocka_unit_test(test_mamba_2__is_divided_by_tensor_ranks),
        cmocka_unit_test(test_mamba_2__copies_groups_for_context_ranks),
        cmocka_unit_test(test_mamba_2__decodes_from_its_state),
        cmocka_unit_test(test_mamba_2__has_one_group_on_each_of_more_ranks),
        cmocka_unit_test(test_mamba__keeps_a_state_and_three_inputs),
        cmocka_unit_test(test_gated_delta_net__of_qwen3_next),
        cmocka_unit_test(test_kimi_delta_attention__has_its_weights),
        cmocka_unit_test(test_kimi_delta_attention__computes_and_keeps),
        cmocka_unit_test(test_lightning_attention__computes_and_keeps),
        cmocka_unit_test(test_short_convolution__computes_and_keeps),
        cmocka_unit_test(test_rg_lru__computes_and_keeps),
        cmocka_unit_test(test_two_mixers__are_the_sum_of_both),
        cmocka_unit_test(test_mixers__are_consistent_between_passes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
