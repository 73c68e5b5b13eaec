/* other_jobs.h - jobs that do not train all weights of one model, which import refuses */
#pragma once

#include <stddef.h>

#include "launch/call.h"
#include "plait/arena.h"
#include "plait/error.h"

/**
 * Check that a launch config, in whatever format, trains all weights of one model.
 *
 * Fails (RANGE) on a flag or a key of a fine-tuning method (LoRA, DPO, distillation, frozen
 * weights), and (SCHEMA) on a file of software for such jobs. The message names both. A file that
 * none of the readers can read passes: its own reader reports the fault.
 */
PLAIT_MUST_CHECK plait_status other_jobs_refuse(const char *text, size_t length, const char *name,
                                                const launch_call *call, plait_arena *arena,
                                                plait_error *err);
