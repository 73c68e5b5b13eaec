/* complete.c - the keys that a user leaves out, filled as eval promises */
#include <math.h>
#include <stdio.h>

#include "space.h"
#include "text.h"

static bool is_given(unsigned long given, const char *key)
{
    return given >> text_index(key, plait_degrees_keys) & 1ul;
}

static int first_bit(unsigned mask, int otherwise)
{
    for (int i = 0; i < 31; i++)
        if (mask >> i & 1u)
            return i;
    return otherwise;
}

static void fill_defaults(const plait_problem *problem, unsigned long given, plait_degrees *d)
{
    const plait_runtime *runtime = problem->runtime;
    const bool has_1f1b = runtime->can.schedules >> PLAIT_1F1B & 1u;

    if (!is_given(given, "sp"))
        d->sp = d->tp > 1 && runtime->can.sp;
    if (!is_given(given, "etp"))
        d->etp = default_etp(problem, d);
    if (!is_given(given, "zero"))
        d->zero = (unsigned char)runtime->defaults.zero;
    if (!is_given(given, "cp_comm"))
        d->cp_comm = (unsigned char)runtime->defaults.cp_comm;
    if (!is_given(given, "grad_sync"))
        d->grad_sync = (unsigned char)runtime->defaults.grad_sync;
    if (!is_given(given, "order"))
        d->order = (unsigned char)first_bit(runtime->can.orders, PLAIT_ORDER_TP_CP_DP_PP);
    if (!is_given(given, "schedule"))
        d->schedule = (unsigned char)(d->vpp > 1 ? PLAIT_INTERLEAVED
                                      : d->pp == 1 || has_1f1b
                                          ? PLAIT_1F1B
                                          : first_bit(runtime->can.schedules, PLAIT_1F1B));
    if (!is_given(given, "dp")) {
        const int dp = plait_degrees_dp(problem->job.gpus, d->tp, d->pp, d->cp);
        d->dp = dp > 0 ? dp : 1;
    }
    if (!is_given(given, "shard_group"))
        d->shard_group = d->dp * d->cp;
}

/*
 * Splits and recompute choices are a small space of their own: all other keys are fixed, and the
 * search picks the fastest that fits, or the leanest when none does.
 */
static plait_status fix_all_but_free(unsigned long given, const plait_degrees *d,
                                     plait_search_options *options, plait_error *err)
{
    char piece[160];
    char value[96];

    for (int i = 0; plait_degrees_keys[i]; i++) {
        const char *key = plait_degrees_keys[i];
        const bool open = text_equal(key, "recompute") || text_equal(key, "split");
        if (text_equal(key, "fusion") || (open && !(given >> i & 1ul)))
            continue;
        snprintf(piece, sizeof piece, "%s=%s", key, plait_degrees_get(d, key, value, sizeof value));
        PLAIT_TRY(plait_search_limit(options, piece, err));
    }
    return PLAIT_OK;
}

/* A plan that is illegal whatever its split stays as it is: the check says why. */
static bool choose_any_split(const plait_problem *problem, unsigned long given, plait_degrees *d)
{
    const unsigned can = problem->runtime->can.splits;

    if (is_given(given, "split"))
        return plait_plan_check(problem, d, NULL, 0) != PLAIT_INVALID;
    d->split = (plait_split){.kind = (unsigned char)first_bit(can, PLAIT_SPLIT_EVEN)};
    return true;
}

plait_status plait_degrees_complete(const plait_problem *problem, unsigned long given,
                                    plait_degrees *degrees, plait_arena *arena, plait_error *err)
{
    plait_search_options options;
    plait_search_result result;
    plait_error none;

    fill_defaults(problem, given, degrees);
    if (!choose_any_split(problem, given, degrees) ||
        (is_given(given, "split") && is_given(given, "recompute")))
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
        *degrees = result.plan[0].degrees;
    else if (result.has_closest)
        *degrees = result.closest.degrees;
    return PLAIT_OK;
}
