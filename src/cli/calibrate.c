/*
 * calibrate.c - plait calibrate: fits an accelerator and the network of its cluster to tables of
 * kernels, and a cluster to the measured steps of a site
 */
#include "cli/calibrate.h"

#include <stdio.h>

#include "calibrate/calibrate.h"
#include "io/cluster/cluster_file.h"
#include "cli/command.h"
#include "report/lines.h"
#include "calibrate/network.h"
#include "plait/data.h"
#include "report/report_table.h"
#include "base/text.h"
#include "cli/plan_request.h"
#include "cli/imported.h"
#include "cli/terminal.h"
#include "calibrate/site.h"
#include "report/units.h"

/* ---- fits of an accelerator ---- */

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
    table *rows = table_new(
        "constants|>samples|>error|>held out|>held out, large|measured on|not determined");

    for (int b = 0; b < result->blocks; b++) {
        const calibrate_block *block = &result->block[b];
        text_builder list;

        text_builder_init(&list, arena);
        for (int i = 0; i < block->numbers; i++) {
            const fit_number *n = &block->number[i];

            if (n->key == NULL || n->determined)
                continue;
            text_append_printf(&list, "%s%s", list.length > 0 ? ", " : "", n->key);
            if (n->element >= 0)
                text_append_printf(&list, "[%d]", n->element);
        }
        const char *missing = text_builder_finish(&list, NULL);

        if (missing == NULL) {
            table_free(rows);
            return plait_fail_nomem(err);
        }
        TABLE_ROW(rows, as_text(block->name), as_int(block->errors.points));
        error_cell(rows, block->errors.fitted);
        error_cell(rows, block->errors.held);
        error_cell(rows, block->errors.held_large);
        table_cell(rows, "%s%s%s", block->stands_in != NULL ? block->stands_in : "",
                   block->stands_in != NULL ? ", " : "", block->source);
        table_cell(rows, "%s",
                   !block->used         ? "not used, error too large"
                   : missing[0] != '\0' ? missing
                                        : "-");
    }
    fprintf(out, "%s\n", result->name);
    return table_print(rows, 0, out, err);
}

/* ---- fits of a cluster ---- */

static bool wants_cluster(const calibrate_kernels_task *task)
{
    return task->cluster_sink.path != NULL || task->cluster_sink.print;
}

/*
 * Make the accelerator's default node and NICs, with the measured number of GPUs per node and
 * without a number of nodes.
 */
