/* rl_search.c - the fastest plan of a reinforcement-learning step (S.120) */
#include "search/rl/rl_search.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/status.h"

enum { TRAINING_PLANS = 6, FINALISTS = 4, SPLITS = 8 };

void plait_rl_options_init(plait_rl_options *options)
{
    *options = (plait_rl_options){.top = 5};
    plait_search_options_init(&options->training);
    options->training.top = TRAINING_PLANS;
    options->training.front_within = HUGE_VAL; // slow plans leave memory for generation
}

// ---- answers -------------------------------------------------------------------------------

static bool is_better(const plait_rl_ranked *a, const plait_rl_ranked *b)
{
    return a->price.step_s < b->price.step_s;
}

/* Do two plans divide the GPUs in the same way? Only the better one is listed. */
static bool divide_alike(const plait_rl_plan *a, const plait_rl_plan *b)
{
    return a->placement == b->placement && a->train_gpus == b->train_gpus &&
           a->rollout_gpus == b->rollout_gpus && a->staleness == b->staleness &&
           a->offload == b->offload;
}

static void keep_closest(plait_rl_answer *out, const plait_rl_ranked *one)
{
    const plait_rl_price *const before = &out->closest.price;

    if (!out->has_closest || one->price.verdict < before->verdict ||
        (one->price.verdict == before->verdict &&
         one->price.update.device_bytes < before->update.device_bytes))
        out->closest = *one;
    out->has_closest = true;
}

void rl_rank(rl_search *s, const plait_rl_ranked *one)
{
    plait_rl_answer *const out = s->out;
    const int most = s->options->top < PLAIT_RL_MAX_PLANS ? s->options->top : PLAIT_RL_MAX_PLANS;
    int from = 0, to = 0;

    out->priced++;
    if (one->price.verdict > PLAIT_TIGHT) {
        keep_closest(out, one);
        return;
    }
    while (from < out->plans && !divide_alike(&out->plan[from].plan, &one->plan))
        from++;
    if (from < out->plans && !is_better(one, &out->plan[from]))
        return;
    while (to < out->plans && !is_better(one, &out->plan[to]))
        to++;
    if (to >= most)
        return;
    if (from == out->plans && out->plans < most)
        out->plans++;
    const int last = from < out->plans ? from : out->plans - 1; // the entry that gives way
    memmove(&out->plan[to + 1], &out->plan[to], (size_t)(last - to) * sizeof *out->plan);
    out->plan[to] = *one;
}

// ---- divisions of the GPUs -----------------------------------------------------------------

/* Prices the pairs of training plans and workers on all GPUs in turn. */
static plait_status price_colocated(rl_search *s, const plait_search_result *training,
                                    plait_error *err)
{
    const int gpus = s->job->problem.job.gpus;

    for (int offload = 0; offload < 2; offload++) {
        const plait_rl_plan base = {.placement = PLAIT_RL_COLOCATED,
                                    .train_gpus = gpus,
                                    .rollout_gpus = gpus,
                                    .offload = offload != 0,
                                    .handover = s->options->handover};
        PLAIT_TRY(rl_price_pairs(s, &base, training, err));
    }
    return PLAIT_OK;
}

/*
 * Tries plans of less risk if none fits, since the training search counts neither the memory of the
 * engine nor that of the longest answer.
 */
static plait_status try_colocated(rl_search *s, plait_error *err)
{
    const double risk = s->job->problem.risk;
    plait_search_result training;

    PLAIT_TRY(rl_search_training(s, s->job->problem.job.gpus, risk, &training, err));
    PLAIT_TRY(price_colocated(s, &training, err));
    if (training.plans == 0 || s->out->plans > 0)
        return PLAIT_OK;
    PLAIT_TRY(rl_search_training(s, s->job->problem.job.gpus, risk / 5.0, &training, err));
    return price_colocated(s, &training, err);
}

/* GPUs that generate in division i of SPLITS: whole nodes, or GPUs inside a node. */
static int rollout_gpus_of(const plait_rl_job *job, int i)
{
    const int gpus = job->problem.job.gpus;
    const int node = job->problem.cluster->group[0].gpus_per_node;
    const int unit = gpus > node ? node : 1;

    return (int)larger(unit, floor((double)gpus * i / SPLITS / unit + 0.5) * unit);
}

/* Prices the pairs of training plans and workers apart, with every staleness that is allowed. */
static plait_status price_apart(rl_search *s, int rollout, const plait_search_result *training,
                                plait_error *err)
{
    const int most = s->options->most_staleness;

    for (int staleness = s->options->least_staleness; staleness <= most;
         staleness = staleness * 2 + (staleness == 0)) {
        const plait_rl_plan base = {.placement = PLAIT_RL_APART,
                                    .train_gpus = s->job->problem.job.gpus - rollout,
                                    .rollout_gpus = rollout,
                                    .staleness = staleness,
                                    .handover = s->options->handover};
        PLAIT_TRY(rl_price_pairs(s, &base, training, err));
    }
    return PLAIT_OK;
}

