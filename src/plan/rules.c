/* rules.c - which table of rules binds a runtime */
#include "rules.h"

#include <stddef.h>

static const plan_rule rules_generic[] = {{NULL, NULL, NULL}};

static const plan_rule *const tables[PLAIT_RULES] = {
    [PLAIT_RULES_GENERIC] = rules_generic,       [PLAIT_RULES_MEGATRON] = rules_megatron,
    [PLAIT_RULES_TORCHTITAN] = rules_torchtitan, [PLAIT_RULES_FSDP] = rules_fsdp,
    [PLAIT_RULES_DEEPSPEED] = rules_deepspeed,
};

const plan_rule *plan_rule_broken(const plait_problem *problem, const plait_degrees *degrees)
{
    for (const plan_rule *rule = tables[problem->runtime->rules]; rule->number; rule++)
        if (!rule->holds(problem, degrees))
            return rule;
    return NULL;
}

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
