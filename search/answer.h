/* answer.h - what a search holds on to as plans: stages in place of degrees, prices in full */
#pragma once

#include "search/exhaustive/exhaustive.h"

/** Expand and price points; best first. *plans lives in run->arena. */
PLAIT_MUST_CHECK plait_status answer_ranking(const search_run *run, const plan_point *point,
                                             int count, plait_ranked **plans, plait_error *err);

/** The same, fastest first; points that the last digits make worse in both are left out. */
PLAIT_MUST_CHECK plait_status answer_front(const search_run *run, const plan_front *front,
                                           plait_ranked **plans, int *count, plait_error *err);
