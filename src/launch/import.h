/* import.h - a plan out of a launch config of a runtime */
#pragma once

#include "plait/launch.h"

#include "launch/call.h"
#include "io/plans/plans.h"

/** Words of the targets whose configs can be read; NULL-terminated. */
const char *const *launch_import_names(void);

/**
 * Find the config that training software prints into the log of a run: Megatron-LM its arguments,
 * torchtitan its job config or its device mesh, DeepSpeed's engine its JSON. The config of the last
 * start counts.
 *
 * @param target  the only target whose config counts; PLAIT_LAUNCH_TARGETS: any, and receives it
 * @param config  receives a text for launch_import in `arena`; NULL: the text is no such log
 *
 * Fails (SYNTAX) if the config begins and does not end.
 */
PLAIT_MUST_CHECK plait_status launch_read_log(const char *text, size_t length, const char *name,
                                              plait_launch_target *target, plait_arena *arena,
                                              const char **config, plait_error *err);

/**
 * Read a config. Keys that it does not give stay unknown, as plans.h defines them.
 *
 * @param name     stands for the file in messages
 * @param call     NULL: nothing is known beside the file
 * @param out      lives in `arena`
 * @param warning  receives sentences, one a line, on parts of the file that plait cannot price; ""
 * if none
 */
PLAIT_MUST_CHECK plait_status launch_import(plait_launch_target target, const char *text,
                                            size_t length, const char *name,
                                            const launch_call *call, plait_arena *arena,
                                            plans_entry *out, const char **warning,
                                            plait_error *err);
