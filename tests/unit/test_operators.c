/*
 * test_operators.c - layouts that have a name come out of first principles, and prices by hand
 *
 * Each test of a layout states its conditions: model, GPUs, tokens, memory.
 */
#include <stdio.h>
#include <string.h>

#include "support/assert_near.h"
#include "search/operators/layer_graph.h"
#include "support/meshed.h"
#include "support/must.h"
#include "plait/lowlevel/collective.h"
#include "plait/lowlevel/kernel.h"

static plait_arena *arena;

static const plait_operator *find(const plait_operators_plan *plan, const char *name)
{
    for (int i = 0; i < plan->operators; i++)
        if (strcmp(plan->op[i].name, name) == 0)
            return &plan->op[i];
    fail_msg("no operator %s", name);
    return NULL;
}

/* Edges whose tensor goes by this, forward (or backward). */
static int edges_by(const plait_operators_plan *plan, const char *what, bool forward)
{
    int count = 0;

    for (int i = 0; i < plan->edges; i++)
        count += strcmp(forward ? plan->edge[i].forward : plan->edge[i].backward, what) == 0;
    return count;
}

// ---- the mesh ------------------------------------------------------------------------------

static void test_a_mesh_is_read(void **state)
{
    (void)state;
    plait_mesh mesh;

    assert_int_equal(plait_mesh_parse("2x4x8", &mesh, NULL), PLAIT_OK);
    assert_int_equal(mesh.axes, 3);
    assert_int_equal(mesh.size[0], 2);
    assert_int_equal(mesh.size[2], 8);
    assert_int_equal(plait_mesh_gpus(&mesh), 64);
    static const char *const wrong[] = {"",     "x",   "8x",      "0x8",         "8xx8",
                                        "-8",   "8 8", "1x2x3x4", "99999999999", "4096x4096x4096",
                                        "8x8 ", "8,8", "+8"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        plait_error err;
        assert_int_equal(plait_mesh_parse(wrong[i], &mesh, &err), PLAIT_ERROR_RANGE);
        assert_string_equal(err.where, "--mesh");
    }
}

/* 2 x 4 x 8 on nodes of 8: the last axis is a node, the middle one lies across four of them. */
static void test_the_last_axis_is_innermost(void **state)
{
    (void)state;
    const meshed_case of = {"llama-3.1-8b", "dgx-h100", "2x4x8", 4096, 64, 0, 0.0, NULL};
    meshed *m = plait_arena_alloc(arena, 1, sizeof *m);

    meshed_make(&of, arena, m);
    const plait_route inner = mesh_route(&m->problem, &m->options.mesh, 4);
    const plait_route middle = mesh_route(&m->problem, &m->options.mesh, 2);
    assert_int_equal(inner.ranks, 8);
    assert_int_equal(inner.levels, 1);
    assert_int_equal(middle.ranks, 4);
    assert_int_equal(middle.joined[0], 1);
    assert_int_equal(mesh_route(&m->problem, &m->options.mesh, 7).ranks, 64);
    assert_int_equal(mesh_route(&m->problem, &m->options.mesh, 0).ranks, 1);
}

static void assert_refused(const meshed_case *of, int gpus, int microbatches, const char *where)
{
    meshed *m = plait_arena_alloc(arena, 1, sizeof *m);
    plait_operators_result result;
    plait_error err;

    meshed_make(of, arena, m);
    m->problem.job.gpus = gpus;
    m->options.microbatches = microbatches;
    assert_int_equal(plait_operators_solve(&m->problem, &m->options, arena, &result, &err),
                     PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, where);
}

static void test_what_is_no_question_is_refused(void **state)
{
    (void)state;
    const meshed_case of = {"llama-3.1-8b", "dgx-h100", "2x4", 4096, 64, 0, 0.0, NULL};
    const meshed_case opaque = {"swinv2-l", "dgx-h100", "8", 64, 64, 0, 0.0, NULL};

    assert_refused(&of, 4, 1, "--mesh");
    assert_refused(&of, 8, 3, "--mbs");
    assert_refused(&of, 8, 0, "--mbs");
    assert_refused(&opaque, 8, 1,
                   "operators"); // the model states what its layers cost, not what they do
}

/*
 * Each kind of layer of each model makes a graph of tree-width two, with at most 48 operators,
 * except DeepSeek-V4's attention, whose keys, compressors and indexers read the same tensors.
 */
