/* traits.c - what rules and spaces ask of a whole model */
#include "traits.h"

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
