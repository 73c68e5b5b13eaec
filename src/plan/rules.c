/* rules.c - which set of rules binds a runtime */
#include "rules.h"

#include <stddef.h>
#include <stdio.h>

const char *const plait_rules_name[PLAIT_RULES + 1] = {
#define X(constant, word, set) word,
    PLAIT_RULES_LIST(X)
#undef X
        NULL};

const char *const plait_chooser_name[PLAIT_CHOOSERS + 1] = {
#define X(constant, word) word,
    PLAIT_CHOOSER_LIST(X)
#undef X
        NULL};

static const plan_rule nothing[] = {{NULL, NULL, NULL}};

const rule_set rules_generic = {.plan = nothing};

static const rule_set *const sets[PLAIT_RULES] = {
#define X(constant, word, set) [constant] = &set,
    PLAIT_RULES_LIST(X)
#undef X
};

const rule_set *rule_set_of(plait_rules rules)
{
    return sets[rules];
}

const plan_rule *plan_rule_broken(const plait_problem *problem, const plait_degrees *degrees)
{
    for (const plan_rule *rule = sets[problem->runtime->rules]->plan; rule->number; rule++)
        if (!rule->holds(problem, degrees))
            return rule;
    return NULL;
}

bool plan_rule_parts(const plait_problem *problem, const plait_degrees *one,
                     const plait_degrees *other)
{
    for (const plan_rule *rule = sets[problem->runtime->rules]->plan; rule->number; rule++)
        if (!rule->holds(problem, one) && rule->holds(problem, other))
            return true;
    return false;
}

static const model_rule *model_rule_broken(plait_rules rules, const plait_model *model)
{
    for (const model_rule *rule = sets[rules]->model; rule != NULL && rule->number; rule++)
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
