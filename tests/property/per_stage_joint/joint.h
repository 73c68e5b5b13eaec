/*
 * joint.h - layers to stages and choices to layers in one mixed-integer program
 *
 * Under 1F1B with one chunk a rank, and where all layers are of one kind, C.73 is a maximum of sums, so
 * that the stage of each layer and its choice are whole numbers of one linear program (S.25): minimise the
 * pipeline over both at once. It is the second opinion on a search that deals layers and has the stages
 * choose (stages.h), and an answer of its own where there is none.
 */
#pragma once

#include "search/milp/milp.h"
#include "search/pipeline/per_stage.h"

typedef struct joint_result {
    milp_verdict verdict;
    double pipeline_s; /* from the first forward to the last backward */
    double bound_s;    /* no layers and no choices take less */
    long nodes;
    const int *layers; /* [pp], in the arena; NULL where there is no solution */
} joint_result;

/** 1F1B, one chunk a rank, layers of one kind, each with its own choice. */
bool joint_applies(const per_stage_point *point);

/** Solve it. The point's own `offload_acts` holds in all stages. */
PLAIT_MUST_CHECK plait_status joint_solve(const per_stage_point *point, milp_limits limits,
                                          plait_arena *arena, joint_result *out, plait_error *err);
