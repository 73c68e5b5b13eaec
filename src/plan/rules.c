/* rules.c - which table of rules binds a runtime */
#include "rules.h"

#include <stddef.h>
#include <stdio.h>

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

static const model_rule *const model_tables[PLAIT_RULES] = {
    [PLAIT_RULES_MEGATRON] = model_rules_megatron,
    [PLAIT_RULES_TORCHTITAN] = model_rules_torchtitan,
};

const model_rule *model_rule_broken(plait_rules rules, const plait_model *model)
{
    for (const model_rule *rule = model_tables[rules]; rule != NULL && rule->number; rule++)
        if (!rule->holds(model))
            return rule;
    return NULL;
}

bool plait_model_check(const plait_runtime *runtime, const plait_model *model, char *why,
                       size_t size)
{
    const model_rule *const broken = model_rule_broken(runtime->rules, model);

    if (size > 0 && why != NULL)
        why[0] = '\0';
    if (broken != NULL && why != NULL)
        snprintf(why, size, "%s (%s, rule %s)", broken->says, runtime->name, broken->number);
    return broken == NULL;
}
