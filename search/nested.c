/* nested.c - runs a search inside another one and returns its best plan */
#include "search/nested.h"

plait_status search_best_plan(const plait_problem *problem, const plait_search_options *options,
                              search_depth depth, plait_arena *arena, bool *fits, plait_ranked *out,
                              plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    plait_search_options one = *options;
    plait_search_result result = {0};
    plait_error refusal;

    one.top = 1;
    one.distinct = 0;
    one.progress = NULL;
    const plait_status status = search_problem(problem, &one, depth, arena, &result, &refusal);
    *fits = status == PLAIT_OK && result.plans > 0;
    if (*fits)
        *out = result.plan[0];
    else
        plait_arena_rewind(arena, mark);
    if (status != PLAIT_OK && status != PLAIT_ERROR_RANGE) // RANGE: no plan is legal
        return plait_fail(err, status, refusal.where, "%s", refusal.message);
    return PLAIT_OK;
}
