/* complete.c - the keys that a user leaves out, filled as eval promises */
#include <stdio.h>

#include "problem_check.h"
#include "space.h"

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
    char piece[160];
    char value[96];

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
    plait_degrees_fill(problem, given, degrees);
    if (is_given(given, PLAIT_KEY_SPLIT) &&
        (is_given(given, PLAIT_KEY_RECOMPUTE) || // a plan that no choice makes legal stays as it is
         plait_degrees_check(problem, degrees, NULL, 0) == PLAIT_INVALID))
        return PLAIT_OK;
    plait_search_options_init(&options);
    options.top = 1;
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

// ---- what a plan of given stages recomputes ------------------------------------------------

static int fullest_stage(const plait_plan *plan)
{
    int layers = 0;

    for (int s = 0; s < plan->stages; s++)
        layers = plan->stage[s].layers > layers ? plan->stage[s].layers : layers;
    return layers;
}

/* Is the second price of the two the one to take? */
static bool improves(const plait_cost *best, const plait_cost *next)
{
    if (next->verdict == PLAIT_INVALID || best->verdict == PLAIT_INVALID)
        return best->verdict == PLAIT_INVALID && next->verdict != PLAIT_INVALID;
    if (next->verdict != best->verdict)
        return next->verdict == PLAIT_FITS;
    return next->verdict == PLAIT_FITS ? next->step_s < best->step_s
                                       : next->memory.peak_bytes < best->memory.peak_bytes;
}

static plait_status choose(const plait_problem *problem, const plait_chunk *chunks,
                           const plan_space *space, int choices, plait_degrees *degrees,
                           plait_arena *arena, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    plait_degrees chosen = *degrees;
    plait_cost best = {.verdict = PLAIT_INVALID};

    for (int i = 0; i < choices; i++) {
        plait_plan plan;
        plait_cost cost;

        space_apply_choice(space, i, degrees);
        PLAIT_TRY(plait_plan_lay(degrees, chunks, arena, &plan, err));
        PLAIT_TRY(plait_plan_cost(problem, &plan, arena, &cost, err));
        plait_arena_rewind(arena, mark);
        if (!improves(&best, &cost))
            continue;
        best = cost;
        chosen = *degrees;
    }
    *degrees = chosen;
    return PLAIT_OK;
}

plait_status plait_plan_choose_recompute(const plait_problem *problem, const plait_plan *plan,
                                         plait_arena *arena, plait_plan *out, plait_error *err)
{
    plait_search_options options;
    plan_space space = {.problem = problem};
    plait_degrees degrees = plan->degrees;
    char offload[96];

    PLAIT_TRY(problem_check(problem, err));
    const int count = degrees.pp * degrees.vpp;
    plait_chunk *const chunks = plait_arena_alloc(arena, (size_t)count, sizeof *chunks);
    if (!chunks)
        return plait_fail_nomem(err);
    for (int c = 0; c < count; c++)
        chunks[c] = *plait_plan_chunk(plan, c);
    plait_search_options_init(&options);
    snprintf(offload, sizeof offload, "offload_acts=%s",
             plait_offload_acts_name[degrees.offload_acts]);
    PLAIT_TRY(plait_search_limit(&options, offload, err));
    PLAIT_TRY(space_list_recompute(problem, &options, arena, &space.recompute, err));
    PLAIT_TRY(choose(problem, chunks, &space,
                     space_recompute_choices(&space.recompute, fullest_stage(plan), degrees.vpp),
                     &degrees, arena, err));
    return plait_plan_lay(&degrees, chunks, arena, out, err);
}
