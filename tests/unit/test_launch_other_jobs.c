/* test_launch_other_jobs.c - jobs that train less than all weights, or otherwise, are refused by name */
#include <stdio.h>
#include <string.h>

#include "support/arena_fixture.h"
#include "base/text.h"
#include "launch/import.h"
#include "support/must.h"

static plait_status import(plait_launch_target target, const char *text, plait_error *err)
{
    plans_entry out;
    const char *warning;

    return launch_import(target, text, strlen(text), "f", NULL, arena, &out, &warning, err);
}

static void assert_refused(plait_launch_target target, const char *text, const char *where,
                           const char *found)
{
    char message[256];
    plait_error err;

    snprintf(message, sizeof message, "expected training of all parameters in this format, %s",
             found);
    assert_int_equal(import(target, text, &err), PLAIT_ERROR_RANGE);
    assert_string_equal(err.where, where);
    assert_string_equal(err.message, message);
}

static void test_methods__are_refused_by_their_flag(void **state)
{
    static const struct {
        const char *text, *name, *value;
    } cases[] = {
        {"megatron sft --model Qwen/Qwen3-8B --train_type lora --lora_rank 8", "train_type",
         "lora"},
        {"megatron sft --model Qwen/Qwen3-8B --tuner_type lora_llm", "tuner_type", "lora_llm"},
        {"megatron sft --model x --freeze_parameters_ratio 0.5", "freeze_parameters_ratio", "0.5"},
        {"megatron sft --model x --task_type seq_cls", "task_type", "seq_cls"},
        {"torchrun pretrain_gpt.py --bf16 --perform-rl-step", "perform_rl_step", "true"},
        {"torchrun pretrain_gpt.py --bf16 --export-kd-teacher-load /t", "export_kd_teacher_load",
         "/t"},
        {"torchrun pretrain_gpt.py --bf16 --freeze-all-layers", "freeze_all_layers", "true"},
        {"torchrun pretrain_vlm.py --bf16 --freeze-LM", "freeze_LM", "true"},
        {"torchrun run_recipe.py --recipe llama32_1b --peft_scheme dora", "peft_scheme", "dora"},
        {"deepspeed main.py --model_name_or_path x --bitfit", "bitfit", "true"},
        {"deepspeed main.py --actor_model_name_or_path x --critic_model_name_or_path y",
         "critic_model_name_or_path", "y"},
        {"torchrun train.py --bf16 --use_peft_lora True", "use_peft_lora", "True"},
        {"torchrun train.py --bf16 --bits 4", "bits", "4"},
        {"torchrun train.py --bf16 --freeze_backbone True", "freeze_backbone", "True"},
        {"torchrun pretrain_vlm.py --bf16 --freeze-vit", "freeze_vit", "true"},
        {"torchrun pretrain_gpt.py --bf16 --distillation", "distillation", "true"},
        {"torchrun run_recipe.py --recipe llama3_8b_lora_1node", "recipe", "llama3_8b_lora_1node"},
        {"python setup.py --finetuning lora", "finetuning", "lora"},
    };

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        char where[80], found[160];

        snprintf(where, sizeof where, "f: %s", cases[c].name);
        snprintf(found, sizeof found, "found --%s %s", cases[c].name, cases[c].value);
        assert_refused(PLAIT_LAUNCH_MEGATRON, cases[c].text, where, found);
    }
}

static void test_methods__are_refused_in_every_format(void **state)
{
    (void)state;
    assert_refused(PLAIT_LAUNCH_DEEPSPEED,
                   "deepspeed main.py --model_name_or_path x --zero_stage 2 --lora_dim 128",
                   "f: lora_dim", "found --lora_dim 128");
    assert_refused(PLAIT_LAUNCH_MINDSPEED,
                   "torchrun posttrain_gpt.py --bf16 --stage sft --lora-r 16", "f: lora_r",
                   "found --lora_r 16");
    assert_refused(PLAIT_LAUNCH_MINDSPEED, "torchrun posttrain_gpt.py --bf16 --stage dpo",
                   "f: stage", "found --stage dpo");
    assert_refused(PLAIT_LAUNCH_MAXTEXT,
                   "train:\n  system:\n    bf16: true\n  model:\n    peft_type: lora\n",
                   "f: peft_type", "found peft_type lora");
    assert_refused(PLAIT_LAUNCH_MEGATRON, "{\"num_layers\": 2, \"lora_rank\": 8}", "f: lora_rank",
                   "found lora_rank 8");
    assert_refused(PLAIT_LAUNCH_MEGATRON,
                   "modules:\n  post_trainer:\n    framework: megatron\n    overrides:\n"
                   "      lora:\n        enabled: true\n        dim: 32\n",
                   "f:6: enabled",
                   "without adapters such as modules.post_trainer.overrides.lora, "
                   "found \"true\"");
    assert_refused(PLAIT_LAUNCH_MEGATRON,
                   "model:\n  tensor_model_parallel_size: 2\n"
                   "peft:\n  dim: 16\n",
                   "f:4: dim", "without adapters such as peft, found \"16\"");
}

