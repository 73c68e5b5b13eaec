/* page_serve.c - builds the page of plait serve: deployments, the front of TPOT, a rising load */
#include "page/page_serve.h"

#include <math.h>

#include "report/units.h"

static void add_question(page *out, const page_serve *of)
{
    char a[UNITS_SIZE];
    FILE *stream = page_begin_printed(out);

    if (stream != NULL) {
        fprintf(stream, "%s on %s, up to %.0f GPUs: %.0f tokens in, %.0f out", of->model,
                of->cluster, of->gpus, of->input, of->output);
        if (isfinite(of->rate))
            fprintf(stream, ", %.4g requests/s (Poisson)", of->rate);
        else if (isfinite(of->concurrency))
            fprintf(stream, ", %.0f requests in flight", of->concurrency);
        if (isfinite(of->ttft_s))
            fprintf(stream, "; TTFT within %s", units_seconds(of->ttft_s, a));
        if (isfinite(of->tpot_s))
            fprintf(stream, "; TPOT within %s", units_seconds(of->tpot_s, a));
        fprintf(stream, ".");
    }
    page_end_printed(out, stream);
}

static void add_latency(page *out, const char *title, double s, double low_s, double high_s)
{
    char a[UNITS_SIZE], b[UNITS_SIZE], c[UNITS_SIZE];

    page_figure(out, title, units_seconds(s, a), "80 %% band: %s to %s", units_seconds(low_s, b),
                units_seconds(high_s, c));
}

static void add_answer(page *out, const page_serve *of)
{
    const page_serve_plan *const p = &of->plan[0];
    char a[UNITS_SIZE], b[UNITS_SIZE];

    page_answer(out,
                "Serve %s on %.0f GPU%s of %s with %s as %.0f replica%s of %s: TTFT %s, TPOT %s.",
                of->model, p->gpus, p->gpus > 1.0 ? "s" : "", of->cluster, p->profile, p->replicas,
                p->replicas > 1.0 ? "s" : "", p->workers, units_seconds(p->ttft_s, a),
                units_seconds(p->tpot_s, b));
    add_latency(out, "TTFT, time to the first token", p->ttft_s, p->ttft_low_s, p->ttft_high_s);
    add_latency(out, "TPOT, time per further token", p->tpot_s, p->tpot_low_s, p->tpot_high_s);
    page_figure(out, "output tokens/s", units_count(p->tokens_per_s, a), "%.0f per GPU",
                p->tokens_per_s_gpu);
}

/* Adds assumptions; the price of a GPU hour follows from the dollars per token, since the document has none. */
static void assume_serve(page *out, const page_serve *of)
{
    const page_serve_plan *const p = &of->plan[0];
    const double usd = p->usd_per_mtok / 1e6 * p->tokens_per_s * 3600.0 / p->gpus;

    page_assume(out, "precision", "weights %s, KV cache %s", p->weights, p->kv);
    page_assume(out, "runtime", "%s, with the constants of its engine profile", p->profile);
    page_assume(out, "mode", "%s; bound by %s", p->mode, p->binds);
    if (isfinite(of->rate))
        page_assume(out, "load", "requests arrive at random (Poisson), %.4g per second", of->rate);
    else if (isfinite(of->concurrency))
        page_assume(out, "load", "%.0f requests in flight at all times", of->concurrency);
    else
        page_assume(out, "load", "no load was set: %.0f requests in flight at all times",
                    p->concurrency);
    page_assume(out, "bands",
                "a band contains 80 %% of comparable measured runs; latencies from closed forms%s",
                isfinite(of->requests) ? " except in the simulated table" : ", not simulated");
    if (isfinite(usd))
        page_assume(out, "price", "%.4g USD per GPU-hour; the accelerator file names the source",
                    usd);
    else
        page_assume(out, "price", "unknown");
}

static void add_seen(page_table *rows, const char *what, const page_serve_seen *seen)
{
    page_word(rows, "%s", what);
    page_seconds(rows, seen->mean_s);
    page_seconds(rows, seen->p50_s);
    page_seconds(rows, seen->p99_s);
}

static void add_simulated(page *out, const page_serve *of)
{

    if (!isfinite(of->requests))
        return;
    page_text(out, "Simulation of the first deployment with %.0f requests:", of->requests);
    page_table *rows = page_table_add(out, "simulated", "Simulated latency of the requests",
                                      "what=latency|mean_s>mean|p50_s>p50|"
                                      "p99_s>p99",
                                      NULL);
    add_seen(rows, "time to first token", &of->ttft);
    add_seen(rows, "time per output token", &of->tpot);
    add_seen(rows, "end to end", &of->e2e);
}

// ---- deployments ---------------------------------------------------------------------------

