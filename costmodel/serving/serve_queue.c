/*
 * serve_queue.c - closed forms of batching and waiting: from step times to the latency and
 * throughput of a load
 */
#include <math.h>

#include "base/numbers.h"
#include "costmodel/serving/serve_request_cost.h"

/*
 * Returns the mean of the largest of `ranks` Poisson draws with this mean: the sum over k >= 1 of
 * P(any draw >= k).
 */
static double most_of_draws(double mean, double ranks)
{
    enum { MOST = 1000 }; // maximum k; a mean of 100 needs 200
    double share = exp(-mean), below = share, most = 0.0;

    for (int k = 1; k < MOST && below < 1.0; k++) {
        most += 1.0 - pow(below, ranks);
        share *= mean / k;
        below = smaller(below + share, 1.0);
        if (k > mean && share < 1e-12)
            break;
    }
    return most;
}

/*
 * Seconds that a prompt adds to the steps of an attention rank, including prompts of other ranks in
 * the same steps (C.372). The ranks synchronise in the experts of each layer, so a step takes as
 * long as the rank with the most prompts needs. A rank has `mean` prompts per step. In a closed
 * loop it has one prompt with probability `mean`, else none. With random arrivals the number is a
 * Poisson draw. If the engine prefills first, a rank without a prompt decodes meanwhile, so prompts
 * of other ranks add only what their step is longer than a decode step.
 */
static double prompt_share_s(const plait_pool *pool, const plait_load *load, serve_turn t,
                             double sequences)
{
    static const double crowd = 100.0; // above this mean the largest draw is close to the mean
    const double ranks = pool->table->worker.dp_attention;
    const double mean = serve_arrivals(load, t, sequences) * t.chunks;
    const double rho = smaller(mean, 1.0);
    double steps = ranks; // steps with prompts of any rank, per step with one of this rank

    if (ranks <= 1.0 || pool->gather_steps > 0.0)
        return t.share_s;
    if (mean > 0.0 && load->kind == PLAIT_LOAD_RATE)
        steps = mean < crowd ? larger(most_of_draws(mean, ranks) / mean, 1.0) : 1.0;
    else if (mean > 0.0)
        steps = (1.0 - pow(1.0 - rho, ranks)) / rho;
    const double meanwhile = t.first ? smaller(t.step_s / t.own_s, 1.0) : 0.0;
    return (1.0 + (steps - 1.0) * (1.0 - meanwhile)) * t.share_s;
}

/* Seconds per token if one prompt of each of `users` adds `held` seconds to an answer. */
static double tpot_of(const plait_load *load, serve_turn t, double users, double held)
{
    return (t.step_s + serve_arrivals(load, t, users) * held) / t.yield;
}

/*
 * Seconds until the scheduler admits a prompt, beyond the current step (C.380). A prompt waits for
 * half of the steps between two checks of arrivals. If the engine gathers prompts, the first prompt
 * waits for the whole window, and later ones wait for half of it.
 */
static double admission_s(const plait_pool *pool, double step_s, double arrivals_per_s)
{
    const double window_s = pool->gather_steps * step_s;
    const double others = arrivals_per_s * window_s;

    return larger(pool->poll_steps - 1.0, 0.0) / 2.0 * step_s +
           window_s * (1.0 + others / 2.0) / (1.0 + others);
}

/*
 * Seconds of a prompt's own steps: those of the prompt alone, or those beside decoding sequences,
 * whichever are longer. An engine that prefills first runs it with the prompts of its group.
 */
static double own_s(serve_turn t, double held)
{
    return larger(t.prompt_s, t.first ? t.own_s : t.chunks * t.step_s + held);
}

/*
 * Seconds that a prompt delays the next one: the time that it adds to steps, and its share of their
 * token budget if they also decode. If all steps are full, the `decoding` sequences use their part
 * of the budget first.
 */
static double prompt_delay_s(const plait_pool *pool, const plait_load *load, serve_turn t,
                             double decoding, double held)
{
    const double fresh = serve_fresh(load);

    if (t.first)
        return held;
    return held + t.step_s * fresh / larger(serve_round_tokens(pool, fresh) - decoding, 1.0);
}

