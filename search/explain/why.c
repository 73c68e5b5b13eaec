/*
 * why.c - questions after a search: why a plan was not chosen, which change makes a plan fit, which
 * resource is the bottleneck
 */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "plait/search.h"
#include "plait/units.h"
#include "plan/problem_check.h"
#include "search/nested.h"
#include "search/space/space.h"
#include "search/exhaustive/exhaustive.h"
#include "base/text.h"

// ---- why not -------------------------------------------------------------------------------

/*
 * Writes how much slower than the winner the plan why->best is, and the term with the largest
 * difference.
 */
static plait_status explain_slower(const plait_problem *problem, const plait_ranked *winner,
                                   plait_arena *arena, plait_why *why, plait_error *err)
{
    plait_cost best;
    plait_cost other;

    PLAIT_TRY(plait_plan_evaluate(problem, &winner->plan, NULL, arena, &best, err));
    PLAIT_TRY(plait_plan_evaluate(problem, &why->best.plan, NULL, arena, &other, err));
    const double slower = other.step_s / best.step_s - 1.0;
    struct {
        const char *name;
        double s;
    } loss = {"", 0.0}; // the term that exceeds the winner's by the most

#define X(term, equation, what)                                                                    \
    if (other.step.term##_s - best.step.term##_s > loss.s) {                                       \
        loss.name = #term;                                                                         \
        loss.s = other.step.term##_s - best.step.term##_s;                                         \
    }
    PLAIT_STEP_TERMS(X)
#undef X
    if (slower <= 0.0)
        snprintf(why->sentence, sizeof why->sentence,
                 "the search chooses this plan: it is the best");
    else
        snprintf(
            why->sentence, sizeof why->sentence,
            "the best plan with these values takes %.4g s, %.1f %% more than the %.4g s of the "
            "best plan; the largest difference is in %s, %.3g s more",
            other.step_s, 100.0 * slower, best.step_s, loss.name, loss.s);
    return PLAIT_OK;
}

plait_status plait_why_not(const plait_problem *problem, const plait_search_options *options,
                           const char *limits, plait_arena *arena, plait_why *why, plait_error *err)
{
    plait_search_options limited;
    plait_search_result winner;
    plait_search_result other;
    plait_error refusal;

    *why = (plait_why){.verdict = PLAIT_INVALID};
    PLAIT_TRY(problem_check(problem, err));
    PLAIT_TRY(search_options_check(options, err));
    limited = *options;
    limited.top = 1;
    limited.distinct = 0;
    PLAIT_TRY(plait_search_limit(&limited, limits, err));
    const plait_status status = plait_search(problem, &limited, arena, &other, &refusal);
    if (status == PLAIT_ERROR_RANGE) {
        snprintf(why->sentence, sizeof why->sentence, "%s", refusal.message);
        return PLAIT_OK;
    }
    if (status != PLAIT_OK)
        return plait_fail(err, status, refusal.where, "%s", refusal.message);
    why->any = true;
    if (other.plans == 0) {
        why->verdict = other.has_tight ? PLAIT_TIGHT : PLAIT_OUT_OF_MEMORY;
        why->best = other.closest;
        const double missing =
            other.closest.price.peak_bytes - plait_capacity_bytes(problem, problem->risk);
        snprintf(why->sentence, sizeof why->sentence,
                 "no plan with these values fits: the least memory%s is %.1f GiB, %.1f GiB "
                 "more than available",
                 other.closest_proven ? "" : " found", other.closest.price.peak_bytes / PLAIT_GIB,
                 missing / PLAIT_GIB);
        return PLAIT_OK;
    }
    why->verdict = PLAIT_FITS;
    why->best = other.plan[0];
    PLAIT_TRY(plait_search(problem, options, arena, &winner, err));
    return explain_slower(problem, &winner.plan[0], arena, why, err);
}

// ---- the smallest change that makes a plan fit ---------------------------------------------

typedef struct relaxer {
    const plait_problem *problem;
    const plait_search_options *options;
    plait_arena *arena;
    int most;
    plait_relaxation *found; /* [most] */
    int *count;
} relaxer;

