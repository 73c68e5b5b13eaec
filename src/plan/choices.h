/* choices.h - choices of single stages that differ from their plan, for code that writes plans */
#pragma once

#include "plait/plan.h"

/** Keys of offload, which a stage may set differently from its plan. */
#define PLAN_OWN_KEYS                                                                              \
    (PLAIT_KEY_BIT(PLAIT_KEY_OFFLOAD_ACTS) | PLAIT_KEY_BIT(PLAIT_KEY_OFFLOAD) |                    \
     PLAIT_KEY_BIT(PLAIT_KEY_OFFLOAD_SHARE))

/** Do two layers recompute the same? The number of layers in full:N is ignored. */
bool recompute_same(plait_recompute a, plait_recompute b);

/** Does a stage recompute, offload or shard any layer differently from the plan's degrees? */
bool stage_chooses(const plait_plan *plan, const plait_stage *stage);

/** Does any stage? The plan's degrees alone then do not describe the plan. */
bool stages_choose_own(const plait_plan *plan);
