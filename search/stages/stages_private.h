/*
 * stages_private.h - the steps of stages_refine
 *
 *     choose.c      the program of one stage, for each set that it may offload
 *     bound.c       the step of the stages, and what no choice undercuts
 */
#ifndef SEARCH_STAGES_PRIVATE_H
#define SEARCH_STAGES_PRIVATE_H

#include "stages.h"

/** All that choosing looks at, and what it counts. */
typedef struct stages_work {
    const stages_question *question;
    const plait_degrees *degrees;
    const plait_chunk *chunk;     /* [pp vpp], in the order of the pipeline */
    const plait_layer_cost *cost; /* [kinds][choices]; infinite where the point may not have it */
    unsigned sets;                /* bits 1 << offload_acts that a stage may have */
    double need_bytes;            /* the least peak that any choice gives the stage at hand */
    long nodes;
    bool proven; /* every stage so far */
} stages_work;

static inline const plait_layer_cost *stages_cost(const stages_work *work, int kind, int choice)
{
    return &work->cost[kind * work->question->choices + choice];
}

// choose.c
/**
 * The fastest choices of stage `s` that fit. *out lives in `arena`; without a choice (*fits false)
 * only its frame and groups are filled.
 */
PLAIT_MUST_CHECK plait_status stages_choose(stages_work *work, int s, plait_arena *arena,
                                            stages_stage *out, bool *fits, plait_error *err);

// bound.c
/** Fills step_s, exact, bound_s and gap of stages that all fit. `arena` is rewound. */
PLAIT_MUST_CHECK plait_status stages_bound(const stages_work *work, plait_arena *arena,
                                           stages_result *out, plait_error *err);

#endif
