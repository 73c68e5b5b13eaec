/*
 * launch.h - the files that start a plan
 *
 * A target is a format that some runtime reads: the arguments of Megatron-LM, a recipe of
 * torchtitan, the JSON of DeepSpeed. plait_launch_render makes the files of one target in memory.
 * The runtime accepts them, since the plan has passed the runtime's own rules
 * (src/rules/rules_<runtime>.c). If a target cannot express a plan, rendering fails; the message
 * names the part that cannot be expressed, and the step time of the nearest plan that can.
 *
 * In order: plait_plan_expand and plait_plan_cost for the plan, plait_launch_target_of for the
 * target of its runtime, plait_launch_init, plait_launch_render.
 *
 * Left out: data sets and tokenizers. The files have placeholders for them with which a run starts.
 * Learning rates and similar settings are those that the model file has in `training`. A list at
 * the top of the files names everything to be edited.
 */
#ifndef PLAIT_LAUNCH_H
#define PLAIT_LAUNCH_H

#include "plait/cost.h"
#include "plait/plan.h"

PLAIT_BEGIN_DECLS

/**
 * Every target: its constant, its word, and its descriptor in src/launch. The first target of a set
 * of rules is the default for plans under these rules.
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
    X(PLAIT_LAUNCH_DEEPSPEED_PIPELINE, "deepspeed-pipeline", target_deepspeed_pipeline)            \
    X(PLAIT_LAUNCH_TRL, "trl", target_trl)                                                         \
    X(PLAIT_LAUNCH_LLAMA_FACTORY, "llama-factory", target_llama_factory)                           \
    X(PLAIT_LAUNCH_TORCHTUNE, "torchtune", target_torchtune)                                       \
    X(PLAIT_LAUNCH_MS_SWIFT, "ms-swift", target_ms_swift)

typedef enum plait_launch_target {
#define X(constant, word, descriptor) constant,
    PLAIT_LAUNCH_TARGET_LIST(X)
#undef X
        PLAIT_LAUNCH_TARGETS
} plait_launch_target;

extern const char *const plait_launch_target_name[PLAIT_LAUNCH_TARGETS + 1];

/** Input of plait_launch_render: a plan that fits, its problem and its price. */
typedef struct plait_launch {
    const plait_problem *problem;
    const plait_plan *plan;
    const plait_cost *cost;
    const char *container;   /* image of the jobs; NULL: a placeholder */
    const char *account;     /* SLURM account; NULL: a placeholder */
    const void *reserved[2]; /* zero; later versions turn it into fields */
} plait_launch;

/** An empty struct: set problem, plan and cost. */
void plait_launch_init(plait_launch *launch);

typedef struct plait_launch_file {
    const char *name; /* file name without a folder */
    const char *text;
    bool executable;
} plait_launch_file;

enum { PLAIT_MAX_LAUNCH_FILES = 12 };

typedef struct plait_launch_folder {
    int files;
    plait_launch_file file[PLAIT_MAX_LAUNCH_FILES];
} plait_launch_folder;

/** The default target of a runtime; the companion format if the runtime has no target. */
plait_launch_target plait_launch_target_of(const plait_runtime *runtime);

/**
 * Make the files of a plan. *out lives in `arena`.
 *
 * Fails (RANGE) if container or account is not a valid name, if the plan does not fit, or if the
 * target cannot express it: `message` then has the part, and the step time of the nearest plan that
 * it can express.
 */
PLAIT_MUST_CHECK plait_status plait_launch_render(const plait_launch *launch,
                                                  plait_launch_target target, plait_arena *arena,
                                                  plait_launch_folder *out, plait_error *err);

PLAIT_END_DECLS

#endif
