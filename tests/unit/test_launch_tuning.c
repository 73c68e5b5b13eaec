/* test_launch_tuning.c - files of fine-tuning: what is written, and read back as the same job */
#include <stdio.h>
#include <string.h>

#include "launch/import.h"
#include "support/launch_keys.h"
#include "support/launched_fixture.h"

static const launched_usual usual = {"llama-3.1-8b", "fsdp", 16, PLAIT_LAUNCH_TRL};

enum {
    HUB = 1u << PLAIT_LORA_Q | 1u << PLAIT_LORA_K | 1u << PLAIT_LORA_V | 1u << PLAIT_LORA_O |
          1u << PLAIT_LORA_GATE | 1u << PLAIT_LORA_UP | 1u << PLAIT_LORA_DOWN,
    MEGATRON =
        1u << PLAIT_LORA_QKV | 1u << PLAIT_LORA_O | 1u << PLAIT_LORA_FC1 | 1u << PLAIT_LORA_DOWN
};

static void check_keys(plait_launch_target target, const char *text, const char *file)
{
    settings_source source;
    plait_error err;

    must(settings_open(text, strlen(text), file, false, NULL, arena, &source, &err), &err);
    check_launch_keys(plait_launch_target_name[target], &source, arena);
}

/* Render a job of a model, and import the file as the same job and plan. */
static void round_trip(const char *model, const char *runtime, plait_launch_target target,
                       plait_tuning tuning, const char *keys, const char *file)
{
    const char *text, *warning;
    plans_entry back;
    plait_error err;

    launched_question(&it, model, runtime, 16, arena);
    it.problem.job.tuning = tuning;
    must(launched_render(&it, keys, target, arena, &err), &err);
    text = launched_text(&it, file);
    if (target != PLAIT_LAUNCH_MEGATRON_BRIDGE)
        check_keys(target, text, file);
    must(launch_import(target, text, strlen(text), file, NULL, arena, &back, &warning, &err), &err);
    // the JSON of DeepSpeed is not in a folder here, and pairs differ in length
    if (strcmp(runtime, "deepspeed") != 0 && tuning.kind != PLAIT_JOB_DPO)
        assert_string_equal(warning, "");
    assert_int_equal(back.gpus, 16);
    assert_int_equal(back.seq, it.problem.job.seq);
    assert_int_equal(back.gbs, it.problem.job.gbs);
    assert_non_null(back.model);
    assert_string_equal(back.model->name, model);
    assert_string_equal(back.runtime, runtime);
    assert_int_equal(back.tuning.kind, tuning.kind);
    assert_int_equal(back.tuning.rank, tuning.rank);
    assert_int_equal(back.tuning.targets, tuning.targets);
    assert_int_equal(back.tuning.format, tuning.format);
    assert_int_equal(back.tuning.reference, tuning.reference);
    for (int k = 0; k < PLAIT_KEYS; k++)
        if (back.given & PLAIT_KEY_BIT(k) &&
            !plait_key_same(&back.degrees, &it.degrees, (plait_key_id)k)) {
            char a[96], b[96];

            plait_degrees_get(&it.degrees, (plait_key_id)k, a, sizeof a);
            plait_degrees_get(&back.degrees, (plait_key_id)k, b, sizeof b);
            fail_msg("%s: %s was written, %s is read", plait_keys[k].name, a, b);
        }
}

static const plait_tuning sft = {.kind = PLAIT_JOB_SFT};
static const plait_tuning dpo = {.kind = PLAIT_JOB_DPO, .reference = PLAIT_REFERENCE_RESIDENT};
static const plait_tuning lora = {.kind = PLAIT_JOB_LORA, .rank = 16, .targets = HUB};
static const plait_tuning qlora = {
    .kind = PLAIT_JOB_QLORA, .rank = 8, .targets = HUB, .format = PLAIT_FROZEN_NF4};
static const plait_tuning lora_dpo = {
    .kind = PLAIT_JOB_DPO, .rank = 16, .targets = HUB, .reference = PLAIT_REFERENCE_ADAPTERS};
static const plait_tuning fused = {.kind = PLAIT_JOB_LORA, .rank = 32, .targets = MEGATRON};

static const plait_launch_target trainers[] = {PLAIT_LAUNCH_TRL, PLAIT_LAUNCH_LLAMA_FACTORY};