static bool is_full(const relaxer *r)
{
    return *r->count == r->most;
}

/* Appends a relaxation and returns it; NULL if the list is full. */
static plait_relaxation *add_relaxation(const relaxer *r, const plait_ranked *best,
                                        const plait_job *job)
{
    if (is_full(r))
        return NULL;
    plait_relaxation *found = &r->found[(*r->count)++];
    *found = (plait_relaxation){.best = *best, .job = *job};
    return found;
}

/*
 * Returns whether the value of a key follows from other keys. drop_limits() drops the limits of
 * such keys together with any other limit.
 */
static bool is_dependent(plait_key_id key)
{
    return key == PLAIT_KEY_DP || key == PLAIT_KEY_SHARD_GROUP || key == PLAIT_KEY_SPLIT;
}

static bool is_within(const plait_search_options *options, plait_key_id key, const char *value)
{
    int number;

    return plait_keys[key].words != NULL
               ? limits_allow_text(options, key, value)
               : text_parse_int(value, 0, INT_MAX, &number) && limits_allow(options, key, number);
}

/* Tries to drop each limit alone. */
static plait_status drop_limits(const relaxer *r, plait_error *err)
{
    for (int i = 0; i < r->options->limits && !is_full(r); i++) {
        const plait_key_id key = r->options->limit[i].key;
        plait_search_options fewer = *r->options;
        plait_ranked best;
        bool fits;

        if (is_dependent(key))
            continue;
        fewer.limits = 0;
        for (int j = 0; j < r->options->limits; j++)
            if (r->options->limit[j].key != key && !is_dependent(r->options->limit[j].key))
                fewer.limit[fewer.limits++] = r->options->limit[j];
        PLAIT_TRY(search_best_plan(r->problem, &fewer, SEARCH_FITS, r->arena, &fits, &best, err));
        plait_relaxation *found = fits ? add_relaxation(r, &best, &r->problem->job) : NULL;
        if (found) {
            // Write the change, such as "tp = 2", and each dependent key whose value is outside its
            // limit.
            const plait_degrees *const d = &found->best.plan.degrees;
            char value[96];
            size_t used = 0;

            for (int k = 0; k < PLAIT_KEYS; k++) {
                const plait_key_id one = (plait_key_id)k;

                plait_degrees_get(d, one, value, sizeof value);
                if ((one == key || is_dependent(one)) && !is_within(r->options, one, value))
                    used += (size_t)text_format(found->change + used, sizeof found->change - used,
                                                "%s%s = %s", used > 0 ? ", " : "",
                                                plait_keys[k].name, value);
            }
        }
    }
    return PLAIT_OK;
}

/*
 * Searches plans with state in host memory, which are not searched by default since offload changes
 * numerics. Kinds of offload are tried from the smallest on, up to the first with which a plan
 * fits.
 */
static plait_status search_offloaded(const plait_problem *problem,
                                     const plait_search_options *options, plait_arena *arena,
                                     bool *fits, plait_ranked *best, plait_error *err)
{
    const unsigned takes = problem->runtime->can.takes[PLAIT_KEY_OFFLOAD];
    plait_search_options others = *options;

    *fits = false;
    others.limits = 0;
    for (int i = 0; i < options->limits; i++)
        if (options->limit[i].key != PLAIT_KEY_OFFLOAD)
            others.limit[others.limits++] = options->limit[i];
    const bool searched = options->allow_numerics || others.limits < options->limits;

    for (int what = PLAIT_OFFLOAD_OPTIMIZER; what < PLAIT_OFFLOADS && !*fits; what++) {
        plait_search_options one = others;
        char limit[64];

        if (!(takes >> what & 1u) || others.limits == PLAIT_MAX_LIMITS ||
            (searched && limits_allow_value(options, PLAIT_KEY_OFFLOAD, what)))
            continue;
        snprintf(limit, sizeof limit, "offload=%s", plait_offload_name[what]);
        PLAIT_TRY(plait_search_limit(&one, limit, err));
        PLAIT_TRY(search_best_plan(problem, &one, SEARCH_FITS, arena, fits, best, err));
    }
    return PLAIT_OK;
}

