/* test_run_log.c - the config of a run out of its log */
#include <string.h>

#include "launch/import.h"
#include "support/arena_fixture.h"
#include "support/must.h"

#define BEGIN "------------------------ arguments ------------------------\n"
#define END "-------------------- end of arguments ---------------------\n"

static const char *config_of(const char *text, plait_launch_target *target)
{
    const char *config;
    plait_error err;

    must(launch_read_log(text, strlen(text), "run.log", target, arena, &config, &err), &err);
    return config;
}

static void assert_config(const char *text, plait_launch_target target, const char *expected)
{
    plait_launch_target found = PLAIT_LAUNCH_TARGETS;
    const char *const config = config_of(text, &found);

    assert_non_null(config);
    assert_int_equal(found, target);
    assert_string_equal(config, expected);
}

static void assert_no_log(const char *text, plait_launch_target target)
{
    assert_null(config_of(text, &target));
}

static void assert_cut_off(const char *text, const char *message)
{
    plait_launch_target target = PLAIT_LAUNCH_TARGETS;
    const char *config;
    plait_error err;

    assert_int_equal(launch_read_log(text, strlen(text), "run.log", &target, arena, &config, &err),
                     PLAIT_ERROR_SYNTAX);
    assert_string_equal(err.where, "run.log");
    assert_string_equal(err.message, message);
}

/* ---- Megatron-LM ---- */

static void test_arguments__become_flags(void **state)
{
    (void)state;
    assert_config(BEGIN "  add_bias_linear ................................. False\n"
                        "  apply_rope_fusion ............................... True\n"
                        "  attention_backend ............................... AttnBackend.auto\n"
                        "  consumed_train_samples .......................... 0\n"
                        "  cp_comm_type .................................... ['a2a', 'p2p']\n"
                        "  exp_avg_dtype ................................... torch.bfloat16\n"
                        "  fp8 ............................................. hybrid\n"
                        "  moe_layer_freq .................................. [0, 1, 1]\n"
                        "  num_experts ..................................... None\n"
                        "  num_layers ...................................... 3\n"
                        "  sequence_parallel ............................... False\n"
                        "  swiglu .......................................... True\n"
                        "  tokenizer_model ................................. a b.model\n"
                        "  zero_stage ...................................... 1.0\n" END,
                  PLAIT_LAUNCH_MEGATRON,
                  "--disable-bias-linear \\\n--attention-backend auto \\\n"
                  "--consumed-train-samples 0 \\\n--cp-comm-type a2a p2p \\\n"
                  "--exp-avg-dtype bf16 \\\n--fp8-format hybrid \\\n--moe-layer-freq 0 1 1 \\\n"
                  "--num-layers 3 \\\n--swiglu \\\n--tokenizer-model 'a b.model' \\\n"
                  "--zero-stage 1 \\\n");
}

/* Launchers put hosts, ranks and times before a line; lines of other ranks stand between two. */
static void test_prefixes_colours_and_other_ranks__do_not_matter(void **state)
{
    (void)state;
    assert_config("0: \x1b[32m" BEGIN "[default0]:  num_layers ........ 3\r\n"
                  "[default9]: UserWarning ...\r\n"
                  "2026-01-02T03:04:05Z   hidden_size ....... 64\r\n"
                  "0: " END,
                  PLAIT_LAUNCH_MEGATRON, "--num-layers 3 \\\n--hidden-size 64 \\\n");
}

/* A restarted run has several blocks. */
static void test_the_last_complete_block__counts(void **state)
{
    (void)state;
    assert_config(BEGIN "  num_layers ... 3\n" END BEGIN "  num_layers ... 9\n" BEGIN
                        "  num_layers ... 4\n" END BEGIN "  num_layers ... 5\n",
                  PLAIT_LAUNCH_MEGATRON, "--num-layers 4 \\\n");
    assert_config("-------------------- arguments --------------------\n  num_layers ... 3\n"
                  "---------------- end of arguments ----------------\n",
                  PLAIT_LAUNCH_MEGATRON, "--num-layers 3 \\\n");
}

/* Python prints members of an enumeration in angle brackets, and the block has every default. */
static void test_modules_of_graphs__are_members_of_an_enumeration(void **state)
{
    (void)state;
    assert_config(BEGIN "  check_for_nan_in_loss_and_grad ... False\n"
                        "  cuda_graph_impl ... transformer_engine\n"
                        "  cuda_graph_modules ... [<CudaGraphModule.attn: 1>, "
                        "<CudaGraphModule.moe_router: 4>]\n" END,
                  PLAIT_LAUNCH_MEGATRON,
                  "--no-check-for-nan-in-loss-and-grad \\\n"
                  "--cuda-graph-impl transformer_engine \\\n"
                  "--cuda-graph-modules attn moe_router \\\n");
    assert_config(BEGIN "  cuda_graph_impl ... none\n  cuda_graph_modules ... []\n" END,
                  PLAIT_LAUNCH_MEGATRON, "--cuda-graph-impl none \\\n");
}

