/* choices.h - what stages choose of their own, for those who write plans down */
#pragma once

#include "plait/plan.h"

/** What a stage may offload other than its plan. */
#define PLAN_OWN_KEYS                                                                              \
    (PLAIT_KEY_BIT(PLAIT_KEY_OFFLOAD_ACTS) | PLAIT_KEY_BIT(PLAIT_KEY_OFFLOAD) |                    \
     PLAIT_KEY_BIT(PLAIT_KEY_OFFLOAD_SHARE))

/** Do two layers recompute the same, `layers` of full:N apart? */
bool recompute_same(plait_recompute a, plait_recompute b);

/** Does a stage recompute, offload or cut its layers other than the plan's degrees say? */
bool stage_chooses(const plait_plan *plan, const plait_stage *stage);

/** Does any? Then no degrees say the plan. */
bool stages_choose_own(const plait_plan *plan);
