/* cmd_calibrate.c - plait calibrate: fits constants of hardware and software to measurements */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "calibrate/engine_fit.h"
#include "calibrate/profile.h"
#include "cli/calibrate.h"
#include "cli/command.h"
#include "cli/terminal.h"
#include "io/file.h"
#include "io/folder.h"
#include "io/runtime/runtime_file.h"
#include "plait/data.h"
#include "plait/validate.h"
#include "report/lines.h"
#include "report/report_table.h"
#include "report/report_validate.h"

typedef struct calibrate_values {
    const char *accelerator;
    const char *log;
    const char *plan;
    const char *cluster;
    const char *runtime;
    const char *evidence;
    const char *engine;
    const char *kit;
    const char *site;
    const char *output;
    bool force;
} calibrate_values;

static const opt options[] = {
    OPT_HEADING("the kit"),
    OPT_OF_OUTPUT(calibrate_values, kit, "kit", 0, "DIR",
                  "write the benchmarks for your cluster into DIR, a new or empty folder"),
    OPT_OF_FLAG(calibrate_values, force, "force", "write into a folder that has files"),
    OPT_HEADING("kernels and links"),
    OPT_OF_WORD(calibrate_values, accelerator, "accelerator", "NAME",
                OPT_NAMES(PLAIT_DATA_ACCELERATORS),
                "accelerator that was measured (default: the one named in the tables)"),
    OPT_HEADING("measured steps of a cluster"),
    OPT_OF_TEXT(
        calibrate_values, log, "log", 0, "FILE",
        "measured step times: a CSV file with one row per plan, or the training log of the plan "
        "given by --plan"),
    OPT_OF_TEXT(calibrate_values, plan, "plan", 0, "FILE[:RANK]",
                "plan that ran, from a file that `plait search -o` or `plait import -o` wrote"),
    OPT_OF_WORD(calibrate_values, cluster, "cluster", "CLUSTER", OPT_NAMES(PLAIT_DATA_CLUSTERS),
                "cluster on which the steps, or the kernels and links, were measured (default: the "
                "cluster of the plan)"),
    OPT_HEADING("software"),
    OPT_OF_WORD(
        calibrate_values, runtime, "runtime", "NAME", OPT_NAMES(PLAIT_DATA_RUNTIMES),
        "runtime profile to fit to the measured steps in RUNS.csv; NAME@YY.MM is a profile of "
        "the releases up to that month"),
    OPT_OF_TEXT(calibrate_values, evidence, "evidence", 0, "RUNS.csv",
                "predict the steps of each source with profiles fitted without that source"),
    OPT_OF_WORD(
        calibrate_values, engine, "engine", "NAME", OPT_NAMES(PLAIT_DATA_ENGINES),
        "fit this profile of a serving engine to the measured serving runs in RUNS.csv; all: "
        "fit all profiles and their bands, and write them into the folder of -o"),
    OPT_HEADING("the answer"),
    OPT_OF_OUTPUT(calibrate_values, output, "output", 'o', "FILE",
                  "write the result of the fit to FILE; - means standard output"),
    OPT_OF_OUTPUT(calibrate_values, site, "site", 0, "FILE",
                  "write the cluster with the fitted accelerator and links to FILE"),
    OPT_END,
};

/*
 * The benchmark kit, whose files are installed in the data folder so that users can read them and
 * tests can run them.
 */
static const struct kit_file {
    const char *name;
    const char *what;
    bool executable;
} kit[] = {
    {"README.md", "instructions in three steps", false},
    {"kit.py",
     "measures matrix products, attention, experts, memory passes; without nccl-tests also "
     "collectives and sends",
     true},
    {"nccl.sh", "measures collectives and sends with nccl-tests", true},
    {"kit.sbatch", "runs all benchmarks on two nodes under SLURM", true},
};

enum { KIT_FILES = sizeof kit / sizeof *kit, KIT_FILE_MAX_BYTES = 1 << 20 };

/*
 * Write all files of clusters/kit into a folder, or none of them. With `force` the folder may
 * contain other files, which stay.
 */
