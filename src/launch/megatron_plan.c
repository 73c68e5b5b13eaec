/*
 * megatron_plan.c - degrees, batch, memory, optimizer, overlap and precision in Megatron-LM's
 * arguments
 *
 * Each group says what the price assumed: what the runtime profile overlaps is switched on, what it
 * does not is left off. src/plan/rules_megatron.c has refused what Megatron would.
 */
#include <string.h>

#include "megatron_private.h"

static bool has_experts(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].ffn == PLAIT_FFN_MOE)
            return true;
    return false;
}

/* ---- parallelism ---- */

/* Et*3|t*4|...|t*3L: chunk after chunk, chunk c on stage c % pp. */
static void append_layout(const plait_model *model, const int *counts, int chunks,
                          launch_args *args)
{
    text_builder out;
    char *text;

    text_builder_init(&out, args->arena);
    for (int c = 0; c < chunks; c++) {
        text_append(&out, c == 0 ? "E" : "|");
        if (counts[c] == 1)
            text_append_char(&out, 't');
        else if (counts[c] > 1)
            text_append_printf(&out, "t*%d", counts[c]);
    }
    for (int m = 0; m < model->mtp_layers; m++)
        text_append_char(&out, 'm');
    text_append_char(&out, 'L');
    text = text_builder_finish(&out, NULL);
    if (text == NULL)
        args->failed = true;
    else
        args_text(args, "--pipeline-model-parallel-layout", text);
}

/* Splits that have no words of their own are spelled chunk by chunk. */
static bool is_spelled(plait_split_kind kind)
{
    return kind == PLAIT_SPLIT_SPREAD || kind == PLAIT_SPLIT_COST;
}

static void append_split(const plait_model *model, const plait_degrees *d, launch_args *args)
{
    int counts[PLAIT_MAX_LAYERS];

    if (is_spelled((plait_split_kind)d->split.kind)) {
        if (plait_split_layers(model, d, counts))
            append_layout(model, counts, d->pp * d->vpp, args);
        return;
    }
    if (d->vpp > 1)
        args_int(args, "--num-virtual-stages-per-pipeline-rank", d->vpp);
    if (d->split.kind == PLAIT_SPLIT_FIRST_LAST) {
        args_int(args, "--decoder-first-pipeline-num-layers", d->split.first);
        args_int(args, "--decoder-last-pipeline-num-layers", d->split.last);
    }
    if (d->split.kind == PLAIT_SPLIT_EMBEDDING || d->split.kind == PLAIT_SPLIT_BOTH)
        args_switch(args, "--account-for-embedding-in-pipeline-split");
    if (d->split.kind == PLAIT_SPLIT_LOSS || d->split.kind == PLAIT_SPLIT_BOTH)
        args_switch(args, "--account-for-loss-in-pipeline-split");
}

/* Transformer Engine spells all_gather; attention with an indexer is Megatron's own, without '_'. */
static const char *exchange_word(const plait_model *model, const plait_degrees *d)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_MLA && model->kind[k].mla.index_heads > 0)
            return plait_cp_comm_name[d->cp_comm];
    return d->cp_comm == PLAIT_CP_ALLGATHER ? "all_gather" : plait_cp_comm_name[d->cp_comm];
}

static void append_degrees(const plait_problem *problem, const plait_degrees *d, launch_args *args)
{
    args_int(args, "--tensor-model-parallel-size", d->tp);
    if (d->sp)
        args_switch(args, "--sequence-parallel");
    args_int(args, "--pipeline-model-parallel-size", d->pp);
    append_split(problem->model, d, args);
    args_int(args, "--context-parallel-size", d->cp);
    if (d->cp > 1 || d->cp_comm != PLAIT_CP_P2P)
        args_text(args, "--cp-comm-type", exchange_word(problem->model, d));
    if (has_experts(problem->model)) {
        args_int(args, "--expert-model-parallel-size", d->ep);
        args_int(args, "--expert-tensor-parallel-size", d->etp);
    }
    if (d->order == PLAIT_ORDER_TP_CP_PP_DP)
        args_switch(args, "--use-tp-pp-dp-mapping");
}

/* ---- memory ---- */

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

static void append_recompute(const plait_degrees *d, launch_args *args)
{
    switch ((plait_recompute_kind)d->recompute.kind) {
    case PLAIT_RECOMPUTE_SELECTIVE:
        args_text(args, "--recompute-granularity", "selective");
        break;
    case PLAIT_RECOMPUTE_MODULES:
        args_text(args, "--recompute-granularity", "selective");
        append_modules(d->recompute.modules, args);
        break;
    case PLAIT_RECOMPUTE_FULL:
        args_text(args, "--recompute-granularity", "full");
        args_text(args, "--recompute-method", d->recompute.layers > 0 ? "block" : "uniform");
        args_int(args, "--recompute-num-layers",
                 d->recompute.layers > 0 ? d->recompute.layers / d->vpp : 1); // a chunk's
        break;
    case PLAIT_RECOMPUTE_NONE:
    case PLAIT_RECOMPUTE_SAC:
    case PLAIT_RECOMPUTE_KINDS:
        break;
    }
}

