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
