/* traits.c - what rules and spaces ask of a whole model */
#include "traits.h"

#include "plait/plan.h"

bool model_has_experts(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].ffn == PLAIT_FFN_MOE)
            return true;
    return false;
}

bool model_is_recurrent(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_DELTA_NET ||
            model->kind[k].mixer == PLAIT_MIXER_MAMBA)
            return true;
    return false;
}

bool model_has_modules(const plait_model *model, unsigned modules)
{
    unsigned there = 1u << PLAIT_MODULE_core_attn | 1u << PLAIT_MODULE_layernorm;

    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        if (layer->mixer == PLAIT_MIXER_MLA)
            there |= 1u << PLAIT_MODULE_mla_up_proj;
        if (layer->ffn == PLAIT_FFN_MLP)
            there |= 1u << PLAIT_MODULE_mlp;
        if (layer->ffn == PLAIT_FFN_MOE)
            there |= 1u << PLAIT_MODULE_moe_act | 1u << PLAIT_MODULE_moe;
        if (layer->ffn == PLAIT_FFN_MOE && layer->moe.shared_width > 0)
            there |= 1u << PLAIT_MODULE_shared_experts;
    }
    return (modules & ~there) == 0;
}

/* Norms inside the kernel of a product drop nothing: others stand before MLA and before experts. */
static bool norms_stand_alone(const plait_problem *problem)
{
    const plait_model *const model = problem->model;

    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_MLA || model->kind[k].ffn == PLAIT_FFN_MOE)
            return true;
    return !problem->runtime->kernels.norm_in_product;
}

bool modules_save(const plait_problem *problem, unsigned modules)
{
    return model_has_modules(problem->model, modules) &&
           (!(modules >> PLAIT_MODULE_layernorm & 1u) || norms_stand_alone(problem));
}

bool model_scores_are_plain(const plait_model *model)
{
    const plait_numerics *n = &model->numerics;

    return n->attention_softcap == 0.0 && n->logit_softcap == 0.0 && n->attention_scale == 0.0 &&
           n->embedding_scale == 0.0 && n->residual_scale == 0.0 && n->logit_scale == 0.0 &&
           !n->alibi && !n->qk_norm_whole;
}
