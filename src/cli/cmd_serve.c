/*
 * cmd_serve.c - plait serve: finds the cheapest deployment that serves a load within its latency
 * bounds
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command.h"
#include "report/lines.h"
#include "base/magnitude.h"
#include "plait/data.h"
#include "plait/serve.h"
#include "report/report_serve.h"
#include "io/plans/serve_answer.h"
#include "cli/serve_flags.h"

typedef struct serve_values {
    serve_flags load;
    int replicas;
    const char *prefill, *decode, *why_not, *versus;
    int requests, seed, burst;
    const char *spread;
    bool eval, explain, json, strict;
    const char *file;
} serve_values;

#define TEXT(field, name, value, help) OPT_OF_TEXT(serve_values, field, name, 0, value, help)
#define DEGREE(field, name, help) OPT_OF_INT(serve_values, field, name, "N", 1, 1 << 16, help)

static const opt options[] = {
    OPT_HEADING("the load"),
    SERVE_INPUT_OPTION(serve_values, load),
    SERVE_OUTPUT_OPTION(serve_values, load),
    SERVE_LENGTH_ALIASES(serve_values, load),
    SERVE_RATE_OPTION(serve_values, load),
    OPT_OF_INT(serve_values, load.concurrency, "concurrency", "C", 1, 1 << 24,
               "constant number of requests in flight; without --concurrency and --rate, the "
               "number with the highest throughput within the bounds"),
    SERVE_BOUND_OPTIONS(serve_values, load),
    SERVE_LORA_OPTIONS(serve_values, load),
    SERVE_MODEL_OPTION(serve_values, load),
    OPT_HEADING("resources"),
    TEXT(load.gpus, "gpus", "..N",
         "use at most N GPUs (default: all of the cluster, if it has a size)"),
    SERVE_USED_OPTIONS(serve_values, load),
    OPT_HEADING("settings of the engine"),
    SERVE_ENGINE_OPTIONS(serve_values, load),
    OPT_HEADING("one deployment"),
    OPT_OF_FLAG(serve_values, eval, "eval",
                "price the deployment that the options below describe, without a search"),
    SERVE_DEGREE_OPTIONS(serve_values, load),
    DEGREE(replicas, "replicas", "copies of the deployment (default: 1)"),
    TEXT(prefill, "prefill", "N:KEY=D,...",
         "number and degrees of separate prefill workers, such as 2:tp=4,ep=4"),
    TEXT(decode, "decode", "N:KEY=D,...",
         "number and degrees of the decode workers, such as 1:dp_attention=8,ep=8"),
    OPT_HEADING("simulations"),
    OPT_OF_INT(
        serve_values, requests, "requests", "N", 1, 1 << 24,
        "requests per simulation (default: the larger of 2000 and 10 times the requests in flight; "
        "near saturation of 10000 and 20 times; at most a million more than in flight)"),
    OPT_OF_INT(serve_values, seed, "seed", "N", 0, 1 << 30,
               "seed of the random numbers (default: 1)"),
    TEXT(spread, "spread", "S",
         "vary lengths that are given by their mean alone uniformly, by up to a share S of it "
         "(default: 0.2)"),
    OPT_OF_INT(serve_values, burst, "burst", "N", 1, 1 << 20, "requests arrive in bursts of N"),
    OPT_HEADING("the answer"),
    OPT_OF_FLAG(serve_values, explain, "explain",
                "also print the parts of a step of the best deployment"),
    OPT_OF_FLAG(serve_values, strict, "strict",
                "refuse a deployment with a part of the decode step that no measurement supports"),
    TEXT(why_not, "why-not", "WHAT",
         "explain why the best deployment with WHAT is not chosen: disagg, vllm, fp8, tp=8, ..."),
    TEXT(versus, "versus", "FILE[:RANK]",
         "compare the best deployment with the one in FILE, written by `plait serve -o`, under "
         "the load given here"),
    OPT_OF_FLAG(serve_values, json, "json", "one JSON document on standard output"),
    OPT_OF_OUTPUT(serve_values, file, "output", 'o', "FILE",
                  "also write the JSON document to FILE"),
    OPT_END,
};

static const char *const eval_options[] = {"replicas", "prefill", "decode", NULL};

/* ---- one deployment ---- */

