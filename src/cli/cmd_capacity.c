/*
 * cmd_capacity.c - plait capacity: finds the number of GPUs, the days and the dollars of a training
 * run
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/capacity_flags.h"
#include "cli/command.h"
#include "report/lines.h"
#include "page/pages.h"
#include "cli/problem.h"
#include "cli/terminal.h"
#include "report/report_capacity.h"

typedef struct capacity_values {
    int seq, document, images, image_tokens, max_gbs, threads;
    const char *gpus, *gbs, *precision, *runtime, *risk;
    capacity_flags run;
    tuning_flags tuning;
    const char *limit, *refine;
    capacity_serve serve;
    bool json;
    const char *output;
} capacity_values;

#define OPT_OF_WHAT(field, name, value, help)                                                      \
    OPT_OF_TEXT(capacity_values, field, name, 0, value, help)

static const opt options[] = {
    OPT_HEADING("the run"),
    OPT_OF_TEXT(capacity_values, run.tokens, "tokens", 0, "N",
                "tokens of the whole run, such as 15T"),
    OPT_OF_TOKENS(capacity_values, seq, "seq", "tokens of one sequence"),
    OPT_OF_TOKENS(capacity_values, document, "document", DOCUMENT_HELP),
    IMAGE_OPTIONS(capacity_values, images, image_tokens),
    OPT_OF_WHAT(
        gbs, "gbs", "SEQUENCES",
        "sequences of one step, over all GPUs; A..B, B,B,... or A..B:STEP are candidates; a "
        "single B may grow by up to 1/16 for numbers of GPUs between doublings, and B..B keeps it "
        "fixed"),
    OPT_OF_INT(capacity_values, max_gbs, "max-gbs", "SEQUENCES", 1, PLAIT_MAX_GBS,
               "let the batch grow with the GPUs up to this size (default: a constant batch)"),
    OPT_OF_WHAT(gpus, "gpus", "A..B",
                "A..B searches A, 2A, 4A, ... up to B and the whole-node numbers between these "
                "that can be better; N,N,... or A..B:STEP searches only those numbers"),
    OPT_OF_WORD(capacity_values, precision, "precision", "FORMAT", OPT_WORDS(plait_precision_name),
                "format of matrix products: bf16 (default), fp16, fp8, fp8_block, mxfp8, nvfp4"),
    OPT_OF_WORD(capacity_values, runtime, "runtime", "NAME", OPT_NAMES(PLAIT_DATA_RUNTIMES),
                "software that runs the plan: megatron (default), torchtitan, fsdp, ..."),
    OPT_OF_WHAT(
        risk, "risk", "P",
        "a plan fits if its probability of running out of memory is at most P (default: 0.05)"),
    CAPACITY_OPTIONS(capacity_values, run),
    OPT_HEADING("fine-tuning"),
    TUNING_OPTIONS(capacity_values, tuning),
    DATA_OPTIONS(capacity_values, tuning),
    OPT_HEADING("the search"),
    OPT_OF_LIST(capacity_values, limit, "limit", "KEY=LOW..HIGH,...",
                "search only plans within these ranges, such as tp=..8,schedule=1f1b"),
    OPT_OF_WORD(
        capacity_values, refine, "refine", "WHAT", OPT_WORDS(plait_refine_name),
        "search beyond uniform plans, as in plait search: none, layouts, stages, layers, all "
        "(default)"),
    OPT_OF_INT(capacity_values, threads, "threads", "N", 1, 1024,
               "threads (default: OMP_NUM_THREADS or all processors); does not change the answer"),
    CAPACITY_SERVE_OPTIONS(capacity_values, serve),
    OPT_HEADING("the answer"),
    OPT_OF_FLAG(capacity_values, json, "json", "one JSON document on standard output"),
    OPT_OF_OUTPUT(capacity_values, output, "output", 'o', "FILE",
                  "also write a page to FILE.html, .md or .csv, or the JSON document to FILE; - "
                  "means --json"),
    OPT_END,
};

/* The options of a training run, which are refused with --serve. */
static const char *const training_options[] = {
    "tokens",  "seq",       "document",  "images",       "image-tokens", "gbs",
    "max-gbs", "precision", "runtime",   "risk",         "deadline",     "budget",
    "co2",     "knee",      "straggler", "write-rate",   "write-most",   "async-checkpoint",
    "runs",    "limit",     "refine",    "job",          "lora-targets", "frozen-format",
    "freeze",  "reference", "teacher",   "teacher-gpus", "padding",      "balance",
    NULL};

