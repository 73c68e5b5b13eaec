/*
 * serve_pairs.c - search of disaggregated prefill: pairs of workers, and how many of each (S.100)
 */
#include <math.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "search/serving/serve_private.h"

/*
 * Limit of workers per role in a closed loop of users; more workers are reached by further
 * replicas.
 */
enum { MOST_WORKERS = 64 };

/* A candidate in one role under an engine. */
typedef struct role {
    const serve_candidate *of;
    int gpus;
    plait_role_limit limit; /* limits of one worker */
} role;

typedef struct pairs {
    serve_search_state *look;
    const plait_engine *engine;
    role *prefill, *decode;
    int prefills, decodes;
    double needed; /* fewest requests/s with which the bounds can be met; 0: unknown */
} pairs;

// ---- roles ---------------------------------------------------------------------------------

static int by_rate_a_gpu(const void *a, const void *b)
{
    const role *x = a, *y = b;
    const double s = x->limit.requests_per_s / x->gpus;
    const double t = y->limit.requests_per_s / y->gpus;

    if (s != t)
        return s > t ? -1 : 1;
    return (x->of > y->of) - (x->of < y->of);
}

/* Lists the candidates of each role that can meet the bounds, by decreasing requests/s per GPU. */
static void fill_roles(pairs *all)
{
    const serve_search_state *look = all->look;
    const plait_serve_options *q = look->q;
    double asked[PLAIT_SERVE_LIMITS];

    serve_limits_of(q, all->engine, asked);
    for (int c = 0; c < look->candidates; c++) {
        const serve_candidate *of = &look->candidate[c];
        if (serve_breaks_rule(q, all->engine, of) || !serve_fits(all->engine, of, &q->load))
            continue;
        const plait_pool pool = plait_pool_of(&of->table, all->engine, &of->memory, 1, 0.0);
        const int gpus = plait_worker_gpus(of->serving.worker);
        const role p = {of, gpus, plait_serve_prefill_limit(&pool, all->engine, &q->load)};
        const role d = {of, gpus,
                        plait_serve_decode_limit(&pool, all->engine, &q->load,
                                                 serve_tightest_tpot(q, all->engine))};
        if (asked[PLAIT_SERVE_LIMIT_ttft] <= 0.0 ||
            p.limit.least_s <= asked[PLAIT_SERVE_LIMIT_ttft])
            all->prefill[all->prefills++] = p;
        if (d.limit.requests_per_s > 0.0)
            all->decode[all->decodes++] = d;
    }
    qsort(all->prefill, (size_t)all->prefills, sizeof *all->prefill, by_rate_a_gpu);
    qsort(all->decode, (size_t)all->decodes, sizeof *all->decode, by_rate_a_gpu);
}

static bool same_formats(const role *a, const role *b)
{
    return a->of->serving.weights == b->of->serving.weights &&
           a->of->serving.kv == b->of->serving.kv;
}

static bool is_open(const plait_serve_options *q)
{
    return q->load.kind == PLAIT_LOAD_CLOSED && q->load.concurrency <= 0.0;
}

static plait_serve_plan pair_plan(const plait_engine *engine)
{
    return (plait_serve_plan){.engine = engine,
                              .disaggregated = true,
                              .replicas = 1,
                              .chunk_tokens = engine->chunk_tokens};
}

// ---- one pair ------------------------------------------------------------------------------

/* Tokens/s per GPU that a plan must exceed to be kept. */
static double least_kept(const plait_serve_answer *out)
{
    return out->plans < PLAIT_SERVE_MAX_PLANS ? 0.0 : out->plan[out->plans - 1].tokens_per_s_gpu;
}

/* Upper bound on the requests/s of a pair, for any numbers of workers. */
static double most_requests(const plait_serve_options *q, const role *p, const role *d)
{
    if (q->load.kind == PLAIT_LOAD_RATE)
        return q->load.rate;
    if (is_open(q))
        return HUGE_VAL;
    return q->load.concurrency / (p->limit.least_s + d->limit.least_s);
}

/*
 * Upper bound on the tokens/s per GPU of a pair, reached if the numbers of workers match exactly.
 */
static double best_of(const plait_serve_options *q, const role *p, const role *d)
{
    return q->load.output / (p->gpus / p->limit.requests_per_s + d->gpus / d->limit.requests_per_s);
}

static int at_least(double needed, const role *r)
{
    return (int)smaller(larger(ceil(needed / r->limit.requests_per_s * (1.0 - 1e-9)), 1.0), 1e6);
}

/* Prices and keeps a plan; returns its tokens/s per GPU, 0 if it misses a bound. */
static double price_counts(pairs *all, plait_serve_plan *plan,
                           const serve_candidate *by[PLAIT_SERVE_ROLES])
{
    serve_search_state *look = all->look;

    if (is_open(look->q))
        return serve_find_users(look, plan, by);
    look->out->looked++;
    serve_price(look->q, look->q->load, plan, by);
    if (!serve_meets(look->q, plan))
        return 0.0;
    serve_keep(look->out, plan);
    return plan->tokens_per_s_gpu;
}

