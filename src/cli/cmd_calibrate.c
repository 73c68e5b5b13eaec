/* cmd_calibrate.c - plait calibrate: constants of an accelerator or a cluster from measurements */
#include <stdio.h>

#include "calibrate.h"
#include "calibrate_evidence.h"
#include "calibrate_runtime.h"
#include "cluster_write.h"
#include "command.h"
#include "plait/data.h"
#include "report_table.h"
#include "site.h"
#include "text.h"
#include "units.h"

typedef struct calibrate_values {
    const char *accelerator;
    const char *log;
    const char *cluster;
    const char *runtime;
    const char *evidence;
    const char *output;
} calibrate_values;

static const opt options[] = {
    OPT_HEADING("kernels"),
    OPT_OF_WORD(calibrate_values, accelerator, "accelerator", "NAME",
                OPT_NAMES(PLAIT_DATA_ACCELERATORS),
                "the accelerator that was measured; by default the one that the tables name"),
    OPT_HEADING("a site's own steps"),
    OPT_OF_TEXT(calibrate_values, log, "log", 0, "RUNS.csv", "measured steps of a few plans"),
    OPT_OF_WORD(calibrate_values, cluster, "cluster", "CLUSTER", OPT_NAMES(PLAIT_DATA_CLUSTERS),
                "the cluster they ran on"),
    OPT_HEADING("a piece of software"),
    OPT_OF_WORD(calibrate_values, runtime, "runtime", "NAME", OPT_NAMES(PLAIT_DATA_RUNTIMES),
                "fit this runtime profile to measured steps, RUNS.csv"),
    OPT_OF_TEXT(calibrate_values, evidence, "evidence", 0, "RUNS.csv",
                "predict each source of these steps by profiles fitted without it"),
    OPT_HEADING("the answer"),
    OPT_OF_TEXT(calibrate_values, output, "output", 'o', "FILE",
                "write what was fitted to FILE; - is standard output"),
    OPT_END,
};

/* ---- kernels ---- */

/* "k0, p": numbers that the points leave at the family's default. */
static const char *undetermined(const calibrate_block *block, plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    for (int i = 0; i < block->numbers; i++) {
        const fit_number *n = &block->number[i];

        if (n->key == NULL || n->determined)
            continue;
        text_append_printf(&out, "%s%s", out.length > 0 ? ", " : "", n->key);
        if (n->element >= 0)
            text_append_printf(&out, "[%d]", n->element);
    }
    return text_builder_finish(&out, NULL);
}

static void error_cell(table *rows, double error)
{
    if (error < 0.0)
        table_cell(rows, "-");
    else
        table_cell(rows, "%.1f %%", 100.0 * error);
}

static plait_status print_fits(const calibrate_result *result, FILE *out, plait_arena *arena,
                               plait_error *err)
{
    static const table_column columns[] = {
        {"constants", TABLE_LEFT},     {"points", TABLE_RIGHT},         {"error", TABLE_RIGHT},
        {"held out", TABLE_RIGHT},     {"of those large", TABLE_RIGHT}, {"measured on", TABLE_LEFT},
        {"not determined", TABLE_LEFT}};
    table *rows = table_new(columns, 7);

    for (int b = 0; b < result->blocks; b++) {
        const calibrate_block *block = &result->block[b];
        const char *missing = undetermined(block, arena);

        if (missing == NULL) {
            table_free(rows);
            return plait_fail_nomem(err);
        }
        table_cell(rows, "%s", block->name);
        table_cell(rows, "%d", block->errors.points);
        error_cell(rows, block->errors.fitted);
        error_cell(rows, block->errors.held);
        error_cell(rows, block->errors.held_large);
        table_cell(rows, "%s%s%s", block->stands_in != NULL ? block->stands_in : "",
                   block->stands_in != NULL ? ", " : "", block->source);
        table_cell(rows, "%s",
                   !block->used         ? "not used, too far off"
                   : missing[0] != '\0' ? missing
                                        : "-");
    }
    fprintf(out, "%s\n", result->name);
    return table_print(rows, 0, out, err);
}

static plait_status read_points(const opt_operands *operands, plait_arena *arena, point_list *list,
                                plait_error *err)
{
    if (operands->count == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "KERNELS.csv",
                          "expected a file of measurements, found none");
    points_init(list, arena);
    for (int i = 0; i < operands->count; i++)
        PLAIT_TRY(points_read(operands->text[i], arena, list, err));
    return PLAIT_OK;
}

static plait_status calibrate_kernels(const calibrate_values *flags, const opt_operands *operands,
                                      const calibrate_sink *sink, plait_arena *arena, bool *no,
                                      plait_error *err)
{
    point_list points;
    calibrate_result result;
    const char *name;

    PLAIT_TRY(read_points(operands, arena, &points, err));
    PLAIT_TRY(calibrate_name(flags->accelerator, &points, &name, err));
    PLAIT_TRY(calibrate_accelerator(name, &points, arena, &result, err));
    *no = result.blocks == 0;
    if (*no) {
        fprintf(sink->print ? stderr : stdout,
                "%s: none of these measurements is about it, or too few of a kind\n", result.name);
        return PLAIT_OK;
    }
    PLAIT_TRY(print_fits(&result, sink->print ? stderr : stdout, arena, err));
    return command_deliver(result.text, result.length, sink->path, sink->print, err);
}

/* ---- a site's own steps ---- */

