/* serve_sim.c - simulation of a deployment under a load, step by step (C.364) */
#include <math.h>

#include "base/numbers.h"
#include "base/random.h"
#include "costmodel/serving/serve_request_cost.h"
#include "costmodel/serving/serve_sim.h"
#include "plan/serve_values.h"

enum { NONE = -1 };

// ---- draws ---------------------------------------------------------------------------------

static double draw_length(sim *s, double mean)
{
    const double length = mean * (1.0 + s->load.spread * (2.0 * random_share(&s->state) - 1.0));

    return larger(floor(length + 0.5), 1.0);
}

// ---- pending events ------------------------------------------------------------------------

static void push_event(sim *s, double time, event_kind kind, int of)
{
    const event e = {.time = time, .order = s->order++, .kind = kind, .of = of};

    s->out_of_memory |= !event_push(&s->events, s->arena, e);
}

/*
 * Adds request q to the decoding sequences of a rank. It ends after `tokens` tokens, at `yield`
 * tokens per step.
 */
static void start_decoding(sim *s, rank *r, int q, double tokens)
{
    const event end = {.time = r->step + ceil(tokens / s->yield), .of = q};

    s->out_of_memory |= !event_push(&r->decoding, s->arena, end);
}

// ---- requests ------------------------------------------------------------------------------

static void issue_request(sim *s, double time)
{
    if (s->issued >= s->draws.requests)
        return;
    const plait_lengths *const lengths = s->load.lengths;
    double load_s = 0.0;
    request *q = &s->requests[s->issued];
    *q = (request){.arrived = time, .cached = s->load.cached, .next = NONE};
    if (lengths != NULL) {
        const int drawn = (int)(random_share(&s->state) * lengths->count);
        q->input = lengths->request[drawn].input;
        q->output = lengths->request[drawn].output;
        q->cached = lengths->request[drawn].cached;
        const double missed = smaller(lengths->request[drawn].repeated, q->input - 1.0) - q->cached;
        const plait_pool *const pool = &s->d->pool[0];
        if (missed > 0.0 && pool->host_tokens > 0.0 &&
            random_share(&s->state) < serve_host_hit(pool, lengths)) {
            q->cached += missed;
            load_s = missed * pool->host_token_s;
        }
    } else {
        q->input = draw_length(s, s->load.input);
        q->output = draw_length(s, s->load.output);
    }
    push_event(s, time + s->d->engine->request_s + load_s, ARRIVES, s->issued++);
}

static void issue_arrivals(sim *s)
{
    const double together = larger(s->draws.burst, 1.0);
    double time = 0.0;

    if (s->load.kind == PLAIT_LOAD_RATE) {
        while (s->issued < s->draws.requests) {
            time -= log(random_share(&s->state)) * together / s->load.rate;
            for (double i = 0.0; i < together; i += 1.0)
                issue_request(s, time);
        }
        return;
    }
    const bool all = s->load.kind != PLAIT_LOAD_CLOSED || s->load.concurrency <= 0.0;
    const double users = all ? s->draws.requests : s->load.concurrency;
    for (double i = 0.0; i < users; i += 1.0)
        issue_request(s, 0.0);
}

/* Returns the worker with the fewest requests among the indices first .. last - 1. */
static worker *emptiest_worker(sim *s, int first, int last)
{
    worker *best = &s->workers[first];

    for (int w = first + 1; w < last; w++)
        if (s->workers[w].load < best->load)
            best = &s->workers[w];
    return best;
}

// ---- steps ---------------------------------------------------------------------------------

/* Free KV cache in tokens that a request needs to start. */
static double room_of(const sim *s, const request *q)
{
    return q->input + (s->preempts ? q->made : q->output);
}

/* Tokens of a request that must be processed before it decodes. */
static double fresh_of(const request *q)
{
    return q->input + q->made - smaller(q->cached, q->input - 1.0);
}

static double cap_of(const worker *w)
{
    return w->pool->max_sequences > 0.0 ? w->pool->max_sequences / w->count : 1e18;
}

static double round_of(const worker *w)
{
    const double chunk = w->pool->chunk_tokens;

    return chunk > 0.0 ? chunk * w->pool->table->worker.pp : 1e18; // each stage has its own batch
}

/*
 * Returns true while the prompts of a rank wait for other prompts: until all of them fill a step,
 * or the first has waited for gather_steps steps.
 */