static double bar_of(const serve_search_state *look, double best)
{
    return larger(best, least_kept(look->out));
}

/*
 * True if n prefill and m decode workers meet the bounds under random arrivals; more workers of
 * either role never make it false.
 */
static bool meets_bounds(pairs *all, plait_serve_plan *plan,
                         const serve_candidate *by[PLAIT_SERVE_ROLES], int n, int m)
{
    serve_search_state *look = all->look;

    plan->count[0] = n;
    plan->count[1] = m;
    look->out->looked++;
    serve_price(look->q, look->q->load, plan, by);
    return serve_meets(look->q, plan);
}

/*
 * Returns the fewest workers of role `which`, from low to high, that meet the bounds with `other`
 * workers of the other role; `high` must be enough. The result is usually close to low, so the
 * search doubles its steps from low and then bisects.
 */
static int fewest_workers(pairs *all, plait_serve_plan *plan,
                          const serve_candidate *by[PLAIT_SERVE_ROLES], int which, int other,
                          int low, int high)
{
    for (int step = 1; low < high; step = step < high ? 2 * step : step) {
        const int half = (high - low) / 2;
        const int at = low + (step - 1 < half ? step - 1 : half);
        if (meets_bounds(all, plan, by, which == 0 ? at : other, which == 0 ? other : at))
            high = at;
        else
            low = at + 1;
    }
    return high;
}

/*
 * S.100 for random arrivals. The number of prefill workers starts at the fewest that meet the
 * bounds with decode workers on all GPUs. For each number, the function finds the fewest decode
 * workers; it stops when a pair takes more GPUs than the best one.
 */
static void search_counts_for_rate(pairs *all, const role *p, const role *d, int n, int m0)
{
    serve_search_state *look = all->look;
    const plait_serve_options *q = look->q;
    const serve_candidate *by[PLAIT_SERVE_ROLES] = {p->of, d->of};
    const double tokens = q->load.output * q->load.rate;
    const int all_n = q->gpus / p->gpus, all_m = q->gpus / d->gpus;
    plait_serve_plan plan = pair_plan(all->engine);
    double best = 0.0;

    if (!meets_bounds(all, &plan, by, all_n, all_m)) {
        serve_reject(look, &plan);
        return;
    }
    n = fewest_workers(all, &plan, by, 0, all_m, n, all_n);
    m0 = fewest_workers(all, &plan, by, 1, all_n, m0, all_m);
    for (; (double)n * p->gpus + (double)m0 * d->gpus <= q->gpus; n++) {
        const double bar = bar_of(look, best);
        const double most_gpus =
            bar > 0.0 ? smaller(tokens / bar * (1.0 + 1e-12), q->gpus) : q->gpus;
        const int last = (int)floor((most_gpus - n * p->gpus) / d->gpus);
        if (last < m0)
            break;
        if (!meets_bounds(all, &plan, by, n, last))
            continue;
        plan.count[1] = fewest_workers(all, &plan, by, 1, n, m0, last);
        plan.count[0] = n;
        best = larger(best, price_counts(all, &plan, by));
    }
    if (best <= 0.0)
        serve_reject(look, &plan);
}

/*
 * S.100 for a closed loop of users: prices all pairs of numbers up to MOST_WORKERS that can be
 * better than the plans kept so far. If the options have no load, a multiple of a pair is only
 * further replicas, so numbers with a common factor are skipped.
 */
static void search_counts_for_users(pairs *all, const role *p, const role *d, int n, int m0)
{
    serve_search_state *look = all->look;
    const plait_serve_options *q = look->q;
    const serve_candidate *by[PLAIT_SERVE_ROLES] = {p->of, d->of};
    const double most = most_requests(q, p, d);
    plait_serve_plan plan = pair_plan(all->engine);
    double best = 0.0;

    for (; n <= MOST_WORKERS && n * p->gpus + m0 * d->gpus <= q->gpus; n++) {
        const int last = (q->gpus - n * p->gpus) / d->gpus;
        plan.count[0] = n;
        for (int m = m0; m <= last && m <= MOST_WORKERS; m++) {
            const int gpus = n * p->gpus + m * d->gpus;
            const double requests =
                smaller(most, smaller(n * p->limit.requests_per_s, m * d->limit.requests_per_s));
            if (is_open(q) && common_divisor(n, m) > 1)
                continue;
            if (q->load.output * requests / gpus < bar_of(look, best))
                continue;
            plan.count[1] = m;
            best = larger(best, price_counts(all, &plan, by));
        }
    }
    if (best <= 0.0)
        serve_reject(look, &plan);
}

// ---- all pairs -----------------------------------------------------------------------------

/*
 * Returns a lower bound on the requests/s of a deployment that meets the bounds: the rate, or the
 * users divided by the longest time that the bounds allow.
 */
