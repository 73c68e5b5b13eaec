/*
 * rl_pairs.c - training plans and workers of one division of the GPUs, priced in pairs (S.120)
 *
 * Training and generation share only the GPUs and the hand-over. So the best training plans and all
 * workers of generation are priced apart, and then in pairs.
 */
#include <math.h>
#include <string.h>

#include "base/status.h"
#include "plan/model_queries.h"
#include "search/nested.h"
#include "search/rl/rl_search.h"

enum { MOST_WORKERS = 256 };

// ---- generation ----------------------------------------------------------------------------

static bool is_allowed(int asked, int degree)
{
    return asked == 0 || asked == degree;
}

/*
 * Lists the workers of up to `gpus` GPUs: tensor parallelism within two scale-up domains, and for
 * models with experts also data-parallel attention, with experts on all ranks.
 */
static int list_workers(const rl_search *s, int gpus, plait_worker list[MOST_WORKERS])
{
    const plait_rl_job *const job = s->job;
    const plait_worker *const only = &s->options->only;
    const bool experts = model_has_experts(job->problem.model);
    const int domain = job->problem.cluster->level[0].gpus;
    const int most = PLAIT_SERVE_MAX_DOMAINS * (domain > 0 ? domain : 8);
    const plait_load load = {.input = job->lengths->input.mean,
                             .output = job->lengths->output.mean,
                             .lengths = job->lengths};
    int count = 0;

    for (int tp = 1; tp <= gpus; tp *= 2)
        for (int pp = 1; tp * pp <= gpus && pp <= PLAIT_SERVE_MAX_STAGES; pp *= 2)
            for (int dp = 1; tp * pp * dp <= gpus && (dp == 1 || (experts && pp == 1)); dp *= 2)
                for (int ep = 1; ep <= (experts ? tp * dp : 1); ep *= tp * dp > 1 ? tp * dp : 2) {
                    const plait_worker w = {tp, pp, dp, ep};
                    const bool fits = (tp <= most || only->tp == tp) && is_allowed(only->tp, tp) &&
                                      is_allowed(only->pp, pp) && is_allowed(only->ep, ep) &&
                                      is_allowed(only->dp_attention, dp);
                    if (fits && count < MOST_WORKERS &&
                        !plait_serve_rule_broken(job->engine->kind, job->problem.model, &load, w))
                        list[count++] = w;
                }
    return count;
}

// ---- training ------------------------------------------------------------------------------

/* Returns the problem of an update; NULL: out of memory. */
static const plait_problem *update_problem(const rl_search *s, int gpus, double risk)
{
    plait_problem *const problem = plait_arena_alloc(s->arena, 1, sizeof *problem);

    if (!problem)
        return NULL;
    *problem = s->job->problem;
    problem->job.gpus = gpus;
    problem->risk = risk;
    plait_rl_update_job(s->job, &problem->job);
    return problem;
}

/* Searches an update. A job without a legal plan has no plans. */
static plait_status search_update(rl_search *s, const plait_problem *problem,
                                  const plait_search_options *options, search_depth depth,
                                  plait_search_result *found, plait_error *err)
{
    plait_error inner;
    const plait_status status = search_problem(problem, options, depth, s->arena, found, &inner);

    PLAIT_TRY(faults_only(status, &inner, err));
    if (status != PLAIT_OK)
        *found = (plait_search_result){0};
    s->out->training_plans += found->points;
    return PLAIT_OK;
}

plait_status rl_search_training(rl_search *s, int gpus, double risk, plait_search_result *found,
                                plait_error *err)
{
    const plait_problem *const problem = update_problem(s, gpus, risk);
    plait_search_options options = s->options->training;
    plait_error inner;

    PLAIT_TRY(plait_check_allocated(problem, err));
    options.refine = PLAIT_REFINE_LAYOUTS;
    PLAIT_TRY(search_update(s, problem, &options, SEARCH_FRONT, found, err));
    if (found->plans > 0 || plait_search_limit(&options, "offload=optimizer", &inner) != PLAIT_OK)
        return PLAIT_OK;
    return search_update(s, problem, &options, SEARCH_FRONT, found, err);
}

plait_status rl_search_closest(rl_search *s, int gpus, plait_search_result *found, plait_error *err)
{
    const plait_problem *const problem = update_problem(s, gpus, s->job->problem.risk);

    PLAIT_TRY(plait_check_allocated(problem, err));
    return search_update(s, problem, &s->options->training, SEARCH_WHOLE, found, err);
}

