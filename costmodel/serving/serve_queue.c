/* serve_queue.c - from steps to what a load sees: closed forms of batching and waiting */
#include <math.h>

#include "numbers.h"
#include "plait/serve.h"

enum { ROUNDS = 60 }; // of the fixed points below, at most; five or six are usual

/*
 * Of a closed loop's users so many have a request in flight: the rest are between two, or the run begins
 * or ends. 0.94 to 0.95 is the median of four sources of measurements.
 */
static const double busy_share = 0.95;

/* What one worker does for one request, by how many run beside it on an attention rank. */
typedef struct turn {
    double step_s;   /* of decoding alone */
    double share_s;  /* that a prompt adds to steps of others */
    double prompt_s; /* one prompt by itself, all its chunks */
    double yield;    /* tokens of a sequence and step */
} turn;

// ---- one request ---------------------------------------------------------------------------

/* C.370: tokens that a step of speculation yields: 1 + a + a^2 + ..., the drafted ones being accepted in a row. */
static double yield_of(const plait_load *load)
{
    double sum = 1.0, chance = 1.0;

    for (int i = 0; i < load->draft; i++) {
        chance *= load->accept;
        sum += chance;
    }
    return sum;
}

static double mean_context(const plait_load *load)
{
    return load->input + load->output / 2.0;
}

/*
 * A step of decoding, with its drafts: each drafted token runs the share of the layers that drafts it, and
 * the vocabulary, over all sequences. (C.370)
 */
static double decode_s(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
                       double sequences, double parts[PLAIT_STEP_PARTS])
{
    double sum = plait_step_s(pool->table, engine,
                              (plait_step){.sequences = sequences,
                                           .context = mean_context(load),
                                           .verified = 1.0 + load->draft},
                              parts);

    if (load->draft > 0) {
        double draft[PLAIT_STEP_PARTS];
        const double whole = plait_step_s(
            pool->table, engine,
            (plait_step){.sequences = sequences, .context = mean_context(load), .verified = 1.0},
            draft);
        const double layers = whole - draft[PLAIT_STEP_head] - engine->step_s;
        sum += load->draft * (load->draft_layers * layers + draft[PLAIT_STEP_head]);
    }
    return sum;
}

/* Budget of a round of all stages, each with a batch of its own. */
static double round_tokens(const plait_pool *pool, double fresh)
{
    return pool->chunk_tokens > 0.0 ? pool->chunk_tokens * pool->table->worker.pp : fresh;
}

/* Tokens of a prompt that one step takes, on an attention rank. */
static double chunk_of(const plait_pool *pool, const plait_load *load, double sequences)
{
    const double fresh = larger(load->input - load->cached, 1.0);
    const double decoded = sequences / pool->table->worker.pp;
    const double budget = pool->chunk_tokens > 0.0 ? pool->chunk_tokens - decoded : fresh;

    return smaller(fresh, larger(budget, 1.0));
}

/*
 * C.371: the steps of a prompt in equal chunks, beside what decodes in each, of all stages. Its attention is that of
 * the whole, however it is cut.
 */
static double prompt_s(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
                       plait_step beside, double chunks)
{
    const double fresh = larger(load->input - load->cached, 1.0);
    const double stages = pool->table->worker.pp;
    plait_step whole = beside;
    double parts[PLAIT_STEP_PARTS], all[PLAIT_STEP_PARTS];

    beside.prompt = fresh / chunks * stages;
    whole.prompt = fresh;
    whole.before = load->cached;
    const double step = plait_step_s(pool->table, engine, beside, parts);
    plait_step_s(pool->table, engine, whole, all);
    return chunks * (step - parts[PLAIT_STEP_prompt_attention]) +
           stages * all[PLAIT_STEP_prompt_attention];
}

/*
 * C.371: a prompt in n chunks of q tokens. By itself each is a step; beside the steps of b decoding
 * sequences it adds what its tokens take, and saves their launches and weights; of a round of stages each has it once.
 */
