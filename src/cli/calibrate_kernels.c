/*
 * calibrate_kernels.c - plait calibrate KERNELS.csv...: an accelerator and the network of its
 * cluster
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

/* ---- an accelerator ---- */

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
    table *rows =
        table_new("constants|>points|>error|>held out|>held out, large|measured on|not determined");

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

/* ---- the cluster ---- */

static bool wants_cluster(const calibrate_kernels_task *task)
{
    return task->cluster_sink.path != NULL || task->cluster_sink.print;
}

/*
 * The accelerator's default node and NICs, with as many GPUs per node as were measured and without
 * a size.
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
 * Fit the links between nodes of the fitted accelerator, if the cluster is requested or nodes were
 * measured.
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
                "%s: the files have no measurements of this accelerator, or too few of a kind\n",
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