static bool waits_for_others(const sim *s, const worker *w, rank *r)
{
    double tokens = -r->done;

    r->waited = r->waited == NONE ? 0.0 : r->waited + 1.0;
    if (r->waited >= w->pool->gather_steps)
        return false;
    for (int q = r->head; q != NONE; q = s->requests[q].next)
        tokens += fresh_of(&s->requests[q]);
    return tokens < round_of(w) - r->decoding.count;
}

/*
 * Returns true if a decoding worker starts no prompt in this step (C.380): all prompts wait for the
 * next check of arrivals, or for other prompts. If one rank starts its prompts, all ranks start
 * theirs. A prompt that has begun continues.
 */
static bool is_held_back(const sim *s, const worker *w)
{
    const bool looks = w->pool->poll_steps <= 1.0 || fmod(w->step, w->pool->poll_steps) < 1.0;
    bool decodes = false, starts = false;

    for (int i = 0; i < w->count; i++) {
        rank *r = &w->ranks[i];
        decodes = decodes || r->decoding.count > 0;
        if (r->head != NONE)
            starts = starts || r->done > 0.0 || (looks && !waits_for_others(s, w, r));
    }
    if (decodes && !starts)
        return true;
    for (int i = 0; i < w->count; i++)
        w->ranks[i].waited = NONE;
    return false;
}

/*
 * Selects the prompts of one rank for the current step: in order of arrival, within the token
 * budget, and only if their KV caches fit.
 */
static void select_prompts(const sim *s, const worker *w, rank *r, bool held_back)
{
    double budget = round_of(w) - (w->first ? 0.0 : r->decoding.count);
    double room = r->room;

    r->prompt = r->prompts = r->before = 0.0;
    if (!w->prefills || held_back)
        return;
    for (int q = r->head; q != NONE && budget >= 1.0; q = s->requests[q].next) {
        const request *one = &s->requests[q];
        const double done = q == r->head ? r->done : 0.0;
        const double cached = one->input + one->made - fresh_of(one);
        const double others = r->decoding.count + r->prompts;
        if (done == 0.0 && others > 0.0 && (room_of(s, one) > room || others + 1.0 > cap_of(w)))
            break;
        const double left = fresh_of(one) - done;
        const double taken = smaller(left, budget);
        room -= room_of(s, one);
        r->before += cached + done;
        r->prompts += 1.0;
        r->prompt += taken;
        budget -= taken;
        if (taken < left)
            break;
    }
}

/* Starts the requests of a decode worker whose KV caches have arrived, as soon as they fit. */
static void start_arrived(sim *s, worker *w, rank *r)
{
    while (r->head != NONE) {
        const int q = r->head;
        request *one = &s->requests[q];
        if (r->decoding.count > 0 &&
            (room_of(s, one) > r->room || r->decoding.count + 1.0 > cap_of(w)))
            return;
        r->head = one->next;
        r->room -= room_of(s, one);
        r->contexts += one->input;
        one->next = r->started;
        r->started = q;
        start_decoding(s, r, q, one->output);
    }
}

/*
 * Seconds of one round of the pipeline, in which each stage runs each batch once. Prompts fill the
 * batches one after the other.
 */
static double round_s(const sim *s, const worker *w, plait_step step)
{
    const double stages = w->pool->table->worker.pp;
    const double budget = w->pool->chunk_tokens > 0.0 ? w->pool->chunk_tokens : step.prompt;
    double left = step.prompt, sum = 0.0, batches = stages;
    plait_step batch = step;

    if (stages <= 1.0 || step.sequences < 1.0 || step.prompt <= 0.0)
        return plait_step_s(w->pool->table, s->d->engine, step, NULL);
    for (; left > 0.0 && batches > 1.0; batches -= 1.0) {
        batch.prompt = smaller(left, budget) * stages;
        batch.prompts = larger(step.prompts * batch.prompt / step.prompt, 1.0);
        sum += plait_step_s(w->pool->table, s->d->engine, batch, NULL);
        left -= smaller(left, budget);
    }
    batch.prompt = left * stages;
    batch.prompts = larger(step.prompts * batch.prompt / step.prompt, 1.0);
    sum += batches * plait_step_s(w->pool->table, s->d->engine, batch, NULL);
    return sum / stages;
}

/*
 * Seconds of a step in which ranks have either prompts or decoding sequences: the longer of both,
 * since the ranks run them at the same time.
 */
static double apart_s(const sim *s, const worker *w, plait_step step)
{
    plait_step prompts = step, decoding = step;

    prompts.sequences = 0.0;
    decoding.prompt = 0.0;
    return larger(plait_step_s(w->pool->table, s->d->engine, prompts, NULL),
                  step.sequences > 0.0 ? plait_step_s(w->pool->table, s->d->engine, decoding, NULL)
                                       : 0.0);
}

