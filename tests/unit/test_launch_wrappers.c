/* test_launch_wrappers.c - ms-swift, Primus, and YAML of Megatron-LM's arguments, as plans */
#include <stdio.h>
#include <string.h>

#include "support/arena_fixture.h"
#include "launch/import.h"
#include "support/must.h"

static const char *warning;

static plans_entry import(const char *text)
{
    plans_entry out;
    plait_error err;

    must(launch_import(PLAIT_LAUNCH_MEGATRON, text, strlen(text), "f", NULL, arena, &out, &warning,
                       &err),
         &err);
    return out;
}

static void assert_refused(const char *text, const char *where, const char *message)
{
    plans_entry out;
    plait_error err;

    assert_int_not_equal(launch_import(PLAIT_LAUNCH_MEGATRON, text, strlen(text), "f", NULL, arena,
                                       &out, &warning, &err),
                         PLAIT_OK);
    assert_string_equal(err.where, where);
    assert_string_equal(err.message, message);
}

/* ---- ms-swift ---- */

#define SWIFT "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-8B --dataset d.jsonl "

/* 8 GPUs / tp 2 = dp 4, and the distributed optimizer shards over them. */
static void test_swift__has_defaults_of_its_own(void **state)
{
    const plans_entry out =
        import(SWIFT "--train_type full --tensor_model_parallel_size 2 --sequence_parallel true "
                     "--packing true --max_length 8192");

    (void)state;
    assert_string_equal(warning, "");
    assert_string_equal(out.model->name, "qwen3-8b");
    assert_int_equal(out.gpus, 8);
    assert_int_equal(out.seq, 8192);
    assert_int_equal(out.gbs, 16);
    assert_int_equal(out.precision, PLAIT_BF16);
    assert_int_equal(out.degrees.mbs, 1);
    assert_int_equal(out.degrees.sp, 1);
    assert_int_equal(out.degrees.dp, 4);
    assert_int_equal(out.degrees.zero, 1);
    assert_int_equal(out.degrees.recompute.kind, PLAIT_RECOMPUTE_SELECTIVE);
    assert_int_equal(out.degrees.attention, PLAIT_ATTENTION_FLASH2);
    assert_int_equal(out.degrees.grad_sync, PLAIT_SYNC_SHIFTED);
    assert_int_equal(out.degrees.grad_reduce, PLAIT_STATE_FP32);
    assert_string_equal(out.runtime, "megatron");
}

static void test_swift__is_overruled_by_its_flags(void **state)
{
    const plans_entry out =
        import(SWIFT "--tuner_type full --lora_rank 8 --packing true "
                     "--use_distributed_optimizer false --recompute_granularity "
                     "none --overlap_grad_reduce true --global_batch_size 32 "
                     "--sequence_parallel false --attention_backend fused");

    (void)state;
    assert_int_equal(out.degrees.zero, 0);
    assert_int_equal(out.degrees.recompute.kind, PLAIT_RECOMPUTE_NONE);
    assert_int_equal(out.degrees.grad_sync, PLAIT_SYNC_BUCKETED);
    assert_int_equal(out.degrees.attention, PLAIT_ATTENTION_FUSED);
    assert_int_equal(out.gbs, 32);
    assert_int_equal(out.seq, 0);
}

static void test_swift__without_packing_is_priced_at_its_longest(void **state)
{
    (void)state;
    import(SWIFT "--max_length 2048");
    assert_string_equal(
        warning,
        "samples differ in length without --packing true; all are priced with --max_length tokens");
}

/* Nodes stand in the environment of the command alone. */
static void test_swift__runs_on_what_its_environment_says(void **state)
{
    (void)state;
    assert_int_equal(import("NNODES=2 NODE_RANK=0 \\\nNPROC_PER_NODE=4 \\\nmegatron pt --model "
                            "Qwen/Qwen3-8B --tensor_model_parallel_size 4")
                         .gpus,
                     8);
    assert_int_equal(import("NPROC_PER_NODE=4 torchrun pretrain_gpt.py --bf16").gpus, 4);
}

static void test_swift__says_models_that_are_not_known(void **state)
{
    const plans_entry out =
        import("megatron sft --model Qwen/Nothing-1B --packing true --max_length 2048");

    (void)state;
    assert_null(out.model);
    assert_string_equal(
        warning, "the model is unknown; give it with --model: plait has no model Qwen/Nothing-1B");
}

static void test_swift__is_read_as_yaml(void **state)
{
    const plans_entry out = import("model: Qwen/Qwen3-8B\ndataset: d.jsonl\ntuner_type: full\n"
                                   "packing: true\nmax_length: 4096\n"
                                   "tensor_model_parallel_size: 4\nENV:\n  NPROC_PER_NODE: 8\n");

    (void)state;
    assert_string_equal(warning, "");
    assert_int_equal(out.gpus, 8);
    assert_int_equal(out.degrees.tp, 4);
    assert_int_equal(out.degrees.zero, 1);
    assert_int_equal(out.seq, 4096);
}

