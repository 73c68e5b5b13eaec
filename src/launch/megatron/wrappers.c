/* wrappers.c - what ms-swift and Primus mean, as Megatron-LM's flags */
#include "launch/megatron/wrappers.h"

#include <string.h>

/* A flag that is given unless the launch gives it. */
typedef struct wrapper_default {
    const char *name;
    const char *value;
} wrapper_default;

static plait_status add_defaults(launch_flags *flags, const wrapper_default *row, plait_error *err)
{
    for (; row->name != NULL; row++)
        if (flags_last(flags, row->name) == NULL)
            PLAIT_TRY(flags_add(flags, row->name, row->value, err));
    return PLAIT_OK;
}

static void leave_out(launch_flags *flags, const char *const *names)
{
    int kept = 0;

    for (int i = 0; i < flags->count; i++)
        if (text_index(flags->flag[i].name, names) < 0)
            flags->flag[kept++] = flags->flag[i];
    flags->count = kept;
}

static void warn(text_builder *warnings, const char *sentence)
{
    text_append_printf(warnings, "%s%s", warnings->length > 0 ? "\n" : "", sentence);
}

static bool is_on(const launch_flags *flags, const char *name)
{
    static const char *const words[] = {"false", "False", NULL};
    const launch_flag *const flag = flags_find(flags, name);

    return flag != NULL && text_index(flag->value[0], words) < 0;
}

/* ---- ms-swift ---- */

/*
 * swift/megatron/arguments/megatron_args.py of modelscope/ms-swift v4.5.2, the same in v3.8.0 (argument/). The
 * format is the checkpoint's, which is bf16 for the models of the hub; gradients are summed in fp32
 * (main_grads_dtype); the loader makes no masks, since samples are not padded (padding_free).
 */
static const wrapper_default swift_defaults[] = {
    {"use_distributed_optimizer", "true"},
    {"micro_batch_size", "1"},
    {"global_batch_size", "16"},
    {"recompute_granularity", "selective"},
    {"attention_backend", "flash"},
    {"expert_tensor_parallel_size", "1"},
    {"data_parallel_sharding_strategy", "optim_grads_params"}, // with use_megatron_fsdp alone
    {"no_create_attention_mask_in_dataloader", "true"},
    {NULL, NULL},
};

/* Flags of ms-swift that no plan depends on, and flags that this file reads. */
static const char *const swift_own[] = {"max_length",
                                        "packing_length",
                                        "packing",
                                        "padding_free",
                                        "train_type",
                                        "tuner_type",
                                        "model_type",
                                        "use_hf",
                                        "hub_token",
                                        "template",
                                        "agent_template",
                                        "system",
                                        "model_author",
                                        "model_name",
                                        "dataset",
                                        "val_dataset",
                                        "cached_dataset",
                                        "cached_val_dataset",
                                        "streaming",
                                        "split_dataset_ratio",
                                        "dataset_num_proc",
                                        "dataset_shuffle",
                                        "load_from_cache_file",
                                        "truncation_strategy",
                                        "loss_scale",
                                        "use_chat_template",
                                        "train_dataloader_shuffle",
                                        "dataloader_num_workers",
                                        "dataloader_pin_memory",
                                        "dataloader_persistent_workers",
                                        "dataloader_prefetch_factor",
                                        "columns",
                                        "custom_register_path",
                                        "remove_unused_columns",
                                        "num_train_epochs",
                                        "max_epochs",
                                        "output_dir",
                                        "save_steps",
                                        "save_strategy",
                                        "eval_steps",
                                        "logging_steps",
                                        "save_total_limit",
                                        "save_safetensors",
                                        "save_missing_weights",
                                        "merge_lora",
                                        "load_safetensors",
                                        "add_version",
                                        "create_checkpoint_symlink",
                                        "report_to",
                                        "swanlab_project",
                                        "swanlab_exp_name",
                                        "metric_for_best_model",
                                        "perform_initialization",
                                        "mcore_model",
                                        "lora_rank",
                                        "lora_alpha",
                                        "lora_dropout",
                                        "target_modules",
                                        "modules_to_save",
                                        "freeze_llm",
                                        "freeze_vit",
                                        "freeze_aligner",
                                        "vit_gradient_checkpointing",
                                        "attn_impl",
                                        "torch_dtype",
                                        "bridge_backend",
                                        "task_type",
                                        "enable_channel_loss",
                                        "enable_dft_loss",
                                        "lazy_tokenize",
                                        "ddp_timeout",
                                        "check_model",
                                        "max_shard_size",
                                        "manual_gc_steps",
                                        "enable_thinking",
                                        NULL};

