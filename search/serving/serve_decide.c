/* serve_decide.c - confirmation by simulation of the plans that the closed forms rank (S.108) */
#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "search/serving/serve_private.h"

// ---- one run -------------------------------------------------------------------------------

/*
 * Number of requests of a simulation. Near saturation 10,000 requests reveal that 2 % of the load
 * is not carried (C.364); runs with many steps per request have fewer. The limits are choices: two
 * million steps, or a million requests, take about a second.
 */
static int requests_of(const plait_serve_options *q, const plait_serve_plan *plan, bool near)
{
    // long_steps: limit of steps for long outputs; a choice
    static const double usual = 2000.0, fewest = 100.0, long_steps = 1e7;
    static const double each = 10.0, near_least = 10000.0, near_each = 20.0;
    static const double most = 1e6, most_steps = 2e6;
    const double in_flight = plan->concurrency;
    const double least =
        larger(smaller(usual, long_steps * larger(in_flight, 1.0) / q->load.output), fewest);
    const double few = near ? smaller(near_least, most_steps * in_flight / q->load.output) : least;

    return (int)larger(smaller((near ? near_each : each) * in_flight, in_flight + most),
                       larger(few, least));
}

static plait_status simulate_plan(const plait_serve_options *q, const plait_serve_plan *plan,
                                  const serve_candidate *const role[PLAIT_SERVE_ROLES],
                                  plait_serve_sim_options draws, plait_arena *arena,
                                  plait_serve_sim_result *out, plait_error *err)
{
    plait_load load = q->load;

    if (load.kind == PLAIT_LOAD_CLOSED)
        load.concurrency = plan->concurrency;
    plait_deployment d = serve_deployment_of(q, plan, role);
    d.pool[plan->disaggregated].max_sequences = larger(plan->batch_cap, 1.0);
    return plait_serve_simulate(&d, load, draws, arena, out, err);
}

static plait_status roles_that_run(const plait_serve_options *q, const plait_serve_plan *plan,
                                   plait_arena *arena,
                                   const serve_candidate *role[PLAIT_SERVE_ROLES], plait_error *err)
{
    const char *why;

    PLAIT_TRY(serve_roles(q, plan, arena, role, &why, err));
    return why == NULL ? PLAIT_OK
                       : plait_fail(err, PLAIT_ERROR_RANGE, "simulation",
                                    "expected a deployment that can run, found: %s", why);
}

plait_status plait_serve_plan_simulate(const plait_serve_options *q, const plait_serve_plan *plan,
                                       plait_serve_sim_options draws, plait_arena *arena,
                                       plait_serve_sim_result *out, plait_error *err)
{
    const serve_candidate *role[PLAIT_SERVE_ROLES] = {NULL, NULL};

    PLAIT_TRY(roles_that_run(q, plan, arena, role, err));
    return simulate_plan(q, plan, role, draws, arena, out, err);
}

// ---- a verdict -----------------------------------------------------------------------------

/*
 * Returns true if the closed forms cannot decide: the load is more than half of the sustained rate,
 * or a bound is close. Up to half of that rate, TTFT of C.364 differs from the closed forms by at
 * most 1.37 times and TPOT by at most 1.21 times, in 225 random deployments.
 */
static bool is_near(const plait_serve_options *q, const plait_serve_plan *plan,
                    const serve_candidate *const role[PLAIT_SERVE_ROLES])
{
    static const double light = 0.5, ttft_off = 1.4, tpot_off = 1.25;
    double asked[PLAIT_SERVE_LIMITS], found[PLAIT_SERVE_LIMITS];
    plait_serve_plan heavier = *plan;
    plait_load load = q->load;

    if (q->tpot_p95_s > 0.0 || q->tpot_p99_s > 0.0) // no closed form computes these
        return true;
    serve_limits_of(q, plan->engine, asked);
    plait_serve_limits_found(plan, found);
    for (int l = 0; l < PLAIT_SERVE_LIMITS; l++)
        if (asked[l] > 0.0 &&
            found[l] * (l < PLAIT_SERVE_LIMIT_tpot ? ttft_off : tpot_off) > asked[l])
            return true;
    load.rate /= light;
    return load.kind == PLAIT_LOAD_RATE && !serve_price(q, load, &heavier, role);
}

