/*
 * serve_request_cost.c - cost of one request on a worker (its prompt and its decode steps), and a
 * solver for fixed points
 */
#include "costmodel/serving/serve_request_cost.h"

#include <math.h>

#include "base/numbers.h"
#include "costmodel/api.h"
#include "costmodel/serving/serve_grid.h"

/*
 * Returns the yield 1 + a + a^2 + ... of C.370, with a the probability that a drafted token is
 * accepted. A drafted token counts only if all before it were accepted.
 */
double serve_yield(const plait_load *load)
{
    double sum = 1.0, chance = 1.0;

    for (int i = 0; i < load->draft; i++) {
        chance *= load->accept;
        sum += chance;
    }
    return sum;
}

double serve_fresh(const plait_load *load)
{
    return larger(load->input - load->cached, 1.0);
}

static double mean_context(const plait_load *load)
{
    return load->lengths != NULL ? load->lengths->context : load->input + load->output / 2.0;
}

/*
 * Seconds of a decode step, including its drafts (C.370). For each drafted token, all sequences run
 * a share draft_layers of the layers, and the vocabulary layer.
 */
double serve_decode_s(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
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
        const double layers = whole - draft[PLAIT_STEP_head] -
                              serve_host_s(pool->table, engine, sequences / pool->table->worker.pp);
        sum += load->draft * (load->draft_layers * layers + draft[PLAIT_STEP_head]);
    }
    return sum;
}

/*
 * Seconds of a prompt in equal chunks (C.371). Each chunk runs in a step beside the decoding
 * sequences of all stages. The time of its attention does not depend on the number of chunks.
 */
