/* gpus_bound.h - a lower bound on the step with any GPUs and batch, without a search (S.81) */
#pragma once

#include "search/space/space.h"

/** Lower bounds on the GPU seconds of one sequence, by the degrees that must divide the GPUs. */
typedef struct gpus_bound {
    const plait_problem *problem;
    plan_space rows;   /* rows of space_make_rows */
    plan_space stages; /* space whose `divisors` are 1, 2, 3, ... stages, with their splits */
    double most_bytes; /* memory limit of a plan */
    double *work;      /* [tp][cp][stages][microbatch]; infinite without a row */
    double *serial;    /* [tp][cp][microbatch] if the stages run one after the other */
} gpus_bound;

/**
 * Lists the rows of all numbers up to the GPUs of the job, on the threads of the options. All bounds
 * are 0 or infinite until gpus_bound_price. Allocates in `scratch`.
 *
 * @param gbs      [batches] the batches that gpus_bound_s may be asked about
 * @param batches  at least 1
 */
PLAIT_MUST_CHECK plait_status gpus_bound_make(const plait_problem *problem,
                                              const plait_search_options *options, const int *gbs,
                                              int batches, plait_arena *scratch, gpus_bound *bound,
                                              plait_error *err);

/** Computes the bounds: much slower than gpus_bound_make. */
PLAIT_MUST_CHECK plait_status gpus_bound_price(gpus_bound *bound, plait_error *err);

/** Returns a lower bound on a step in seconds; infinite if no plan on `gpus` GPUs is legal. */
double gpus_bound_s(const gpus_bound *bound, int gpus, int gbs);