/* ---- optimizer and overlap ---- */

/* Megatron's own FSDP shards gradients and parameters too; its checkpoints have one format. */
static void append_fsdp(const plait_degrees *d, launch_args *args)
{
    args_switch(args, "--use-megatron-fsdp");
    args_text(args, "--data-parallel-sharding-strategy",
              d->zero == 3 ? "optim_grads_params" : "optim_grads");
    args_text(args, "--ckpt-format", "fsdp_dtensor");
    args_switch(args, "--no-gradient-accumulation-fusion");
}

static void append_optimizer(const plait_degrees *d, launch_args *args)
{
    const int instances = d->dp * d->cp / d->shard_group;

    args_text(args, "--optimizer", "adam");
    if (d->zero > 0)
        args_switch(args, "--use-distributed-optimizer");
    if (instances > 1)
        args_int(args, "--num-distributed-optimizer-instances", instances);
    if (d->zero > 1)
        append_fsdp(d, args);
}

static void append_overlap(const plait_problem *problem, const plait_degrees *d, launch_args *args)
{
    const plait_overlaps *const overlap = &problem->runtime->overlap;
    const bool reduce = overlap->grad_reduce && d->grad_sync == PLAIT_SYNC_BUCKETED;

    if (reduce)
        args_switch(args, "--overlap-grad-reduce");
    if (reduce && overlap->param_gather && d->zero > 0)
        args_switch(args, "--overlap-param-gather");
    if (d->tp > 1 && d->sp && overlap->tp_exposed < 1.0)
        args_switch(args, "--tp-comm-overlap");
    if (problem->runtime->kernels.fused_loss)
        args_switch(args, "--cross-entropy-loss-fusion");
    if (problem->runtime->state.gradient_reduce == 2.0)
        args_switch(args, "--grad-reduce-in-bf16");
    if (!has_experts(problem->model))
        return;
    args_switch(args, "--moe-grouped-gemm");
    args_switch(args, "--moe-permute-fusion");
    args_text(args, "--moe-token-dispatcher-type", overlap->moe_dedup ? "flex" : "alltoall");
    if (overlap->moe_dedup)
        args_text(args, "--moe-flex-dispatcher-backend", "deepep");
}

/* ---- precision and kernels ---- */

static void append_precision(const plait_problem *problem, launch_args *args)
{
    static const struct {
        const char *format;
        const char *recipe;
    } fp8[PLAIT_PRECISIONS] = {
        [PLAIT_FP8] = {"hybrid", "tensorwise"},
        [PLAIT_FP8_BLOCK] = {"e4m3", "blockwise"},
        [PLAIT_MXFP8] = {"e4m3", "mxfp8"},
    };
    const plait_precision precision = problem->job.precision;

    args_switch(args, precision == PLAIT_FP16 ? "--fp16" : "--bf16");
    if (fp8[precision].format != NULL) {
        args_text(args, "--fp8-format", fp8[precision].format);
        args_text(args, "--fp8-recipe", fp8[precision].recipe);
    }
    if (precision == PLAIT_NVFP4) {
        args_text(args, "--fp4-format", "e2m1");
        args_text(args, "--fp4-recipe", "nvfp4");
    }
    if (precision > PLAIT_FP16 && has_experts(problem->model))
        args_switch(args, "--moe-router-padding-for-quantization");
}

static void append_attention(plait_attention_kernel kernel, launch_args *args)
{
    switch (kernel) {
    case PLAIT_ATTENTION_UNFUSED:
        args_text(args, "--attention-backend", "unfused");
        args_switch(args, "--no-masked-softmax-fusion");
        break;
    case PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL:
        args_text(args, "--attention-backend", "unfused");
        break;
    case PLAIT_ATTENTION_FLASH:
        args_text(args, "--attention-backend", "flash");
        break;
    case PLAIT_ATTENTION_FLASH2:
    case PLAIT_ATTENTION_FLASH3:
        args_text(args, "--attention-backend", "flash");
        args_int(args, "--flash-attention-version", kernel == PLAIT_ATTENTION_FLASH2 ? 2 : 3);
        break;
    case PLAIT_ATTENTION_FUSED:
    case PLAIT_ATTENTION_KERNELS:
        args_text(args, "--attention-backend", "fused");
        break;
    }
}

void megatron_append_plan(const plait_problem *problem, const plait_degrees *d, launch_args *args)
{
    args_group(args, "parallelism");
    append_degrees(problem, d, args);
    args_group(args, "batch");
    args_int(args, "--micro-batch-size", d->mbs);
    args_int(args, "--global-batch-size", problem->job.gbs);
    args_group(args, "memory");
    append_recompute(d, args);
    args_group(args, "optimizer");
    append_optimizer(d, args);
    args_group(args, "overlap and kernels");
    append_overlap(problem, d, args);
    append_attention(problem->job.attention, args);
    args_group(args, "precision");
    append_precision(problem, args);
}
