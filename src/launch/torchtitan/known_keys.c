/*
 * known_keys.c - which keys of a config are understood
 *
 * Of sections that a plan hangs on, every key; of the others, the section. Names are those of
 * torchtitan/config of pytorch/torchtitan 238fa99 (2026-02-23, TOML) and b5bcd76 (2026-08-21).
 */
#include <string.h>

#include "launch/read/launcher.h"
#include "launch/torchtitan/reading.h"

/* What ends in a point is a whole section. */
static const char *const known[] = {
    // read
    "module", "config", "nnodes", "nproc_per_node", "several", "precision", "activation_checkpoint",
    "model.name", "model.flavor", "model.converters", "training.seq_len",
    "training.local_batch_size", "training.global_batch_size", "training.max_context_length",
    "training.num_tokens_per_microbatch_per_dp_rank", "training.num_tokens_per_train_step",
    "training.enable_cpu_offload", "training.dtype", "training.disable_cuda_graphs",
    "parallelism.data_parallel_replicate_degree", "parallelism.data_parallel_shard_degree",
    "parallelism.fsdp_reshard_after_forward", "parallelism.tensor_parallel_degree",
    "parallelism.enable_sequence_parallel", "parallelism.context_parallel_degree",
    "parallelism.pipeline_parallel_degree", "parallelism.pipeline_parallel_schedule",
    "parallelism.pipeline_parallel_microbatch_size",
    "parallelism.pipeline_parallel_layers_per_stage",
    "parallelism.pipeline_parallel_first_stage_less_layers",
    "parallelism.pipeline_parallel_last_stage_less_layers", "parallelism.num_pp_microbatches",
    "parallelism.module_fqns_per_model_part", "parallelism.expert_parallel_degree",
    "parallelism.expert_tensor_parallel_degree", "parallelism.enable_async_tensor_parallel",
    "compile.enable", "compile.enable_async_tensor_parallel", "activation_checkpoint.mode",
    "activation_checkpoint.selective_ac_option",

    // sections as a recipe in Python names them, whose keys stand by themselves
    "model_spec", "parallelism", "training", "compile", "loss", "dataloader", "optimizer",
    "lr_scheduler", "metrics", "checkpoint", "validator", "tokenizer", "profiler", "profiling",
    "debug", "comm", "job", "model", "validation", "model_converters",

    // no plan hangs on them
    "model.hf_assets_path", "model.tokenizer_path", "model.print_after_conversion",
    "hf_assets_path", "training.dataset", "training.dataset_path", "training.max_norm",
    "training.steps", "training.gc_freq", "training.gc_debug", "training.seed",
    "training.deterministic", "training.dataloader.", "training.mixed_precision_param",
    "training.mixed_precision_reduce", "parallelism.disable_loss_parallel",
    "parallelism.enable_loss_parallel", "training.warmup_steps", "training.data_parallel_type",
    "model.norm_type", "float8.", "experimental.enable_compiled_autograd",
    "parallelism.context_parallel_load_balancer", "parallelism.context_parallel_rotate_method",
    "parallelism.spmd_backend", "parallelism.pipeline_parallel_expert_parallel_overlap",
    "compile.components", "compile.backend", "activation_checkpoint.preserve_rng_state",
    "activation_checkpoint.determinism_check", "activation_checkpoint.early_stop",
    "activation_checkpoint.debug", "activation_checkpoint.memory_budget",
    "activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns",
    "activation_checkpoint.visualize_memory_budget_pareto", "job.", "profiling.", "profiler.",
    "metrics.", "optimizer.", "lr_scheduler.", "dataloader.", "checkpoint.", "quantize.", "comm.",
    "memory_estimation.", "validation.", "validator.", "debug.", "tokenizer.", "loss.",
    "rdzv_backend", "rdzv_endpoint", "rdzv_id", "node_rank", "master_addr", "master_port",
    "local_ranks_filter", "role", "tee", "standalone", "max_restarts", "log_dir", NULL};

static bool is_known(const char *key)
{
    if (launcher_has_flag(key))
        return true;
    for (const char *const *word = known; *word != NULL; word++)
        if (text_equal(*word, key) || (text_ends_with(*word, ".") && text_starts_with(key, *word)))
            return true;
    return false;
}

void titan_warn_of_unknown(titan_reading *in)
{
    bool any = false;

    for (int i = 0; i < in->pairs->count; i++) {
        const char *const key = in->pairs->pair[i].key;

        if (is_known(key))
            continue;
        if (!any)
            titan_warn(in, "not understood, and taken as not given");
        text_append_printf(&in->warning, "%s%s", any ? ", " : ": ", key);
        any = true;
    }
}