static bool rank_decodes(const worker *w, const rank *r)
{
    return !w->first || r->prompt <= 0.0;
}

/*
 * Starts a step of a worker. All ranks synchronise in every layer, so the step takes the time of
 * the fullest rank.
 */
static void start_step(sim *s, worker *w)
{
    plait_step step = {.verified = 1.0 + s->load.draft};
    const bool held_back = is_held_back(s, w);
    double contexts = 0.0, decoding = 0.0;

    for (rank *r = w->ranks; r < w->ranks + w->count; r++) {
        if (!w->prefills)
            start_arrived(s, w, r);
        select_prompts(s, w, r, held_back);
        if (rank_decodes(w, r))
            step.sequences = larger(step.sequences, r->decoding.count);
        if (r->prompt > step.prompt) {
            step.prompt = r->prompt;
            step.prompts = r->prompts;
            step.before = r->before / r->prompts;
        }
        contexts += r->contexts;
        decoding += r->decoding.count;
    }
    w->busy = step.sequences > 0.0 || step.prompt > 0.0;
    if (!w->busy)
        return;
    step.context = decoding > 0.0 ? contexts / decoding : 1.0;
    s->steps += 1.0;
    const double step_s = w->first && step.prompt > 0.0 ? apart_s(s, w, step) : round_s(s, w, step);
    push_event(s, s->now + step_s, STEP_ENDS, (int)(w - s->workers));
}

static void complete_request(sim *s, worker *w, rank *r, int q)
{
    request *one = &s->requests[q];

    one->last = s->now;
    r->running--;
    w->load--;
    s->finished++;
    if (s->load.kind == PLAIT_LOAD_CLOSED)
        issue_request(s, s->now);
}

/* Completes a prompt: the request has its first token, and decodes here or on a decode worker. */
static void begin_output(sim *s, worker *w, rank *r, int q)
{
    request *one = &s->requests[q];

    if (one->made > 0.0) { // after a preemption the user already has the first tokens
        r->room -= room_of(s, one);
        r->contexts += one->input + one->made;
        start_decoding(s, r, q, one->output - one->made);
        return;
    }
    one->first = s->now;
    if (!w->decodes) {
        r->running--;
        w->load--;
        push_event(s, s->now + s->travel_s, ARRIVES_DECODE, q);
        return;
    }
    r->room -= room_of(s, one);
    r->contexts += one->input;
    if (one->output <= 1.0) {
        r->room += room_of(s, one);
        r->contexts -= one->input;
        complete_request(s, w, r, q);
        return;
    }
    start_decoding(s, r, q, one->output - 1.0);
}

static void end_prompts(sim *s, worker *w, rank *r)
{
    double left = r->prompt;

    while (left > 0.0 && r->head != NONE) {
        const int q = r->head;
        const request *one = &s->requests[q];
        const double fresh = fresh_of(one);
        const double taken = smaller(left, fresh - r->done);
        left -= taken;
        r->done += taken;
        if (r->done < fresh)
            return;
        r->head = one->next;
        r->done = 0.0;
        begin_output(s, w, r, q);
    }
}

/*
 * Restarts the newest sequence because the KV cache is full. Its output so far becomes part of its
 * prompt.
 */
static void preempt_newest(sim *s, rank *r)
{
    int newest = 0;

    for (int i = 1; i < r->decoding.count; i++)
        if (r->decoding.of[i].of > r->decoding.of[newest].of)
            newest = i;
    const event end = event_take(&r->decoding, newest);
    request *q = &s->requests[end.of];
    const double made = q->output - (end.time - r->step) * s->yield;
    q->made = smaller(larger(made, 1.0), q->output - 1.0);
    r->contexts = larger(r->contexts - q->input - q->made, r->decoding.count);
    q->next = r->head;
    if (r->head == NONE)
        r->tail = end.of;
    r->head = end.of;
    s->preempted++;
}

static void end_step(sim *s, worker *w)
{
    w->step += 1.0;
    for (int i = 0; i < w->count; i++) {
        rank *r = &w->ranks[i];
        for (; r->started != NONE; r->started = s->requests[r->started].next)
            s->requests[r->started].first = s->now; // the decode worker returns the first token
        if (rank_decodes(w, r)) {
            r->step += 1.0;
            r->contexts += r->decoding.count * s->yield;
        }
        while (r->decoding.count > 0 && r->decoding.of[0].time <= r->step) {
            const int q = event_take(&r->decoding, 0).of;
            r->room += room_of(s, &s->requests[q]);
            r->contexts -= s->requests[q].input + s->requests[q].output;
            complete_request(s, w, r, q);
        }
        r->contexts = r->decoding.count > 0 ? larger(r->contexts, r->decoding.count) : 0.0;
        end_prompts(s, w, r);
        if (s->preempts) {
            const double all = w->pool->kv_tokens > 0.0 ? w->pool->kv_tokens : 1e18;

            if (r->decoding.count > 0 && r->contexts + r->done > all)
                r->done = 0.0; // a prompt in progress is the newest request
            while (r->decoding.count > 1 && r->contexts > all) // the step extended all caches
                preempt_newest(s, r);
            r->room = all - r->contexts;
        }
    }
    start_step(s, w);
}