static void test_vocabulary__is_of_the_tokenizer(void **state)
{
    (void)state;
    assert_config(BEGIN "  num_layers ... 3\n" END
                        " > padded vocab (size: 50257) with 47 dummy tokens (new size: 50304)\n",
                  PLAIT_LAUNCH_MEGATRON,
                  "--num-layers 3 \\\n--vocab-size 50257 --padded-vocab-size 50304\n");
}

static void test_a_method_of_fine_tuning__stays_for_the_import_to_refuse(void **state)
{
    plans_entry out;
    const char *warning;
    plait_error err;

    (void)state;
    plait_launch_target target = PLAIT_LAUNCH_TARGETS;
    const char *const config =
        config_of(BEGIN "  num_layers ... 3\n  train_type ... lora\n" END, &target);
    assert_int_not_equal(
        launch_import(target, config, strlen(config), "run.log", NULL, arena, &out, &warning, &err),
        PLAIT_OK);
    assert_string_equal(err.where, "run.log: train_type");
}

/* ---- torchtitan ---- */

static const char mesh[] = "[rank0]:[titan] - root - INFO - Building 3-D device mesh with "
                           "['pp', 'dp_shard', 'tp'], [2, 4, 8]\n";

static void test_job_config__becomes_toml(void **state)
{
    char *const text = plait_arena_printf(
        arena,
        "Running with configs: {\n"
        "0:   \"job\": {\n0:     \"note\": \"a, {b\"\n0:   },\n"
        "0:   \"model\": {\n0:     \"name\": \"llama3\",\n0:     \"flavor\": \"8B\",\n"
        "1: another rank\n0:     \"converters\": []\n0:   },\n"
        "0:   \"training\": {\n0:     \"local_batch_size\": 2,\n0:     \"path\": null,\n"
        "0:     \"dataloader\": {\n0:       \"a\": 1\n0:     },\n0:     \"seq_len\": 8192\n0:   "
        "},\n"
        "0:   \"parallelism\": {\n0:     \"module_fqns_per_model_part\": [\n0:       [\n"
        "0:         \"layers.0\"\n0:       ]\n0:     ],\n0:     \"tensor_parallel_degree\": 8\n0:  "
        " },\n"
        "0:   \"activation_checkpoint\": {\n0:     \"mode\": \"full\"\n0:   }\n0: }\n%s",
        mesh);

    (void)state;
    assert_config(text, PLAIT_LAUNCH_TORCHTITAN,
                  "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[training]\nlocal_batch_size = 2\n"
                  "seq_len = 8192\n[parallelism]\nmodule_fqns_per_model_part = [\n       [\n"
                  "         \"layers.0\"\n       ]\n     ]\ntensor_parallel_degree = 8\n"
                  "[activation_checkpoint]\nmode = \"full\"\n# plait: gpus 64\n");
}

static void test_lines__stand_in_for_the_job_config(void **state)
{
    char *const text = plait_arena_printf(
        arena,
        "%sBuilding llama3 8B with TransformerModelArgs(dim=4096)\n"
        "Using pipeline schedule Interleaved1F1B with 4 microbatches and 4 stages.\n"
        "Applied selective activation checkpointing to the model\n"
        "Compiling each TransformerBlock with torch.compile\n"
        "Trainer is initialized with local batch size 8, global batch size 32, gradient "
        "accumulation steps 1, sequence length 4096, total steps 10 (warmup 2)\n",
        mesh);

    (void)state;
    assert_config(
        text, PLAIT_LAUNCH_TORCHTITAN,
        "# plait: gpus 64\n[parallelism]\npipeline_parallel_degree = 2\n"
        "data_parallel_replicate_degree = 1\ndata_parallel_shard_degree = 4\n"
        "context_parallel_degree = 1\ntensor_parallel_degree = 8\nexpert_parallel_degree = 1\n"
        "expert_tensor_parallel_degree = 1\n"
        "[model]\nname = \"llama3\"\nflavor = \"8B\"\n[compile]\nenable = true\n"
        "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"unknown\"\n"
        "[training]\nlocal_batch_size = 8\nglobal_batch_size = 32\nseq_len = 4096\n"
        "[parallelism]\npipeline_parallel_schedule = \"Interleaved1F1B\"\n"
        "pipeline_parallel_microbatch_size = 2\n");
}

/* Up to v0.2.1 experts cut the axis of shards in two: ep is 2 * cp * tp. */
static void test_mesh_of_experts__gives_their_degree(void **state)
{
    (void)state;
    assert_config(
        "device mesh with ['dp_shard_mod_ep', 'dp_shard_in_ep', 'cp', 'tp'], [3, 2, 4, 8]\n",
        PLAIT_LAUNCH_TORCHTITAN,
        "# plait: gpus 192\n[parallelism]\npipeline_parallel_degree = 1\n"
        "data_parallel_replicate_degree = 1\ndata_parallel_shard_degree = 6\n"
        "context_parallel_degree = 4\ntensor_parallel_degree = 8\n"
        "expert_parallel_degree = 64\nexpert_tensor_parallel_degree = 1\n"
        "[activation_checkpoint]\nmode = \"none\"\n");
}

