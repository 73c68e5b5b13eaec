/*
 * rules.h - rules of a runtime beyond its capability masks
 *
 * A rule relates several degrees. Searches, launch configs and messages refer to it by its number,
 * which docs/reference/rules.md explains.
 */
#pragma once

#include "plait/runtime.h"

typedef struct plan_rule {
    const char *number; /* "M3" */
    const char *says;   /* the condition, as a sentence without a full stop */
    bool (*holds)(const plait_problem *problem, const plait_degrees *degrees);
} plan_rule;

/**
 * A condition on models that a runtime can build, for features that its launch configs describe.
 */
typedef struct model_rule {
    const char *number;
    const char *says;
    bool (*holds)(const plait_model *model);
} model_rule;

/** The rules of one kind of software: a file src/rules/rules_<word>.c. */
typedef struct rule_set {
    const struct rule_set *base; /* its rules are checked first; NULL: none */
    const plan_rule *plan;       /* ends with a rule without a number; NULL: none */
    const plan_rule *batch;      /* rules that read the microbatch; ends as `plan` */
    const model_rule *model;     /* ends as `plan`; NULL: any model can be built */
    /** Returns the default etp; NULL: as in the base, or 1 without a base. */
    int (*etp)(const plait_problem *problem, const plait_degrees *degrees);
} rule_set;

#define X(constant, word, set) extern const rule_set set;
PLAIT_RULES_LIST(X)
#undef X

const rule_set *rule_set_of(plait_rules rules);

/** Do both derive from the same base, as forks of one software? */
bool rules_are_kin(plait_rules one, plait_rules other);

/** Returns the first broken rule among those that do not read the microbatch, or NULL. */
const plan_rule *plan_rule_broken(const plait_problem *problem, const plait_degrees *degrees);

/** Returns the first broken rule among those that read the microbatch, or NULL. */
const plan_rule *batch_rule_broken(const plait_problem *problem, const plait_degrees *degrees);

/** Is there a rule, independent of the microbatch, that `one` breaks and `other` does not? */
bool plan_rule_separates(const plait_problem *problem, const plait_degrees *one,
                         const plait_degrees *other);

// rules_torchtitan_model.c
extern const model_rule torchtitan_model_rules[];
