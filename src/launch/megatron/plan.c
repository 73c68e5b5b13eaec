/* plan.c - a plan's settings as Megatron-LM's arguments: what is off is not said */
#include "megatron.h"

static void append_split(const megatron_settings *set, launch_args *args)
{
    if (set->layout != NULL) { // its chunks say how many there are
        args_text(args, "--pipeline-model-parallel-layout", set->layout);
        return;
    }
    if (set->chunks > 0)
        args_int(args, "--num-virtual-stages-per-pipeline-rank", set->chunks);
    if (set->first_layers > 0) {
        args_int(args, "--decoder-first-pipeline-num-layers", set->first_layers);
        args_int(args, "--decoder-last-pipeline-num-layers", set->last_layers);
    }
    if (set->embedding_counts)
        args_switch(args, "--account-for-embedding-in-pipeline-split");
    if (set->loss_counts)
        args_switch(args, "--account-for-loss-in-pipeline-split");
}

static void append_degrees(const megatron_settings *set, launch_args *args)
{
    const plait_degrees *const d = set->degrees;

    args_int(args, "--tensor-model-parallel-size", d->tp);
    if (d->sp)
        args_switch(args, "--sequence-parallel");
    args_int(args, "--pipeline-model-parallel-size", d->pp);
    append_split(set, args);
    args_int(args, "--context-parallel-size", d->cp);
    if (set->cp_comm != NULL)
        args_text(args, "--cp-comm-type", set->cp_comm);
    if (set->experts) {
        args_int(args, "--expert-model-parallel-size", d->ep);
        args_int(args, "--expert-tensor-parallel-size", d->etp);
    }
    if (set->stages_inside_replicas)
        args_switch(args, "--use-tp-pp-dp-mapping");
}

static void append_modules(unsigned modules, launch_args *args)
{
    text_builder out;
    char *text;

    text_builder_init(&out, args->arena);
    for (int m = 0; m < PLAIT_MODULES; m++)
        if (modules >> m & 1u)
            text_append_printf(&out, out.length > 0 ? " %s" : "%s", plait_recompute_module_name[m]);
    text = text_builder_finish(&out, NULL);
    if (text == NULL)
        args->failed = true;
    else
        args_words(args, "--recompute-modules", text);
}

static void append_recompute(const megatron_settings *set, launch_args *args)
{
    if (set->recompute != NULL)
        args_text(args, "--recompute-granularity", set->recompute);
    if (set->recompute_modules != 0)
        append_modules(set->recompute_modules, args);
    if (set->recompute_method != NULL) {
        args_text(args, "--recompute-method", set->recompute_method);
        args_int(args, "--recompute-num-layers", set->recompute_layers);
    }
}

/* Checkpoints of Megatron's own FSDP have one format. */
static void append_optimizer(const megatron_settings *set, launch_args *args)
{
    args_text(args, "--optimizer", "adam");
    if (set->distributed_optimizer)
        args_switch(args, "--use-distributed-optimizer");
    if (set->optimizer_instances > 0)
        args_int(args, "--num-distributed-optimizer-instances", set->optimizer_instances);
    if (set->fsdp == NULL)
        return;
    args_switch(args, "--use-megatron-fsdp");
    args_text(args, "--data-parallel-sharding-strategy", set->fsdp);
    args_text(args, "--ckpt-format", "fsdp_dtensor");
    args_switch(args, "--no-gradient-accumulation-fusion");
}

static void append_overlap(const megatron_settings *set, launch_args *args)
{
    if (set->overlap_grad_reduce)
        args_switch(args, "--overlap-grad-reduce");
    if (set->overlap_param_gather)
        args_switch(args, "--overlap-param-gather");
    if (set->overlap_tp)
        args_switch(args, "--tp-comm-overlap");
    if (set->fused_loss)
        args_switch(args, "--cross-entropy-loss-fusion");
    if (set->reduce_in_16_bits)
        args_switch(args, "--grad-reduce-in-bf16");
    if (!set->experts)
        return;
    args_switch(args, "--moe-grouped-gemm");
    args_switch(args, "--moe-permute-fusion");
    args_text(args, "--moe-token-dispatcher-type", set->dispatcher);
    if (set->flex_backend != NULL)
        args_text(args, "--moe-flex-dispatcher-backend", set->flex_backend);
}

static void append_precision(const megatron_settings *set, launch_args *args)
{
    args_switch(args, set->fp16 ? "--fp16" : "--bf16");
    if (set->fp8_format != NULL) {
        args_text(args, "--fp8-format", set->fp8_format);
        args_text(args, "--fp8-recipe", set->fp8_recipe);
    }
    if (set->fp4_format != NULL) {
        args_text(args, "--fp4-format", set->fp4_format);
        args_text(args, "--fp4-recipe", set->fp4_recipe);
    }
    if (set->pads_experts)
        args_switch(args, "--moe-router-padding-for-quantization");
}

void megatron_append_plan(const plait_problem *problem, const plait_degrees *d, launch_args *args)
{
    megatron_settings set;
    plait_error nomem;

    if (megatron_settings_of(problem, d, args->arena, &set, &nomem) != PLAIT_OK) {
        args->failed = true;
        return;
    }
    args_group(args, "parallelism");
    append_degrees(&set, args);
    args_group(args, "batch");
    args_int(args, "--micro-batch-size", d->mbs);
    args_int(args, "--global-batch-size", set.gbs);
    args_group(args, "memory");
    append_recompute(&set, args);
    args_group(args, "optimizer");
    append_optimizer(&set, args);
    args_group(args, "overlap and kernels");
    append_overlap(&set, args);
    args_text(args, "--attention-backend", set.attention);
    if (set.flash_version > 0)
        args_int(args, "--flash-attention-version", set.flash_version);
    if (set.plain_softmax)
        args_switch(args, "--no-masked-softmax-fusion");
    args_group(args, "precision");
    append_precision(&set, args);
}