static plait_status write_kit(const char *path, const opt_operands *operands, bool force,
                              plait_arena *arena, plait_error *err)
{
    plait_launch_folder folder = {.files = KIT_FILES};
    size_t length;

    if (path[0] == '\0')
        return plait_fail(err, PLAIT_ERROR_IO, "--kit",
                          "expected the name of a folder, found nothing");
    if (operands->count > 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, operands->text[0],
                          "expected --kit without measurements, found a file of measurements");
    PLAIT_TRY(folder_check(path, force, err));
    for (int f = 0; f < KIT_FILES; f++) {
        const char *const name = plait_arena_printf(arena, "clusters/kit/%s", kit[f].name), *from;
        plait_launch_file *const to = &folder.file[f];

        PLAIT_TRY(plait_check_allocated(name, err));
        *to = (plait_launch_file){.name = kit[f].name, .executable = kit[f].executable};
        PLAIT_TRY(plait_data_file(name, arena, &from, err));
        if (from == NULL)
            return plait_fail(err, PLAIT_ERROR_IO, name,
                              "expected a file in the data folder, found none: set PLAIT_DATA");
        PLAIT_TRY(file_read_all(from, KIT_FILE_MAX_BYTES, arena, &to->text, &length, err));
    }
    PLAIT_TRY(folder_write(path, &folder, force, err));
    print_message("%s: benchmarks that take ten minutes on two nodes\n\n", path);
    for (int f = 0; f < KIT_FILES; f++)
        print_message("  %-12s%s\n", kit[f].name, kit[f].what);
    print_message("\nnext: sbatch kit.sbatch in that folder, then plait calibrate %s/*.csv -o "
                  "accelerator.json --site cluster.json\n",
                  path);
    return PLAIT_OK;
}

/* ---- --runtime: fit of a runtime profile ---- */

/*
 * Reads the profile that a fit changes, or makes an empty one for a variant that has no file yet.
 * The caller frees it.
 */
static plait_status read_profile(const char *name, const char *software, bool variant,
                                 plait_arena *arena, json_document *out, plait_error *err)
{
    const char *path = NULL;

    if (variant) {
        const char *const file = plait_arena_printf(arena, "clusters/runtimes/%s.json", name);

        PLAIT_TRY(plait_check_allocated(file, err));
        PLAIT_TRY(plait_data_file(file, arena, &path, err));
    } else {
        PLAIT_TRY(plait_data_find(PLAIT_DATA_RUNTIMES, name, arena, &path, err));
    }
    if (path != NULL)
        return json_tree_read(path, arena, out, err);
    PLAIT_TRY(json_document_parse("{}", 2, name, arena, out, err));
    if (json_tree_set_text(out->tree, "name", name) &&
        json_tree_set_text(out->tree, "source", "") &&
        json_tree_set_text(out->tree, "variant_of", software))
        return PLAIT_OK;
    json_document_free(out);
    return plait_fail_nomem(err);
}

static plait_status fit_runtime(const char *software, int variant, const char *runs_file,
                                const calibrate_sink *sink, json_tree *tree,
                                plait_pipelines *pipelines, plait_arena *arena, plait_error *err)
{
    profile_result result;
    profile_set set;
    plait_runs runs;
    const char *text;
    size_t length;

    PLAIT_TRY(plait_runs_load(runs_file, arena, &runs, err));
    PLAIT_TRY(profile_set_fit(&runs, software, variant, pipelines, arena, &set, err));
    PLAIT_TRY(profile_fit(&set, software, variant, arena, &result, err));
    FILE *const out = sink->print ? stderr : lines_out();
    table *rows = table_new(result.variant > 0
                                ? "constant|>before|>after|>software|>spread|determined by runs"
                                : "constant|>before|>after|>family|>spread|determined by runs");
    if (result.runs == 0)
        fprintf(out, "%s: no runs\n", result.runtime.name);
    else
        fprintf(out, "%s: %zu runs, mean error %.1f %%, before the fit %.1f %%\n",
                result.runtime.name, result.runs, 100.0 * result.after, 100.0 * result.before);
    for (int i = 0; i < result.numbers; i++) {
        const fit_number *n = &result.number[i];

        TABLE_ROW(rows, as_text(n->key), as_format("%.3g", result.was[i] / n->unit),
                  as_format("%.3g", profile_number(&result, i) / n->unit),
                  as_format("%.3g", result.parent[i] / n->unit),
                  as_format("%.0f %%", 100.0 * expm1(n->spread)),
                  as_text(result.runs > 0 && n->determined ? "yes"
                          : result.variant > 0             ? "no, value of the software"
                                                           : "no, value of the family"));
    }
    PLAIT_TRY(table_print(rows, 0, out, err));
    PLAIT_TRY(profile_apply(&result, tree, arena, err));
    text = json_tree_print(tree, arena, &length);
    PLAIT_TRY(plait_check_allocated(text, err));
    return command_deliver(text, length, sink->path, sink->print, err);
}

