/* runtime_features.c - features that are newer than a release of the software */
#include "rules/runtime_features.h"

#include <stdio.h>

#include "plan/model_queries.h"

const char *const plait_model_part_name[PLAIT_MODEL_PARTS + 1] = {
#define X(constant, word) word,
    PLAIT_MODEL_PART_LIST(X)
#undef X
        NULL};

const plait_release *runtime_brought(const plait_runtime *runtime, int key, int value)
{
    if (runtime->at == NULL)
        return NULL;
    for (size_t i = 0; i < runtime->features; i++) {
        const plait_feature *const feature = &runtime->feature[i];
        const plait_release *const since = &runtime->release[feature->since];

        if (feature->key == key && feature->value == value)
            return since > runtime->at ? since : NULL;
    }
    return NULL;
}

const char *runtime_brought_text(const plait_runtime *runtime, int key, int value,
                                 char out[RUNTIME_BROUGHT_SIZE])
{
    const plait_release *const since = runtime_brought(runtime, key, value);

    out[0] = '\0';
    if (since != NULL)
        snprintf(out, RUNTIME_BROUGHT_SIZE, "; added in %.40s", since->name);
    return out;
}

// ---- models --------------------------------------------------------------------------------

static bool attention_has(const plait_attention *attention, plait_model_part part)
{
    switch (part) {
    case PLAIT_PART_QK_NORM:
        return attention->qk_norm;
    case PLAIT_PART_WINDOW:
        return attention->window > 0;
    case PLAIT_PART_SINKS:
        return attention->sinks;
    case PLAIT_PART_GATE:
        return attention->gate;
    case PLAIT_PART_COMPRESSED:
        return attention->compress > 0 || attention->q_rank > 0 || attention->out_groups > 0 ||
               attention->index_heads > 0;
    case PLAIT_PART_REUSED_KV:
        return attention->reused_kv;
    case PLAIT_PART_VALUE_WIDTH:
        return attention_v_dim(attention) != attention->head_dim;
    default:
        return false;
    }
}

static bool moe_has(const plait_moe *moe, plait_model_part part)
{
    switch (part) {
    case PLAIT_PART_SHARED:
        return moe->shared_width > 0;
    case PLAIT_PART_SHARED_GATE:
        return moe->shared_gate;
    case PLAIT_PART_GROUPS:
        return moe->groups > 1;
    case PLAIT_PART_LATENT_EXPERTS:
        return moe->latent > 0;
    case PLAIT_PART_LATENT_NORM:
        return moe->latent_norm;
    case PLAIT_PART_ZERO_EXPERTS:
        return moe->zero_experts > 0;
    default:
        return false;
    }
}

static bool mixes_with(const plait_layer *layer, plait_mixer_kind mixer)
{
    return layer->mixer == mixer || layer->second_mixer == mixer;
}

static bool layer_has(const plait_layer *layer, plait_model_part part)
{
    const bool delta = layer->mixer == PLAIT_MIXER_DELTA_NET;

    if (layer->opaque)
        return false;
    switch (part) {
    case PLAIT_PART_MLA:
        return layer->mixer == PLAIT_MIXER_MLA;
    case PLAIT_PART_SPARSE:
        return layer->mixer == PLAIT_MIXER_MLA && layer->mla.index_topk > 0;
    case PLAIT_PART_REUSED_INDEX:
        return layer->mixer == PLAIT_MIXER_MLA && layer->mla.index_topk > 0 &&
               layer->mla.index_heads == 0;
    case PLAIT_PART_LINEAR:
        return delta;
    case PLAIT_PART_MAMBA:
        return mixes_with(layer, PLAIT_MIXER_MAMBA) && layer->mamba.heads == 0;
    case PLAIT_PART_MAMBA2:
        return mixes_with(layer, PLAIT_MIXER_MAMBA) && layer->mamba.heads > 0;
    case PLAIT_PART_KIMI_DELTA:
        return delta && (layer->delta_net.decay_rank > 0 || layer->delta_net.gate_rank > 0);
    case PLAIT_PART_LIGHTNING:
        return delta && layer->delta_net.plain;
    case PLAIT_PART_CONVOLUTION:
        return mixes_with(layer, PLAIT_MIXER_CONV);
    case PLAIT_PART_TWO_MIXERS:
        return layer->second_mixer != PLAIT_MIXER_NONE;
    case PLAIT_PART_ALONE:
        return layer->mixer == PLAIT_MIXER_NONE || layer->ffn == PLAIT_FFN_NONE;
    case PLAIT_PART_MLA_GATE:
        return layer->mixer == PLAIT_MIXER_MLA && layer->mla.gate;
    case PLAIT_PART_LAUREL:
        return layer->laurel_rank > 0;
    case PLAIT_PART_PER_LAYER:
        return layer->per_layer_dim > 0;
    default:
        return (layer->mixer == PLAIT_MIXER_ATTENTION && attention_has(&layer->attention, part)) ||
               (layer->ffn == PLAIT_FFN_MOE && moe_has(&layer->moe, part));
    }
}