/* ---- YAML of Megatron-LM's arguments ---- */

#define SIZES                                                                                      \
    "  num_layers: 32\n  hidden_size: 4096\n  num_attention_heads: 32\n"                           \
    "  ffn_hidden_size: 16384\n  seq_length: 4096\n  max_position_embeddings: 4096\n"              \
    "  vocab_size: 32000\n  micro_batch_size: 1\n  global_batch_size: 64\n  bf16: true\n"

static void assert_is_the_gpt(const plans_entry *out)
{
    assert_string_equal(warning, "");
    assert_int_equal(out->model->layers, 32);
    assert_int_equal(out->model->hidden, 4096);
    assert_int_equal(out->degrees.tp, 2);
    assert_int_equal(out->degrees.zero, 1);
    assert_int_equal(out->degrees.mbs, 1);
    assert_int_equal(out->gbs, 64);
    assert_int_equal(out->seq, 4096);
    assert_int_equal(out->precision, PLAIT_BF16);
}

static void test_yaml__is_read_under_args_and_at_the_top(void **state)
{
    plans_entry out = import("ARGS:\n" SIZES "  tensor_model_parallel_size: 2\n"
                             "  use_distributed_optimizer: true\n");

    (void)state;
    assert_is_the_gpt(&out);
    out = import("# a comment\n\n---\nENV_VARS:\n  CUDA_DEVICE_MAX_CONNECTIONS: 1\n"
                 "BEFORE_SCRIPT: |\n  mkdir -p /tmp/x\n\n  echo: y\nMODEL_ARGS:\n" SIZES
                 "  --tensor-model-parallel-size: 2\n  --use-distributed-optimizer: true\n"
                 "  --data-path: ${DATA_BLEND}\nTEST_TYPE: regular\nMETRICS:\n  - \"lm loss\"\n");
    assert_is_the_gpt(&out);
    out = import("tensor_model_parallel_size: 2\nuse_distributed_optimizer : true\n"
                 "language_model:\n" SIZES);
    assert_is_the_gpt(&out);
}

static void test_yaml__takes_the_brackets_of_lists_away(void **state)
{
    const plans_entry out =
        import("MODEL_ARGS:\n" SIZES "  --recompute-granularity: selective\n"
               "  --recompute-modules: \"[mlp moe_act]\"\n  --context-parallel-size: 4\n"
               "  --cp-comm-type: a2a+p2p\n  --hierarchical-context-parallel-sizes: \"[2 2]\"\n");

    (void)state;
    assert_int_equal(out.degrees.recompute.modules,
                     1 << PLAIT_MODULE_mlp | 1 << PLAIT_MODULE_moe_act);
    assert_int_equal(out.degrees.cp_comm, PLAIT_CP_A2A_P2P);
}

static void test_yaml__takes_the_last_of_two_arguments(void **state)
{
    (void)state;
    assert_int_equal(import("ARGS:\n" SIZES "  micro_batch_size: 4\n").degrees.mbs, 4);
    assert_string_equal(warning, "ARGS.micro_batch_size is given twice; the last value is used");
}

/* A switch that is off is not given, in either spelling. */
static void test_yaml__turns_switches_off(void **state)
{
    const plans_entry out =
        import("ARGS:\n" SIZES "  --overlap-grad-reduce: false\n"
               "  sequence_parallel: false\n  swiglu: False\n"
               "  --disable-bias-linear: false\n  recompute_granularity: null\n");

    (void)state;
    assert_int_equal(out.degrees.grad_sync, PLAIT_SYNC_SHIFTED);
    assert_int_equal(out.degrees.recompute.kind, PLAIT_RECOMPUTE_NONE);
    assert_true(out.model->kind[0].mlp.bias);
    assert_false(out.model->kind[0].mlp.gated);
}

static void test_yaml__says_what_is_set_outside(void **state)
{
    (void)state;
    import("MODEL_ARGS:\n  --bf16: true\n  --tensor-model-parallel-size: ${TP}\n"
           "  --pipeline-model-parallel-size: $PP\n  --save: ${SAVE}\n");
    assert_string_equal(warning, "values set outside the file, treated as not given: "
                                 "tensor_model_parallel_size, pipeline_model_parallel_size");
}

static void test_yaml__of_something_else_is_refused(void **state)
{
    (void)state;
    assert_refused("name: x\non: push\n", "f",
                   "expected a script, list, JSON or YAML with flags of Megatron-LM, such as "
                   "--num-layers 32, found no such flag");
    assert_refused("ARGS:\n  bf16: *x\n", "f:2",
                   "expected a complete value on one line, found \"*x\"");
}

/* ---- Primus ---- */

#define PRIMUS(config, model, overrides)                                                           \
    "exp_name: ${PRIMUS_EXP_NAME:x}\nmodules:\n  pre_trainer:\n    framework: megatron\n"          \
    "    config: " config "\n    model: " model "\n    overrides:\n" overrides