static plait_status default_cluster(const char *name, const plait_accelerator *accelerator,
                                    const point_list *points, plait_arena *arena,
                                    plait_cluster *out, plait_error *err)
{
    const int node = network_shape_of(accelerator->name, points).gpus_per_node;
    const char *const text = node == 0 || node == accelerator->gpus_per_node
                                 ? name
                                 : plait_arena_printf(arena, "%s:1x%d", name, node);

    PLAIT_TRY(plait_check_allocated(text, err));
    PLAIT_TRY(plait_cluster_synthetic(text, arena, out, err));
    out->group[0].nodes = 0;
    out->gpus = 0;
    out->name = plait_arena_printf(arena, "%s-site", accelerator->name);
    return out->name != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

/*
 * Fit the links between nodes of the fitted accelerator if the cluster is requested or the tables
 * have measurements between nodes.
 *
 * @param name  name or path of the accelerator
 */
static plait_status fit_network(const calibrate_kernels_task *task, const char *name,
                                const calibrate_result *result, const point_list *points,
                                plait_arena *arena, network_result *out, plait_error *err)
{
    plait_accelerator *const accelerator = plait_arena_alloc(arena, 1, sizeof *accelerator);
    plait_cluster cluster;

    *out = (network_result){0};
    if (!wants_cluster(task) && network_shape_of(result->name, points).nodes == 0)
        return PLAIT_OK;
    PLAIT_TRY(plait_check_allocated(accelerator, err));
    PLAIT_TRY(plait_accelerator_parse(result->text, result->length, result->name, arena,
                                      accelerator, err));
    PLAIT_TRY(task->cluster != NULL
                  ? plait_cluster_find(task->cluster, arena, &cluster, err)
                  : default_cluster(name, accelerator, points, arena, &cluster, err));
    if (cluster.groups > 1 || !text_equal(cluster.group[0].accelerator->name, result->name))
        return plait_fail(err, PLAIT_ERROR_RANGE, "--cluster",
                          "expected a cluster of only %s, found one of %s%s", result->name,
                          cluster.group[0].accelerator->name,
                          cluster.groups > 1 ? " and others" : "");
    cluster.group[0].accelerator = accelerator;
    return network_fit(&cluster, points, arena, out, err);
}

plait_status calibrate_kernels(const calibrate_kernels_task *task, const opt_operands *operands,
                               plait_arena *arena, bool *no, plait_error *err)
{
    FILE *const out =
        task->accelerator_sink.print || task->cluster_sink.print ? stderr : lines_out();
    network_result network;
    calibrate_result result;
    point_list points;
    const char *name, *text;
    json_writer json;
    size_t length;

    if (operands->count == 0)
        return plait_fail(err, PLAIT_ERROR_SCHEMA, "KERNELS.csv",
                          "expected a file of measurements, found none");
    points_init(&points, arena);
    for (int i = 0; i < operands->count; i++)
        PLAIT_TRY(points_read(operands->text[i], arena, &points, err));
    PLAIT_TRY(calibrate_name(task->accelerator, &points, &name, err));
    PLAIT_TRY(calibrate_accelerator(name, &points, arena, &result, err));
    PLAIT_TRY(fit_network(task, name, &result, &points, arena, &network, err));
    *no = result.blocks == 0 && network.errors.points == 0;
    if (*no) {
        fprintf(out,
                "%s: the files have no measurements of this accelerator, or too few to fit any "
                "constant\n",
                result.name);
        return PLAIT_OK;
    }
    PLAIT_TRY(print_fits(&result, out, arena, err));
    const fit_errors *const errors = &network.errors;
    if (errors->points != 0) {
        fprintf(out,
                "\nlinks between nodes: %d collectives and sends, error %.1f %% on %d held out%s\n",
                errors->points, 100.0 * errors->held, errors->held_out,
                network.used ? "" : ", not used, error too large");
        for (int i = 0; i < NETWORK_NUMBERS; i++)
            fprintf(out, "  %s %.3g%s\n", network.number[i].key,
                    network.value[i] / network.number[i].unit,
                    network.number[i].determined ? "" : ", not determined");
        if (network.at_wire)
            fprintf(
                out,
                "the measured rate reaches the network rate of %s; if the network is faster, give "
                "--cluster ACCELERATOR:NODESxGPUS,nic=GBPS\n",
                network.cluster->name);
    }
    PLAIT_TRY(command_deliver(result.text, result.length, task->accelerator_sink.path,
                              task->accelerator_sink.print, err));
    if (!wants_cluster(task))
        return PLAIT_OK;
    plait_cluster cluster = *network.cluster;
    const char *const what =
        network.used ? plait_arena_printf(arena, "links between nodes fitted to %d collectives",
                                          network.errors.points)
                     : "links between nodes are not measured";
    PLAIT_TRY(plait_check_allocated(what, err));
    cluster.source = plait_arena_printf(arena, "%s%splait calibrate: %s", cluster.source,
                                        cluster.source[0] != '\0' ? "; " : "", what);
    PLAIT_TRY(plait_check_allocated(cluster.source, err));
    json_writer_init(&json, arena);
    cluster_write(&json, &cluster);
    PLAIT_TRY(json_writer_finish(&json, &text, &length, err));
    return command_deliver(text, length, task->cluster_sink.path, task->cluster_sink.print, err);
}

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

/*
 * Error after a fit above which a warning is printed. Chosen: before any fit, sources with a dozen
 * or more published runs have errors of 2 to 15 %.
 */
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

/*
 * Scale the cluster to one training log, which has the step time; the file `path` has the plan and
 * its problem.
 */
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
            "expected the cluster that ran the plan, since %.80s does not state it, found nothing",
            plan);
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
                          "expected --log without KERNELS.csv, found this file");
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
        print_warning(
            "%s: predicted and measured steps still differ by %.0f %%, more than slow kernels "
            "and links explain; check %s",
            log, 100.0 * result.after,
            plan == NULL ? "gbs, seq_len, gpus and runtime of the rows, and that step_time_s is "
                           "in seconds"
                         : "that this is the log of the plan");
    PLAIT_TRY(calibrate_write_site(&result, arena, &text, &length, err));
    return command_deliver(text, length, sink->path, sink->print, err);
}