static turn turn_of(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
                    double sequences)
{
    const double fresh = larger(load->input - load->cached, 1.0);
    const double chunk = chunk_of(pool, load, sequences);
    const double chunks = ceil(fresh / chunk - 1e-9);
    const plait_step steps = {
        .sequences = sequences, .context = mean_context(load), .verified = 1.0 + load->draft};
    turn t = {.step_s = decode_s(pool, engine, load, sequences, NULL), .yield = yield_of(load)};

    t.prompt_s = prompt_s(pool, engine, load, (plait_step){0}, chunks);
    t.share_s = t.prompt_s;
    if (sequences > 0.0)
        t.share_s = (prompt_s(pool, engine, load, steps, chunks) -
                     chunks * plait_step_s(pool->table, engine, steps, NULL)) /
                    pool->table->worker.pp;
    return t;
}

/* Of attention ranks that step together, one's prompt makes the others wait. (C.372) */
static double waiting_ranks(const plait_pool *pool, const plait_engine *engine)
{
    return 1.0 + (pool->table->worker.dp_attention - 1.0) * engine->together;
}

/* Sequences that an attention rank can run: the engine's cap, and what fits in its cache. */
static double most_sequences(const plait_pool *pool, const plait_load *load)
{
    const double ranks = pool->table->worker.dp_attention;
    double most = HUGE_VAL;

    if (pool->max_sequences > 0.0)
        most = pool->max_sequences / ranks;
    if (pool->kv_tokens > 0.0)
        most = smaller(most, pool->kv_tokens / (load->input + load->output));
    return most;
}

// ---- a balance -----------------------------------------------------------------------------

static const double tight = 1e-9;      // of a fixed point, relative
static const double loose = 1e-6;      // beyond it a point is none
static const double endless = 65536.0; // sequences of a rank, where nothing caps them

/*
 * The least x of 0 .. most where gap(x) falls to 0, or most where it never does; *context is as the last call leaves it,
 * at that x. Secants from below, which stay below a convex gap's zero, then between the two sides (Illinois).
 */
static double settle(double (*gap)(void *context, double x), void *context, double most)
{
    double a = 0.0, at_a = gap(context, a);
    double b = smaller(at_a, most), at_b = gap(context, b);
    int i = 0;

    for (; i < ROUNDS && at_b > 0.0 && b - a > tight * b; i++) {
        double next = 0.5 * (a + b); // an endless gap: too far
        if (!isinf(at_b)) {
            if (b >= most)
                return b;
            next = smaller(b + (at_a > at_b ? larger(at_b * (b - a) / (at_a - at_b), at_b) : at_b),
                           most);
            a = b;
            at_a = at_b;
        }
        b = next;
        at_b = gap(context, b);
    }
    for (; i < ROUNDS && at_b < 0.0 && b - a > tight * b; i++) {
        const double x = b - at_b * (b - a) / (at_b - at_a);
        const double at_x = gap(context, x);
        if (at_x > 0.0) {
            a = x;
            at_a = at_x;
            at_b *= 0.5;
        } else {
            b = x;
            at_b = at_x;
            at_a *= 0.5;
        }
    }
    gap(context, b);
    return b;
}

// ---- aggregated ----------------------------------------------------------------------------

static double tpot_of(const plait_load *load, turn t, double sequences, double ranks)
{
    return (t.step_s + sequences * t.yield / load->output * ranks * t.share_s) / t.yield;
}

static plait_service service_of(const plait_load *load, turn t, double ttft_s, double tpot_s)
{
    return (plait_service){
        .stable = true,
        .ttft_s = ttft_s,
        .tpot_s = tpot_s,
        .e2e_s = ttft_s + (load->output - 1.0) * tpot_s,
        .step_s = t.step_s,
        .prompt_s = t.prompt_s,
    };
}

/* A load on one attention rank of a pool, and its service where so many sequences run. */
typedef struct balance {
    const plait_deployment *d;
    const plait_load *load;
    double share;   /* of the load: users, or requests/s, of an attention rank */
    double running; /* CLOSED: of these users in flight at once */
    double waiting;
    plait_service s;
} balance;

