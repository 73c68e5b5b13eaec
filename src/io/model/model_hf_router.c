/* model_hf_router.c - how experts are chosen and weighted, out of a Hugging Face config */
#include "io/model/model_hf_numerics.h"

#include <string.h>

static bool has_experts(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].ffn == PLAIT_FFN_MOE)
            return true;
    return false;
}

static plait_status read_score(const hf_config *hf, plait_router_score *out, plait_error *err)
{
    const char *word = NULL;

    PLAIT_TRY(json_string_optional(hf->text, "scoring_func", hf->arena, &word, err));
    if (word == NULL)
        return PLAIT_OK;
    *out = PLAIT_ROUTER_UNKNOWN;
    for (int score = PLAIT_ROUTER_SOFTMAX; score < PLAIT_ROUTER_SCORES; score++)
        if (strcmp(word, plait_router_score_name[score]) == 0)
            *out = (plait_router_score)score;
    return PLAIT_OK;
}

/* DeepSeek's "noaux_tc": loads are balanced by a bias, not by a loss. */
static plait_status read_correction_bias(const hf_config *hf, bool *out, plait_error *err)
{
    const char *method = NULL;

    PLAIT_TRY(json_string_optional(hf->text, "topk_method", hf->arena, &method, err));
    if (method != NULL)
        *out = strcmp(method, "noaux_tc") == 0;
    return PLAIT_OK;
}

plait_status hf_read_router(const hf_config *hf, const hf_class_numerics *known, plait_router *out,
                            plait_error *err)
{
    static const char *const scale[] = {"routed_scaling_factor", NULL};
    static const char *const aux_loss[] = {"router_aux_loss_coef", "aux_loss_alpha", NULL};

    if (!has_experts(hf->model))
        return PLAIT_OK;
    *out = (plait_router){
        .score = known->score,
        .normalised = hf_has_numerics_trait(known, HF_NORMALISED),
        .correction_bias = hf_has_numerics_trait(known, HF_CORRECTION_BIAS),
        .scale = known->router_scale,
    };
    PLAIT_TRY(read_score(hf, &out->score, err));
    PLAIT_TRY(json_bool_optional(hf->text, "norm_topk_prob", &out->normalised, err));
    PLAIT_TRY(read_correction_bias(hf, &out->correction_bias, err));
    PLAIT_TRY(hf_number(hf->text, scale, JSON_POSITIVE, out->scale, &out->scale, err));
    return hf_number(hf->text, aux_loss, JSON_NON_NEGATIVE, 0.0, &out->aux_loss, err);
}
