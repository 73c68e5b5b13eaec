/* measured_log.h - the step time in a training log of a plan, for every command that takes one */
#pragma once

#include "plait/job.h"
#include "io/csv/step_log.h"

/**
 * Read the log of a plan of `problem`. Warns on stderr if another runtime than the plan's prints such
 * lines.
 *
 * @param step_s  seconds of a step, whatever unit the log has
 */
PLAIT_MUST_CHECK plait_status measured_log_read(const char *path, const plait_problem *problem,
                                                plait_arena *arena, step_log *out, double *step_s,
                                                plait_error *err);