static plait_status calibrate_runtime(const char *name, const opt_operands *operands,
                                      const calibrate_sink *sink, plait_arena *arena,
                                      plait_error *err)
{
    const char *software, *when;
    plait_pipelines *pipelines;
    plait_status status;
    json_document profile;

    if (operands->count != 1)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "RUNS.csv",
                          "expected one file of measured steps with --runtime, found %d files",
                          (int)operands->count);
    PLAIT_TRY(runtime_split(name, arena, &software, &when, err));
    const int variant = when != NULL ? runtime_date(when) : 0;
    if (when != NULL && variant == 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, name,
                          "expected a month such as 25.09 after @, found \"%.40s\"", when);
    PLAIT_TRY(read_profile(name, software, variant > 0, arena, &profile, err));
    pipelines = plait_pipelines_new();
    status = pipelines != NULL ? fit_runtime(software, variant, operands->text[0], sink,
                                             profile.tree, pipelines, arena, err)
                               : plait_fail_nomem(err);
    plait_pipelines_free(pipelines);
    json_document_free(&profile);
    return status;
}

static plait_status print_engine(const plait_engine *before, const plait_engine *fitted, FILE *out,
                                 plait_error *err)
{
    table *rows = table_new("constant|>before|>after|determined by runs");
    int n = 0;

    fprintf(out, "%s: %d runs\n", fitted->name, fitted->rows);
#define X(field, word, unit, least, most, assumed)                                                 \
    table_cell(rows, "%s", word);                                                                  \
    table_cell(rows, "%.3g", before->field / (unit));                                              \
    table_cell(rows, "%.3g", fitted->field / (unit));                                              \
    table_cell(rows, "%s", fitted->determined[n++] ? "yes" : "no");
    PLAIT_ENGINE_NUMBERS(X)
#undef X
    return table_print(rows, 0, out, err);
}

/* Writes the file of each profile that has runs into the folder of --output. */
static plait_status write_engines(const plait_serve_runs *runs, const plait_engine *fitted,
                                  const char *folder, plait_arena *arena, plait_error *err)
{
    const char *text;
    size_t length;

    for (size_t e = 0; e < runs->engines; e++) {
        const char *const path = plait_arena_printf(arena, "%s/%s.json", folder, fitted[e].name);

        PLAIT_TRY(plait_check_allocated(path, err));
        if (fitted[e].rows == 0)
            continue;
        PLAIT_TRY(print_engine(&runs->engine[e], &fitted[e], lines_out(), err));
        PLAIT_TRY(engine_write(&fitted[e], arena, &text, &length, err));
        PLAIT_TRY(file_write_atomically(path, text, length, err));
    }
    return PLAIT_OK;
}

static plait_status calibrate_engine(const char *name, const opt_operands *operands,
                                     const calibrate_sink *sink, plait_arena *arena, bool *no,
                                     plait_error *err)
{
    const bool all = strcmp(name, "all") == 0;
    plait_serve_runs runs;
    plait_engine *fitted;
    const char *text;
    size_t length, at = 0;

    if (operands->count != 1)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "RUNS.csv",
                          "expected one file of measured runs with --engine, found %d files",
                          (int)operands->count);
    if (all && sink->path == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "-o",
                          "expected -o DIR, a folder for the profiles of --engine all, found %s",
                          sink->print ? "-" : "nothing");
    PLAIT_TRY(plait_serve_runs_load(operands->text[0], arena, &runs, err));
    while (!all && at < runs.engines && strcmp(runs.engine[at].name, name) != 0)
        at++;
    if (at == runs.engines)
        return plait_fail(err, PLAIT_ERROR_RANGE, "--engine",
                          "expected the name of an engine profile, or all, found '%.40s'", name);
    PLAIT_TRY(engine_fit(&runs, all ? NULL : name, arena, &fitted, err));
    if (all)
        return write_engines(&runs, fitted, sink->path, arena, err);
    *no = fitted[at].rows == 0;
    PLAIT_TRY(print_engine(&runs.engine[at], &fitted[at], sink->print ? stderr : lines_out(), err));
    PLAIT_TRY(engine_write(&fitted[at], arena, &text, &length, err));
    return command_deliver(text, length, sink->path, sink->print, err);
}

