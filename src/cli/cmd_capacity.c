/* cmd_capacity.c - plait capacity: how many GPUs a training run takes, its days and dollars */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "capacity_flags.h"
#include "capacity_serve.h"
#include "command.h"
#include "lines.h"
#include "magnitude.h"
#include "page_capacity.h"
#include "problem.h"
#include "progress.h"
#include "report_capacity.h"
#include "text.h"

typedef struct capacity_values {
    int seq, gbs, max_gbs, threads;
    const char *gpus, *precision, *runtime, *risk;
    capacity_flags run;
    const char *limit, *strategy;
    capacity_serve serve;
    bool json;
    const char *output;
} capacity_values;

static const char *const strategy_name[] = {"auto", "exhaustive", "dp", "milp", NULL};

#define OPT_OF_WHAT(field, name, value, help)                                                      \
    OPT_OF_TEXT(capacity_values, field, name, 0, value, help)

static const opt options[] = {
    OPT_HEADING("the run"),
    OPT_OF_TEXT(capacity_values, run.tokens, "tokens", 0, "N", "tokens of the whole run: 15T"),
    OPT_OF_TOKENS(capacity_values, seq, "seq", "tokens of one sequence"),
    OPT_OF_INT(capacity_values, gbs, "gbs", "SEQUENCES", 1, PLAIT_MAX_GBS,
               "sequences of one step, over all GPUs"),
    OPT_OF_INT(capacity_values, max_gbs, "max-gbs", "SEQUENCES", 1, PLAIT_MAX_GBS,
               "the batch grows with the GPUs up to this; without it, it stays"),
    OPT_OF_WHAT(gpus, "gpus", "A..B", "A, 2A, 4A, ... up to B; or one number"),
    OPT_OF_WORD(capacity_values, precision, "precision", "FORMAT", OPT_WORDS(plait_precision_name),
                "bf16 (default), fp16, fp8, fp8_block, mxfp8, nvfp4"),
    OPT_OF_WORD(capacity_values, runtime, "runtime", "NAME", OPT_NAMES(PLAIT_DATA_RUNTIMES),
                "the software that runs the plan: megatron (default), torchtitan, fsdp, ..."),
    OPT_OF_WHAT(risk, "risk", "P", "probability of running out of memory that a plan may have"),
    CAPACITY_OPTIONS(capacity_values, run),
    OPT_HEADING("the search"),
    OPT_OF_LIST(capacity_values, limit, "limit", "KEY=LOW..HIGH,...",
                "only plans within these ranges: tp=..8,schedule=1f1b"),
    OPT_OF_WORD(capacity_values, strategy, "strategy", "NAME", OPT_WORDS(strategy_name),
                "as of search: auto (default), exhaustive, dp, milp"),
    OPT_OF_INT(capacity_values, threads, "threads", "N", 1, 1024,
               "threads; as many as the machine has. The answer does not depend on them"),
    CAPACITY_SERVE_OPTIONS(capacity_values, serve),
    OPT_HEADING("the answer"),
    OPT_OF_FLAG(capacity_values, json, "json", "one JSON document on standard output"),
    OPT_OF_TEXT(capacity_values, output, "output-file", 'o', "FILE",
                "also write a page, FILE.html, .md or .csv, or the JSON document; - is --json"),
    OPT_END,
};

static plait_status read_search(const capacity_values *flags, plait_search_options *search,
                                plait_error *err)
{
    plait_error inner = {PLAIT_OK, "", ""};
    int index = 0;

    if (flags->limit != NULL && plait_search_limit(search, flags->limit, &inner) != PLAIT_OK)
        return plait_fail(err, inner.status, "--limit", "%s: %s", inner.where, inner.message);
    if (flags->strategy != NULL)
        PLAIT_TRY(problem_word("--strategy", flags->strategy, strategy_name, &index, err));
    search->strategy = strategy_name[index];
    search->threads = flags->threads;
    return PLAIT_OK;
}