static void test_jobs_of_the_trainer__are_read_back(void **state)
{
    (void)state;
    for (size_t t = 0; t < sizeof trainers / sizeof *trainers; t++) {
        round_trip("llama-3.1-8b", "fsdp", trainers[t], sft, "zero=3 mbs=1 recompute=full",
                   "sft.yaml");
        round_trip("llama-3.1-8b", "fsdp", trainers[t], lora, "zero=3 mbs=2 recompute=full",
                   "sft.yaml");
        round_trip("llama-3.1-8b", "fsdp", trainers[t], qlora, "zero=3 mbs=1 recompute=full",
                   "sft.yaml");
        round_trip("llama-3.1-8b", "deepspeed", trainers[t], lora, "zero=3 mbs=2 recompute=full",
                   "sft.yaml");
        round_trip("llama-3.1-8b", "deepspeed", trainers[t], dpo, "zero=3 mbs=2 recompute=full",
                   "dpo.yaml");
        round_trip("qwen3-8b", "fsdp", trainers[t], lora_dpo, "zero=2 mbs=1 recompute=full",
                   "dpo.yaml");
    }
}

static void test_jobs_of_torchtune__are_read_back(void **state)
{
    (void)state;
    round_trip("llama-3.1-8b", "fsdp", PLAIT_LAUNCH_TORCHTUNE, sft, "zero=3 mbs=1 recompute=full",
               "torchtune.yaml");
    round_trip("qwen2.5-7b", "fsdp", PLAIT_LAUNCH_TORCHTUNE, lora, "zero=3 shard_group=8 mbs=2",
               "torchtune.yaml");
    round_trip("llama-3.1-8b", "fsdp", PLAIT_LAUNCH_TORCHTUNE, qlora, "zero=3 mbs=1 recompute=full",
               "torchtune.yaml");
    round_trip("llama-3.1-8b", "fsdp", PLAIT_LAUNCH_TORCHTUNE, dpo, "zero=3 mbs=2 recompute=full",
               "torchtune.yaml");
}

static void test_jobs_of_megatron__are_read_back(void **state)
{
    (void)state;
    round_trip("llama-3.1-8b", "megatron", PLAIT_LAUNCH_MEGATRON_BRIDGE, sft, "tp=2 pp=2 mbs=1",
               "overrides.sh");
    round_trip("llama-3.1-8b", "megatron", PLAIT_LAUNCH_MEGATRON_BRIDGE, fused, "tp=2 mbs=1",
               "overrides.sh");
    round_trip("qwen3-30b-a3b", "megatron", PLAIT_LAUNCH_MEGATRON_BRIDGE, fused, "tp=2 ep=4 mbs=1",
               "overrides.sh");
    round_trip("llama-3.1-8b", "megatron", PLAIT_LAUNCH_MS_SWIFT, sft,
               "tp=2 pp=2 mbs=1 cuda_graph=none", "args.sh");
    round_trip("llama-3.1-8b", "megatron", PLAIT_LAUNCH_MS_SWIFT, fused,
               "tp=2 mbs=1 cuda_graph=none", "args.sh");
    round_trip("llama-3.1-8b", "megatron", PLAIT_LAUNCH_MS_SWIFT, dpo,
               "tp=2 pp=2 mbs=2 cuda_graph=none", "args.sh");
}

/* ---- refused jobs ---- */

static void assert_cannot(plait_launch_target target, plait_tuning tuning, const char *keys,
                          const char *found)
{
    plait_error err;

    it.problem.job.tuning = tuning;
    assert_int_equal(launched_render(&it, keys, target, arena, &err), PLAIT_ERROR_RANGE);
    if (strstr(err.message, found) == NULL)
        fail_msg("%s", err.message);
}

static void test_jobs_that_a_target_cannot_train__are_refused(void **state)
{
    static const plait_tuning pretrain = {0},
                              cached = {.kind = PLAIT_JOB_DPO, .reference = PLAIT_REFERENCE_CACHED},
                              frozen = {.kind = PLAIT_JOB_SFT, .frozen = 1u << PLAIT_FREEZE_MLP};

    (void)state;
    assert_cannot(PLAIT_LAUNCH_TRL, pretrain, "zero=3 recompute=full", "pre-training");
    assert_cannot(PLAIT_LAUNCH_TRL, fused, "zero=3 recompute=full", "one adapter on fused");
    assert_cannot(PLAIT_LAUNCH_TRL, frozen, "zero=3 recompute=full", "frozen parts of the model");
    assert_cannot(PLAIT_LAUNCH_LLAMA_FACTORY, cached, "zero=3 mbs=2 recompute=full", "cached");
    assert_cannot(PLAIT_LAUNCH_ACCELERATE, lora, "zero=3 recompute=full", "found lora");
    launched_question(&it, "llama-3.1-8b", "megatron", 16, arena);
    assert_cannot(PLAIT_LAUNCH_MEGATRON_BRIDGE, dpo, "tp=2 pp=2 mbs=2", "DPO");
    assert_cannot(PLAIT_LAUNCH_MEGATRON_BRIDGE, lora, "tp=2 pp=2 mbs=1", "separate adapters");
    assert_cannot(PLAIT_LAUNCH_MEGATRON_BRIDGE, sft, "tp=8 mbs=2", "more than one packed");
    launched_question(&it, "qwen3-30b-a3b", "megatron", 16, arena);
    assert_cannot(PLAIT_LAUNCH_MS_SWIFT, fused, "tp=2 ep=8 mbs=1 cuda_graph=none", "the experts");
}

