/* complete.c - the keys that a user leaves out, filled as eval promises */
#include <stdio.h>

#include "problem_check.h"
#include "space.h"
#include "values.h"

static bool is_given(plait_key_set given, plait_key_id key)
{
    return given & PLAIT_KEY_BIT(key);
}

/*
 * Splits and recompute choices are a small space of their own: all other keys are fixed, and the
 * search picks the fastest that fits, or the leanest when none does.
 */
static plait_status fix_all_but_free(plait_key_set given, const plait_degrees *d,
                                     plait_search_options *options, plait_error *err)
{
    char piece[PLAIT_VALUE_SIZE + 32];
    char value[PLAIT_VALUE_SIZE];

    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key_id key = (plait_key_id)k;
        const bool open = key == PLAIT_KEY_RECOMPUTE || key == PLAIT_KEY_SPLIT;
        if (open && !is_given(given, key))
            continue;
        snprintf(piece, sizeof piece, "%s=%s", plait_keys[key].name,
                 plait_degrees_get(d, key, value, sizeof value));
        PLAIT_TRY(plait_search_limit(options, piece, err));
    }
    return PLAIT_OK;
}

plait_status plait_degrees_complete(const plait_problem *problem, plait_key_set given,
                                    plait_degrees *degrees, plait_arena *arena, plait_error *err)
{
    plait_search_options options;
    plait_search_result result;
    plait_error none;

    PLAIT_TRY(problem_check(problem, err));
    PLAIT_TRY(degrees_check_values(degrees, err));
    plait_degrees_fill(problem, given, degrees);
    if (is_given(given, PLAIT_KEY_SPLIT) &&
        (is_given(given, PLAIT_KEY_RECOMPUTE) || // a plan that no choice makes legal stays as it is
         plait_degrees_check(problem, degrees, NULL, 0) == PLAIT_INVALID))
        return PLAIT_OK;
    plait_search_options_init(&options);
    options.top = 1;
    options.distinct = 0;
    options.threads = 1;
    PLAIT_TRY(fix_all_but_free(given, degrees, &options, err));
    const plait_status status = plait_search(problem, &options, arena, &result, &none);
    if (status == PLAIT_ERROR_RANGE) // no legal plan
        return PLAIT_OK;
    if (status != PLAIT_OK) {
        if (err)
            *err = none;
        return status;
    }
    if (result.plans > 0)
        *degrees = result.plan[0].plan.degrees;
    else if (result.has_closest)
        *degrees = result.closest.plan.degrees;
    return PLAIT_OK;
}

plait_status plait_plan_choose_recompute(const plait_problem *problem, const plait_plan *plan,
                                         plait_arena *arena, plait_plan *out, plait_error *err)
{
    plait_degrees degrees = plan->degrees;

    PLAIT_TRY(plait_degrees_complete(problem, PLAIT_ALL_KEYS & ~PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE),
                                     &degrees, arena, err));
    return plait_plan_expand(problem, &degrees, arena, out, err);
}
