/*
 * rules_torchtitan_model.c - models that torchtitan's families build
 *
 * One rule covers both sizes of gpt-oss; the other rules cover all other models.
 */
#include <stddef.h>

#include "plan/model_queries.h"
#include "rules/rules.h"
#include "rules/torchtitan_family.h"

titan_family titan_family_of(const plait_model *model)
{
    titan_family family = model_has_experts(model) ? TITAN_QWEN3 : TITAN_LLAMA3;

    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        if (layer->mixer == PLAIT_MIXER_MLA)
            return TITAN_DEEPSEEK_V3;
        if (layer->mixer == PLAIT_MIXER_ATTENTION && layer->attention.sinks)
            return TITAN_GPT_OSS;
        if (layer->mixer == PLAIT_MIXER_ATTENTION && layer->attention.qk_norm)
            family = TITAN_QWEN3;
    }
    return family;
}

static bool is_gpt_oss(const plait_model *model)
{
    return titan_family_of(model) == TITAN_GPT_OSS;
}

static bool layers_have_parts(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        const bool attends = layer->mixer == PLAIT_MIXER_ATTENTION;
        if (layer->opaque || (!attends && layer->mixer != PLAIT_MIXER_MLA) ||
            layer->ffn == PLAIT_FFN_NONE || (attends && layer->attention.full_mask))
            return false;
    }
    return model->patch_dim == 0;
}

static bool blocks_are_plain(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].norms != 2 || model->kind[k].parallel_residual)
            return false;
    return !model->layer_norm && !model->embedding_norm && !model->head_bias && !model->dropout &&
           model->learned_positions == 0;
}

/*
 * Returns whether a layer has biases. The bias with which a router only chooses experts does not
 * count, since every router of torchtitan has it.
 */
static bool has_biases(const plait_layer *layer)
{
    if (layer->mixer == PLAIT_MIXER_ATTENTION &&
        (layer->attention.qkv_bias || layer->attention.out_bias))
        return true;
    return layer->ffn == PLAIT_FFN_MLP ? layer->mlp.bias
                                       : layer->moe.bias || layer->moe.shared_gate;
}

static bool no_biases(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (has_biases(&model->kind[k]) && !is_gpt_oss(model))
            return false;
    return true;
}

static bool scores_are_plain(const plait_model *model)
{
    return model_scores_are_plain(model) && !model->numerics.qk_l2_norm;
}

static bool sees_everything(const plait_attention *a)
{
    return a->window == 0 && a->chunk == 0 && a->rotary && !a->gate && !a->shared_kv;
}

static bool same_mixer(const plait_layer *one, const plait_layer *other)
{
    const plait_attention *const a = &one->attention, *const b = &other->attention;
    const plait_mla *const m = &one->mla, *const n = &other->mla;

    if (one->mixer != other->mixer)
        return false;
    if (one->mixer == PLAIT_MIXER_ATTENTION)
        return a->heads == b->heads && a->kv_heads == b->kv_heads && a->head_dim == b->head_dim &&
               a->qk_norm == b->qk_norm;
    return m->heads == n->heads && m->q_rank == n->q_rank && m->kv_rank == n->kv_rank &&
           m->nope_dim == n->nope_dim && m->rope_dim == n->rope_dim && m->v_dim == n->v_dim;
}

static bool attention_is_alike(const plait_model *model)
{
    for (int k = 0; k < model->kinds && !is_gpt_oss(model); k++) {
        const plait_layer *layer = &model->kind[k];
        if (!same_mixer(layer, &model->kind[0]))
            return false;
        if (layer->mixer == PLAIT_MIXER_MLA ? layer->mla.index_heads > 0
                                            : !sees_everything(&layer->attention))
            return false;
    }
    return true;
}

static bool positions_known(const plait_model *model)
{
    const plait_rope *const rope = &model->numerics.rope;
    const titan_family family = titan_family_of(model);

    if (rope->local_base != 0.0 || (rope->fraction != 0.0 && rope->fraction != 1.0))
        return family == TITAN_GPT_OSS;
    if (rope->kind == PLAIT_ROPE_LLAMA3)
        return family == TITAN_LLAMA3 || family == TITAN_QWEN3;
    if (rope->kind == PLAIT_ROPE_YARN)
        return family == TITAN_DEEPSEEK_V3 || family == TITAN_GPT_OSS;
    return rope->kind == PLAIT_ROPE_PLAIN;
}