/* ---- clusters and numbers of GPUs ---- */

enum { MOST_CLUSTERS = 16, MOST_ROWS = 256 };

/*
 * Split "a,b:4x8,nic=200" at commas, except that a comma before KEY= is part of the cluster's name.
 */
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

/*
 * A range with more than MOST_NUMBERS numbers of GPUs is searched only at its doublings. A range of
 * batches is searched in about BATCHES_OF_A_RANGE steps, each a power of two. With a single batch,
 * numbers of GPUs between doublings may also use a batch that is larger by up to 1 / SHARE_OF_ONE,
 * because they divide few batches; the range B..B keeps the batch at B.
 */
enum { MOST_NUMBERS = 1 << 16, BATCHES_OF_A_RANGE = 8, BATCHES_OF_ONE = 2, SHARE_OF_ONE = 16 };

/* One cluster of the command line. Its rows in the sweep are `first` to first + rows - 1. */
typedef struct sweep_cluster {
    const char *text;
    plait_capacity_options ask;
    plait_problem *largest; /* problem with the most GPUs of the range that make whole nodes */
    plait_capacity_range range;
    plait_capacity_range_result between;
    int first, rows;
} sweep_cluster;

typedef struct capacity_sweep {
    const capacity_values *flags;
    const char *model;
    const plait_capacity_options *ask;
    number_list gpus, gbs; /* `gbs` also lists the batches of a range */
    int clusters;
    sweep_cluster cluster[MOST_CLUSTERS];
    report_capacity_cluster searched[MOST_CLUSTERS];
    plait_problem problem[MOST_ROWS];
    plait_capacity_row row[MOST_ROWS + MOST_CLUSTERS * PLAIT_CAPACITY_FOUND];
    int rows;
} capacity_sweep;

static plait_status resolve_point(const capacity_sweep *sweep, const char *cluster, int gpus,
                                  int gbs, plait_arena *arena, plait_problem *out, plait_error *err)
{
    const capacity_values *const flags = sweep->flags;
    const problem_flags one = {
        .seq = flags->seq,
        .document = flags->document,
        .images = flags->images,
        .image_tokens = flags->image_tokens,
        .gbs = gbs,
        .gpus = gpus,
        .precision = flags->precision,
        .runtime = flags->runtime,
        .risk = flags->risk,
        .tuning = flags->tuning,
        .assume_llama = flags->serve.load.assume_llama,
        .quiet = sweep->rows > 0,
    };
    opt_operands operands = {.count = 2};

    operands.text[0] = sweep->model;
    operands.text[1] = cluster;
    return problem_resolve(&one, &operands, NULL, arena, out, err);
}

/*
 * Add a row for each listed batch. A range of batches gets one row, for its first batch; the other
 * batches are searched between the rows.
 */
static plait_status add_batches(capacity_sweep *sweep, sweep_cluster *of, int gpus,
                                plait_arena *arena, plait_error *err)
{
    const int batches = sweep->gbs.range ? 1 : sweep->gbs.count;

    for (int b = 0; b < batches || b == 0; b++) {
        int gbs = batches > 0 ? sweep->gbs.value[b] : 0;
        const int from = sweep->gpus.from > 0 ? sweep->gpus.from : gpus,
                  most = sweep->flags->max_gbs;

        if (sweep->rows == MOST_ROWS)
            return plait_fail(err, PLAIT_ERROR_RANGE, "--gpus",
                              "expected at most %d combinations of GPUs and batches, found more",
                              MOST_ROWS);
        if (most > 0) // the batch grows in proportion to the GPUs
            gbs = (int)fmax(gbs, fmin(floor((double)gbs * gpus / from), most));
        plait_problem *const problem = &sweep->problem[sweep->rows];
        PLAIT_TRY(resolve_point(sweep, of->text, gpus, gbs, arena, problem, err));
        sweep->row[sweep->rows++].problem = problem;
        of->rows++;
        PLAIT_TRY(capacity_check_money(&of->ask, problem, err));
    }
    return PLAIT_OK;
}