static plait_status try_division(rl_search *s, int rollout, plait_error *err)
{
    const int gpus = s->job->problem.job.gpus;
    plait_search_result training;

    if (rollout < 1 || rollout >= gpus)
        return PLAIT_OK;
    PLAIT_TRY(rl_search_training(s, gpus - rollout, s->job->problem.risk, &training, err));
    return price_apart(s, rollout, &training, err);
}

/* The eighth of the GPUs whose generation takes as long as training on the others. */
static int balanced_eighth(const plait_rl_ranked *half)
{
    const double *const phase = half->price.phase_s;
    const double generation = half->plan.rollout_gpus * phase[PLAIT_RL_rollout];
    const double training =
        half->plan.train_gpus * (phase[PLAIT_RL_train] + phase[PLAIT_RL_logprob] +
                                 phase[PLAIT_RL_reference] + phase[PLAIT_RL_critic]);

    return (int)floor(SPLITS * generation / (generation + training) + 0.5);
}

/*
 * Tries an equal division first. Both sides get faster about in proportion to their GPUs, so the
 * best division is near the one at which both then take equal time. If the equal division does not
 * fit, all eighths are tried.
 */
static plait_status try_apart(rl_search *s, plait_error *err)
{
    const int asked = s->options->rollout_gpus, half = SPLITS / 2;
    int first = 1, last = SPLITS - 1, before = 0;

    if (asked > 0)
        return try_division(s, asked, err);
    PLAIT_TRY(try_division(s, rollout_gpus_of(s->job, half), err));
    for (int i = 0; i < s->out->plans; i++)
        if (s->out->plan[i].plan.placement == PLAIT_RL_APART) {
            const int near = balanced_eighth(&s->out->plan[i]);
            first = near > 2 ? near - 1 : 1;
            last = near < SPLITS - 2 ? near + 1 : SPLITS - 1;
        }
    for (int i = first; i <= last; i++) {
        const int rollout = rollout_gpus_of(s->job, i);
        if (rollout != before && i != half)
            PLAIT_TRY(try_division(s, rollout, err));
        before = rollout;
    }
    return PLAIT_OK;
}

/*
 * Called if no training plan fits: keeps the plan that needs the least memory, apart only if the
 * plans of the search are.
 */
static plait_status find_closest(rl_search *s, plait_error *err)
{
    const int gpus = s->job->problem.job.gpus, asked = s->options->rollout_gpus;
    const int rollout = asked > 0 ? asked : rollout_gpus_of(s->job, SPLITS / 2);
    const bool apart = s->options->only_placement == 1 + PLAIT_RL_APART;
    plait_search_result training;

    if (apart && rollout >= gpus)
        return PLAIT_OK;
    PLAIT_TRY(rl_search_closest(s, apart ? gpus - rollout : gpus, &training, err));
    return apart ? price_apart(s, rollout, &training, err) : price_colocated(s, &training, err);
}

static int by_step(const void *a, const void *b)
{
    const double left = ((const plait_rl_ranked *)a)->price.step_s;
    const double right = ((const plait_rl_ranked *)b)->price.step_s;

    return (left > right) - (left < right);
}

/* Simulates all workers of the best plans, and ranks these again. */
static plait_status simulate_best(rl_search *s, plait_error *err)
{
    plait_rl_answer *const out = s->out;
    const int count = out->plans < FINALISTS ? out->plans : FINALISTS;

    for (int i = 0; i < count; i++)
        PLAIT_TRY(plait_rl_price_of(s->job, &out->plan[i].plan, true, s->arena, &out->plan[i].price,
                                    err));
    qsort(out->plan, (size_t)out->plans, sizeof *out->plan, by_step);
    return PLAIT_OK;
}

plait_status rl_search_divisions(rl_search *s, plait_error *err)
{
    const int placement = s->options->only_placement;

    if (placement != 1 + PLAIT_RL_APART)
        PLAIT_TRY(try_colocated(s, err));
    // Apart and synchronous, each side waits for the other: only on request, or if it alone fits.
    const bool waits = s->options->most_staleness == 0 && s->out->plans > 0;
    return placement == 1 + PLAIT_RL_APART || (placement == 0 && !waits) ? try_apart(s, err)
                                                                         : PLAIT_OK;
}

plait_status plait_rl_search(const plait_rl_job *job, const plait_rl_options *options,
                             plait_arena *arena, plait_rl_answer *out, plait_error *err)
{
    rl_search s = {.job = job, .options = options, .arena = arena, .out = out};

    memset(out, 0, sizeof *out);
    PLAIT_TRY(plait_rl_job_check(job, err));
    if (options->top < 1 || job->problem.job.gpus < 1)
        return plait_fail(err, PLAIT_ERROR_RANGE, "options",
                          "expected at least one plan and one GPU, found none");
    PLAIT_TRY(rl_search_divisions(&s, err));
    if (out->plans == 0 && !out->has_closest)
        PLAIT_TRY(find_closest(&s, err));
    return simulate_best(&s, err);
}
