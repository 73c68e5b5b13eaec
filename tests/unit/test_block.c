/* test_block.c - what one layer does, keeps and holds, against the closed forms of the papers */
#include <string.h>

#include "support/assert_near.h"
#include "plait/lowlevel/block.h"
#include "plait/runtime.h"

// ---- layers of random shape ----------------------------------------------------------------

static uint64_t random_state = 7;

/* 0 .. below - 1 (splitmix64) */
static int random_below(int below)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int)((z ^ (z >> 31)) % (uint64_t)below);
}

/* Bytes of Korthikanti et al. 2022: fp16, masks of one byte, probabilities twice and a mask. */
static const plait_runtime paper = {
    .keep = {.keeps = {[PLAIT_TENSOR_norm_in] = 2.0,
                       [PLAIT_TENSOR_norm_out] = 2.0,
                       [PLAIT_TENSOR_qkv] = 2.0,
                       [PLAIT_TENSOR_keys] = 2.0,
                       [PLAIT_TENSOR_scores] = 2.0,
                       [PLAIT_TENSOR_scores_dropout] = 3.0,
                       [PLAIT_TENSOR_lse] = 4.0,
                       [PLAIT_TENSOR_core_out] = 2.0,
                       [PLAIT_TENSOR_fc1_out] = 2.0,
                       [PLAIT_TENSOR_act_out] = 2.0,
                       [PLAIT_TENSOR_dropout] = 1.0,
                       [PLAIT_TENSOR_opaque] = 1.0}},
};

/* s tokens, b sequences, hidden width h, a heads, t tensor ranks. */
typedef struct shape {
    double s, b, h, a, t;
    plait_model model;
    plait_layer layer;
    plait_shard shard;
} shape;

static shape random_shape(void)
{
    static const int ranks[] = {1, 2, 4, 8};
    const int t = ranks[random_below(4)];
    const int heads = t * (1 + random_below(8));
    const int width = 8 * (1 + random_below(16));
    shape x = {
        .s = 16.0 * (1 + random_below(128)),
        .b = 1 + random_below(4),
        .h = heads * width,
        .a = heads,
        .t = t,
        .model = {.hidden = heads * width,
                  .vocab = 1000,
                  .layers = 1,
                  .kinds = 1,
                  .layer_norm = true,
                  .dropout = true},
        .layer = {.norms = 2,
                  .mixer = PLAIT_MIXER_ATTENTION,
                  .attention = {.heads = heads,
                                .kv_heads = heads,
                                .head_dim = width,
                                .qkv_bias = true,
                                .out_bias = true},
                  .ffn = PLAIT_FFN_MLP,
                  .mlp = {.width = 4 * heads * width, .bias = true}},
        .shard = {.tp = t,
                  .cp = 1,
                  .ep = 1,
                  .etp = 1,
                  .attention = PLAIT_ATTENTION_UNFUSED,
                  .runtime = &paper},
    };

    return x;
}

static plait_block describe(const shape *x, plait_pass_kind kind)
{
    plait_block block;

    plait_block_describe(&x->model, &x->layer, &x->shard, (plait_pass){kind, x->b, x->s, x->s},
                         &block);
    return block;
}

static double flops_of(const plait_block *block)
{
    double flops = 0.0;

    for (int i = 0; i < block->ops; i++)
        flops += block->op[i].count * block->op[i].flops;
    return flops;
}

static double kept(const shape *x, unsigned drops)
{
    const plait_block block = describe(x, PLAIT_FORWARD);

    return plait_block_saved_bytes(&block, &x->shard, drops);
}

enum { SHAPES = 200 };

// ---- bytes that stay -----------------------------------------------------------------------

/* s b h (34 + 5 a s / h) on one rank; 10 of the 34 stay whole under tensor parallelism. */
static void test_kept_bytes__are_34_sbh_and_the_square_of_attention(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        const shape x = random_shape();
        assert_near_relative(kept(&x, 0),
                             x.s * x.b * x.h * (10.0 + 24.0 / x.t + 5.0 * x.a * x.s / (x.h * x.t)),
                             1e-12);
    }
}

static void test_kept_bytes__are_all_divided_under_sequence_parallelism(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        shape x = random_shape();
        x.shard.sp = x.t > 1.0;
        assert_near_relative(kept(&x, 0), x.s * x.b * x.h / x.t * (34.0 + 5.0 * x.a * x.s / x.h),
                             1e-12);
    }
}