/* C.373: how many more would decode than do, in a closed loop. */
static double closed_gap(void *context, double sequences)
{
    balance *at = context;
    const plait_engine *engine = at->d->engine;
    const turn t = turn_of(&at->d->pool[0], engine, at->load, larger(sequences, 1.0));
    const double tpot = tpot_of(at->load, t, sequences, at->waiting);
    const double queue =
        engine->queue * larger(at->running - 1.0, 0.0) * at->waiting * t.share_s / 2.0;
    const double ttft = engine->first_s + t.step_s / 2.0 + t.prompt_s + queue;
    const double decoding = (at->load->output - 1.0) * tpot;

    at->s = service_of(at->load, t, ttft, tpot);
    at->s.queue_s = queue;
    return at->running * decoding / (ttft + decoding) - sequences;
}

/*
 * C.373: a closed loop of c users of one attention rank. b of them decode (Little), the others have prompts:
 *
 *     TPOT = (t(b) + b y/out d p) / y,   TTFT = first + t(b)/2 + own + queue (c - 1) d p / 2
 *     b = c (out - 1) TPOT / (TTFT + (out - 1) TPOT)
 */
static plait_service closed(const plait_deployment *d, const plait_load *load)
{
    const plait_pool *pool = &d->pool[0];
    const double ranks = (double)d->replicas * pool->workers * pool->table->worker.dp_attention;
    const double users = load->concurrency / ranks;
    const double most = most_sequences(pool, load);
    balance at = {.d = d,
                  .load = load,
                  .share = users,
                  .running = smaller(users, most),
                  .waiting = waiting_ranks(pool, d->engine)};
    plait_service *s = &at.s;

    if (most < 1.0)
        return *s;
    s->batch = settle(closed_gap, &at, at.running) * pool->table->worker.dp_attention;
    if (users > most) { // those beyond it wait for a place
        const double wait = (users - most) / most * s->e2e_s;
        s->queue_s += wait;
        s->ttft_s += wait;
        s->e2e_s += wait;
        s->binds = PLAIT_SERVE_BINDS_CAPACITY;
    }
    s->requests_per_s = busy_share * load->concurrency / s->e2e_s;
    return *s;
}

/* C.374: how many more run than so many, if so many do; without end where more comes than leaves. */
static double arriving_gap(void *context, double sequences)
{
    balance *at = context;
    const plait_pool *pool = &at->d->pool[0];
    const plait_engine *engine = at->d->engine;
    const double x = at->share;
    const double fresh = larger(at->load->input - at->load->cached, 1.0);
    const double budget = round_tokens(pool, fresh);
    const turn t = turn_of(pool, engine, at->load, larger(sequences, 1.0));
    const double busy = x * at->waiting * t.share_s;
    const double held = at->waiting * t.share_s + t.step_s * fresh / budget;

    if (busy >= 1.0 || x * held >= 1.0) {
        at->s = (plait_service){.utilisation = larger(busy, x * held)};
        return HUGE_VAL;
    }
    const double tpot = t.step_s / t.yield / (1.0 - busy);
    const double queue = x * held / (2.0 * (1.0 - x * held)) * held;
    at->s = service_of(at->load, t, engine->first_s + t.step_s / 2.0 + t.prompt_s + queue, tpot);
    at->s.queue_s = queue;
    at->s.utilisation = x * held;
    return x * at->load->output * tpot - sequences;
}

/*
 * C.374: Poisson arrivals of x a second and rank. Prompts take the share x d p of the time, the steps
 * the rest. A prompt holds up the next for what it adds to steps and for its share of their budget: M/D/1.
 */
static plait_service arriving(const plait_deployment *d, const plait_load *load)
{
    const plait_pool *pool = &d->pool[0];
    const double ranks = (double)d->replicas * pool->workers * pool->table->worker.dp_attention;
    const double most = smaller(most_sequences(pool, load), endless);
    balance at = {.d = d,
                  .load = load,
                  .share = load->rate / ranks,
                  .waiting = waiting_ranks(pool, d->engine)};
    plait_service *s = &at.s;

    const double sequences = settle(arriving_gap, &at, most);
    if (!s->stable)
        return *s;
    if (at.share * load->output * s->tpot_s > sequences * (1.0 + loose))
        return (plait_service){.utilisation = 1.0, .binds = PLAIT_SERVE_BINDS_CAPACITY};
    s->batch = sequences * pool->table->worker.dp_attention;
    s->requests_per_s = load->rate;
    return *s;
}

