/* timeline_tail.h - what a rank does beside and behind its pipeline: gradients, optimizer, parameters */
#pragma once

#include "plait/lowlevel/simulate.h"

/** A simulated pipeline, and what each chunk and each rank have left to do. */
typedef struct tail_parts {
    const plait_sim *sim; /* in bulk, `reduce_s` of its stages is what `pipeline` was made with */
    const plait_sim_result *pipeline;
    plait_grad_sync how;
    bool no_barrier; /* an optimizer begins behind the gradients of its own rank */
    double window;   /* of an action that makes gradients, the share beside which they leave ... */
    double share;    /* ... and of their time, the share that never hides (C.66) */
    const double *reduce_s;    /* [stages], on each rank that holds it */
    const double *optimizer_s; /* [ranks] */
    const double *gather_s;    /* [ranks]: parameters that no forward hides */
} tail_parts;

/** Adds `tail`, `step_s` and `end_s` to a timeline. They live in `arena`. (C.180 to C.182) */
PLAIT_MUST_CHECK plait_status timeline_follow(const tail_parts *parts, plait_arena *arena,
                                              plait_timeline *out, plait_error *err);
