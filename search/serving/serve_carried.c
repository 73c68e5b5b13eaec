/*
 * serve_carried.c - for an infeasible rate: the rate that the GPUs sustain, and the GPUs that the
 * rate needs (S.109)
 */
#include <math.h>

#include "base/numbers.h"
#include "plait/problem.h"
#include "search/serving/serve_private.h"
#include "plan/serve_values.h"

typedef struct reach {
    const plait_serve_options *q;
    plait_serve_sim_options draws;
    plait_arena *arena;
    plait_serve_answer *answer; /* result of the last decision */
    double looked;              /* deployments priced by all decisions */
    int simulations;
    double work; /* simulation work of all decisions, in the unit of S.108 */
} reach;

/*
 * Sets *yes to whether `gpus` GPUs sustain the rate; if so, r->answer->plan[0] is a deployment that
 * does.
 */
static plait_status is_sustained(reach *r, const plait_cluster *cluster, int gpus, double rate,
                                 bool *yes, plait_error *err)
{
    plait_serve_options q = *r->q;
    const plait_arena_mark mark = plait_arena_save(r->arena);

    q.cluster = cluster;
    q.gpus = gpus;
    q.load.rate = rate;
    PLAIT_TRY(
        serve_decide(&q, r->draws, true, r->looked <= 0.0, &r->work, r->arena, r->answer, err));
    plait_arena_rewind(r->arena, mark);
    r->looked += (double)r->answer->looked;
    r->simulations += r->answer->simulations;
    *yes = r->answer->plans > 0;
    return PLAIT_OK;
}

/*
 * True when the search must stop, after one to two seconds of pricing and simulation. The limits
 * are choices, not measured.
 */
static bool is_spent(const reach *r)
{
    return r->looked >= 1e5 || r->simulations >= 16 || r->work >= 4e6;
}

/*
 * Returns the request rate of all GPUs at the point of the last decision's Pareto front with the
 * most tokens/s; 0 without such a point. Points on the front are closed loops, so the result only
 * approximates the maximum rate for random arrivals.
 */
static double front_rate(const reach *r)
{
    double most = 0.0;

    for (int i = 0; i < r->answer->front; i++) {
        const plait_serve_plan *p = &r->answer->at_front[i];
        if (!serve_misses(r->q, p, PLAIT_SERVE_LIMIT_tpot, PLAIT_SERVE_LIMIT_tpot + 1))
            most = larger(most, p->tokens_per_s_gpu * r->q->gpus / r->q->load.output);
    }
    return most;
}

/*
 * Tries a rate between out->rate, the highest sustained one, and *high, the lowest rejected one,
 * and moves one of these two limits to it.
 */
static plait_status try_rate(reach *r, double rate, double *high, plait_serve_reach *out,
                             plait_error *err)
{
    bool yes;

    PLAIT_TRY(is_sustained(r, r->q->cluster, r->q->gpus, rate, &yes, err));
    if (yes) {
        out->rate = rate;
        out->plan = r->answer->plan[0];
    } else
        *high = rate;
    return PLAIT_OK;
}

/* GPUs of one replica. */
static int gpus_of_one(const plait_serve_plan *plan)
{
    return plan->gpus / plan->replicas;
}

/*
 * Returns the number of replicas for `rate` if out->plan sustains out->rate. The number grows in
 * proportion, since the share of random arrivals that each replica gets is itself random.
 */
static double copies_for(const plait_serve_reach *out, double rate)
{
    return ceil(out->plan.replicas * rate / out->rate * (1.0 - 1e-9));
}

/*
 * Simulates `replicas` replicas of out->plan at a higher rate; if they sustain it, they replace
 * out->plan.
 */
static plait_status try_copies(reach *r, int replicas, double rate, bool *yes,
                               plait_serve_reach *out, plait_error *err)
{
    plait_serve_options q = *r->q;
    plait_serve_plan plan = out->plan;
    const char *why;

    q.load.rate = rate;
    plan.replicas = replicas;
    PLAIT_TRY(plait_serve_evaluate(&q, r->arena, &plan, &why, err));
    if (why == NULL) {
        PLAIT_TRY(plait_serve_judge(&q, r->draws, r->arena, &plan, &why, err));
        r->work += plan.drawn.requests + plan.drawn.steps / 3.0;
    }
    *yes = why == NULL;
    if (*yes) {
        out->rate = rate;
        out->plan = plan;
    }
    return PLAIT_OK;
}

/*
 * Finds the fewest replicas that sustain the requested rate, more than out->plan has and at most
 * `high`. After most_work it returns the fewest found so far. *fewest is 0 if `high` replicas do
 * not sustain the rate.
 */