static void factor_line(FILE *out, const char *what, double factor, bool determined)
{
    fprintf(out, "%s x %.3g%s\n", what, factor, determined ? "" : ", not determined");
}

static plait_status print_site(const site_result *result, FILE *out, plait_error *err)
{
    static const table_column columns[] = {{"run", TABLE_LEFT},     {"measured", TABLE_RIGHT},
                                           {"before", TABLE_RIGHT}, {"error", TABLE_RIGHT},
                                           {"after", TABLE_RIGHT},  {"error", TABLE_RIGHT}};
    table *rows = table_new(columns, 6);
    char text[UNITS_SIZE];

    for (size_t i = 0; i < result->runs; i++) {
        const site_run *r = &result->run[i];

        table_cell(rows, "%s", r->run->id);
        table_cell(rows, "%s", units_seconds(r->run->step_s, text));
        table_cell(rows, "%s", units_seconds(r->before_s, text));
        table_cell(rows, "%+.1f %%", 100.0 * (r->before_s / r->run->step_s - 1.0));
        table_cell(rows, "%s", units_seconds(r->after_s, text));
        table_cell(rows, "%+.1f %%", 100.0 * (r->after_s / r->run->step_s - 1.0));
    }
    PLAIT_TRY(table_print(rows, 0, out, err));
    fprintf(out, "\n");
    factor_line(out, "compute efficiency", result->compute, result->compute_determined);
    factor_line(out, "network efficiency", result->network, result->network_determined);
    fprintf(out, "mean error %.1f %% before, %.1f %% after\n", 100.0 * result->before,
            100.0 * result->after);
    if (result->skipped != NULL)
        fprintf(out, "some runs could not be priced, the first since: %s\n", result->skipped);
    return PLAIT_OK;
}

/* The cluster says in its source what was done to it. */
static plait_status write_site(const site_result *result, plait_arena *arena, const char **text,
                               size_t *length, plait_error *err)
{
    plait_cluster cluster = *result->cluster;
    json_writer json;

    cluster.source = plait_arena_printf(
        arena, "%s%splait calibrate --log, %zu runs: compute x %.3g, network x %.3g",
        cluster.source, cluster.source[0] != '\0' ? "; " : "", result->runs, result->compute,
        result->network);
    if (cluster.source == NULL)
        return plait_fail_nomem(err);
    json_writer_init(&json, arena);
    cluster_write(&json, &cluster);
    return json_writer_finish(&json, text, length, err);
}

static plait_status calibrate_site(const calibrate_values *flags, const opt_operands *operands,
                                   const calibrate_sink *sink, plait_arena *arena, plait_error *err)
{
    plait_cluster cluster;
    plait_runs runs;
    site_result result;
    const char *text;
    size_t length;

    if (flags->cluster == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--cluster",
                          "expected the cluster that --log is about, found nothing");
    if (operands->count > 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, operands->text[0],
                          "expected no tables of kernels beside --log, found one");
    PLAIT_TRY(plait_cluster_find(flags->cluster, arena, &cluster, err));
    PLAIT_TRY(plait_runs_load(flags->log, arena, &runs, err));
    PLAIT_TRY(site_scale(&cluster, &runs, arena, &result, err));
    PLAIT_TRY(print_site(&result, sink->print ? stderr : stdout, err));
    PLAIT_TRY(write_site(&result, arena, &text, &length, err));
    return command_deliver(text, length, sink->path, sink->print, err);
}

/* What is fitted: one thing at a time. */
static plait_status check_task(const calibrate_values *flags, plait_error *err)
{
    const char *const task[] = {flags->runtime, flags->evidence, flags->log};
    static const char *const name[] = {"--runtime", "--evidence", "--log"};
    int first = -1;

    for (int i = 0; i < 3; i++) {
        if (task[i] == NULL)
            continue;
        if (first >= 0)
            return plait_fail(err, PLAIT_ERROR_SCHEMA, name[i],
                              "expected no %s beside %s, found both", name[i], name[first]);
        first = i;
    }
    if (flags->cluster != NULL && flags->log == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--log",
                          "expected the measured steps of --cluster, found nothing");
    return PLAIT_OK;
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const calibrate_values *const flags = values;
    calibrate_sink sink = {flags->output, false};

    PLAIT_TRY(check_task(flags, err));
    PLAIT_TRY(command_output(&sink.path, &sink.print, err));
    if (flags->runtime != NULL)
        return calibrate_runtime(flags->runtime, operands, &sink, arena, err);
    if (flags->evidence != NULL)
        return calibrate_evidence(flags->evidence, operands, &sink, arena, err);
    if (flags->log != NULL)
        return calibrate_site(flags, operands, &sink, arena, err);
    return calibrate_kernels(flags, operands, &sink, arena, no, err);
}

const command command_calibrate = {
    .usage = {.command = "calibrate",
              .synopsis =
                  "KERNELS.csv... [--accelerator NAME] -o accelerator.json | "
                  "--log RUNS.csv --cluster CLUSTER -o cluster.json | "
                  "--runtime NAME RUNS.csv -o runtime.json | --evidence RUNS.csv -o evidence.csv",
              .summary = "Fit the constants of an accelerator, or of a cluster, to measurements.",
              .about = "Tables are told apart by their header, nccl-tests output by its content; "
                       "clusters/measurements/README.md\ndescribes them. Exit status 1 when there "
                       "is nothing to fit.",
              .max_operands = OPT_MAX_OPERANDS,
              .options = options},
    .values_size = sizeof(calibrate_values),
    .run = run,
};
