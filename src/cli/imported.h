/* imported.h - a runtime's own launch config, as import and doctor are given it */
#pragma once

#include "launch/edits.h"
#include "cli/opt.h"
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