static bool activation_is_swiglu(const plait_model *model)
{
    const plait_activation activation = model->numerics.activation;

    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        if (!(layer->ffn == PLAIT_FFN_MLP ? layer->mlp.gated : layer->moe.gated))
            return false;
    }
    return activation == PLAIT_ACTIVATION_UNKNOWN || activation == PLAIT_SILU ||
           (activation == PLAIT_CLAMPED_SWIGLU && is_gpt_oss(model));
}

static bool same_experts(const plait_moe *a, const plait_moe *b)
{
    return a->experts == b->experts && a->topk == b->topk && a->width == b->width &&
           a->shared_width == b->shared_width && a->groups == b->groups &&
           a->group_topk == b->group_topk;
}

static bool groups_hold_two(const plait_moe *moe)
{
    return moe->groups <= 1 || (moe->experts % moe->groups == 0 && moe->experts / moe->groups >= 2);
}

static bool experts_are_alike(const plait_model *model)
{
    const plait_layer *dense = NULL, *moe = NULL;

    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        const plait_layer **first = layer->ffn == PLAIT_FFN_MLP ? &dense : &moe;
        *first = *first == NULL ? layer : *first;
        if (layer->ffn == PLAIT_FFN_MLP
                ? layer->mlp.width != dense->mlp.width
                : !same_experts(&layer->moe, &moe->moe) || !groups_hold_two(&layer->moe))
            return false;
    }
    if (model->mtp_layers == 0)
        return true;
    return titan_family_of(model) == TITAN_DEEPSEEK_V3 &&
           model->mtp_kind == model->layer_kind[model->layers - 1];
}

static bool is_gpt_oss_layer(const plait_layer *layer, bool even, int experts)
{
    const plait_attention *const a = &layer->attention;
    const plait_moe *const m = &layer->moe;

    return layer->mixer == PLAIT_MIXER_ATTENTION && layer->ffn == PLAIT_FFN_MOE && a->heads == 64 &&
           a->kv_heads == 8 && a->head_dim == 64 && a->window == (even ? 128 : 0) && a->sinks &&
           a->qkv_bias && a->out_bias && !a->qk_norm && !a->gate && m->experts == experts &&
           m->topk == 4 && m->width == 2880 && m->shared_width == 0 && m->groups <= 1 && m->bias;
}

static bool gpt_oss_positions(const plait_rope *rope)
{
    if (rope->kind == PLAIT_ROPE_PLAIN)
        return rope->base == 0.0; // 0: the model file has no base
    return rope->kind == PLAIT_ROPE_YARN && rope->base == 1.5e5 && rope->factor == 32.0;
}

static bool gpt_oss_as_published(const plait_model *model)
{
    const bool small = model->layers == 24;

    if (!is_gpt_oss(model))
        return true;
    for (int i = 0; i < model->layers; i++)
        if (!is_gpt_oss_layer(&model->kind[model->layer_kind[i]], i % 2 == 0, small ? 32 : 128))
            return false;
    return (small || model->layers == 36) && model->hidden == 2880 && model->vocab == 201088 &&
           !model->tied && gpt_oss_positions(&model->numerics.rope);
}

const model_rule torchtitan_model_rules[] = {
    {"TM1", "every layer must be a decoder layer of attention and a feed-forward part",
     layers_have_parts},
    {"TM2",
     "a layer must have one RMSNorm before attention and one before the MLP, in sequence, without "
     "dropout and learned positions",
     blocks_are_plain},
    {"TM3", "linear layers must have no biases, and shared experts no gate", no_biases},
    {"TM4",
     "scores, logits and embeddings must not be scaled, capped or biased by distance, and norms of "
     "q and k must be learned and span one head",
     scores_are_plain},
    {"TM5",
     "all attention layers must have the same shape and rotary positions, without windows, "
     "chunks, gates or sparse indices",
     attention_is_alike},
    {"TM6",
     "rotary positions must have one base, span the head and be plain, scaled as in Llama 3, or "
     "YaRN with latent attention",
     positions_known},
    {"TM7", "the activation must be SwiGLU", activation_is_swiglu},
    {"TM8",
     "all layers with experts must have the same shape, as must all layers without; expert groups "
     "need two or more experts, and multi-token prediction needs latent attention",
     experts_are_alike},
    {"TM9", "gpt-oss must have one of its two published sizes", gpt_oss_as_published},
    {NULL, NULL, NULL},
};
