/* import.h - a plan out of a launch config of a runtime */
#pragma once

#include "plait/launch.h"

#include "launch/call.h"
#include "io/plans/plans.h"

/** Words of the targets whose configs can be read; NULL-terminated. */
const char *const *launch_import_names(void);

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
