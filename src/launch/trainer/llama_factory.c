/*
 * llama_factory.c - LLaMA-Factory: sft.yaml or dpo.yaml, with accelerate.yaml for FSDP2 or
 * ds_config.json for DeepSpeed
 *
 * Keys are those of hiyouga/LLaMA-Factory ff6d4d1 (2026-08-18): the dataclasses of
 * src/llamafactory/hparams, and TrainingArguments. Its parser rejects unknown keys.
 */
#include "launch/trainer/trainer.h"

#include <string.h>

#define ROW(group, key, kind, field) SETTING(group, key, kind, tuning_settings, field)

static const setting_row rows[] = {
    ROW("model", "model_name_or_path", WORD, model),
    ROW(NULL, "flash_attn", WORD, attention),
    ROW("method", "stage", WORD, stage),
    SETTING_CONSTANT(NULL, "do_train", "true"),
    ROW(NULL, "finetuning_type", WORD, method),
    ROW(NULL, "lora_rank", INT, rank),
    ROW(NULL, "lora_alpha", INT, alpha),
    ROW(NULL, "lora_target", WORD, targets),
    ROW(NULL, "freeze_vision_tower", SWITCH, freeze_vision),
    ROW(NULL, "freeze_multi_modal_projector", SWITCH, freeze_projector),
    ROW("frozen weights", "quantization_bit", INT, bits),
    ROW(NULL, "quantization_type", WORD, format4),
    ROW(NULL, "double_quantization", SWITCH, nested),
    ROW("data", "dataset", WORD, dataset),
    // the default is the folder data of a checkout of LLaMA-Factory
    SETTING_CONSTANT(NULL, "dataset_dir", "REMOTE:llamafactory/demo_data"),
    ROW(NULL, "cutoff_len", INT, seq),
    ROW(NULL, "packing", SWITCH, packing),
    ROW(NULL, "neat_packing", SWITCH, separate),
    ROW("preference loss", "pref_beta", NUMBER, beta),
    ROW("batch and memory", "per_device_train_batch_size", INT, batch),
    ROW(NULL, "gradient_accumulation_steps", INT, steps),
    ROW(NULL, "disable_gradient_checkpointing", SWITCH, plain),
    ROW(NULL, "bf16", SWITCH, bf16),
    ROW(NULL, "fp16", SWITCH, fp16),
    ROW(NULL, "deepspeed", WORD, deepspeed),
    ROW(NULL, "accelerator_config", WORD, accelerator),
    ROW("optimizer and length", "learning_rate", NUMBER, lr),
    ROW(NULL, "lr_scheduler_type", WORD, decay),
    ROW(NULL, "warmup_steps", INT, warmup),
    ROW(NULL, "adam_beta1", NUMBER, beta1),
    ROW(NULL, "adam_beta2", NUMBER, beta2),
    ROW(NULL, "adam_epsilon", NUMBER, eps),
    ROW(NULL, "weight_decay", NUMBER, weight_decay),
    ROW(NULL, "max_grad_norm", NUMBER, clip),
    ROW(NULL, "max_steps", INT, most_steps),
    ROW(NULL, "save_steps", INT, save_steps),
    ROW(NULL, "output_dir", WORD, output),
    SETTINGS_END,
};

static const char *const attention[PLAIT_ATTENTION_KERNELS] = {
    [PLAIT_ATTENTION_UNFUSED] = "disabled", [PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL] = "disabled",
    [PLAIT_ATTENTION_FLASH] = "fa2",        [PLAIT_ATTENTION_FLASH2] = "fa2",
    [PLAIT_ATTENTION_FLASH3] = "fa3",       [PLAIT_ATTENTION_FUSED] = "sdpa",
};

/* Replace the blanks of a list by commas, which LLaMA-Factory splits at, or the other way round. */
static void replace(char *words, char from, char to)
{
    for (char *c = words; c != NULL && *c != '\0'; c++)
        *c = *c == from ? to : *c;
}

static void adapt(const plait_launch *launch, bool fsdp, tuning_settings *s)
{
    const plait_tuning *const tuning = &launch->problem->job.tuning;
    const bool towers = launch->problem->model->encoder[PLAIT_VISION].model != NULL;

    (void)fsdp;
    s->stage = tuning->kind == PLAIT_JOB_DPO ? "dpo" : "sft";
    s->method = tuning->rank > 0 ? "lora" : "full";
    s->dataset = tuning->kind == PLAIT_JOB_DPO ? "dpo_en_demo" : "alpaca_en_demo";
    s->attention = attention[launch->plan->degrees.attention];
    s->cached = SETTING_OPEN;
    s->separate = s->packing == 1 ? s->separate : SETTING_OPEN;
    replace((char *)s->targets, ' ', ','); // a text in the arena of this rendering
    // both towers are frozen by default
    if (towers) {
        s->freeze_vision = s->freeze_vision == 1;
        s->freeze_projector = s->freeze_projector == 1;
    }
}