static void test_every_model_is_a_graph_that_can_be_solved(void **state)
{
    (void)state;
    plait_error err;
    const char *const *names;
    size_t count;
    int solved = 0;

    must(plait_data_list(PLAIT_DATA_MODELS, arena, &names, &count, &err), &err);
    for (size_t i = 0; i < count; i++) {
        const meshed_case of = {names[i], "dgx-h100", "2x2", 256, 4, 0, 1e6, NULL};
        const plait_arena_mark mark = plait_arena_save(arena);
        meshed *m = plait_arena_alloc(arena, 1, sizeof *m);
        meshed_make(&of, arena, m);
        for (int k = 0; k < m->model.kinds; k++) {
            plait_operators_result result;
            m->options.kind = k;
            if (m->model.kind[k].opaque)
                continue;
            if (m->model.kind[k].attention.q_rank > 0 && m->model.kind[k].attention.shared_kv) {
                assert_int_equal(
                    plait_operators_solve(&m->problem, &m->options, arena, &result, &err),
                    PLAIT_ERROR_RANGE);
                continue;
            }
            must(plait_operators_solve(&m->problem, &m->options, arena, &result, &err), &err);
            assert_true(result.proven && result.verdict == PLAIT_FITS);
            assert_true(result.named.step_s >= result.best.step_s);
            solved++;
        }
        plait_arena_rewind(arena, mark);
    }
    assert_true(solved >= 60);
}

/* Whatever request for memory fails, the answer is that one did. */
static void test_out_of_memory_is_said(void **state)
{
    (void)state;
    const meshed_case of = {"mixtral-8x7b", "dgx-h100", "2x4", 4096, 8, 0, 180.0, NULL};
    meshed *m = plait_arena_alloc(arena, 1, sizeof *m);
    plait_status status = PLAIT_ERROR_NOMEM;
    int failures = 0;

    meshed_make(&of, arena, m);
    for (long calls = 0; status != PLAIT_OK; calls += 1 + calls / 8) {
        plait_arena *own = plait_arena_new();
        plait_operators_result result;
        plait_arena_fail_after(calls);
        status = plait_operators_solve(&m->problem, &m->options, own, &result, NULL);
        plait_arena_fail_after(-1);
        plait_arena_free(own);
        assert_true(status == PLAIT_OK || status == PLAIT_ERROR_NOMEM);
        failures += status != PLAIT_OK;
    }
    assert_true(failures > 20);
}

// ---- prices by hand ------------------------------------------------------------------------

/* On one GPU nothing travels: the layer takes its kernels, holds its parameters, keeps C.25's bytes. */
static void test_one_gpu_takes_the_kernels_of_the_layer(void **state)
{
    (void)state;
    plait_error err;
    static const char *const models[] = {"llama-3.1-8b", "gpt2-xl",  "mixtral-8x7b",
                                         "deepseek-v3",  "gpt-j-6b", "mamba-1.4b",
                                         "glm-5"};

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        const meshed_case of = {models[i], "dgx-h100", "1", 2048, 1, 0, 1e6, NULL};
        meshed *m = plait_arena_alloc(arena, 1, sizeof *m);
        plait_operators_result result;
        plait_block block;
        double forward_s = 0.0;

        meshed_make(&of, arena, m);
        must(plait_operators_solve(&m->problem, &m->options, arena, &result, &err), &err);
        const plait_shard shard = {.tp = 1,
                                   .cp = 1,
                                   .ep = 1,
                                   .etp = 1,
                                   .attention = plait_attention_usual(&m->problem),
                                   .runtime = &m->runtime};
        plait_block_describe(&m->model, &m->model.kind[result.kind], &shard,
                             (plait_pass){PLAIT_FORWARD, 1.0, 2048.0, 2048.0}, &block);
        const plait_accelerator *gpu = m->cluster.group[0].accelerator;
        const plait_kernel_context context = {.accelerator = gpu,
                                              .slowest = plait_slowest(gpu, &m->problem.job),
                                              .runtime = &m->runtime,
                                              .attention = plait_attention_usual(&m->problem)};
        for (int op = 0; op < block.ops; op++)
            forward_s += plait_op_s(&context, &block.op[op]);
        assert_string_equal(result.best.name, "one GPU");
        assert_near_relative(result.best.forward_s, forward_s, 1e-9);
        assert_true(result.best.comm_s == 0.0);
        assert_near_relative(result.best.kept_bytes / result.layers,
                             plait_block_saved_bytes(&block, &shard, 0), 1e-9);
        // bf16 weight 2, fp32 gradient 4, master and moments 12
        assert_near_relative(result.best.state_bytes / result.layers,
                             18.0 * (block.weights.dense + block.weights.expert), 1e-9);
    }
}

