/* calibrate_runtime.h - `plait calibrate --runtime`: a runtime profile from measured steps */
#pragma once

#include "cli/calibrate_sink.h"
#include "cli/opt.h"
#include "plait/arena.h"
#include "plait/error.h"

/**
 * Fit the profile `name` to a file of runs, print what changed, and write the profile.
 *
 * @param sink  where the profile goes; nowhere: only print
 */
PLAIT_MUST_CHECK plait_status calibrate_runtime(const char *name, const opt_operands *operands,
                                                const calibrate_sink *sink, plait_arena *arena,
                                                plait_error *err);
