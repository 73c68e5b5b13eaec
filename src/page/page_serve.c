/*
 * page_serve.c - builds the page of plait serve: deployments, the front of TPOT, a rising load
 *
 * Numbers and words are read from the document while the page is built. The first error is kept,
 * and reported when the page is complete.
 */
#include "page/pages.h"

#include <math.h>

#include "base/status.h"
#include "io/json/json.h"
#include "report/report_private.h"
#include "report/units.h"

typedef struct document {
    const json_cursor *root;
    json_cursor job, plans, front, best; /* parts of the document; `best` is the first deployment */
    page *page;
    plait_arena *arena;
    plait_status status;
    plait_error *err;
} document;

/* Returns a number in the unit of the document; NaN if it is null or missing. */
static double number(document *d, const json_cursor *at, const char *key)
{
    double found = (double)NAN;

    if (d->status == PLAIT_OK)
        d->status = json_number_optional(at, key, JSON_NON_NEGATIVE, &found, d->err);
    return found;
}

static double seconds(document *d, const json_cursor *at, const char *key_ms)
{
    return number(d, at, key_ms) * 1e-3;
}

/*
 * Returns a word. If it is null or missing, returns `missing`; if `missing` is NULL, the word is
 * required.
 */
static const char *word(document *d, const json_cursor *at, const char *key, const char *missing)
{
    const char *found = missing;

    if (d->status == PLAIT_OK)
        d->status = missing == NULL ? json_string(at, key, d->arena, &found, d->err)
                                    : json_string_optional(at, key, d->arena, &found, d->err);
    return found != NULL ? found : "";
}

/* Writes the degrees and numbers of the workers of all roles: "tp 8", "3 x tp 2 : tp 8 ep 8". */
static plait_status read_workers(const json_cursor *plan, char text[160], plait_error *err)
{
    static const char *const keys[] = {"tp", "pp", "dp_attention", "ep"};
    static const char *const names[] = {"tp", "pp", "dp", "ep"};
    json_cursor workers, role;

    text[0] = '\0';
    PLAIT_TRY(json_object(plan, "workers", &workers, err));
    if (json_count(&workers) < 1 || json_count(&workers) > 2)
        return json_fail(&workers, PLAIT_ERROR_SCHEMA, err, "expected one or two roles, found %zu",
                         json_count(&workers));
    for (bool more = json_first(&workers, &role); more; more = json_next(&role)) {
        int count = 1;

        PLAIT_TRY(json_as_object(&role, err));
        PLAIT_TRY(json_int_optional(&role, "count", 1, 1 << 24, &count, err));
        report_append(text, 160, role.index > 0 ? " : " : "");
        if (count > 1)
            report_append(text, 160, "%d x ", count);
        for (int k = 0; k < 4; k++) {
            int degree = 1;

            PLAIT_TRY(json_int_optional(&role, keys[k], 1, 1 << 24, &degree, err));
            if (k == 0 || degree > 1)
                report_append(text, 160, "%s%s %d", k > 0 ? " " : "", names[k], degree);
        }
    }
    return PLAIT_OK;
}

static const char *workers_text(document *d, const json_cursor *plan, char text[160])
{
    text[0] = '\0';
    if (d->status == PLAIT_OK)
        d->status = read_workers(plan, text, d->err);
    return text;
}

/* ---- tables ---- */

/*
 * Kinds of cells. BOUND is a latency bound of the job: its column is hidden, equal in all rows, and
 * drawn by charts as a line.
 */
typedef enum serve_cell {
    COUNT,
    AMOUNT,
    FOUR_DIGITS,
    TWO_DECIMALS,
    SHARE,
    LATENCY,
    BOUND,
    WORD,
    LIMIT,
    WORKERS
} serve_cell;

typedef struct column {
    const char *heading; /* column as page_table_add() expects it */
    const char *key;     /* key in the document */
    serve_cell kind;
} column;

static const column plans_columns[] = {{"rank>deployment", "rank", COUNT},
                                       {"ttft_s>TTFT", "ttft_ms", LATENCY},
                                       {"tpot_s>TPOT", "tpot_ms", LATENCY},
                                       {"out_tok_s>tokens/s", "out_tok_s", AMOUNT},
                                       {"engine=engine", "engine", WORD},
                                       {"mode=mode", "mode", WORD},
                                       {"workers=workers", "workers", WORKERS},
                                       {"replicas>replicas", "replicas", COUNT},
                                       {"gpus>GPUs", "gpus", COUNT},
                                       {"weights=weights", "weights", WORD},
                                       {"kv=KV cache", "kv", WORD},
                                       {"running>running", "running", COUNT},
                                       {"ttft_p99_s>TTFT p99", "ttft_p99_ms", LATENCY},
                                       {"e2e_s>end to end", "e2e_ms", LATENCY},
                                       {"out_tok_s_gpu>tokens/s/GPU", "out_tok_s_gpu", COUNT},
                                       {"usd_per_mtok>USD/Mtok", "usd_per_mtok", TWO_DECIMALS},
                                       {"joules_per_tok>J/tok", "joules_per_tok", TWO_DECIMALS},
                                       {"binds=bound by", "binds", LIMIT},
                                       {.heading = NULL}};

