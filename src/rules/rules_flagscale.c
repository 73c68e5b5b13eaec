/*
 * rules_flagscale.c - rules of FlagScale beyond Megatron-LM's
 *
 * FlagScale da4935e (2025-11-13) uses Megatron Core 0.15, whose parser lacks flags of later
 * releases.
 */
#include <stddef.h>

#include "rules/rules.h"

static bool layers_are_older(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *const layer = &model->kind[k];

        if (layer->mixer == PLAIT_MIXER_DELTA_NET ||
            (layer->mixer == PLAIT_MIXER_ATTENTION && layer->attention.gate) ||
            (layer->mixer == PLAIT_MIXER_MLA && layer->mla.index_heads > 0))
            return false;
        if (layer->ffn == PLAIT_FFN_MOE && layer->moe.shared_gate)
            return false;
    }
    return true;
}

/*
 * The parser has flags for the YaRN of MLA (DeepSeek), but no flags for YaRN with other attention.
 */
static bool yarn_is_of_latent_attention(const plait_model *model)
{
    if (model->numerics.rope.kind != PLAIT_ROPE_YARN)
        return true;
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_ATTENTION)
            return false;
    return true;
}

static const model_rule model_rules[] = {
    {"FS1",
     "Megatron Core 0.15 does not support delta nets, sparse attention with an indexer, or gates "
     "of attention or shared experts",
     layers_are_older},
    {"FS2", "Megatron Core 0.15 supports YaRN only with latent attention",
     yarn_is_of_latent_attention},
    {NULL, NULL, NULL},
};

const rule_set rules_flagscale = {.base = &rules_megatron, .model = model_rules};