/*
 * C.375: one batch started together, by a call and not through a server: its prompts fill steps, then all decode. What the cache cannot hold
 * runs in further waves.
 */
static plait_service together(const plait_deployment *d, const plait_load *load)
{
    const plait_pool *pool = &d->pool[0];
    const plait_engine *engine = d->engine;
    const double ranks = (double)d->replicas * pool->workers * pool->table->worker.dp_attention;
    const double most = floor(most_sequences(pool, load));
    const double all = ceil(load->concurrency / ranks - 1e-9);
    const double batch = smaller(all, most);
    plait_service s = {0};

    if (most < 1.0)
        return s;
    const double waves = all / batch;
    const turn t = turn_of(pool, engine, load, batch);
    const double tokens = batch * larger(load->input - load->cached, 1.0);
    const double chunk = pool->chunk_tokens > 0.0 ? pool->chunk_tokens : tokens;
    const double steps = ceil(tokens / chunk - 1e-9);
    double prompts =
        plait_step_s(pool->table, engine, (plait_step){.prompt = tokens / steps}, NULL) * steps;
    const plait_step one = {.prompt = larger(load->input - load->cached, 1.0),
                            .before = load->cached};
    double parts[PLAIT_STEP_PARTS], whole[PLAIT_STEP_PARTS];
    plait_step_s(pool->table, engine, one, parts);
    plait_step_s(pool->table, engine, (plait_step){.prompt = tokens / steps}, whole);
    prompts +=
        batch * parts[PLAIT_STEP_prompt_attention] - steps * whole[PLAIT_STEP_prompt_attention];
    s = service_of(load, t, prompts, t.step_s / t.yield);
    s.e2e_s *= waves;
    s.batch = batch * pool->table->worker.dp_attention;
    s.requests_per_s = load->concurrency / s.e2e_s;
    if (waves > 1.0)
        s.binds = PLAIT_SERVE_BINDS_CAPACITY;
    return s;
}

/* C.376: all requests are there: as many run as can, and prompts take their share of each step. */
static plait_service queued(const plait_deployment *d, const plait_load *load)
{
    const plait_pool *pool = &d->pool[0];
    const plait_engine *engine = d->engine;
    const double ranks = (double)d->replicas * pool->workers * pool->table->worker.dp_attention;
    const double cap = load->concurrency > 0.0 ? load->concurrency / ranks : HUGE_VAL;
    const double batch = smaller(smaller(most_sequences(pool, load), 65536.0), cap);
    plait_service s = {0};

    if (batch < 1.0)
        return s;
    const turn t = turn_of(pool, engine, load, batch);
    const double tpot = tpot_of(load, t, batch, waiting_ranks(pool, engine));
    s = service_of(load, t, engine->first_s + t.step_s / 2.0 + t.prompt_s, tpot);
    s.batch = batch * pool->table->worker.dp_attention;
    s.requests_per_s = batch * ranks / (load->output * tpot);
    return s;
}

// ---- disaggregated -------------------------------------------------------------------------

/*
 * Seconds of an attention rank for each prompt when many wait: short ones share a step as far as its
 * budget goes. (C.371)
 */
static double crowded_s(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
                        double alone_s)
{
    const double fresh = larger(load->input - load->cached, 1.0);

    if (pool->chunk_tokens <= fresh)
        return alone_s;
    return prompt_s(pool, engine, load, (plait_step){0}, fresh / pool->chunk_tokens);
}

/* The pool of prompts: what one takes by itself and among many, and how many a second it can do. */
typedef struct intake {
    double prompt_s, crowded_s, lanes, capacity;
} intake;

static intake intake_of(const plait_deployment *d, const plait_load *load)
{
    const plait_pool *pool = &d->pool[0];
    const double alone_s = turn_of(pool, d->engine, load, 0.0).prompt_s;
    intake in = {.prompt_s = alone_s,
                 .crowded_s =
                     crowded_s(pool, d->engine, load, alone_s) * waiting_ranks(pool, d->engine),
                 .lanes = (double)d->replicas * pool->workers * pool->table->worker.dp_attention};

    in.capacity = in.lanes / in.crowded_s;
    return in;
}

