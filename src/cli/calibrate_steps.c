/* calibrate_steps.c - plait calibrate --log: scales a cluster to a site's measured steps */
#include "cli/calibrate.h"

#include <stdio.h>

#include "cli/plan_request.h"
#include "io/cluster/cluster_file.h"
#include "cli/command.h"
#include "report/lines.h"
#include "cli/imported.h"
#include "plait/data.h"
#include "cli/terminal.h"
#include "report/report_table.h"
#include "calibrate/site.h"
#include "base/text.h"
#include "report/units.h"

plait_status calibrate_print_site(const site_result *result, FILE *out, plait_error *err)
{
    table *rows = table_new("run|>measured|>before|>error|>after|>error");

    for (size_t i = 0; i < result->runs; i++) {
        const site_run *r = &result->run[i];

        TABLE_ROW(rows, as_text(r->name), as_seconds(r->measured_s), as_seconds(r->before_s),
                  as_format("%+.1f %%", 100.0 * (r->before_s / r->measured_s - 1.0)),
                  as_seconds(r->after_s),
                  as_format("%+.1f %%", 100.0 * (r->after_s / r->measured_s - 1.0)));
    }
    PLAIT_TRY(table_print(rows, 0, out, err));
    fprintf(out, "\n");
    fprintf(out, "compute efficiency x %.3g%s\n", result->compute,
            result->compute_determined ? "" : ", not determined");
    fprintf(out, "network efficiency x %.3g%s\n", result->network,
            result->network_determined ? "" : ", not determined");
    fprintf(out, "mean error %.1f %% before, %.1f %% after\n", 100.0 * result->before,
            100.0 * result->after);
    if (result->skipped != NULL)
        fprintf(out, "some runs could not be priced; reason of the first: %s\n", result->skipped);
    return PLAIT_OK;
}

plait_status calibrate_write_site(const site_result *result, plait_arena *arena, const char **text,
                                  size_t *length, plait_error *err)
{
    plait_cluster cluster = *result->cluster;
    json_writer json;

    cluster.source = plait_arena_printf(
        arena, "%s%sscaled to %zu measured runs: compute x %.3g, network x %.3g", cluster.source,
        cluster.source[0] != '\0' ? "; " : "", result->runs, result->compute, result->network);
    PLAIT_TRY(plait_check_allocated(cluster.source, err));
    json_writer_init(&json, arena);
    cluster_write(&json, &cluster);
    return json_writer_finish(&json, text, length, err);
}

/* Chosen: before any fit, sources of a dozen published runs and more are 2 to 15 % off. */
static const double unexplained = 0.25;

static plait_status scale_to_runs(const char *path, const char *cluster_name,
                                  const fit_watch *watch, plait_arena *arena, site_result *out,
                                  plait_error *err)
{
    plait_cluster cluster;
    plait_runs runs;

    if (cluster_name == NULL)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--cluster",
                          "expected the cluster of the steps in --log, found nothing");
    PLAIT_TRY(plait_cluster_find(cluster_name, arena, &cluster, err));
    PLAIT_TRY(plait_runs_load(path, arena, &runs, err));
    return site_scale(&cluster, &runs, watch, arena, out, err);
}

/* The log gives the step time; the file gives the plan and its problem. */
static plait_status scale_to_log(const char *path, const char *plan, const char *cluster_name,
                                 const fit_watch *watch, plait_arena *arena, site_result *out,
                                 plait_error *err)
{
    plait_cluster cluster;
    plans_entry entry;
    plan_request question;
    step_log log;
    site_step step = {.name = path};

    PLAIT_TRY(plans_load(plan, arena, &entry, err));
    if (cluster_name != NULL) {
        PLAIT_TRY(plait_cluster_find(cluster_name, arena, &cluster, err));
        entry.cluster = &cluster;
    }
    if (entry.cluster == NULL)
        return plait_fail(
            err, PLAIT_ERROR_SCHEMA, "--cluster",
            "expected the cluster that ran the plan, since %.80s has none, found nothing", plan);
    if (entry.model == NULL || entry.seq == 0 || entry.gbs == 0 || entry.gpus == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, entry.where,
                          "expected a plan with model, seq, gbs and gpus, found one without; "
                          "`plait eval --plan FILE ... -o WHOLE.json` adds them");
    PLAIT_TRY(plan_request_from_entry(NULL, &entry, arena, &question, err));
    if (question.plan.verdict == PLAIT_INVALID)
        return plait_fail(err, PLAIT_ERROR_RANGE, entry.where,
                          "expected a plan that can run, found: %s", question.plan.why);
    step.problem = question.problem;
    step.degrees = question.plan.degrees;
    PLAIT_TRY(measured_log_read(path, &step.problem, arena, &log, &step.measured_s, err));
    return site_scale_steps(entry.cluster, &step, 1, watch, arena, out, err);
}

plait_status calibrate_steps(const char *log, const char *plan, const char *cluster_name,
                             const opt_operands *operands, const calibrate_sink *sink,
                             plait_arena *arena, plait_error *err)
{
    progress shown = progress_of(1, "fitting");
    const fit_watch watch = {progress_show, &shown};
    site_result result;
    step_log read;
    const char *text;
    size_t length;

    if (operands->count > 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, operands->text[0],
                          "expected --log without tables of kernels, found one");
    // A table has the plan of each row; a training log needs --plan.
    if (plan == NULL && !text_ends_with(log, ".csv") &&
        step_log_load(log, arena, &read, NULL) == PLAIT_OK)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "--plan",
                          "expected FILE[:RANK], the plan whose log is %.80s, found nothing", log);
    const plait_status status =
        plan != NULL ? scale_to_log(log, plan, cluster_name, &watch, arena, &result, err)
                     : scale_to_runs(log, cluster_name, &watch, arena, &result, err);
    progress_clear(&shown);
    PLAIT_TRY(status);
    PLAIT_TRY(calibrate_print_site(&result, sink->print ? stderr : lines_out(), err));
    if (result.after > unexplained)
        print_warning("%s: the steps still differ by %.0f %%, more than slow kernels and links "
                      "explain; check %s",
                      log, 100.0 * result.after,
                      plan == NULL
                          ? "gbs, seq_len, gpus and runtime of the rows, and that step_time_s is "
                            "in seconds"
                          : "that this is the log of the plan");
    PLAIT_TRY(calibrate_write_site(&result, arena, &text, &length, err));
    return command_deliver(text, length, sink->path, sink->print, err);
}