/* Read a number of workers and the degrees of each, as in "2:tp=4,ep=4". */
static plait_status read_workers(const char *where, const char *text, int *count, plait_worker *out,
                                 plait_error *err)
{
    static const char *const keys[] = {"tp", "pp", "dp_attention", "ep"};
    int *const degree[] = {&out->tp, &out->pp, &out->dp_attention, &out->ep};
    bool given[sizeof keys / sizeof *keys] = {false};
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
        if (given[found])
            return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected %s= once, found it twice",
                              keys[found]);
        given[found] = true;
        const long value = strtol(key + length + 1, &end, 10);
        if (value < 1 || value > 1 << 16) {
            *count = 0;
            break;
        }
        *degree[found] = (int)value;
    }
    if (*count < 1 || *end != '\0')
        return plait_fail(
            err, PLAIT_ERROR_RANGE, where,
            "expected N:KEY=DEGREE,... with the keys tp, pp, dp_attention and ep, found '%.60s'",
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

static plait_status evaluate_deployment(const serve_values *flags, const plait_serve_options *q,
                                        const plait_serve_sim_options *draws, report_serve *report,
                                        plait_serve_plan *plan, plait_arena *arena, bool *no,
                                        plait_error *err)
{
    plan->engine = q->engine[0];
    plan->replicas = flags->replicas > 0 ? flags->replicas : 1;
    plan->count[0] = 1;
    plan->worker[0] = (plait_worker){flags->load.tp > 0 ? flags->load.tp : 1,
                                     flags->load.pp > 0 ? flags->load.pp : 1,
                                     flags->load.dp_attention > 0 ? flags->load.dp_attention : 1,
                                     flags->load.ep > 0 ? flags->load.ep : 1};
    // Use the published format of the model if it is allowed, otherwise the widest allowed format.
    plan->weights = (plait_weight_format)lowest_bit(q->weights);
    for (int w = 0; q->model->weights != NULL && w < PLAIT_WEIGHT_FORMATS; w++)
        if ((q->weights >> w & 1u) && strcmp(plait_weight_name[w], q->model->weights) == 0)
            plan->weights = (plait_weight_format)w;
    plan->kv = (plait_kv_format)lowest_bit(q->kv);
    plan->chunk_tokens = q->engine[0]->chunk_tokens;
    plan->disaggregated = flags->prefill != NULL || flags->decode != NULL;
    if (flags->prefill != NULL)
        PLAIT_TRY(
            read_workers("--prefill", flags->prefill, &plan->count[0], &plan->worker[0], err));
    if (flags->decode != NULL)
        PLAIT_TRY(read_workers("--decode", flags->decode, &plan->count[1], &plan->worker[1], err));
    if (plan->disaggregated && (flags->prefill == NULL || flags->decode == NULL))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--eval",
                          "expected --prefill and --decode together, found no %s",
                          flags->prefill == NULL ? "--prefill" : "--decode");
    if (q->load.kind == PLAIT_LOAD_CLOSED && q->load.concurrency <= 0.0)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--concurrency",
                          "expected a load, --concurrency or --rate, found none");
    report->plan = plan;
    PLAIT_TRY(plait_serve_evaluate(q, arena, plan, &report->why, err));
    if (report->why == NULL && plan->gpus > q->gpus) {
        report->why = plait_arena_printf(
            arena, "the deployment needs %d GPUs, but --gpus allows %d", plan->gpus, q->gpus);
        PLAIT_TRY(plait_check_allocated(report->why, err));
    }
    if (report->why == NULL)
        PLAIT_TRY(plait_serve_judge(q, *draws, arena, plan, &report->missed, err));
    *no = report->why != NULL || report->missed != NULL;
    return PLAIT_OK;
}

/* ---- the simulations ---- */

static volatile sig_atomic_t interrupted;

static void stop_on_signal(int signal)
{
    (void)signal;
    interrupted = 1;
}

