/* serve_sim.c - a deployment under a load, step by step (C.364) */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "numbers.h"
#include "plait/serve.h"
#include "random.h"
#include "serve_values.h"

enum { NONE = -1 };

/* One request, from arrival to its last token. */
typedef struct request {
    double arrived, first, last;
    double input, output;
    double made; /* of the output, when its cache was given up: prompt again */
    int next;    /* in the queue of its rank */
} request;

/* Sequences that decode on one attention rank, by the step of the worker that is their last. */
typedef struct finish {
    double step;
    int request;
} finish;

typedef struct rank {
    int head, tail;  /* prompts that wait, in order */
    double done;     /* tokens of the first one that earlier steps took */
    double waited;   /* steps since a prompt came to gather others; NONE: none has */
    double room;     /* tokens of cache that nobody holds or has been promised */
    double contexts; /* sum over those that decode */
    int running;     /* decoding, or prefilled in part */
    finish *heap;
    int decoding, heap_room;
} rank;

typedef struct worker {
    const plait_pool *pool;
    rank *ranks;
    int count;
    int load; /* requests that it has */
    double step;
    bool busy;
    bool prefills, decodes;            /* what this worker does for requests */
    double *prompt, *prompts, *before; /* [count] of the step under way; before: of all prompts */
} worker;

typedef enum event_kind { ARRIVES, ARRIVES_DECODE, STEP_ENDS } event_kind;

typedef struct event {
    double time;
    int64_t order; /* of equal times the first comes first */
    event_kind kind;
    int of; /* request or worker */
} event;

typedef struct sim {
    const plait_deployment *d;
    plait_load load;
    plait_serve_draws draws;
    plait_arena *arena;
    uint64_t state;
    double now;
    double yield, travel_s;
    bool
        preempts; /* caches grow as they fill, and the newest gives way; else its whole length is promised */
    worker *workers;
    int worker_count, prefill_workers;
    request *requests;
    int issued, finished, preempted;
    event *events;
    int event_count, event_room;
    int64_t order;
    double steps;
    bool out_of_memory;
} sim;

// ---- draws ---------------------------------------------------------------------------------

static double draw_length(sim *s, double mean)
{
    const double length = mean * (1.0 + s->load.spread * (2.0 * random_share(&s->state) - 1.0));

    return larger(floor(length + 0.5), 1.0);
}

// ---- events, a heap by time ----------------------------------------------------------------

