/* cmd_serve.c - plait serve: which deployment serves a load within its bounds, at the least cost */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "magnitude.h"
#include "plait/serve_search.h"
#include "problem.h"
#include "report_serve.h"

typedef struct serve_values {
    int input, output, cached, concurrency;
    const char *rate, *ttft, *tpot, *gpus, *engine, *weights, *kv, *speculate;
    int tp, pp, ep, dp_attention, replicas, chunk;
    const char *prefill, *decode, *why_not;
    int requests, seed, burst;
    const char *spread;
    bool eval, explain, json;
    const char *file;
} serve_values;

#define TEXT(field, name, value, help) OPT_OF_TEXT(serve_values, field, name, 0, value, help)
#define DEGREE(field, name, help) OPT_OF_INT(serve_values, field, name, "N", 1, 1 << 16, help)

static const opt options[] = {
    OPT_HEADING("the load"),
    OPT_OF_TOKENS(serve_values, input, "input", "tokens of a prompt, the mean"),
    OPT_OF_TOKENS(serve_values, output, "output", "tokens of an answer, the mean"),
    TEXT(rate, "rate", "R", "requests a second, arriving at random"),
    OPT_OF_INT(serve_values, concurrency, "concurrency", "C", 1, 1 << 24,
               "requests in flight, always; without it or --rate, as many as the bounds let in"),
    OPT_OF_TOKENS(serve_values, cached, "prefix-cached", "of the prompt, tokens already cached"),
    TEXT(ttft, "ttft", "TIME", "bound on the mean time to the first token: 500ms"),
    TEXT(tpot, "tpot", "TIME", "bound on the mean time per further token: 50ms"),
    OPT_HEADING("what may be used"),
    TEXT(gpus, "gpus", "..N", "at most N GPUs; may be left out where the cluster has a size"),
    OPT_OF_WORD(serve_values, engine, "engine", "NAME", OPT_WORDS(plait_engine_name),
                "vllm, sglang or trtllm; all of them without it"),
    OPT_OF_WORD(
        serve_values, weights, "weights", "FORMAT", OPT_WORDS(plait_weight_name),
        "bf16, fp8, fp8_block, nvfp4, mxfp4, int4; those that the accelerator multiplies in, "
        "and that of the model"),
    OPT_OF_WORD(serve_values, kv, "kv", "FORMAT", OPT_WORDS(plait_kv_name),
                "of the cache: bf16 or fp8; both without it"),
    TEXT(speculate, "speculate", "mtp:N,accept=A",
         "N drafted tokens a step, each accepted with probability A"),
    OPT_HEADING("one deployment"),
    OPT_OF_FLAG(serve_values, eval, "eval", "price the one that the flags below say"),
    DEGREE(tp, "tp", "tensor ranks of attention; without --eval, of every worker"),
    DEGREE(pp, "pp", "stages"),
    DEGREE(ep, "ep", "expert ranks"),
    DEGREE(dp_attention, "dp-attention", "attention ranks with requests of their own"),
    DEGREE(replicas, "replicas", "copies of the deployment; 1"),
    DEGREE(chunk, "chunk", "tokens of a step on a worker; the engine's default"),
    TEXT(prefill, "prefill", "N:KEY=D,...", "prefill workers apart: 2:tp=4,ep=4"),
    TEXT(decode, "decode", "N:KEY=D,...", "and their decode workers: 1:dp_attention=8,ep=8"),
    OPT_HEADING("the simulation of the best"),
    OPT_OF_INT(serve_values, requests, "requests", "N", 1, 1 << 24,
               "requests of it; 2000, or ten for each in flight"),
    OPT_OF_INT(serve_values, seed, "seed", "N", 0, 1 << 30, "of its draws; 1"),
    TEXT(spread, "spread", "S", "lengths are uniform, up to a share S below and above their means"),
    OPT_OF_INT(serve_values, burst, "burst", "N", 1, 1 << 20, "requests arrive N at once"),
    OPT_HEADING("the answer"),
    OPT_OF_FLAG(serve_values, explain, "explain", "every part of a step of the best"),
    TEXT(why_not, "why-not", "WHAT", "what the best of WHAT lacks: disagg, vllm, fp8, tp=8, ..."),
    OPT_OF_FLAG(serve_values, json, "json", "one JSON document on standard output"),
    OPT_OF_TEXT(serve_values, file, "output-file", 'o', "FILE", "also write the JSON document"),
    OPT_END,
};