/* Show progress on a terminal. Returns true after Ctrl-C, which ends the simulation. */
static bool should_stop(void *context, double done)
{
    int *shown = context;
    const int percent = (int)(100.0 * done);

    if (percent > *shown && isatty(STDERR_FILENO)) {
        fprintf(stderr, "\rsimulating: %d %%", percent);
        *shown = percent;
    }
    return interrupted;
}

/*
 * Options and progress of the simulations. After Ctrl-C the answer uses the requests simulated
 * until then.
 */
typedef struct watch {
    plait_serve_sim_options draws;
    int shown;
    struct sigaction before;
} watch;

/* ---- --why-not ---- */

/*
 * Restrict the search to the deployments that --why-not selects; returns false for an unknown name.
 */
static bool narrow_to_names(const char *what, plait_serve_options *q)
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

static plait_status why_not(const char *what, const watch *w, const report_serve *report,
                            plait_arena *arena, plait_error *err)
{
    plait_serve_options narrowed = *report->question;
    plait_serve_answer *other = plait_arena_alloc(arena, 1, sizeof *other);

    PLAIT_TRY(plait_check_allocated(other, err));
    if (!narrow_to_names(what, &narrowed))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--why-not",
                          "expected disagg, agg, an engine, a weight format, or KEY=N where KEY "
                          "is tp, pp, ep or dp_attention, found '%.40s'",
                          what);
    PLAIT_TRY(plait_serve_decide(&narrowed, w->draws, arena, other, err));
    return report_serve_why_not(report, what, other, lines_out(), err);
}

/* ---- the command ---- */

/* Return the reason why --strict refuses a deployment in *out; NULL: it is accepted. */
static plait_status find_lacks(const report_serve *report, const plait_serve_plan *best,
                               plait_arena *arena, const char **out, plait_error *err)
{
    char parts[REPORT_LACKS_SIZE];

    *out = NULL;
    if (!report_serve_lacks(report->question, best, parts))
        return PLAIT_OK;
    *out = plait_arena_printf(arena, "no measurement on %s or of profile %s supports: %s",
                              report->question->cluster->group[0].accelerator->name,
                              best->engine->name, parts);
    return plait_check_allocated(*out, err);
}

static plait_status write_report(const serve_values *flags, const report_serve *report,
                                 plait_arena *arena, bool *no, plait_error *err)
{
    report_serve whole = *report;
    const plait_serve_plan *best = report->why == NULL ? report->plan : NULL;
    plait_serve_curve curve;
    const char *no_curve;
    json_writer json;

    if (report->answer != NULL)
        best = report->answer->plans > 0 ? &report->answer->plan[0] : NULL;
    if (flags->strict && best != NULL)
        PLAIT_TRY(find_lacks(report, best, arena, &whole.lacks, err));
    *no = *no || whole.lacks != NULL;
    if (flags->json || flags->file != NULL) {
        if (best != NULL)
            PLAIT_TRY(
                plait_serve_load_curve(report->question, best, arena, &curve, &no_curve, err));
        if (best != NULL && no_curve == NULL)
            whole.curve = &curve;
        command_begin_json(&json, arena);
        json_serve(&json, &whole);
        PLAIT_TRY(command_deliver_json(&json, flags->file, flags->json, err));
    }
    if (flags->json)
        return PLAIT_OK;
    if (whole.lacks == NULL)
        return report_serve_print(report, lines_out(), err);
    fprintf(lines_out(), "refused by --strict: %s\n", whole.lacks);
    return PLAIT_OK;
}