static const column front_columns[] = {
    {"tpot_s>TPOT", "tpot_ms", LATENCY},  {"out_tok_s_gpu>tokens/s/GPU", "out_tok_s_gpu", COUNT},
    {"ttft_s>TTFT", "ttft_ms", LATENCY},  {"concurrency>in flight", "concurrency", COUNT},
    {"engine=engine", "engine", WORD},    {"workers=worker", "workers", WORKERS},
    {"weights=weights", "weights", WORD}, {"binds=bound by", "binds", LIMIT},
    {"tpot_bound_s>", "tpot_ms", BOUND},  {.heading = NULL}};

static const column load_columns[] = {
    {"load>share of maximum rate", "load", SHARE}, {"rate>requests/s", "rate", FOUR_DIGITS},
    {"ttft_s>TTFT", "ttft_ms", LATENCY},           {"ttft_p99_s>TTFT p99", "ttft_p99_ms", LATENCY},
    {"tpot_s>TPOT", "tpot_ms", LATENCY},           {"running>running", "running", COUNT},
    {"out_tok_s>tokens/s", "out_tok_s", AMOUNT},   {"ttft_bound_s>", "ttft_ms", BOUND},
    {"tpot_bound_s>", "tpot_ms", BOUND},           {.heading = NULL}};

static void add_cell(document *d, page_table *rows, const json_cursor *at, const column *c)
{
    char text[160];
    double value;

    switch (c->kind) {
    case WORD:
    case LIMIT:
        page_word(rows, "%s", word(d, at, c->key, c->kind == LIMIT ? "-" : NULL));
        return;
    case WORKERS:
        page_word(rows, "%s", workers_text(d, at, text));
        return;
    case LATENCY:
    case BOUND:
        PAGE_ROW(rows, as_seconds(seconds(d, c->kind == BOUND ? &d->job : at, c->key)));
        return;
    default:
        break;
    }
    value = number(d, at, c->key);
    if (c->kind == AMOUNT)
        page_number(rows, value, "%s", units_count(value, text));
    else if (c->kind == SHARE)
        PAGE_ROW(rows, as_percent(value));
    else
        page_number(rows, value,
                    c->kind == FOUR_DIGITS    ? "%.4g"
                    : c->kind == TWO_DECIMALS ? "%.2f"
                                              : "%.0f",
                    value);
}

static page_table *add_rows(document *d, const json_cursor *list, const char *id,
                            const char *caption, const char *chart, const column *columns)
{
    char headings[1024] = "";
    page_table *rows;
    json_cursor at;

    for (const column *c = columns; c->heading != NULL; c++)
        report_append(headings, sizeof headings, "%s%s", c > columns ? "|" : "", c->heading);
    rows = page_table_add(d->page, id, caption, headings, chart);
    for (bool more = json_first(list, &at); more && d->status == PLAIT_OK; more = json_next(&at)) {
        d->status = json_as_object(&at, d->err);
        for (const column *c = columns; c->heading != NULL; c++)
            add_cell(d, rows, &at, c);
    }
    return rows;
}

/* Adds a table of the parts of a decoding step, for the first deployments. */
static plait_status add_steps(document *d, plait_error *err)
{
    enum { PLANS_DRAWN = 10 };
    page_table *rows = page_table_add(
        d->page, "terms", "Decode step time of each deployment by part",
        "rank>deployment|term=part|seconds>time|share>share of step|order>", "steps");
    json_cursor plan, parts, part;

    for (bool more = json_first(&d->plans, &plan); more && plan.index < PLANS_DRAWN;
         more = json_next(&plan)) {
        const double rank = number(d, &plan, "rank");
        double sum = 0.0, ms = 0.0;

        PLAIT_TRY(json_object_optional(&plan, "step_ms", &parts, err));
        for (bool some = json_first(&parts, &part); some; some = json_next(&part)) {
            PLAIT_TRY(json_as_number(&part, JSON_NON_NEGATIVE, &ms, err));
            sum += ms * 1e-3;
        }
        for (bool some = json_first(&parts, &part); some; some = json_next(&part)) {
            PLAIT_TRY(json_as_number(&part, JSON_NON_NEGATIVE, &ms, err));
            if (!(ms > 0.0))
                continue;
            PAGE_ROW(rows, as_int(rank));
            page_word(rows, "%s", part.key);
            PAGE_ROW(rows, as_seconds(ms * 1e-3), as_percent(ms * 1e-3 / sum),
                     as_int((double)part.index));
        }
    }
    return PLAIT_OK;
}