static double needed_requests(const plait_serve_options *q, const plait_engine *engine)
{
    double asked[PLAIT_SERVE_LIMITS];

    if (q->load.kind == PLAIT_LOAD_RATE)
        return q->load.rate;
    const double tpot_s = serve_tightest_tpot(q, engine);

    serve_limits_of(q, engine, asked);
    const double ttft_s = asked[PLAIT_SERVE_LIMIT_ttft];
    if (is_open(q) || ttft_s <= 0.0 || tpot_s <= 0.0)
        return 0.0;
    return q->load.concurrency / (ttft_s + (q->load.output - 1.0) * tpot_s);
}

static void search_pairs(pairs *all)
{
    serve_search_state *look = all->look;
    const plait_serve_options *q = look->q;

    for (int j = 0; j < all->decodes; j++)
        for (int i = 0; i < all->prefills; i++) {
            const role *p = &all->prefill[i], *d = &all->decode[j];
            if (!same_formats(p, d))
                continue;
            if (best_of(q, p, d) < least_kept(look->out)) {
                look->out->rejected[PLAIT_SERVE_REJECT_BOUND] += all->prefills - i;
                break;
            }
            const int n = at_least(all->needed, p), m = at_least(all->needed, d);

            if ((double)n * p->gpus + (double)m * d->gpus > q->gpus)
                look->out->rejected[PLAIT_SERVE_REJECT_LOAD]++;
            else if (q->load.kind == PLAIT_LOAD_RATE)
                search_counts_for_rate(all, p, d, n, m);
            else
                search_counts_for_users(all, p, d, n, m);
        }
}

// ---- the front -----------------------------------------------------------------------------

/*
 * Sets the numbers of workers that match best if each decode worker completes `requests`
 * requests/s. Returns false if no pair fits the GPUs.
 */
static bool match_counts(const plait_serve_options *q, const role *p, const role *d,
                         double requests, plait_serve_plan *plan)
{
    static const double busy = 0.8; // utilisation of prefill workers at which prompts rarely wait
    double least = HUGE_VAL;

    for (int m = 1; m <= MOST_WORKERS && m * d->gpus < q->gpus; m++) {
        const double n = larger(ceil(m * requests / (busy * p->limit.requests_per_s)), 1.0);
        const double gpus = n * p->gpus + m * d->gpus;
        if (gpus > q->gpus)
            break;
        if (gpus / m < least * (1.0 - 1e-9)) {
            least = gpus / m;
            plan->count[0] = (int)n;
            plan->count[1] = m;
        }
    }
    return !isinf(least);
}

/* Prices 1, 2, 4, ... sequences per attention rank, with as many prefill workers as they need. */
static void search_front(pairs *all, const role *d)
{
    serve_search_state *look = all->look;
    const plait_serve_options *q = look->q;
    const plait_pool pool = plait_pool_of(&d->of->table, all->engine, &d->of->memory, 1, 0.0);
    const double ranks = d->of->serving.worker.dp_attention;
    const role *p = all->prefill;

    while (p < all->prefill + all->prefills && !same_formats(p, d))
        p++;
    if (p == all->prefill + all->prefills)
        return;
    const serve_candidate *by[PLAIT_SERVE_ROLES] = {p->of, d->of};
    for (double b = 1.0; b <= 4096.0; b *= 2.0) {
        plait_serve_plan plan = pair_plan(all->engine);
        plait_load load = q->load;
        const double e2e =
            p->limit.least_s +
            (load.output - 1.0) * plait_serve_decode_tpot(&pool, all->engine, &load, b);
        if (!match_counts(q, p, d, b * ranks / e2e, &plan))
            continue;
        load.kind = PLAIT_LOAD_CLOSED;
        load.concurrency = larger(floor(plan.count[1] * b * ranks), 1.0);
        look->out->looked++;
        if (!serve_price(q, load, &plan, by) || plan.service.binds == PLAIT_SERVE_BINDS_CAPACITY)
            break;
        if (!serve_misses(q, &plan, PLAIT_SERVE_LIMIT_ttft, PLAIT_SERVE_LIMIT_ttft + 1))
            serve_add_front(look->out, &plan);
    }
}

// ---- entry ---------------------------------------------------------------------------------

plait_status serve_search_pairs(serve_search_state *look, const plait_engine *engine,
                                plait_error *err)
{
    pairs all = {.look = look, .engine = engine, .needed = needed_requests(look->q, engine)};
    const plait_arena_mark mark = plait_arena_save(look->arena);

    all.prefill = plait_arena_alloc(look->arena, (size_t)look->candidates + 1, sizeof(role));
    all.decode = plait_arena_alloc(look->arena, (size_t)look->candidates + 1, sizeof(role));
    PLAIT_TRY(plait_check_allocated(all.prefill && all.decode, err));
    fill_roles(&all);
    search_pairs(&all);
    for (int j = 0; look->front && j < all.decodes; j++)
        search_front(&all, &all.decode[j]);
    plait_arena_rewind(look->arena, mark);
    return PLAIT_OK;
}