double serve_prompt_s(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
                      plait_step beside, double chunks)
{
    const double fresh = serve_fresh(load);
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

bool serve_prefills_first(const plait_pool *pool, const plait_engine *engine)
{
    return engine->prefill_first && pool->table->worker.pp == 1;
}

/*
 * Returns the cost of a request (C.371). If nothing decodes, each chunk of its prompt is a step.
 * Beside b decoding sequences, a chunk adds only the time of its tokens, since the step launches
 * kernels and reads weights anyway. In a round of the pipeline each stage runs the chunk once. An
 * engine that prefills first stops decoding for the steps of a prompt.
 */
static serve_turn turn_of(const plait_pool *pool, const plait_engine *engine,
                          const plait_load *load, double sequences)
{
    const double fresh = serve_fresh(load);
    const bool first = serve_prefills_first(pool, engine);
    // Tokens of a prompt that an attention rank processes in one step.
    const double decoded = first ? 0.0 : sequences / pool->table->worker.pp;
    const double budget = pool->chunk_tokens > 0.0 ? pool->chunk_tokens - decoded : fresh;
    const double chunk = smaller(fresh, larger(budget, 1.0));
    const double chunks = ceil(fresh / chunk - 1e-9);
    const plait_step steps = {
        .sequences = sequences, .context = mean_context(load), .verified = 1.0 + load->draft};
    serve_turn t = {.step_s = serve_decode_s(pool, engine, load, sequences, NULL),
                    .chunks = chunks,
                    .yield = serve_yield(load),
                    .first = first};

    t.prompt_s = serve_prompt_s(pool, engine, load, (plait_step){0}, chunks);
    t.own_s = t.share_s = t.prompt_s;
    if (sequences <= 0.0)
        return t;
    const double arrivals = serve_arrivals(load, t, sequences);
    if (first) { // the prompts that arrive during a decode step share the next steps
        const double group = smaller(arrivals + 1.0, budget / fresh);
        if (group > 1.0) {
            t.share_s = serve_prompt_s(pool, engine, load, (plait_step){0}, 1.0 / group);
            t.own_s = group * t.share_s;
        }
        return t;
    }
    // The host and the launches of a step hide some device time once, not once for each prompt.
    const double group = larger(smaller(arrivals, budget / fresh), 1.0);
    t.share_s = (serve_prompt_s(pool, engine, load, steps, chunks / group) -
                 chunks / group * plait_step_s(pool->table, engine, steps, NULL)) /
                pool->table->worker.pp;
    return t;
}

double serve_arrivals(const plait_load *load, serve_turn t, double sequences)
{
    return sequences * t.yield / load->output;
}

double serve_round_tokens(const plait_pool *pool, double fresh)
{
    return pool->chunk_tokens > 0.0 ? pool->chunk_tokens * pool->table->worker.pp : fresh;
}

serve_turn serve_turn_of(const plait_pool *pool, const plait_engine *engine, const plait_load *load,
                         double sequences)
{
    serve_turn mean = {.varies = 1.0};
    double delay_s = 0.0, square = 0.0;

    mean.groups = serve_groups(pool, load, mean.group);
    for (int g = 0; g < mean.groups; g++) {
        const plait_load one = serve_load_of(load, &mean.group[g]);
        const serve_turn t = turn_of(pool, engine, &one, sequences);
        const double share = mean.group[g].share, fresh = serve_fresh(&one);
        const double mixed_s =
            t.first || sequences <= 0.0 ? t.own_s : t.chunks * t.step_s + t.share_s;
        const double budget_s = t.first ? 0.0 : t.step_s * fresh / serve_round_tokens(pool, fresh);
        const double delay = t.share_s + budget_s;

        mean.step_s = t.step_s;
        mean.yield = t.yield;
        mean.first = t.first;
        mean.own_s += share * t.own_s;
        mean.chunks += share * t.chunks;
        mean.prompt_s += share * t.prompt_s;
        mean.share_s += share * t.share_s;
        mean.group_own_s[g] = larger(t.prompt_s, mixed_s);
        delay_s += share * delay;
        square += share * delay * delay;
    }
    if (load->lengths != NULL)
        mean.load_s =
            serve_host_hit(pool, load->lengths) * load->lengths->missed * pool->host_token_s;
    if (mean.groups > 1 && delay_s > 0.0)
        mean.varies = square / (delay_s * delay_s);
    return mean;
}

bool serve_reserves(const plait_deployment *d)
{
    return d->disaggregated || d->engine->kind == PLAIT_ENGINE_TRTLLM;
}

/*
 * Both the engine's limit and the size of the cache bound the running sequences. A running sequence
 * holds its prompt and on average half of its answer; an engine that reserves the cache of whole
 * answers runs fewer sequences. (C.364)
 */
double serve_most_sequences(const plait_pool *pool, const plait_load *load, bool reserves)
{
    const double ranks = pool->table->worker.dp_attention;
    double most = HUGE_VAL;

    if (pool->max_sequences > 0.0)
        most = pool->max_sequences / ranks;
    if (pool->kv_tokens > 0.0)
        most = smaller(most,
                       pool->kv_tokens / (reserves ? plait_load_whole(load) : mean_context(load)));
    return most;
}

double plait_serve_batch_cap(const plait_deployment *d, const plait_load *load)
{
    const plait_pool *pool = &d->pool[d->disaggregated];

    return floor(serve_most_sequences(pool, load, serve_reserves(d))) *
           pool->table->worker.dp_attention;
}

plait_service serve_service(const plait_load *load, serve_turn t, double ttft_s, double tpot_s)
{
    plait_service s = {
        .stable = true,
        .ttft_s = ttft_s,
        .tpot_s = tpot_s,
        .e2e_s = ttft_s + (load->output - 1.0) * tpot_s,
        .step_s = t.step_s,
        .prompt_s = t.prompt_s,
    };
    double mean_s = 0.0;

    if (t.groups <= 1)
        return s;
    s.groups = t.groups;
    for (int g = 0; g < t.groups; g++)
        mean_s += t.group[g].share * t.group_own_s[g];
    for (int g = 0; g < t.groups; g++) {
        s.group_share[g] = t.group[g].share;
        s.group_later_s[g] = t.group_own_s[g] - mean_s;
    }
    return s;
}

double serve_travel_s(const plait_deployment *d, const plait_load *load)
{
    if (d->transfer.bytes_per_s <= 0.0)
        return 0.0;
    return d->transfer.latency_s +
           load->input * d->cache_token_bytes / (d->transfer.bytes_per_s * d->engine->handover);
}

// ---- fixed points --------------------------------------------------------------------------

enum { ROUNDS = 60 }; // maximum number of iterations; five or six are usual

static const double tight = 1e-9; // relative width at which the search stops

/*
 * Returns the least x in 0 .. most with gap(x) = 0, or `most` if gap stays positive. The last call
 * evaluates gap at the returned x, so *context describes that point. The search begins with secants
 * from below, which stay below the zero of a convex gap. The Illinois method then narrows the
 * bracket.
 */
double serve_find_zero(double (*gap)(void *context, double x), void *context, double most)
{
    double a = 0.0, at_a = gap(context, a);
    double b = smaller(at_a, most), at_b = gap(context, b);
    int i = 0;

    for (; i < ROUNDS && at_b > 0.0 && b - a > tight * b; i++) {
        double next = 0.5 * (a + b); // if the gap is infinite, b is too large
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
        const double x = isinf(at_a) ? 0.5 * (a + b) : b - at_b * (b - a) / (at_b - at_a);
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
