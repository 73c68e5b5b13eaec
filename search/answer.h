/* answer.h - turns points of the space into plans with stages and full prices */
#pragma once

#include "search/exhaustive/exhaustive.h"

/** Expands and prices points, sorted by objective. *plans lives in run->arena. */
PLAIT_MUST_CHECK plait_status answer_ranking(const search_run *run, const plan_point *point,
                                             int count, plait_ranked **plans, plait_error *err);

/**
 * Expands and prices a front, sorted by step time, without points that are dominated at full
 * prices.
 */
PLAIT_MUST_CHECK plait_status answer_front(const search_run *run, const plan_front *front,
                                           plait_ranked **plans, int *count, plait_error *err);