/* Of the inputs of products, 4 s b h come back whole: Megatron before it kept them sharded. */
static void test_gathered_inputs__stay_whole_where_the_runtime_keeps_them(void **state)
{
    plait_runtime gathers = paper;

    (void)state;
    gathers.keep.keeps_gathered = 1.0;
    for (int i = 0; i < SHAPES; i++) {
        shape x = random_shape();
        x.shard.sp = x.t > 1.0;
        const double sharded = kept(&x, 0);
        x.shard.runtime = &gathers;
        assert_near_relative(kept(&x, 0), sharded + 4.0 * x.s * x.b * x.h * (1.0 - 1.0 / x.t),
                             1e-12);
    }
}

/* Two norms of 4 bytes: 8 s b h more, none of it where norms run again. sac drops keys as well. */
static void test_fp32_copies_of_norms__go_where_norms_run_again(void **state)
{
    const plait_recompute sac = {.kind = PLAIT_RECOMPUTE_SAC};
    const unsigned drops = plait_recompute_masks_of(sac).tensors;
    plait_runtime eager = paper;

    (void)state;
    eager.keep.keeps[PLAIT_TENSOR_norm_cast] = 4.0;
    for (int i = 0; i < SHAPES; i++) {
        shape x = random_shape();
        const double fused = kept(&x, 0);
        const double fused_sac = kept(&x, drops);
        x.shard.runtime = &eager;
        assert_near_relative(kept(&x, 0), fused + 8.0 * x.s * x.b * x.h, 1e-12);
        assert_near_relative(kept(&x, drops), fused_sac, 1e-12);
        assert_near_relative(fused_sac - kept(&x, drops | 1u << PLAIT_TENSOR_qkv),
                             4.0 * x.s * x.b * x.h / x.t, 1e-9);
    }
}

static void test_selective_recompute__drops_the_square(void **state)
{
    const plait_recompute selective = {.kind = PLAIT_RECOMPUTE_SELECTIVE};

    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        const shape x = random_shape();
        assert_near_relative(kept(&x, plait_recompute_masks_of(selective).tensors),
                             x.s * x.b * x.h * (10.0 + 24.0 / x.t), 1e-12);
    }
}

/* A fused kernel keeps one fp32 number a head and query in its place. */
static void test_flash_attention__keeps_a_logarithm_a_query(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        shape x = random_shape();
        x.shard.attention = PLAIT_ATTENTION_FLASH2;
        assert_near_relative(kept(&x, 0), x.s * x.b * (x.h * (10.0 + 24.0 / x.t) + 4.0 * x.a / x.t),
                             1e-12);
    }
}

/* 8 h + 4 a d + 4 k d + 6 F + 4 a a token, all divided by t; k heads stay at least one a rank. */
static void test_llama_layers__keep_what_their_widths_say(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        shape x = random_shape();
        const int t = (int)x.t;
        const int width = t * 64 * (1 + random_below(8));
        const int kv_heads = x.layer.attention.heads % 2 == 0 ? x.layer.attention.heads / 2 : 1;
        const double d = x.layer.attention.head_dim;
        const double kv_here = kv_heads > t ? (double)kv_heads / t : 1.0;

        if (kv_heads > t && kv_heads % t != 0)
            continue;
        x.model.dropout = false;
        x.layer.attention.kv_heads = kv_heads;
        x.layer.mlp = (plait_mlp){.width = width, .gated = true};
        x.shard.attention = PLAIT_ATTENTION_FLASH2;
        x.shard.sp = t > 1;
        assert_near_relative(kept(&x, 0),
                             x.s * x.b *
                                 (8.0 * x.h / t + 4.0 * x.a * d / t + 4.0 * kv_here * d +
                                  6.0 * width / t + 4.0 * x.a / t),
                             1e-12);
    }
}

/* Each of c ranks holds s/c tokens; unfused scores are s/c by s. */
static void test_context_ranks__share_the_tokens(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        shape x = random_shape();
        const double whole = kept(&x, 0);
        x.shard.cp = 4;
        x.shard.cp_comm = PLAIT_CP_ALLGATHER;
        assert_near_relative(kept(&x, 0), whole / 4.0, 1e-12);
    }
}

