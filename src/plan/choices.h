/* choices.h - choices of single stages that differ from their plan, for code that writes plans */
#pragma once

#include "plait/plan.h"

/** Keys of offload, which a stage may set differently from its plan. */
#define PLAN_OWN_KEYS                                                                              \
    (PLAIT_KEY_BIT(PLAIT_KEY_OFFLOAD_ACTS) | PLAIT_KEY_BIT(PLAIT_KEY_OFFLOAD) |                    \
     PLAIT_KEY_BIT(PLAIT_KEY_OFFLOAD_SHARE))

/** Returns whether two recompute choices are equal, apart from the number of layers in full:N. */
bool recompute_same(plait_recompute a, plait_recompute b);

/** Returns whether a stage recomputes, offloads or shards any layer unlike the plan's degrees. */
bool stage_chooses(const plait_plan *plan, const plait_stage *stage);

/**
 * Returns whether stage_chooses() is true for any stage, so that the degrees do not describe the
 * plan.
 */
bool stages_choose_own(const plait_plan *plan);
