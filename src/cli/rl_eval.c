/* rl_eval.c - prices one plan of a reinforcement-learning step, without a search */
#include "cli/rl_eval.h"

#include <string.h>

#include "base/status.h"
#include "base/text.h"

static plait_status read_degrees(const char *keys, const plait_problem *problem, plait_arena *arena,
                                 plait_degrees *out, plait_error *err)
{
    size_t count = 0;
    char **const part = text_split(arena, keys, ',', &count);
    plait_key_set given = 0;
    plait_error inner;

    PLAIT_TRY(plait_check_allocated(part, err));
    *out = plait_degrees_init();
    for (size_t i = 0; i < count; i++) {
        char *const value = strchr(part[i], '=');

        if (value == NULL)
            return plait_fail(err, PLAIT_ERROR_RANGE, "--eval",
                              "expected KEY=VALUE,..., found '%.40s'", part[i]);
        *value = '\0';
        if (plait_degrees_set(out, part[i], value + 1, &inner) != PLAIT_OK)
            return plait_fail(err, inner.status, "--eval", "%.40s: %.200s", part[i], inner.message);
        given |= PLAIT_KEY_BIT(plait_key_find(part[i]));
    }
    if (!(given & PLAIT_KEY_BIT(PLAIT_KEY_DP)))
        out->dp = plait_degrees_dp(problem->job.gpus, out->tp, out->pp, out->cp);
    if (out->dp < 1)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--eval",
                          "expected degrees whose product divides %d GPUs, found '%.100s'",
                          problem->job.gpus, keys);
    return plait_degrees_complete(problem, given, out, arena, err);
}

/* Prices a plan, and keeps it if it is the best of those that fit, or if none fits so far. */
static plait_status price(const plait_rl_job *job, plait_rl_ranked *one, plait_arena *arena,
                          plait_rl_answer *out, plait_error *err)
{
    PLAIT_TRY(plait_rl_price_of(job, &one->plan, true, arena, &one->price, err));
    out->priced++;
    if (one->price.verdict > PLAIT_TIGHT) {
        out->closest = *one;
        out->has_closest = true;
    } else if (out->plans == 0 || one->price.step_s < out->plan[0].price.step_s) {
        out->plan[0] = *one;
        out->plans = 1;
    }
    return PLAIT_OK;
}

static int one_if_zero(int degree)
{
    return degree > 0 ? degree : 1;
}

/* The placement, worker and formats of the options; an open degree of the worker is 1. */
static plait_status read_plan(const plait_rl_options *options, int gpus, plait_rl_plan *out,
                              plait_error *err)
{
    const plait_worker *const only = &options->only;
    const bool apart = options->only_placement == 1 + PLAIT_RL_APART || options->rollout_gpus > 0;
    const int rollout = options->rollout_gpus > 0 ? options->rollout_gpus : gpus / 2;

    *out = (plait_rl_plan){
        .train_gpus = gpus,
        .rollout_gpus = gpus,
        .worker = {one_if_zero(only->tp), one_if_zero(only->pp), one_if_zero(only->dp_attention),
                   one_if_zero(only->ep)},
        .weights = PLAIT_WEIGHT_BF16,
        .handover = options->handover,
    };
    for (int f = 0; f < PLAIT_WEIGHT_FORMATS; f++)
        if (options->weights >> f & 1u)
            out->weights = (plait_weight_format)f;
    if (!apart)
        return PLAIT_OK;
    if (rollout < 1 || rollout >= gpus)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--rollout-gpus",
                          "expected fewer than the %d GPUs of the job, found %d", gpus, rollout);
    out->placement = PLAIT_RL_APART;
    out->train_gpus = gpus - rollout;
    out->rollout_gpus = rollout;
    out->staleness = options->most_staleness;
    return PLAIT_OK;
}

plait_status rl_eval(const char *keys, const plait_rl_job *job, const plait_rl_options *options,
                     plait_arena *arena, plait_rl_answer *out, plait_error *err)
{
    plait_problem update = job->problem;
    plait_rl_ranked one = {.plan.train_gpus = 0};

    memset(out, 0, sizeof *out);
    PLAIT_TRY(plait_rl_job_check(job, err));
    PLAIT_TRY(read_plan(options, job->problem.job.gpus, &one.plan, err));
    update.job.gpus = one.plan.train_gpus;
    plait_rl_update_job(job, &update.job);
    PLAIT_TRY(read_degrees(keys, &update, arena, &one.plan.degrees, err));
    const int places =
        one.plan.placement == PLAIT_RL_APART ? 1 : 2; // the state may be on the GPUs or the host
    for (int offload = 0; offload < places; offload++) {
        one.plan.offload = offload != 0;
        PLAIT_TRY(price(job, &one, arena, out, err));
    }
    return PLAIT_OK;
}
