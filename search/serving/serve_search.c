/* serve_search.c - cheapest deployment that meets the bounds, by exhaustive search */
#include <math.h>
#include <string.h>

#include "base/numbers.h"
#include "costmodel/api.h"
#include "plait/units.h"
#include "search/serving/serve_private.h"
#include "plan/serve_values.h"

const char *const plait_serve_reject_name[] = {
    "degrees do not divide the model",
    "workers that an engine does not start",
    "weights or one sequence do not fit",
    "more comes than leaves",
    "first token too late",
    "tokens too slow",
    "pairs dearer at their best",
    "overturned by the simulation",
    NULL,
};

/* Token budgets of a step that the search tries. (S.98) */
static const double chunks[] = {2048.0, 8192.0, 16384.0};

enum { CHUNKS = sizeof chunks / sizeof *chunks };

// ---- one deployment ------------------------------------------------------------------------

/* Returns the probability that a prompt waits longer than t. (C.379) */
static double waits_beyond(const plait_service *s, double t)
{
    const double share = smaller(s->utilisation, 1.0);

    if (t < 0.0)
        return 1.0;
    return s->queue_s > 0.0 ? share * exp(-t * share / s->queue_s) : 0.0;
}

/* Returns the share of the requests whose TTFT exceeds t, over the groups of prompts. (C.400) */
static double share_beyond(const plait_service *s, double t)
{
    const double without_wait_s = s->ttft_s - s->queue_s;
    double sum = 0.0;

    for (int g = 0; g < s->groups; g++)
        sum += s->group_share[g] * waits_beyond(s, t - without_wait_s - s->group_later_s[g]);
    return sum;
}

/*
 * C.379: returns the TTFT that a share `beyond` of the requests exceeds. The tail of the wait falls
 * as e^(-t/m), where m is the mean wait of the requests that wait. If users wait for a free place
 * in the cache or for a round of prompts, all wait equally long. With groups of prompts the time is
 * found by bisection (C.400).
 */
static double ttft_of_slowest(const plait_service *s, plait_load_kind kind, double beyond)
{
    const double share = smaller(larger(s->utilisation, beyond), 1.0);

    if (kind != PLAIT_LOAD_RATE &&
        (s->binds == PLAIT_SERVE_BINDS_CAPACITY || s->utilisation >= 1.0))
        return s->ttft_s + s->queue_s;
    if (s->groups == 0)
        return s->ttft_s - s->queue_s + log(share / beyond) * s->queue_s / share;
    double low = 0.0, high = s->ttft_s;
    while (share_beyond(s, high) > beyond)
        high *= 2.0;
    for (int i = 0; i < 40; i++) {
        const double middle = 0.5 * (low + high);
        *(share_beyond(s, middle) > beyond ? &low : &high) = middle;
    }
    return high;
}

plait_deployment serve_deployment_of(const plait_serve_options *q, const plait_serve_plan *plan,
                                     const serve_candidate *const role[PLAIT_SERVE_ROLES])
{
    plait_deployment d = {
        .engine = plan->engine, .replicas = plan->replicas, .disaggregated = plan->disaggregated};

    for (int r = 0; r <= plan->disaggregated; r++)
        d.pool[r] = plait_pool_of(&role[r]->table, plan->engine, &role[r]->memory, plan->count[r],
                                  plan->chunk_tokens);
    if (plan->disaggregated) {
        d.transfer = plait_serve_transfer(q->cluster);
        d.cache_token_bytes = role[0]->memory.token;
    }
    return d;
}

