/*
 * timeline_tail.h - reductions, optimizer steps and parameter gathers during and after a pipeline
 */
#pragma once

#include "plait/lowlevel/simulate.h"

/**
 * A simulated pipeline, and the work of each chunk and rank that follows it. The reduction of a
 * chunk's gradients overlaps the share `window` of the action that computes them. A share `share`
 * of the reduction is always exposed. (C.66)
 */
typedef struct tail_parts {
    const plait_sim *sim; /* inputs of `pipeline`; with bulk its stages include reduce_s */
    const plait_sim_result *pipeline;
    plait_grad_sync how;
    bool no_barrier;        /* true if an optimizer step waits for its own rank's gradients only */
    double window;          /* share of an action that a reduction may overlap, 0 to 1 */
    double share;           /* share of a reduction that is always exposed */
    const double *reduce_s; /* [stages], equal on all ranks with the stage */
    const double *optimizer_s; /* [ranks] */
    const double *gather_s;    /* [ranks]: exposed part of the parameter gathers */
} tail_parts;

/** Fills `tail` (allocated in `arena`), `step_s` and `end_s` of a timeline. (C.180 to C.182) */
PLAIT_MUST_CHECK plait_status timeline_follow(const tail_parts *parts, plait_arena *arena,
                                              plait_timeline *out, plait_error *err);