/* ---- the load and its bounds ---- */

static plait_status read_duration(const char *where, const char *text, double *out,
                                  plait_error *err)
{
    return text == NULL ? PLAIT_OK : magnitude_duration(where, text, out, err);
}

/* "mtp:2,accept=0.6"; how many layers a draft runs is the method's. */
static plait_status read_speculation(const char *text, const plait_model *model, plait_load *load,
                                     plait_error *err)
{
    char method[16] = "";
    int read = 0;

    if (text == NULL)
        return PLAIT_OK;
    if (sscanf(text, "%15[a-z0-9]:%d,accept=%lf%n", method, &load->draft, &load->accept, &read) !=
            3 ||
        text[read] != '\0' || load->draft < 1 || load->draft > 16 || !(load->accept > 0.0) ||
        load->accept > 1.0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--speculate",
                          "expected METHOD:N,accept=A with N from 1 to 16 and A above 0 up to 1, "
                          "found '%.40s'",
                          text);
    load->draft_layers = 1.0 / model->layers;
    return PLAIT_OK;
}

static plait_status read_load(const serve_values *flags, const plait_model *model,
                              plait_serve_question *q, plait_error *err)
{
    if (flags->input == 0 || flags->output == 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, flags->input == 0 ? "--input" : "--output",
                          "expected a number of tokens, found nothing");
    if (flags->cached >= flags->input)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--prefix-cached",
                          "expected fewer than the %d tokens of --input, found %d", flags->input,
                          flags->cached);
    if (flags->rate != NULL && flags->concurrency > 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--rate",
                          "expected --rate or --concurrency, found both");
    q->load = (plait_load){.kind = flags->rate != NULL ? PLAIT_LOAD_RATE : PLAIT_LOAD_CLOSED,
                           .input = flags->input,
                           .output = flags->output,
                           .cached = flags->cached,
                           .concurrency = flags->concurrency};
    if (flags->rate != NULL)
        PLAIT_TRY(
            magnitude_positive("--rate", flags->rate, "requests a second", &q->load.rate, err));
    PLAIT_TRY(read_duration("--ttft", flags->ttft, &q->ttft_s, err));
    PLAIT_TRY(read_duration("--tpot", flags->tpot, &q->tpot_s, err));
    return read_speculation(flags->speculate, model, &q->load, err);
}

/* ---- what may be used ---- */

/* "..64" or "64"; without it all that the cluster has. */
static plait_status take_gpus(const char *text, plait_cluster *cluster, int *out, plait_error *err)
{
    static const int most = 1 << 16;

    *out = cluster->gpus;
    if (text != NULL && !magnitude_parse_count(text[0] == '.' && text[1] == '.' ? text + 2 : text,
                                               1000, 1, most, out))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--gpus",
                          "expected ..N, N from 1 to %d, found '%.40s'", most, text);
    if (*out < 1)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--gpus",
                          "expected ..N, as the cluster has no size of its own, found nothing");
    if (cluster->group[0].gpus_per_node > 0 && *out > cluster->group[0].gpus_per_node)
        *out -= *out % cluster->group[0].gpus_per_node;
    return plait_cluster_take(cluster, *out, err);
}