static bool is_before(const event *a, const event *b)
{
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

/* Twice the room, old contents kept. */
static void *grown(sim *s, const void *old, int *room, size_t size)
{
    const int twice = *room > 0 ? 2 * *room : 64;
    void *more = plait_arena_alloc(s->arena, (size_t)twice, size);

    if (more == NULL) {
        s->out_of_memory = true;
        return NULL;
    }
    if (*room > 0)
        memcpy(more, old, (size_t)*room * size);
    *room = twice;
    return more;
}

static void push_event(sim *s, double time, event_kind kind, int of)
{
    if (s->event_count == s->event_room) {
        event *more = grown(s, s->events, &s->event_room, sizeof *more);
        if (more == NULL)
            return;
        s->events = more;
    }
    const event e = {time, s->order++, kind, of};
    int at = s->event_count++;
    for (; at > 0 && is_before(&e, &s->events[(at - 1) / 2]); at = (at - 1) / 2)
        s->events[at] = s->events[(at - 1) / 2];
    s->events[at] = e;
}

static event pop_event(sim *s)
{
    const event top = s->events[0];
    const event last = s->events[--s->event_count];
    int at = 0;

    for (int child = 1; child < s->event_count; child = 2 * at + 1) {
        child += child + 1 < s->event_count && is_before(&s->events[child + 1], &s->events[child]);
        if (!is_before(&s->events[child], &last))
            break;
        s->events[at] = s->events[child];
        at = child;
    }
    if (s->event_count > 0)
        s->events[at] = last;
    return top;
}

// ---- the finish of sequences, a heap by step -----------------------------------------------

static void push_finish(sim *s, rank *r, finish f)
{
    if (r->decoding == r->heap_room) {
        finish *more = grown(s, r->heap, &r->heap_room, sizeof *more);
        if (more == NULL)
            return;
        r->heap = more;
    }
    int at = r->decoding++;
    for (; at > 0 && f.step < r->heap[(at - 1) / 2].step; at = (at - 1) / 2)
        r->heap[at] = r->heap[(at - 1) / 2];
    r->heap[at] = f;
}

/* The one at a place of the heap; 0: that which ends first. */
static finish take_finish(rank *r, int at)
{
    const finish taken = r->heap[at];
    const finish last = r->heap[--r->decoding];

    for (; at > 0 && last.step < r->heap[(at - 1) / 2].step; at = (at - 1) / 2)
        r->heap[at] = r->heap[(at - 1) / 2];
    for (int child = 2 * at + 1; child < r->decoding; child = 2 * at + 1) {
        child += child + 1 < r->decoding && r->heap[child + 1].step < r->heap[child].step;
        if (r->heap[child].step >= last.step)
            break;
        r->heap[at] = r->heap[child];
        at = child;
    }
    if (at < r->decoding)
        r->heap[at] = last;
    return taken;
}

// ---- requests ------------------------------------------------------------------------------

static void issue(sim *s, double time)
{
    if (s->issued >= s->draws.requests)
        return;
    request *q = &s->requests[s->issued];
    *q = (request){.arrived = time,
                   .input = draw_length(s, s->load.input),
                   .output = draw_length(s, s->load.output),
                   .next = NONE};
    push_event(s, time + s->d->engine->first_s, ARRIVES, s->issued++);
}

static void issue_arrivals(sim *s)
{
    const double together = larger(s->draws.burst, 1.0);
    double time = 0.0;

    if (s->load.kind == PLAIT_LOAD_RATE) {
        while (s->issued < s->draws.requests) {
            time -= log(random_share(&s->state)) * together / s->load.rate;
            for (double i = 0.0; i < together; i += 1.0)
                issue(s, time);
        }
        return;
    }
    const bool all = s->load.kind != PLAIT_LOAD_CLOSED || s->load.concurrency <= 0.0;
    const double users = all ? s->draws.requests : s->load.concurrency;
    for (double i = 0.0; i < users; i += 1.0)
        issue(s, 0.0);
}

/* The worker, among those from `first` to `last`, and its rank, with the fewest requests. */
static worker *emptiest(sim *s, int first, int last)
{
    worker *best = &s->workers[first];

    for (int w = first + 1; w < last; w++)
        if (s->workers[w].load < best->load)
            best = &s->workers[w];
    return best;
}

static rank *emptiest_rank(worker *w)
{
    rank *best = &w->ranks[0];

    for (int r = 1; r < w->count; r++)
        if (w->ranks[r].running < best->running)
            best = &w->ranks[r];
    return best;
}

static void enqueue(sim *s, worker *w, int q)
{
    rank *r = emptiest_rank(w);

    s->requests[q].next = NONE;
    if (r->head == NONE)
        r->head = q;
    else
        s->requests[r->tail].next = q;
    r->tail = q;
    r->running++;
    w->load++;
}

// ---- steps ---------------------------------------------------------------------------------

/* Tokens of cache that a request has to find when it starts. */
static double room_of(const sim *s, const request *q)
{
    return q->input + (s->preempts ? q->made : q->output);
}

/* Tokens of it to be computed before it decodes. */
static double fresh_of(const sim *s, const request *q)
{
    return q->input + q->made - smaller(s->load.cached, q->input - 1.0);
}

static double cap_of(const worker *w)
{
    return w->pool->max_sequences > 0.0 ? w->pool->max_sequences / w->count : 1e18;
}

static double round_of(const worker *w)
{
    const double chunk = w->pool->chunk_tokens;

    return chunk > 0.0 ? chunk * w->pool->table->worker.pp : 1e18; // each stage has a batch
}

static double waiting_tokens(const sim *s, const rank *r)
{
    double sum = -r->done;

    for (int q = r->head; q != NONE; q = s->requests[q].next)
        sum += fresh_of(s, &s->requests[q]);
    return sum;
}

/* Whether a rank's prompts wait for others: until they fill a step, or the first has waited its time. */
static bool gathers(const sim *s, const worker *w, rank *r)
{
    r->waited = r->waited == NONE ? 0.0 : r->waited + 1.0;
    return r->waited < w->pool->gather_steps && waiting_tokens(s, r) < round_of(w) - r->decoding;
}

/*
 * Whether all prompts of a worker wait while it decodes: for the next look at what has arrived, or for others. Where one
 * rank's start, those of all do; a prompt under way goes on. (C.380)
 */
static bool is_held_back(const sim *s, const worker *w)
{
    const bool looks = w->pool->poll_steps <= 1.0 || fmod(w->step, w->pool->poll_steps) < 1.0;
    bool decodes = false, starts = false;

    for (int i = 0; i < w->count; i++) {
        rank *r = &w->ranks[i];
        decodes = decodes || r->decoding > 0;
        if (r->head != NONE)
            starts = starts || r->done > 0.0 || (looks && !gathers(s, w, r));
    }
    if (decodes && !starts)
        return true;
    for (int i = 0; i < w->count; i++)
        w->ranks[i].waited = NONE;
    return false;
}

/* Prompts of one rank that the step under way takes: in order, within the budget, where there is room. */
static void take_prompts(sim *s, worker *w, int at, bool held_back)
{
    rank *r = &w->ranks[at];
    double budget = round_of(w) - r->decoding;
    double room = r->room;

    w->prompt[at] = w->prompts[at] = w->before[at] = 0.0;
    if (!w->prefills || held_back)
        return;
    for (int q = r->head; q != NONE && budget >= 1.0; q = s->requests[q].next) {
        const request *one = &s->requests[q];
        const double done = q == r->head ? r->done : 0.0;
        const double cached = one->input + one->made - fresh_of(s, one);
        const double others = r->decoding + w->prompts[at];
        if (done == 0.0 && others > 0.0 && (room_of(s, one) > room || others + 1.0 > cap_of(w)))
            break;
        const double left = fresh_of(s, one) - done;
        const double taken = smaller(left, budget);
        room -= room_of(s, one);
        w->before[at] += cached + done;
        w->prompts[at] += 1.0;
        w->prompt[at] += taken;
        budget -= taken;
        if (taken < left)
            break;
    }
}

/* Requests whose caches came from elsewhere join as soon as there is room. */
static void join(sim *s, worker *w, rank *r)
{
    while (r->head != NONE) {
        const int q = r->head;
        request *one = &s->requests[q];
        if (r->decoding > 0 && (room_of(s, one) > r->room || r->decoding + 1.0 > cap_of(w)))
            return;
        r->head = one->next;
        r->room -= room_of(s, one);
        r->contexts += one->input;
        push_finish(s, r, (finish){w->step + ceil(larger(one->output - 1.0, 1.0) / s->yield), q});
    }
}

/* A round of all stages: prompts fill the batches of one after the other. */
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

/* All ranks meet in every layer: the step is that of the fullest. */
static void start_step(sim *s, worker *w)
{
    plait_step step = {.verified = 1.0 + s->load.draft};
    const bool held_back = is_held_back(s, w);
    double contexts = 0.0, decoding = 0.0;

    for (int r = 0; r < w->count; r++) {
        if (!w->prefills)
            join(s, w, &w->ranks[r]);
        take_prompts(s, w, r, held_back);
        step.sequences = larger(step.sequences, w->ranks[r].decoding);
        if (w->prompt[r] > step.prompt) {
            step.prompt = w->prompt[r];
            step.prompts = w->prompts[r];
            step.before = w->before[r] / w->prompts[r];
        }
        contexts += w->ranks[r].contexts;
        decoding += w->ranks[r].decoding;
    }
    w->busy = step.sequences > 0.0 || step.prompt > 0.0;
    if (!w->busy)
        return;
    step.context = decoding > 0.0 ? contexts / decoding : 1.0;
    s->steps += 1.0;
    push_event(s, s->now + round_s(s, w, step), STEP_ENDS, (int)(w - s->workers));
}

static void complete(sim *s, worker *w, rank *r, int q)
{
    request *one = &s->requests[q];

    one->last = s->now;
    r->running--;
    w->load--;
    s->finished++;
    if (s->load.kind == PLAIT_LOAD_CLOSED)
        issue(s, s->now);
}

/* A prompt is through: its first token is there, and it decodes, here or elsewhere. */
static void begin_output(sim *s, worker *w, rank *r, int q)
{
    request *one = &s->requests[q];

    if (one->made > 0.0) { // the user has the first ones
        r->room -= room_of(s, one);
        r->contexts += one->input + one->made;
        push_finish(s, r, (finish){w->step + ceil((one->output - one->made) / s->yield), q});
        return;
    }
    one->first = s->now;
    if (!w->decodes) {
        r->running--;
        w->load--;
        one->first = s->now + s->travel_s; // a user sees it when the decoder has it
        push_event(s, s->now + s->travel_s, ARRIVES_DECODE, q);
        return;
    }
    r->room -= room_of(s, one);
    r->contexts += one->input;
    if (one->output <= 1.0) {
        r->room += room_of(s, one);
        r->contexts -= one->input;
        complete(s, w, r, q);
        return;
    }
    push_finish(s, r, (finish){w->step + ceil((one->output - 1.0) / s->yield), q});
}

static void end_prompts(sim *s, worker *w, int at)
{
    rank *r = &w->ranks[at];
    double left = w->prompt[at];

    while (left > 0.0 && r->head != NONE) {
        const int q = r->head;
        const request *one = &s->requests[q];
        const double fresh = fresh_of(s, one);
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

/* The cache is full: the last one that came starts again, with its output so far as prompt. */
static void preempt_newest(sim *s, const worker *w, rank *r)
{
    int newest = 0;

    for (int i = 1; i < r->decoding; i++)
        if (r->heap[i].request > r->heap[newest].request)
            newest = i;
    const finish f = take_finish(r, newest);
    request *q = &s->requests[f.request];
    const double made = q->output - (f.step - w->step) * s->yield;
    q->made = smaller(larger(made, 1.0), q->output - 1.0);
    r->contexts = larger(r->contexts - q->input - q->made, r->decoding);
    q->next = r->head;
    if (r->head == NONE)
        r->tail = f.request;
    r->head = f.request;
    s->preempted++;
}

/* Caches have grown by the tokens of a step. */
static void make_room(sim *s, const worker *w, rank *r)
{
    const double all = w->pool->kv_tokens > 0.0 ? w->pool->kv_tokens : 1e18;

    if (r->decoding > 0 && r->contexts + r->done > all)
        r->done = 0.0; // a prompt under way came last
    while (r->decoding > 1 && r->contexts > all)
        preempt_newest(s, w, r);
    r->room = all - r->contexts;
}

static void end_step(sim *s, worker *w)
{
    w->step += 1.0;
    for (int i = 0; i < w->count; i++) {
        rank *r = &w->ranks[i];
        r->contexts += r->decoding * s->yield;
        while (r->decoding > 0 && r->heap[0].step <= w->step) {
            const int q = take_finish(r, 0).request;
            r->room += room_of(s, &s->requests[q]);
            r->contexts -= s->requests[q].input + s->requests[q].output;
            complete(s, w, r, q);
        }
        r->contexts = r->decoding > 0 ? larger(r->contexts, r->decoding) : 0.0;
        end_prompts(s, w, i);
        if (s->preempts)
            make_room(s, w, r);
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
                      .ranks = plait_arena_alloc(s->arena, ranks, sizeof *w->ranks),
                      .prompt = plait_arena_alloc(s->arena, ranks, sizeof *w->prompt),
                      .prompts = plait_arena_alloc(s->arena, ranks, sizeof *w->prompts),
                      .before = plait_arena_alloc(s->arena, ranks, sizeof *w->before)};
        if (w->ranks == NULL || w->prompt == NULL || w->prompts == NULL || w->before == NULL)
            return false;
        for (size_t r = 0; r < ranks; r++)
            w->ranks[r] = (rank){.head = NONE,
                                 .waited = NONE,
                                 .room = pool->kv_tokens > 0.0 ? pool->kv_tokens : 1e18};
    }
    return s->workers != NULL;
}

static void happen(sim *s, event e)
{
    s->now = e.time;
    if (e.kind == STEP_ENDS) {
        end_step(s, &s->workers[e.of]);
        return;
    }
    const bool decodes = e.kind == ARRIVES_DECODE;
    if (decodes && s->requests[e.of].output <= 1.0) {
        s->requests[e.of].last = s->now;
        s->finished++;
        if (s->load.kind == PLAIT_LOAD_CLOSED)
            issue(s, s->now);
        return;
    }
    worker *w = decodes ? emptiest(s, s->prefill_workers, s->worker_count)
                        : emptiest(s, 0, s->prefill_workers);
    enqueue(s, w, e.of);
    if (!w->busy)
        start_step(s, w);
}

static bool is_stopped(const sim *s)
{
    return s->draws.stop != NULL && (int64_t)s->steps % 4096 == 0 &&
           s->draws.stop(s->draws.stop_context, (double)s->finished / s->draws.requests);
}

// ---- what was seen -------------------------------------------------------------------------

static plait_serve_seen seen_of(double *values, int count)
{
    double sum = 0.0;

    if (count == 0)
        return (plait_serve_seen){0};
    for (int i = 0; i < count; i++)
        sum += values[i];
    qsort(values, (size_t)count, sizeof *values, compare_doubles);
    return (plait_serve_seen){sum / count, values[count / 2], values[(int)(0.99 * (count - 1))]};
}

static plait_status sum_up(const sim *s, plait_serve_drawn *out, plait_error *err)
{
    const size_t n = (size_t)s->issued + 1;
    double *ttft = plait_arena_alloc(s->arena, n, sizeof *ttft);
    double *tpot = plait_arena_alloc(s->arena, n, sizeof *tpot);
    double *e2e = plait_arena_alloc(s->arena, n, sizeof *e2e);
    double tokens = 0.0, late = 0.0;
    int count = 0, several = 0;

    if (ttft == NULL || tpot == NULL || e2e == NULL)
        return plait_fail_nomem(err);
    for (int i = 0; i < s->issued; i++) {
        const request *q = &s->requests[i];
        if (q->last <= 0.0)
            continue;
        tokens += q->output;
        if (i < s->draws.unseen && s->issued > s->draws.unseen)
            continue;
        ttft[count] = q->first - q->arrived;
        late = larger(late, ttft[count]);
        e2e[count++] = q->last - q->arrived;
        if (q->output > 1.0)
            tpot[several++] = (q->last - q->first) / (q->output - 1.0);
    }
    out->requests = s->finished;
    out->preempted = s->preempted;
    out->steps = s->steps;
    out->seconds = s->now;
    out->full = s->load.kind == PLAIT_LOAD_RATE && late > s->now / 2.0;
    out->ttft = seen_of(ttft, count);
    out->tpot = seen_of(tpot, several);
    out->e2e = seen_of(e2e, count);
    out->output_tokens_per_s = s->now > 0.0 ? tokens / s->now : 0.0;
    return PLAIT_OK;
}

plait_status plait_serve_simulate(const plait_deployment *deployment, plait_load load,
                                  plait_serve_draws draws, plait_arena *arena,
                                  plait_serve_drawn *out, plait_error *err)
{
    sim s = {.d = deployment, .load = load, .draws = draws, .arena = arena, .state = draws.seed};
    double chance = 1.0;

    PLAIT_TRY(serve_check_simulation(deployment, &load, &draws, err));
    *out = (plait_serve_drawn){0};
    s.requests = plait_arena_alloc(arena, (size_t)draws.requests + 1, sizeof *s.requests);
    if (s.requests == NULL || !fill_workers(&s))
        return plait_fail_nomem(err);
    s.preempts = deployment->engine->kind != PLAIT_ENGINE_TRTLLM && !deployment->disaggregated;
    s.yield = 1.0;
    for (int i = 0; i < load.draft; i++)
        s.yield += chance *= load.accept;
    if (deployment->disaggregated && deployment->transfer.bytes_per_s > 0.0)
        s.travel_s = deployment->transfer.latency_s +
                     load.input * deployment->cache_token_bytes /
                         (deployment->transfer.bytes_per_s * deployment->engine->handover);
    issue_arrivals(&s);
    while (s.event_count > 0 && s.finished < draws.requests && !s.out_of_memory) {
        happen(&s, pop_event(&s));
        if (is_stopped(&s)) {
            out->stopped = true;
            break;
        }
    }
    return s.out_of_memory ? plait_fail_nomem(err) : sum_up(&s, out, err);
}
