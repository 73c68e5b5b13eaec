/*
 * recommend.c - the plan to run among those that the search cannot tell from the fastest (S.110)
 *
 * Of plans within PLAIT_SIMPLEST_WITHIN of the least objective, the simplest is recommended: without
 * layouts and choices of single stages, then without offload, then with the fewest techniques, then
 * with the most free memory.
 */
#include "plait/search.h"

#include "plan/choices.h"

/* A plan's complexity, compared from the first number on; the last is its memory. */
typedef struct complexity {
    int uneven;
    int offloads;
    int techniques;
    double peak_bytes;
} complexity;

static complexity complexity_of(const plait_problem *problem, const plait_ranked *ranked)
{
    const plait_degrees *const d = &ranked->plan.degrees;
    complexity out = {
        .uneven = (d->split.kind == PLAIT_SPLIT_LAYOUT) + stages_choose_own(&ranked->plan),
        .offloads = (d->offload_acts > 0) + (d->offload != PLAIT_OFFLOAD_NONE),
        .peak_bytes = ranked->price.peak_bytes,
    };

    for (int k = 0; k < PLAIT_KEYS; k++) {
        const plait_key_id key = (plait_key_id)k;

        out.techniques += plait_keys[k].words != NULL && plait_key_applies(problem, d, key) &&
                          !plait_key_is_usual(problem, d, key) && key != PLAIT_KEY_SPLIT &&
                          key != PLAIT_KEY_SCHEDULE;
    }
    return out;
}

static bool is_simpler(const complexity *a, const complexity *b)
{
    if (a->uneven != b->uneven)
        return a->uneven < b->uneven;
    if (a->offloads != b->offloads)
        return a->offloads < b->offloads;
    if (a->techniques != b->techniques)
        return a->techniques < b->techniques;
    return a->peak_bytes < b->peak_bytes;
}

int plait_search_recommended(const plait_problem *problem, const plait_search_result *result)
{
    int best = 0;

    if (result->plans == 0)
        return -1;
    complexity least = complexity_of(problem, &result->plan[0]);
    for (int i = 1; i < result->plans; i++) {
        const complexity other = complexity_of(problem, &result->plan[i]);

        if (result->plan[i].objective <=
                result->plan[0].objective * (1.0 + PLAIT_SIMPLEST_WITHIN) &&
            is_simpler(&other, &least)) {
            least = other;
            best = i;
        }
    }
    return best;
}
