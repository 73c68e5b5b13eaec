/*
 * rules.h - rules of a runtime beyond its capability masks
 *
 * A rule is a condition on several degrees. Searches, launch configs and messages refer to a rule
 * by its number; docs/reference/rules.md describes all rules.
 */
#pragma once

#include "plait/runtime.h"

#include "rules/runtime_features.h"

typedef struct plan_rule {
    const char *number;    /* number of the rule, such as "M3" */
    const char *condition; /* the condition, as a sentence without a full stop */
    bool (*holds)(const plait_problem *problem, const plait_degrees *degrees);
} plan_rule;

/**
 * A condition on the models that a runtime can build. It covers features that the runtime's launch
 * configs describe.
 */
typedef struct model_rule {
    const char *number;
    const char *condition;
    bool (*holds)(const plait_model *model);
} model_rule;

/** The rules of one kind of software: a file src/rules/rules_<word>.c. */
typedef struct rule_set {
    const struct rule_set *base; /* rules that are checked first; NULL: none */
    const plan_rule *plan;       /* rules; the last element has no number; NULL: none */
    const plan_rule *batch;      /* rules on pp, dp, mbs and schedule; the last has no number */
    const model_rule *model;     /* rules for models; the last has no number; NULL: none */
    model_part_set states;       /* rare parts that the launch config of a model can state (L1) */
    /** Returns the default etp. NULL: the base's default, or 1 without a base. */
    int (*etp)(const plait_problem *problem, const plait_degrees *degrees);
} rule_set;

#define X(constant, word, set) extern const rule_set set;
PLAIT_RULES_LIST(X)
#undef X

const rule_set *rule_set_of(plait_rules rules);

/**
 * Returns whether two rule sets derive from the same base, as rules of forks of one software do.
 */
bool rules_are_kin(plait_rules one, plait_rules other);

/** Returns the first broken rule among those that do not read the microbatch, or NULL. */
const plan_rule *plan_rule_broken(const plait_problem *problem, const plait_degrees *degrees);

/** Returns the first broken rule among those that read the microbatch, or NULL. */
const plan_rule *batch_rule_broken(const plait_problem *problem, const plait_degrees *degrees);

/** Returns whether `one` breaks a rule that `other` does not; ignores rules on the microbatch. */
bool plan_rule_separates(const plait_problem *problem, const plait_degrees *one,
                         const plait_degrees *other);

// rules_torchtitan_model.c
extern const model_rule torchtitan_model_rules[];
