/*
 * test_launch_switches.c - graphs, fused experts and 8-bit attention in launch files of Megatron-LM
 * and Megatron-Bridge, by release, and back
 */
#include <string.h>

#include "launch/import.h"
#include "support/launched_fixture.h"

static const launched_usual usual = {"qwen3-30b-a3b", "megatron", 8, PLAIT_LAUNCH_MEGATRON};

/* A model on 8 GPUs of GB200, under a release; "": the newest. */
static void ask(const char *model, const char *release, plait_precision precision)
{
    const char *const runtime = plait_arena_printf(arena, "megatron%s", release);
    plait_error err;

    assert_non_null(runtime);
    launched_question(&it, model, runtime, 8, arena);
    must(plait_cluster_find("gb200-nvl72:2x4", arena, &it.cluster, &err), &err);
    it.problem.job.precision = precision;
}

/* Fails the test unless the file is read as the keys for which it was written. */
static void assert_file_reads_back(const char *name)
{
    const char *const text = launched_text(&it, name);
    plans_entry entry;
    const char *warning;
    plait_error err;

    must(launch_import(PLAIT_LAUNCH_MEGATRON, text, strlen(text), name, NULL, arena, &entry,
                       &warning, &err),
         &err);
    assert_string_equal(warning, "");
    for (int k = 0; k < PLAIT_KEYS; k++) {
        if (k == PLAIT_KEY_FUSION)
            continue; // no argument of Megatron-LM depends on it
        assert_true(entry.given & PLAIT_KEY_BIT(k));
        if (!plait_key_same(&entry.degrees, &it.degrees, (plait_key_id)k))
            fail_msg("%s is read as %d", plait_keys[k].name,
                     plait_key_value(&entry.degrees, (plait_key_id)k));
    }
    assert_string_equal(entry.not_read, "");
}

static void assert_reads_back(void)
{
    assert_file_reads_back("args.sh");
}

static void render_for_bridge(const char *keys)
{
    plait_error err;

    must(launched_render(&it, keys, PLAIT_LAUNCH_MEGATRON_BRIDGE, arena, &err), &err);
    assert_file_reads_back("overrides.sh");
}

#define EXPERTS "tp=1 ep=8 etp=1 mbs=1 dispatcher=hybridep attention=fused recompute=none "
#define WHOLE EXPERTS "cuda_graph=full_iteration fused_grouped_mlp=1 fp8_params=1"

static void test_no_graphs__is_said_to_the_bridge_alone(void **state)
{
    (void)state;
    ask("qwen3-30b-a3b", "", PLAIT_BF16);
    render(EXPERTS "cuda_graph=none");
    assert_silent(&it, "args.sh", "cuda-graph");
    assert_silent(&it, "args.sh", "NCCL_GRAPH_REGISTER");
    assert_reads_back();
    render_for_bridge(EXPERTS "cuda_graph=none");
    assert_says(&it, "overrides.sh", "model.cuda_graph_impl=\"none\"\n");
    assert_says(&it, "overrides.sh", "model.use_transformer_engine_op_fuser=false\n");
    assert_silent(&it, "overrides.sh", "cuda_graph_modules");
}

/* A scope up to 0.17, and modules from 0.18 on. */
static void test_graphs_of_layers__have_the_names_of_their_release(void **state)
{
    static const struct {
        const char *release, *args, *overrides;
    } cases[] = {
        {"@core-v0.16.0", "--cuda-graph-scope attn moe_router moe_preprocess\n",
         "model.cuda_graph_scope=[\"attn\",\"moe_router\",\"moe_preprocess\"]\n"},
        {"@bridge-v0.4.2", "--cuda-graph-scope attn moe_router moe_preprocess\n",
         "model.cuda_graph_scope=[\"attn\",\"moe_router\",\"moe_preprocess\"]\n"},
        {"@core-v0.18.0", "--cuda-graph-modules attn moe_router moe_preprocess\n",
         "model.cuda_graph_modules=[\"attn\",\"moe_router\",\"moe_preprocess\"]\n"
         "model.cuda_graph_scope=null\n"},
        {"", "--cuda-graph-modules attn moe_router moe_preprocess\n",
         "model.cuda_graph_modules=[\"attn\",\"moe_router\",\"moe_preprocess\"]\n"
         "model.cuda_graph_scope=null\n"},
    };

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        ask("qwen3-30b-a3b", cases[c].release, PLAIT_BF16);
        render(EXPERTS "cuda_graph=layers");
        assert_says(&it, "args.sh", "--cuda-graph-impl transformer_engine\n");
        assert_says(&it, "args.sh", cases[c].args);
        assert_says(&it, "args.sh", "--te-rng-tracker\n");
        assert_says(&it, "args.sh", "export NCCL_GRAPH_REGISTER=0\n");
        assert_silent(&it, "args.sh", "check-for-nan");
        assert_reads_back();
        render_for_bridge(EXPERTS "cuda_graph=layers");
        assert_says(&it, "overrides.sh", "model.cuda_graph_impl=\"transformer_engine\"\n");
        assert_says(&it, "overrides.sh", cases[c].overrides);
        assert_says(&it, "overrides.sh",
                    "model.use_te_rng_tracker=true\nrng.te_rng_tracker=true\n");
        assert_says(&it, "run.sh", "export NCCL_GRAPH_REGISTER=0\n");
    }
}

