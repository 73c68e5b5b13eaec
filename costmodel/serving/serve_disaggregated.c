/*
 * serve_disaggregated.c - disaggregated prefill, and the maximum load of a prefill or a decode
 * worker (C.377)
 */
#include <math.h>

#include "base/numbers.h"
#include "costmodel/serving/serve_request_cost.h"

/*
 * Seconds per prompt on an attention rank when many prompts wait. Prompts shorter than the token
 * budget of a step share a step. (C.371)
 */
static double crowded_s(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
                        double alone_s)
{
    const double fresh = serve_fresh(load);

    if (pool->chunk_tokens <= fresh)
        return alone_s;
    return serve_prompt_s(pool, engine, load, (plait_step){0}, fresh / pool->chunk_tokens);
}

/*
 * The prefill pool: seconds of a prompt alone, and of each when many wait; the number of attention
 * ranks (lanes); the capacity in prompts/s; the mean square of crowded_s over its squared mean; and
 * the prompts that fit into a step of a rank.
 */
typedef struct intake {
    serve_turn turn;
    double prompt_s, crowded_s, lanes, capacity, varies, fit;
} intake;

static intake intake_of(const plait_deployment *d, const plait_load *load)
{
    const plait_pool *pool = &d->pool[0];
    intake in = {.turn = serve_turn_of(pool, d->engine, load, 0.0),
                 .varies = 1.0,
                 .lanes = (double)d->replicas * pool->workers * pool->table->worker.dp_attention};
    double square = 0.0;

    in.prompt_s = in.turn.prompt_s;
    for (int g = 0; g < in.turn.groups; g++) {
        const plait_load one = serve_load_of(load, &in.turn.group[g]);
        const double crowded = crowded_s(pool, d->engine, &one, in.turn.group_own_s[g]);
        in.crowded_s += in.turn.group[g].share * crowded;
        square += in.turn.group[g].share * crowded * crowded;
    }
    if (in.turn.groups > 1)
        in.varies = square / (in.crowded_s * in.crowded_s);
    in.capacity = in.lanes / in.crowded_s;
    in.fit = larger(pool->chunk_tokens / serve_fresh(load), 1.0);
    return in;
}

/*
 * Seconds of a step of a prefill worker at x prompts/s of the deployment (C.377). All ranks of a
 * worker run their prompts in the same step, and the prompts that arrive during a step share the
 * next one, up to the token budget.
 */
static double intake_step_s(const intake *in, const plait_deployment *d, const plait_load *load,
                            double x)
{
    enum { ROUNDS = 3 };
    const plait_pool *pool = &d->pool[0];
    double step_s = in->prompt_s;

    for (int i = 0; i < ROUNDS && in->fit > 1.0; i++) {
        const double prompts = smaller(x / in->lanes * step_s, in->fit);

        if (prompts <= 1.0)
            return step_s;
        step_s = prompts * serve_prompt_s(pool, d->engine, load, (plait_step){0}, 1.0 / prompts);
    }
    return step_s;
}

/*
 * Seconds that a prompt waits for other prompts at utilisation rho, if a step of its worker takes
 * step_s: the rest of the current step, and the steps that the token budget makes full. In a closed
 * loop, all users also start at the same time. (C.377)
 */
static double intake_wait_s(const intake *in, const plait_deployment *d, const plait_load *load,
                            double rho, double step_s)
{
    const double ranks = d->pool[0].table->worker.dp_attention;
    const double x = rho * in->capacity;
    const double busy = larger(rho, 1.0 - exp(-x * ranks / in->lanes * step_s));
    const double full = in->varies * rho * rho / (2.0 * ranks * in->fit * larger(1.0 - rho, 1e-3));
    const double arrivals_s = (busy / 2.0 + full) * step_s;

    if (load->kind != PLAIT_LOAD_CLOSED)
        return arrivals_s;
    const double others_s = larger(load->concurrency - 1.0, 0.0) / in->lanes * in->crowded_s;
    const double start_s = load->rounds > 0.0 ? others_s / 2.0 / load->rounds : 0.0;
    return smaller(arrivals_s, others_s) + start_s;
}

/*
 * A load on a prefill and a decode pool, and the service that results for an assumed number of
 * decoding sequences per attention rank.
 */
typedef struct pair_balance {
    const plait_deployment *d;
    const plait_load *load;
    intake in;
    double ranks; /* attention ranks of all decode workers */
    double yield;
    double travel_s;
    plait_service s;
} pair_balance;

/*
 * Residual of the fixed point (C.377). For arrivals it is the implied number of decoding sequences
 * minus the assumed one. For a closed loop it is the number of users left over when `sequences`
 * decode on each rank, limited by the prompts that the prefill pool can supply.
 */