/* mbs, gbs and the distributed optimizer of pre_trainer.yaml, unless overridden. */
static void test_primus__has_the_defaults_of_its_module(void **state)
{
    plans_entry out = import(PRIMUS("pre_trainer.yaml", "llama3_8B.yaml",
                                    "      seq_length: 8192\n      overlap_grad_reduce: true\n"
                                    "      overlap_param_gather: true\n"
                                    "      use_turbo_attention: true\n"
                                    "      tensor_model_parallel_size: ${PRIMUS_TP:2}\n"
                                    "      train_data_path: ${PATHS:null}\n"));

    (void)state;
    assert_string_equal(warning, "");
    assert_string_equal(out.model->name, "llama-3-8b");
    assert_int_equal(out.degrees.tp, 2);
    assert_int_equal(out.degrees.mbs, 2);
    assert_int_equal(out.degrees.zero, 1);
    assert_int_equal(out.gbs, 16);
    assert_int_equal(out.seq, 8192);
    assert_int_equal(out.precision, PLAIT_BF16);
    assert_string_equal(out.runtime, "megatron");
    out = import(PRIMUS("pre_trainer.yaml", "${PRIMUS_MODEL:mixtral_8x7B_v0.1}.yaml",
                        "      micro_batch_size: 1\n      use_turbo_deepep: true\n"
                        "      expert_model_parallel_size: 8\n"));
    assert_string_equal(out.model->name, "mixtral-8x7b");
    assert_int_equal(out.degrees.mbs, 1);
    assert_int_equal(out.degrees.ep, 8);
}

/* Five layers over two stages: three of each, rounded up. */
static void test_primus__recomputes_the_layers_of_a_list(void **state)
{
    static const char *const lists[] = {"\"0,3,4,7,8\"", "[0, 3, 4, 7, 8]"};
    char text[512];

    (void)state;
    for (size_t l = 0; l < sizeof lists / sizeof *lists; l++) {
        snprintf(text, sizeof text,
                 PRIMUS("pre_trainer.yaml", "llama3_8B.yaml",
                        "      recompute_granularity: full\n      recompute_layer_ids: %s\n"
                        "      pipeline_model_parallel_size: 2\n"),
                 lists[l]);
        const plait_recompute found = import(text).degrees.recompute;

        assert_int_equal(found.kind, PLAIT_RECOMPUTE_FULL);
        assert_int_equal(found.layers, 3);
        assert_string_equal(
            warning, "the 5 layers of recompute_layer_ids are priced as 3 layers of each stage");
    }
}

static void test_primus__says_what_is_in_other_files(void **state)
{
    plans_entry out = import(
        PRIMUS("my_trainer.yaml", "grok1.yaml", "      micro_batch_size: 1\n      bf16: true\n"));

    (void)state;
    assert_null(out.model);
    assert_string_equal(
        warning, "the module's config is in another file, whose values are treated as not given\n"
                 "the model is unknown; give it with --model: plait has no model grok1.yaml");
    out = import(PRIMUS("pre_trainer.yaml", "llama3_8B.yaml", "      num_layers: 4\n"));
    assert_null(out.model);
    assert_string_equal(warning, "the model is unknown; give it with --model: num_layers differs "
                                 "from that of llama3_8B.yaml");
}

static void test_primus__of_another_framework_is_refused(void **state)
{
    (void)state;
    assert_refused(
        "modules:\n  pre_trainer:\n    framework: torchtitan\n    config: pre_trainer.yaml\n"
        "    overrides:\n      training:\n        seq_len: 8192\n",
        "f", "expected a module of Primus with framework megatron, found \"torchtitan\"");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_swift__has_defaults_of_its_own),
        cmocka_unit_test(test_swift__is_overruled_by_its_flags),
        cmocka_unit_test(test_swift__without_packing_is_priced_at_its_longest),
        cmocka_unit_test(test_swift__runs_on_what_its_environment_says),
        cmocka_unit_test(test_swift__says_models_that_are_not_known),
        cmocka_unit_test(test_swift__is_read_as_yaml),
        cmocka_unit_test(test_yaml__is_read_under_args_and_at_the_top),
        cmocka_unit_test(test_yaml__takes_the_brackets_of_lists_away),
        cmocka_unit_test(test_yaml__takes_the_last_of_two_arguments),
        cmocka_unit_test(test_yaml__turns_switches_off),
        cmocka_unit_test(test_yaml__says_what_is_set_outside),
        cmocka_unit_test(test_yaml__of_something_else_is_refused),
        cmocka_unit_test(test_primus__has_the_defaults_of_its_module),
        cmocka_unit_test(test_primus__recomputes_the_layers_of_a_list),
        cmocka_unit_test(test_primus__says_what_is_in_other_files),
        cmocka_unit_test(test_primus__of_another_framework_is_refused),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
