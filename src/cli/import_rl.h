/* import_rl.h - plait import and plait doctor for verl and NeMo-RL */
#pragma once

#include "cli/opt.h"
#include "launch/rl_import.h"

/** Options of the command that the file does not give; NULL and 0: none. */
typedef struct import_rl_flags {
    const char *model, *cluster;
    const char *log;    /* log of the run */
    const char *output; /* file for the document of plait import */
    int gpus;
    bool verbose, json;
} import_rl_flags;

/** Print the command of plait rl for a config, or with flags->json its document. */
PLAIT_MUST_CHECK plait_status import_rl(plait_rl_framework framework, const import_rl_flags *flags,
                                        const opt_operands *operands, plait_arena *arena,
                                        plait_error *err);

/** Run that command with the phases of flags->log. */
PLAIT_MUST_CHECK plait_status import_rl_doctor(plait_rl_framework framework,
                                               const import_rl_flags *flags,
                                               const opt_operands *operands, plait_arena *arena,
                                               bool *no, plait_error *err);

/**
 * Print the phases of a log, operands->text[0]. If the log has the command of verl (set -x) and
 * flags->cluster is given, run the command of plait rl.
 *
 * @param is_log  false: the file is no such log, and nothing is printed
 */
PLAIT_MUST_CHECK plait_status import_rl_log(const import_rl_flags *flags,
                                            const opt_operands *operands, plait_arena *arena,
                                            bool *is_log, bool *no, plait_error *err);