/*
 * Replaces the times of a plan under random arrivals by those of its simulation, and derives batch
 * and concurrency from them by Little's law.
 */
static void use_simulated_times(const plait_serve_options *q, plait_serve_plan *plan)
{
    const plait_serve_sim_result *drawn = &plan->drawn;
    plait_service *s = &plan->service;
    const double busy = s->ttft_s - s->queue_s;

    s->batch = smaller(s->batch * drawn->tpot.mean_s / s->tpot_s, plan->batch_cap);
    s->ttft_s = drawn->ttft.mean_s;
    s->queue_s = larger(s->ttft_s - busy, 0.0);
    if (drawn->tpot.mean_s > 0.0)
        s->tpot_s = drawn->tpot.mean_s;
    s->e2e_s = drawn->e2e.mean_s;
    plan->ttft_p95_s = drawn->ttft.p95_s;
    plan->ttft_p99_s = drawn->ttft.p99_s;
    if (q->load.kind == PLAIT_LOAD_RATE)
        plan->concurrency = q->load.rate * s->e2e_s;
    plan->settled = true;
}

/* Sets *why to the first requirement that the simulation misses: the load, then the bounds. */
static plait_status describe_missed(const plait_serve_options *q, const plait_serve_plan *plan,
                                    plait_arena *arena, const char **why, plait_error *err)
{
    const plait_serve_sim_result *drawn = &plan->drawn;
    const double seen[PLAIT_SERVE_LIMITS] = {
        [PLAIT_SERVE_LIMIT_ttft] = drawn->ttft.mean_s,
        [PLAIT_SERVE_LIMIT_ttft_p95] = drawn->ttft.p95_s,
        [PLAIT_SERVE_LIMIT_ttft_p99] = drawn->ttft.p99_s,
        [PLAIT_SERVE_LIMIT_tpot] = drawn->tpot.mean_s,
        [PLAIT_SERVE_LIMIT_tpot_p95] = drawn->tpot.p95_s,
        [PLAIT_SERVE_LIMIT_tpot_p99] = drawn->tpot.p99_s,
    };
    double asked[PLAIT_SERVE_LIMITS];

    *why = NULL;
    if (drawn->stopped)
        return PLAIT_OK;
    if (drawn->full) {
        *why = plait_arena_printf(
            arena, "overloaded: %.4g requests/s arrive, %.3g complete in the simulation",
            q->load.rate, q->load.rate * drawn->carried);
        return *why == NULL ? plait_fail_nomem(err) : PLAIT_OK;
    }
    serve_limits_of(q, plan->engine, asked);
    for (int l = 0; l < PLAIT_SERVE_LIMITS && *why == NULL; l++)
        if (asked[l] > 0.0 && seen[l] > asked[l]) {
            *why = plait_arena_printf(arena, "the simulation gives %.4g ms, but %s allows %.4g ms",
                                      seen[l] * 1e3, plait_serve_limit_flag[l], asked[l] * 1e3);
            PLAIT_TRY(plait_check_allocated(*why, err));
        }
    return PLAIT_OK;
}

static plait_status judge_plan(const plait_serve_options *q,
                               const serve_candidate *const role[PLAIT_SERVE_ROLES],
                               plait_serve_sim_options draws, plait_arena *arena,
                               plait_serve_plan *plan, const char **why, plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    const bool near = is_near(q, plan, role);

    if (q->load.kind == PLAIT_LOAD_CLOSED) // the closed forms also exclude the start
        draws.warmup_requests = (int)plan->concurrency;
    if (draws.requests == 0)
        draws.requests = requests_of(q, plan, near && q->load.kind == PLAIT_LOAD_RATE);
    PLAIT_TRY(simulate_plan(q, plan, role, draws, arena, &plan->drawn, err));
    plait_arena_rewind(arena, mark);

    plan->simulated = true;
    plan->tpot_p95_s = plan->drawn.tpot.p95_s;
    plan->tpot_p99_s = plan->drawn.tpot.p99_s;
    if (near && !plan->drawn.stopped && q->load.kind == PLAIT_LOAD_RATE)
        use_simulated_times(q, plan);
    return describe_missed(q, plan, arena, why, err);
}