static void test_opaque_layers__keep_what_they_state_and_their_input(void **state)
{
    shape x = random_shape();

    (void)state;
    x.shard.tp = 2;
    x.layer = (plait_layer){
        .opaque = true, .given = {.params = 1e6, .forward_flops = 2e6, .activation_bytes = 7e3}};
    assert_near_relative(kept(&x, 0), x.s * x.b * (7e3 / 2.0 + 2.0 * x.h), 1e-12);
    const plait_block forward = describe(&x, PLAIT_FORWARD);
    const plait_block backward = describe(&x, PLAIT_BACKWARD);
    assert_near_relative(flops_of(&forward), x.s * x.b * 1e6, 1e-12);
    assert_near_relative(flops_of(&backward), x.s * x.b * 2e6, 1e-12);
    assert_near(forward.weights.dense, 0.5e6, 0.0);
}

// ---- FLOPs ---------------------------------------------------------------------------------

/* 24 b s h^2 of products and 4 b s^2 h of attention, cut by tensor ranks; twice it backward. */
static void test_flops__are_24_bshh_and_4_bssh(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        const shape x = random_shape();
        const double expected = (24.0 * x.b * x.s * x.h * x.h + 4.0 * x.b * x.s * x.s * x.h) / x.t;
        const plait_block forward = describe(&x, PLAIT_FORWARD);
        const plait_block backward = describe(&x, PLAIT_BACKWARD);
        assert_near_relative(flops_of(&forward), expected, 1e-12);
        assert_near_relative(flops_of(&backward), 2.0 * expected, 1e-12);
    }
}

/* The backward pass is the gradients of inputs and those of weights, nothing else. */
static void test_backward__is_both_of_its_halves(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        shape x = random_shape();
        x.shard.attention = i % 2 ? PLAIT_ATTENTION_FUSED : PLAIT_ATTENTION_UNFUSED;
        const plait_block both = describe(&x, PLAIT_BACKWARD);
        const plait_block input = describe(&x, PLAIT_BACKWARD_INPUT);
        const plait_block weight = describe(&x, PLAIT_BACKWARD_WEIGHT);
        assert_int_equal(both.ops, input.ops + weight.ops);
        assert_near_relative(flops_of(&both), flops_of(&input) + flops_of(&weight), 1e-12);
    }
}

static const plait_op *attention_of(const plait_block *block)
{
    for (int i = 0; i < block->ops; i++)
        if (block->op[i].kind == PLAIT_OP_ATTENTION)
            return &block->op[i];
    fail_msg("no attention kernel");
    return NULL;
}

/* Causal: the first query sees one key, the last all s, so (s+1)/2 of s. MFU counts the square. */
static void test_causal_attention__does_half_and_counts_the_square(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        shape x = random_shape();
        x.shard.attention = PLAIT_ATTENTION_FLASH2;
        const plait_block forward = describe(&x, PLAIT_FORWARD);
        const plait_block backward = describe(&x, PLAIT_BACKWARD);
        const double square = 4.0 * x.b * x.s * x.s * x.h / x.t;
        assert_near_relative(attention_of(&forward)->flops, square * (x.s + 1.0) / 2.0 / x.s,
                             1e-12);
        assert_near_relative(attention_of(&forward)->model_flops, square, 1e-12);
        assert_near_relative(attention_of(&backward)->flops, 2.5 * attention_of(&forward)->flops,
                             1e-12);
        assert_near_relative(attention_of(&backward)->model_flops, 2.0 * square, 1e-12);
    }
}

/* 8 tokens, a window of 4: queries see 1 2 3 4 4 4 4 4 keys, 26/8 on average. Chunks of 4: 2.5. */
static void test_windows_and_chunks__shorten_what_a_query_sees(void **state)
{
    shape x = random_shape();

    (void)state;
    x.s = 8.0;
    x.shard.attention = PLAIT_ATTENTION_FLASH2;
    const double per_key = 4.0 * x.b * x.s * x.h / x.t;
    x.layer.attention.window = 4;
    plait_block block = describe(&x, PLAIT_FORWARD);
    assert_near_relative(attention_of(&block)->flops, per_key * 26.0 / 8.0, 1e-12);
    x.layer.attention.window = 0;
    x.layer.attention.chunk = 4;
    block = describe(&x, PLAIT_FORWARD);
    assert_near_relative(attention_of(&block)->flops, per_key * 2.5, 1e-12);
    x.layer.attention.chunk = 0;
    x.layer.attention.full_mask = true;
    block = describe(&x, PLAIT_FORWARD);
    assert_near_relative(attention_of(&block)->flops, per_key * 8.0, 1e-12);
}