/* ---- --evidence: prediction errors by source ---- */

static void show_progress(const char *source, const char *runtime)
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "fitting %s without %s\n", runtime, source);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const calibrate_values *const flags = values;
    calibrate_sink sink = {flags->output, false}, site = {flags->site, false};

    const char *const task[] = {flags->runtime, flags->evidence, flags->log, flags->kit,
                                flags->engine};
    static const char *const name[] = {"--runtime", "--evidence", "--log", "--kit", "--engine"};
    int first = -1;
    for (int i = 0; i < 5; i++) {
        if (task[i] == NULL)
            continue;
        if (first >= 0)
            return plait_fail(err, PLAIT_ERROR_SCHEMA, name[i], "expected %s or %s, found both",
                              name[i], name[first]);
        first = i;
    }
    if (flags->site != NULL && first >= 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--site", "expected --site or %s, found both",
                          name[first]);
    if (flags->output != NULL && flags->kit != NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "-o",
                          "expected -o or --kit, found both: --kit already gives the folder");
    if (flags->force && flags->kit == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--force",
                          "expected --force together with --kit DIR, found no --kit");
    if (flags->plan != NULL && flags->log == NULL)
        return plait_fail(
            err, PLAIT_ERROR_SCHEMA, "--log",
            "expected --log FILE, the training log of the plan in --plan, found nothing");
    if (flags->cluster != NULL && flags->log == NULL && flags->site == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--log",
                          "expected --cluster together with --log or --site, found neither");
    if (flags->kit != NULL)
        return write_kit(flags->kit, operands, flags->force, arena, err);
    if (flags->engine == NULL || strcmp(flags->engine, "all") != 0)
        PLAIT_TRY(command_output(&sink.path, &sink.print, err));
    if (flags->runtime != NULL)
        return calibrate_runtime(flags->runtime, operands, &sink, arena, err);
    if (flags->engine != NULL)
        return calibrate_engine(flags->engine, operands, &sink, arena, no, err);
    if (flags->evidence != NULL) {
        plait_evidence evidence;
        plait_runs measured;
        const char *text;
        size_t length;

        if (operands->count > 0)
            return plait_fail(err, PLAIT_ERROR_SCHEMA, operands->text[0],
                              "expected --evidence without other files, found one");
        PLAIT_TRY(plait_runs_load(flags->evidence, arena, &measured, err));
        PLAIT_TRY(cross_predict(&measured, show_progress, arena, &evidence, err));
        PLAIT_TRY(report_left_out(&evidence, sink.print ? stderr : lines_out(), arena, err));
        PLAIT_TRY(plait_evidence_text(&evidence, arena, &text, &length, err));
        return command_deliver(text, length, sink.path, sink.print, err);
    }
    if (flags->log != NULL)
        return calibrate_steps(flags->log, flags->plan, flags->cluster, operands, &sink, arena,
                               err);
    PLAIT_TRY(command_output(&site.path, &site.print, err));
    if (sink.print && site.print)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--site",
                          "expected a file, since -o - already uses standard output, found -");
    return calibrate_kernels(
        &(calibrate_kernels_task){flags->accelerator, flags->cluster, sink, site}, operands, arena,
        no, err);
}

const command command_calibrate = {
    .usage = {.command = "calibrate",
              .synopsis =
                  "--kit DIR [--force] | "
                  "KERNELS.csv... [--accelerator NAME] -o accelerator.json "
                  "[--site cluster.json [--cluster CLUSTER]] | "
                  "--log RUNS.csv --cluster CLUSTER -o cluster.json | "
                  "--log RUN.log --plan FILE[:RANK] [--cluster CLUSTER] -o cluster.json | "
                  "--runtime NAME RUNS.csv -o runtime.json | --evidence RUNS.csv -o evidence.csv | "
                  "--engine NAME RUNS.csv -o engine.json",
              .summary = "Fit the constants of an accelerator, or of a cluster, to measurements.",
              .about = "KERNELS.csv is a table with one of the headers in "
                       "clusters/measurements/README.md, or "
                       "the\noutput of nccl-tests. Exit status 1 when there is nothing to fit.",
              .max_operands = OPT_MAX_OPERANDS,
              .options = options},
    .values_size = sizeof(calibrate_values),
    .run = run,
};