bool serve_price(const plait_serve_options *q, plait_load load, plait_serve_plan *plan,
                 const serve_candidate *const role[PLAIT_SERVE_ROLES])
{
    const plait_deployment d = serve_deployment_of(q, plan, role);
    const int last = plan->disaggregated;

    plan->gpus = 0;
    for (int r = 0; r <= last; r++) {
        plan->worker[r] = role[r]->serving.worker;
        plan->kv_tokens[r] = d.pool[r].kv_tokens;
        plan->gpus += plan->replicas * plan->count[r] * plait_worker_gpus(plan->worker[r]);
    }
    plan->weights = role[0]->serving.weights;
    plan->kv = role[0]->serving.kv;
    plan->concurrency = load.concurrency;
    plan->service = plait_serve(&d, load);
    if (!plan->service.stable)
        return false;
    plan->batch_cap = plait_serve_batch_cap(&d, &load);
    plan->service.batch = smaller(plan->service.batch, plan->batch_cap);
    plan->ttft_p95_s = ttft_of_slowest(&plan->service, load.kind, 0.05);
    plan->ttft_p99_s = ttft_of_slowest(&plan->service, load.kind, 0.01);
    plan->tpot_p95_s = plan->tpot_p99_s = (double)NAN;
    plan->simulated = plan->settled = plan->unjudged = false;
    if (load.kind == PLAIT_LOAD_RATE)
        plan->concurrency = load.rate * plan->service.e2e_s;
    // C.95 and C.96: cost, and energy at the power of kernels that wait for memory
    static const double moving_share = 0.7; // share of the power range, as in C.96
    const plait_accelerator *gpu = q->cluster->group[0].accelerator;
    const double rate = plan->service.output_tokens_per_s;
    const double host_w = q->cluster->node_overhead_w / q->cluster->group[0].gpus_per_node;
    const double power_w =
        q->cluster->pue * (gpu->idle_w + moving_share * (gpu->power_w - gpu->idle_w) + host_w);

    plan->tokens_per_s_gpu = rate / plan->gpus;
    plan->usd_per_mtok = gpu->usd_per_hour > 0.0
                             ? plan->gpus * gpu->usd_per_hour / PLAIT_HOUR / rate * 1e6
                             : (double)NAN;
    plan->joules_per_tok = gpu->power_w > 0.0 ? plan->gpus * power_w / rate : (double)NAN;
    return true;
}

void plait_serve_limits_found(const plait_serve_plan *plan, double seconds[PLAIT_SERVE_LIMITS])
{
    const plait_service *s = &plan->service;

    seconds[PLAIT_SERVE_LIMIT_ttft] = s->ttft_s;
    seconds[PLAIT_SERVE_LIMIT_ttft_p95] = plan->ttft_p95_s;
    seconds[PLAIT_SERVE_LIMIT_ttft_p99] = plan->ttft_p99_s;
    seconds[PLAIT_SERVE_LIMIT_tpot] = s->tpot_s;
    seconds[PLAIT_SERVE_LIMIT_tpot_p95] = isnan(plan->tpot_p95_s) ? s->tpot_s : plan->tpot_p95_s;
    seconds[PLAIT_SERVE_LIMIT_tpot_p99] = isnan(plan->tpot_p99_s) ? s->tpot_s : plan->tpot_p99_s;
}

void serve_limits_of(const plait_serve_options *q, const plait_engine *engine,
                     double seconds[PLAIT_SERVE_LIMITS])
{
    plait_serve_limits_asked(q, seconds);
    for (int l = 0; l < PLAIT_SERVE_LIMITS; l++) {
        const double factor =
            engine->bound_factor[l < PLAIT_SERVE_LIMIT_tpot ? PLAIT_SERVE_TTFT : PLAIT_SERVE_TPOT];
        seconds[l] /= factor > 0.0 ? factor : 1.0;
    }
}

double serve_excess(const plait_serve_options *q, const plait_serve_plan *plan)
{
    double asked[PLAIT_SERVE_LIMITS], found[PLAIT_SERVE_LIMITS], excess = 0.0;

    serve_limits_of(q, plan->engine, asked);
    plait_serve_limits_found(plan, found);
    for (int l = 0; l < PLAIT_SERVE_LIMITS; l++)
        if (asked[l] > 0.0)
            excess = larger(excess, found[l] / asked[l]);
    return excess;
}

bool serve_misses(const plait_serve_options *q, const plait_serve_plan *plan, int first, int end)
{
    double asked[PLAIT_SERVE_LIMITS], found[PLAIT_SERVE_LIMITS];

    serve_limits_of(q, plan->engine, asked);
    plait_serve_limits_found(plan, found);
    for (int l = first; l < end; l++)
        if (asked[l] > 0.0 && found[l] > asked[l])
            return true;
    return false;
}

