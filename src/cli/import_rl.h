/* import_rl.h - plait import of verl and NeMo-RL, which prints a command of plait rl */
#pragma once

#include "cli/opt.h"
#include "launch/rl_import.h"

/** Options of the command that the file does not give; NULL and 0: none. */
typedef struct import_rl_flags {
    const char *model, *cluster;
    int gpus;
    bool verbose;
} import_rl_flags;

PLAIT_MUST_CHECK plait_status import_rl(plait_rl_framework framework, const import_rl_flags *flags,
                                        const opt_operands *operands, plait_arena *arena,
                                        plait_error *err);
