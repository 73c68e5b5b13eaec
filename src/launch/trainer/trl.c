/*
 * trl.c - TRL: sft.yaml or dpo.yaml, with accelerate.yaml for FSDP2 or ds_config.json for DeepSpeed
 *
 * Keys are those of huggingface/trl f2cd577 (1.10.0.dev0, 2026-07-24): SFTConfig, DPOConfig,
 * ModelConfig and ScriptArguments, which trl.scripts.sft and trl.scripts.dpo parse, and of
 * TrainingArguments. The parser rejects keys of the other script. Packing "bfd" keeps documents
 * apart by a kernel of variable lengths; "wrapped" lets the whole sequence attend to itself.
 */
#include "launch/trainer/trainer.h"

#define ROW(group, key, kind, field) SETTING(group, key, kind, tuning_settings, field)

static const setting_row rows[] = {
    ROW("model", "model_name_or_path", WORD, model),
    ROW(NULL, "dtype", WORD, dtype),
    ROW(NULL, "attn_implementation", WORD, attention),
    ROW("adapters", "use_peft", SWITCH, adapters),
    ROW(NULL, "lora_r", INT, rank),
    ROW(NULL, "lora_alpha", INT, alpha),
    ROW(NULL, "lora_target_modules", WORDS, targets),
    ROW("frozen weights", "load_in_4bit", SWITCH, quantised),
    ROW(NULL, "bnb_4bit_quant_type", WORD, format4),
    ROW(NULL, "use_bnb_nested_quant", SWITCH, nested),
    ROW(NULL, "bnb_4bit_quant_storage", WORD, storage),
    ROW("data", "dataset_name", WORD, dataset),
    ROW(NULL, "max_length", INT, seq),
    ROW(NULL, "packing", SWITCH, packing),
    ROW(NULL, "packing_strategy", WORD, packer),
    ROW("preference loss", "beta", NUMBER, beta),
    ROW(NULL, "precompute_ref_log_probs", SWITCH, cached),
    ROW("batch and memory", "per_device_train_batch_size", INT, batch),
    ROW(NULL, "gradient_accumulation_steps", INT, steps),
    ROW(NULL, "gradient_checkpointing", SWITCH, checkpoints),
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

/*
 * Weights that train are loaded in fp32 for FSDP, which gathers them in bf16; DeepSpeed keeps its
 * own fp32 copy. FSDP shards 4-bit weights only if they are stored in the type of the others.
 */
static void adapt(const plait_launch *launch, bool fsdp, tuning_settings *s)
{
    const plait_tuning *const tuning = &launch->problem->job.tuning;

    s->dtype = fsdp && tuning->rank == 0 ? "float32" : s->fp16 == 1 ? "float16" : "bfloat16";
    s->storage = s->quantised == 1 ? "bfloat16" : NULL;
    if (s->packing == 1)
        s->packer = s->separate == 1 ? "bfd" : "wrapped";
    s->dataset =
        tuning->kind == PLAIT_JOB_DPO ? "trl-lib/ultrafeedback_binarized" : "trl-lib/Capybara";
}

static const trainer_dialect dialect = {
    .what = "TRL",
    .edits = "#   data         dataset_name, and the tokenizer of the model\n"
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
        "    --module trl.scripts.%s --config %s.yaml \"$@\"",
    .start_deepspeed =
        "exec torchrun --nnodes \"$nodes\" --nproc_per_node \"$gpus_per_node\" \\\n"
        "    --node_rank \"$node_rank\" --master_addr \"$head\" --master_port \"$port\" \\\n"
        "    --module trl.scripts.%s --config %s.yaml \"$@\"",
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
        .cached = true,
    };
    const char *const why = tuning_unsupported(problem, &plan->degrees, &support);

    return why != NULL ? why : trainer_unsupported(problem, plan);
}

/* A config without packing's keys that has those of preferences is one of `trl dpo`. */
static plait_job_kind kind_of(const settings_source *source, tuning_settings *s)
{
    static const char *const keys[] = {"beta", "precompute_ref_log_probs", "label_smoothing",
                                       "f_divergence_type", NULL};

    if (s->batch == SETTING_OPEN)
        s->batch = 8; // as TrainingArguments
    if (s->checkpoints == SETTING_OPEN)
        s->checkpoints = 1; // the default of TRL's configs
    if (s->rank == SETTING_OPEN && s->adapters == 1)
        s->rank = 16; // as ModelConfig
    if (s->adapters == SETTING_OPEN)
        s->adapters = 0;
    for (const char *const *key = keys; *key != NULL; key++)
        if (settings_value(source, *key) != NULL)
            return PLAIT_JOB_DPO;
    return PLAIT_JOB_SFT;
}

static plait_status import(const char *text, size_t length, const char *name,
                           const launch_call *call, plait_arena *arena, plans_entry *out,
                           text_builder *warnings, plait_error *err)
{
    return trainer_import(&dialect, kind_of, text, length, name, call, arena, out, warnings, err);
}

const launch_target target_trl = {
    .name = "trl",
    .runtime = "fsdp",
    .rules = PLAIT_RULES_FSDP,
    .also = PLAIT_RULES_DEEPSPEED,
    .tunes = true,
    .unsupported = unsupported,
    .render = render,
    .import = import,
};
