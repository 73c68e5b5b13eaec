/* timeline_tail.h - reductions, optimizer and gathers beside and after a pipeline */
#pragma once

#include "plait/lowlevel/simulate.h"

/**
 * A simulated pipeline, and the work that is left for each chunk and each rank. Of an action that
 * computes gradients, the share `window` overlaps their reduction; the share `share` of the
 * reduction is always exposed. (C.66)
 */
typedef struct tail_parts {
    const plait_sim *sim; /* inputs of `pipeline`; for bulk its stages include reduce_s */
    const plait_sim_result *pipeline;
    plait_grad_sync how;
    bool no_barrier;           /* the optimizer waits for the gradients of its own rank only */
    double window;             /* share of an action, 0 to 1 */
    double share;              /* share of a reduction */
    const double *reduce_s;    /* [stages], the same on each rank that holds the stage */
    const double *optimizer_s; /* [ranks] */
    const double *gather_s;    /* [ranks]: exposed part of the parameter gathers */
} tail_parts;

/** Fills `tail` (in `arena`), `step_s` and `end_s` of a timeline. (C.180 to C.182) */
PLAIT_MUST_CHECK plait_status timeline_follow(const tail_parts *parts, plait_arena *arena,
                                              plait_timeline *out, plait_error *err);
