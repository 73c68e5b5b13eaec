/* test_software.c - what software makes of experts and of 8 bits: passes, gathers, launches */
#include "support/arena_fixture.h"
#include "support/assert_near.h"
#include "costmodel/layer/layer_row.h"
#include "support/must.h"
#include "plait/lowlevel/kernel.h"
#include "support/world.h"
#include "plait/runtime.h"

// ---- operators of a layer ------------------------------------------------------------------

/* 4 ranks of 16 tokens, 32 wide; 2 of 8 experts, 24 wide, gated, with biases: 32 rows a rank. */
static plait_block switched_experts(const plait_runtime *runtime, plait_switches switches,
                                    plait_pass_kind pass, plait_precision precision)
{
    const plait_layer layer = {.norms = 1,
                               .ffn = PLAIT_FFN_MOE,
                               .moe = {.experts = 8,
                                       .topk = 2,
                                       .width = 24,
                                       .gated = true,
                                       .bias = !switches.fused_grouped_mlp}};
    const plait_model model = {.hidden = 32, .kinds = 1};
    const plait_shard shard = {.tp = 1,
                               .cp = 1,
                               .ep = 4,
                               .etp = 1,
                               .switches = switches,
                               .precision = precision,
                               .runtime = runtime};
    plait_block block;

    plait_block_describe(&model, &layer, &shard, (plait_pass){pass, 1.0, 16.0, 16.0}, &block);
    return block;
}

static plait_block experts(const plait_runtime *runtime, plait_pass_kind pass,
                           plait_precision precision)
{
    return switched_experts(runtime, (plait_switches){0}, pass, precision);
}

static const plait_switches fused = {.fused_grouped_mlp = true};

static double bytes_of(const plait_block *block, plait_part part)
{
    double bytes = 0.0;

    for (int i = 0; i < block->ops; i++)
        if (block->op[i].kind == PLAIT_OP_MEMORY && block->op[i].part == part)
            bytes += block->op[i].bytes;
    return bytes;
}

static double quantised(const plait_block *block)
{
    double bytes = 0.0;

    for (int i = 0; i < block->ops; i++)
        bytes += block->op[i].quantised;
    return bytes;
}

/*
 * 28 bytes of each of 32 x 32 elements forward, 40 backward, at 2.5 times the time of other passes.
 * A graph of a whole step adds the biases of all experts at once, and copies what experts keep.
 */
static void test_biases_of_experts__are_passes_of_their_own(void **state)
{
    plait_runtime runtime = {.kernels.expert_streams = true};
    plait_block block = experts(&runtime, PLAIT_FORWARD, PLAIT_BF16);

    (void)state;
    assert_near_relative(bytes_of(&block, PLAIT_PART_expert_fc2), 2.5 * 28.0 * 32.0 * 32.0, 1e-12);
    block = experts(&runtime, PLAIT_BACKWARD, PLAIT_BF16);
    assert_near_relative(bytes_of(&block, PLAIT_PART_expert_fc2), 2.5 * 40.0 * 32.0 * 32.0, 1e-12);
    block = switched_experts(&runtime, (plait_switches){.cuda_graph = PLAIT_GRAPH_FULL},
                             PLAIT_BACKWARD, PLAIT_BF16);
    assert_near_relative(bytes_of(&block, PLAIT_PART_expert_fc2),
                         40.0 * 32.0 * 32.0 + 2.0 * 32.0 * (2.0 * (32.0 + 24.0) + 2.0 * 48.0),
                         1e-12);
}

/*
 * 4 bytes of each of 32 x 32 elements in one kernel each way, 10 in PyTorch's. A router of 8 experts
 * takes 20 kernels more forward for its 16 tokens, 6 more backward. Software that has no such choice
 * is priced by its profile, and HybridEP permutes by itself.
 */