/* ---- the answer ---- */

static void add_latency(document *d, const char *title, const char *const keys[3])
{
    char a[UNITS_SIZE], b[UNITS_SIZE], c[UNITS_SIZE];

    page_figure(d->page, title, units_seconds(seconds(d, &d->best, keys[0]), a),
                "80 %% band: %s to %s", units_seconds(seconds(d, &d->best, keys[1]), b),
                units_seconds(seconds(d, &d->best, keys[2]), c));
}

/*
 * Adds the answer and its assumptions. The document has no price of a GPU hour, so it is computed
 * from the dollars per token.
 */
static void add_answer(document *d, double rate, double concurrency, double requests)
{
    static const char *const ttft[] = {"ttft_ms", "ttft_low_ms", "ttft_high_ms"};
    static const char *const tpot[] = {"tpot_ms", "tpot_low_ms", "tpot_high_ms"};
    const json_cursor *const best = &d->best;
    const char *const profile = word(d, best, "profile", "-");
    const double gpus = number(d, best, "gpus"), replicas = number(d, best, "replicas");
    const double tokens_per_s = number(d, best, "out_tok_s");
    const double usd = number(d, best, "usd_per_mtok") / 1e6 * tokens_per_s * 3600.0 / gpus;
    char a[UNITS_SIZE], b[UNITS_SIZE], workers[160];

    page_answer(d->page,
                "Serve %s on %.0f GPU%s of %s with %s as %.0f replica%s of %s: TTFT %s, TPOT %s.",
                word(d, d->root, "model", NULL), gpus, gpus > 1.0 ? "s" : "",
                word(d, d->root, "cluster", NULL), profile, replicas, replicas > 1.0 ? "s" : "",
                workers_text(d, best, workers), units_seconds(seconds(d, best, ttft[0]), a),
                units_seconds(seconds(d, best, tpot[0]), b));
    add_latency(d, "TTFT, time to the first token", ttft);
    add_latency(d, "TPOT, time per output token", tpot);
    page_figure(d->page, "output tokens/s", units_count(tokens_per_s, a), "%.0f per GPU",
                number(d, best, "out_tok_s_gpu"));
    page_assume(d->page, "precision", "weights %s, KV cache %s", word(d, best, "weights", NULL),
                word(d, best, "kv", NULL));
    page_assume(d->page, "runtime", "%s, with the constants of its engine profile", profile);
    page_assume(d->page, "mode", "%s; bound by %s", word(d, best, "mode", NULL),
                word(d, best, "binds", "-"));
    if (isfinite(rate))
        page_assume(d->page, "load", "requests arrive at random (Poisson), %.4g per second", rate);
    else if (isfinite(concurrency))
        page_assume(d->page, "load", "%.0f requests in flight at all times", concurrency);
    else
        page_assume(d->page, "load", "no load was set: %.0f requests in flight at all times",
                    number(d, best, "concurrency"));
    page_assume(d->page, "bands",
                "a band contains 80 %% of comparable measured runs; latencies from closed forms%s",
                isfinite(requests) ? " except in the simulated table" : ", not simulated");
    if (isfinite(usd))
        page_assume(d->page, "price",
                    "%.4g USD per GPU-hour; the accelerator file names the source", usd);
    else
        page_assume(d->page, "price", "unknown");
}

static void add_question(document *d, double rate, double concurrency)
{
    const double ttft_s = seconds(d, &d->job, "ttft_ms"), tpot_s = seconds(d, &d->job, "tpot_ms");
    FILE *const stream = page_begin_printed(d->page);
    char a[UNITS_SIZE];

    if (stream != NULL) {
        fprintf(stream, "%s on %s, up to %.0f GPUs: %.0f tokens in, %.0f out",
                word(d, d->root, "model", NULL), word(d, d->root, "cluster", NULL),
                number(d, &d->job, "gpus"), number(d, &d->job, "input"),
                number(d, &d->job, "output"));
        if (isfinite(rate))
            fprintf(stream, ", %.4g requests/s (Poisson)", rate);
        else if (isfinite(concurrency))
            fprintf(stream, ", %.0f requests in flight", concurrency);
        if (isfinite(ttft_s))
            fprintf(stream, "; TTFT within %s", units_seconds(ttft_s, a));
        if (isfinite(tpot_s))
            fprintf(stream, "; TPOT within %s", units_seconds(tpot_s, a));
        fprintf(stream, ".");
    }
    page_end_printed(d->page, stream);
}

