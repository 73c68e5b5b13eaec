/*
 * stages_deal.h - layers to the stages of 1F1B, each of which then chooses for itself
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

#include "search/stages/stages.h"

typedef struct stages_dealt {
    bool fits;
    double time_s;     /* of the step without sends; by grad_sync shifted at least */
    const int *layers; /* [pp], in the arena; plait_chunks_deal makes chunks of them */
    long programs;     /* stages that have chosen */
    long labels;       /* ways that were kept */
} stages_dealt;

/** 1F1B with one chunk a rank. */
bool stages_deal_suits(const plait_degrees *degrees);

/** Solve it. Fails (NOMEM) only. */
PLAIT_MUST_CHECK plait_status stages_deal(const stages_point *point, plait_arena *arena,
                                          stages_dealt *out, plait_error *err);
