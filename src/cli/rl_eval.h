/* rl_eval.h - prices one plan of a reinforcement-learning step, without a search */
#pragma once

#include "plait/rl.h"

/**
 * Prices a training plan with the worker, placement and formats of `options`.
 *
 * @param keys  KEY=VALUE,... of the training plan; other keys get their default values, and the
 *              recomputation that is fastest of those that fit
 * @param out   the plan, or in `closest` a plan that does not fit. Colocated, the state of training
 *              is where the step is faster: on the GPUs or in host memory
 * @return      RANGE if a key is unknown, or a value is illegal or missing
 */
PLAIT_MUST_CHECK plait_status rl_eval(const char *keys, const plait_rl_job *job,
                                      const plait_rl_options *options, plait_arena *arena,
                                      plait_rl_answer *out, plait_error *err);