/*
 * Resolve all problems before any search, so that errors are reported first. A range of GPUs is
 * resolved at its doublings.
 */
static plait_status list_questions(capacity_sweep *sweep, const char *text, plait_arena *arena,
                                   plait_error *err)
{
    const number_list *const gpus = &sweep->gpus;
    const char *cluster[MOST_CLUSTERS];
    double price[MOST_CLUSTERS];
    char *list = plait_arena_printf(arena, "%s", text);

    PLAIT_TRY(plait_check_allocated(list, err));
    sweep->clusters = split_clusters(list, cluster);
    if (sweep->clusters > MOST_CLUSTERS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "CLUSTER",
                          "expected at most %d clusters, found more", MOST_CLUSTERS);
    for (int c = 0; c < sweep->clusters; c++)
        if (cluster[c][0] == '\0')
            return plait_fail(err, PLAIT_ERROR_RANGE, "CLUSTER",
                              "expected names with one comma between them, found '%.80s'", text);
    PLAIT_TRY(
        capacity_flags_read_prices(sweep->flags->run.price, cluster, sweep->clusters, price, err));
    for (int c = 0; c < sweep->clusters; c++) {
        sweep_cluster *const of = &sweep->cluster[c];

        *of = (sweep_cluster){.text = cluster[c], .ask = *sweep->ask, .first = sweep->rows};
        of->ask.usd_per_gpu_hour = price[c];
        for (int i = 0; i < gpus->count; i++)
            PLAIT_TRY(add_batches(sweep, of, gpus->value[i], arena, err));
        for (int64_t n = gpus->from; gpus->range && n <= gpus->to; n *= 2)
            PLAIT_TRY(add_batches(sweep, of, (int)n, arena, err));
        if (gpus->from == 0)
            PLAIT_TRY(add_batches(sweep, of, 0, arena, err));
    }
    return PLAIT_OK;
}

/* ---- lists of batches and numbers of GPUs ---- */

/*
 * List both ends of a range, and the multiples of a power of two between them. The power is chosen
 * such that the list has about `batches` entries.
 */
static void list_range(number_list *list, int batches)
{
    list->count = 0;
    list->step = 1;
    while (list->to - list->from >= 2 * list->step * batches)
        list->step *= 2;
    list->value[list->count++] = list->from;
    for (int gbs = (list->from / list->step + 1) * list->step; gbs < list->to; gbs += list->step)
        list->value[list->count++] = gbs;
    if (list->to > list->from)
        list->value[list->count++] = list->to;
}

static plait_status read_numbers(const capacity_values *flags, capacity_sweep *sweep,
                                 plait_error *err)
{
    number_list *const gbs = &sweep->gbs;

    PLAIT_TRY(number_list_read("--gpus", flags->gpus, "numbers of GPUs", PLAIT_MAX_GPUS,
                               &sweep->gpus, err));
    PLAIT_TRY(number_list_read("--gbs", flags->gbs, "sequences", PLAIT_MAX_GBS, gbs, err));
    if (gbs->range)
        list_range(gbs, BATCHES_OF_A_RANGE);
    if (sweep->gpus.range && flags->max_gbs == 0 && gbs->count == 1 &&
        strchr(flags->gbs, '.') == NULL) { // a single batch with a range of GPUs
        gbs->range = true;
        gbs->to = gbs->from <= PLAIT_MAX_GBS / 2 ? gbs->from + gbs->from / SHARE_OF_ONE : gbs->from;
        list_range(gbs, BATCHES_OF_ONE);
    }
    if (flags->max_gbs == 0 || (gbs->count <= 1 && flags->max_gbs >= gbs->from))
        return PLAIT_OK;
    return gbs->count > 1
               ? plait_fail(err, PLAIT_ERROR_RANGE, "--max-gbs",
                            "expected one batch of --gbs, which --max-gbs lets grow, found %d",
                            gbs->count)
               : plait_fail(err, PLAIT_ERROR_RANGE, "--max-gbs",
                            "expected at least the %d sequences of --gbs, found %d", gbs->from,
                            flags->max_gbs);
}