/* One new token reads the keys and values of its whole context: 4 a S d FLOPs, 4 S k d bytes. */
static void test_decoding__reads_the_whole_context(void **state)
{
    shape x = random_shape();
    plait_block block;

    (void)state;
    x.shard.tp = 1;
    x.shard.attention = PLAIT_ATTENTION_FLASH2;
    x.layer.attention.full_mask = true;
    const double width = x.a * x.layer.attention.head_dim;
    plait_block_describe(&x.model, &x.layer, &x.shard, (plait_pass){PLAIT_DECODE, 3.0, 1.0, 5000.0},
                         &block);
    const plait_op *op = attention_of(&block);
    assert_near_relative(op->flops, 3.0 * 4.0 * 5000.0 * width, 1e-12);
    assert_near_relative(op->bytes, 3.0 * 4.0 * (5000.0 + 1.0) * width, 1e-12);
}

// ---- collectives ---------------------------------------------------------------------------

static double collectives(const plait_block *block, plait_axis axis, plait_collective_op op)
{
    double count = 0.0;

    for (int i = 0; i < block->ops; i++)
        if (block->op[i].kind == PLAIT_OP_COLLECTIVE && block->op[i].axis == axis &&
            block->op[i].collective == op)
            count += block->op[i].count;
    return count;
}

static shape tensor_shape(int tp, bool sp)
{
    shape x = random_shape();

    while ((int)x.t != tp)
        x = random_shape();
    x.shard.sp = sp;
    return x;
}

static void test_tensor_ranks__reduce_twice_in_each_pass(void **state)
{
    const shape x = tensor_shape(4, false);
    const plait_block forward = describe(&x, PLAIT_FORWARD);
    const plait_block backward = describe(&x, PLAIT_BACKWARD);

    (void)state;
    assert_near(collectives(&forward, PLAIT_AXIS_TP, PLAIT_ALL_REDUCE), 2.0, 0.0);
    assert_near(collectives(&backward, PLAIT_AXIS_TP, PLAIT_ALL_REDUCE), 2.0, 0.0);
    assert_near(collectives(&forward, PLAIT_AXIS_TP, PLAIT_ALL_GATHER), 0.0, 0.0);
    for (int i = 0; i < forward.ops; i++)
        if (forward.op[i].kind == PLAIT_OP_COLLECTIVE)
            assert_near_relative(forward.op[i].bytes, 2.0 * x.b * x.s * x.h, 1e-12);
}

/* Each all-reduce becomes a gather and a scatter; the other way round in backward. */
static void test_sequence_parallelism__gathers_and_scatters_instead(void **state)
{
    const shape x = tensor_shape(4, true);
    const plait_block forward = describe(&x, PLAIT_FORWARD);
    const plait_block backward = describe(&x, PLAIT_BACKWARD);

    (void)state;
    assert_near(collectives(&forward, PLAIT_AXIS_TP, PLAIT_ALL_REDUCE), 0.0, 0.0);
    assert_near(collectives(&forward, PLAIT_AXIS_TP, PLAIT_ALL_GATHER), 2.0, 0.0);
    assert_near(collectives(&forward, PLAIT_AXIS_TP, PLAIT_REDUCE_SCATTER), 2.0, 0.0);
    assert_near(collectives(&backward, PLAIT_AXIS_TP, PLAIT_ALL_GATHER), 2.0, 0.0);
    assert_near(collectives(&backward, PLAIT_AXIS_TP, PLAIT_REDUCE_SCATTER), 2.0, 0.0);
}

static void test_parallel_residual__halves_the_all_reduces(void **state)
{
    shape x = tensor_shape(2, false);

    (void)state;
    x.layer.parallel_residual = true;
    x.layer.norms = 1;
    const plait_block forward = describe(&x, PLAIT_FORWARD);
    const plait_block backward = describe(&x, PLAIT_BACKWARD);
    assert_near(collectives(&forward, PLAIT_AXIS_TP, PLAIT_ALL_REDUCE), 1.0, 0.0);
    assert_near(collectives(&backward, PLAIT_AXIS_TP, PLAIT_ALL_REDUCE), 1.0, 0.0);
}