/*
 * A load on one attention rank of a pool, and the service that results for an assumed number of
 * running sequences.
 */
typedef struct balance {
    const plait_deployment *d;
    const plait_load *load;
    double share;   /* load of one attention rank, in users or requests/s */
    double running; /* closed loop: users of the rank with a request in flight */
    double implied; /* arrivals: running sequences that the service implies */
    plait_service s;
} balance;

/* How the common start of all users of a closed loop delays their prompts and answers. */
typedef struct start {
    double wait_s;  /* mean wait of a prompt for those before it, over all rounds */
    double after_s; /* mean time that the prompts after it add to its answer, over all rounds */
    double share;   /* share of the rounds in which all prompts arrive at the same time */
} start;

/*
 * All c users start at the same time (C.373). The last prompt waits for all others, and the mean
 * one for half of them. Short prompts share a step and end together. This occurs in one of `rounds`
 * rounds. It recurs in the other rounds if the users stay synchronised: an engine that prefills
 * first decodes all answers together, so answers of equal length end together. Unequal lengths
 * spread the ends, more with each round.
 */
static start start_of(const balance *at, serve_turn t, double held, double decoding_s)
{
    const plait_pool *pool = &at->d->pool[0];
    const plait_load *load = at->load;
    const double fresh = serve_fresh(load);
    const double others = larger(at->running - 1.0, 0.0);
    const double beside =
        smaller(larger(serve_round_tokens(pool, fresh) / fresh, 1.0) - 1.0, others);

    if (!(load->rounds > 0.0))
        return (start){0};
    const double added_s = t.first ? serve_prompt_s(pool, at->d->engine, load, (plait_step){0},
                                                    t.chunks / (1.0 + beside)) *
                                         held / t.share_s
                                   : held;
    const double each_s = t.first ? added_s : prompt_delay_s(pool, load, t, 0.0, held);
    const double all_s = others * each_s;
    const double apart_s = 2.0 * load->spread * decoding_s * 2.0 / 3.0 * sqrt(load->rounds);
    const double again = t.first && all_s > apart_s ? 1.0 - apart_s / all_s : 0.0;
    const double share = larger(1.0 / load->rounds, again);
    return (start){.wait_s = share * (all_s + beside * added_s) / 2.0,
                   .after_s = share * others * added_s / 2.0,
                   .share = share};
}

/*
 * Mean seconds that a prompt waits in a closed loop for the prompts of others (C.373).
 *
 * If prompts share steps with decoding, they form a queue as in M/D/1. The users of a closed loop
 * ask when a step ends, so a long step delays no more of them than a short one: the variance of
 * prompts adds to the wait only up to one step.
 *
 * An engine that prefills first ends no answer during a prompt, so a prompt waits only for the
 * prompts that began while it was on its way, and for those of its decode step that exceed the
 * token budget.
 *
 * @param x  requests/s of the attention rank
 */
static double others_s(const balance *at, serve_turn t, double sequences, double x, double held)
{
    const plait_pool *pool = &at->d->pool[0];
    const double others = 1.0 - 1.0 / larger(at->running, 1.0);

    if (t.first) {
        const double fresh = serve_fresh(at->load);
        const double fit = larger(serve_round_tokens(pool, fresh) / fresh, 1.0);
        const double ahead = serve_arrivals(at->load, t, sequences) + 1.0 - fit;
        const double way = smaller(at->d->engine->request_s + t.step_s, t.own_s);
        return others * (x * pool->table->worker.dp_attention * way * (t.own_s - way / 2.0) +
                         larger(ahead, 0.0) / 2.0 * t.share_s);
    }
    const double turn = prompt_delay_s(pool, at->load, t, 0.0, held);
    const double rho = smaller(others * x * turn, 1.0 - SERVE_LOOSE);
    return rho / (1.0 - rho) * smaller(t.varies * turn / 2.0, larger(turn / 2.0, t.step_s));
}