double serve_tightest_tpot(const plait_serve_options *q, const plait_engine *engine)
{
    double asked[PLAIT_SERVE_LIMITS], tightest = 0.0;

    serve_limits_of(q, engine, asked);
    for (int i = PLAIT_SERVE_LIMIT_tpot; i < PLAIT_SERVE_LIMITS; i++)
        if (asked[i] > 0.0 && (tightest <= 0.0 || asked[i] < tightest))
            tightest = asked[i];
    return tightest;
}

bool serve_meets(const plait_serve_options *q, const plait_serve_plan *plan)
{
    return plan->service.stable && !serve_misses(q, plan, 0, PLAIT_SERVE_LIMITS);
}

// ---- what is kept --------------------------------------------------------------------------

/* Compares GPU seconds per token, then end-to-end time. Among equal plans the first stays first. */
static bool is_cheaper(const plait_serve_plan *a, const plait_serve_plan *b)
{
    if (a->tokens_per_s_gpu != b->tokens_per_s_gpu)
        return a->tokens_per_s_gpu > b->tokens_per_s_gpu;
    return a->service.e2e_s < b->service.e2e_s;
}

/* True if two plans differ only in token budget, cache format and numbers of workers. */
static bool is_variant(const plait_serve_plan *a, const plait_serve_plan *b)
{
    return a->engine == b->engine && a->disaggregated == b->disaggregated &&
           a->weights == b->weights && memcmp(a->worker, b->worker, sizeof a->worker) == 0;
}

void serve_keep(plait_serve_answer *out, const plait_serve_plan *plan)
{
    int at = 0;

    while (at < out->plans && !is_variant(plan, &out->plan[at]))
        at++;
    if (at == out->plans) {
        if (out->plans < PLAIT_SERVE_MAX_PLANS)
            out->plans++;
        else if (!is_cheaper(plan, &out->plan[--at]))
            return;
    } else if (!is_cheaper(plan, &out->plan[at]))
        return;
    for (; at > 0 && is_cheaper(plan, &out->plan[at - 1]); at--)
        out->plan[at] = out->plan[at - 1];
    out->plan[at] = *plan;
}

/*
 * Keeps the plan as the nearest if the largest ratio of its times to their bounds is the smallest
 * so far.
 */
static void consider_nearest(serve_search_state *s, const plait_serve_plan *plan)
{
    const double lack = serve_excess(s->q, plan);

    if (plan->gpus > s->q->gpus) // such a plan gives all GPUs to each role
        return;
    if (s->out->has_nearest && lack >= s->lack)
        return;
    s->lack = lack;
    s->out->has_nearest = true;
    s->out->nearest = *plan;
    s->out->needs_ttft_s = plan->service.ttft_s;
    s->out->needs_tpot_s = plan->service.tpot_s;
}

void serve_reject(serve_search_state *s, const plait_serve_plan *plan)
{
    const plait_serve_options *q = s->q;
    plait_serve_reject why = PLAIT_SERVE_REJECT_LOAD;

    if (serve_meets(q, plan)) // the plan needs too many GPUs, or costs more than the kept plans
        why = PLAIT_SERVE_REJECT_BOUND;
    else if (plan->service.stable) {
        why = serve_misses(q, plan, PLAIT_SERVE_LIMIT_tpot, PLAIT_SERVE_LIMITS)
                  ? PLAIT_SERVE_REJECT_TPOT
                  : PLAIT_SERVE_REJECT_TTFT;
        consider_nearest(s, plan);
    }
    s->out->rejected[why]++;
}

// ---- one pool ------------------------------------------------------------------------------

/*
 * S.99: with more replicas each has less load, so TTFT and TPOT fall, and bisection finds the
 * fewest replicas that meet the bounds. `each` is the number of GPUs of one replica.
 */
