/* calibrate_runtime.h - `plait calibrate --runtime`: a runtime profile from measured steps */
#ifndef CALIBRATE_RUNTIME_H
#define CALIBRATE_RUNTIME_H

#include "opt.h"
#include "plait/arena.h"
#include "plait/error.h"

/**
 * Fit the profile `name` to a file of runs, print what changed, and write the profile.
 *
 * @param output  a file, "-" for standard output, or NULL: only print
 */
PLAIT_MUST_CHECK plait_status calibrate_runtime(const char *name, const opt_operands *operands,
                                                const char *output, plait_arena *arena,
                                                plait_error *err);

#endif
