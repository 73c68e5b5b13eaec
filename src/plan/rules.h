/*
 * rules.h - what one runtime refuses beyond its capability masks
 *
 * A rule ties several degrees together. It has a number that docs/rules.md explains, so that a
 * search, an emitted launch config and a message mean the same thing.
 */
#ifndef RULES_H
#define RULES_H

#include "plait/runtime.h"

typedef struct plan_rule {
    const char *number; /* "M3" */
    const char *says;   /* what must hold, as a sentence without a full stop */
    bool (*holds)(const plait_problem *problem, const plait_degrees *degrees);
} plan_rule;

/** The first rule that a plan breaks, or NULL. */
const plan_rule *plan_rule_broken(const plait_problem *problem, const plait_degrees *degrees);

/** What must hold of a model for a runtime to build it, by the words that its launch configs have. */
typedef struct model_rule {
    const char *number;
    const char *says;
    bool (*holds)(const plait_model *model);
} model_rule;

/** The first rule that a model breaks, or NULL. */
const model_rule *model_rule_broken(plait_rules rules, const plait_model *model);

extern const model_rule model_rules_megatron[];
extern const model_rule model_rules_torchtitan[];

/** One table a runtime family, ended by a rule without a number. */
extern const plan_rule rules_megatron[];
extern const plan_rule rules_torchtitan[];
extern const plan_rule rules_fsdp[];
extern const plan_rule rules_deepspeed[];

#endif
