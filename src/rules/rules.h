/*
 * rules.h - rules of a runtime beyond its capability masks
 *
 * A rule relates several degrees. It has a number that docs/reference/rules.md explains, which searches, launch
 * configs and messages share.
 */
#pragma once

#include "plait/runtime.h"

typedef struct plan_rule {
    const char *number; /* "M3" */
    const char *says;   /* the condition, as a sentence without a full stop */
    bool (*holds)(const plait_problem *problem, const plait_degrees *degrees);
} plan_rule;

/** A condition on models that a runtime can build, as far as its launch configs describe them. */
typedef struct model_rule {
    const char *number;
    const char *says;
    bool (*holds)(const plait_model *model);
} model_rule;

/** The rules of one kind of software: a file src/rules/rules_<word>.c. */
typedef struct rule_set {
    const struct rule_set *base; /* its rules are checked first; NULL: none */
    const plan_rule *plan;       /* ends with a rule without a number; NULL: none */
    const plan_rule *batch;      /* likewise, rules that read the microbatch */
    const model_rule *model;     /* likewise; NULL: any model can be built */
    /** The default etp; NULL: that of its base, else 1. */
    int (*etp)(const plait_problem *problem, const plait_degrees *degrees);
} rule_set;

#define X(constant, word, set) extern const rule_set set;
PLAIT_RULES_LIST(X)
#undef X

const rule_set *rule_set_of(plait_rules rules);

/** Do both have the same root? Then they are forks of one software. */
bool rules_are_kin(plait_rules one, plait_rules other);

/** The first broken rule among those that do not read the microbatch, or NULL. */
const plan_rule *plan_rule_broken(const plait_problem *problem, const plait_degrees *degrees);

/** The first broken rule among those that read the microbatch, or NULL. */
const plan_rule *batch_rule_broken(const plait_problem *problem, const plait_degrees *degrees);

/** Is there a rule, independent of the microbatch, that `one` breaks and `other` does not? */
bool plan_rule_parts(const plait_problem *problem, const plait_degrees *one,
                     const plait_degrees *other);

// rules_torchtitan_model.c
extern const model_rule torchtitan_model_rules[];