static void test_experts_without_fused_kernels__take_more(void **state)
{
    static const plait_switches on = {.permute_fusion = true, .router_fusion = true};
    plait_runtime runtime = {.name = "any"};

    (void)state;
    for (int pass = PLAIT_FORWARD; pass <= PLAIT_BACKWARD; pass++) {
        runtime.can.takes[PLAIT_KEY_PERMUTE_FUSION] = 1u;
        runtime.can.takes[PLAIT_KEY_ROUTER_FUSION] = 1u;
        plait_block block = experts(&runtime, (plait_pass_kind)pass, PLAIT_BF16);
        assert_near_relative(bytes_of(&block, PLAIT_PART_dispatch), 4.0 * 32.0 * 32.0, 1e-12);
        assert_near(bytes_of(&block, PLAIT_PART_router), 0.0, 1e-12);
        runtime.can.takes[PLAIT_KEY_PERMUTE_FUSION] = 3u;
        runtime.can.takes[PLAIT_KEY_ROUTER_FUSION] = 3u;
        block = switched_experts(&runtime, on, (plait_pass_kind)pass, PLAIT_BF16);
        assert_near_relative(bytes_of(&block, PLAIT_PART_combine), 4.0 * 32.0 * 32.0, 1e-12);
        assert_near(bytes_of(&block, PLAIT_PART_router), 0.0, 1e-12);
        block = experts(&runtime, (plait_pass_kind)pass, PLAIT_BF16);
        assert_near_relative(bytes_of(&block, PLAIT_PART_dispatch), 10.0 * 32.0 * 32.0, 1e-12);
        assert_near_relative(bytes_of(&block, PLAIT_PART_combine), 10.0 * 32.0 * 32.0, 1e-12);
        for (int i = 0; i < block.ops; i++)
            if (block.op[i].kind == PLAIT_OP_MEMORY && block.op[i].part == PLAIT_PART_router) {
                const bool forward = pass == PLAIT_FORWARD;
                assert_near_relative(block.op[i].count, forward ? 20.0 : 6.0, 1e-12);
                assert_near_relative(block.op[i].bytes, (forward ? 3.0 : 2.0) * 16.0 * 8.0, 1e-12);
            }
        assert_true(bytes_of(&block, PLAIT_PART_router) > 0.0);
    }
}

/* Of 32 rows: 32 and 24 wide in 2 bytes, and 48 in between, read and written each way. */
static void test_a_graph_of_the_step__copies_what_experts_keep(void **state)
{
    const plait_runtime runtime = {.name = "any"};
    const double kept = 32.0 * (2.0 * (32.0 + 24.0) + 2.0 * 48.0);

    (void)state;
    for (int pass = PLAIT_FORWARD; pass <= PLAIT_BACKWARD; pass++) {
        const plait_block block =
            switched_experts(&runtime, (plait_switches){.cuda_graph = PLAIT_GRAPH_FULL},
                             (plait_pass_kind)pass, PLAIT_BF16);
        assert_near_relative(bytes_of(&block, PLAIT_PART_expert_fc2), 2.0 * kept, 1e-12);
    }
}

/*
 * Inputs of 32 and 24, gradients of 32 and 48 wide; inside one kernel the 24 and the 48 stay. A look
 * for the maximum, 2 bytes read and two copies of 1 are 6 bytes of each element; no look with the
 * maxima of steps before. The share of one kernel that measured runs do not support is quantised too.
 */
static void test_tensors__are_quantised_once(void **state)
{
    plait_runtime runtime = {.keep.quantised_inputs = true};
    plait_block block = experts(&runtime, PLAIT_FORWARD, PLAIT_FP8);

    (void)state;
    assert_near_relative(quantised(&block), 6.0 * 32.0 * (32.0 + 24.0), 1e-12);
    block = experts(&runtime, PLAIT_BACKWARD, PLAIT_FP8);
    assert_near_relative(quantised(&block), 6.0 * 32.0 * (32.0 + 48.0), 1e-12);
    runtime.kernels.delayed_scaling = true;
    block = experts(&runtime, PLAIT_BACKWARD, PLAIT_FP8);
    assert_near_relative(quantised(&block), 4.0 * 32.0 * (32.0 + 48.0), 1e-12);
    block = switched_experts(&runtime, fused, PLAIT_BACKWARD, PLAIT_FP8);
    assert_near_relative(quantised(&block), 4.0 * 32.0 * 32.0, 1e-12);
    runtime.support.unearned[PLAIT_KEY_FUSED_GROUPED_MLP][1] = 0.25;
    block = switched_experts(&runtime, fused, PLAIT_BACKWARD, PLAIT_FP8);
    assert_near_relative(quantised(&block), 4.0 * 32.0 * (32.0 + 0.25 * 48.0), 1e-12);
    block = experts(&runtime, PLAIT_BACKWARD, PLAIT_BF16);
    assert_true(quantised(&block) == 0.0);
}

