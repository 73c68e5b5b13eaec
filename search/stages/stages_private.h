/* stages_private.h - the steps of stages_refine */
#pragma once

#include "search/stages/stages.h"

static inline const plait_layer_cost *stages_cost(const stages_point *point, int kind, int choice)
{
    return &point->cost[kind * point->question->choices + choice];
}

// bound.c
/** Fills step_s, exact, bound_s and gap of stages that all fit. `arena` is rewound. */
PLAIT_MUST_CHECK plait_status stages_bound(const stages_point *point, plait_arena *arena,
                                           stages_result *out, plait_error *err);
