/*
 * joint.h - layers to stages and choices to layers in one mixed-integer program (S.25)
 *
 * Under 1F1B with one chunk a rank, and if all layers are of one kind, C.73 is a maximum of sums,
 * so the stage of each layer and its choice are whole numbers of one linear program. The test
 * compares it with per_stage_dp, which assigns layers to stages and lets each stage choose.
 */
#pragma once

#include "search/pipeline/per_stage.h"

typedef struct joint_result {
    double pipeline_s; /* from the first forward to the last backward */
    const int *layers; /* [pp], in the arena; NULL if there is no solution */
} joint_result;

/** Solves it. The point's own `offload_acts` holds in all stages. */
PLAIT_MUST_CHECK plait_status joint_solve(const per_stage_point *point, plait_arena *arena,
                                          joint_result *out, plait_error *err);