static void add_plans(page *out, const page_serve *of)
{
    page_table *rows;
    char text[UNITS_SIZE];

    page_section(out, "plans", "Deployments");
    rows = page_table_add(out, "plans", "Deployments, most tokens/s per GPU first",
                          "rank>deployment|ttft_s>TTFT|tpot_s>TPOT|out_tok_s>tokens/s|"
                          "engine=engine|mode=mode|workers=workers|replicas>replicas|"
                          "gpus>GPUs|weights=weights|kv=KV cache|running>running|"
                          "ttft_p99_s>TTFT p99|e2e_s>end to end|out_tok_s_gpu>tokens/s/GPU|"
                          "usd_per_mtok>USD/Mtok|joules_per_tok>J/tok|binds=bound by",
                          NULL);
    for (int i = 0; i < of->plans; i++) {
        const page_serve_plan *const p = &of->plan[i];

        page_count(rows, p->rank);
        page_seconds(rows, p->ttft_s);
        page_seconds(rows, p->tpot_s);
        page_number(rows, p->tokens_per_s, "%s", units_count(p->tokens_per_s, text));
        page_word(rows, "%s", p->engine);
        page_word(rows, "%s", p->mode);
        page_word(rows, "%s", p->workers);
        page_count(rows, p->replicas);
        page_count(rows, p->gpus);
        page_word(rows, "%s", p->weights);
        page_word(rows, "%s", p->kv);
        page_number(rows, p->running, "%.0f", p->running);
        page_seconds(rows, p->ttft_p99_s);
        page_seconds(rows, p->e2e_s);
        page_number(rows, p->tokens_per_s_gpu, "%.0f", p->tokens_per_s_gpu);
        page_number(rows, p->usd_per_mtok, "%.2f", p->usd_per_mtok);
        page_number(rows, p->joules_per_tok, "%.2f", p->joules_per_tok);
        page_word(rows, "%s", p->binds);
    }
}

static double step_of(const page_serve_plan *p)
{
    double sum = 0.0;

    for (int i = 0; i < p->parts; i++)
        sum += p->part[i].seconds;
    return sum;
}

static void add_steps(page *out, const page_serve *of)
{
    enum { PLANS_DRAWN = 10 };
    page_table *rows = page_table_add(out, "terms", "Decode step time of each deployment by part",
                                      "rank>deployment|term=part|seconds>time|share>share of step|"
                                      "order>",
                                      "steps");

    for (int i = 0; i < of->plans && i < PLANS_DRAWN; i++) {
        const page_serve_plan *const p = &of->plan[i];
        const double step_s = step_of(p);

        for (int t = 0; t < p->parts; t++) {
            if (!(p->part[t].seconds > 0.0))
                continue;
            page_count(rows, p->rank);
            page_word(rows, "%s", p->part[t].name);
            page_seconds(rows, p->part[t].seconds);
            page_percent(rows, p->part[t].seconds / step_s);
            page_count(rows, t);
        }
    }
}

// ---- the front and the load ----------------------------------------------------------------

static void add_front(page *out, const page_serve *of)
{

    if (of->front == 0)
        return;
    page_section(out, "front", "Throughput against TPOT");
    page_text(out, "Each row is one worker alone. No other worker has both a lower TPOT and more "
                   "tokens/s per GPU.");
    page_table *rows = page_table_add(out, "front", "Tokens/s per GPU against TPOT",
                                      "tpot_s>TPOT|out_tok_s_gpu>tokens/s/GPU|ttft_s>TTFT|"
                                      "concurrency>in flight|engine=engine|workers=worker|"
                                      "weights=weights|binds=bound by|tpot_bound_s>",
                                      "serve_front");
    for (int i = 0; i < of->front; i++) {
        const page_serve_plan *const p = &of->at_front[i];

        page_seconds(rows, p->tpot_s);
        page_number(rows, p->tokens_per_s_gpu, "%.0f", p->tokens_per_s_gpu);
        page_seconds(rows, p->ttft_s);
        page_number(rows, p->concurrency, "%.0f", p->concurrency);
        page_word(rows, "%s", p->engine);
        page_word(rows, "%s", p->workers);
        page_word(rows, "%s", p->weights);
        page_word(rows, "%s", p->binds);
        page_seconds(rows, of->tpot_s);
    }
}

static void add_load(page *out, const page_serve *of)
{
    char text[UNITS_SIZE];

    if (of->points == 0)
        return;
    page_section(out, "load", "Latency against load");
    page_text(out, "Latencies of the first deployment from closed forms, up to the request rate at "
                   "which it is overloaded.");
    page_table *rows = page_table_add(out, "load", "TTFT against load",
                                      "load>share of maximum rate|rate>requests/s|ttft_s>TTFT|"
                                      "ttft_p99_s>TTFT p99|tpot_s>TPOT|running>running|"
                                      "out_tok_s>tokens/s|ttft_bound_s>|tpot_bound_s>",
                                      "serve_ttft");
    for (int i = 0; i < of->points; i++) {
        const page_serve_point *const p = &of->point[i];

        page_percent(rows, p->load);
        page_number(rows, p->rate, "%.4g", p->rate);
        page_seconds(rows, p->ttft_s);
        page_seconds(rows, p->ttft_p99_s);
        page_seconds(rows, p->tpot_s);
        page_number(rows, p->running, "%.0f", p->running);
        page_number(rows, p->tokens_per_s, "%s", units_count(p->tokens_per_s, text));
        page_seconds(rows, of->ttft_s);
        page_seconds(rows, of->tpot_s);
    }
    page_chart_add(out, rows, "serve_tpot", "TPOT against load");
}

plait_status page_of_serve(const page_serve *of, plait_arena *arena, page **out, plait_error *err)
{
    page *made = page_new(arena, "%s on %s: serving", of->model, of->cluster);

    *out = made;
    PLAIT_TRY(plait_check_allocated(made, err));
    add_answer(made, of);
    assume_serve(made, of);
    add_question(made, of);
    add_plans(made, of);
    add_simulated(made, of);
    add_steps(made, of);
    add_front(made, of);
    add_load(made, of);
    page_grounds(made);
    page_text(made, "Equation numbers C.350 to C.379 refer to plait's costmodel/README.md.");
    return PLAIT_OK;
}
