/* nested.h - searches that other searches run, with fewer results than plait_search */
#pragma once

#include "plait/search.h"

/** Which results a search computes. */
typedef enum search_depth {
    SEARCH_WHOLE,   /* all results of plait_search */
    SEARCH_RANKING, /* the ranking alone: no front, no tight plan, no closest plan */
    SEARCH_FITS     /* the ranking, of the coarse pass alone if that finds a plan (S.14) */
} search_depth;

/** Searches as plait_search does, but computes only the results of `depth`. */
PLAIT_MUST_CHECK plait_status search_problem(const plait_problem *problem,
                                             const plait_search_options *options,
                                             search_depth depth, plait_arena *arena,
                                             plait_search_result *result, plait_error *err);

/**
 * Searches plans with an objective below `below` alone; the result has no plan if there is none. A cluster with
 * several accelerators ignores `below`. Points are not counted.
 */
PLAIT_MUST_CHECK plait_status search_problem_below(const plait_problem *problem,
                                                   const plait_search_options *options,
                                                   search_depth depth, double below,
                                                   plait_arena *arena, plait_search_result *result,
                                                   plait_error *err);

/**
 * Finds the best plan that fits. *fits is false if no plan fits, or if none is legal, which is no
 * error; then `out` is unchanged and the arena is rewound.
 */
PLAIT_MUST_CHECK plait_status search_best_plan(const plait_problem *problem,
                                               const plait_search_options *options,
                                               search_depth depth, plait_arena *arena, bool *fits,
                                               plait_ranked *out, plait_error *err);