/*
 * Where products make narrow what they read, weights of 2 experts, 32 by 48 and 24 by 32, too: 8 bytes
 * of each in both passes, 10 with a scale a row, which tokens pay 8 for and not 6.
 */
static void test_weights__are_quantised_with_each_microbatch(void **state)
{
    plait_runtime runtime = {.kernels.rowwise_scaling = false};
    const double weights = 2.0 * (32.0 * 48.0 + 24.0 * 32.0), tokens = 32.0 * (32.0 + 24.0);
    plait_block block = experts(&runtime, PLAIT_FORWARD, PLAIT_FP8);

    (void)state;
    assert_near_relative(quantised(&block), 6.0 * tokens + 4.0 * weights, 1e-12);
    runtime.kernels.rowwise_scaling = true;
    block = experts(&runtime, PLAIT_FORWARD, PLAIT_FP8);
    assert_near_relative(quantised(&block), 8.0 * tokens + 5.0 * weights, 1e-12);
}

/* 16 tokens, 32 wide, and an MLP of 64. Eager PyTorch has one kernel of LayerNorm and of GELU. */
static double layer_bytes(bool layer_norm, bool gated, plait_part part)
{
    const plait_runtime runtime = {.factor.memory = 1.0};
    const plait_layer layer = {
        .norms = 1, .ffn = PLAIT_FFN_MLP, .mlp = {.width = 64, .gated = gated}};
    const plait_model model = {.hidden = 32, .kinds = 1, .layer_norm = layer_norm};
    const plait_shard shard = {.tp = 1, .cp = 1, .ep = 1, .etp = 1, .runtime = &runtime};
    plait_block block;

    plait_block_describe(&model, &layer, &shard, (plait_pass){PLAIT_FORWARD, 1.0, 16.0, 16.0},
                         &block);
    return bytes_of(&block, part);
}

static void test_eager_passes__are_one_kernel_where_pytorch_has_one(void **state)
{
    (void)state;
    assert_near_relative(layer_bytes(false, true, PLAIT_PART_norm), 24.0 * 16.0 * 32.0, 1e-12);
    assert_near_relative(layer_bytes(true, true, PLAIT_PART_norm), 4.0 * 16.0 * 32.0, 1e-12);
    assert_near_relative(layer_bytes(true, true, PLAIT_PART_act), 10.0 * 16.0 * 64.0, 1e-12);
    assert_near_relative(layer_bytes(true, false, PLAIT_PART_act), 4.0 * 16.0 * 64.0, 1e-12);
}

// ---- recomputation -------------------------------------------------------------------------

/* Backward reads the second product's input, but not its output, unless a norm is behind it. */
static void test_full_recomputation__may_stop_before_the_last_product(void **state)
{
    world w;
    plait_layer layer;
    layer_row *row = plait_arena_alloc(arena, 1, sizeof *row);
    const layer_key key = {.tp = 1, .cp = 1, .ep = 1, .etp = 1, .mbs = 1};
    const plait_recompute full = {.kind = PLAIT_RECOMPUTE_FULL};

    (void)state;
    assert_non_null(row);
    world_make(&w, "llama-3.1-8b", "fsdp", "h100-80gb-sxm:1x8",
               (plait_job){.seq = 4096, .gbs = 64, .gpus = 8}, arena);
    w.runtime.kernels.recompute_stops = false;
    layer_row_fill(&w.problem, key, row);
    assert_true(row->price[0].unread_s == 0.0);
    w.runtime.kernels.recompute_stops = true;
    layer_row_fill(&w.problem, key, row);
    assert_true(row->price[0].part_s[PLAIT_PART_fc2] > 0.0);
    assert_true(row->price[0].unread_s == row->price[0].part_s[PLAIT_PART_fc2]);
    layer = w.model.kind[0];
    assert_true(recomputed_share(&w.problem, &layer, full, PLAIT_PART_fc2) == 0.0);
    assert_true(recomputed_share(&w.problem, &layer, full, PLAIT_PART_fc1) == 1.0);
    layer.norms = 4;
    assert_false(recompute_stops_early(&w.problem, &layer));
    layer.norms = 2;
    layer.ffn = PLAIT_FFN_MOE;
    assert_false(recompute_stops_early(&w.problem, &layer));
}