static void test_one_rank__exchanges_nothing(void **state)
{
    const shape x = tensor_shape(1, false);
    const plait_block forward = describe(&x, PLAIT_FORWARD);
    const plait_block backward = describe(&x, PLAIT_BACKWARD);

    (void)state;
    for (int i = 0; i < forward.ops; i++)
        assert_true(forward.op[i].kind != PLAIT_OP_COLLECTIVE);
    for (int i = 0; i < backward.ops; i++)
        assert_true(backward.op[i].kind != PLAIT_OP_COLLECTIVE);
}

/* Keys and values: 2 x 2 bytes x k d a token. A ring passes its block on c-1 times, twice as much
 * backward; a gather collects c blocks, and scatters their gradients. */
static void test_context_ranks__exchange_keys_and_values(void **state)
{
    shape x = tensor_shape(1, false);
    const double block_bytes = 4.0 * x.b * x.s / 4.0 * x.h;

    (void)state;
    x.shard.cp = 4;
    x.shard.attention = PLAIT_ATTENTION_FLASH2;
    x.shard.cp_comm = PLAIT_CP_P2P;
    plait_block forward = describe(&x, PLAIT_FORWARD);
    plait_block backward = describe(&x, PLAIT_BACKWARD);
    assert_near(collectives(&forward, PLAIT_AXIS_CP, PLAIT_P2P), 3.0, 0.0);
    assert_near(collectives(&backward, PLAIT_AXIS_CP, PLAIT_P2P), 3.0, 0.0);
    double sent[2] = {0.0, 0.0};
    for (int i = 0; i < forward.ops; i++)
        sent[0] += forward.op[i].axis == PLAIT_AXIS_CP ? forward.op[i].bytes : 0.0;
    for (int i = 0; i < backward.ops; i++)
        sent[1] += backward.op[i].axis == PLAIT_AXIS_CP ? backward.op[i].bytes : 0.0;
    assert_near_relative(sent[0], block_bytes, 1e-12);
    assert_near_relative(sent[1], 2.0 * block_bytes, 1e-12);

    x.shard.cp_comm = PLAIT_CP_ALLGATHER;
    forward = describe(&x, PLAIT_FORWARD);
    backward = describe(&x, PLAIT_BACKWARD);
    assert_near(collectives(&forward, PLAIT_AXIS_CP, PLAIT_ALL_GATHER), 1.0, 0.0);
    assert_near(collectives(&backward, PLAIT_AXIS_CP, PLAIT_ALL_GATHER), 1.0, 0.0);
    assert_near(collectives(&backward, PLAIT_AXIS_CP, PLAIT_REDUCE_SCATTER), 1.0, 0.0);

    x.shard.cp_comm = PLAIT_CP_A2A;
    forward = describe(&x, PLAIT_FORWARD);
    assert_near(collectives(&forward, PLAIT_AXIS_CP, PLAIT_ALL_TO_ALL), 4.0, 0.0);
}

// ---- experts -------------------------------------------------------------------------------

static shape moe_shape(int tp, int ep, int etp)
{
    shape x = tensor_shape(tp, tp > 1);

    x.layer.ffn = PLAIT_FFN_MOE;
    x.layer.moe = (plait_moe){.experts = 16, .topk = 3, .width = 512, .gated = true};
    x.shard.ep = ep;
    x.shard.etp = etp;
    return x;
}

static const plait_op *op_of(const plait_block *block, plait_part part)
{
    for (int i = 0; i < block->ops; i++)
        if (block->op[i].part == part && block->op[i].kind != PLAIT_OP_COLLECTIVE)
            return &block->op[i];
    fail_msg("no %s", plait_part_name[part]);
    return NULL;
}

/* Every token reaches topk experts, each of which is cut over etp ranks: no row is lost. */
static void test_routed_tokens__are_conserved(void **state)
{
    static const int cases[][3] = {{1, 1, 1}, {1, 8, 1}, {4, 1, 4},
                                   {4, 2, 4}, {4, 4, 1}, {8, 2, 2}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const shape x = moe_shape(cases[i][0], cases[i][1], cases[i][2]);
        const plait_block block = describe(&x, PLAIT_FORWARD);
        const plait_op *fc1 = op_of(&block, PLAIT_PART_expert_fc1);
        const double rows_of_all_ranks = fc1->batch * fc1->m * x.shard.tp / x.shard.etp;
        assert_int_equal(fc1->kind, PLAIT_OP_GROUPED_GEMM);
        assert_near(fc1->batch, 16.0 / x.shard.ep, 0.0);
        assert_near_relative(rows_of_all_ranks, 3.0 * x.b * x.s, 1e-12);
        assert_near(fc1->n, 2.0 * 512.0 / x.shard.etp, 0.0);
    }
}

