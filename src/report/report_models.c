/* report_models.c - prints lists of models, and one model with parameters, FLOPs and bytes */
#include "report/report.h"

#include "plait/lowlevel/block.h"
#include "plan/model_queries.h"
#include "report/report_private.h"
#include "report/report_table.h"
#include "report/units.h"

plait_status report_models(const plait_model *model, size_t count, FILE *out, plait_error *err)
{
    table *rows = table_new("model|>parameters|>active|>layers|>hidden|>vocab|>context|"
                            "kinds of layers");
    char kinds[160];

    for (size_t i = 0; i < count; i++) {
        const plait_params params = plait_model_params(&model[i]);

        kinds[0] = '\0';
        for (int k = 0; k < model[i].kinds; k++)
            report_append(kinds, sizeof kinds, "%s%s", k > 0 ? ", " : "", model[i].kind[k].name);
        TABLE_ROW(rows, as_text(model[i].name), as_count(params.total + params.encoders),
                  params.active < params.total ? as_count(params.active) : as_text("-"),
                  as_int(model[i].layers), as_int(model[i].hidden), as_int(model[i].vocab),
                  model[i].max_seq > 0 ? as_int(model[i].max_seq) : as_text("-"), as_text(kinds));
    }
    return table_print(rows, 0, out, err);
}

static void mixer_text(const plait_layer *layer, plait_mixer_kind mixer, char *text, size_t size)
{
    const plait_attention *const attention = &layer->attention;

    switch (mixer) {
    case PLAIT_MIXER_NONE:
        snprintf(text, size, "-");
        return;
    case PLAIT_MIXER_MLA:
        snprintf(text, size, "MLA, %d heads, latents %d and %d%s", layer->mla.heads,
                 layer->mla.q_rank, layer->mla.kv_rank,
                 layer->mla.index_topk > 0 && layer->mla.index_heads == 0
                     ? ", keys of an earlier indexer"
                     : "");
        return;
    case PLAIT_MIXER_DELTA_NET:
        snprintf(text, size, "%s, %d x %d",
                 layer->delta_net.plain            ? "linear attention"
                 : layer->delta_net.decay_rank > 0 ? "Kimi delta attention"
                                                   : "gated delta net",
                 layer->delta_net.value_heads, layer->delta_net.value_dim);
        return;
    case PLAIT_MIXER_MAMBA:
        snprintf(text, size, "%s, %d channels, state %d",
                 layer->mamba.heads > 0 ? "Mamba-2" : "Mamba", layer->mamba.inner,
                 layer->mamba.state);
        return;
    case PLAIT_MIXER_CONV:
        snprintf(text, size, "%s, %d channels",
                 layer->conv.blocks > 0 ? "linear recurrence (RG-LRU)" : "short convolution",
                 layer->conv.width);
        return;
    case PLAIT_MIXER_ATTENTION:
    case PLAIT_MIXER_KINDS:
        break;
    }
    snprintf(text, size, "attention, %d heads of %d, %d KV", attention->heads, attention->head_dim,
             attention->kv_heads);
    if (attention_v_dim(attention) != attention->head_dim)
        report_append(text, size, ", values of %d", attention_v_dim(attention));
    if (attention->reused_kv)
        report_append(text, size, " of an earlier layer");
    if (attention->window > 0)
        report_append(text, size, ", window %d", attention->window);
    if (attention->chunk > 0)
        report_append(text, size, ", chunks of %d", attention->chunk);
    if (attention->compress > 0)
        report_append(text, size, ", 1 key for %d", attention->compress);
    if (attention->compress > 0 && attention->index_topk > 0)
        report_append(text, size, ", the best %d", attention->index_topk);
}

static void mixers_text(const plait_layer *layer, char *text, size_t size)
{
    char second[96];

    mixer_text(layer, layer->mixer, text, size);
    if (layer->second_mixer == PLAIT_MIXER_NONE)
        return;
    mixer_text(layer, layer->second_mixer, second, sizeof second);
    report_append(text, size, " beside %s", second);
}

static void ffn_text(const plait_layer *layer, char *text, size_t size)
{
    const plait_moe *const moe = &layer->moe;

    switch (layer->ffn) {
    case PLAIT_FFN_NONE:
        snprintf(text, size, "%s", layer->opaque ? "opaque" : "-");
        return;
    case PLAIT_FFN_MLP:
        snprintf(text, size, "%sMLP %d", layer->mlp.gated ? "gated " : "", layer->mlp.width);
        return;
    case PLAIT_FFN_MOE:
    case PLAIT_FFN_KINDS:
        break;
    }
    snprintf(text, size, "%d of %d experts, width %d", moe->topk, moe->experts + moe->zero_experts,
             moe->width);
    if (moe->zero_experts > 0)
        report_append(text, size, ", %d empty", moe->zero_experts);
    if (moe->latent > 0)
        report_append(text, size, ", latent %d", moe->latent);
    if (moe->shared_width > 0)
        report_append(text, size, ", shared %d", moe->shared_width);
}