plait_status plait_serve_judge(const plait_serve_options *q, plait_serve_sim_options draws,
                               plait_arena *arena, plait_serve_plan *plan, const char **why,
                               plait_error *err)
{
    const serve_candidate *role[PLAIT_SERVE_ROLES] = {NULL, NULL};

    PLAIT_TRY(roles_that_run(q, plan, arena, role, err));
    return judge_plan(q, role, draws, arena, plan, why, err);
}

// ---- more workers --------------------------------------------------------------------------

/*
 * Returns a larger number of workers. It grows by the share of the load that an overloaded run did
 * not carry, or by 5 % after a missed bound, and by at least one.
 */
static int more_of(int count, const plait_serve_sim_result *drawn)
{
    const double share = drawn->full ? 1.0 / drawn->carried - 1.0 : 0.05;

    return count + (int)larger(floor(count * share), 1.0);
}

/*
 * Prices the deployment with more workers, or, if the options have no load, with fewer users.
 * Returns false if no such deployment within the GPUs meets the bounds.
 */
static bool add_workers(const plait_serve_options *q, plait_serve_plan *plan,
                        const serve_candidate *const role[PLAIT_SERVE_ROLES])
{
    static const double fewer = 0.8;
    const plait_serve_sim_result drawn = plan->drawn;
    plait_load load = q->load;

    if (load.kind == PLAIT_LOAD_CLOSED && load.concurrency <= 0.0) {
        load.concurrency = floor(fewer * plan->concurrency);
        return load.concurrency >= 1.0 && serve_price(q, load, plan, role) && serve_meets(q, plan);
    }
    for (;;) {
        if (plan->disaggregated) { // add to the busier role
            const double share = plan->service.batch / larger(plan->batch_cap, 1.0);
            int *const count = &plan->count[share > plan->service.utilisation];
            *count = more_of(*count, &drawn);
        } else
            plan->replicas = more_of(plan->replicas, &drawn);
        const bool stable = serve_price(q, load, plan, role);
        if (plan->gpus > q->gpus)
            return false;
        if (stable && serve_meets(q, plan))
            return true;
    }
}

// ---- the ranking ---------------------------------------------------------------------------

typedef struct decision {
    const plait_serve_options *q;
    plait_serve_sim_options draws;
    plait_arena *arena;
    plait_serve_answer *out;
    bool first_only; /* stop at the first confirmed plan */
    bool front;      /* search the front too */
    double work;     /* simulated requests plus a third of the steps: about a microsecond each */
} decision;

static plait_serve_plan remove_plan(plait_serve_answer *out, int at)
{
    const plait_serve_plan plan = out->plan[at];

    out->plans--;
    memmove(&out->plan[at], &out->plan[at + 1], (size_t)(out->plans - at) * sizeof plan);
    return plan;
}

/*
 * Simulates the plan at index `at`. A confirmed plan stays in the ranking. Otherwise the same plan
 * with more workers, if any meets the bounds, enters the ranking in its place.
 */
static plait_status judge_at(decision *b, int at, const serve_candidate *role[PLAIT_SERVE_ROLES],
                             plait_error *err)
{
    const char *why;
    plait_serve_plan plan = remove_plan(b->out, at);

    b->out->simulations++;
    PLAIT_TRY(judge_plan(b->q, role, b->draws, b->arena, &plan, &why, err));
    b->work += plan.drawn.requests + plan.drawn.steps / 3.0;
    if (why == NULL) {
        serve_keep(b->out, &plan);
        return PLAIT_OK;
    }
    // Among rejected plans, the one whose simulation exceeds its bounds least becomes the nearest.
    plait_serve_answer *out = b->out;
    plait_serve_plan seen = plan;

    if (!seen.settled)
        use_simulated_times(b->q, &seen);
    out->rejected[PLAIT_SERVE_REJECT_SIMULATED]++;
    if (!plan.drawn.full &&
        (!out->has_nearest || serve_excess(b->q, &seen) < serve_excess(b->q, &out->nearest))) {
        out->has_nearest = true;
        out->nearest = seen;
        out->needs_ttft_s = seen.service.ttft_s;
        out->needs_tpot_s = seen.service.tpot_s;
    }
    if (add_workers(b->q, &plan, role))
        serve_keep(b->out, &plan);
    return PLAIT_OK;
}

