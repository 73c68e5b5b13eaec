/*
 * launch.h - a plan as the files that start it.
 *
 * A target is a format that some runtime reads: the arguments of Megatron-LM, a recipe of
 * torchtitan, the JSON of DeepSpeed. plait_launch_render makes the files of one target, in memory;
 * nothing in them is refused by the runtime, since the rules that it would apply
 * (src/rules/rules_<runtime>.c) have been applied before. What a target has no words for is refused
 * with the sentence that says which part, and what the nearest plan that it can say costs.
 *
 * In order: plait_plan_expand and plait_plan_cost for the plan, plait_launch_target_of for the
 * target that its runtime has, plait_launch_render.
 *
 * Left out: data sets and tokenizers. The files hold placeholders for them with which a run starts;
 * learning rates and their like are those that the model was trained with, as far as it says them. A
 * list at the head of the files says what is to be edited.
 */
#ifndef PLAIT_LAUNCH_H
#define PLAIT_LAUNCH_H

#include "plait/cost.h"
#include "plait/plan.h"

PLAIT_BEGIN_DECLS

/**
 * Every target: its constant, its word, and its descriptor in src/launch. Of those that take the plans
 * of one set of rules, the first is what starts them.
 */
#define PLAIT_LAUNCH_TARGET_LIST(X)                                                                \
    X(PLAIT_LAUNCH_MEGATRON, "megatron", target_megatron)                                          \
    X(PLAIT_LAUNCH_MEGATRON_BRIDGE, "megatron-bridge", target_megatron_bridge)                     \
    X(PLAIT_LAUNCH_TORCHTITAN, "torchtitan", target_torchtitan)                                    \
    X(PLAIT_LAUNCH_DEEPSPEED, "deepspeed", target_deepspeed)                                       \
    X(PLAIT_LAUNCH_ACCELERATE, "accelerate", target_accelerate)                                    \
    X(PLAIT_LAUNCH_PIPELINING, "pipelining", target_pipelining)                                    \
    X(PLAIT_LAUNCH_COMPANION, "companion", target_companion)                                       \
    X(PLAIT_LAUNCH_FLAGSCALE, "flagscale", target_flagscale)                                       \
    X(PLAIT_LAUNCH_GALVATRON, "galvatron", target_galvatron)                                       \
    X(PLAIT_LAUNCH_MINDSPEED, "mindspeed", target_mindspeed)                                       \
    X(PLAIT_LAUNCH_MAXTEXT, "maxtext", target_maxtext)                                             \
    X(PLAIT_LAUNCH_DEEPSPEED_PIPELINE, "deepspeed-pipeline", target_deepspeed_pipeline)

typedef enum plait_launch_target {
#define X(constant, word, descriptor) constant,
    PLAIT_LAUNCH_TARGET_LIST(X)
#undef X
        PLAIT_LAUNCH_TARGETS
} plait_launch_target;

extern const char *const plait_launch_target_name[PLAIT_LAUNCH_TARGETS + 1];

/** What is launched: a plan that fits, its question and its price. */
typedef struct plait_launch {
    const plait_problem *problem;
    const plait_plan *plan;
    const plait_cost *cost;
    const char *container;   /* image that jobs run in; NULL: a placeholder */
    const char *account;     /* that SLURM charges; NULL: likewise */
    const void *reserved[2]; /* zero; later versions turn it into fields */
} plait_launch;

/** Nothing yet: set problem, plan and cost. */
void plait_launch_init(plait_launch *launch);

typedef struct plait_launch_file {
    const char *name; /* inside the folder, without a '/' */
    const char *text;
    bool executable;
} plait_launch_file;

enum { PLAIT_MAX_LAUNCH_FILES = 12 };

typedef struct plait_launch_folder {
    int files;
    plait_launch_file file[PLAIT_MAX_LAUNCH_FILES];
} plait_launch_folder;

/** The target that starts the plans of a runtime; the companion format where it has none. */
plait_launch_target plait_launch_target_of(const plait_runtime *runtime);

/**
 * Make the files of a plan. *out lives in `arena`.
 *
 * Fails (RANGE) when container or account are no names, when the plan does not fit, or when the target cannot say it: `message` then tells
 * which part, and what the nearest plan that it can say costs.
 */
PLAIT_MUST_CHECK plait_status plait_launch_render(const plait_launch *launch,
                                                  plait_launch_target target, plait_arena *arena,
                                                  plait_launch_folder *out, plait_error *err);

PLAIT_END_DECLS

#endif
