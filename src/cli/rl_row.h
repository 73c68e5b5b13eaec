/* rl_row.h - a step of reinforcement learning as a row of a published system */
#pragma once

#include "cli/opt.h"
#include "plait/rl.h"

/** Search the plans of a command of plait rl; `argv` begins with the word rl. */
PLAIT_MUST_CHECK plait_status rl_row_price(int argc, const char **argv, plait_arena *arena,
                                           plait_rl_job *job, plait_rl_answer *answer,
                                           plait_error *err);