static spread lies(lie a, lie b)
{
    return (spread){{(unsigned char)a, (unsigned char)b}};
}

/*
 * A tensor of 2^20 elements, 2 MiB, on 2 x 4 ranks of one domain. From a cut by batch along both axes
 * to one along the first: 512 KiB gathered over 4. From a partial sum along the second, with batch
 * along the first: 1 MiB scattered, or reduced whole.
 */
static void test_conversions_by_hand(void **state)
{
    (void)state;
    plait_error err;
    const meshed_case of = {"llama-3.1-8b", "h100-80gb-sxm:1x8", "2x4", 4096, 8, 0, 0.0, NULL};
    meshed *m = plait_arena_alloc(arena, 1, sizeof *m);
    layer_graph *g = plait_arena_alloc(arena, 1, sizeof *g);
    const tensor t = {.elements = 1048576.0};
    char text[PLAIT_SPEC_CHARS];

    meshed_make(&of, arena, m);
    m->runtime.overlap.tp_exposed = 1.0;
    must(graph_prepare(&m->problem, &m->options, arena, g, &err), &err);
    const plait_route *four = &g->route[2];
    const plait_network net = graph_network(g);
    const double kib = 1024.0;

    assert_near_relative(
        convert_s(g, &t, lies(LIE_BATCH, LIE_BATCH), lies(LIE_BATCH, LIE_WHOLE), text),
        plait_collective_s(four, net, PLAIT_ALL_GATHER, 1024.0 * kib), 1e-12);
    assert_string_equal(text, "all-gather 1");
    assert_near_relative(
        convert_s(g, &t, lies(LIE_BATCH, LIE_PARTIAL), lies(LIE_BATCH, LIE_SEQUENCE), text),
        plait_collective_s(four, net, PLAIT_REDUCE_SCATTER, 1024.0 * kib), 1e-12);
    assert_string_equal(text, "reduce-scatter 1");
    assert_near_relative(
        convert_s(g, &t, lies(LIE_BATCH, LIE_PARTIAL), lies(LIE_BATCH, LIE_WHOLE), text),
        plait_collective_s(four, net, PLAIT_ALL_REDUCE, 1024.0 * kib), 1e-12);
    assert_string_equal(text, "all-reduce 1");
    assert_near_relative(
        convert_s(g, &t, lies(LIE_BATCH, LIE_WIDTH), lies(LIE_BATCH, LIE_SEQUENCE), text),
        plait_collective_s(four, net, PLAIT_ALL_TO_ALL, 256.0 * kib), 1e-12);
    assert_string_equal(text, "all-to-all 1");
    // A slice is free, and halves what is reduced after it.
    assert_near_relative(
        convert_s(g, &t, lies(LIE_WHOLE, LIE_PARTIAL), lies(LIE_BATCH, LIE_WHOLE), text),
        plait_collective_s(four, net, PLAIT_ALL_REDUCE, 1024.0 * kib), 1e-12);
    assert_true(convert_s(g, &t, lies(LIE_WHOLE, LIE_WHOLE), lies(LIE_WIDTH, LIE_BATCH), text) ==
                0.0);
    assert_string_equal(text, "");
    convert_s(g, &t, lies(LIE_PARTIAL, LIE_PARTIAL), lies(LIE_WHOLE, LIE_WHOLE), text);
    assert_string_equal(text, "all-reduce 0,1");
}

/* What is on both sides of a conversion goes back by its dual: gradients travel as far as values. */
static void test_gradients_return_by_the_dual(void **state)
{
    (void)state;
    const spread copy = lies(LIE_COPY, LIE_BATCH);

    assert_int_equal(spread_replace(copy, LIE_COPY, LIE_PARTIAL).lie[0], LIE_PARTIAL);
    assert_int_equal(spread_replace(copy, LIE_COPY, LIE_PARTIAL).lie[1], LIE_BATCH);
    assert_int_equal(spread_replace(lies(LIE_PARTIAL, LIE_WIDTH), LIE_PARTIAL, LIE_WHOLE).lie[0],
                     LIE_WHOLE);
    assert_int_equal(spread_replace(lies(LIE_PARTIAL, LIE_WIDTH), LIE_PARTIAL, LIE_WHOLE).lie[1],
                     LIE_WIDTH);
}

