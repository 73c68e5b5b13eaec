/*
 * rules.h - what one runtime refuses beyond its capability masks
 *
 * A rule ties several degrees together. It has a number that docs/reference/rules.md explains, so
 * that a search, an emitted launch config and a message mean the same thing.
 */
#pragma once

#include "plait/runtime.h"

typedef struct plan_rule {
    const char *number; /* "M3" */
    const char *says;   /* what must hold, as a sentence without a full stop */
    bool (*holds)(const plait_problem *problem, const plait_degrees *degrees);
} plan_rule;

/** What must hold of a model for a runtime to build it, by the words that its launch configs have. */
typedef struct model_rule {
    const char *number;
    const char *says;
    bool (*holds)(const plait_model *model);
} model_rule;

/** All that is known of one sort of software: a file src/plan/rules_<word>.c. */
typedef struct rule_set {
    const struct rule_set *base; /* whose rules hold too, before its own; NULL: none */
    const plan_rule *plan;       /* ended by a rule without a number; NULL: none of its own */
    const plan_rule *batch;      /* likewise: those that look at the microbatch */
    const model_rule *model;     /* likewise; NULL: it can build any */
    /** The etp that it takes unless told; NULL: that of its base, else 1. */
    int (*etp)(const plait_problem *problem, const plait_degrees *degrees);
} rule_set;

#define X(constant, word, set) extern const rule_set set;
PLAIT_RULES_LIST(X)
#undef X

const rule_set *rule_set_of(plait_rules rules);

/** Do both stand on the same set? Then they are of forks of one software. */
bool rules_are_kin(plait_rules one, plait_rules other);

/** The first rule that a plan breaks of those that hold of any microbatch, or NULL. */
const plan_rule *plan_rule_broken(const plait_problem *problem, const plait_degrees *degrees);

/** The same of those that look at the microbatch. */
const plan_rule *batch_rule_broken(const plait_problem *problem, const plait_degrees *degrees);

/** Is there a rule, whatever the microbatch, that one plan breaks and the other keeps? */
bool plan_rule_parts(const plait_problem *problem, const plait_degrees *one,
                     const plait_degrees *other);

// rules_torchtitan_model.c
extern const model_rule torchtitan_model_rules[];
