/* nearest.h - the plan that a runtime can say and that changes least of one that it cannot */
#pragma once

#include "plait/plan.h"

/**
 * A sentence such as "the nearest plan that megatron runs has schedule 1f1b: 5.12 s a step".
 *
 * Keys of `wanted` are let go, one, then two, then all but the degrees, until what the runtime fills
 * in fits; of equally many the fastest wins.
 *
 * @param problem  with the runtime that cannot say `wanted`
 * @param out      lives in `arena`; "" where nothing fits
 */
PLAIT_MUST_CHECK plait_status launch_nearest(const plait_problem *problem,
                                             const plait_degrees *wanted, plait_arena *arena,
                                             const char **out, plait_error *err);