static void find_replicas(serve_search_state *s, plait_serve_plan *plan,
                          const serve_candidate *role[PLAIT_SERVE_ROLES], int each)
{
    int low = 1, high = s->q->gpus / each;

    plan->replicas = high;
    s->out->looked++;
    serve_price(s->q, s->q->load, plan, role);
    if (!serve_meets(s->q, plan)) {
        serve_reject(s, plan);
        return;
    }
    while (low < high) {
        const int middle = low + (high - low) / 2;
        plan->replicas = middle;
        serve_price(s->q, s->q->load, plan, role);
        s->out->looked++;
        if (serve_meets(s->q, plan))
            high = middle;
        else
            low = middle + 1;
    }
    plan->replicas = high;
    serve_price(s->q, s->q->load, plan, role);
    serve_keep(s->out, plan);
}

/* Fills 1, 2, 3, 4, 5, 7, 9, 12, ...: each entry is 25 % more than the previous one, rounded up. */
static int fill_users(double *users)
{
    int count = 0;

    for (double c = 1.0; c <= 8192.0; c = ceil(c * 1.25))
        users[count++] = c;
    return count;
}

/*
 * Prices one replica under `users` users. Returns false if it misses a bound or requests wait for
 * memory.
 */
static bool holds_users(serve_search_state *s, plait_serve_plan *plan, double users,
                        const serve_candidate *const role[PLAIT_SERVE_ROLES])
{
    plait_load load = s->q->load;

    load.concurrency = users;
    s->out->looked++;
    return serve_price(s->q, load, plan, role) && serve_meets(s->q, plan) &&
           plan->service.binds != PLAIT_SERVE_BINDS_CAPACITY;
}

/*
 * Share of the maximum tokens/s that counts as equal to it, since more users would mainly wait
 * longer. A choice.
 */
static const double as_many = 0.99;

/*
 * Finds the fewest users, up to users[high], whose tokens/s count as equal to those of users[high].
 * *best is the plan for users[high] on entry and for the fewest users on return.
 */
static void find_fewest_users(serve_search_state *s, const double *users, int high,
                              const serve_candidate *const role[PLAIT_SERVE_ROLES],
                              plait_serve_plan *best)
{
    const double enough = as_many * best->tokens_per_s_gpu;
    plait_serve_plan plan = *best;
    int low = 0;

    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (holds_users(s, &plan, users[middle], role) && plan.tokens_per_s_gpu >= enough) {
            *best = plan;
            high = middle;
        } else
            low = middle + 1;
    }
}

/*
 * More users increase TTFT, TPOT and tokens/s, so bisection finds the most users within the bounds.
 */
double serve_find_users(serve_search_state *s, plait_serve_plan *plan,
                        const serve_candidate *const role[PLAIT_SERVE_ROLES])
{
    double users[64];
    plait_serve_plan best = {0};
    int low = 0, high = fill_users(users);

    plan->replicas = 1;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (holds_users(s, plan, users[middle], role)) {
            best = *plan;
            low = middle + 1;
        } else
            high = middle;
    }
    if (best.gpus == 0) {
        serve_reject(s, plan);
        return 0.0;
    }
    const double most = best.tokens_per_s_gpu;
    find_fewest_users(s, users, high - 1, role, &best);
    serve_keep(s->out, &best);
    return most;
}

bool serve_breaks_rule(const plait_serve_options *q, const plait_engine *engine,
                       const serve_candidate *c)
{
    return plait_serve_rule_broken(engine->kind, q->model, &q->load, c->serving.worker) != NULL ||
           serve_weights_broken(engine->kind, q->model, c->serving.weights, c->serving.worker) !=
               NULL;
}

bool serve_fits(const plait_engine *engine, const serve_candidate *c, const plait_load *load)
{
    return plait_serve_kv_tokens(&c->memory, engine) >= plait_load_longest(load);
}

static void search_aggregated(serve_search_state *s, const plait_engine *engine,
                              const serve_candidate *c)
{
    const serve_candidate *role[PLAIT_SERVE_ROLES] = {c, NULL};
    const int each = plait_worker_gpus(c->serving.worker);

    if (!serve_fits(engine, c, &s->q->load)) {
        s->out->rejected[PLAIT_SERVE_REJECT_MEMORY]++;
        return;
    }
    const double asked = s->q->chunk_tokens;
    for (int k = 0; k < (asked > 0.0 ? 1 : CHUNKS); k++) {
        plait_serve_plan plan = {
            .engine = engine, .count = {1, 0}, .chunk_tokens = asked > 0.0 ? asked : chunks[k]};
        if (s->q->load.kind == PLAIT_LOAD_CLOSED && s->q->load.concurrency <= 0.0)
            serve_find_users(s, &plan, role);
        else
            find_replicas(s, &plan, role, each);
    }
}