/* S.108: a decision within these limits takes a few seconds. The limits are choices. */
static bool is_spent(const decision *b)
{
    static const int simulations = 24, of_one = 8;
    static const double work = 1e6;

    return b->out->simulations >= (b->first_only ? of_one : simulations) || b->work >= work;
}

/*
 * Simulates the plans that are shown: the first always, the others if they are near saturation and
 * work is left.
 */
static plait_status judge_all(decision *b, plait_error *err)
{
    plait_serve_answer *out = b->out;

    for (int at = 0; at < out->plans && at < PLAIT_SERVE_SHOWN;) {
        const serve_candidate *role[PLAIT_SERVE_ROLES] = {NULL, NULL};
        const plait_arena_mark mark = plait_arena_save(b->arena);

        if (at > 0 && b->first_only)
            break;
        PLAIT_TRY(roles_that_run(b->q, &out->plan[at], b->arena, role, err));
        const bool skipped =
            out->plan[at].simulated || (at > 0 && !is_near(b->q, &out->plan[at], role));
        if (skipped || (at > 0 && is_spent(b))) {
            out->plan[at].unjudged = !skipped;
            at++;
        } else if (is_spent(b)) { // an unconfirmed plan must not rank first
            remove_plan(out, at);
            out->rejected[PLAIT_SERVE_REJECT_SIMULATED]++;
        } else
            PLAIT_TRY(judge_at(b, at, role, err));
        plait_arena_rewind(b->arena, mark);
    }
    return PLAIT_OK;
}

/*
 * Searches plans that sustain `margin` times the load by the closed forms, and prices them at the
 * load itself.
 */
static plait_status search_beyond(decision *b, double margin, plait_error *err)
{
    plait_serve_options beyond = *b->q;
    plait_serve_answer *out = b->out;
    const serve_candidate *role[PLAIT_SERVE_ROLES] = {NULL, NULL};
    int kept = 0;

    beyond.load.rate *= margin;
    PLAIT_TRY(serve_search(&beyond, b->front, b->arena, out, err));
    for (int i = 0; margin > 1.0 && i < out->plans; i++) {
        const plait_arena_mark mark = plait_arena_save(b->arena);
        PLAIT_TRY(roles_that_run(b->q, &out->plan[i], b->arena, role, err));
        if (serve_price(b->q, b->q->load, &out->plan[i], role))
            out->plan[kept++] = out->plan[i];
        plait_arena_rewind(b->arena, mark);
    }
    if (margin > 1.0)
        out->plans = kept;
    return PLAIT_OK;
}

plait_status serve_decide(const plait_serve_options *q, plait_serve_sim_options draws,
                          bool first_only, bool front, double *work, plait_arena *arena,
                          plait_serve_answer *out, plait_error *err)
{
    static const double margin[] = {1.0, 1.1, 1.25}; // factors on the load; a choice
    plait_serve_answer *first = plait_arena_alloc(arena, 1, sizeof *first);
    decision b = {q, draws, arena, out, first_only, front, 0.0};

    PLAIT_TRY(plait_check_allocated(first, err));
    for (size_t m = 0; m < sizeof margin / sizeof *margin; m++) {
        const int before = m > 0 ? first->simulations : 0;
        PLAIT_TRY(search_beyond(&b, margin[m], err));
        const bool any = out->plans > 0;
        out->simulations = before;
        PLAIT_TRY(judge_all(&b, err));
        if (out->plans > 0 || q->load.kind != PLAIT_LOAD_RATE) {
            *work += b.work;
            return PLAIT_OK;
        }
        if (m == 0)
            *first = *out;
        first->simulations = out->simulations;
        if (!any || is_spent(&b))
            break;
    }
    *work += b.work;
    *out = *first;
    return PLAIT_OK;
}

plait_status plait_serve_decide(const plait_serve_options *q, plait_serve_sim_options draws,
                                plait_arena *arena, plait_serve_answer *out, plait_error *err)
{
    double work = 0.0;

    return serve_decide(q, draws, false, true, &work, arena, out, err);
}