/* Padded documents are not packed, and Megatron-Bridge's recipes always pack. */
static void test_padding__turns_packing_off(void **state)
{
    static const double length = 500.0, share = 1.0;
    plait_error err;

    (void)state;
    launched_question(&it, "llama-3.1-8b", "fsdp", 16, arena);
    it.problem.job.tuning = lora;
    it.problem.job.documents =
        (plait_documents){.lengths = 1, .length = &length, .share = &share, .padded = true};
    must(launched_render(&it, "zero=3 mbs=2 recompute=full", PLAIT_LAUNCH_TRL, arena, &err), &err);
    assert_non_null(strstr(launched_text(&it, "sft.yaml"), "packing: false"));
    launched_question(&it, "llama-3.1-8b", "megatron", 16, arena);
    it.problem.job.documents =
        (plait_documents){.lengths = 1, .length = &length, .share = &share, .padded = true};
    assert_cannot(PLAIT_LAUNCH_MEGATRON_BRIDGE, sft, "tp=2 pp=2 mbs=1", "padded documents");
}

static void test_fsdp__recomputes_by_accelerate(void **state)
{
    (void)state;
    it.problem.job.tuning = sft;
    render("zero=3 recompute=full");
    assert_says(&it, "accelerate.yaml", "fsdp_activation_checkpointing: true\n");
    assert_says(&it, "sft.yaml", "\ngradient_checkpointing: false\n");
    assert_says(&it, "sft.yaml", "\nmodel_name_or_path: meta-llama/Llama-3.1-8B\n");
    assert_says(&it, "run.sh", "--module trl.scripts.sft --config sft.yaml");
}

/* Experts have modules of the same names, so patterns name the others. */
static void test_adapters_without_experts__are_patterns(void **state)
{
    (void)state;
    launched_question(&it, "qwen3-30b-a3b", "megatron", 16, arena);
    it.problem.job.tuning = fused;
    plait_error err;

    must(launched_render(&it, "tp=2 ep=4 mbs=1", PLAIT_LAUNCH_MEGATRON_BRIDGE, arena, &err), &err);
    assert_says(&it, "overrides.sh",
                "peft.target_modules=[\"linear_qkv\",\"linear_proj\",\"*.mlp.linear_fc1\","
                "\"*.shared_experts.linear_fc1\",\"*.mlp.linear_fc2\","
                "\"*.shared_experts.linear_fc2\"]\n");
    assert_says(&it, "run.sh", "qwen3_30b_a3b_peft_config");
}

/* ---- configs of others ---- */

static plans_entry imported(plait_launch_target target, const char *text)
{
    const launch_call call = {.gpus = 8};
    const char *warning;
    plans_entry out;
    plait_error err;

    must(launch_import(target, text, strlen(text), "f", &call, arena, &out, &warning, &err), &err);
    return out;
}

