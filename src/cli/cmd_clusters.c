/*
 * cmd_clusters.c - plait clusters: lists clusters and accelerators, or shows one cluster with
 * numbers derived from its data
 */

#include "io/cluster/cluster_file.h"
#include "cli/command.h"
#include "io/data/data.h"
#include "io/json/json_write.h"
#include "plait/data.h"
#include "report/lines.h"
#include "report/report.h"

typedef struct clusters_values {
    bool json;
} clusters_values;

static const opt options[] = {
    OPT_HEADING("options"),
    OPT_OF_FLAG(clusters_values, json, "json", "one JSON document on standard output"),
    OPT_END,
};

static plait_status print_json(const plait_cluster *cluster, size_t clusters,
                               const plait_accelerator *accelerator, size_t accelerators,
                               plait_arena *arena, plait_error *err)
{
    json_writer json;

    command_begin_json(&json, arena);
    json_member_version(&json);
    json_member_array(&json, "clusters");
    for (size_t i = 0; i < clusters; i++)
        cluster_write(&json, &cluster[i]);
    json_end_array(&json);
    json_member_array(&json, "graphs");
    for (size_t i = 0; i < clusters; i++)
        report_graphs_write(&json, &cluster[i]);
    json_end_array(&json);
    json_member_array(&json, "accelerators");
    for (size_t i = 0; i < accelerators; i++)
        accelerator_write(&json, &accelerator[i]);
    json_end_array(&json);
    return command_deliver_json(&json, NULL, true, err);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    const clusters_values *const flags = values;
    const char *const *names, *const *gpu_names;
    plait_cluster *cluster, one;
    plait_accelerator *accelerator;
    size_t count, gpus;

    (void)no;
    if (operands->count > 0) {
        PLAIT_TRY(plait_cluster_find(operands->text[0], arena, &one, err));
        return flags->json ? print_json(&one, 1, NULL, 0, arena, err)
                           : report_cluster(&one, lines_out(), err);
    }
    PLAIT_TRY(plait_data_list(PLAIT_DATA_CLUSTERS, arena, &names, &count, err));
    if (count == 0)
        return data_fail_empty(PLAIT_DATA_CLUSTERS, "clusters", arena, err);
    PLAIT_TRY(plait_data_list(PLAIT_DATA_ACCELERATORS, arena, &gpu_names, &gpus, err));
    cluster = plait_arena_alloc(arena, count, sizeof *cluster);
    accelerator = plait_arena_alloc(arena, gpus, sizeof *accelerator);
    PLAIT_TRY(plait_check_allocated(cluster && accelerator, err));
    for (size_t i = 0; i < count; i++) {
        PLAIT_TRY(plait_cluster_find(names[i], arena, &cluster[i], err));
        cluster[i].name = names[i];
    }
    for (size_t i = 0; i < gpus; i++) {
        PLAIT_TRY(plait_accelerator_find(gpu_names[i], arena, &accelerator[i], err));
        accelerator[i].name = gpu_names[i];
    }
    return flags->json ? print_json(cluster, count, accelerator, gpus, arena, err)
                       : report_clusters(cluster, count, accelerator, gpus, lines_out(), err);
}

const command command_clusters = {
    .usage = {.command = "clusters",
              .synopsis = "[NAME]",
              .summary = "List clusters and accelerators, or show one: rates, collectives.",
              .about = "NAME may also be the path of a cluster file, an accelerator, or "
                       "ACCELERATOR:NODESxGPUS.",
              .max_operands = 1,
              .operand = {OPT_NAMES(PLAIT_DATA_CLUSTERS)},
              .options = options},
    .values_size = sizeof(clusters_values),
    .run = run,
};
