/* imported.h - a runtime's own launch config, as import and doctor are given it */
#pragma once

#include "launch/edits.h"
#include "cli/opt.h"
#include "io/csv/step_log.h"
#include "plait/job.h"
#include "plait/launch.h"
#include "io/plans/plans.h"

/** What the command line says beside the file; NULL and 0 where it says nothing. */
typedef struct imported_flags {
    const char *from;
    const char *model;
    const char *cluster;
    int gpus;
    bool verbose; /* list the options that are not read */
} imported_flags;

/**
 * Read FILE [ARGUMENT...]. What plait cannot price is warned of on stderr.
 *
 * @param file  receives what was read; may be NULL
 */
PLAIT_MUST_CHECK plait_status imported_read(const imported_flags *flags,
                                            const opt_operands *operands, plait_arena *arena,
                                            plans_entry *out, launch_config *file,
                                            plait_error *err);

/** Sentences about a file, one a line. */
void imported_warn(const char *file, const char *sentences);

/**
 * Read the log of a plan of `problem`. Warns on stderr if another runtime than the plan's prints such
 * lines.
 *
 * @param step_s  seconds of a step, whatever unit the log has
 */
PLAIT_MUST_CHECK plait_status measured_log_read(const char *path, const plait_problem *problem,
                                                plait_arena *arena, step_log *out, double *step_s,
                                                plait_error *err);