/* Samples are as long as --packing-length or --max-length allow. */
static plait_status add_length(launch_flags *flags, plait_error *err)
{
    static const char *const names[] = {"packing_length", "max_length", NULL};

    for (const char *const *name = names; *name != NULL; name++) {
        const launch_flag *const flag = flags_find(flags, *name);

        if (flag != NULL && flags_last(flags, "seq_length") == NULL)
            return flags_add(flags, "seq_length", flag->value[0], err);
    }
    return PLAIT_OK;
}

plait_status megatron_translate_swift(launch_flags *flags, text_builder *warnings, plait_error *err)
{
    const launch_flag *const type = flags_find(flags, "torch_dtype");
    const bool half =
        is_on(flags, "fp16") || (type != NULL && text_equal(type->value[0], "float16"));

    PLAIT_TRY(add_length(flags, err));
    if (!half && flags_last(flags, "bf16") == NULL)
        PLAIT_TRY(flags_add(flags, "bf16", "true", err));
    if (half && flags_last(flags, "fp16") == NULL)
        PLAIT_TRY(flags_add(flags, "fp16", "true", err));
    if (!is_on(flags, "packing"))
        warn(warnings, "without --packing true samples keep their own lengths: priced as if each "
                       "had as many tokens as --max_length allows");
    leave_out(flags, swift_own);
    return add_defaults(flags, swift_defaults, err);
}

/* ---- Primus ---- */

/* primus/configs/modules/megatron of AMD-AGI/Primus fd1eeab (2026-08-22). */
static const wrapper_default pretraining[] = {
    {"micro_batch_size", "2"}, {"global_batch_size", "16"},           {"seq_length", "1024"},
    {"bf16", "true"},          {"use_distributed_optimizer", "true"}, {NULL, NULL},
};

static const wrapper_default tuning[] = {
    {"micro_batch_size", "1"}, {"global_batch_size", "128"},          {"seq_length", "2048"},
    {"bf16", "true"},          {"use_distributed_optimizer", "true"}, {NULL, NULL},
};

static const char *const primus_own[] = {
    // log, checkpoints, data
    "stderr_sink_level", "file_sink_level", "sink_level", "log_avg_skip_iterations",
    "log_avg_reset_interval", "disable_wandb", "disable_tensorboard", "disable_mlflow",
    "disable_last_saving", "auto_continue_train", "disable_compile_dependencies", "stage",
    "trainable", "use_rocm_mem_info", "use_rocm_mem_info_iters", "pp_warmup", "hf_path",
    "num_workers", "dump_pp_data", "disable_profiler_activity_cpu", "torch_profiler_with_stack",
    "torch_profiler_use_gzip", "torch_profiler_record_shapes", "override_opt_param_scheduler",
    // kernels
    "enable_primus_turbo", "use_turbo_attention", "use_turbo_grouped_gemm", "use_turbo_gemm",
    "use_turbo_grouped_mlp", "use_turbo_rms_norm", "use_turbo_parallel_linear", "use_turbo_deepep",
    "use_turbo_fused_act_with_probs", "turbo_deepep_num_cu", "turbo_deepep_use_comm_stream",
    "turbo_sync_free_moe_stage", "moe_use_fused_router_with_aux_score", "use_sink_attention",
    "sink_sliding_window", "sink_window_even_layers_only", "use_turbo_autotune",
    "moe_use_legacy_grouped_gemm", "cross_entropy_fusion_impl", NULL};

plait_status megatron_translate_primus(launch_flags *flags, const char *config,
                                       text_builder *warnings, plait_error *err)
{
    const bool deepep = is_on(flags, "use_turbo_deepep");
    const bool known = text_equal(config, "pre_trainer.yaml");

    if (deepep) {
        PLAIT_TRY(flags_add(flags, "moe_token_dispatcher_type", "flex", err));
        PLAIT_TRY(flags_add(flags, "moe_flex_dispatcher_backend", "deepep", err));
    }
    leave_out(flags, primus_own);
    if (known || text_equal(config, "sft_trainer.yaml"))
        return add_defaults(flags, known ? pretraining : tuning, err);
    warn(warnings,
         "what the module's config sets stands in another file, and is taken as not given");
    return PLAIT_OK;
}
