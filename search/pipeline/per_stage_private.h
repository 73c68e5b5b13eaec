/* stages_private.h - the steps of per_stage_solve */
#pragma once

#include "search/pipeline/per_stage.h"

static inline const plait_layer_cost *per_stage_cost(const per_stage_point *point, int kind,
                                                     int choice)
{
    return &point->cost[kind * point->question->choices + choice];
}

// bound.c
/** Fills step_s, exact, bound_s and gap of stages that all fit. `arena` is rewound. */
PLAIT_MUST_CHECK plait_status per_stage_bound(const per_stage_point *point, plait_arena *arena,
                                              per_stage_result *out, plait_error *err);
