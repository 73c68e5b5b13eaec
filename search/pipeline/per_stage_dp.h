/*
 * per_stage_dp.h - layers to the stages of 1F1B, each of which then chooses for itself
 *
 *     minimise    T_pipe(f_0, b_0, .. f_p-1, b_p-1) + what follows it               (C.73, C.243)
 *     over        0 = l_0 <= l_1 <= .. <= l_p = layers, stage s with layers l_s to l_s+1 - 1 and the
 *                 choices that S.23 gives it                                               (S.26)
 *
 * Exact, by dynamic programming over stages: of the ways to deal the first layers to the first stages
 * those are kept whose longest chains no other's are within. Embedding in the first stage, loss and modules
 * of further tokens in the last.
 */
#pragma once

#include "search/pipeline/per_stage.h"

typedef struct per_stage_layout {
    bool fits;
    double time_s;     /* of the step without sends; by grad_sync shifted at least */
    const int *layers; /* [pp], in the arena; plait_chunks_deal makes chunks of them */
    long programs;     /* stages that have chosen */
    long labels;       /* ways that were kept */
} per_stage_layout;

/** 1F1B with one chunk a rank. */
bool per_stage_dp_applies(const plait_degrees *degrees);

/** Solve it. Fails (NOMEM) only. */
PLAIT_MUST_CHECK plait_status per_stage_dp(const per_stage_point *point, plait_arena *arena,
                                           per_stage_layout *out, plait_error *err);