static plait_status fewest_copies(reach *r, int high, int *fewest, plait_serve_reach *out,
                                  plait_error *err)
{
    static const double most_work = 2e6; // about two seconds; a choice
    const double asked = r->q->load.rate, start = r->work;
    int low = out->plan.replicas;
    bool yes;

    *fewest = 0;
    PLAIT_TRY(try_copies(r, high, asked, &yes, out, err));
    if (!yes)
        return PLAIT_OK;
    while (high - low > 1 && r->work - start < most_work) {
        const int middle = low + (high - low) / 2;

        PLAIT_TRY(try_copies(r, middle, asked, &yes, out, err));
        if (yes)
            high = middle;
        else
            low = middle;
    }
    *fewest = high;
    return PLAIT_OK;
}

/*
 * Replaces out->plan by the fewest replicas within the GPUs that sustain the requested rate, or
 * else by as many as fit. The decision of S.108 can stop at its limit of work before it reaches
 * such a plan, since bounds that only a light load meets need many more workers in the simulation
 * than in the closed forms.
 */
static plait_status fill_gpus(reach *r, plait_serve_reach *out, plait_error *err)
{
    const double asked = r->q->load.rate;
    const int room = r->q->gpus / gpus_of_one(&out->plan);
    const double rate = out->rate * room / out->plan.replicas;
    const int high = (int)smaller(copies_for(out, asked), room);
    int fewest;
    bool yes;

    if (high == out->plan.replicas)
        return PLAIT_OK;
    PLAIT_TRY(fewest_copies(r, high, &fewest, out, err));
    out->answers = fewest > 0;
    return out->answers || rate >= asked ? PLAIT_OK : try_copies(r, room, rate, &yes, out, err);
}

/*
 * Finds the number of GPUs, in whole nodes, that the requested rate needs: that of the necessary
 * replicas of out->plan, or fewer if another deployment sustains the rate.
 */
static plait_status find_gpus(reach *r, plait_serve_reach *out, plait_error *err)
{
    static const int most_gpus = 64; // limit of searches that take a fraction of a second
    const int node = r->q->cluster->group[0].gpus_per_node;
    const int each = gpus_of_one(&out->plan);
    double copies = larger(copies_for(out, r->q->load.rate) * each, r->q->gpus + 1.0);
    int low = r->q->gpus / node, high, fewest = 0;
    plait_serve_reach more = *out;

    if (copies <= most_gpus)
        PLAIT_TRY(fewest_copies(r, (int)ceil(copies / each), &fewest, &more, err));
    if (fewest > 0)
        copies = (double)fewest * each;

    if (copies > PLAIT_MAX_GPUS - node)
        return PLAIT_OK;
    if (copies <= node) {
        out->gpus = (int)copies;
        return PLAIT_OK;
    }
    high = (int)ceil(copies / node);
    while (high - low > 1 && high * node <= most_gpus && !is_spent(r)) {
        const int middle = low + (high - low) / 2;
        plait_cluster cluster = *r->q->cluster;
        plait_error none;
        bool yes;

        if (plait_cluster_take(&cluster, middle * node, &none) != PLAIT_OK)
            break;
        PLAIT_TRY(is_sustained(r, &cluster, middle * node, r->q->load.rate, &yes, err));
        if (yes)
            high = middle;
        else
            low = middle;
    }
    out->gpus = high * node;
    return PLAIT_OK;
}

plait_status plait_serve_reach_of(const plait_serve_options *q, plait_serve_sim_options draws,
                                  plait_arena *arena, plait_serve_reach *out, plait_error *err)
{
    reach r = {.q = q, .draws = draws, .arena = arena};

    *out = (plait_serve_reach){0};
    PLAIT_TRY(serve_check_question(q, err));
    if (q->load.kind != PLAIT_LOAD_RATE)
        return PLAIT_OK;
    r.answer = plait_arena_alloc(arena, 1, sizeof *r.answer);
    PLAIT_TRY(plait_check_allocated(r.answer, err));
    // Try half of the requested rate, then the rate of the front divided by 2, 4, 16, ... until one
    // is sustained; then bisect to within 5 %. After the last divisor each request is alone, so a
    // failure there occurs at any rate. `least` is the smallest rate that the options allow.
    static const double least = 1e-9, close = 1.05, last_divisor = 1e10;
    double high = r.q->load.rate, divisor = 2.0;

    PLAIT_TRY(try_rate(&r, larger(high / 2.0, least), &high, out, err));
    for (double rate = front_rate(&r);
         out->rate <= 0.0 && divisor < last_divisor && high > least;) {
        rate = larger(rate > 0.0 && rate < high ? rate : high / divisor, least);
        PLAIT_TRY(try_rate(&r, rate, &high, out, err));
        rate /= divisor;
        divisor *= divisor;
    }
    while (out->rate > 0.0 && high > close * out->rate && !is_spent(&r))
        PLAIT_TRY(try_rate(&r, smaller(2.0 * out->rate, sqrt(high * out->rate)), &high, out, err));
    if (out->rate > 0.0)
        PLAIT_TRY(fill_gpus(&r, out, err));
    if (out->answers)
        out->gpus = out->plan.gpus;
    else if (out->rate > 0.0)
        return find_gpus(&r, out, err);
    return PLAIT_OK;
}