static plait_status search_deployments(const serve_values *flags, const watch *w,
                                       report_serve *report, plait_arena *arena, bool *no,
                                       plait_error *err)
{
    plait_serve_answer *const answer = plait_arena_alloc(arena, 1, sizeof *answer);
    plait_serve_reach *const reach = plait_arena_alloc(arena, 1, sizeof *reach);

    PLAIT_TRY(plait_check_allocated(answer && reach, err));
    report->answer = answer;
    report->reach = reach;
    PLAIT_TRY(plait_serve_decide(report->question, w->draws, arena, answer, err));
    *no = answer->plans == 0;
    if (!*no || flags->why_not != NULL)
        return PLAIT_OK;
    PLAIT_TRY(plait_serve_reach_of(report->question, w->draws, arena, reach, err));
    if (reach->answers) {
        answer->plan[answer->plans++] = reach->plan;
        *no = false;
    }
    return PLAIT_OK;
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    serve_values flags = *(const serve_values *)values;
    plait_serve_options question;
    plait_serve_plan plan = {0};
    report_serve report = {.question = &question, .explain = flags.explain};
    watch w;

    plait_serve_options_init(&question);
    PLAIT_TRY(serve_flags_check_file(flags.file, err));
    PLAIT_TRY(command_output(&flags.file, &flags.json, err));
    if (!flags.eval)
        PLAIT_TRY(opt_check_none_given(
            operands, eval_options,
            "expected --eval in the same command, since this option describes one deployment",
            err));
    flags.load.spread = 0.2;
    if (flags.spread != NULL && (!magnitude_parse(flags.spread, &flags.load.spread) ||
                                 flags.load.spread < 0.0 || flags.load.spread > 1.0))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--spread",
                          "expected a share from 0 to 1, found '%.40s'", flags.spread);
    if (flags.spread != NULL && flags.load.lengths != NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--spread",
                          "expected --spread or --lengths, found both");
    PLAIT_TRY(serve_flags_question(&flags.load, operands, arena, &question, err));
    report.model_file = operands->text[0];
    report.cluster_file = operands->text[1];
    if (flags.versus != NULL) {
        serve_answer *that = plait_arena_alloc(arena, 1, sizeof *that);

        PLAIT_TRY(plait_check_allocated(that, err));
        PLAIT_TRY(serve_answer_load(flags.versus, arena, that, err));
        const char *why;
        PLAIT_TRY(plait_serve_evaluate(&question, arena, &that->plan, &why, err));
        if (why != NULL)
            return plait_fail(err, PLAIT_ERROR_RANGE, flags.versus,
                              "expected a deployment that can run under this load, found: %s", why);
        report.versus = &that->plan;
        report.versus_name = flags.versus;
    }
    const struct sigaction action = {.sa_handler = stop_on_signal};
    w.shown = 4; // per cent; a run that is done sooner prints no progress
    w.draws = (plait_serve_sim_options){.seed = flags.seed > 0 ? (uint64_t)flags.seed : 1,
                                        .requests = flags.requests,
                                        .burst = flags.burst,
                                        .stop = should_stop,
                                        .stop_context = &w.shown};
    sigaction(SIGINT, &action, &w.before);
    const plait_status status =
        flags.eval
            ? evaluate_deployment(&flags, &question, &w.draws, &report, &plan, arena, no, err)
            : search_deployments(&flags, &w, &report, arena, no, err);
    sigaction(SIGINT, &w.before, NULL);
    if (w.shown > 4)
        fprintf(stderr, "\r                    \r");
    PLAIT_TRY(status);
    if (flags.why_not != NULL && !flags.eval)
        return why_not(flags.why_not, &w, &report, arena, err);
    return write_report(&flags, &report, arena, no, err);
}

const command command_serve = {
    .usage =
        {.command = "serve",
         .synopsis = "MODEL CLUSTER --input N --output-tokens N [--rate R | --concurrency C] "
                     "[--ttft T] [--tpot T] [--gpus ..N]",
         .summary = "Find the engine, workers and batch that serve a load at the least cost.",
         .about =
             "Searches engines, formats, degrees, chunk sizes, and aggregated and disaggregated "
             "serving,\nand simulates deployments near saturation. Exit status 1 when no "
             "deployment, or not the one\nof --eval, carries the load within the bounds.",
         .max_operands = 2,
         .operand = {OPT_NAMES(PLAIT_DATA_MODELS), OPT_NAMES(PLAIT_DATA_CLUSTERS)},
         .options = options},
    .values_size = sizeof(serve_values),
    .run = run,
};