/* The ranked plans, then the front of time and memory; without either, the closest plan. */
static int training_plans(const plait_search_result *training)
{
    return training->plans > 0 ? training->plans + training->front_size : training->has_closest;
}

static const plait_ranked *training_plan(const plait_search_result *training, int i)
{
    if (training->plans == 0)
        return &training->closest;
    return i < training->plans ? &training->plan[i] : &training->front[i - training->plans];
}

// ---- pairs ---------------------------------------------------------------------------------

/* Returns the generations of a division, by workers and formats; NULL: out of memory. */
static rl_rollout *rollouts_on(rl_search *s, int gpus)
{
    static const size_t count = (size_t)MOST_WORKERS * PLAIT_WEIGHT_FORMATS;

    if (!s->rollout)
        s->rollout = plait_arena_alloc(s->arena, count, sizeof *s->rollout);
    for (size_t i = 0; s->rollout && s->rollout_gpus != gpus && i < count; i++)
        s->rollout[i].steps = 0;
    s->rollout_gpus = gpus;
    return s->rollout;
}

static plait_status price_pair(rl_search *s, const rl_training *training, rl_rollout *known,
                               plait_rl_ranked *one, plait_rl_ranked *best, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(s->arena);
    rl_rollout rollout;
    const plait_status status =
        rl_rollout_of(s->job, &one->plan, rl_held_bytes(&one->plan, training), s->fits_only ? 0 : 1,
                      known, s->arena, &rollout, err);

    plait_arena_rewind(s->arena, mark);
    PLAIT_TRY(status);
    *known = rollout;
    rl_price_join(s->job, &one->plan, training, &rollout, &one->price);
    rl_rank(s, one);
    if (one->price.verdict <= PLAIT_TIGHT && one->price.step_s < best->price.step_s)
        *best = *one;
    return PLAIT_OK;
}

/* Prices a training plan with all workers in all formats, or with those of the best plan. */
static plait_status price_workers(rl_search *s, const rl_training *training,
                                  const plait_worker *worker, int workers, plait_rl_ranked *one,
                                  plait_rl_ranked *best, plait_error *err)
{
    const bool fixed = isfinite(best->price.step_s);
    const plait_rl_plan pair = best->plan;
    const unsigned asked = s->options->weights ? s->options->weights : 1u << PLAIT_WEIGHT_BF16;

    for (int w = 0; w < workers; w++)
        for (int f = 0; f < PLAIT_WEIGHT_FORMATS; f++) {
            one->plan.worker = worker[w];
            one->plan.weights = (plait_weight_format)f;
            const bool wanted = fixed ? memcmp(&pair.worker, &worker[w], sizeof pair.worker) == 0 &&
                                            pair.weights == one->plan.weights
                                      : asked >> f & 1u;
            if (wanted && !(s->fits_only && s->out->plans > 0))
                PLAIT_TRY(price_pair(s, training, &s->rollout[w * PLAIT_WEIGHT_FORMATS + f], one,
                                     best, err));
        }
    return PLAIT_OK;
}

/*
 * Workers are ranked with the first training plan, since generation does not depend on it; the other
 * training plans are tried with the best of them.
 */
plait_status rl_price_pairs(rl_search *s, const plait_rl_plan *base,
                            const plait_search_result *training, plait_error *err)
{
    plait_worker worker[MOST_WORKERS];
    const int workers = list_workers(s, base->rollout_gpus, worker);
    const int plans = training_plans(training);
    plait_rl_ranked one = {.plan = *base}, best = {.price.step_s = (double)INFINITY};
    rl_training *const priced = plait_arena_alloc(s->arena, 1, sizeof *priced);

    PLAIT_TRY(plait_check_allocated(priced && rollouts_on(s, base->rollout_gpus), err));
    s->out->workers += workers;
    for (int i = 0; i < plans && workers > 0; i++) {
        const plait_arena_mark mark = plait_arena_save(s->arena);
        one.plan.degrees = training_plan(training, i)->plan.degrees;
        PLAIT_TRY(rl_training_of(s->job, &one.plan, s->arena, priced, err));
        PLAIT_TRY(price_workers(s, priced, worker, workers, &one, &best, err));
        plait_arena_rewind(s->arena, mark);
    }
    return PLAIT_OK;
}
