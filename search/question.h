/* question.h - one search inside another */
#ifndef SEARCH_QUESTION_H
#define SEARCH_QUESTION_H

#include "plait/search.h"

/** As plait_search; which plan lacks least where none fits is found only if `closest`: it is a search more. */
PLAIT_MUST_CHECK plait_status question_search(const plait_problem *problem,
                                              const plait_search_options *options, bool closest,
                                              plait_arena *arena, plait_search_result *result,
                                              plait_error *err);

/**
 * Does any plan of a question fit? The best one goes to `out`; else nothing stays in the arena, and
 * `out` is as it was. A question without a legal plan has none that fits, and is no failure.
 */
PLAIT_MUST_CHECK plait_status question_ask(const plait_problem *problem,
                                           const plait_search_options *options, plait_arena *arena,
                                           bool *fits, plait_ranked *out, plait_error *err);

#endif