/* ---- numbers of GPUs between the rows ---- */

static plait_status ask_between(void *context, int gpus, int gbs, plait_arena *arena,
                                plait_problem *out, plait_error *err)
{
    const sweep_cluster *const of = context;

    return problem_for_size(of->largest, gpus, gbs, arena, out, err);
}

/*
 * Return the reason why only the rows of a range are searched; NULL if the numbers between them are
 * searched too.
 */
static const char *why_rows_alone(const capacity_sweep *sweep, const sweep_cluster *of)
{
    const plait_problem *const problem = sweep->row[of->first].problem;
    const int64_t numbers =
        ((int64_t)sweep->gpus.to - sweep->gpus.from) / problem->cluster->group[0].gpus_per_node;

    if (!plait_cluster_priced(problem->cluster, problem->job.gpus, NULL, 0))
        return "numbers of GPUs between doublings are searched only on clusters of one accelerator";
    if (sweep->flags->max_gbs > 0)
        return "numbers of GPUs between doublings are searched only for a constant batch";
    return numbers * sweep->gbs.count > MOST_NUMBERS
               ? "numbers of GPUs between doublings are searched only in a shorter range"
               : NULL;
}

static plait_status look_between(capacity_sweep *sweep, int c, plait_arena *arena, plait_error *err)
{
    sweep_cluster *const of = &sweep->cluster[c];
    const int from = sweep->row[of->first].problem->job.gpus;

    // Resolve the problem with the most GPUs of the range in whole nodes.
    const plait_problem *const last = sweep->row[of->first + of->rows - 1].problem;
    const int each = last->cluster->group[0].gpus_per_node;
    int gpus = sweep->gpus.to;
    plait_status status = PLAIT_ERROR_RANGE;
    of->largest = plait_arena_alloc(arena, 1, sizeof *of->largest);
    PLAIT_TRY(plait_check_allocated(of->largest, err));
    gpus -= gpus > each ? gpus % each : 0;
    for (; status == PLAIT_ERROR_RANGE && gpus > last->job.gpus; gpus -= each)
        status =
            resolve_point(sweep, of->text, gpus, sweep->gbs.value[0], arena, of->largest, NULL);
    if (status == PLAIT_ERROR_RANGE)
        *of->largest = *last;
    PLAIT_TRY(status == PLAIT_OK || status == PLAIT_ERROR_RANGE
                  ? PLAIT_OK
                  : resolve_point(sweep, of->text, gpus + each, sweep->gbs.value[0], arena,
                                  of->largest, err));
    of->range = (plait_capacity_range){
        .from = from,
        .to = of->largest->job.gpus,
        .step = sweep->gpus.range ? 1 : of->largest->job.gpus,
        .batches = sweep->gbs.count,
        .gbs = sweep->gbs.value,
        .question = ask_between,
        .context = of,
    };
    const int node = of->largest->cluster->group[0].gpus_per_node;
    if (sweep->gpus.range && from % node == 0)
        of->range.step = node;
    PLAIT_TRY(plait_capacity_search_range(&of->ask, &of->range, sweep->row, sweep->rows, arena,
                                          &of->between, err));
    for (int i = 0; i < of->between.rows; i++) {
        // Insert a row of cluster c, ordered by GPUs and then by batch.
        const plait_capacity_row *const row = &of->between.row[i];
        int at = sweep->cluster[c].first;
        const int end = at + sweep->cluster[c].rows;

        while (at < end && (sweep->row[at].problem->job.gpus < row->problem->job.gpus ||
                            (sweep->row[at].problem->job.gpus == row->problem->job.gpus &&
                             sweep->row[at].problem->job.gbs < row->problem->job.gbs)))
            at++;
        memmove(&sweep->row[at + 1], &sweep->row[at],
                (size_t)(sweep->rows - at) * sizeof *sweep->row);
        sweep->row[at] = *row;
        sweep->rows++;
        sweep->cluster[c].rows++;
        for (int later = c + 1; later < sweep->clusters; later++)
            sweep->cluster[later].first++;
    }
    return PLAIT_OK;
}

