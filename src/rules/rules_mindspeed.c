/*
 * rules_mindspeed.c - rules of MindSpeed-LLM beyond Megatron-LM's
 *
 * MindSpeed-LLM c77308a (2026-08-21) with MindSpeed 028de58 (2026-07-21) uses Megatron Core 0.12.1,
 * whose parser lacks flags of later releases. pretrain_gpt.py passes only some of these flags to
 * the model.
 */
#include <stddef.h>

#include "rules/rules.h"
#include "plan/model_queries.h"

/* Source: mindspeed_llm/features_manager/context_parallel/context_parallel_feature.py. */
static bool context_sees_whole_sequences(const plait_problem *problem, const plait_degrees *d)
{
    for (int k = 0; d->cp > 1 && k < problem->model->kinds; k++) {
        const plait_layer *const layer = &problem->model->kind[k];

        if (layer->mixer == PLAIT_MIXER_ATTENTION && layer->attention.window > 0 &&
            problem->job.seq > layer->attention.window)
            return false;
    }
    return true;
}

static int dense_layers_ahead(const plait_model *model)
{
    int dense = 0;

    while (dense < model->layers && model->kind[model->layer_kind[dense]].ffn != PLAIT_FFN_MOE)
        dense++;
    return dense;
}

/*
 * Source: --first-k-dense-replace in
 * mindspeed_llm/features_manager/transformer/transformer_block.py.
 */
static bool first_stage_has_experts(const plait_problem *problem, const plait_degrees *d)
{
    const plait_model *const model = problem->model;
    const int dense = dense_layers_ahead(model);

    return !model_has_experts(model) || dense == 0 || d->pp == 1 || dense < model->layers / d->pp;
}

static const plan_rule plan_rules[] = {
    {"MS1", "attention windows shorter than the sequence need cp = 1",
     context_sees_whole_sequences},
    {"MS2",
     "the dense layers before the first expert layer must be fewer than the layers of a stage",
     first_stage_has_experts},
    {NULL, NULL, NULL},
};

// ---- models --------------------------------------------------------------------------------

static bool layers_are_older(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++) {
        const plait_attention *const attention = &model->kind[k].attention;
        if (model->kind[k].mixer != PLAIT_MIXER_ATTENTION) {
            if (model->kind[k].mixer != PLAIT_MIXER_MLA || model->kind[k].mla.index_heads != 0)
                return false;
        } else {
            if (attention->gate || attention->sinks || attention->window != 0 ||
                attention->chunk != 0)
                return false;
        }
    }
    return model->numerics.activation < PLAIT_CLAMPED_SWIGLU && !model->numerics.qk_l2_norm;
}

/*
 * Without MLA, no flag sets YaRN's factor. The factor is max_position_embeddings divided by the
 * original length.
 */
static bool positions_reach_the_model(const plait_model *model)
{
    const plait_rope *const rope = &model->numerics.rope;

    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_ATTENTION &&
            model->kind[k].attention.rotary != model->kind[0].attention.rotary)
            return false;
    if (rope->kind == PLAIT_ROPE_LINEAR && rope->factor > 1.0)
        return false;
    for (int k = 0; k < model->kinds && rope->kind == PLAIT_ROPE_YARN; k++)
        if (model->kind[k].mixer != PLAIT_MIXER_MLA)
            return false;
    return true;
}

/* Two numbers, --first-k-dense-replace and --moe-layer-freq, describe which layers have experts. */
static bool dense_layers_come_first(const plait_model *model)
{
    if (!model_has_experts(model))
        return true;
    for (int l = dense_layers_ahead(model); l < model->layers; l++)
        if (model->kind[model->layer_kind[l]].ffn != PLAIT_FFN_MOE)
            return false;
    return true;
}

static const model_rule model_rules[] = {
    {"MSM1",
     "Megatron Core 0.12.1 does not support delta nets, sparse attention with an indexer, "
     "attention windows, chunks, gates or sinks, weightless norms of q and k, or clamped SwiGLU",
     layers_are_older},
    {"MSM2",
     "rotary positions must be in all layers or in none, and plain, scaled as in Llama 3, or YaRN "
     "with latent attention",
     positions_reach_the_model},
    {"MSM3", "experts must be in all layers, or in all layers after the first dense ones",
     dense_layers_come_first},
    {NULL, NULL, NULL},
};

const rule_set rules_mindspeed = {
    .base = &rules_megatron, .plan = plan_rules, .model = model_rules};