/*
 * Residual of the fixed point in a closed loop (C.373): the implied number of decoding sequences
 * minus the assumed one.
 */
static double closed_gap(void *context, double sequences)
{
    balance *at = context;
    const plait_pool *pool = &at->d->pool[0];
    const plait_engine *engine = at->d->engine;
    const serve_turn t = serve_turn_of(pool, engine, at->load, larger(sequences, 1.0));
    const double held = prompt_share_s(pool, at->load, t, larger(sequences, 1.0));
    const double others = 1.0 - 1.0 / larger(at->running, 1.0);
    const double users = larger(at->running * pool->table->worker.dp_attention, 1.0);
    // During an answer, as many prompts run as sequences decode. If prompts run in separate steps,
    // none runs with the user's own prompt, so all prompts of others run during the answer.
    const double prompts = (1.0 - 1.0 / users) * (t.first ? at->running : sequences);
    const double freely = tpot_of(at->load, t, prompts, held);
    const start begin = start_of(at, t, held, (at->load->output - 1.0) * freely);
    const double tpot = tpot_of(at->load, t, (1.0 - begin.share) * prompts, held) +
                        begin.after_s / at->load->output;
    const double decoding = (at->load->output - 1.0) * tpot;
    const double x = decoding > 0.0 ? sequences / decoding : 0.0;
    const double turn = prompt_delay_s(pool, at->load, t, 0.0, held);
    const double rho = smaller(others * x * turn, 1.0 - SERVE_LOOSE);
    const double queue = (1.0 - begin.share) * others_s(at, t, sequences, x, held) + begin.wait_s +
                         admission_s(pool, t.step_s, x * pool->table->worker.dp_attention);
    const double under_way = smaller(larger(at->running - 1.0, 0.0), 1.0) * t.step_s / 2.0;
    const double alone = engine->request_s + t.load_s + under_way + own_s(t, held);
    const double round = at->running * turn - decoding;
    const double ttft = larger(alone + queue, round);

    at->s = serve_service(at->load, t, ttft, tpot);
    at->s.queue_s = ttft - alone;
    at->s.utilisation = round > alone + queue ? 1.0 : rho;
    return at->running * decoding / (ttft + decoding) - sequences;
}

/*
 * Closed form for a closed loop of c users on one attention rank (C.373). By Little's law, b users
 * decode. The prompts of the others wait for each other as in M/D/1, but without the arriving
 * prompt:
 *
 *     TPOT = (t(b) + (1 - 1/u) b y/out d p) / y,   b = c (out - 1) TPOT / (TTFT + (out - 1) TPOT)
 *     TTFT = first + t(b)/2 [c > 1] + max(own, n t(b) + d p) + rho/(2 (1 - rho)) h + start + look
 *     rho  = (1 - 1/c) h b / ((out - 1) TPOT),   h = d p + t(b) fresh / chunk
 *
 * u is the users of all attention ranks, t(b) the time of a step, y the yield, out the output tokens, n the chunks of a prompt, own the
 * time of a prompt alone, and d p the time that a prompt adds to steps. h, start and look are the
 * results of prompt_delay_s, start_s and admission_s. A round of all users takes at least as long
 * as all of their prompts: TTFT >= c h - (out - 1) TPOT.
 */
static plait_service closed_loop(const plait_deployment *d, const plait_load *load)
{
    const plait_pool *pool = &d->pool[0];
    const double ranks = (double)d->replicas * pool->workers * pool->table->worker.dp_attention;
    const double users = load->concurrency / ranks;
    const double most = serve_most_sequences(pool, load, serve_reserves(d));
    balance at = {.d = d, .load = load, .share = users, .running = smaller(users, most)};
    plait_service *s = &at.s;

    if (most < 1.0)
        return *s;
    s->batch = serve_find_zero(closed_gap, &at, at.running) * pool->table->worker.dp_attention;
    if (users > most) { // users beyond the limit wait for a place
        const double wait = (users - most) / most * s->e2e_s;
        s->queue_s += wait;
        s->ttft_s += wait;
        s->e2e_s += wait;
        s->binds = PLAIT_SERVE_BINDS_CAPACITY;
    }
    s->requests_per_s = SERVE_BUSY_SHARE * load->concurrency / s->e2e_s;
    return *s;
}