/* Lines of 2026: axes by name, the batch in tokens, classes for what is recomputed. */
static void test_newer_lines__are_read(void **state)
{
    (void)state;
    assert_config(
        "Building device mesh with parallelism: pp=1, dp_replicate=2, dp_shard=16, cp=2, tp=1, "
        "ep=8\n"
        "Applied SelectiveAC activation checkpointing to the model\n"
        "Trainer is initialized with 8192 tokens per DP rank, 524288 tokens per train step, "
        "gradient accumulation steps 2, maximum context length 4096, total steps 9 (warmup 2)\n",
        PLAIT_LAUNCH_TORCHTITAN,
        "# plait: gpus 64\n[parallelism]\npipeline_parallel_degree = 1\n"
        "data_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 16\n"
        "context_parallel_degree = 2\ntensor_parallel_degree = 1\nexpert_parallel_degree = 8\n"
        "expert_tensor_parallel_degree = 1\n"
        "[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"\n"
        "[training]\nlocal_batch_size = 2\nglobal_batch_size = 128\nseq_len = 4096\n");
}

/* ---- DeepSpeed ---- */

static const char settings[] = "h1: [05:06:07,01] [print] DeepSpeedEngine configuration:\n"
                               "h1: [05:06:07,02] [print]   gradient_accumulation_steps .. 4\n"
                               "h1: [05:06:07,02] [print]   train_batch_size ............. 64\n"
                               "h1: [05:06:07,02] [print]   train_micro_batch_size_per_gpu  2\n";

static void test_json__has_the_batch_of_the_engine(void **state)
{
    char *const text = plait_arena_printf(arena,
                                          "%sh1: [05:06:07,03] [print]   json = {\n"
                                          "h1:     \"train_batch_size\": 64,\n"
                                          "h2:     \"another\": 1,\n"
                                          "h1: DEBUG\n"
                                          "h1:     \"zero_optimization\": {\n"
                                          "h1:         \"stage\": 3\n"
                                          "h1:     }\n"
                                          "h1: }\n"
                                          "h1: more\n",
                                          settings);

    (void)state;
    assert_config(text, PLAIT_LAUNCH_DEEPSPEED,
                  "{\n    \"train_micro_batch_size_per_gpu\": 2,\n"
                  "    \"gradient_accumulation_steps\": 4,\n"
                  "     \"train_batch_size\": 64,\n     \"zero_optimization\": {\n"
                  "         \"stage\": 3\n     }\n }");
}

/* ---- logs without a complete config ---- */

static void test_a_config_that_is_cut_off__is_refused(void **state)
{
    (void)state;
    assert_cut_off(BEGIN "  num_layers ... 3\n",
                   "expected the line \"end of arguments\" that Megatron-LM prints, found the end "
                   "of the log: the arguments are cut off");
    assert_cut_off("Running with configs: {\n  \"model\": {\n",
                   "expected the end of torchtitan's job config, found the end of the log: the log "
                   "is cut off");
    assert_cut_off(
        settings,
        "expected the JSON that DeepSpeed's engine prints, \"json = {\", after \"DeepSpeedEngine "
        "configuration:\", found the end of the log: the log is cut off");
}

static void test_other_texts__are_no_logs(void **state)
{
    (void)state;
    assert_no_log("", PLAIT_LAUNCH_TARGETS);
    assert_no_log("torchrun pretrain_gpt.py --num-layers 3\n", PLAIT_LAUNCH_TARGETS);
    assert_no_log(" iteration 3/ 10 | elapsed time per iteration (ms): 1250.5 |\n",
                  PLAIT_LAUNCH_TARGETS);
    assert_no_log(mesh, PLAIT_LAUNCH_MEGATRON);
    assert_no_log(BEGIN "  num_layers ... 3\n" END, PLAIT_LAUNCH_ACCELERATE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_arguments__become_flags, begin, end),
        cmocka_unit_test_setup_teardown(test_prefixes_colours_and_other_ranks__do_not_matter, begin,
                                        end),
        cmocka_unit_test_setup_teardown(test_the_last_complete_block__counts, begin, end),
        cmocka_unit_test_setup_teardown(test_modules_of_graphs__are_members_of_an_enumeration,
                                        begin, end),
        cmocka_unit_test_setup_teardown(test_vocabulary__is_of_the_tokenizer, begin, end),
        cmocka_unit_test_setup_teardown(
            test_a_method_of_fine_tuning__stays_for_the_import_to_refuse, begin, end),
        cmocka_unit_test_setup_teardown(test_job_config__becomes_toml, begin, end),
        cmocka_unit_test_setup_teardown(test_lines__stand_in_for_the_job_config, begin, end),
        cmocka_unit_test_setup_teardown(test_mesh_of_experts__gives_their_degree, begin, end),
        cmocka_unit_test_setup_teardown(test_newer_lines__are_read, begin, end),
        cmocka_unit_test_setup_teardown(test_json__has_the_batch_of_the_engine, begin, end),
        cmocka_unit_test_setup_teardown(test_a_config_that_is_cut_off__is_refused, begin, end),
        cmocka_unit_test_setup_teardown(test_other_texts__are_no_logs, begin, end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
