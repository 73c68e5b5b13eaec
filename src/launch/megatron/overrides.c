/*
 * overrides.c - a plan's settings as KEY=VALUE of Megatron-Bridge's config
 *
 * What is off is said too, since a recipe may have it on. Three things differ from Megatron-LM.
 * comm_overlap, where a recipe has it, would overwrite fields of ddp and model: it is taken out.
 * Number formats come as named sets, which also decide in which format gradients are reduced.
 * attention_backend would stay a word where an enumerator is compared with: it is taken out too, and
 * the kernel chosen by Transformer Engine's variables (megatron_bridge.c).
 */
#include <string.h>

#include "megatron.h"

static void say_bool(launch_args *args, const char *key, bool value)
{
    args_text(args, key, value ? "true" : "false");
}

static void say_text(launch_args *args, const char *key, const char *value)
{
    args_text(args, key, value != NULL ? value : "null");
}

/* 0 is "not said". */
static void say_count(launch_args *args, const char *key, int value)
{
    if (value > 0)
        args_int(args, key, value);
    else
        args_text(args, key, "null");
}

/* ---- groups ---- */

static void say_parallelism(const megatron_settings *set, launch_args *args)
{
    const plait_degrees *const d = set->degrees;

    args_int(args, "model.tensor_model_parallel_size", d->tp);
    say_bool(args, "model.sequence_parallel", d->sp);
    args_int(args, "model.pipeline_model_parallel_size", d->pp);
    say_count(args, "model.virtual_pipeline_model_parallel_size", set->chunks);
    say_text(args, "model.pipeline_model_parallel_layout", set->layout);
    say_count(args, "model.num_layers_in_first_pipeline_stage", set->first_layers);
    say_count(args, "model.num_layers_in_last_pipeline_stage", set->last_layers);
    say_bool(args, "model.account_for_embedding_in_pipeline_split", set->embedding_counts);
    say_bool(args, "model.account_for_loss_in_pipeline_split", set->loss_counts);
    args_int(args, "model.context_parallel_size", d->cp);
    say_text(args, "model.cp_comm_type", set->cp_comm);
    if (set->experts) {
        args_int(args, "model.expert_model_parallel_size", d->ep);
        args_int(args, "model.expert_tensor_parallel_size", d->etp);
    }
    say_bool(args, "dist.use_tp_pp_dp_mapping", set->stages_inside_replicas);
}

static void say_batch(const plait_job *job, const plait_degrees *d, launch_args *args)
{
    args_int(args, "train.micro_batch_size", d->mbs);
    args_int(args, "train.global_batch_size", job->gbs);
    args_int(args, "dataset.seq_length", job->seq);
}

/* ["core_attn","moe_act"] */
static void say_modules(unsigned modules, launch_args *args)
{
    text_builder out;
    char *text;

    text_builder_init(&out, args->arena);
    for (int m = 0; m < PLAIT_MODULES; m++)
        if (modules >> m & 1u)
            text_append_printf(&out, "%s\"%s\"", out.length > 0 ? "," : "[",
                               plait_recompute_module_name[m]);
    text_append_char(&out, ']');
    text = text_builder_finish(&out, NULL);
    if (text == NULL)
        args->failed = true;
    else
        args_words(args, "model.recompute_modules", text);
}

static void say_memory(const megatron_settings *set, launch_args *args)
{
    say_text(args, "model.recompute_granularity", set->recompute);
    say_text(args, "model.recompute_method", set->recompute_method);
    say_count(args, "model.recompute_num_layers", set->recompute_layers);
    if (set->recompute_modules != 0)
        say_modules(set->recompute_modules, args);
    else if (set->recompute != NULL && strcmp(set->recompute, "selective") == 0)
        say_modules(1u << PLAIT_MODULE_core_attn, args);
    else
        say_text(args, "model.recompute_modules", NULL);
    say_bool(args, "model.cpu_offloading", false);
    say_bool(args, "model.fine_grained_activation_offloading", false);
}

