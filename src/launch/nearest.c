/* nearest.c - the plan that a runtime can say and that changes least of one that it cannot */
#include "launch/nearest.h"

#include <stdio.h>

#include "base/status.h"
#include "plait/cost.h"
#include "plait/search.h"
#include "io/plans/plans.h"
#include "base/text.h"

typedef struct nearest_found {
    plait_degrees degrees;
    char layout[PLAIT_VALUE_SIZE]; /* that of the degrees, if they have one */
    double step_s;                 /* 0: none yet */
} nearest_found;

/* What was completed in an arena outlives it. */
static void keep(nearest_found *best, const plait_degrees *degrees, double step_s)
{
    const char *const layout = degrees->split.layout;

    *best = (nearest_found){.degrees = *degrees, .step_s = step_s};
    if (layout == NULL)
        return;
    snprintf(best->layout, sizeof best->layout, "%s", layout);
    best->degrees.split.layout = best->layout;
}

/* Keys that may be let go; what follows from others goes with them. */
static const plait_key_id choices[] = {
    PLAIT_KEY_SCHEDULE,    PLAIT_KEY_RECOMPUTE, PLAIT_KEY_SPLIT, PLAIT_KEY_ZERO,
    PLAIT_KEY_CP_COMM,     PLAIT_KEY_GRAD_SYNC, PLAIT_KEY_ORDER, PLAIT_KEY_ETP,
    PLAIT_KEY_SHARD_GROUP, PLAIT_KEY_SP,        PLAIT_KEY_VPP,   PLAIT_KEY_MBS};

enum { CHOICES = sizeof choices / sizeof *choices };

static plait_key_set without(plait_key_set given, plait_key_id key)
{
    given &= ~PLAIT_KEY_BIT(key);
    if (key == PLAIT_KEY_VPP)
        given &= ~(PLAIT_KEY_BIT(PLAIT_KEY_SCHEDULE) | PLAIT_KEY_BIT(PLAIT_KEY_SPLIT));
    if (key == PLAIT_KEY_ZERO)
        given &= ~PLAIT_KEY_BIT(PLAIT_KEY_SHARD_GROUP);
    return given;
}

/* Complete and price; a plan that is not legal is none: verdict PLAIT_INVALID. */
static plait_status price(const plait_problem *problem, plait_key_set given, plait_arena *arena,
                          plait_degrees *degrees, plait_cost *cost, plait_error *err)
{
    plait_plan plan;

    cost->verdict = PLAIT_INVALID;
    PLAIT_TRY(plait_degrees_complete(problem, given, degrees, arena, err));
    if (plait_degrees_check(problem, degrees, NULL, 0) != PLAIT_FITS)
        return PLAIT_OK;
    PLAIT_TRY(plait_plan_expand(problem, degrees, arena, &plan, err));
    return plait_plan_cost(problem, &plan, arena, cost, err);
}

static plait_status try_without(const plait_problem *problem, const plait_degrees *wanted,
                                plait_key_set given, plait_arena *arena, nearest_found *best,
                                plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    plait_degrees degrees = *wanted;
    plait_error inner;
    plait_cost cost;

    if (!(given & PLAIT_KEY_BIT(PLAIT_KEY_VPP)))
        degrees.vpp = 1;
    degrees.dp = plait_degrees_dp(problem->job.gpus, degrees.tp, degrees.pp, degrees.cp);
    if (degrees.dp <= 0)
        return PLAIT_OK;
    const plait_status status = price(problem, given, arena, &degrees, &cost, &inner);
    if (status == PLAIT_OK && cost.verdict == PLAIT_FITS &&
        (best->step_s == 0.0 || cost.step_s < best->step_s))
        keep(best, &degrees, cost.step_s);
    plait_arena_rewind(arena, mark);
    return faults_only(status, &inner, err);
}

static plait_status search_all(const plait_problem *problem, plait_arena *arena,
                               nearest_found *best, plait_error *err)
{
    plait_search_options options;
    plait_search_result result;

    plait_search_options_init(&options);
    options.top = 1;
    PLAIT_TRY(plait_search(problem, &options, arena, &result, err));
    if (result.plans > 0)
        keep(best, &result.plan[0].plan.degrees, result.plan[0].price.step_s);
    return PLAIT_OK;
}

static plait_status find_nearest(const plait_problem *problem, const plait_degrees *wanted,
                                 plait_arena *arena, nearest_found *best, plait_error *err)
{
    const plait_key_set degrees = PLAIT_KEY_BIT(PLAIT_KEY_TP) | PLAIT_KEY_BIT(PLAIT_KEY_PP) |
                                  PLAIT_KEY_BIT(PLAIT_KEY_CP) | PLAIT_KEY_BIT(PLAIT_KEY_EP) |
                                  PLAIT_KEY_BIT(PLAIT_KEY_DP);
    plait_error inner;

    for (int i = 0; i < CHOICES; i++)
        PLAIT_TRY(
            try_without(problem, wanted, without(PLAIT_ALL_KEYS, choices[i]), arena, best, err));
    for (int i = 0; i < CHOICES && best->step_s == 0.0; i++)
        for (int j = i + 1; j < CHOICES; j++)
            PLAIT_TRY(try_without(problem, wanted,
                                  without(without(PLAIT_ALL_KEYS, choices[i]), choices[j]), arena,
                                  best, err));
    if (best->step_s == 0.0)
        PLAIT_TRY(try_without(problem, wanted, degrees, arena, best, err));
    return best->step_s == 0.0 ? faults_only(search_all(problem, arena, best, &inner), &inner, err)
                               : PLAIT_OK;
}

static void append_changes(const plait_degrees *wanted, const plait_degrees *found,
                           text_builder *out)
{
    char text[PLAIT_VALUE_SIZE];
    bool any = false;

    for (int k = 0; k < PLAIT_KEYS; k++) {
        if (plait_key_same(found, wanted, (plait_key_id)k))
            continue;
        text_append_printf(out, "%s%s %s", any ? ", " : "", plait_keys[k].name,
                           plait_degrees_get(found, (plait_key_id)k, text, sizeof text));
        any = true;
    }
}

plait_status launch_nearest(const plait_problem *problem, const plait_degrees *wanted,
                            plait_arena *arena, const char **out, plait_error *err)
{
    nearest_found best = {.step_s = 0.0};
    text_builder text;

    PLAIT_TRY(find_nearest(problem, wanted, arena, &best, err));
    *out = "";
    if (best.step_s == 0.0)
        return PLAIT_OK;
    text_builder_init(&text, arena);
    text_append_printf(&text, "; the nearest plan that %s runs has ", problem->runtime->name);
    append_changes(wanted, &best.degrees, &text);
    text_append_printf(&text, ": %.4g s a step", best.step_s);
    *out = text_builder_finish(&text, NULL);
    return *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