/* Searches with a larger cluster, and adds a relaxation if a plan fits. */
static plait_status search_larger(const relaxer *r, const plait_cluster *cluster, int gpus,
                                  bool *fits, plait_relaxation **found, plait_error *err)
{
    plait_problem larger = *r->problem;
    plait_ranked best;

    larger.job.gpus = gpus;
    larger.cluster = cluster;
    PLAIT_TRY(search_best_plan(&larger, r->options, SEARCH_FITS, r->arena, fits, &best, err));
    *found = *fits ? add_relaxation(r, &best, &larger.job) : NULL;
    return PLAIT_OK;
}

/*
 * Tries the numbers of whole nodes at a quarter, a half and three quarters of the way from `few` to
 * `enough`.
 */
static plait_status try_between(const relaxer *r, int few, int enough, plait_relaxation *found,
                                plait_error *err)
{
    const int node = r->problem->cluster->group[0].gpus_per_node;
    bool fits = false;

    for (int quarter = 1, tried = few; quarter < 4 && !fits; quarter++) {
        plait_problem between = *r->problem;
        plait_cluster cluster = *r->problem->cluster;
        plait_ranked best;

        between.cluster = &cluster;
        between.job.gpus = (int)(few + (int64_t)(enough - few) * quarter / 4) / node * node;
        if (between.job.gpus <= tried ||
            plait_cluster_take(&cluster, between.job.gpus, NULL) != PLAIT_OK)
            continue;
        tried = between.job.gpus;
        PLAIT_TRY(search_best_plan(&between, r->options, SEARCH_FITS, r->arena, &fits, &best, err));
        if (fits)
            *found = (plait_relaxation){.best = best, .job = between.job};
    }
    return PLAIT_OK;
}

/*
 * Tries 2, 4, ... times the GPUs up to the first number with a plan that fits, then the numbers of
 * try_between() below it.
 */
static plait_status more_gpus(const relaxer *r, plait_error *err)
{
    enum { MOST = 64 };

    for (int times = 2; times <= MOST && r->problem->job.gpus <= (1 << 22) / times; times *= 2) {
        plait_cluster cluster = *r->problem->cluster;
        plait_relaxation *found;
        const int gpus = r->problem->job.gpus * times;
        bool fits;

        if (plait_cluster_take(&cluster, gpus, NULL) != PLAIT_OK)
            return PLAIT_OK;
        PLAIT_TRY(search_larger(r, &cluster, gpus, &fits, &found, err));
        if (found) {
            PLAIT_TRY(try_between(r, gpus / 2, gpus, found, err));
            snprintf(found->change, sizeof found->change, "%d GPUs instead of %d", found->job.gpus,
                     r->problem->job.gpus);
        }
        if (fits)
            return PLAIT_OK;
    }
    return PLAIT_OK;
}

/* Tries 2, 4, ... times the nodes of group g of a heterogeneous cluster. */
static plait_status more_nodes(const relaxer *r, int g, plait_error *err)
{
    enum { MOST = 16 };
    const plait_node_group *now = &r->problem->cluster->group[g];

    for (int times = 2; times <= MOST; times *= 2) {
        plait_cluster cluster = *r->problem->cluster;
        plait_relaxation *found;
        const int more = (times - 1) * now->nodes * now->gpus_per_node;
        bool fits;

        cluster.group[g].nodes = times * now->nodes;
        if (plait_cluster_take(&cluster, r->problem->job.gpus + more, NULL) != PLAIT_OK)
            return PLAIT_OK;
        PLAIT_TRY(search_larger(r, &cluster, r->problem->job.gpus + more, &fits, &found, err));
        if (found)
            snprintf(found->change, sizeof found->change, "%d nodes of %s instead of %d",
                     times * now->nodes, now->accelerator->name, now->nodes);
        if (fits)
            return PLAIT_OK;
    }
    return PLAIT_OK;
}

