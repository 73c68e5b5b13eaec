/* import.h - reads a plan from a runtime's launch config */
#pragma once

#include "plait/launch.h"

#include "io/plans/plans.h"

/** Facts about a launch that its file does not contain. */
typedef struct launch_call {
    int arguments;
    const char *const
        *argument; /* words after the script: $1 and on; NAME=VALUE sets a variable instead */
    int gpus;      /* GPUs of the job; 0: the number in the file */
    const plait_model *model; /* model that replaces the file's; NULL: none */
    bool *taken; /* receives true if the reader uses `argument`; only scripts take arguments */
} launch_call;

/** Names of the targets whose configs can be read; NULL-terminated. */
const char *const *launch_import_names(void);

/**
 * Find the config that training software prints into the log of a run: Megatron-LM its arguments,
 * torchtitan its job config or its device mesh, DeepSpeed's engine its JSON. The config of the last
 * start counts.
 *
 * @param target  target whose config is searched; PLAIT_LAUNCH_TARGETS: any target, and receives
 *                the one that is found
 * @param config  receives a text for launch_import in `arena`; NULL: the text is no such log
 *
 * Fails (SYNTAX) if the log ends inside the config.
 */
PLAIT_MUST_CHECK plait_status launch_read_log(const char *text, size_t length, const char *name,
                                              plait_launch_target *target, plait_arena *arena,
                                              const char **config, plait_error *err);

/**
 * Read a config. Keys that the config does not give stay unknown, as plans.h defines them.
 *
 * @param name     name of the file in messages
 * @param call     NULL: no facts besides the file
 * @param out      lives in `arena`
 * @param warning  receives sentences, one a line, on parts of the file that plait cannot price; ""
 *                 if none
 */
PLAIT_MUST_CHECK plait_status launch_import(plait_launch_target target, const char *text,
                                            size_t length, const char *name,
                                            const launch_call *call, plait_arena *arena,
                                            plans_entry *out, const char **warning,
                                            plait_error *err);

/**
 * Check that a launch config of any format trains all weights of one model.
 *
 * Fails (RANGE) on a flag or a key of a fine-tuning method (LoRA, DPO, distillation, frozen
 * weights), and (SCHEMA) on a file of software for such jobs. The message contains the flag and its
 * value, or the software. A file that cannot be read passes, since the reader of its format reports
 * the error.
 */
PLAIT_MUST_CHECK plait_status other_jobs_refuse(const char *text, size_t length, const char *name,
                                                const launch_call *call, plait_arena *arena,
                                                plait_error *err);
