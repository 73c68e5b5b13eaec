/* gpus_bound.h - a lower bound on the step with any number of GPUs, without a search (S.81) */
#pragma once

#include "search/space/space.h"

/** Lower bounds on GPU seconds of a step, by the degrees that must divide the GPUs. */
typedef struct gpus_bound {
    const plait_problem *problem;
    plan_space rows;   /* rows of space_make_rows */
    plan_space stages; /* space whose `divisors` are 1, 2, 3, ... stages, with their splits */
    double most_bytes; /* memory limit of a plan */
    double least_work; /* least bound C.91 so far */
    double *work;      /* [tp][cp][stages][microbatch]; infinite without a row */
} gpus_bound;

/**
 * Computes the bounds for all numbers up to the GPUs of the job, with the batch of the job.
 * Allocates in `scratch`.
 */
PLAIT_MUST_CHECK plait_status gpus_bound_make(const plait_problem *problem,
                                              const plait_search_options *options,
                                              plait_arena *scratch, gpus_bound *bound,
                                              plait_error *err);

/** Returns a lower bound on a step in seconds; infinite if no plan on `gpus` GPUs is legal. */
double gpus_bound_s(const gpus_bound *bound, int gpus);
