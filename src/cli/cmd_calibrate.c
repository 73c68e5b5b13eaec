/* cmd_calibrate.c - plait calibrate: constants of an accelerator or a cluster from measurements */
#include "cli/calibrate_engine.h"
#include "cli/calibrate_evidence.h"
#include "cli/calibrate_kernels.h"
#include "cli/calibrate_kit.h"
#include "cli/calibrate_runtime.h"
#include "cli/calibrate_steps.h"
#include "cli/command.h"
#include "plait/data.h"

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
    OPT_OF_TEXT(calibrate_values, kit, "kit", 0, "DIR",
                "write benchmarks to run on a site to a folder, new or empty"),
    OPT_OF_FLAG(calibrate_values, force, "force", "write into a folder that has files"),
    OPT_HEADING("kernels and links"),
    OPT_OF_WORD(calibrate_values, accelerator, "accelerator", "NAME",
                OPT_NAMES(PLAIT_DATA_ACCELERATORS),
                "the accelerator that was measured; by default the one that the tables name"),
    OPT_HEADING("a site's own steps"),
    OPT_OF_TEXT(
        calibrate_values, log, "log", 0, "FILE",
        "measured steps of a few plans, RUNS.csv, or the training log of the one of --plan"),
    OPT_OF_TEXT(calibrate_values, plan, "plan", 0, "FILE[:RANK]",
                "the plan that ran, of a file that `plait search -o` or `plait import -o` wrote"),
    OPT_OF_WORD(
        calibrate_values, cluster, "cluster", "CLUSTER", OPT_NAMES(PLAIT_DATA_CLUSTERS),
        "the cluster they ran on, by default the plan's; of measured kernels and links, too"),
    OPT_HEADING("a piece of software"),
    OPT_OF_WORD(calibrate_values, runtime, "runtime", "NAME", OPT_NAMES(PLAIT_DATA_RUNTIMES),
                "fit this runtime profile, or NAME@YY.MM of releases up to a month, to measured "
                "steps, RUNS.csv"),
    OPT_OF_TEXT(calibrate_values, evidence, "evidence", 0, "RUNS.csv",
                "predict each source of these steps by profiles fitted without it"),
    OPT_OF_WORD(calibrate_values, engine, "engine", "NAME", OPT_NAMES(PLAIT_DATA_ENGINES),
                "fit this profile of a serving engine to measured runs of serving, RUNS.csv"),
    OPT_HEADING("the answer"),
    OPT_OF_TEXT(calibrate_values, output, "output", 'o', "FILE",
                "write what was fitted to FILE; - is standard output"),
    OPT_OF_TEXT(calibrate_values, site, "site", 0, "FILE",
                "write the cluster of measured kernels and links to FILE, with its accelerator"),
    OPT_END,
};

/* What is done: one thing at a time. */
static plait_status check_task(const calibrate_values *flags, plait_error *err)
{
    const char *const task[] = {flags->runtime, flags->evidence, flags->log, flags->kit,
                                flags->engine};
    static const char *const name[] = {"--runtime", "--evidence", "--log", "--kit", "--engine"};
    int first = -1;

    for (int i = 0; i < 5; i++) {
        if (task[i] == NULL)
            continue;
        if (first >= 0)
            return plait_fail(err, PLAIT_ERROR_SCHEMA, name[i],
                              "expected no %s beside %s, found both", name[i], name[first]);
        first = i;
    }
    if (flags->site != NULL && first >= 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--site",
                          "expected no --site beside %s, found both", name[first]);
    if (flags->output != NULL && flags->kit != NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "-o",
                          "expected no -o beside --kit, which names its folder, found both");
    if (flags->force && flags->kit == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--force",
                          "expected the folder of --kit beside it, found nothing");
    if (flags->plan != NULL && flags->log == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--log",
                          "expected the training log of --plan, found nothing");
    if (flags->cluster != NULL && flags->log == NULL && flags->site == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--log",
                          "expected the measured steps of --cluster, or the file of --site, found "
                          "nothing");
    return PLAIT_OK;
}

static plait_status fit_kernels(const calibrate_values *flags, const opt_operands *operands,
                                const calibrate_sink *sink, plait_arena *arena, bool *no,
                                plait_error *err)
{
    calibrate_kernels_task task = {
        .accelerator = flags->accelerator,
        .cluster = flags->cluster,
        .accelerator_sink = *sink,
        .cluster_sink = {flags->site, false},
    };

    PLAIT_TRY(command_output(&task.cluster_sink.path, &task.cluster_sink.print, err));
    if (sink->print && task.cluster_sink.print)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--site",
                          "expected a file beside -o -, found - too");
    return calibrate_kernels(&task, operands, arena, no, err);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const calibrate_values *const flags = values;
    calibrate_sink sink = {flags->output, false};

    PLAIT_TRY(check_task(flags, err));
    if (flags->kit != NULL)
        return calibrate_kit(flags->kit, operands, flags->force, arena, err);
    PLAIT_TRY(command_output(&sink.path, &sink.print, err));
    if (flags->runtime != NULL)
        return calibrate_runtime(flags->runtime, operands, &sink, arena, err);
    if (flags->engine != NULL)
        return calibrate_engine(flags->engine, operands, &sink, arena, no, err);
    if (flags->evidence != NULL)
        return calibrate_evidence(flags->evidence, operands, &sink, arena, err);
    if (flags->log != NULL)
        return calibrate_steps(flags->log, flags->plan, flags->cluster, operands, &sink, arena,
                               err);
    return fit_kernels(flags, operands, &sink, arena, no, err);
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
              .about = "Tables are told apart by their header, nccl-tests output by its content; "
                       "clusters/measurements/README.md\ndescribes them. Exit status 1 when there "
                       "is nothing to fit.",
              .max_operands = OPT_MAX_OPERANDS,
              .options = options},
    .values_size = sizeof(calibrate_values),
    .run = run,
};
