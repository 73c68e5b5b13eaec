/* cmd_clusters.c - plait clusters: the lists, or one cluster with its derived numbers */
#include <stdio.h>

#include "io/cluster/cluster_write.h"
#include "cli/command.h"
#include "io/data_private.h"
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
    const char *text;
    size_t length;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    json_member_version(&json);
    json_write_key(&json, "clusters");
    json_begin_array(&json);
    for (size_t i = 0; i < clusters; i++)
        cluster_write(&json, &cluster[i]);
    json_end_array(&json);
    json_write_key(&json, "graphs");
    json_begin_array(&json);
    for (size_t i = 0; i < clusters; i++)
        report_graphs_write(&json, &cluster[i]);
    json_end_array(&json);
    json_write_key(&json, "accelerators");
    json_begin_array(&json);
    for (size_t i = 0; i < accelerators; i++)
        accelerator_write(&json, &accelerator[i]);
    json_end_array(&json);
    json_end_object(&json);
    PLAIT_TRY(json_writer_finish(&json, &text, &length, err));
    return command_deliver(text, length, NULL, true, err);
}

static plait_status show(const clusters_values *flags, const char *name, plait_arena *arena,
                         plait_error *err)
{
    plait_cluster cluster;

    PLAIT_TRY(plait_cluster_find(name, arena, &cluster, err));
    if (flags->json)
        return print_json(&cluster, 1, NULL, 0, arena, err);
    return report_cluster(&cluster, lines_out(), err);
}

static plait_status load_clusters(plait_arena *arena, plait_cluster **out, size_t *count,
                                  plait_error *err)
{
    const char *const *names;

    PLAIT_TRY(plait_data_list(PLAIT_DATA_CLUSTERS, arena, &names, count, err));
    if (*count == 0)
        return data_fail_nothing(PLAIT_DATA_CLUSTERS, "clusters", arena, err);
    *out = plait_arena_alloc(arena, *count, sizeof **out);
    if (*out == NULL)
        return plait_fail_nomem(err);
    for (size_t i = 0; i < *count; i++) {
        PLAIT_TRY(plait_cluster_find(names[i], arena, &(*out)[i], err));
        (*out)[i].name = names[i];
    }
    return PLAIT_OK;
}

static plait_status load_accelerators(plait_arena *arena, plait_accelerator **out, size_t *count,
                                      plait_error *err)
{
    const char *const *names;

    PLAIT_TRY(plait_data_list(PLAIT_DATA_ACCELERATORS, arena, &names, count, err));
    *out = plait_arena_alloc(arena, *count, sizeof **out);
    if (*out == NULL)
        return plait_fail_nomem(err);
    for (size_t i = 0; i < *count; i++) {
        PLAIT_TRY(plait_accelerator_find(names[i], arena, &(*out)[i], err));
        (*out)[i].name = names[i];
    }
    return PLAIT_OK;
}

static plait_status list(const clusters_values *flags, plait_arena *arena, plait_error *err)
{
    plait_cluster *clusters;
    plait_accelerator *accelerators;
    size_t cluster_count, accelerator_count;

    PLAIT_TRY(load_clusters(arena, &clusters, &cluster_count, err));
    PLAIT_TRY(load_accelerators(arena, &accelerators, &accelerator_count, err));
    if (flags->json)
        return print_json(clusters, cluster_count, accelerators, accelerator_count, arena, err);
    return report_clusters(clusters, cluster_count, accelerators, accelerator_count, lines_out(),
                           err);
}

static plait_status run(const void *values, const opt_operands *operands, plait_arena *arena,
                        bool *no, plait_error *err)
{
    (void)no;
    return operands->count > 0 ? show(values, operands->text[0], arena, err)
                               : list(values, arena, err);
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