// ---- the run -------------------------------------------------------------------------------

static bool fill_workers(sim *s)
{
    const plait_deployment *d = s->d;

    s->prefill_workers = d->replicas * d->pool[0].workers;
    s->worker_count =
        s->prefill_workers + (d->disaggregated ? d->replicas * d->pool[1].workers : 0);
    s->workers = plait_arena_alloc(s->arena, (size_t)s->worker_count, sizeof *s->workers);
    for (int i = 0; s->workers != NULL && i < s->worker_count; i++) {
        const bool decodes = i >= s->prefill_workers;
        const plait_pool *pool = &d->pool[decodes];
        const size_t ranks = (size_t)pool->table->worker.dp_attention;
        worker *w = &s->workers[i];
        *w = (worker){.pool = pool,
                      .count = (int)ranks,
                      .prefills = !decodes,
                      .decodes = decodes || !d->disaggregated,
                      .first = !d->disaggregated && serve_prefills_first(pool, d->engine),
                      .ranks = plait_arena_alloc(s->arena, ranks, sizeof *w->ranks)};
        if (w->ranks == NULL)
            return false;
        for (size_t r = 0; r < ranks; r++)
            w->ranks[r] = (rank){.head = NONE,
                                 .waited = NONE,
                                 .started = NONE,
                                 .room = pool->kv_tokens > 0.0 ? pool->kv_tokens : 1e18};
    }
    return s->workers != NULL;
}

static void process_event(sim *s, event e)
{
    s->now = e.time;
    if (e.kind == STEP_ENDS) {
        end_step(s, &s->workers[e.of]);
        return;
    }
    const bool decodes = e.kind == ARRIVES_DECODE;
    if (decodes && s->requests[e.of].output <= 1.0) {
        s->requests[e.of].first = s->requests[e.of].last = s->now;
        s->finished++;
        if (s->load.kind == PLAIT_LOAD_CLOSED)
            issue_request(s, s->now);
        return;
    }
    worker *w = decodes ? emptiest_worker(s, s->prefill_workers, s->worker_count)
                        : emptiest_worker(s, 0, s->prefill_workers);
    rank *r = &w->ranks[0];

    for (int i = 1; i < w->count; i++)
        if (w->ranks[i].running < r->running)
            r = &w->ranks[i];
    s->requests[e.of].next = NONE;
    if (r->head == NONE)
        r->head = e.of;
    else
        s->requests[r->tail].next = e.of;
    r->tail = e.of;
    r->running++;
    w->load++;
    if (!w->busy)
        start_step(s, w);
}

plait_status plait_serve_simulate(const plait_deployment *deployment, plait_load load,
                                  plait_serve_sim_options draws, plait_arena *arena,
                                  plait_serve_sim_result *out, plait_error *err)
{
    sim s = {.d = deployment, .load = load, .draws = draws, .arena = arena, .state = draws.seed};

    PLAIT_TRY(serve_check_simulation(deployment, &load, &draws, err));
    *out = (plait_serve_sim_result){0};
    s.requests = plait_arena_alloc(arena, (size_t)draws.requests + 1, sizeof *s.requests);
    PLAIT_TRY(plait_check_allocated(s.requests && fill_workers(&s), err));
    s.preempts = !serve_reserves(deployment);
    s.yield = serve_yield(&load);
    s.travel_s = deployment->disaggregated ? serve_travel_s(deployment, &load) : 0.0;
    issue_arrivals(&s);
    while (s.events.count > 0 && s.finished < draws.requests && !s.out_of_memory) {
        process_event(&s, event_take(&s.events, 0));
        if (s.draws.stop != NULL && (int64_t)s.steps % 4096 == 0 &&
            s.draws.stop(s.draws.stop_context, (double)s.finished / s.draws.requests)) {
            out->stopped = true;
            break;
        }
    }
    return s.out_of_memory ? plait_fail_nomem(err) : serve_sum_up(&s, out, err);
}