static double travel_s(const plait_deployment *d, const plait_load *load)
{
    if (d->transfer.bytes_per_s <= 0.0)
        return 0.0;
    return d->transfer.latency_s +
           load->input * d->cache_token_bytes / (d->transfer.bytes_per_s * d->engine->handover);
}

/* What one waits for others' prompts: the queue of arrivals, and of a closed loop the start. */
static double intake_wait_s(const intake *in, const plait_engine *engine, const plait_load *load,
                            double rho)
{
    const double arrivals = rho / (2.0 * larger(1.0 - rho, 1e-3));

    if (load->kind != PLAIT_LOAD_CLOSED)
        return arrivals * in->crowded_s;
    const double others = larger(load->concurrency - 1.0, 0.0) / in->lanes;
    return (smaller(arrivals, others) + engine->queue * others / 2.0) * in->crowded_s;
}

/* A load on two pools, and its service where so many sequences decode on each attention rank. */
typedef struct pair_balance {
    const plait_deployment *d;
    const plait_load *load;
    intake in;
    double ranks; /* attention ranks that decode */
    double yield;
    double travel_s;
    plait_service s;
} pair_balance;

/*
 * C.377: of arrivals, how many more decode than so many; of a closed loop, how many users are left when
 * so many decode, those with a prompt being as many as its rate implies.
 */
static double apart_gap(void *context, double sequences)
{
    pair_balance *at = context;
    const plait_load *load = at->load;
    const plait_engine *engine = at->d->engine;
    const turn t = {.step_s = decode_s(&at->d->pool[1], engine, load, larger(sequences, 1.0), NULL),
                    .prompt_s = at->in.prompt_s,
                    .yield = at->yield};
    const double tpot = t.step_s / t.yield;
    const double decoding = (load->output - 1.0) * tpot;
    const bool is_closed = load->kind == PLAIT_LOAD_CLOSED;
    const double decoded = decoding > 0.0 ? sequences * at->ranks / decoding : at->in.capacity;
    const double x = is_closed ? smaller(decoded, at->in.capacity) : load->rate;
    const double wait = intake_wait_s(&at->in, engine, load, smaller(x / at->in.capacity, 1.0));

    at->s = service_of(load, t, engine->first_s + at->in.prompt_s + wait + at->travel_s + t.step_s,
                       tpot);
    at->s.queue_s = wait;
    at->s.utilisation = smaller(x / at->in.capacity, 1.0);
    if (!is_closed)
        return x * decoding / at->ranks - sequences;
    return smaller(load->concurrency - decoded * at->s.e2e_s,
                   (at->in.capacity - decoded) * at->s.e2e_s);
}

/*
 * C.377: prompts on workers of their own, then their caches travel. A closed network: x = C / E2E, the
 * prefill pool is one queue of deterministic turns, decoding is bound by its batch.
 */
static plait_service apart(const plait_deployment *d, const plait_load *load)
{
    const plait_pool *decode = &d->pool[1];
    const bool is_closed = load->kind == PLAIT_LOAD_CLOSED;
    const double most = smaller(most_sequences(decode, load), endless);
    pair_balance at = {.d = d,
                       .load = load,
                       .in = intake_of(d, load),
                       .ranks = (double)d->replicas * decode->workers *
                                decode->table->worker.dp_attention,
                       .yield = yield_of(load),
                       .travel_s = travel_s(d, load)};
    plait_service *s = &at.s;

    if (most < 1.0 || (!is_closed && load->rate >= at.in.capacity))
        return (plait_service){.utilisation = load->rate / at.in.capacity};
    const double sequences = settle(apart_gap, &at, most);
    const double decoding = (load->output - 1.0) * s->tpot_s;
    if (!is_closed && load->rate * decoding / at.ranks > sequences * (1.0 + loose))
        return (plait_service){.utilisation = 1.0, .binds = PLAIT_SERVE_BINDS_CAPACITY};
    if (is_closed) { // who does not decode waits for a prompt, or for room
        const double decoded = most * at.ranks / larger(decoding, 1e-9);
        const double cycle = larger(load->concurrency / smaller(at.in.capacity, decoded), s->e2e_s);
        if (sequences >= most)
            s->binds = PLAIT_SERVE_BINDS_CAPACITY;
        s->queue_s += cycle - s->e2e_s;
        s->ttft_s += cycle - s->e2e_s;
        s->e2e_s = cycle;
    }
    s->batch = sequences * decode->table->worker.dp_attention;
    s->requests_per_s = is_closed ? busy_share * load->concurrency / s->e2e_s : load->rate;
    return *s;
}