static void test_graphs_of_layers__have_the_parts_of_the_model(void **state)
{
    (void)state;
    ask("llama-3.1-8b", "", PLAIT_BF16);
    render("tp=1 mbs=1 recompute=none cuda_graph=layers");
    assert_says(&it, "args.sh", "--cuda-graph-modules attn mlp\n");
    assert_reads_back();
    // a layer without experts, whose MLP no graph may have in pairs of microbatches
    ask("deepseek-v2-lite", "", PLAIT_BF16);
    render(EXPERTS "cuda_graph=layers ep_overlap=none");
    assert_says(&it, "args.sh", "--cuda-graph-modules attn mlp moe_router moe_preprocess\n");
    assert_reads_back();
    render(EXPERTS "cuda_graph=layers ep_overlap=pairs");
    assert_says(&it, "args.sh", "--cuda-graph-modules attn moe_router moe_preprocess\n");
    assert_reads_back();
}

/* Rows padded for 8-bit products have sizes that the host waits for. */
static void test_preprocessing__is_no_part_of_a_graph_if_the_host_waits(void **state)
{
    (void)state;
    ask("qwen3-30b-a3b", "", PLAIT_MXFP8);
    render("tp=1 ep=8 etp=1 mbs=1 dispatcher=alltoall attention=fused recompute=none "
           "cuda_graph=layers");
    assert_says(&it, "args.sh", "--cuda-graph-modules attn moe_router\n");
    assert_reads_back();
}

/* Expert biases are those of attention too. */
static void test_attention_with_biases__is_no_part_of_a_graph_with_delayed_gradients(void **state)
{
    (void)state;
    ask("gpt-oss-20b", "", PLAIT_BF16);
    render(EXPERTS "cuda_graph=layers ep_overlap=pairs-delayed-wgrad");
    assert_says(&it, "args.sh", "--cuda-graph-modules moe_router moe_preprocess\n");
    assert_reads_back();
    render(EXPERTS "cuda_graph=layers ep_overlap=pairs");
    assert_says(&it, "args.sh", "--cuda-graph-modules attn moe_router moe_preprocess\n");
    assert_reads_back();
}

static void test_a_graph_of_the_iteration__has_buffers_for_experts(void **state)
{
    static const char *const releases[] = {"@core-v0.18.0", "@bridge-v0.5.1", ""};

    (void)state;
    for (size_t r = 0; r < sizeof releases / sizeof *releases; r++) {
        ask("qwen3-30b-a3b", releases[r], PLAIT_MXFP8);
        render(WHOLE);
        assert_says(&it, "args.sh",
                    "--use-transformer-engine-op-fuser\n"
                    "--moe-mlp-glu-interleave-size 32\n"
                    "--cuda-graph-impl full_iteration\n"
                    "--te-rng-tracker\n"
                    "--no-check-for-nan-in-loss-and-grad\n"
                    "--moe-expert-rank-capacity-factor 1.5\n"
                    "--moe-paged-stash\n"
                    "--moe-paged-stash-buffer-size-factor-cuda 1.2\n"
                    "--moe-paged-stash-buffer-size-factor-cpu 1\n");
        assert_silent(&it, "args.sh", "--moe-router-padding");
        assert_says(&it, "args.sh",
                    "export NVTE_CUTEDSL_FUSED_GROUPED_MLP=1\n"
                    "export NCCL_GRAPH_REGISTER=0\n"
                    "export TORCH_NCCL_AVOID_RECORD_STREAMS=0\n"
                    "export PYTORCH_ALLOC_CONF=expandable_segments:True,"
                    "graph_capture_record_stream_reuse:True\n");
        assert_reads_back();
        render_for_bridge(WHOLE);
        assert_says(&it, "overrides.sh",
                    "model.cuda_graph_impl=\"full_iteration\"\n"
                    "model.cuda_graph_modules=[]\n"
                    "model.cuda_graph_scope=null\n"
                    "model.use_te_rng_tracker=true\n"
                    "rng.te_rng_tracker=true\n"
                    "rerun_state_machine.check_for_nan_in_loss=false\n"
                    "ddp.check_for_nan_in_grad=false\n");
        assert_says(&it, "overrides.sh",
                    "model.use_transformer_engine_op_fuser=true\n"
                    "model.moe_mlp_glu_interleave_size=32\n"
                    "model.moe_paged_stash=true\n"
                    "model.moe_expert_rank_capacity_factor=1.5\n");
        assert_says(&it, "run.sh", "export NVTE_CUTEDSL_FUSED_GROUPED_MLP=1\n");
    }
}

