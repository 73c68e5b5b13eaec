/* nested.h - one search inside another */
#pragma once

#include "plait/search.h"

/** How much of an answer is wanted. */
typedef enum search_depth {
    SEARCH_WHOLE,   /* as plait_search */
    SEARCH_RANKING, /* no front, nothing tight, and not what lacks least where nothing fits */
    SEARCH_FITS     /* the same; of many rows what the coarse pass finds to fit is enough (S.14) */
} search_depth;

/** As plait_search, to this depth. */
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
 * Does any plan of a question fit? The best one goes to `out`; else nothing stays in the arena, and
 * `out` is as it was. A question without a legal plan has none that fits, and is no failure.
 */
PLAIT_MUST_CHECK plait_status search_best_plan(const plait_problem *problem,
                                               const plait_search_options *options,
                                               search_depth depth, plait_arena *arena, bool *fits,
                                               plait_ranked *out, plait_error *err);