static const trainer_dialect dialect = {
    .what = "LLaMA-Factory",
    .edits = "#   data         dataset, dataset_dir, and a template if the tokenizer has no chat "
             "template\n"
             "#   training     learning_rate to max_grad_norm, lora_alpha: usual values\n"
             "#   length       max_steps, save_steps, output_dir\n"
             "#   cluster      submit.sbatch: time, account, container; pytorchjob.yaml: image, "
             "network\n",
    .rows = rows,
    .adapt = adapt,
    .start_fsdp =
        "exec accelerate launch --config_file accelerate.yaml \\\n"
        "    --num_machines \"$nodes\" --num_processes \"$((nodes * gpus_per_node))\" \\\n"
        "    --machine_rank \"$node_rank\" --main_process_ip \"$head\" "
        "--main_process_port \"$port\" \\\n"
        "    --module llamafactory.launcher %s.yaml \"$@\"",
    .start_deepspeed = "export FORCE_TORCHRUN=1 NNODES=\"$nodes\" NODE_RANK=\"$node_rank\"\n"
                       "export MASTER_ADDR=\"$head\" MASTER_PORT=\"$port\" "
                       "NPROC_PER_NODE=\"$gpus_per_node\"\n"
                       "exec llamafactory-cli train %s.yaml \"$@\"",
};

static plait_status render(const plait_launch *launch, plait_arena *arena, plait_launch_folder *out,
                           plait_error *err)
{
    return trainer_render(launch, &dialect, arena, out, err);
}

static const char *unsupported(const plait_problem *problem, const plait_plan *plan)
{
    static const tuning_support support = {
        .kinds = 1u << PLAIT_JOB_SFT | 1u << PLAIT_JOB_LORA | 1u << PLAIT_JOB_QLORA |
                 1u << PLAIT_JOB_DPO,
        .names = tuning_names_hub,
        .nf4 = true,
        .towers = true,
    };
    const char *const why = tuning_unsupported(problem, &plan->degrees, &support);

    return why != NULL ? why : trainer_unsupported(problem, plan);
}

/* Add the defaults of FinetuningArguments: LoRA of rank 8 on all modules. */
static plait_job_kind kind_of(const settings_source *source, tuning_settings *s)
{
    if (s->batch == SETTING_OPEN)
        s->batch = 8; // as TrainingArguments
    s->adapters = s->method == NULL || text_equal(s->method, "lora");
    if (s->adapters && s->rank == SETTING_OPEN)
        s->rank = 8;
    if (s->adapters && s->targets == NULL)
        s->targets = "all";
    if (s->targets != NULL) {
        char *const words = plait_arena_text(source->arena, s->targets);

        replace(words, ',', ' ');
        s->targets = words != NULL ? words : s->targets;
    }
    if (s->plain == SETTING_OPEN)
        s->plain = 0;
    for (int k = PLAIT_ATTENTION_KERNELS - 1; k >= 0 && s->attention != NULL; k--)
        if (attention[k] != NULL && text_equal(attention[k], s->attention)) {
            s->attention = tuning_attention_hub[k];
            break;
        }
    return s->stage != NULL && text_equal(s->stage, "dpo")  ? PLAIT_JOB_DPO
           : s->stage != NULL && text_equal(s->stage, "pt") ? PLAIT_JOB_PRETRAIN
           : s->stage != NULL && text_equal(s->stage, "rm") ? PLAIT_JOB_REWARD
                                                            : PLAIT_JOB_SFT;
}

static plait_status import(const char *text, size_t length, const char *name,
                           const launch_call *call, plait_arena *arena, plans_entry *out,
                           text_builder *warnings, plait_error *err)
{
    return trainer_import(&dialect, kind_of, text, length, name, call, arena, out, warnings, err);
}

const launch_target target_llama_factory = {
    .name = "llama-factory",
    .runtime = "fsdp",
    .rules = PLAIT_RULES_FSDP,
    .also = PLAIT_RULES_DEEPSPEED,
    .tunes = true,
    .unsupported = unsupported,
    .render = render,
    .import = import,
};
