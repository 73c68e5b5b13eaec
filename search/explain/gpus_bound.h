/* gpus_bound.h - what no plan of a number of GPUs undercuts, without a search of that number (S.81) */
#pragma once

#include "search/space/space.h"

/** GPU seconds of a step, by the degrees that decide whether a number of GPUs has them. */
typedef struct gpus_bound {
    const plait_problem *problem;
    plan_space rows;   /* of every degree that layers take, whether it divides the GPUs or not */
    plan_space stages; /* its splits, of 1, 2, 3, ... stages */
    double most_bytes; /* a plan that needs more does not fit */
    double *work;      /* [tp][cp][stages][microbatch]; infinite where no row is */
} gpus_bound;

/** For all numbers up to the job's, with its batch. Everything lives in `scratch`. */
PLAIT_MUST_CHECK plait_status gpus_bound_make(const plait_problem *problem,
                                              const plait_search_options *options,
                                              plait_arena *scratch, gpus_bound *bound,
                                              plait_error *err);

/** Seconds that a step takes at least; infinite where no plan of `gpus` is legal. */
double gpus_bound_s(const gpus_bound *bound, int gpus);