/* ---- clusters and numbers of GPUs ---- */

enum { MOST_CLUSTERS = 16, MOST_ROWS = 256 };

/* "a,b:4x8,nic=200": a comma before KEY= belongs to the cluster before it. */
static int split_clusters(char *text, const char *out[MOST_CLUSTERS])
{
    int count = 0;

    out[count++] = text;
    for (char *at = strchr(text, ','); at != NULL; at = strchr(at + 1, ',')) {
        const size_t word = strcspn(at + 1, ",=");

        if (at[1 + word] == '=')
            continue;
        if (count == MOST_CLUSTERS)
            return MOST_CLUSTERS + 1;
        *at = '\0';
        out[count++] = at + 1;
    }
    return count;
}

/* "1k..4k", or one number; 0 and 0: not given. */
static plait_status read_gpus(const char *text, plait_arena *arena, int *from, int *to,
                              plait_error *err)
{
    static const int most = PLAIT_MAX_GPUS;
    char *low, *high;

    *from = *to = 0;
    if (text == NULL)
        return PLAIT_OK;
    low = plait_arena_printf(arena, "%s", text);
    if (low == NULL)
        return plait_fail_nomem(err);
    high = strstr(low, "..");
    if (high != NULL) {
        *high = '\0';
        high += 2;
    }
    if (magnitude_parse_count(low, 1000, 1, most, from) &&
        magnitude_parse_count(high != NULL ? high : low, 1000, 1, most, to) && *from <= *to)
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_RANGE, "--gpus",
                      "expected a number of GPUs or A..B with A up to B, found '%.40s'", text);
}

/* Sequences of one step on so many GPUs: as asked, or growing with them. */
static int batch_of(const capacity_values *flags, int gpus, int from)
{
    const double grown = floor((double)flags->gbs * gpus / (from > 0 ? from : gpus));

    if (flags->max_gbs == 0)
        return flags->gbs;
    return (int)fmax(flags->gbs, fmin(grown, flags->max_gbs));
}

typedef struct capacity_sweep {
    const capacity_values *flags;
    const char *model;
    const plait_capacity_ask *ask;
    int from, to;
    plait_problem problem[MOST_ROWS];
    plait_capacity_row row[MOST_ROWS];
    int rows;
} capacity_sweep;

static plait_status add_question(capacity_sweep *sweep, const char *cluster, int gpus,
                                 plait_arena *arena, plait_error *err)
{
    const capacity_values *const flags = sweep->flags;
    const problem_flags one = {
        .seq = flags->seq,
        .gbs = flags->gbs > 0 ? batch_of(flags, gpus, sweep->from) : 0,
        .gpus = gpus,
        .precision = flags->precision,
        .runtime = flags->runtime,
        .risk = flags->risk,
    };
    opt_operands operands = {.count = 2};

    operands.text[0] = sweep->model;
    operands.text[1] = cluster;
    if (sweep->rows == MOST_ROWS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--gpus", "expected at most %d numbers of GPUs",
                          MOST_ROWS);
    plait_problem *const problem = &sweep->problem[sweep->rows++];
    PLAIT_TRY(problem_resolve(&one, &operands, NULL, arena, problem, err));
    return capacity_check_money(sweep->ask, problem, err);
}

/* All questions are resolved before any is searched: what is wrong is said at once. */
static plait_status list_questions(capacity_sweep *sweep, const char *text, plait_arena *arena,
                                   plait_error *err)
{
    const char *cluster[MOST_CLUSTERS];
    char *list = plait_arena_printf(arena, "%s", text);
    int clusters;

    if (list == NULL)
        return plait_fail_nomem(err);
    clusters = split_clusters(list, cluster);
    if (clusters > MOST_CLUSTERS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "CLUSTER", "expected at most %d clusters",
                          MOST_CLUSTERS);
    for (int c = 0; c < clusters; c++)
        if (cluster[c][0] == '\0')
            return plait_fail(err, PLAIT_ERROR_RANGE, "CLUSTER",
                              "expected names with one comma between them, found '%.80s'", text);
    for (int c = 0; c < clusters; c++)
        for (int64_t gpus = sweep->from; gpus <= sweep->to; gpus = gpus > 0 ? 2 * gpus : 1)
            PLAIT_TRY(add_question(sweep, cluster[c], (int)gpus, arena, err));
    return PLAIT_OK;
}