/* A flag that is off, or has no effect beside full training, is no method. */
static void test_methods_that_are_off__pass(void **state)
{
    static const char *const texts[] = {
        "megatron sft --model Qwen/Qwen3-8B --train_type full --lora_rank 8 --freeze_vit true",
        "torchrun pretrain_gpt.py --bf16 --q-lora-rank 1536 --kv-lora-rank 512",
        "torchrun posttrain_gpt.py --bf16 --stage sft --finetune",
        "{\"num_layers\": 2, \"perform_rl_step\": false, \"export_kd_teacher_load\": null}",
        "ARGS:\n  bf16: true\n  peft: null\n  lora_rank: 0\n",
        "modules:\n  pre_trainer:\n    framework: megatron\n    overrides:\n      bf16: true\n"
        "      lora:\n        enabled: false\n        dim: 32\n",
        "echo trl sft --lora_rank 8\ntorchrun pretrain_gpt.py --bf16",
        "torchrun train.py --bf16 --use_lora False --lora_r 8 --bits 16",
        "torchrun train.py --bf16 --use_peft no --lora-rank -1 --task_type CAUSAL_LM",
        "torchrun pretrain_gpt.py --bf16 --data-path verl.corpus_text_document --wandb-exp-name "
        "openrlhf.baseline --tokenizer-model axolotl.model",
        "modules:\n  pre_trainer:\n    framework: megatron\n    overrides:\n      bf16: true\n"
        "      stage: mlperf_pretrain\n",
        "torchrun run_recipe.py --bf16 --recipe llama3_8b_pretrain --task pretrain",
        "torchrun run_recipe.py --bf16 --recipe exploration_8b --task explore",
    };
    plait_error err;

    (void)state;
    for (size_t t = 0; t < sizeof texts / sizeof *texts; t++)
        must(import(PLAIT_LAUNCH_MEGATRON, texts[t], &err), &err);
}

static void test_methods_by_default__are_refused_with_the_flag_of_full_training(void **state)
{
    (void)state;
    assert_refused(PLAIT_LAUNCH_DEEPSPEED, "swift sft --model x --deepspeed zero3", "f: tuner_type",
                   "found LoRA, the default of swift sft; for full training add --tuner_type full "
                   "(before ms-swift 4: --train_type full)");
    assert_refused(PLAIT_LAUNCH_DEEPSPEED,
                   "deepspeed src/train.py --stage sft --model_name_or_path x",
                   "f: finetuning_type",
                   "found LoRA, the default of LLaMA-Factory; for full training add "
                   "--finetuning_type full");
    assert_refused(PLAIT_LAUNCH_MEGATRON, "torchrun finetune.py --bf16 peft.dim=16", "f: peft",
                   "found peft.dim=16");
}

static void test_other_software__is_refused_by_its_name(void **state)
{
    static const struct {
        const char *text, *found;
    } cases[] = {
        {"model_name_or_path: x\nstage: sft\ndo_train: true\nfinetuning_type: lora\n",
         "LLaMA-Factory"},
        {"### model\nmodel_name_or_path: x\n### method\nstage: dpo\nfinetuning_type: full # all\n",
         "LLaMA-Factory"},
        {"llamafactory-cli train --stage pt --model_name_or_path x", "LLaMA-Factory"},
        {"python3 -m verl.trainer.main_ppo algorithm.adv_estimator=grpo "
         "actor_rollout_ref.model.path=x $@",
         "verl"},
        {"torchrun -m verl.trainer.fsdp_sft_trainer data.train_batch_size=8", "verl"},
        {"actor_rollout_ref:\n  hybrid_engine: true\n", "verl"},
        {"base_model: x\nadapter: qlora\ndatasets:\n  - path: y\n    type: alpaca\n", "axolotl"},
        {"axolotl train config.yml", "axolotl"},
        {"trl dpo --model_name_or_path x", "TRL"},
        {"deepspeed --module openrlhf.cli.train_ppo --zero_stage 3", "OpenRLHF"},
        {"read -r -d '' words <<EOF\nopenrlhf.cli.train_dpo --bf16\nEOF\n"
         "deepspeed --module $words",
         "OpenRLHF"},
        {"deepspeed training/step2_dpo_finetuning/main.py --zero_stage 0", "DeepSpeed-Chat"},
        {"accelerate launch trl/scripts/dpo.py --bf16", "TRL"},
        {"trl rloo --model_name_or_path x", "TRL"},
        {"model_name_or_path: x\nstage: pt\nfinetuning_type: full\n", "LLaMA-Factory"},
        {"experiment:\n  exp_name: x\naction: run\ntrain:\n  system:\n    bf16: true\n",
         "FlagScale"},
        {"{\"pp_deg\": 1, \"tp_sizes_enc\": \"2,2\"}", "Galvatron"},
        {"NPROC_PER_NODE=8 megatron rlhf --rlhf_type grpo --model x", "ms-swift"},
    };
    static const plait_launch_target targets[] = {PLAIT_LAUNCH_MEGATRON, PLAIT_LAUNCH_DEEPSPEED,
                                                  PLAIT_LAUNCH_TORCHTITAN, PLAIT_LAUNCH_MAXTEXT};
    char message[256];
    plait_error err;

    (void)state;
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
            snprintf(message, sizeof message,
                     "expected full training in this format, found a file of %s, which ",
                     cases[c].found);
            assert_int_equal(import(targets[t], cases[c].text, &err), PLAIT_ERROR_SCHEMA);
            assert_string_equal(err.where, "f");
            assert_true(text_starts_with(err.message, message));
            assert_true(text_ends_with(err.message, " plait does not read") ||
                        strstr(err.message, "which --from ") != NULL);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_methods__are_refused_by_their_flag),
        cmocka_unit_test(test_methods__are_refused_in_every_format),
        cmocka_unit_test(test_methods_that_are_off__pass),
        cmocka_unit_test(test_methods_by_default__are_refused_with_the_flag_of_full_training),
        cmocka_unit_test(test_other_software__is_refused_by_its_name),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