/* There and back, in both passes; a rank sends topk copies of its share of the tokens. */
static void test_experts__exchange_tokens_there_and_back(void **state)
{
    const shape x = moe_shape(4, 4, 1);
    const plait_block forward = describe(&x, PLAIT_FORWARD);
    const plait_block backward = describe(&x, PLAIT_BACKWARD);

    (void)state;
    assert_near(collectives(&forward, PLAIT_AXIS_EP, PLAIT_ALL_TO_ALL), 2.0, 0.0);
    assert_near(collectives(&backward, PLAIT_AXIS_EP, PLAIT_ALL_TO_ALL), 2.0, 0.0);
    for (int i = 0; i < forward.ops; i++)
        if (forward.op[i].axis == PLAIT_AXIS_EP)
            assert_near_relative(forward.op[i].bytes, 2.0 * x.b * x.s / 4.0 * 3.0 * x.h, 1e-12);
}

// ---- serving -------------------------------------------------------------------------------

static plait_block pass_of(const shape *x, plait_pass_kind kind, double queries, double context)
{
    plait_block block;

    plait_block_describe(&x->model, &x->layer, &x->shard,
                         (plait_pass){kind, x->b, queries, context}, &block);
    return block;
}

/* 8 heads over 2 of keys, 64 wide, on two ranks, 1000 cached tokens of 3 sequences in fp8. */
static void test_decode__reads_the_cache_once(void **state)
{
    shape x = tensor_shape(2, false);

    (void)state;
    x.b = 3.0;
    x.layer.attention = (plait_attention){.heads = 8, .kv_heads = 2, .head_dim = 64};
    x.shard.attention = PLAIT_ATTENTION_FUSED;
    x.shard.cache_bytes = 1.0;
    plait_block block = pass_of(&x, PLAIT_DECODE, 1.0, 1000.0);
    assert_near_relative(attention_of(&block)->bytes,
                         2.0 * 2.0 * 64.0 * 3.0 * 4.0 + 3.0 * 1000.0 * 2.0 * 64.0, 1e-12);
    assert_near(block.cache.width, 2.0 * 64.0, 0.0);
    x.layer.attention.window = 100;
    block = pass_of(&x, PLAIT_DECODE, 1.0, 1000.0);
    assert_near_relative(attention_of(&block)->bytes,
                         2.0 * 2.0 * 64.0 * 3.0 * 4.0 + 3.0 * 100.0 * 2.0 * 64.0, 1e-12);
    assert_near(block.cache.reach, 100.0, 0.0);
}

/* Heads of 128 + 64 over a latent of 512: every rank reads 576 elements a token, whole. */
static void test_decode__of_latent_attention_reads_the_latent(void **state)
{
    shape x = tensor_shape(4, false);

    (void)state;
    x.layer.mixer = PLAIT_MIXER_MLA;
    x.layer.mla = (plait_mla){
        .heads = 16, .q_rank = 256, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .v_dim = 128};
    x.shard.attention = PLAIT_ATTENTION_FUSED;
    const plait_block block = pass_of(&x, PLAIT_DECODE, 1.0, 4096.0);
    const plait_op *attention = attention_of(&block);
    assert_near_relative(attention->bytes,
                         2.0 * (576.0 + 512.0) * x.b * 4.0 + 2.0 * x.b * 4096.0 * 576.0, 1e-12);
    assert_near_relative(attention->flops, 2.0 * x.b * 4.0 * (576.0 + 512.0) * 4096.0, 1e-12);
}

/* A prefill in chunks does the work of attention that a whole one does. */
static void test_prefill__in_chunks_is_a_whole_one(void **state)
{
    (void)state;
    for (int window = 0; window <= 700; window += 350) {
        shape x = tensor_shape(2, false);
        double flops = 0.0;
        x.layer.attention.window = window;
        x.shard.attention = PLAIT_ATTENTION_FUSED;
        for (int chunk = 0; chunk < 8; chunk++) {
            const plait_block part = pass_of(&x, PLAIT_PREFILL, 256.0, 256.0 * (chunk + 1));
            flops += attention_of(&part)->flops;
        }
        const plait_block whole = pass_of(&x, PLAIT_PREFILL, 2048.0, 2048.0);
        assert_near_relative(flops, attention_of(&whole)->flops, 1e-12);
    }
}