static plait_status read_engines(const char *name, plait_serve_question *q, plait_arena *arena,
                                 plait_error *err)
{
    plait_engine *profiles;
    size_t count;
    int only = -1;

    if (name != NULL)
        PLAIT_TRY(problem_word("--engine", name, plait_engine_name, &only, err));
    PLAIT_TRY(plait_engine_list(arena, &profiles, &count, err));
    q->engines = 0;
    for (int k = 0; k < PLAIT_ENGINES; k++) {
        const plait_engine *found = plait_engine_of(profiles, count, (plait_engine_kind)k,
                                                    q->cluster->group[0].accelerator->vendor, 0, 0);
        if (found != NULL && (only < 0 || only == k))
            q->engine[q->engines++] = found;
    }
    return PLAIT_OK;
}

static plait_status read_formats(const serve_values *flags, plait_serve_question *q,
                                 plait_error *err)
{
    int word = 0;

    q->weights = plait_serve_usual_weights(q->cluster->group[0].accelerator, q->model);
    q->kv = (1u << PLAIT_KV_FORMATS) - 1;
    if (flags->weights != NULL) {
        PLAIT_TRY(problem_word("--weights", flags->weights, plait_weight_name, &word, err));
        q->weights = 1u << word;
    }
    if (flags->kv != NULL) {
        PLAIT_TRY(problem_word("--kv", flags->kv, plait_kv_name, &word, err));
        q->kv = 1u << word;
    }
    return PLAIT_OK;
}

static plait_status read_question(const serve_values *flags, const opt_operands *operands,
                                  plait_arena *arena, plait_serve_question *q, plait_error *err)
{
    plait_model *model = plait_arena_alloc(arena, 1, sizeof *model);
    plait_cluster *cluster = plait_arena_alloc(arena, 1, sizeof *cluster);
    const char *warning;

    if (model == NULL || cluster == NULL)
        return plait_fail_nomem(err);
    if (operands->count < 2)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, operands->count < 1 ? "MODEL" : "CLUSTER",
                          "expected a name, found nothing; see plait serve --help");
    PLAIT_TRY(plait_model_find(operands->text[0], arena, model, &warning, err));
    PLAIT_TRY(plait_cluster_find(operands->text[1], arena, cluster, err));
    PLAIT_TRY(take_gpus(flags->gpus, cluster, &q->gpus, err));
    if (model->patch_dim > 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, operands->text[0],
                          "expected a model with a decoder, found an encoder");
    q->model = model;
    q->cluster = cluster;
    q->only = (plait_worker){flags->tp, flags->pp, flags->dp_attention, flags->ep};
    PLAIT_TRY(read_engines(flags->engine, q, arena, err));
    PLAIT_TRY(read_formats(flags, q, err));
    return read_load(flags, model, q, err);
}

/* ---- one deployment ---- */

/* "2:tp=4,ep=4" */
static plait_status read_workers(const char *where, const char *text, int *count, plait_worker *out,
                                 plait_error *err)
{
    static const char *const keys[] = {"tp", "pp", "dp_attention", "ep"};
    int *const degree[] = {&out->tp, &out->pp, &out->dp_attention, &out->ep};
    char *end;
    const long workers = strtol(text, &end, 10);

    *out = (plait_worker){1, 1, 1, 1};
    *count = workers >= 1 && workers <= 1 << 16 ? (int)workers : 0;
    while (*count > 0 && (*end == ':' || *end == ',')) {
        const char *key = end + 1;
        const size_t length = strcspn(key, "=");
        int found = -1;
        for (int k = 0; k < 4; k++)
            if (strlen(keys[k]) == length && strncmp(keys[k], key, length) == 0)
                found = k;
        if (found < 0 || key[length] != '=')
            break;
        const long value = strtol(key + length + 1, &end, 10);
        if (value < 1 || value > 1 << 16) {
            *count = 0;
            break;
        }
        *degree[found] = (int)value;
    }
    if (*count < 1 || *end != '\0')
        return plait_fail(err, PLAIT_ERROR_RANGE, where,
                          "expected N:KEY=DEGREE,... of tp, pp, dp_attention, ep, found '%.60s'",
                          text);
    return PLAIT_OK;
}

static int lowest_bit(unsigned mask)
{
    int bit = 0;

    while (bit < 31 && !(mask >> bit & 1u))
        bit++;
    return bit;
}

