/* torchtitan_family.c - the torchtitan model family that builds a model */
#include "rules/torchtitan_family.h"

#include "plan/model_queries.h"

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
