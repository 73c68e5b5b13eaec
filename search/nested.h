/* nested.h - searches that other searches run, with fewer results than plait_search */
#pragma once

#include "plait/search.h"

/** The set of results that a search computes, in falling order. */
typedef enum search_depth {
    SEARCH_WHOLE, /* all results of plait_search */
    /* the ranking and the front, and refinements only if no uniform plan fits */
    SEARCH_FRONT,
    SEARCH_RANKING, /* the ranking only: no front, no tight plan, no closest plan */
    SEARCH_FITS,    /* the ranking only, and only of the coarse pass if that finds a plan (S.14) */
    SEARCH_ANY      /* as SEARCH_FITS, and a refinement ends with the first plan that fits */
} search_depth;

/** Searches as plait_search does, but computes only the results of `depth`. */
PLAIT_MUST_CHECK plait_status search_problem(const plait_problem *problem,
                                             const plait_search_options *options,
                                             search_depth depth, plait_arena *arena,
                                             plait_search_result *result, plait_error *err);

/**
 * Searches only plans with an objective below `below`; result->plans is 0 if there is none. `below`
 * is ignored on a cluster with several accelerators. Points are not counted.
 */
PLAIT_MUST_CHECK plait_status search_problem_below(const plait_problem *problem,
                                                   const plait_search_options *options,
                                                   search_depth depth, double below,
                                                   plait_arena *arena, plait_search_result *result,
                                                   plait_error *err);

/**
 * Like search_best_plan, but a plan whose objective is `below` or more may be missed: then *fits is
 * false.
 */
PLAIT_MUST_CHECK plait_status search_best_plan_below(const plait_problem *problem,
                                                     const plait_search_options *options,
                                                     search_depth depth, double below,
                                                     plait_arena *arena, bool *fits,
                                                     plait_ranked *out, plait_error *err);

/**
 * Finds the best plan that fits. If no plan fits, or none is legal, the function succeeds with
 * *fits false, leaves `out` unchanged and rewinds the arena.
 */
PLAIT_MUST_CHECK plait_status search_best_plan(const plait_problem *problem,
                                               const plait_search_options *options,
                                               search_depth depth, plait_arena *arena, bool *fits,
                                               plait_ranked *out, plait_error *err);