/*
 * Residual of the fixed point for random arrivals (C.374): the implied number of running sequences
 * minus the assumed one, or infinity if the rank is overloaded.
 */
static double arriving_gap(void *context, double sequences)
{
    balance *at = context;
    const plait_pool *pool = &at->d->pool[0];
    const plait_engine *engine = at->d->engine;
    const double x = at->share;
    const serve_turn t = serve_turn_of(pool, engine, at->load, larger(sequences, 1.0));
    const double added = prompt_share_s(pool, at->load, t, larger(sequences, 1.0));
    const double busy = x * added;
    const double held = prompt_delay_s(pool, at->load, t, 0.0, added);
    const double crowded = x * prompt_delay_s(pool, at->load, t, sequences, added);

    if (busy >= 1.0 || crowded >= 1.0) {
        at->s = (plait_service){.utilisation = larger(busy, crowded)};
        return HUGE_VAL;
    }
    const double tpot = t.step_s / t.yield / (1.0 - busy);
    const double queue = t.varies * x * held / (2.0 * (1.0 - x * held)) * held +
                         admission_s(pool, t.step_s, x * pool->table->worker.dp_attention);
    const double own = own_s(t, added);
    const double ttft = engine->request_s + t.load_s + t.step_s / 2.0 + own + queue;
    // Prompts that arrive during a prompt's own steps, or during its wait and do not fit in a step
    // with it, run in its first decode steps. They lengthen short answers most. (C.400)
    const double fresh = serve_fresh(at->load);
    const double apart = smaller(fresh / serve_round_tokens(pool, fresh), 1.0);
    const double later_s =
        at->load->lengths != NULL ? x * (own + apart * queue) * added / (1.0 - busy) : 0.0;
    at->s = serve_service(at->load, t, ttft, tpot);
    if (at->load->lengths != NULL) {
        at->s.e2e_s += later_s;
        at->s.tpot_s += later_s * at->load->lengths->per_output;
    }
    at->s.queue_s = queue;
    at->s.utilisation = x * held;
    at->implied = x * at->load->output * tpot + x * later_s;
    return at->implied - sequences;
}

/*
 * Closed form for Poisson arrivals of x requests/s per rank (C.374). Prompts take a share x d p of
 * the time (d p: the time that a prompt adds to steps), and decode steps the rest. The queue of
 * prompts is M/D/1: a prompt delays the next one by the time that it adds to steps, and by its
 * share of their token budget.
 */
static plait_service random_arrivals(const plait_deployment *d, const plait_load *load)
{
    const plait_pool *pool = &d->pool[0];
    const double ranks = (double)d->replicas * pool->workers * pool->table->worker.dp_attention;
    const double most = smaller(serve_most_sequences(pool, load, serve_reserves(d)), SERVE_ENDLESS);
    balance at = {.d = d, .load = load, .share = load->rate / ranks};
    plait_service *s = &at.s;

    const double sequences = serve_find_zero(arriving_gap, &at, most);
    if (!s->stable)
        return *s;
    if (at.implied > sequences * (1.0 + SERVE_LOOSE))
        return (plait_service){.utilisation = 1.0, .binds = PLAIT_SERVE_BINDS_CAPACITY};
    s->batch = sequences * pool->table->worker.dp_attention;
    s->requests_per_s = load->rate;
    return *s;
}

/*
 * Closed form for one batch that starts together, by a direct call instead of a server (C.375). Its
 * prompts fill steps, then all sequences decode. Requests that do not fit in the KV cache run in
 * further waves.
 */
