/* layer_sharding.h - layers that are sharded differently from their plan */
#pragma once

#include "plait/plan.h"

bool cut_same(plait_cut a, plait_cut b);

/** Returns the sharding of layers that are sharded as the degrees of their stage. */
plait_cut cut_of_degrees(const plait_degrees *degrees);

/** Returns whether any layer of the stage is sharded differently from the stage's degrees. */
bool stage_cuts(const plait_stage *stage);