static plait_status evaluate(const serve_values *flags, plait_serve_question *q,
                             report_serve *report, plait_serve_plan *plan, plait_arena *arena,
                             plait_error *err)
{
    plan->engine = q->engine[0];
    plan->replicas = flags->replicas > 0 ? flags->replicas : 1;
    plan->count[0] = 1;
    plan->worker[0] = (plait_worker){flags->tp > 0 ? flags->tp : 1, flags->pp > 0 ? flags->pp : 1,
                                     flags->dp_attention > 0 ? flags->dp_attention : 1,
                                     flags->ep > 0 ? flags->ep : 1};
    plan->weights = (plait_weight_format)lowest_bit(q->weights);
    plan->kv = (plait_kv_format)lowest_bit(q->kv);
    plan->chunk_tokens = flags->chunk > 0 ? flags->chunk : q->engine[0]->chunk_tokens;
    plan->disaggregated = flags->prefill != NULL || flags->decode != NULL;
    if (plan->disaggregated) {
        PLAIT_TRY(read_workers("--prefill", flags->prefill != NULL ? flags->prefill : "1",
                               &plan->count[0], &plan->worker[0], err));
        PLAIT_TRY(read_workers("--decode", flags->decode != NULL ? flags->decode : "1",
                               &plan->count[1], &plan->worker[1], err));
    }
    if (q->load.kind == PLAIT_LOAD_CLOSED && q->load.concurrency <= 0.0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--concurrency",
                          "expected a load, --concurrency or --rate, found none");
    const char *reason = plait_serve_evaluate(q, arena, plan);
    if (reason != NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--eval", "expected a deployment that runs: %s",
                          reason);
    report->plan = plan;
    return PLAIT_OK;
}

/* ---- why not ---- */

static bool narrow(const char *what, plait_serve_question *q)
{
    int degree = 0;
    char key[16];

    if (strcmp(what, "disagg") == 0 || strcmp(what, "disaggregated") == 0)
        return q->only_disaggregated = true;
    if (strcmp(what, "agg") == 0 || strcmp(what, "aggregated") == 0)
        return q->only_aggregated = true;
    for (int f = 0; f < PLAIT_WEIGHT_FORMATS; f++)
        if (strcmp(what, plait_weight_name[f]) == 0) {
            q->weights = 1u << f;
            return true;
        }
    for (int e = 0; e < q->engines; e++)
        if (strcmp(what, plait_engine_name[q->engine[e]->kind]) == 0) {
            q->engine[0] = q->engine[e];
            q->engines = 1;
            return true;
        }
    if (sscanf(what, "%15[a-z_]=%d", key, &degree) != 2 || degree < 1)
        return false;
    int *const asked = strcmp(key, "tp") == 0             ? &q->only.tp
                       : strcmp(key, "pp") == 0           ? &q->only.pp
                       : strcmp(key, "ep") == 0           ? &q->only.ep
                       : strcmp(key, "dp_attention") == 0 ? &q->only.dp_attention
                                                          : NULL;
    if (asked == NULL)
        return false;
    *asked = degree;
    return true;
}

static plait_status why_not(const char *what, const report_serve *report, plait_arena *arena,
                            plait_error *err)
{
    plait_serve_question narrowed = *report->question;
    plait_serve_answer *other = plait_arena_alloc(arena, 1, sizeof *other);

    if (other == NULL)
        return plait_fail_nomem(err);
    if (!narrow(what, &narrowed))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--why-not",
                          "expected disagg, agg, an engine, a format of weights, or KEY=N of tp, "
                          "pp, ep, dp_attention, found '%.40s'",
                          what);
    PLAIT_TRY(plait_serve_search(&narrowed, arena, other, err));
    return report_serve_why_not(report, what, other, stdout, err);
}

/* ---- the simulation ---- */

static volatile sig_atomic_t interrupted;

