/* problem_parts.c - checks that a model is complete and consistent */
#include "plan/problem_parts.h"

#include "base/text.h"

/* Fails with the message that `what` was expected in `whole`. */
static plait_status fail_with_part(const char *whole, const char *what, plait_error *err)
{
    return plait_fail(err, PLAIT_ERROR_RANGE, whole, "expected %s, found another value", what);
}

// ---- a model -------------------------------------------------------------------------------

static bool mamba_is_valid(const plait_mamba *s)
{
    return s->inner >= 1 && (s->heads == 0 || (s->heads >= 1 && s->inner % s->heads == 0 &&
                                               s->groups >= 1 && s->heads % s->groups == 0));
}

static bool mixer_is_valid(const plait_layer *layer, plait_mixer_kind mixer)
{
    switch (mixer) {
    case PLAIT_MIXER_ATTENTION:
        return layer->attention.heads >= 1 && layer->attention.kv_heads >= 1 &&
               layer->attention.head_dim >= 1 && layer->attention.v_dim >= 0;
    case PLAIT_MIXER_MLA:
        return layer->mla.heads >= 1;
    case PLAIT_MIXER_DELTA_NET:
        return layer->delta_net.key_heads >= 1 && layer->delta_net.value_heads >= 1;
    case PLAIT_MIXER_MAMBA:
        return mamba_is_valid(&layer->mamba);
    case PLAIT_MIXER_CONV:
        return layer->conv.width >= 1 &&
               (layer->conv.blocks == 0 ||
                (layer->conv.blocks >= 1 && layer->conv.width % layer->conv.blocks == 0));
    case PLAIT_MIXER_NONE:
        return true;
    case PLAIT_MIXER_KINDS:
        break;
    }
    return false;
}

static bool ffn_is_valid(const plait_layer *layer)
{
    switch (layer->ffn) {
    case PLAIT_FFN_MOE:
        return layer->moe.topk >= 1 && layer->moe.topk <= layer->moe.experts &&
               layer->moe.width >= 1 && layer->moe.shared_width >= 0;
    case PLAIT_FFN_MLP:
        return layer->mlp.width >= 1;
    case PLAIT_FFN_NONE:
        return true;
    case PLAIT_FFN_KINDS:
        break;
    }
    return false;
}

plait_status model_check_parts(const plait_model *model, plait_error *err)
{
    if (!model)
        return plait_fail(err, PLAIT_ERROR_RANGE, "model", "expected a model, found NULL");
    PLAIT_TRY(parts_check_name("model", model->name, err));
    if (model->hidden < 1 || model->vocab < 1)
        return fail_with_part("model", "a hidden width and a vocabulary", err);
    if (model->layers < 1 || model->layers > PLAIT_MAX_LAYERS || !model->layer_kind)
        return fail_with_part("model", "a list of 1 to 4096 layers", err);
    if (model->kinds < 1 || model->kinds > PLAIT_MAX_LAYER_KINDS || !model->kind)
        return fail_with_part("model", "a list of 1 to 16 kinds of layers", err);
    if (model->mtp_layers < 0 || model->mtp_layers > PLAIT_MAX_LAYERS ||
        (model->mtp_layers > 0 && (model->mtp_kind < 0 || model->mtp_kind >= model->kinds)))
        return fail_with_part("model", "multi-token prediction modules of a listed kind", err);
    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *const layer = &model->kind[k];

        if (!layer->opaque && (!mixer_is_valid(layer, layer->mixer) ||
                               !mixer_is_valid(layer, layer->second_mixer) || !ffn_is_valid(layer)))
            return fail_with_part("model", "layers with heads, experts and a width", err);
    }
    for (int i = 0; i < model->layers; i++)
        if (model->layer_kind[i] >= model->kinds)
            return fail_with_part("model", "layers of listed kinds", err);
    return model_check_unpriced(model, err);
}