static double apart_gap(void *context, double sequences)
{
    pair_balance *at = context;
    const plait_load *load = at->load;
    const plait_engine *engine = at->d->engine;
    serve_turn t = at->in.turn;

    t.step_s = serve_decode_s(&at->d->pool[1], engine, load, larger(sequences, 1.0), NULL);
    t.yield = at->yield;
    const double tpot = t.step_s / t.yield;
    const double decoding = (load->output - 1.0) * tpot;
    const bool is_closed = load->kind == PLAIT_LOAD_CLOSED;
    const double decoded = decoding > 0.0 ? sequences * at->ranks / decoding : at->in.capacity;
    const double x = is_closed ? smaller(decoded, at->in.capacity) : load->rate;
    const double rho = smaller(x / at->in.capacity, 1.0);
    const double step_s = intake_step_s(&at->in, at->d, load, x);
    const double wait = intake_wait_s(&at->in, at->d, load, rho, step_s);

    at->s = serve_service(
        load, t, engine->request_s + t.load_s + step_s + wait + at->travel_s + 1.5 * t.step_s,
        tpot);
    at->s.queue_s = wait + step_s - at->in.prompt_s;
    at->s.utilisation = rho;
    if (!is_closed)
        return x * decoding / at->ranks - sequences;
    return smaller(load->concurrency - decoded * at->s.e2e_s,
                   (at->in.capacity - decoded) * at->s.e2e_s);
}

/*
 * Closed form of C.377. Prefill workers run the prompts, then the KV caches travel to the decode
 * workers. A closed loop is a closed queueing network, whose rate x is the number of users over the
 * time of a request. The prefill pool is one queue with deterministic service times, and decoding
 * is limited by its maximum batch.
 */
plait_service serve_disaggregated(const plait_deployment *d, const plait_load *load)
{
    const plait_pool *decode = &d->pool[1];
    const bool is_closed = load->kind == PLAIT_LOAD_CLOSED;
    const double most = smaller(serve_most_sequences(decode, load, true), SERVE_ENDLESS);
    pair_balance at = {.d = d,
                       .load = load,
                       .in = intake_of(d, load),
                       .ranks = (double)d->replicas * decode->workers *
                                decode->table->worker.dp_attention,
                       .yield = serve_yield(load),
                       .travel_s = serve_travel_s(d, load)};
    plait_service *s = &at.s;

    if (most < 1.0 || (!is_closed && load->rate >= at.in.capacity))
        return (plait_service){.utilisation = load->rate / at.in.capacity};
    const double sequences = serve_find_zero(apart_gap, &at, most);
    const double decoding = (load->output - 1.0) * s->tpot_s;
    if (!is_closed && load->rate * decoding / at.ranks > sequences * (1.0 + SERVE_LOOSE))
        return (plait_service){.utilisation = 1.0, .binds = PLAIT_SERVE_BINDS_CAPACITY};
    if (is_closed) { // users that do not decode wait for a prompt or for cache memory
        const double decoded = most * at.ranks / larger(decoding, 1e-9);
        const double cycle = larger(load->concurrency / smaller(at.in.capacity, decoded), s->e2e_s);
        if (sequences >= most)
            s->binds = PLAIT_SERVE_BINDS_CAPACITY;
        s->queue_s += cycle - s->e2e_s;
        s->ttft_s += cycle - s->e2e_s;
        s->e2e_s = cycle;
    }
    s->batch = sequences * decode->table->worker.dp_attention;
    s->requests_per_s = is_closed ? SERVE_BUSY_SHARE * load->concurrency / s->e2e_s : load->rate;
    return *s;
}

plait_role_limit plait_serve_prefill_limit(const plait_pool *pool, const plait_engine *engine,
                                           const plait_load *load)
{
    const plait_deployment one = {.engine = engine, .replicas = 1, .pool = {*pool}};
    const intake in = intake_of(&one, load);

    return (plait_role_limit){in.capacity / pool->workers, engine->request_s + in.prompt_s};
}

double plait_serve_decode_tpot(const plait_pool *pool, const plait_engine *engine,
                               const plait_load *load, double sequences)
{
    return serve_decode_s(pool, engine, load, larger(sequences, 1.0), NULL) / serve_yield(load);
}

/*
 * Returns an upper bound on the load of a decode worker. Its rate of requests is the number of
 * decoding sequences divided by their time. The loop tries numbers b in steps of 10 %. Between two
 * of them, the larger number divided by the time of the smaller one is an upper bound.
 */
plait_role_limit plait_serve_decode_limit(const plait_pool *pool, const plait_engine *engine,
                                          const plait_load *load, double tpot_s)
{
    static const double finer = 1.1;
    const double most = smaller(serve_most_sequences(pool, load, true), SERVE_ENDLESS);
    const double yield = serve_yield(load);
    const double tokens = larger(load->output - 1.0, 1e-9);
    const double first = serve_decode_s(pool, engine, load, 1.0, NULL);
    plait_role_limit limit = {.least_s = first + tokens * first / yield};

    for (double b = 1.0; b <= most; b *= finer) {
        const double tpot = plait_serve_decode_tpot(pool, engine, load, b);
        if (tpot_s > 0.0 && tpot > tpot_s)
            break;
        limit.requests_per_s =
            larger(limit.requests_per_s, smaller(b * finer, most) / (tokens * tpot));
    }
    limit.requests_per_s *= pool->table->worker.dp_attention;
    return limit;
}