// ---- layouts -------------------------------------------------------------------------------

/*
 * Megatron's: 256 tokens on 8 GPUs of a node, 405B. Columns of qkv and fc1, rows of attn_out and fc2;
 * two all-reduces forward, behind the rows, and two backward, of the gradients in front of the columns.
 * They take what C.12's collectives take.
 */
static void test_short_sequences_of_wide_layers_are_cut_as_megatron_does(void **state)
{
    (void)state;
    plait_error err;
    const meshed_case of = {"llama-3.1-405b", "dgx-h100", "8", 256, 1, 0, 1000.0, NULL};
    meshed *m = plait_arena_alloc(arena, 1, sizeof *m);
    plait_operators_result result;

    meshed_make(&of, arena, m);
    must(plait_operators_solve(&m->problem, &m->options, arena, &result, &err), &err);
    assert_string_equal(result.best.name, "TP 0");
    assert_string_equal(find(&result.best, "qkv")->spec, "[R,R,R] x [R,S0] -> [R,R,S0]");
    assert_string_equal(find(&result.best, "attn_out")->spec, "[R,R,S0] x [S0,R] -> [R,R,R]P0");
    assert_string_equal(find(&result.best, "fc1")->spec, "[R,R,R] x [R,S0] -> [R,R,S0]");
    assert_string_equal(find(&result.best, "fc2")->spec, "[R,R,S0] x [S0,R] -> [R,R,R]P0");
    assert_int_equal(edges_by(&result.best, "all-reduce 0", true), 2);
    assert_int_equal(edges_by(&result.best, "all-reduce 0", false), 2);
    const plait_route route = mesh_route(&m->problem, &m->options.mesh, 1);
    const plait_network net = {.nic = m->runtime.factor.nic,
                               .rails = m->runtime.factor.rails,
                               .hop_s = m->runtime.factor.hop_s};
    const double each_s =
        plait_collective_s(&route, net, PLAIT_ALL_REDUCE, 2.0 * 256.0 * m->model.hidden);
    assert_near_relative(result.best.comm_s, 4.0 * plait_tp_exposed(&m->runtime, false) * each_s,
                         1e-9);
}

/* The same where memory binds: norms and sums cut along the sequence, 3 GiB less, and hardly slower. */
static void test_sequence_parallelism_where_memory_binds(void **state)
{
    (void)state;
    meshed_case of = {"llama-3.1-405b", "dgx-h100", "8", 256, 1, 0, 1000.0, NULL};
    plait_operators_result roomy, tight;

    meshed_solve(&of, arena, &roomy);
    of.memory_gib = 845.0;
    meshed_solve(&of, arena, &tight);
    assert_string_equal(roomy.best.name, "TP 0");
    assert_string_equal(tight.best.name, "TP+SP 0");
    assert_int_equal(edges_by(&tight.best, "reduce-scatter 0", true), 2);
    assert_int_equal(edges_by(&tight.best, "all-gather 0", true), 2);
    assert_true(tight.best.step_s > roomy.best.step_s);
    assert_true(tight.best.step_s < 1.01 * roomy.best.step_s);
}

/* GPT-2 XL, 8 sequences of 1024 a rank, 16 microbatches: weights are small, gradients rare. */
static void test_small_weights_are_replicated(void **state)
{
    (void)state;
    const meshed_case of = {"gpt2-xl", "dgx-h100", "8", 1024, 1024, 64, 0.0, NULL};
    plait_operators_result result;

    meshed_solve(&of, arena, &result);
    assert_string_equal(result.best.name, "data parallel 0");
    assert_string_equal(find(&result.best, "fc1")->spec, "[S0,R,R] x [R,R] -> [S0,R,R]");
    assert_int_equal(edges_by(&result.best, "", true), result.best.edges);
}

/*
 * Llama 3.1 8B, 8192 tokens a rank, on 8 GPUs. With 16 microbatches a step weights stay whole (83 GiB);
 * within 50 of them the best that has a name is ZeRO-3, and the optimum cuts large weights only, as far
 * as the budget asks. With one microbatch gathers cost no more than a reduction once a step: ZeRO-3 wins
 * without a limit.
 */