// ---- documents ----

/* With a fused kernel, attention in a sequence of documents takes the time of several short sequences. */
static void test_documents__limit_fused_attention(void **state)
{
    world w;
    layer_row *row = plait_arena_alloc(arena, 3, sizeof *row);
    layer_key key = {.tp = 1, .cp = 1, .ep = 1, .etp = 1, .mbs = 2};
    double full_s;

    (void)state;
    assert_non_null(row);
    world_make(&w, "llama-3.1-8b", "megatron", "h100-80gb-sxm:1x8",
               (plait_job){.seq = 8192, .gbs = 64, .gpus = 8}, arena);
    key.attention = PLAIT_ATTENTION_FUSED;
    layer_row_fill(&w.problem, key, &row[0]);
    full_s = row[0].price[0].part_s[PLAIT_PART_core_attn];
    w.problem.job.document = 2048;
    layer_row_fill(&w.problem, key, &row[1]);
    w.problem.job.seq = 2048;
    key.mbs = 8;
    layer_row_fill(&w.problem, key, &row[2]);
    assert_true(row[1].price[0].part_s[PLAIT_PART_core_attn] < 0.5 * full_s);
    assert_true(row[1].price[0].forward_gpu_s == row[2].price[0].forward_gpu_s);
    assert_true(row[1].price[0].kept_bytes == row[2].price[0].kept_bytes);

    w.problem.job.seq = 8192;
    key.mbs = 2;
    key.attention = PLAIT_ATTENTION_UNFUSED;
    layer_row_fill(&w.problem, key, &row[1]);
    w.problem.job.document = 0;
    layer_row_fill(&w.problem, key, &row[0]);
    assert_true(row[1].price[0].forward_gpu_s == row[0].price[0].forward_gpu_s);
}

// ---- rows of odd widths ----

static double misaligned(bool unpadded, int hidden, int vocab)
{
    const plait_runtime runtime = {.kernels.unpadded_vocab = unpadded};
    const plait_model model = {.hidden = hidden, .vocab = vocab, .kinds = 1};
    const plait_shard shard = {.tp = 1, .cp = 1, .ep = 1, .etp = 1, .runtime = &runtime};
    plait_block block;

    plait_block_head(&model, &shard, (plait_pass){PLAIT_FORWARD, 1.0, 16.0, 16.0}, &block);
    for (int i = 0; i < block.ops; i++)
        if (block.op[i].kind == PLAIT_OP_GEMM)
            return block.op[i].misaligned;
    return -1.0;
}

/* 8 elements are 16 bytes: half as much again with 4, twice with 2, two and a half times with 1. */
static void test_products__are_slower_on_rows_that_are_not_aligned(void **state)
{
    (void)state;
    assert_near(misaligned(true, 32, 50304), 0.0, 0.0);
    assert_near(misaligned(true, 32, 50300), 0.5, 0.0);
    assert_near(misaligned(true, 32, 50258), 1.0, 0.0);
    assert_near(misaligned(true, 32, 50257), 1.5, 0.0);
    assert_near(misaligned(false, 32, 50257), 0.0, 0.0);
    assert_near(misaligned(false, 36, 50257), 0.5, 0.0);
}

// ---- gathers -------------------------------------------------------------------------------

static double gathered_by(plait_runtime runtime, plait_precision precision, plait_pass_kind pass)
{
    const plait_layer layer = {.norms = 1, .ffn = PLAIT_FFN_MLP, .mlp = {.width = 64}};
    const plait_model model = {.hidden = 32, .kinds = 1};
    const plait_shard shard = {.tp = 2,
                               .cp = 1,
                               .ep = 1,
                               .etp = 1,
                               .sp = true,
                               .precision = precision,
                               .runtime = &runtime};
    plait_block block;

    plait_block_describe(&model, &layer, &shard, (plait_pass){pass, 1.0, 16.0, 16.0}, &block);
    for (int i = 0; i < block.ops; i++)
        if (block.op[i].kind == PLAIT_OP_COLLECTIVE && block.op[i].collective == PLAIT_ALL_GATHER)
            return block.op[i].bytes / (16.0 * 32.0);
    return 0.0;
}