/* ---- the answer ---- */

/* Anything but a page's name gets the JSON document. */
static bool asks_for_page(const char *output)
{
    return output != NULL && page_form_of(output) < PAGE_JSON;
}

static plait_status deliver_page(const capacity_values *flags, const report_capacity *report,
                                 const char *line, plait_arena *arena, plait_error *err)
{
    page *made;

    PLAIT_TRY(page_of_capacity(report, line, arena, &made, err));
    return command_page_write(made, flags->output, err);
}

static plait_status deliver(const capacity_values *flags, const report_capacity *report,
                            const char *line, plait_arena *arena, plait_error *err)
{
    const char *text;
    size_t length;

    if (asks_for_page(flags->output)) {
        capacity_values rest = *flags;

        PLAIT_TRY(deliver_page(flags, report, line, arena, err));
        rest.output = NULL;
        return deliver(&rest, report, line, arena, err);
    }
    if (flags->json || flags->output != NULL) {
        PLAIT_TRY(json_capacity(report, arena, &text, &length, err));
        PLAIT_TRY(command_deliver(text, length, flags->output, flags->json, err));
    }
    return flags->json ? PLAIT_OK : report_capacity_print(report, lines_out(), err);
}

static plait_status answer(const capacity_values *flags, capacity_sweep *sweep, const char *line,
                           progress *shown, plait_arena *arena, bool *no, plait_error *err)
{
    plait_capacity_swing swing[PLAIT_CAPACITY_SWINGS];
    report_capacity report = {.ask = sweep->ask, .rows = sweep->rows, .row = sweep->row};

    for (int i = 0; i < sweep->rows; i++) {
        PLAIT_TRY(plait_capacity_find(sweep->ask, &sweep->problem[i], arena, &sweep->row[i], err));
        progress_next(shown);
    }
    report.verdict = plait_capacity_judge(sweep->ask, sweep->row, sweep->rows);
    // With a deadline the smallest cluster is the answer, else the least money.
    report.answer =
        sweep->ask->deadline_s > 0.0 || report.verdict.cheapest < 0 ||
                sweep->row[report.verdict.cheapest].limit != PLAIT_CAPACITY_LIMIT_NOTHING
            ? report.verdict.smallest
            : report.verdict.cheapest;
    *no = report.answer < 0;
    if (!*no) {
        PLAIT_TRY(
            plait_capacity_tornado(sweep->ask, &sweep->row[report.answer], arena, swing, err));
        report.swing = swing;
    }
    progress_clear(shown);
    return deliver(flags, &report, line, arena, err);
}

static plait_status check_batch(const capacity_values *flags, plait_error *err)
{
    if (flags->max_gbs == 0 || flags->max_gbs >= flags->gbs)
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_RANGE, "--max-gbs",
                      "expected at least the %d sequences of --gbs, found %d", flags->gbs,
                      flags->max_gbs);
}

/* ---- a fleet that serves ---- */