static plait_status look_at_cluster(capacity_sweep *sweep, int c, plait_arena *arena,
                                    plait_error *err)
{
    sweep_cluster *const of = &sweep->cluster[c];
    report_capacity_cluster *const searched = &sweep->searched[c];
    const plait_problem *const problem = sweep->row[of->first].problem;
    const bool range = sweep->gpus.range || sweep->gbs.range;

    *searched = (report_capacity_cluster){
        .problem = problem,
        .price_asked = of->ask.usd_per_gpu_hour > 0.0,
        .usd_per_gpu_hour = plait_capacity_usd_per_gpu_hour(&of->ask, problem),
        .batches = sweep->gbs.count,
        .gbs = sweep->gbs.value,
        .why = range ? why_rows_alone(sweep, of) : NULL,
    };
    if (!range || searched->why != NULL)
        return PLAIT_OK;
    PLAIT_TRY(look_between(sweep, c, arena, err));
    searched->between = &of->between;
    searched->from = of->range.from;
    searched->to = of->range.to;
    return PLAIT_OK;
}

/* ---- the answer ---- */

static plait_status answer_capacity(const capacity_values *flags, capacity_sweep *sweep,
                                    const char *line, progress *shown, plait_arena *arena, bool *no,
                                    plait_error *err)
{
    plait_capacity_swing swing[PLAIT_CAPACITY_SWINGS];
    report_capacity report = {.ask = sweep->ask,
                              .clusters = sweep->clusters,
                              .cluster = sweep->searched,
                              .row = sweep->row};
    json_writer json;
    page *made;

    for (int c = 0; c < sweep->clusters; c++)
        for (int i = 0; i < sweep->cluster[c].rows; i++) {
            plait_capacity_row *const row = &sweep->row[sweep->cluster[c].first + i];

            PLAIT_TRY(plait_capacity_find(&sweep->cluster[c].ask, row->problem, arena, row, err));
            progress_next(shown);
        }
    for (int c = 0; c < sweep->clusters; c++) {
        PLAIT_TRY(look_at_cluster(sweep, c, arena, err));
        progress_next(shown);
    }
    report.rows = sweep->rows;
    report.verdict = plait_capacity_compare(sweep->ask, sweep->row, sweep->rows);
    // With a deadline, the answer is the smallest cluster that meets it, otherwise the cheapest
    // one.
    report.answer =
        sweep->ask->deadline_s > 0.0 || report.verdict.cheapest < 0 ||
                sweep->row[report.verdict.cheapest].limit != PLAIT_CAPACITY_LIMIT_NOTHING
            ? report.verdict.smallest
            : report.verdict.cheapest;
    *no = report.answer < 0;
    if (!*no) {
        const sweep_cluster *of = sweep->cluster;

        while (report.answer >= of->first + of->rows)
            of++;
        PLAIT_TRY(plait_capacity_tornado(&of->ask, &sweep->row[report.answer], arena, swing, err));
        report.swing = swing;
    }
    progress_clear(shown);
    const bool paged = flags->output != NULL && page_form_of(flags->output) < PAGE_JSON;
    if (paged) {
        PLAIT_TRY(page_of_capacity(&report, line, arena, &made, err));
        PLAIT_TRY(command_page_write(made, flags->output, err));
    }
    if (flags->json || (flags->output != NULL && !paged)) {
        command_begin_json(&json, arena);
        json_capacity(&json, &report);
        PLAIT_TRY(command_deliver_json(&json, paged ? NULL : flags->output, flags->json, err));
    }
    return flags->json ? PLAIT_OK : report_capacity_print(&report, lines_out(), err);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    capacity_values flags = *(const capacity_values *)values;
    plait_capacity_options ask;
    capacity_sweep *const sweep = plait_arena_alloc(arena, 1, sizeof *sweep);
    plait_error inner = {PLAIT_OK, "", ""};
    int refine = PLAIT_REFINE_ALL;

    PLAIT_TRY(plait_check_allocated(sweep, err));
    if (flags.serve.serve)
        PLAIT_TRY(serve_flags_check_file(flags.output, err));
    PLAIT_TRY(command_output(&flags.output, &flags.json, err));
    if (flags.serve.serve) {
        PLAIT_TRY(opt_check_none_given(
            operands, training_options,
            "expected an option that applies to --serve, found one for training runs", err));
        flags.serve.load.gpus = flags.gpus;
        flags.serve.load.lora_rank = flags.tuning.rank;
        flags.serve.load.lengths = flags.tuning.lengths;
        return capacity_serve_run(&flags.serve, &flags.run, operands, flags.output, flags.json,
                                  arena, no, err);
    }
    PLAIT_TRY(opt_check_none_given(
        operands, capacity_serve_options,
        "expected --serve in the same command, since this option sizes a serving fleet", err));
    plait_capacity_options_init(&ask);
    capacity_flags unpriced = flags.run; // `price` is read separately, per cluster
    unpriced.price = NULL;
    PLAIT_TRY(capacity_flags_read(&unpriced, &ask, err));
    if (flags.limit != NULL && plait_search_limit(&ask.search, flags.limit, &inner) != PLAIT_OK)
        return plait_fail(err, inner.status, "--limit", "%s: %s", inner.where, inner.message);
    if (flags.refine != NULL)
        PLAIT_TRY(problem_word("--refine", flags.refine, plait_refine_name, &refine, err));
    ask.search.refine = (plait_refine)refine;
    ask.search.threads = flags.threads;
    sweep->flags = &flags;
    sweep->ask = &ask;
    sweep->model = operands->count > 0 ? operands->text[0] : NULL;
    PLAIT_TRY(read_numbers(&flags, sweep, err));
    if (operands->count < 2)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, operands->count < 1 ? "MODEL" : "CLUSTER",
                          "expected a name, found nothing; see plait capacity --help");
    PLAIT_TRY(list_questions(sweep, operands->text[1], arena, err));
    progress shown = progress_of(sweep->rows + sweep->clusters + 1, "searching");
    for (int c = 0; c < sweep->clusters; c++)
        progress_attach(&shown, &sweep->cluster[c].ask.search);
    return answer_capacity(&flags, sweep, operands->line, &shown, arena, no, err);
}

const command command_capacity = {
    .usage =
        {.command = "capacity",
         .synopsis = "MODEL CLUSTER[,CLUSTER...] --tokens N --seq S --gbs B [--gpus A..B] "
                     "[options]",
         .summary = "Size a training run or a serving fleet: GPUs, days, dollars.",
         .about =
             "Predicts the whole run with the best plan for each number of GPUs, including "
             "interruptions\nand checkpoints. Numbers accept the suffixes k, M, B or G, and T; "
             "times ms, s, m, h, d, w.\nExit status 1 when no number of GPUs meets the deadline "
             "and the budget.\nWith --serve: finds the fleet, with spare nodes, that serves the "
             "requests of each hour of a\nday. Exit status 1 when no fleet meets the bounds.",
         .max_operands = 2,
         .operand = {OPT_NAMES(PLAIT_DATA_MODELS), OPT_NAMES(PLAIT_DATA_CLUSTERS)},
         .options = options},
    .values_size = sizeof(capacity_values),
    .run = run,
};