/* 16 experts, 3 of them a token, none chosen twice by one token; many tokens reach all. */
static void test_decode__reads_the_experts_that_tokens_reach(void **state)
{
    shape x = moe_shape(1, 1, 1);

    (void)state;
    x.b = 1.0;
    plait_block block = pass_of(&x, PLAIT_DECODE, 1.0, 100.0);
    assert_near_relative(op_of(&block, PLAIT_PART_expert_fc1)->batch, 3.0, 1e-12);
    assert_near_relative(op_of(&block, PLAIT_PART_expert_fc1)->m, 1.0, 1e-12);
    x.b = 2.0;
    block = pass_of(&x, PLAIT_DECODE, 1.0, 100.0);
    assert_near_relative(op_of(&block, PLAIT_PART_expert_fc1)->batch,
                         16.0 * (1.0 - 13.0 / 16.0 * 13.0 / 16.0), 1e-12);
    x.b = 1000.0;
    block = pass_of(&x, PLAIT_DECODE, 1.0, 100.0);
    assert_near_relative(op_of(&block, PLAIT_PART_expert_fc1)->batch, 16.0, 1e-9);
}

/* Ranks of the same tokens sum once; ranks of their own tokens gather and scatter. */
static void test_experts__are_exchanged_by_whose_tokens_they_get(void **state)
{
    const shape own = moe_shape(1, 8, 1);
    shape same = moe_shape(4, 4, 1);

    (void)state;
    same.shard.sp = false;
    const plait_block summed = pass_of(&same, PLAIT_DECODE, 1.0, 100.0);
    const plait_block sent = pass_of(&own, PLAIT_DECODE, 1.0, 100.0);
    assert_near(collectives(&summed, PLAIT_AXIS_TP, PLAIT_ALL_REDUCE), 2.0, 0.0);
    assert_near(collectives(&summed, PLAIT_AXIS_EP, PLAIT_ALL_TO_ALL), 0.0, 0.0);
    assert_near(collectives(&sent, PLAIT_AXIS_EP, PLAIT_ALL_GATHER), 1.0, 0.0);
    assert_near(collectives(&sent, PLAIT_AXIS_EP, PLAIT_REDUCE_SCATTER), 1.0, 0.0);
}

/* 4 value heads of 32 x 64 in fp32 and 3 inputs of the convolution, however long the context. */
static void test_decode__of_linear_attention_keeps_a_state(void **state)
{
    shape x = tensor_shape(1, false);

    (void)state;
    x.layer.mixer = PLAIT_MIXER_DELTA_NET;
    x.layer.delta_net = (plait_delta_net){
        .key_heads = 2, .value_heads = 4, .key_dim = 32, .value_dim = 64, .conv = 4};
    const plait_block brief = pass_of(&x, PLAIT_DECODE, 1.0, 10.0);
    const plait_block late = pass_of(&x, PLAIT_DECODE, 1.0, 10000.0);
    assert_near(brief.cache.state, 4.0 * 4 * 32 * 64 + 2.0 * (2 * 2 * 32 + 4 * 64) * 3, 1e-9);
    assert_near(flops_of(&brief), flops_of(&late), 0.0);
    assert_near(brief.cache.width, 0.0, 0.0);
}

// ---- weights -------------------------------------------------------------------------------

/* Norms and the biases of row-parallel products (2 x 2h + h + h) are whole on every rank. */
static void test_weights__of_tensor_ranks_add_up(void **state)
{
    (void)state;
    for (int i = 0; i < SHAPES; i++) {
        shape x = random_shape();
        const plait_block part = describe(&x, PLAIT_FORWARD);
        x.shard.tp = 1;
        const plait_block whole = describe(&x, PLAIT_FORWARD);
        const double replicated = 6.0 * x.h;
        assert_near_relative(x.t * (part.weights.dense - replicated) + replicated,
                             whole.weights.dense, 1e-12);
        assert_near_relative(whole.weights.dense, 12.0 * x.h * x.h + 13.0 * x.h, 1e-12);
    }
}

