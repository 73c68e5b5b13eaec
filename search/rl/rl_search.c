/*
 * rl_search.c - the fastest plan of a reinforcement-learning step (S.120)
 *
 * Training and generation share only the GPUs and the hand-over. So for each division of the GPUs,
 * the best training plans and all workers of generation are priced apart, and then in pairs.
 */
#include "plait/rl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/status.h"
#include "plan/model_queries.h"

enum { TRAINING_PLANS = 6, MOST_WORKERS = 256, FINALISTS = 4, SPLITS = 8 };

void plait_rl_options_init(plait_rl_options *options)
{
    *options = (plait_rl_options){.top = 5};
    plait_search_options_init(&options->training);
    options->training.top = TRAINING_PLANS;
}

/* The state of a search: everything that its functions share. */
typedef struct rl_search {
    const plait_rl_job *job;
    const plait_rl_options *options;
    plait_arena *arena;
    plait_rl_answer *out;
} rl_search;

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

/* Puts a priced plan into the ranking, or keeps the one that is closest to fitting. */
static void rank_plan(rl_search *s, const plait_rl_ranked *one)
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

/*
 * Searches training plans for the packed sequences of an update. If none fits, layers are
 * assigned to stages one by one, and then the optimizer is on the host.
 */
static plait_status search_training(rl_search *s, int gpus, double risk, plait_search_result *found,
                                    plait_error *err)
{
    static const struct {
        const char *limit;
        plait_refine refine;
    } ways[] = {{"", PLAIT_REFINE_NONE},
                {"", PLAIT_REFINE_LAYOUTS},
                {"offload=optimizer", PLAIT_REFINE_NONE},
                {"offload=optimizer", PLAIT_REFINE_LAYOUTS}};
    plait_problem *const problem = plait_arena_alloc(s->arena, 1, sizeof *problem);
    plait_search_result other = {0};
    plait_error inner;

    PLAIT_TRY(plait_check_allocated(problem, err));
    *problem = s->job->problem;
    problem->job.gpus = gpus;
    problem->risk = risk;
    plait_rl_update_job(s->job, &problem->job);
    *found = other;
    for (size_t i = 0; i < sizeof ways / sizeof *ways && found->plans == 0; i++) {
        plait_search_options options = s->options->training;
        options.refine = ways[i].refine;
        if (ways[i].limit[0] != '\0' &&
            plait_search_limit(&options, ways[i].limit, &inner) != PLAIT_OK)
            continue;
        const plait_status status = plait_search(problem, &options, s->arena, &other, &inner);
        PLAIT_TRY(faults_only(status, &inner, err));
        if (status != PLAIT_OK)
            continue; // the software has no such offload, or no plan is legal
        s->out->training_plans += other.points;
        if (other.plans > 0 || !found->has_closest)
            *found = other;
    }
    return PLAIT_OK;
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

/* Prices a pair in all formats that the engine may have, or in that of the pair alone. */
static plait_status price_formats(rl_search *s, plait_rl_ranked *one, bool fixed,
                                  plait_rl_ranked *best, plait_error *err)
{
    const unsigned asked = s->options->weights ? s->options->weights : 1u << PLAIT_WEIGHT_BF16;
    const unsigned formats = fixed ? 1u << one->plan.weights : asked;

    for (unsigned f = 0; f < PLAIT_WEIGHT_FORMATS; f++) {
        if (!(formats >> f & 1u))
            continue;
        one->plan.weights = (plait_weight_format)f;
        PLAIT_TRY(plait_rl_price_of(s->job, &one->plan, false, s->arena, &one->price, err));
        rank_plan(s, one);
        if (one->price.verdict <= PLAIT_TIGHT && is_better(one, best))
            *best = *one;
    }
    return PLAIT_OK;
}

/*
 * Prices the pairs of training plans and workers of one division of the GPUs. Workers are ranked
 * with the first training plan, since generation does not depend on it; the other training plans
 * are tried with the best of them.
 */
static plait_status price_pairs(rl_search *s, const plait_rl_plan *base,
                                const plait_search_result *training, plait_error *err)
{
    plait_worker worker[MOST_WORKERS];
    const int workers = list_workers(s, base->rollout_gpus, worker);
    const int plans = training_plans(training);
    plait_rl_ranked one = {.plan = *base}, best = {.price.step_s = (double)INFINITY};
    int fits = -1;

    s->out->workers += workers;
    for (int i = 0; i < plans && workers > 0; i++) {
        one.plan.degrees = training_plan(training, i)->plan.degrees;
        const int last = fits < 0 ? workers : 1; // the other plans run with the best worker
        for (int w = 0; w < last; w++) {
            one.plan.worker = fits < 0 ? worker[w] : best.plan.worker;
            one.plan.weights = fits < 0 ? PLAIT_WEIGHT_BF16 : best.plan.weights;
            PLAIT_TRY(price_formats(s, &one, fits >= 0, &best, err));
        }
        if (isfinite(best.price.step_s) && fits < 0)
            fits = i;
    }
    return PLAIT_OK;
}

// ---- divisions of the GPUs -----------------------------------------------------------------

static plait_status try_colocated(rl_search *s, double risk, plait_error *err)
{
    const int gpus = s->job->problem.job.gpus;
    plait_search_result training;

    PLAIT_TRY(search_training(s, gpus, risk, &training, err));
    for (int offload = 0; offload < 2; offload++) {
        const plait_rl_plan base = {.placement = PLAIT_RL_COLOCATED,
                                    .train_gpus = gpus,
                                    .rollout_gpus = gpus,
                                    .offload = offload != 0,
                                    .handover = s->options->handover};
        PLAIT_TRY(price_pairs(s, &base, &training, err));
    }
    return PLAIT_OK;
}

/* GPUs that generate in division i of SPLITS: whole nodes, or GPUs inside a node. */
static int rollout_gpus_of(const plait_rl_job *job, int i)
{
    const int gpus = job->problem.job.gpus;
    const int node = job->problem.cluster->group[0].gpus_per_node;
    const int unit = gpus > node ? node : 1;

    return (int)larger(unit, floor((double)gpus * i / SPLITS / unit + 0.5) * unit);
}

/* Prices one division of the GPUs, with every staleness that is allowed. */
static plait_status try_division(rl_search *s, int rollout, plait_error *err)
{
    const int gpus = s->job->problem.job.gpus;
    const int most = s->options->most_staleness;
    plait_search_result training;

    if (rollout < 1 || rollout >= gpus)
        return PLAIT_OK;
    PLAIT_TRY(search_training(s, gpus - rollout, s->job->problem.risk, &training, err));
    for (int staleness = s->options->least_staleness; staleness <= most;
         staleness = staleness * 2 + (staleness == 0)) {
        const plait_rl_plan base = {.placement = PLAIT_RL_APART,
                                    .train_gpus = gpus - rollout,
                                    .rollout_gpus = rollout,
                                    .staleness = staleness,
                                    .handover = s->options->handover};
        PLAIT_TRY(price_pairs(s, &base, &training, err));
    }
    return PLAIT_OK;
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

plait_status plait_rl_search(const plait_rl_job *job, const plait_rl_options *options,
                             plait_arena *arena, plait_rl_answer *out, plait_error *err)
{
    rl_search s = {.job = job, .options = options, .arena = arena, .out = out};

    memset(out, 0, sizeof *out);
    PLAIT_TRY(plait_rl_job_check(job, err));
    if (options->top < 1 || job->problem.job.gpus < 1)
        return plait_fail(err, PLAIT_ERROR_RANGE, "options",
                          "expected at least one plan and one GPU, found none");
    if (options->only_placement != 1 + PLAIT_RL_APART)
        PLAIT_TRY(try_colocated(&s, job->problem.risk, err));
    // The training search does not count the memory of the engine and of the longest answer.
    if (options->only_placement != 1 + PLAIT_RL_APART && out->plans == 0)
        PLAIT_TRY(try_colocated(&s, job->problem.risk / 5.0, err));
    // Apart and synchronous, each side waits for the other: only on request, or if it alone fits.
    const bool waits = options->most_staleness == 0 && out->plans > 0;
    if (options->only_placement == 1 + PLAIT_RL_APART || (options->only_placement == 0 && !waits))
        PLAIT_TRY(try_apart(&s, err));
    return simulate_best(&s, err);
}

/* Do the limits of training allow parameters or gradients in host memory? */
static bool may_offload(const plait_search_options *training)
{
    for (int i = 0; i < training->limits; i++)
        if (training->limit[i].key == PLAIT_KEY_OFFLOAD)
            return true;
    return false;
}

/*
 * Lower bound on the bytes of a GPU for weights and gradients in 16 bits, or for frozen weights, in
 * all plans that are searched.
 */
static double least_bytes(const plait_rl_job *job, const plait_rl_options *options, int gpus)
{
    static const double weight_and_gradient_bytes = 4.0;
    const plait_tuning *const tuning = &job->problem.job.tuning;
    const double each =
        tuning->rank > 0 ? plait_frozen_format_bytes(tuning->format) : weight_and_gradient_bytes;

    return may_offload(&options->training)
               ? 0.0
               : each * plait_model_params(job->problem.model).total / gpus;
}

/* Does a plan fit on a number of GPUs? */
static plait_status fits_on(const plait_rl_job *job, const plait_rl_options *options, int gpus,
                            plait_arena *arena, bool *fits, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    plait_rl_answer *const answer = plait_arena_alloc(arena, 1, sizeof *answer);
    plait_rl_job one = *job;

    PLAIT_TRY(plait_check_allocated(answer, err));
    one.problem.job.gpus = gpus;
    *fits = false;
    if (least_bytes(job, options, gpus) >=
        plait_cluster_accelerator(job->problem.cluster, 0)->memory_bytes)
        return PLAIT_OK;
    PLAIT_TRY(plait_rl_search(&one, options, arena, answer, err));
    *fits = answer->plans > 0;
    plait_arena_rewind(arena, mark);
    return PLAIT_OK;
}

plait_status plait_rl_fewest(const plait_rl_job *job, const plait_rl_options *options, int most,
                             plait_arena *arena, int *gpus, plait_error *err)
{
    plait_rl_options colocated = *options;
    bool fits = false;

    PLAIT_TRY(plait_rl_job_check(job, err));
    if (colocated.only_placement == 0)
        colocated.only_placement = 1 + PLAIT_RL_COLOCATED; // all memory is then available to both
    for (*gpus = 1; *gpus <= most; *gpus *= 2) {
        PLAIT_TRY(fits_on(job, &colocated, *gpus, arena, &fits, err));
        if (fits)
            return PLAIT_OK;
    }
    *gpus = 0;
    return PLAIT_OK;
}