static bool some_layers(const plait_model *model, plait_model_part part)
{
    for (int k = 0; k < model->kinds; k++)
        if (layer_has(&model->kind[k], part))
            return true;
    return false;
}

/* Returns whether the test is true for some kinds of layers and false for others. */
static bool layers_differ(const plait_model *model, bool (*test)(const plait_layer *layer))
{
    int with = 0;

    for (int k = 0; k < model->kinds; k++)
        with += test(&model->kind[k]);
    return with > 0 && with < model->kinds;
}

static bool has_experts(const plait_layer *layer)
{
    return layer->ffn == PLAIT_FFN_MOE;
}

static bool has_no_rotary(const plait_layer *layer)
{
    return layer->mixer == PLAIT_MIXER_ATTENTION && !layer->attention.rotary;
}

static bool model_has(const plait_model *model, plait_model_part part)
{
    static const double usual_base = 10000.0;
    const plait_numerics *const numerics = &model->numerics;

    switch (part) {
    case PLAIT_PART_ROTARY_BASE:
        return numerics->rope.base >= 1.0 && numerics->rope.base != usual_base;
    case PLAIT_PART_LLAMA3_ROPE:
        return numerics->rope.kind == PLAIT_ROPE_LLAMA3;
    case PLAIT_PART_YARN:
        return numerics->rope.kind == PLAIT_ROPE_YARN && !some_layers(model, PLAIT_PART_MLA);
    case PLAIT_PART_NO_ROTARY:
        return layers_differ(model, has_no_rotary);
    case PLAIT_PART_CLAMPED:
        return numerics->activation == PLAIT_CLAMPED_SWIGLU;
    case PLAIT_PART_MIXED:
        return layers_differ(model, has_experts);
    case PLAIT_PART_SIGMOID:
        return model_has_experts(model) && numerics->router.score == PLAIT_ROUTER_SIGMOID;
    case PLAIT_PART_MTP:
        return model->mtp_layers > 0;
    case PLAIT_PART_STREAMS:
        return model->streams > 1;
    case PLAIT_PART_RESIDUALS:
        return model->residual_block > 0;
    default:
        return some_layers(model, part);
    }
}

int runtime_part_missed(const plait_runtime *runtime, const plait_model *model)
{
    for (int part = 0; part < PLAIT_MODEL_PARTS; part++)
        if (runtime_brought(runtime, PLAIT_FEATURE_MODEL, part) != NULL &&
            model_has(model, (plait_model_part)part))
            return part;
    return -1;
}

int model_part_beyond(const plait_model *model, model_part_set known)
{
    for (int part = PLAIT_FIRST_RARE_PART; part < PLAIT_MODEL_PARTS; part++)
        if (!(known & MODEL_PART_BIT(part)) && model_has(model, (plait_model_part)part))
            return part;
    return -1;
}

const char *model_part_phrase(int part)
{
    static const char *const phrases[PLAIT_MODEL_PARTS] = {
        [PLAIT_PART_MAMBA] = "Mamba layers",
        [PLAIT_PART_MAMBA2] = "Mamba-2 layers",
        [PLAIT_PART_KIMI_DELTA] = "Kimi delta attention",
        [PLAIT_PART_LIGHTNING] = "lightning attention",
        [PLAIT_PART_CONVOLUTION] = "convolution layers",
        [PLAIT_PART_TWO_MIXERS] = "layers of two mixers",
        [PLAIT_PART_ALONE] = "layers of a mixer or a feed-forward part alone",
        [PLAIT_PART_MLA_GATE] = "gates of latent attention",
        [PLAIT_PART_COMPRESSED] = "compressed attention",
        [PLAIT_PART_LATENT_EXPERTS] = "latent experts",
        [PLAIT_PART_LATENT_NORM] = "a norm after latent experts",
        [PLAIT_PART_ZERO_EXPERTS] = "experts without computation",
        [PLAIT_PART_STREAMS] = "residual streams",
        [PLAIT_PART_RESIDUALS] = "attention residuals",
        [PLAIT_PART_LAUREL] = "low-rank residual branches",
        [PLAIT_PART_PER_LAYER] = "per-layer embeddings",
        [PLAIT_PART_REUSED_KV] = "layers that reuse keys and values",
        [PLAIT_PART_REUSED_INDEX] = "layers that reuse an indexer",
        [PLAIT_PART_VALUE_WIDTH] = "values of another width than keys",
    };

    return phrases[part] != NULL ? phrases[part] : "";
}