plait_role_limit plait_serve_prefill_limit(const plait_pool *pool, const plait_engine *engine,
                                           const plait_load *load)
{
    const plait_deployment one = {.engine = engine, .replicas = 1, .pool = {*pool}};
    const intake in = intake_of(&one, load);

    return (plait_role_limit){in.capacity / pool->workers, engine->first_s + in.prompt_s};
}

double plait_serve_decode_tpot(const plait_pool *pool, const plait_engine *engine,
                               const plait_load *load, double sequences)
{
    return decode_s(pool, engine, load, larger(sequences, 1.0), NULL) / yield_of(load);
}

/* Requests/s are sequences over time; between two counts, those of the larger in the time of the smaller. */
plait_role_limit plait_serve_decode_limit(const plait_pool *pool, const plait_engine *engine,
                                          const plait_load *load, double tpot_s)
{
    static const double finer = 1.1;
    const double most = smaller(most_sequences(pool, load), endless);
    const double yield = yield_of(load);
    const double tokens = larger(load->output - 1.0, 1e-9);
    const double first = decode_s(pool, engine, load, 1.0, NULL);
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

// ---- any -----------------------------------------------------------------------------------

/* The largest of what a step spends, and of what prompts add to it. */
static plait_serve_bind binding(const plait_service *s, bool disaggregated)
{
    static const plait_serve_bind of[PLAIT_STEP_PARTS] = {
        [PLAIT_STEP_linear] = PLAIT_SERVE_BINDS_WEIGHTS,
        [PLAIT_STEP_experts] = PLAIT_SERVE_BINDS_WEIGHTS,
        [PLAIT_STEP_decode_attention] = PLAIT_SERVE_BINDS_KV_READS,
        [PLAIT_STEP_prompt_attention] = PLAIT_SERVE_BINDS_COMPUTE,
        [PLAIT_STEP_reduce] = PLAIT_SERVE_BINDS_ALL_REDUCE,
        [PLAIT_STEP_exchange] = PLAIT_SERVE_BINDS_EXCHANGE,
        [PLAIT_STEP_stages] = PLAIT_SERVE_BINDS_ALL_REDUCE,
        [PLAIT_STEP_head] = PLAIT_SERVE_BINDS_WEIGHTS,
        [PLAIT_STEP_launch] = PLAIT_SERVE_BINDS_LAUNCH,
    };
    double sum[PLAIT_SERVE_BINDS] = {0};
    int most = 0;

    for (int p = 0; p < PLAIT_STEP_PARTS; p++)
        sum[of[p]] += s->parts[p];
    if (!disaggregated)
        sum[PLAIT_SERVE_BINDS_PREFILL] = larger(s->tpot_s - s->step_s, 0.0);
    for (int b = 1; b < PLAIT_SERVE_BINDS; b++)
        if (sum[b] > sum[most])
            most = b;
    return (plait_serve_bind)most;
}

plait_service plait_serve(const plait_deployment *deployment, plait_load load)
{
    plait_service s;

    if (deployment->disaggregated)
        s = apart(deployment, &load);
    else if (load.kind == PLAIT_LOAD_CLOSED)
        s = closed(deployment, &load);
    else if (load.kind == PLAIT_LOAD_RATE)
        s = arriving(deployment, &load);
    else if (load.kind == PLAIT_LOAD_STATIC)
        s = together(deployment, &load);
    else
        s = queued(deployment, &load);
    if (!s.stable)
        return s;
    const plait_pool *decode = &deployment->pool[deployment->disaggregated];
    decode_s(decode, deployment->engine, &load, s.batch / decode->table->worker.dp_attention,
             s.parts);
    if (s.binds != PLAIT_SERVE_BINDS_CAPACITY)
        s.binds = binding(&s, deployment->disaggregated);
    s.output_tokens_per_s = s.requests_per_s * load.output;
    return s;
}