// ---- the front -----------------------------------------------------------------------------

void serve_add_front(plait_serve_answer *out, const plait_serve_plan *plan)
{
    int at = 0, kept = 0;

    for (int i = 0; i < out->front; i++) // stop if any plan is as fast and as cheap
        if (out->at_front[i].service.tpot_s <= plan->service.tpot_s &&
            out->at_front[i].tokens_per_s_gpu >= plan->tokens_per_s_gpu)
            return;
    for (int i = 0; i < out->front; i++) // remove the dominated plans
        if (out->at_front[i].service.tpot_s < plan->service.tpot_s ||
            out->at_front[i].tokens_per_s_gpu > plan->tokens_per_s_gpu)
            out->at_front[kept++] = out->at_front[i];
    out->front = kept;
    if (out->front == PLAIT_SERVE_MAX_FRONT)
        return;
    while (at < out->front && out->at_front[at].service.tpot_s < plan->service.tpot_s)
        at++;
    memmove(&out->at_front[at + 1], &out->at_front[at],
            (size_t)(out->front - at) * sizeof *out->at_front);
    out->at_front[at] = *plan;
    out->front++;
}

/* Prices one worker under 1, 2, 4, ... users: tokens/s per GPU as a function of TPOT. */
static void search_front(serve_search_state *s, const plait_engine *engine,
                         const serve_candidate *c)
{
    const serve_candidate *role[PLAIT_SERVE_ROLES] = {c, NULL};
    plait_load load = s->q->load;

    load.kind = PLAIT_LOAD_CLOSED;
    for (double users = 1.0; users <= 4096.0; users *= 2.0) {
        plait_serve_plan plan = {
            .engine = engine, .replicas = 1, .count = {1, 0}, .chunk_tokens = engine->chunk_tokens};
        load.concurrency = users;
        s->out->looked++;
        if (!serve_price(s->q, load, &plan, role) ||
            plan.service.binds == PLAIT_SERVE_BINDS_CAPACITY)
            break;
        if (serve_misses(s->q, &plan, PLAIT_SERVE_LIMIT_ttft, PLAIT_SERVE_LIMIT_ttft + 1))
            break;
        serve_add_front(s->out, &plan);
    }
}

// ---- the search ----------------------------------------------------------------------------

static plait_status check_options(const plait_serve_options *q, plait_error *err)
{
    PLAIT_TRY(serve_check_question(q, err));
    if (q->engines < 1)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--engine",
                          "expected an engine with a profile, found none");
    if (q->gpus < 1)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--gpus",
                          "expected at least one GPU, found none");
    if (q->load.input < 1.0 || q->load.output < 1.0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--output-tokens",
                          "expected at least one input token and one output token, found fewer");
    if (q->weights == 0 || q->kv == 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--weights",
                          "the accelerator supports none of the given formats");
    return PLAIT_OK;
}

plait_status serve_search(const plait_serve_options *q, bool front, plait_arena *arena,
                          plait_serve_answer *out, plait_error *err)
{
    serve_candidate *candidates;
    serve_search_state s = {.q = q, .arena = arena, .front = front, .out = out};
    int64_t cut, large;

    *out = (plait_serve_answer){0};
    PLAIT_TRY(check_options(q, err));
    PLAIT_TRY(serve_space_fill(q, arena, &candidates, &s.candidates, &cut, &large, err));
    s.candidate = candidates;
    out->workers = s.candidates;
    out->rejected[PLAIT_SERVE_REJECT_CUT] = cut;
    out->rejected[PLAIT_SERVE_REJECT_MEMORY] = large;
    for (int e = 0; e < q->engines; e++) {
        for (int c = 0; c < s.candidates; c++) {
            if (serve_breaks_rule(q, q->engine[e], &candidates[c])) {
                out->rejected[PLAIT_SERVE_REJECT_RULE]++;
                continue;
            }
            if (!q->only_disaggregated)
                search_aggregated(&s, q->engine[e], &candidates[c]);
            if (front && serve_fits(q->engine[e], &candidates[c], &q->load))
                search_front(&s, q->engine[e], &candidates[c]);
        }
        if (!q->only_aggregated)
            PLAIT_TRY(serve_search_pairs(&s, q->engine[e], err));
    }
    return PLAIT_OK;
}

