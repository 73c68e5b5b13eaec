/* defaults.c - chooses values for the keys that the user does not set */
#include <stdio.h>

#include "plan/layout.h"
#include "plan/problem_check.h"
#include "search/space/space.h"
#include "plan/ranges.h"

static bool is_given(plait_key_set given, plait_key_id key)
{
    return given & PLAIT_KEY_BIT(key);
}

/*
 * Searches split and recomputation unless they are given. If no plan is legal, *found is false and
 * the degrees are unchanged.
 */
static plait_status search_free(const plait_problem *problem, plait_key_set given,
                                plait_refine refine, plait_arena *arena, plait_degrees *degrees,
                                bool *found, plait_error *err)
{
    plait_search_options options;
    plait_search_result result;
    plait_error none;

    plait_search_options_init(&options);
    options.top = 1;
    options.distinct = 0;
    options.threads = 1;
    options.refine = refine;
    // Add limits that fix all keys except split and recomputation; these two are fixed only if they
    // are given. The search then takes the fastest plan that fits or, if none fits, the one with
    // the least memory.
    char piece[PLAIT_VALUE_SIZE + 32];
    char value[PLAIT_VALUE_SIZE];

    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key_id key = (plait_key_id)k;
        const bool open = key == PLAIT_KEY_RECOMPUTE || key == PLAIT_KEY_SPLIT;
        if (open && !is_given(given, key))
            continue;
        snprintf(piece, sizeof piece, "%s=%s", plait_keys[key].name,
                 plait_degrees_get(degrees, key, value, sizeof value));
        PLAIT_TRY(plait_search_limit(&options, piece, err));
    }
    const plait_status status = plait_search(problem, &options, arena, &result, &none);
    *found = status == PLAIT_OK;
    if (status == PLAIT_ERROR_RANGE)
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

/*
 * Writes a layout whose chunks differ by at most one layer, where the embedding and the loss count
 * as layers, as in the split `both`. Returns false if there are too many chunks or the text is too
 * long for a value.
 */
static bool level_layout(const plait_model *model, const plait_degrees *d, char *text)
{
    const int chunks = d->pp * d->vpp;
    const int units = model->layers + 2;
    plait_chunk chunk[PLAIT_MAX_LAYERS];
    int counts[PLAIT_MAX_LAYERS];

    if (chunks < 2 || chunks > units / 2 || chunks > PLAIT_MAX_LAYERS)
        return false;
    for (int c = 0; c < chunks; c++)
        counts[c] = units / chunks + (c >= chunks - 1 - units % chunks && c < chunks - 1);
    counts[0]--;
    counts[chunks - 1]--;
    plait_chunks_deal(model, counts, chunks, chunk);
    return layout_write(chunk, chunks, text);
}

/*
 * Called if no named split is legal. Takes the fastest layout that fits, or an even one if none
 * fits.
 */
static plait_status complete_layout(const plait_problem *problem, plait_key_set given,
                                    plait_degrees *degrees, plait_arena *arena, plait_error *err)
{
    const plait_key_set with_split = given | PLAIT_KEY_BIT(PLAIT_KEY_SPLIT);
    const plait_split words = degrees->split;
    char text[PLAIT_VALUE_SIZE];
    bool found;

    if (!(problem->runtime->can.takes[PLAIT_KEY_SPLIT] >> PLAIT_SPLIT_LAYOUT & 1u) ||
        !level_layout(problem->model, degrees, text))
        return PLAIT_OK;
    degrees->split =
        (plait_split){.kind = PLAIT_SPLIT_LAYOUT, .layout = plait_arena_printf(arena, "%s", text)};
    PLAIT_TRY(plait_check_allocated(degrees->split.layout, err));
    if (plait_degrees_check(problem, degrees, NULL, 0) == PLAIT_INVALID) {
        degrees->split = words;
        return PLAIT_OK;
    }
    PLAIT_TRY(search_free(problem, given, PLAIT_REFINE_LAYOUTS, arena, degrees, &found, err));
    return found ? PLAIT_OK
                 : search_free(problem, with_split, PLAIT_REFINE_NONE, arena, degrees, &found, err);
}

plait_status plait_degrees_complete(const plait_problem *problem, plait_key_set given,
                                    plait_degrees *degrees, plait_arena *arena, plait_error *err)
{
    bool found;

    PLAIT_TRY(problem_check(problem, err));
    PLAIT_TRY(degrees_check_ranges(degrees, err));
    plait_degrees_fill(problem, given, degrees);
    if (is_given(given, PLAIT_KEY_SPLIT) &&
        (is_given(given, PLAIT_KEY_RECOMPUTE) || // an illegal plan stays unchanged
         plait_degrees_check(problem, degrees, NULL, 0) == PLAIT_INVALID))
        return PLAIT_OK;
    PLAIT_TRY(search_free(problem, given, PLAIT_REFINE_NONE, arena, degrees, &found, err));
    return found || is_given(given, PLAIT_KEY_SPLIT)
               ? PLAIT_OK
               : complete_layout(problem, given, degrees, arena, err);
}

plait_status plait_plan_choose_recompute(const plait_problem *problem, const plait_plan *plan,
                                         plait_arena *arena, plait_plan *out, plait_error *err)
{
    plait_degrees degrees = plan->degrees;

    PLAIT_TRY(plait_degrees_complete(problem, PLAIT_ALL_KEYS & ~PLAIT_KEY_BIT(PLAIT_KEY_RECOMPUTE),
                                     &degrees, arena, err));
    return plait_plan_expand(problem, &degrees, arena, out, err);
}