static plait_service one_batch(const plait_deployment *d, const plait_load *load)
{
    const plait_pool *pool = &d->pool[0];
    const plait_engine *engine = d->engine;
    const double ranks = (double)d->replicas * pool->workers * pool->table->worker.dp_attention;
    const double most = floor(serve_most_sequences(pool, load, true));
    const double all = ceil(load->concurrency / ranks - 1e-9);
    const double batch = smaller(all, most);
    plait_service s = {0};

    if (most < 1.0)
        return s;
    const double waves = all / batch;
    const serve_turn t = serve_turn_of(pool, engine, load, batch);
    const double tokens = batch * serve_fresh(load);
    const double chunk = pool->chunk_tokens > 0.0 ? pool->chunk_tokens : tokens;
    const double steps = ceil(tokens / chunk - 1e-9);
    double prompts =
        plait_step_s(pool->table, engine, (plait_step){.prompt = tokens / steps}, NULL) * steps;
    const plait_step one = {.prompt = serve_fresh(load), .before = load->cached};
    double parts[PLAIT_STEP_PARTS], whole[PLAIT_STEP_PARTS];
    plait_step_s(pool->table, engine, one, parts);
    plait_step_s(pool->table, engine, (plait_step){.prompt = tokens / steps}, whole);
    prompts +=
        batch * parts[PLAIT_STEP_prompt_attention] - steps * whole[PLAIT_STEP_prompt_attention];
    s = serve_service(load, t, prompts, t.step_s / t.yield);
    s.e2e_s *= waves;
    s.batch = batch * pool->table->worker.dp_attention;
    s.requests_per_s = load->concurrency / s.e2e_s;
    if (waves > 1.0)
        s.binds = PLAIT_SERVE_BINDS_CAPACITY;
    return s;
}

/*
 * Closed form for an offline load (C.376). All requests wait from the start, so as many run as fit,
 * and prompts take their share of each step.
 */
static plait_service offline(const plait_deployment *d, const plait_load *load)
{
    const plait_pool *pool = &d->pool[0];
    const plait_engine *engine = d->engine;
    const double ranks = (double)d->replicas * pool->workers * pool->table->worker.dp_attention;
    const double cap = load->concurrency > 0.0 ? load->concurrency / ranks : HUGE_VAL;
    const double batch =
        smaller(smaller(serve_most_sequences(pool, load, serve_reserves(d)), SERVE_ENDLESS), cap);
    plait_service s = {0};

    if (batch < 1.0)
        return s;
    const serve_turn t = serve_turn_of(pool, engine, load, batch);
    const double tpot = tpot_of(load, t, batch, prompt_share_s(pool, load, t, batch));
    s = serve_service(load, t, engine->request_s + t.step_s / 2.0 + t.prompt_s, tpot);
    s.batch = batch * pool->table->worker.dp_attention;
    s.requests_per_s = batch * ranks / (load->output * tpot);
    return s;
}

// ---- all kinds of load ---------------------------------------------------------------------

plait_service plait_serve(const plait_deployment *deployment, plait_load load)
{
    plait_service s;

    if (deployment->disaggregated)
        s = serve_disaggregated(deployment, &load);
    else if (load.kind == PLAIT_LOAD_CLOSED)
        s = closed_loop(deployment, &load);
    else if (load.kind == PLAIT_LOAD_RATE)
        s = random_arrivals(deployment, &load);
    else if (load.kind == PLAIT_LOAD_STATIC)
        s = one_batch(deployment, &load);
    else
        s = offline(deployment, &load);
    if (!s.stable)
        return s;
    const plait_pool *decode = &deployment->pool[deployment->disaggregated];
    serve_decode_s(decode, deployment->engine, &load, s.batch / decode->table->worker.dp_attention,
                   s.parts);
    if (s.binds != PLAIT_SERVE_BINDS_CAPACITY) {
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
            sum[of[p]] += s.parts[p];
        if (!deployment->disaggregated)
            sum[PLAIT_SERVE_BINDS_PREFILL] = larger(s.tpot_s - s.step_s, 0.0);
        for (int b = 1; b < PLAIT_SERVE_BINDS; b++)
            if (sum[b] > sum[most])
                most = b;
        s.binds = (plait_serve_bind)most;
    }
    s.output_tokens_per_s = s.requests_per_s * load.output;
    return s;
}