/* 16 experts of 3 x 512 h; the router, h x 16, is whole on every rank. */
static void test_weights__of_experts_add_up(void **state)
{
    static const int cases[][3] = {{1, 1, 1}, {4, 2, 4}, {4, 4, 1}, {8, 16, 2}};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        shape x = moe_shape(cases[i][0], cases[i][1], cases[i][2]);
        const plait_block part = describe(&x, PLAIT_FORWARD);
        assert_near_relative(part.weights.expert * x.shard.ep * x.shard.etp,
                             16.0 * 3.0 * 512.0 * x.h, 1e-12);
        x.layer.ffn = PLAIT_FFN_NONE;
        const plait_block attention = describe(&x, PLAIT_FORWARD);
        assert_near(part.weights.dense - attention.weights.dense, 16.0 * x.h, 1e-6);
    }
}

/* 1000 rows over 8 ranks: 125 each; 1001: 126. A tied head holds no matrix of its own. */
static void test_vocabulary__is_cut_by_rows_rounded_up(void **state)
{
    shape x = tensor_shape(8, false);
    const plait_pass pass = {PLAIT_FORWARD, 1.0, 64.0, 64.0};
    plait_block block;

    (void)state;
    plait_block_embedding(&x.model, &x.shard, pass, &block);
    assert_near(block.weights.dense, 125.0 * x.h, 0.0);
    x.model.vocab = 1001;
    plait_block_embedding(&x.model, &x.shard, pass, &block);
    assert_near(block.weights.dense, 126.0 * x.h, 0.0);
    plait_block_head(&x.model, &x.shard, pass, &block);
    assert_near(block.weights.dense, 126.0 * x.h + 2.0 * x.h, 0.0);
    x.model.tied = true;
    plait_block_head(&x.model, &x.shard, pass, &block);
    assert_near(block.weights.dense, 2.0 * x.h, 0.0);
    assert_near_relative(flops_of(&block), 2.0 * 64.0 * x.h * 126.0, 1e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kept_bytes__are_34_sbh_and_the_square_of_attention),
        cmocka_unit_test(test_kept_bytes__are_all_divided_under_sequence_parallelism),
        cmocka_unit_test(test_gathered_inputs__stay_whole_where_the_runtime_keeps_them),
        cmocka_unit_test(test_fp32_copies_of_norms__go_where_norms_run_again),
        cmocka_unit_test(test_selective_recompute__drops_the_square),
        cmocka_unit_test(test_flash_attention__keeps_a_logarithm_a_query),
        cmocka_unit_test(test_llama_layers__keep_what_their_widths_say),
        cmocka_unit_test(test_context_ranks__share_the_tokens),
        cmocka_unit_test(test_opaque_layers__keep_what_they_state_and_their_input),
        cmocka_unit_test(test_flops__are_24_bshh_and_4_bssh),
        cmocka_unit_test(test_backward__is_both_of_its_halves),
        cmocka_unit_test(test_causal_attention__does_half_and_counts_the_square),
        cmocka_unit_test(test_windows_and_chunks__shorten_what_a_query_sees),
        cmocka_unit_test(test_decoding__reads_the_whole_context),
        cmocka_unit_test(test_tensor_ranks__reduce_twice_in_each_pass),
        cmocka_unit_test(test_sequence_parallelism__gathers_and_scatters_instead),
        cmocka_unit_test(test_parallel_residual__halves_the_all_reduces),
        cmocka_unit_test(test_one_rank__exchanges_nothing),
        cmocka_unit_test(test_context_ranks__exchange_keys_and_values),
        cmocka_unit_test(test_routed_tokens__are_conserved),
        cmocka_unit_test(test_experts__exchange_tokens_there_and_back),
        cmocka_unit_test(test_decode__reads_the_cache_once),
        cmocka_unit_test(test_decode__of_latent_attention_reads_the_latent),
        cmocka_unit_test(test_prefill__in_chunks_is_a_whole_one),
        cmocka_unit_test(test_decode__reads_the_experts_that_tokens_reach),
        cmocka_unit_test(test_experts__are_exchanged_by_whose_tokens_they_get),
        cmocka_unit_test(test_decode__of_linear_attention_keeps_a_state),
        cmocka_unit_test(test_weights__of_tensor_ranks_add_up),
        cmocka_unit_test(test_weights__of_experts_add_up),
        cmocka_unit_test(test_vocabulary__is_cut_by_rows_rounded_up),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