/* Master weights and moments in fp32, as the price has them. */
static void say_optimizer(const megatron_settings *set, launch_args *args)
{
    static const char *const formats[] = {"optimizer.main_params_dtype",
                                          "optimizer.main_grads_dtype", "optimizer.exp_avg_dtype",
                                          "optimizer.exp_avg_sq_dtype"};

    say_text(args, "optimizer.optimizer", "adam");
    say_bool(args, "optimizer.use_precision_aware_optimizer", false);
    for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++)
        say_text(args, formats[f], "torch.float32");
    say_bool(args, "optimizer.optimizer_cpu_offload", false);
    say_bool(args, "optimizer.use_distributed_optimizer", set->distributed_optimizer);
    say_bool(args, "ddp.use_distributed_optimizer", set->distributed_optimizer);
    args_int(args, "ddp.num_distributed_optimizer_instances",
             set->optimizer_instances > 0 ? set->optimizer_instances : 1);
    say_bool(args, "ddp.use_megatron_fsdp", set->fsdp != NULL);
    say_text(args, "ddp.data_parallel_sharding_strategy",
             set->fsdp != NULL ? set->fsdp : "no_shard");
    say_text(args, "checkpoint.ckpt_format", set->fsdp != NULL ? "fsdp_dtensor" : "torch_dist");
    if (set->fsdp != NULL)
        say_bool(args, "model.gradient_accumulation_fusion", false);
}

static void say_overlap(const megatron_settings *set, launch_args *args)
{
    say_text(args, "comm_overlap", NULL);
    say_bool(args, "ddp.overlap_grad_reduce", set->overlap_grad_reduce);
    say_bool(args, "ddp.overlap_param_gather", set->overlap_param_gather);
    say_bool(args, "ddp.align_param_gather", set->overlap_param_gather && set->chunks > 0);
    say_bool(args, "model.tp_comm_overlap", set->overlap_tp);
    say_bool(args, "model.overlap_p2p_comm", set->overlap_p2p);
    say_bool(args, "model.batch_p2p_comm", !set->overlap_p2p);
    say_bool(args, "model.overlap_moe_expert_parallel_comm", false);
    say_bool(args, "model.delay_wgrad_compute", false);
}

static void say_experts(const megatron_settings *set, launch_args *args)
{
    say_bool(args, "model.moe_grouped_gemm", true);
    say_bool(args, "model.moe_permute_fusion", true);
    say_text(args, "model.moe_token_dispatcher_type", set->dispatcher);
    if (set->flex_backend != NULL)
        say_text(args, "model.moe_flex_dispatcher_backend", set->flex_backend);
    say_bool(args, "model.moe_enable_deepep", false); // an older name of the flex backend
    say_bool(args, "model.moe_shared_expert_overlap", false);
    say_bool(args, "model.moe_router_padding_for_quantization", set->pads_experts);
}

static void say_kernels(const plait_runtime *runtime, const megatron_settings *set,
                        launch_args *args)
{
    say_text(args, "model.attention_backend", NULL);
    say_bool(args, "model.masked_softmax_fusion", !set->plain_softmax);
    say_bool(args, "model.cross_entropy_loss_fusion", set->fused_loss);
    if (!runtime->kernels.cuda_graphs)
        args_words(args, "model.cuda_graph_impl", "\"none\""); // a word, not null
    if (set->experts)
        say_experts(set, args);
}

static const char *const precision_sets[PLAIT_PRECISIONS] = {
    [PLAIT_BF16] = "bf16_mixed",
    [PLAIT_FP16] = "fp16_mixed",
    [PLAIT_FP8] = "bf16_with_fp8_current_scaling_mixed",
    [PLAIT_FP8_BLOCK] = "bf16_with_fp8_subchannel_scaling_mixed",
    [PLAIT_MXFP8] = "bf16_with_mxfp8_mixed",
    [PLAIT_NVFP4] = "bf16_with_nvfp4_mixed",
};

static void say_placeholders(launch_args *args)
{
    args_group(args, "yours to replace: schedule; data and tokenizer are the recipe's");
    args_int(args, "train.train_iters", 100);
    args_int(args, "validation.eval_iters", 0);
    args_int(args, "logger.log_interval", 1);
}

const char *megatron_overrides(const plait_problem *problem, const megatron_settings *set,
                               plait_arena *arena)
{
    launch_args args;

    args_init(&args, arena);
    args.between = '=';
    args_group(&args, "parallelism");
    say_parallelism(set, &args);
    args_group(&args, "batch");
    say_batch(&problem->job, set->degrees, &args);
    args_group(&args, "memory");
    say_memory(set, &args);
    args_group(&args, "optimizer");
    say_optimizer(set, &args);
    args_group(&args, "overlap");
    say_overlap(set, &args);
    args_group(&args, "kernels");
    say_kernels(problem->runtime, set, &args);
    args_group(&args, "precision");
    say_text(&args, "mixed_precision", precision_sets[problem->job.precision]);
    say_placeholders(&args);
    return args_shell(&args);
}