plait_status plait_serve_search(const plait_serve_options *q, plait_arena *arena,
                                plait_serve_answer *out, plait_error *err)
{
    return serve_search(q, true, arena, out, err);
}

/* Sets *why to the memory that one GPU lacks. */
static plait_status explain_memory(const plait_engine *engine, const serve_candidate *c,
                                   const plait_load *load, plait_arena *arena, const char **why,
                                   plait_error *err)
{
    const double held = plait_serve_held_bytes(&c->memory, engine, plait_load_longest(load));
    const double room = plait_serve_room_bytes(&c->memory, engine);

    *why = plait_arena_printf(arena,
                              "weights take %.1f GiB per GPU and one sequence %.2f GiB; %s leaves "
                              "%.1f GiB of %.1f GiB for both, %.2f GiB too little",
                              c->memory.weights / PLAIT_GIB, held / PLAIT_GIB, engine->name,
                              room / PLAIT_GIB, c->memory.all / PLAIT_GIB,
                              (c->memory.weights + held - room) / PLAIT_GIB);
    return *why == NULL ? plait_fail_nomem(err) : PLAIT_OK;
}

/* Sets *why for a plan that is overloaded or in which no sequence fits. */
static plait_status explain_overload(const plait_serve_options *q, const plait_serve_plan *plan,
                                     const serve_candidate *const role[PLAIT_SERVE_ROLES],
                                     plait_arena *arena, const char **why, plait_error *err)
{
    *why = "overloaded";
    if (q->load.kind != PLAIT_LOAD_RATE)
        return PLAIT_OK;
    *why =
        plait_arena_printf(arena, "overloaded: %.4g requests/s arrive, %d replica%s sustain%s %.3g",
                           q->load.rate, plan->replicas, plan->replicas == 1 ? "" : "s",
                           plan->replicas == 1 ? "s" : "", serve_most_rate(q, plan, role, false));
    return *why == NULL ? plait_fail_nomem(err) : PLAIT_OK;
}

plait_status serve_roles(const plait_serve_options *q, const plait_serve_plan *plan,
                         plait_arena *arena, const serve_candidate *role[PLAIT_SERVE_ROLES],
                         const char **why, plait_error *err)
{
    PLAIT_TRY(serve_check_question(q, err));
    PLAIT_TRY(serve_check_plan(plan, err));
    *why = NULL;
    for (int r = 0; r <= plan->disaggregated && *why == NULL; r++) {
        const plait_serving serving = {.model = q->model,
                                       .cluster = q->cluster,
                                       .worker = plan->worker[r],
                                       .weights = plan->weights,
                                       .kv = plan->kv};
        serve_candidate *c = plait_arena_alloc(arena, 1, sizeof *c);
        PLAIT_TRY(plait_check_allocated(c, err));
        serve_candidate_fill(&serving, &q->load, c);
        role[r] = c;
        *why = c->reason;
        if (*why == NULL && !serve_fits(plan->engine, c, &q->load))
            PLAIT_TRY(explain_memory(plan->engine, c, &q->load, arena, why, err));
    }
    return PLAIT_OK;
}

plait_status plait_serve_evaluate(const plait_serve_options *q, plait_arena *arena,
                                  plait_serve_plan *plan, const char **why, plait_error *err)
{
    const serve_candidate *role[PLAIT_SERVE_ROLES] = {NULL, NULL};

    PLAIT_TRY(serve_roles(q, plan, arena, role, why, err));
    if (*why == NULL && !serve_price(q, q->load, plan, role))
        return explain_overload(q, plan, role, arena, why, err);
    return PLAIT_OK;
}