static plait_status larger_cluster(const relaxer *r, plait_error *err)
{
    const plait_cluster *cluster = r->problem->cluster;

    if (plait_cluster_priced(cluster, r->problem->job.gpus, NULL, 0))
        return more_gpus(r, err);
    for (int g = 0; g < cluster->groups; g++)
        if (plait_cluster_taken(cluster, r->problem->job.gpus, g) > 0)
            PLAIT_TRY(more_nodes(r, g, err));
    return PLAIT_OK;
}

static plait_status search_shorter(const relaxer *r, int seq, plait_problem *shorter, bool *fits,
                                   plait_ranked *best, plait_error *err)
{
    *shorter = *r->problem;
    shorter->job.seq = seq;
    return search_best_plan(shorter, r->options, SEARCH_FITS, r->arena, fits, best, err);
}

/*
 * Tries sequences of a half, a quarter, ... of the tokens, down to 128. On several kinds of nodes,
 * where each search takes seconds, the shortest one comes first.
 */
static plait_status shorter_sequence(const relaxer *r, plait_error *err)
{
    const plait_job *const job = &r->problem->job;
    plait_problem shorter;
    plait_ranked best;
    bool fits = true;
    int least = job->seq / 2;

    while (least / 2 >= 128)
        least /= 2;
    if (least >= 128 && !plait_cluster_priced(r->problem->cluster, job->gpus, NULL, 0))
        PLAIT_TRY(search_shorter(r, least, &shorter, &fits, &best, err));
    for (int seq = job->seq / 2; fits && seq >= 128; seq /= 2) {
        bool one_fits;

        PLAIT_TRY(search_shorter(r, seq, &shorter, &one_fits, &best, err));
        if (!one_fits)
            continue;
        plait_relaxation *found = add_relaxation(r, &best, &shorter.job);
        if (found)
            snprintf(found->change, sizeof found->change, "sequences of %d tokens instead of %d",
                     seq, job->seq);
        return PLAIT_OK;
    }
    return PLAIT_OK;
}

static plait_status find_relaxations(const relaxer *r, plait_error *err)
{
    *r->count = 0;
    PLAIT_TRY(problem_check(r->problem, err));
    PLAIT_TRY(search_options_check(r->options, err));
    PLAIT_TRY(drop_limits(r, err));
    if (!is_full(r)) {
        plait_ranked best;
        bool fits;

        PLAIT_TRY(search_offloaded(r->problem, r->options, r->arena, &fits, &best, err));
        plait_relaxation *found = fits ? add_relaxation(r, &best, &r->problem->job) : NULL;
        if (found)
            snprintf(found->change, sizeof found->change, "search with --fix offload=%s",
                     plait_offload_name[best.plan.degrees.offload]);
    }
    if (!is_full(r))
        PLAIT_TRY(larger_cluster(r, err));
    return is_full(r) ? PLAIT_OK : shorter_sequence(r, err);
}

plait_status plait_relaxations(const plait_problem *problem, const plait_search_options *options,
                               plait_arena *arena, plait_relaxation *found, int *count,
                               plait_error *err)
{
    const relaxer r = {problem, options, arena, PLAIT_MAX_RELAXATIONS, found, count};

    return find_relaxations(&r, err);
}

plait_status plait_first_relaxation(const plait_problem *problem,
                                    const plait_search_options *options, plait_arena *arena,
                                    plait_relaxation *found, bool *any, plait_error *err)
{
    int count;
    const relaxer r = {problem, options, arena, 1, found, &count};

    PLAIT_TRY(find_relaxations(&r, err));
    *any = count > 0;
    return PLAIT_OK;
}