static void test_zero3_under_a_budget(void **state)
{
    (void)state;
    meshed_case of = {"llama-3.1-8b", "dgx-h100", "8", 8192, 128, 8, 1000.0, NULL};
    plait_operators_result result;

    meshed_solve(&of, arena, &result);
    assert_string_equal(result.best.name, "data parallel 0");
    of.memory_gib = 55.0;
    meshed_solve(&of, arena, &result);
    assert_string_equal(result.named.name, "data parallel 0, ZeRO-3");
    assert_true(result.named.step_s < 1.01 * result.best.step_s);
    assert_int_equal(find(&result.best, "fc1")->home, PLAIT_WEIGHT_ZERO3);
    of.gbs = of.mbs;
    meshed_solve(&of, arena, &result);
    assert_string_equal(result.best.name, "data parallel 0, ZeRO-3");
}

/* Qwen3 30B-A3B, 128 small experts, 4096 tokens a rank on 64 GPUs: experts dealt inside each node. */
static void test_experts_are_dealt(void **state)
{
    (void)state;
    const meshed_case of = {"qwen3-30b-a3b", "dgx-h100", "8x8", 4096, 256, 64, 0.0, NULL};
    plait_operators_result result;

    meshed_solve(&of, arena, &result);
    assert_string_equal(result.best.name, "data parallel 0, expert parallel 1");
    assert_string_equal(find(&result.best, "expert_fc1")->spec,
                        "[S1,S0,R,R] x [S1,R,R] -> [S1,S0,R,R]");
    assert_string_equal(find(&result.best, "qkv")->spec, "[S01,R,R] x [R,R] -> [S01,R,R]");
}

/*
 * Llama 3.1 8B, one long sequence on 8 GPUs. The output projection is narrow: at 8192 tokens it takes
 * tokens by an all-to-all, with its weight whole, where Megatron's takes heads and scatters its sums; the
 * rest stays tensor parallel, which no name covers. At 16384 all products take tokens: Ulysses.
 */
static void test_a_sequence_parallel_output_projection_wins_at_long_sequences(void **state)
{
    (void)state;
    meshed_case of = {"llama-3.1-8b", "dgx-h100", "8", 8192, 1, 0, 0.0, NULL};
    plait_operators_result result;

    meshed_solve(&of, arena, &result);
    assert_string_equal(result.best.name, "");
    assert_string_equal(result.named.name, "TP+SP 0");
    assert_string_equal(find(&result.best, "attn_out")->spec, "[R,S0,R] x [R,R] -> [R,S0,R]");
    assert_string_equal(find(&result.best, "fc2")->spec, "[R,R,S0] x [S0,R] -> [R,R,R]P0");
    const double gain = result.named.step_s / result.best.step_s - 1.0;
    assert_true(gain > 0.005 && gain < 0.05); // 1.6 % when this was written
    of.seq = 16384;
    meshed_solve(&of, arena, &result);
    assert_string_equal(result.best.name, "Ulysses 0");
    assert_string_equal(find(&result.best, "attn_out")->spec, "[R,S0,R] x [R,R] -> [R,S0,R]");
    assert_int_equal(edges_by(&result.best, "all-to-all 0", true), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_mesh_is_read),
        cmocka_unit_test(test_the_last_axis_is_innermost),
        cmocka_unit_test(test_what_is_no_question_is_refused),
        cmocka_unit_test(test_out_of_memory_is_said),
        cmocka_unit_test(test_every_model_is_a_graph_that_can_be_solved),
        cmocka_unit_test(test_one_gpu_takes_the_kernels_of_the_layer),
        cmocka_unit_test(test_conversions_by_hand),
        cmocka_unit_test(test_gradients_return_by_the_dual),
        cmocka_unit_test(test_short_sequences_of_wide_layers_are_cut_as_megatron_does),
        cmocka_unit_test(test_sequence_parallelism_where_memory_binds),
        cmocka_unit_test(test_small_weights_are_replicated),
        cmocka_unit_test(test_zero3_under_a_budget),
        cmocka_unit_test(test_experts_are_dealt),
        cmocka_unit_test(test_a_sequence_parallel_output_projection_wins_at_long_sequences),
    };

    arena = plait_arena_new();
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    plait_arena_free(arena);
    return failed;
}
