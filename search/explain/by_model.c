/*
 * by_model.c - gains of techniques without measured runs, by the model alone (S.111)
 *
 * Starts from a plan, with the claims of its unmeasured values, which limits can demand. Changes
 * one technique at a time to a value that no measured run supports: the change with the shortest
 * step, until none gains more than LEAST_GAIN. The model's claims of unmeasured values count in full,
 * those of measured values as in a search.
 */
#include <math.h>

#include "base/status.h"
#include "plait/search.h"

#include "plan/choices.h"
#include "plan/problem_check.h"
#include "plan/ranges.h"
#include "search/space/space.h"

static const double LEAST_GAIN = 0.002;

/* Prices degrees that fit; *step_s is the step, or HUGE_VAL if they are not legal or do not fit. */
static plait_status price_of(const plait_problem *problem, const plait_degrees *degrees,
                             plait_arena *arena, double *step_s, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    plait_error why;
    plait_cost cost;
    plait_plan plan;

    *step_s = HUGE_VAL;
    if (plait_degrees_check(problem, degrees, NULL, 0) != PLAIT_FITS)
        return PLAIT_OK;
    plait_status status = plait_plan_expand(problem, degrees, arena, &plan, &why);
    if (status == PLAIT_OK)
        status = plait_plan_evaluate(problem, &plan, NULL, arena, &cost, &why);
    if (status == PLAIT_OK && cost.verdict == PLAIT_FITS)
        *step_s = cost.step_s;
    plait_arena_rewind(arena, mark);
    return faults_only(status, &why, err);
}

/* Whether a search with these options may give a key another value. */
static bool is_free(const plait_search_options *options, plait_key_id key)
{
    for (int i = 0; i < options->limits; i++)
        if (options->limit[i].key == key)
            return false;
    return !plait_keys[key].numerics || options->allow_numerics;
}

/* Finds the best single change of *best to an unmeasured value. */
static plait_status change_one(const plait_problem *problem, const plait_search_options *options,
                               plait_arena *arena, plait_by_model *best, bool *any,
                               plait_error *err)
{
    const plait_degrees from = best->degrees;
    const double limit_s = best->step_s * (1.0 - LEAST_GAIN);

    *any = false;
    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key_id key = (plait_key_id)k;
        const unsigned values = problem->runtime->support.unmeasured[key];

        for (int value = 0; is_free(options, key) && values >> value != 0 && value < 31; value++) {
            plait_degrees to = from;
            double step_s;

            if (!(values >> value & 1u) || plait_key_value(&from, key) == value)
                continue;
            plait_key_put(&to, key, value);
            if (!plait_key_applies(problem, &to, key))
                continue;
            PLAIT_TRY(price_of(problem, &to, arena, &step_s, err));
            if (step_s < limit_s && step_s < best->step_s) {
                best->degrees = to;
                best->step_s = step_s;
                *any = true;
            }
        }
    }
    return PLAIT_OK;
}

plait_status plait_search_by_model(const plait_problem *problem,
                                   const plait_search_options *options, const plait_ranked *from,
                                   plait_arena *arena, plait_by_model *out, plait_error *err)
{
    plait_runtime runtime;
    plait_problem alone;

    PLAIT_TRY(problem_check(problem, err));
    PLAIT_TRY(search_options_check(options, err));
    PLAIT_TRY(plan_check_ranges(&from->plan, err));
    runtime = *problem->runtime;
    alone = *problem;
    bool any = runtime.support.judged && !stages_choose_own(&from->plan);
    *out = (plait_by_model){.degrees = from->plan.degrees, .step_s = from->price.step_s};
    alone.runtime = &runtime;
    for (int k = 0; k < PLAIT_KEYS; k++)
        for (int value = 0; value < PLAIT_SUPPORT_VALUES; value++)
            if (runtime.support.unmeasured[k] >> value & 1u)
                runtime.support.unearned[k][value] = 0.0;
    if (any)
        PLAIT_TRY(price_of(&alone, &out->degrees, arena, &out->step_s, err));
    while (any)
        PLAIT_TRY(change_one(&alone, options, arena, out, &any, err));
    if (!(out->step_s < from->price.step_s * (1.0 - LEAST_GAIN)))
        return PLAIT_OK;
    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key_id key = (plait_key_id)k;
        const int value = plait_key_value(&out->degrees, key);

        if (value >= 0 && value < 31 && (runtime.support.unmeasured[k] >> value & 1u) &&
            plait_key_applies(&alone, &out->degrees, key))
            out->changed |= PLAIT_KEY_BIT(k);
    }
    return PLAIT_OK;
}
