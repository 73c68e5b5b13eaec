/* imported.h - reads the launch configs and training logs that users give to commands */
#pragma once

#include "launch/edits.h"
#include "cli/opt.h"
#include "io/csv/step_log.h"
#include "plait/problem.h"
#include "plait/launch.h"
#include "io/plans/plans.h"

/** Options that override or complete the imported file; NULL and 0 if not given. */
typedef struct imported_flags {
    const char *from;
    const char *model;
    const char *cluster;
    int gpus;
    bool verbose;      /* list the options of the file that plait does not read */
    bool assume_llama; /* ignore keys of the model's config.json that plait does not understand */
} imported_flags;

/**
 * Read FILE [ARGUMENT...], which is a launch config or the log of a run, and warn on stderr about
 * settings that plait does not price.
 *
 * @param file  receives the config itself; may be NULL
 */
PLAIT_MUST_CHECK plait_status imported_read(const imported_flags *flags,
                                            const opt_operands *operands, plait_arena *arena,
                                            plans_entry *out, launch_config *file,
                                            plait_error *err);

/** Print warnings about a file, one per line of `sentences`. */
void imported_warn(const char *file, const char *sentences);

/**
 * Read the log of a plan of `problem`. Warns on stderr if the log has the format of another
 * runtime.
 *
 * @param step_s  seconds of a step, in whatever unit the log has
 */
PLAIT_MUST_CHECK plait_status measured_log_read(const char *path, const plait_problem *problem,
                                                plait_arena *arena, step_log *out, double *step_s,
                                                plait_error *err);
/**
 * Print the number of options that do not affect the plan, or with `verbose` their names, "a, b".
 */
void imported_warn_not_read(const char *file, const char *names, bool verbose);