static plait_status add_simulated(document *d, const json_cursor *simulated, double requests,
                                  plait_error *err)
{
    static const char *const keys[] = {"ttft_ms", "tpot_ms", "e2e_ms"};
    static const char *const names[] = {"time to first token", "time per output token",
                                        "end to end"};
    json_cursor seen;
    page_table *rows;

    page_text(d->page, "Simulation of the first deployment with %.0f requests:", requests);
    rows = page_table_add(d->page, "simulated", "Simulated latency of the requests",
                          "what=latency|mean_s>mean|p50_s>p50|p99_s>p99", NULL);
    for (int k = 0; k < 3; k++) {
        PLAIT_TRY(json_object(simulated, keys[k], &seen, err));
        page_word(rows, "%s", names[k]);
        PAGE_ROW(rows, as_seconds(seconds(d, &seen, "mean")), as_seconds(seconds(d, &seen, "p50")),
                 as_seconds(seconds(d, &seen, "p99")));
    }
    return PLAIT_OK;
}

static plait_status read_root(const json_cursor *root, plait_arena *arena, void *to,
                              plait_error *err)
{
    page_serve *const out = to;
    document d = {.root = root, .arena = arena, .err = err};
    json_cursor curve, simulated;
    double requests = (double)NAN;

    PLAIT_TRY(json_object(root, "job", &d.job, err));
    PLAIT_TRY(json_array_optional(root, "plans", &d.plans, err));
    PLAIT_TRY(json_array_optional(root, "front", &d.front, err));
    PLAIT_TRY(json_array_optional(root, "load_curve", &curve, err));
    PLAIT_TRY(json_object_optional(root, "simulated", &simulated, err));
    if (!json_first(&d.plans, &d.best))
        return json_fail_key(
            root, "plans", PLAIT_ERROR_RANGE, err,
            "expected a deployment that meets all limits, found none; `plait serve` "
            "prints the closest deployment");
    PLAIT_TRY(json_as_object(&d.best, err));
    if (!json_is_null(&simulated))
        requests = number(&d, &simulated, "requests");
    const double rate = number(&d, &d.job, "rate"), users = number(&d, &d.job, "concurrency");

    d.page = page_new(arena, "%s on %s: serving", word(&d, root, "model", NULL),
                      word(&d, root, "cluster", NULL));
    *out = (page_serve){d.page, (int)json_count(&d.plans), (int)json_count(&d.front)};
    PLAIT_TRY(d.status);
    PLAIT_TRY(plait_check_allocated(d.page, err));
    add_answer(&d, rate, users, requests);
    add_question(&d, rate, users);
    page_section(d.page, "plans", "Deployments");
    add_rows(&d, &d.plans, "plans", "Deployments, most tokens/s per GPU first", NULL,
             plans_columns);
    if (isfinite(requests))
        PLAIT_TRY(add_simulated(&d, &simulated, requests, err));
    PLAIT_TRY(d.status);
    PLAIT_TRY(add_steps(&d, err));
    if (json_count(&d.front) > 0) {
        page_section(d.page, "front", "Throughput against TPOT");
        page_text(d.page, "Each row is one worker alone. No other worker has both a lower TPOT and "
                          "more tokens/s per GPU.");
        add_rows(&d, &d.front, "front", "Tokens/s per GPU against TPOT", "serve_front",
                 front_columns);
    }
    if (json_count(&curve) > 0) {
        page_section(d.page, "load", "Latency against load");
        page_text(d.page, "Latencies of the first deployment from closed forms, up to the request "
                          "rate at which it is overloaded.");
        page_chart_add(
            d.page, add_rows(&d, &curve, "load", "TTFT against load", "serve_ttft", load_columns),
            "serve_tpot", "TPOT against load");
    }
    page_grounds(d.page);
    page_text(d.page, "Equation numbers C.350 to C.379 refer to plait's costmodel/README.md.");
    return d.status;
}

plait_status page_of_serve(const char *path, plait_arena *arena, page_serve *out, plait_error *err)
{
    return json_load(path, read_root, arena, out, err);
}

/*
 * Stores whether the job has numbers of input and output tokens, which only documents of plait
 * serve have.
 */
static plait_status read_kind(const json_cursor *root, plait_arena *arena, void *to,
                              plait_error *err)
{
    json_cursor job;

    (void)arena;
    PLAIT_TRY(json_object(root, "job", &job, err));
    *(bool *)to = json_has(&job, "input") && json_has(&job, "output");
    return PLAIT_OK;
}

plait_status page_serve_is(const char *path, plait_arena *arena, bool *is, plait_error *err)
{
    plait_error inner;

    *is = false;
    return faults_only(json_load(path, read_kind, arena, is, &inner), &inner, err);
}