/* What says nothing of serving is refused beside --serve. */
static plait_status check_serving(const capacity_values *flags, plait_error *err)
{
    const capacity_flags *const run = &flags->run;
    const struct {
        const char *name;
        bool given;
    } training[] = {
        {"--tokens", run->tokens != NULL},
        {"--seq", flags->seq > 0},
        {"--gbs", flags->gbs > 0},
        {"--max-gbs", flags->max_gbs > 0},
        {"--precision", flags->precision != NULL},
        {"--runtime", flags->runtime != NULL},
        {"--risk", flags->risk != NULL},
        {"--deadline", run->deadline != NULL},
        {"--budget", run->budget != NULL},
        {"--co2", run->co2 != NULL},
        {"--knee", run->knee != NULL},
        {"--straggler", run->straggler != NULL},
        {"--write-rate", run->write_rate != NULL},
        {"--write-most", run->write_most != NULL},
        {"--async-checkpoint", run->async},
        {"--runs", run->runs != NULL},
        {"--limit", flags->limit != NULL},
        {"--strategy", flags->strategy != NULL},
    };

    for (size_t i = 0; i < sizeof training / sizeof *training; i++)
        if (training[i].given)
            return plait_fail(
                err, PLAIT_ERROR_RANGE, training[i].name,
                "expected an option of serving beside --serve, found one of training");
    return PLAIT_OK;
}

static plait_status serve_fleet(capacity_values *flags, const opt_operands *operands,
                                plait_arena *arena, bool *no, plait_error *err)
{
    PLAIT_TRY(check_serving(flags, err));
    flags->serve.load.gpus = flags->gpus;
    return capacity_serve_run(&flags->serve, &flags->run, operands,
                              (capacity_serve_output){flags->output, flags->json}, arena, no, err);
}

/* ---- all ---- */

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    capacity_values flags = *(const capacity_values *)values;
    plait_capacity_ask ask;
    capacity_sweep *const sweep = plait_arena_alloc(arena, 1, sizeof *sweep);

    if (sweep == NULL)
        return plait_fail_nomem(err);
    if (flags.output == NULL && !flags.serve.serve)
        flags.output = flags.serve.output;
    PLAIT_TRY(command_output(&flags.output, &flags.json, err));
    if (flags.serve.serve)
        return serve_fleet(&flags, operands, arena, no, err);
    PLAIT_TRY(capacity_serve_refuse(&flags.serve, err));
    plait_capacity_ask_init(&ask);
    PLAIT_TRY(capacity_flags_read(&flags.run, &ask, err));
    PLAIT_TRY(check_batch(&flags, err));
    PLAIT_TRY(read_search(&flags, &ask.search, err));
    *sweep = (capacity_sweep){.flags = &flags, .ask = &ask};
    sweep->model = operands->count > 0 ? operands->text[0] : NULL;
    PLAIT_TRY(read_gpus(flags.gpus, arena, &sweep->from, &sweep->to, err));
    if (operands->count < 2)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, operands->count < 1 ? "MODEL" : "CLUSTER",
                          "expected a name, found nothing; see plait capacity --help");
    PLAIT_TRY(list_questions(sweep, operands->text[1], arena, err));
    progress shown = progress_of(sweep->rows + 1, "searching");
    progress_attach(&shown, &ask.search);
    return answer(&flags, sweep, operands->line, &shown, arena, no, err);
}

const command command_capacity = {
    .usage = {.command = "capacity",
              .synopsis = "MODEL CLUSTER[,CLUSTER...] --tokens N --seq S --gbs B [--gpus A..B] "
                          "[options]",
              .summary = "How many GPUs a training run or a serving fleet takes, and dollars.",
              .about =
                  "The best plan of each number of GPUs, followed to the end of the run with\n"
                  "its interruptions and checkpoints. Numbers take k, M, B or G, T; times ms, "
                  "s, m,\nh, d, w. Exit status 1 when none meets the deadline and the budget.\n"
                  "With --serve: the fleet that serves the requests of a day, hour by hour,\n"
                  "with spares. Exit status 1 when none meets the bounds.",
              .max_operands = 2,
              .operand = {OPT_NAMES(PLAIT_DATA_MODELS), OPT_NAMES(PLAIT_DATA_CLUSTERS)},
              .options = options},
    .values_size = sizeof(capacity_values),
    .run = run,
};