static void test_a_graph_of_the_iteration__has_no_buffers_without_experts(void **state)
{
    (void)state;
    ask("llama-3.1-8b", "", PLAIT_BF16);
    render("tp=1 mbs=1 recompute=none cuda_graph=full_iteration offload_acts=core_attn");
    assert_says(&it, "args.sh", "--cuda-graph-impl full_iteration\n");
    assert_says(&it, "args.sh", "--fine-grained-offloading-max-inflight-offloads 1\n");
    assert_silent(&it, "args.sh", "--moe-");
    assert_reads_back();
}

/* Megatron-LM's parser has no flag, so the head of the file lists the line to change. */
static void test_attention_in_8_bits__is_an_edit_or_a_precision(void **state)
{
    (void)state;
    ask("qwen3-30b-a3b", "", PLAIT_MXFP8);
    render(EXPERTS "fp8_attention=1 fp8_params=1");
    assert_says(&it, "args.sh", "#   program      fp8_dot_product_attention = True in ");
    assert_says(&it, "args.sh", "# plait: fp8_attention 1\n");
    assert_reads_back();
    render_for_bridge(EXPERTS "fp8_attention=1 fp8_params=1");
    assert_says(&it, "overrides.sh", "mixed_precision=bf16_with_mxfp8_mixed\nmixed_precision='{");
    assert_says(&it, "overrides.sh",
                "fp8_recipe:mxfp8,reuse_grad_buf_for_mxfp8_param_ag:true,"
                "fp8_param_gather:true,fp8_dot_product_attention:true}'\n");
    render(EXPERTS "fp8_attention=0 fp8_params=1");
    assert_silent(&it, "args.sh", "fp8_dot_product_attention");
    assert_reads_back();
}

static void assert_refused(const char *keys, const char *part)
{
    plait_error err;

    if (launched_render(&it, keys, PLAIT_LAUNCH_MEGATRON, arena, &err) != PLAIT_ERROR_RANGE)
        fail_msg("%s is not refused", keys);
    if (strstr(err.message, part) == NULL)
        fail_msg("%s: %s", keys, err.message);
}

static void test_plans_that_a_release_cannot_run__are_refused(void **state)
{
    (void)state;
    ask("qwen3-30b-a3b", "@core-v0.15.0", PLAIT_BF16);
    assert_refused("tp=1 ep=8 etp=1 mbs=1 recompute=none cuda_graph=layers",
                   "added in core-v0.16.0rc0");
    ask("llama-3.1-8b", "@core-v0.17.0", PLAIT_BF16);
    assert_refused("tp=1 mbs=1 recompute=none cuda_graph=full_iteration", "added in core-v0.18.0");
    assert_refused("tp=1 mbs=1 recompute=none cuda_graph=layers offload_acts=core_attn", "P67");
    ask("qwen3-30b-a3b", "@core-v0.17.0", PLAIT_MXFP8);
    assert_refused(EXPERTS "fused_grouped_mlp=1", "added in core-v0.18.0");
    assert_refused(EXPERTS "fp8_attention=1", "added in core-v0.18.0");
}

static void test_offload_beside_fused_experts__is_refused(void **state)
{
    (void)state;
    ask("qwen3-30b-a3b", "", PLAIT_MXFP8);
    assert_refused(EXPERTS "fused_grouped_mlp=1 offload_acts=moe_act",
                   "fused_grouped_mlp 1 does not allow offload_acts of experts");
}

static void test_graphs__allow_no_random_recomputation(void **state)
{
    (void)state;
    ask("gpt2-xl", "", PLAIT_BF16);
    it.problem.job.seq = 1024;
    assert_refused("tp=1 mbs=1 recompute=selective cuda_graph=layers", "P66");
    render("tp=1 mbs=1 recompute=none cuda_graph=layers");
    assert_reads_back();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_no_graphs__is_said_to_the_bridge_alone, begin, end),
        cmocka_unit_test_setup_teardown(test_graphs_of_layers__have_the_names_of_their_release,
                                        begin, end),
        cmocka_unit_test_setup_teardown(test_graphs_of_layers__have_the_parts_of_the_model, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_preprocessing__is_no_part_of_a_graph_if_the_host_waits,
                                        begin, end),
        cmocka_unit_test_setup_teardown(
            test_attention_with_biases__is_no_part_of_a_graph_with_delayed_gradients, begin, end),
        cmocka_unit_test_setup_teardown(test_a_graph_of_the_iteration__has_buffers_for_experts,
                                        begin, end),
        cmocka_unit_test_setup_teardown(
            test_a_graph_of_the_iteration__has_no_buffers_without_experts, begin, end),
        cmocka_unit_test_setup_teardown(test_attention_in_8_bits__is_an_edit_or_a_precision, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_plans_that_a_release_cannot_run__are_refused, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_offload_beside_fused_experts__is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_graphs__allow_no_random_recomputation, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