plait_status plait_relax_runtime(const plait_problem *problem, const plait_problem *other,
                                 const plait_search_options *options, bool offloaded,
                                 plait_arena *arena, plait_relaxation *found, bool *fits,
                                 plait_error *err)
{
    plait_ranked best;

    PLAIT_TRY(problem_check(other, err));
    PLAIT_TRY(search_options_check(options, err));
    PLAIT_TRY(offloaded ? search_offloaded(other, options, arena, fits, &best, err)
                        : search_best_plan(other, options, SEARCH_FITS, arena, fits, &best, err));
    if (!*fits)
        return PLAIT_OK;
    const plait_degrees *const d = &best.plan.degrees;
    *found = (plait_relaxation){.best = best, .job = other->job, .runtime = other->runtime};
    snprintf(found->change, sizeof found->change,
             "runtime %.40s instead of %.40s%s%s, with tp %d, pp %d, cp %d, ep %d, ZeRO %d",
             other->runtime->name, problem->runtime->name, offloaded ? ", --fix offload=" : "",
             offloaded ? plait_offload_name[d->offload] : "", d->tp, d->pp, d->cp, d->ep, d->zero);
    return PLAIT_OK;
}

// ---- gain of 10 % more of a resource -------------------------------------------------------

enum { PEAK, HBM, MEMORY, SCALE_UP, NETWORK, LATENCY, HOST };

static const char *const resources[PLAIT_SENSITIVITIES] = {
    [PEAK] = "matrix peak",          [HBM] = "HBM bandwidth",
    [MEMORY] = "HBM capacity",       [SCALE_UP] = "scale-up bandwidth",
    [NETWORK] = "network bandwidth", [LATENCY] = "link latency (less)",
    [HOST] = "host launch rate",
};

static void improve_resource(int resource, plait_cluster *cluster, plait_accelerator *gpu)
{
    static const double more = 1.1;

    switch (resource) {
    case PEAK:
        for (int p = 0; p < PLAIT_PRECISIONS; p++)
            gpu->peak_flops_per_s[p] *= more;
        break;
    case HBM:
        gpu->hbm_bytes_per_s *= more;
        break;
    case MEMORY:
        gpu->memory_bytes *= more;
        break;
    case SCALE_UP:
        cluster->level[0].link.bytes_per_s *= more;
        break;
    case NETWORK:
        for (int l = 1; l < cluster->levels; l++)
            cluster->level[l].link.bytes_per_s *= more;
        break;
    case LATENCY:
        for (int l = 0; l < cluster->levels; l++)
            cluster->level[l].link.latency_s /= more;
        for (int op = 0; op < PLAIT_FITTED_COLLECTIVES; op++)
            for (int p = 0; p < 3; p++) {
                gpu->collective[op].a_s[p] /= more;
                gpu->collective[op].b_s[p] /= more;
            }
        gpu->p2p.latency_s /= more;
        break;
    case HOST:
        cluster->host_speed *= more;
        break;
    }
}

/* Prices the same plan on hardware with 10 % more of one resource. */
plait_status plait_sensitivities(const plait_problem *problem, const plait_plan *plan,
                                 plait_arena *arena, plait_sensitivity found[PLAIT_SENSITIVITIES],
                                 plait_error *err)
{
    plait_cost today;

    PLAIT_TRY(plait_plan_evaluate(problem, plan, NULL, arena, &today, err));
    for (int i = 0; i < PLAIT_SENSITIVITIES; i++) {
        plait_accelerator gpu = *plait_cluster_accelerator(problem->cluster, 0);
        plait_cluster cluster = *problem->cluster;
        plait_problem changed = *problem;
        plait_plan chosen = *plan;
        plait_cost cost;

        improve_resource(i, &cluster, &gpu);
        for (int g = 0; g < cluster.groups; g++)
            cluster.group[g].accelerator = &gpu;
        changed.cluster = &cluster;
        // With more memory, less recomputation can suffice.
        if (i == MEMORY && today.verdict == PLAIT_FITS)
            PLAIT_TRY(plait_plan_choose_recompute(&changed, plan, arena, &chosen, err));
        PLAIT_TRY(plait_plan_evaluate(&changed, &chosen, NULL, arena, &cost, err));
        // The new choice of recomputation is uniform and can be slower than the plan's own choice
        // by stage.
        const double step_s = i == MEMORY ? fmin(cost.step_s, today.step_s) : cost.step_s;
        found[i] = (plait_sensitivity){
            .resource = resources[i],
            .step_s = step_s,
            .gain = today.step_s > 0.0 ? 1.0 - step_s / today.step_s : 0.0,
        };
    }
    return PLAIT_OK;
}