static void interrupt(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* On a terminal says how far it is; Ctrl-C ends the run with what is known. */
static bool stop(void *context, double done)
{
    int *shown = context;
    const int percent = (int)(100.0 * done);

    if (percent > *shown && isatty(STDERR_FILENO)) {
        fprintf(stderr, "\rsimulating: %d %%", percent);
        *shown = percent;
    }
    return interrupted;
}

static plait_status simulate(const serve_values *flags, const plait_serve_question *q,
                             const plait_serve_plan *plan, plait_arena *arena,
                             plait_serve_drawn *out, plait_error *err)
{
    static const double least = 2000.0, each = 10.0;
    int shown = 4; // what is soon over needs no line
    plait_serve_draws draws = {.seed = flags->seed > 0 ? (unsigned long long)flags->seed : 1,
                               .requests = flags->requests,
                               .burst = flags->burst,
                               .stop = stop,
                               .stop_context = &shown};

    if (draws.requests == 0)
        draws.requests = (int)(each * plan->concurrency > least ? each * plan->concurrency : least);
    if (flags->spread != NULL && (!magnitude_parse(flags->spread, &draws.spread) ||
                                  !(draws.spread >= 0.0) || draws.spread > 1.0))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--spread", "expected 0 to 1, found '%.40s'",
                          flags->spread);
    struct sigaction action = {.sa_handler = interrupt}, before;
    sigaction(SIGINT, &action, &before);
    const plait_status status = plait_serve_plan_simulate(q, plan, draws, arena, out, err);
    sigaction(SIGINT, &before, NULL);
    if (shown > 4)
        fprintf(stderr, "\r                    \r");
    return status;
}

/* ---- all ---- */

static plait_status deliver(const serve_values *flags, const report_serve *report,
                            plait_arena *arena, plait_error *err)
{
    const char *text;
    size_t length;

    if (flags->json || flags->file != NULL) {
        PLAIT_TRY(json_serve(report, arena, &text, &length, err));
        PLAIT_TRY(command_deliver(text, length, flags->file, flags->json, err));
    }
    return flags->json ? PLAIT_OK : report_serve_print(report, stdout, err);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    serve_values flags = *(const serve_values *)values;
    plait_serve_question question = {0};
    plait_serve_answer *answer = plait_arena_alloc(arena, 1, sizeof *answer);
    plait_serve_plan plan = {0};
    plait_serve_drawn drawn = {0};
    report_serve report = {.question = &question, .explain = flags.explain};

    if (answer == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(command_output(&flags.file, &flags.json, err));
    PLAIT_TRY(read_question(&flags, operands, arena, &question, err));
    report.model_file = operands->text[0];
    report.cluster_file = operands->text[1];
    if (flags.eval) {
        PLAIT_TRY(evaluate(&flags, &question, &report, &plan, arena, err));
        PLAIT_TRY(simulate(&flags, &question, &plan, arena, &drawn, err));
        report.drawn = &drawn;
        return deliver(&flags, &report, arena, err);
    }
    PLAIT_TRY(plait_serve_search(&question, arena, answer, err));
    report.answer = answer;
    *no = answer->plans == 0;
    if (flags.why_not != NULL)
        return why_not(flags.why_not, &report, arena, err);
    if (!*no) {
        PLAIT_TRY(simulate(&flags, &question, &answer->plan[0], arena, &drawn, err));
        report.drawn = &drawn;
    }
    return deliver(&flags, &report, arena, err);
}

const command command_serve = {
    .usage =
        {.command = "serve",
         .synopsis = "MODEL CLUSTER --input N --output N [--rate R | --concurrency C] "
                     "[--ttft T] [--tpot T] [--gpus ..N]",
         .summary = "Find engine, workers and batch that serve a load at the least cost.",
         .about =
             "All engines, formats, degrees, chunks, and prefill apart from decode or not, are\n"
             "looked at. Exit status 1: no deployment meets the bounds.",
         .max_operands = 2,
         .operand = {OPT_NAMES(PLAIT_DATA_MODELS), OPT_NAMES(PLAIT_DATA_CLUSTERS)},
         .options = options},
    .values_size = sizeof(serve_values),
    .run = run,
};
