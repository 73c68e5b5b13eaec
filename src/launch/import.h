/* import.h - a runtime's own config as a plan */
#pragma once

#include "plait/launch.h"

#include "launch/call.h"
#include "io/plans/plans.h"

/** Targets whose configs can be read, by name; NULL-terminated. */
const char *const *launch_import_names(void);

/**
 * Read a config. What it does not say is left unknown, as plans.h has it.
 *
 * @param name     stands for the file in messages
 * @param call     NULL: nothing is known beside the file
 * @param out      lives in `arena`
 * @param warning  receives sentences, one a line, on what plait cannot price; "" if none
 */
PLAIT_MUST_CHECK plait_status launch_import(plait_launch_target target, const char *text,
                                            size_t length, const char *name,
                                            const launch_call *call, plait_arena *arena,
                                            plans_entry *out, const char **warning,
                                            plait_error *err);
