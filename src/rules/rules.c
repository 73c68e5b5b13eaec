/* rules.c - the rules of each runtime */
#include "rules/rules.h"

#include <stddef.h>
#include <stdio.h>

#include "plan/problem_parts.h"
#include "plan/reason.h"
#include "rules/runtime_features.h"

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

static const rule_set *root_of(plait_rules rules)
{
    const rule_set *set = sets[rules];

    while (set->base != NULL)
        set = set->base;
    return set;
}

bool rules_are_kin(plait_rules one, plait_rules other)
{
    return root_of(one) == root_of(other);
}

/* Returns the first broken rule, or NULL. Checks the rules of the base before those of the set. */
static const plan_rule *broken_of(const rule_set *set, bool batch, const plait_problem *problem,
                                  const plait_degrees *degrees)
{
    const plan_rule *const broken =
        set->base != NULL ? broken_of(set->base, batch, problem, degrees) : NULL;
    const plan_rule *rule = batch ? set->batch : set->plan;

    if (broken != NULL)
        return broken;
    while (rule != NULL && rule->number && rule->holds(problem, degrees))
        rule++;
    return rule != NULL && rule->number ? rule : NULL;
}

bool plan_rule_separates(const plait_problem *problem, const plait_degrees *one,
                         const plait_degrees *other)
{
    for (const rule_set *set = sets[problem->runtime->rules]; set != NULL; set = set->base)
        for (const plan_rule *rule = set->plan; rule != NULL && rule->number; rule++)
            if (!rule->holds(problem, one) && rule->holds(problem, other))
                return true;
    return false;
}

const plan_rule *plan_rule_broken(const plait_problem *problem, const plait_degrees *degrees)
{
    return broken_of(sets[problem->runtime->rules], false, problem, degrees);
}

const plan_rule *batch_rule_broken(const plait_problem *problem, const plait_degrees *degrees)
{
    return broken_of(sets[problem->runtime->rules], true, problem, degrees);
}

/*
 * Returns the first rare part of a model that launch configs cannot state, or -1. Software without
 * rules for models runs a user's own program, which builds the model. (rule L1)
 */
static int part_unstated(const rule_set *set, const plait_model *model)
{
    model_part_set states = ~(model_part_set)0;

    for (; set != NULL; set = set->base)
        if (set->model != NULL)
            states &= set->states;
    return model_part_beyond(model, states);
}

static const model_rule *model_rule_broken(const rule_set *set, const plait_model *model)
{
    const model_rule *const broken = set->base != NULL ? model_rule_broken(set->base, model) : NULL;

    if (broken != NULL)
        return broken;
    for (const model_rule *rule = set->model; rule != NULL && rule->number; rule++)
        if (!rule->holds(model))
            return rule;
    return NULL;
}

bool plait_model_check(const plait_runtime *runtime, const plait_model *model, char *why,
                       size_t size)
{
    plait_error wrong;

    if (size > 0 && why != NULL)
        why[0] = '\0';
    if (runtime_check_parts(runtime, &wrong) != PLAIT_OK ||
        model_check_parts(model, &wrong) != PLAIT_OK)
        return fail_because(&(plan_reason){why, size}, "%s: %s", wrong.where, wrong.message);
    const int part = runtime_part_missed(runtime, model);
    if (part >= 0)
        return fail_because(&(plan_reason){why, size}, "%s cannot build %s: %s needs %s or later",
                            runtime->name, model->name, plait_model_part_name[part],
                            runtime_brought(runtime, PLAIT_FEATURE_MODEL, part)->name);
    const int unstated = part_unstated(sets[runtime->rules], model);
    if (unstated >= 0)
        return fail_because(&(plan_reason){why, size}, "the model must have no %s (%s, rule L1)",
                            model_part_phrase(unstated), runtime->name);
    const model_rule *const broken = model_rule_broken(sets[runtime->rules], model);

    if (broken != NULL && why != NULL)
        snprintf(why, size, "%s (%s, rule %s)", broken->condition, runtime->name, broken->number);
    return broken == NULL;
}