static double gathered(plait_precision precision, plait_pass_kind pass)
{
    return gathered_by((plait_runtime){.keep.quantised_inputs = true}, precision, pass);
}

/* A byte with one scale a tensor; with scales of blocks one copy there, back two: no less than 16 bits. */
static void test_gathers__are_as_narrow_as_products(void **state)
{
    (void)state;
    assert_near_relative(gathered(PLAIT_BF16, PLAIT_FORWARD), 2.0, 1e-12);
    assert_near_relative(gathered(PLAIT_FP8, PLAIT_FORWARD), 1.0, 1e-12);
    assert_near_relative(gathered(PLAIT_FP8, PLAIT_BACKWARD), 1.0, 1e-12);
    assert_near_relative(gathered(PLAIT_MXFP8, PLAIT_FORWARD), 33.0 / 32.0, 1e-12);
    assert_near_relative(gathered(PLAIT_MXFP8, PLAIT_BACKWARD), 2.0, 1e-12);
}

/* Inputs that stay in 16 bits are gathered narrow where they have one scale, not with one a row. */
static void test_gathers__of_rows_with_scales_are_wide(void **state)
{
    plait_runtime runtime = {.kernels.rowwise_scaling = true};

    (void)state;
    assert_near_relative(gathered_by(runtime, PLAIT_FP8, PLAIT_FORWARD), 2.0, 1e-12);
    runtime.kernels.rowwise_scaling = false;
    assert_near_relative(gathered_by(runtime, PLAIT_FP8, PLAIT_FORWARD), 1.0, 1e-12);
    assert_near_relative(gathered_by(runtime, PLAIT_MXFP8, PLAIT_FORWARD), 2.0, 1e-12);
}

// ---- launches ------------------------------------------------------------------------------

/* Of 128 experts those on the rank: 8 with ep 16. 100 us of a layer, 3 times that, 50 more, and 10 each. */
static double launches(world *w, int ep, plait_cuda_graph graph)
{
    layer_row *row = plait_arena_alloc(arena, 1, sizeof *row);

    assert_non_null(row);
    layer_row_fill(&w->problem,
                   (layer_key){.tp = 1,
                               .cp = 1,
                               .ep = ep,
                               .etp = 1,
                               .mbs = 1,
                               .switches.cuda_graph = (unsigned char)graph},
                   row);
    return row->price[0].host_s;
}

static void test_launches__grow_with_the_experts_of_a_rank(void **state)
{
    world w;

    (void)state;
    world_make(&w, "qwen3-30b-a3b", "megatron", "h100-80gb-sxm:2x8",
               (plait_job){.seq = 4096, .gbs = 64, .gpus = 16}, arena);
    w.runtime.factor.host_s = 100e-6;
    w.runtime.factor.host_experts = 3.0;
    w.runtime.factor.host_expert_s = 10e-6;
    assert_near_relative(launches(&w, 16, PLAIT_GRAPH_NONE), 380e-6, 1e-12);
    assert_near_relative(launches(&w, 8, PLAIT_GRAPH_NONE), 460e-6, 1e-12);
    assert_near_relative(launches(&w, 8, PLAIT_GRAPH_LAYERS), 430e-6, 1e-12);
    assert_true(launches(&w, 8, PLAIT_GRAPH_FULL) == 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_biases_of_experts__are_passes_of_their_own),
        cmocka_unit_test(test_experts_without_fused_kernels__take_more),
        cmocka_unit_test(test_a_graph_of_the_step__copies_what_experts_keep),
        cmocka_unit_test(test_tensors__are_quantised_once),
        cmocka_unit_test(test_weights__are_quantised_with_each_microbatch),
        cmocka_unit_test(test_eager_passes__are_one_kernel_where_pytorch_has_one),
        cmocka_unit_test_setup_teardown(test_full_recomputation__may_stop_before_the_last_product,
                                        begin, end),
        cmocka_unit_test_setup_teardown(test_documents__limit_fused_attention, begin, end),
        cmocka_unit_test(test_products__are_slower_on_rows_that_are_not_aligned),
        cmocka_unit_test(test_gathers__are_as_narrow_as_products),
        cmocka_unit_test(test_gathers__of_rows_with_scales_are_wide),
        cmocka_unit_test_setup_teardown(test_launches__grow_with_the_experts_of_a_rank, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
