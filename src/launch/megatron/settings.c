/*
 * settings.c - degrees, memory, optimizer, overlap and precision as Megatron Core has them
 *
 * Each part says what the price assumed: what the runtime profile overlaps is switched on, what it
 * does not is left off. src/plan/rules_megatron.c has refused what Megatron would.
 */
#include "settings.h"

#include "text.h"
#include "traits.h"

/* ---- parallelism ---- */

/* Et*3|t*4|...|t*3L: chunk after chunk, chunk c on stage c % pp. */
static const char *layout_of(const plait_model *model, const int *counts, int chunks,
                             plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
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
    return text_builder_finish(&out, NULL);
}

/* Splits that have no words of their own are spelled chunk by chunk. */
static plait_status set_split(const plait_model *model, plait_arena *arena, megatron_settings *out,
                              plait_error *err)
{
    const plait_degrees *const d = out->degrees;
    int counts[PLAIT_MAX_LAYERS];

    out->chunks = d->vpp > 1 ? d->vpp : 0;
    switch ((plait_split_kind)d->split.kind) {
    case PLAIT_SPLIT_SPREAD:
    case PLAIT_SPLIT_COST:
        if (!plait_split_layers(model, d, counts))
            return PLAIT_OK;
        out->layout = layout_of(model, counts, d->pp * d->vpp, arena);
        return out->layout != NULL ? PLAIT_OK : plait_fail_nomem(err);
    case PLAIT_SPLIT_FIRST_LAST:
        out->first_layers = d->split.first;
        out->last_layers = d->split.last;
        return PLAIT_OK;
    case PLAIT_SPLIT_EMBEDDING:
    case PLAIT_SPLIT_LOSS:
    case PLAIT_SPLIT_BOTH:
        out->embedding_counts = d->split.kind != PLAIT_SPLIT_LOSS;
        out->loss_counts = d->split.kind != PLAIT_SPLIT_EMBEDDING;
        return PLAIT_OK;
    case PLAIT_SPLIT_EVEN:
    case PLAIT_SPLITS:
        break;
    }
    return PLAIT_OK;
}

/* ---- memory ---- */

static void set_recompute(megatron_settings *out)
{
    const plait_recompute *const recompute = &out->degrees->recompute;

    switch ((plait_recompute_kind)recompute->kind) {
    case PLAIT_RECOMPUTE_SELECTIVE:
        out->recompute = "selective";
        break;
    case PLAIT_RECOMPUTE_MODULES:
        out->recompute = "selective";
        out->recompute_modules = recompute->modules;
        break;
    case PLAIT_RECOMPUTE_FULL:
        out->recompute = "full";
        out->recompute_method = recompute->layers > 0 ? "block" : "uniform";
        out->recompute_layers =
            recompute->layers > 0 ? recompute->layers / out->degrees->vpp : 1; // a chunk's
        break;
    case PLAIT_RECOMPUTE_NONE:
    case PLAIT_RECOMPUTE_SAC:
    case PLAIT_RECOMPUTE_KINDS:
        break;
    }
}

/* ---- optimizer and overlap ---- */

/* Megatron's own FSDP shards gradients and parameters too. */
static void set_optimizer(megatron_settings *out)
{
    const plait_degrees *const d = out->degrees;
    const int instances = d->dp * d->cp / d->shard_group;

    out->distributed_optimizer = d->zero > 0;
    out->optimizer_instances = instances > 1 ? instances : 0;
    if (d->zero > 1)
        out->fsdp = d->zero == 3 ? "optim_grads_params" : "optim_grads";
}

static void set_overlap(const plait_problem *problem, megatron_settings *out)
{
    const plait_degrees *const d = out->degrees;
    const plait_overlaps *const overlap = &problem->runtime->overlap;

    out->overlap_grad_reduce = overlap->grad_reduce && d->grad_sync == PLAIT_SYNC_BUCKETED;
    out->overlap_param_gather = out->overlap_grad_reduce && overlap->param_gather && d->zero > 0;
    out->overlap_tp = d->tp > 1 && d->sp && overlap->tp_exposed < 1.0;
    out->overlap_p2p = d->vpp > 1; // Megatron-LM's own choice, which interleaving is priced with
    out->fused_loss = problem->runtime->kernels.fused_loss;
    out->reduce_in_16_bits = problem->runtime->state.gradient_reduce == 2.0;
    if (!out->experts)
        return;
    out->dispatcher = overlap->moe_dedup ? "flex" : "alltoall";
    out->flex_backend = overlap->moe_dedup ? "deepep" : NULL;
}

/* ---- kernels and precision ---- */

static void set_precision(plait_precision precision, megatron_settings *out)
{
    static const struct {
        const char *format;
        const char *recipe;
    } fp8[PLAIT_PRECISIONS] = {
        [PLAIT_FP8] = {"hybrid", "tensorwise"},
        [PLAIT_FP8_BLOCK] = {"e4m3", "blockwise"},
        [PLAIT_MXFP8] = {"e4m3", "mxfp8"},
    };

    out->fp16 = precision == PLAIT_FP16;
    out->fp8_format = fp8[precision].format;
    out->fp8_recipe = fp8[precision].recipe;
    if (precision == PLAIT_NVFP4) {
        out->fp4_format = "e2m1";
        out->fp4_recipe = "nvfp4";
    }
    out->pads_experts = precision > PLAIT_FP16 && out->experts;
}

static void set_attention(plait_attention_kernel kernel, megatron_settings *out)
{
    switch (kernel) {
    case PLAIT_ATTENTION_UNFUSED:
    case PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL:
        out->attention = "unfused";
        out->plain_softmax = kernel == PLAIT_ATTENTION_UNFUSED;
        break;
    case PLAIT_ATTENTION_FLASH:
        out->attention = "flash";
        break;
    case PLAIT_ATTENTION_FLASH2:
    case PLAIT_ATTENTION_FLASH3:
        out->attention = "flash";
        out->flash_version = kernel == PLAIT_ATTENTION_FLASH2 ? 2 : 3;
        break;
    case PLAIT_ATTENTION_FUSED:
    case PLAIT_ATTENTION_KERNELS:
        out->attention = "fused";
        break;
    }
}

/* Transformer Engine spells all_gather; attention with an indexer is Megatron's own, without '_'. */
static const char *exchange_word(const plait_model *model, const plait_degrees *d)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_MLA && model->kind[k].mla.index_heads > 0)
            return plait_cp_comm_name[d->cp_comm];
    return d->cp_comm == PLAIT_CP_ALLGATHER ? "all_gather" : plait_cp_comm_name[d->cp_comm];
}

plait_status megatron_settings_of(const plait_problem *problem, const plait_degrees *d,
                                  plait_arena *arena, megatron_settings *out, plait_error *err)
{
    *out = (megatron_settings){
        .degrees = d,
        .gbs = problem->job.gbs,
        .experts = model_has_experts(problem->model),
        .stages_inside_replicas = d->order == PLAIT_ORDER_TP_CP_PP_DP,
    };
    if (d->cp > 1 || d->cp_comm != PLAIT_CP_P2P)
        out->cp_comm = exchange_word(problem->model, d);
    set_recompute(out);
    set_optimizer(out);
    set_overlap(problem, out);
    set_precision(problem->job.precision, out);
    set_attention(problem->job.attention, out);
    return set_split(problem->model, arena, out, err);
}