/* The keys of published examples; see the sources of tests/data/launch_keys. */
static void test_configs_of_others__are_read_with_their_defaults(void **state)
{
    plans_entry e;

    (void)state;
    e = imported(PLAIT_LAUNCH_LLAMA_FACTORY,
                 "### model\nmodel_name_or_path: Qwen/Qwen3-4B-Instruct-2507\nstage: sft\n"
                 "finetuning_type: lora\nlora_target: all\n"
                 "deepspeed: examples/deepspeed/ds_z3_config.json # or ds_z2_config.json\n"
                 "cutoff_len: 2048\nper_device_train_batch_size: 1\n"
                 "gradient_accumulation_steps: 2\nlearning_rate: 1.0e-4\nbf16: true\n");
    assert_string_equal(e.model->name, "qwen3-4b");
    assert_string_equal(e.runtime, "deepspeed");
    assert_int_equal(e.degrees.zero, 3);
    assert_int_equal(e.gbs, 16);
    assert_int_equal(e.seq, 2048);
    assert_int_equal(e.tuning.kind, PLAIT_JOB_LORA);
    assert_int_equal(e.tuning.rank, 8);
    assert_int_equal(e.tuning.targets, HUB);
    assert_int_equal(e.degrees.recompute.kind, PLAIT_RECOMPUTE_FULL);

    e = imported(PLAIT_LAUNCH_TRL,
                 "model_name_or_path: Qwen/Qwen3-8B\nuse_peft: true\nload_in_4bit: true\n"
                 "lora_target_modules: [q_proj, v_proj]\nbeta: 0.1\nmax_length: 1024\n"
                 "per_device_train_batch_size: 2\n");
    assert_int_equal(e.tuning.kind, PLAIT_JOB_DPO);
    assert_int_equal(e.tuning.rank, 16);
    assert_int_equal(e.tuning.targets, 1u << PLAIT_LORA_Q | 1u << PLAIT_LORA_V);
    assert_int_equal(e.tuning.format, PLAIT_FROZEN_NF4);
    assert_int_equal(e.tuning.reference, PLAIT_REFERENCE_ADAPTERS);

    e = imported(
        PLAIT_LAUNCH_MS_SWIFT,
        "NPROC_PER_NODE=8 megatron sft --model Qwen/Qwen3-30B-A3B --tuner_type lora "
        "--lora_rank 8 --target_modules all-linear --expert_model_parallel_size 2 "
        "--micro_batch_size 8 --global_batch_size 32 --packing true --max_length 2048 "
        "--recompute_granularity full --recompute_method uniform --recompute_num_layers 1");
    assert_string_equal(e.model->name, "qwen3-30b-a3b");
    assert_int_equal(e.degrees.ep, 2);
    assert_int_equal(e.tuning.kind, PLAIT_JOB_LORA);
    assert_int_equal(e.tuning.targets, MEGATRON);

    e = imported(PLAIT_LAUNCH_MS_SWIFT,
                 "swift rlhf --rlhf_type dpo --model Qwen/Qwen2.5-7B-Instruct "
                 "--per_device_train_batch_size 1 --gradient_accumulation_steps 16 "
                 "--deepspeed zero2 --max_length 2048");
    assert_int_equal(e.tuning.kind, PLAIT_JOB_DPO);
    assert_int_equal(e.tuning.rank, 8); // the default of swift
    assert_int_equal(e.degrees.zero, 2);
    assert_int_equal(e.gbs, 128); // pairs

    e = imported(
        PLAIT_LAUNCH_TORCHTUNE,
        "model:\n  _component_: torchtune.models.llama3_1.qlora_llama3_1_405b\n"
        "  lora_attn_modules: ['q_proj', 'v_proj', 'output_proj']\n"
        "  apply_lora_to_mlp: True\n  lora_rank: 16\n"
        "checkpointer:\n  checkpoint_files: [\n    a.safetensors,\n    b.safetensors\n  ]\n"
        "batch_size: 1\nenable_activation_checkpointing: True\n"
        "fsdp_cpu_offload: False\n");
    assert_string_equal(e.model->name, "llama-3.1-405b");
    assert_int_equal(e.tuning.kind, PLAIT_JOB_QLORA);
    assert_int_equal(e.tuning.targets, HUB & ~(1u << PLAIT_LORA_K));
    assert_int_equal(e.degrees.zero, 3);

    e = imported(PLAIT_LAUNCH_MEGATRON_BRIDGE,
                 "torchrun scripts/training/run_recipe.py --recipe llama31_70b_peft_config "
                 "++peft.dim=8 ++peft.target_modules='[linear_qkv,linear_proj]' "
                 "++model.tensor_model_parallel_size=8 ++train.micro_batch_size=1");
    assert_string_equal(e.model->name, "llama-3.1-70b");
    assert_int_equal(e.tuning.kind, PLAIT_JOB_LORA);
    assert_int_equal(e.tuning.rank, 8);
    assert_int_equal(e.tuning.targets, 1u << PLAIT_LORA_QKV | 1u << PLAIT_LORA_O);
}

static void test_values_of_another_kind__are_refused(void **state)
{
    static const char text[] = "model_name_or_path: Qwen/Qwen3-8B\nmax_length: long\n";
    const char *warning;
    plans_entry out;
    plait_error err;

    (void)state;
    assert_int_equal(launch_import(PLAIT_LAUNCH_TRL, text, strlen(text), "f.yaml", NULL, arena,
                                   &out, &warning, &err),
                     PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, "f.yaml: max_length");
    assert_string_equal(err.message, "expected an integer, found \"long\"");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_jobs_of_the_trainer__are_read_back),
        TEST(test_jobs_of_torchtune__are_read_back),
        TEST(test_jobs_of_megatron__are_read_back),
        TEST(test_jobs_that_a_target_cannot_train__are_refused),
        TEST(test_padding__turns_packing_off),
        TEST(test_fsdp__recomputes_by_accelerate),
        TEST(test_adapters_without_experts__are_patterns),
        TEST(test_configs_of_others__are_read_with_their_defaults),
        TEST(test_values_of_another_kind__are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