static double params_of(const plait_model *model, const plait_layer *layer)
{
    static const plait_runtime neutral = {.name = "count"};
    const plait_shard whole = {.tp = 1,
                               .cp = 1,
                               .ep = 1,
                               .etp = 1,
                               .attention = PLAIT_ATTENTION_FLASH2,
                               .runtime = &neutral};
    const plait_pass pass = {PLAIT_FORWARD, 1.0, 1024.0, 1024.0};
    plait_block block;

    plait_block_describe(model, layer, &whole, pass, &block);
    return block.weights.dense + block.weights.expert;
}

static void report_encoder(const plait_encoder *encoder, plait_modality modality, FILE *out)
{
    const double patches = plait_encoder_patches(encoder);
    char params[UNITS_SIZE], flops[UNITS_SIZE];

    fprintf(out, "%-11s %d layers, hidden %d, %s parameters with projector, %s forward per ",
            plait_modality_name[modality], encoder->model->layers, encoder->model->hidden,
            units_count(plait_encoder_params(encoder), params),
            units_rate(plait_encoder_flops(encoder, patches), "FLOP", flops));
    if (modality == PLAIT_AUDIO)
        fprintf(out, "30 s of audio");
    else
        fprintf(out, "image%s", encoder->model->max_seq > 0 ? "" : " of 1024 x 1024");
    fprintf(out, " (%.0f tokens)\n", patches / encoder->patches_per_token);
}

plait_status report_model(const plait_model *model, int seq, FILE *out, plait_error *err)
{
    const double whole = plait_model_flops_per_token(model, seq, false);
    const double skipped = plait_model_skipped_flops_per_token(model, seq);
    const plait_params params = plait_model_params(model);
    char text[UNITS_SIZE], cell[192];

    fprintf(out, "%s%s%s%s\n", model->name, model->family[0] != '\0' ? " (" : "", model->family,
            model->family[0] != '\0' ? ")" : "");
    fprintf(out, "%s\n\n", model->source);
    fprintf(out, "%d layers, hidden %d, vocabulary %d, %s, context %d\n", model->layers,
            model->hidden, model->vocab, model->layer_norm ? "LayerNorm" : "RMSNorm",
            model->max_seq);
    table *rows = table_new(">layers|kind|mixer|feed-forward|>parameters each");
    for (int k = 0; k < model->kinds; k++) {
        int layers = 0;

        for (int i = 0; i < model->layers; i++)
            layers += model->layer_kind[i] == k;
        TABLE_ROW(rows, as_int(layers), as_text(model->kind[k].name));
        mixers_text(&model->kind[k], cell, sizeof cell);
        table_cell(rows, "%s", cell);
        ffn_text(&model->kind[k], cell, sizeof cell);
        TABLE_ROW(rows, as_text(cell), as_count(params_of(model, &model->kind[k])));
    }
    PLAIT_TRY(table_print(rows, 2, out, err));
    fprintf(out, "\nparameters  %s", units_count(params.total + params.encoders, text));
    if (params.encoders > 0.0)
        fprintf(out, ", %s of them in encoders and projectors", units_count(params.encoders, text));
    if (params.active < params.total)
        fprintf(out, ", %s active per token", units_count(params.active, text));
    fprintf(out, "\n            embedding %s", units_count(params.embedding, text));
    fprintf(out, ", output projection %s",
            model->tied ? "tied to the embedding" : units_count(params.head, text));
    if (params.mtp > 0.0)
        fprintf(out, ", multi-token prediction %s (not in the total)",
                units_count(params.mtp, text));
    fprintf(out, "\nbytes       %s as bf16",
            units_gib(2.0 * (params.total + params.encoders), text));
    fprintf(out, ", %s to train with Adam in mixed precision (18 bytes per parameter)\n",
            units_gib(18.0 * (params.total + params.encoders + params.mtp), text));
    fprintf(out, "FLOPs       %s per token in training at sequences of %d, forward and backward",
            units_rate(whole - skipped, "FLOP", text), seq);
    if (skipped > 0.0)
        fprintf(out, "; %s with the full attention matrix", units_rate(whole, "FLOP", text));
    fputc('\n', out);
    for (int m = 0; m < PLAIT_MODALITIES; m++)
        if (model->encoder[m].model != NULL)
            report_encoder(&model->encoder[m], (plait_modality)m, out);
    return PLAIT_OK;
}
