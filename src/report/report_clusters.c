/*
 * report_clusters.c - prints lists of clusters and accelerators, and one cluster with its links and
 * collectives
 */
#include "report/report.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "report/report_table.h"
#include "report/units.h"

plait_status report_clusters(const plait_cluster *cluster, size_t clusters,
                             const plait_accelerator *accelerator, size_t accelerators, FILE *out,
                             plait_error *err)
{
    table *rows = table_new("cluster|accelerator|>GPUs per node|>nodes|>domain GPUs|"
                            ">rate inside|>rate outside");
    for (size_t i = 0; i < clusters; i++) {
        const plait_cluster *const c = &cluster[i];
        const plait_node_group *const group = &c->group[0];

        table_cell(rows, "%s", c->name);
        table_cell(rows, "%s%s", group->accelerator->name, c->groups > 1 ? ", ..." : "");
        TABLE_ROW(rows, as_int(group->gpus_per_node),
                  group->nodes > 0 ? as_int(group->nodes) : as_text("any"),
                  c->level[0].gpus < INT_MAX ? as_int(c->level[0].gpus) : as_text("all"),
                  as_rate(c->level[0].link.bytes_per_s, "B/s"),
                  c->levels > 1 ? as_rate(c->level[1].link.bytes_per_s, "B/s") : as_text("-"));
    }
    PLAIT_TRY(table_print(rows, 0, out, err));
    fputc('\n', out);
    table *gpus = table_new("accelerator|>memory|>HBM|>bf16|>fp8|>scale-up|constants");
    for (size_t i = 0; i < accelerators; i++) {
        const plait_accelerator *const a = &accelerator[i];

        TABLE_ROW(
            gpus, as_text(a->name), as_gib(a->memory_bytes), as_rate(a->hbm_bytes_per_s, "B/s"),
            as_rate(a->peak_flops_per_s[PLAIT_BF16], "FLOP/s"),
            a->peak_flops_per_s[PLAIT_FP8] > 0.0 ? as_rate(a->peak_flops_per_s[PLAIT_FP8], "FLOP/s")
                                                 : as_text("-"),
            as_rate(a->scale_up_bytes_per_s, "B/s"),
            as_text(a->gemm[PLAIT_BF16].measured ? "measured" : "defaults"));
    }
    PLAIT_TRY(table_print(gpus, 0, out, err));
    fputs("\nA synthetic cluster is ACCELERATOR:NODESxGPUS, such as h100-80gb-sxm:64x8.\n", out);
    return PLAIT_OK;
}

/* ---- one cluster ---- */

static const char *origin_text(bool measured)
{
    return measured ? "measured" : "default";
}

static plait_status print_accelerator(const plait_node_group *group, FILE *out, plait_error *err)
{
    const plait_accelerator *const a = group->accelerator;
    char memory[UNITS_SIZE], hbm[UNITS_SIZE];

    fprintf(out, "\n%s, %d a node", a->name, group->gpus_per_node);
    if (group->nodes > 0)
        fprintf(out, ", %d nodes", group->nodes);
    fprintf(out, ": %s at %s", units_gib(a->memory_bytes, memory),
            units_rate(a->hbm_bytes_per_s, "B/s", hbm));
    if (a->power_w > 0.0)
        fprintf(out, ", %.0f W", a->power_w);
    if (a->usd_per_hour > 0.0)
        fprintf(out, ", %.2f USD an hour", a->usd_per_hour);
    fprintf(out, "\n  kernels: attention %s, memory-bound %s, collectives %s\n",
            origin_text(a->attention[PLAIT_ATTENTION_FLASH2].measured ||
                        a->attention[PLAIT_ATTENTION_FLASH3].measured ||
                        a->attention[PLAIT_ATTENTION_FUSED].measured),
            origin_text(a->memory_op_measured),
            origin_text(a->collective[PLAIT_ALL_REDUCE].measured));
    table *rows = table_new("precision|>dense peak|>ridge, FLOP/byte|>best GEMM|constants");

    for (int p = 0; p < PLAIT_PRECISIONS; p++) {
        const double peak = a->peak_flops_per_s[p];

        if (peak <= 0.0)
            continue;
        TABLE_ROW(rows, as_text(plait_precision_name[p]), as_rate(peak, "FLOP/s"),
                  as_format("%.0f", plait_ridge_flops_per_byte(peak, a->hbm_bytes_per_s)),
                  as_percent(a->gemm[p].emax), as_text(origin_text(a->gemm[p].measured)));
    }
    return table_print(rows, 2, out, err);
}

static void graph_row(const char *name, const plait_graph *graph, bool whole, table *rows)
{
    table_cell(rows, "%s", name);
    if (graph->nodes < 2.0) { // the cluster's size is not fixed
        table_cell(rows, "any");
        for (int i = 0; i < 4; i++)
            table_cell(rows, "-");
        return;
    }
    TABLE_ROW(rows, whole ? as_format("%.0f GPUs", graph->nodes) : as_format("%.0f", graph->nodes),
              as_format("%.0f", graph->links), as_rate(graph->bisection_bytes_per_s, "B/s"),
              as_format("%.0f", graph->diameter), as_format("%.3g", graph->mean_hops));
}

/* ---- times of collectives ---- */

static void collective_row(const plait_cluster *cluster, plait_collective_op op, int ranks,
                           table *rows)
{
    static const double sizes[] = {1e6, 64e6, 1e9};
    static const plait_network neutral = {.nic = 1.0};
    const plait_group_shape group = {.ranks = ranks, .runs = 1, .run = {{ranks, 1}}};
    const plait_route route = plait_route_of(cluster, group);
    char text[UNITS_SIZE];
    double seconds = 0.0;

    TABLE_ROW(rows, as_text(plait_collective_name[op]), as_int(ranks));
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        seconds = plait_collective_s(&route, neutral, op, sizes[s]);
        table_cell(rows, "%s", units_seconds(seconds, text));
    }
    table_cell(rows, "%s", units_rate(1e9 / seconds * plait_bus_factor(op, ranks), "B/s", text));
}

static plait_status print_collectives(const plait_cluster *cluster, FILE *out, plait_error *err)
{
    table *rows = table_new("collective|>GPUs|>1 MB|>64 MB|>1 GB|>bus bandwidth at 1 GB");
    plait_cluster sized = *cluster;
    char why[256] = "";
    int size[3];
    // Print collectives of a node, of a scale-up domain if it is larger, and of twice the larger of
    // the two.
    const int node = cluster->group[0].gpus_per_node;
    const int domain = cluster->level[0].gpus;
    int sizes = 0, largest = node;
    if (node > 1)
        size[sizes++] = node;
    if (domain > node && domain <= 4096) {
        size[sizes++] = domain;
        largest = domain;
    }
    if (cluster->levels > 1 || domain > largest)
        size[sizes++] = 2 * largest;

    for (int i = 0; i < sizes; i++) {
        if (!plait_cluster_priced(cluster, size[i], why, sizeof why))
            continue;
        sized.gpus = size[i];
        collective_row(&sized, PLAIT_ALL_REDUCE, size[i], rows);
        collective_row(&sized, PLAIT_ALL_GATHER, size[i], rows);
    }
    PLAIT_TRY(table_print(rows, 2, out, err));
    if (why[0] != '\0')
        fprintf(out, "note: %s\n", why);
    return PLAIT_OK;
}

plait_status report_cluster(const plait_cluster *cluster, FILE *out, plait_error *err)
{
    fprintf(out, "%s\n%s\n", cluster->name, cluster->source);
    for (int g = 0; g < cluster->groups; g++)
        PLAIT_TRY(print_accelerator(&cluster->group[g], out, err));
    fputs("\nlinks from the accelerator outwards, bandwidth in one direction:\n", out);
    table *levels = table_new("level|kind|>joins|>per GPU|>efficiency|>latency|>oversubscribed");
    for (int l = 0; l < cluster->levels; l++) {
        const plait_level *const level = &cluster->level[l];

        table_cell(levels, "%s", level->name);
        // Print the sides of a grid, as in "torus 4x8"; in "4x8-" the second axis has no
        // wrap-around link.
        const bool sides = level->kind == PLAIT_LEVEL_MESH || level->kind == PLAIT_LEVEL_TORUS;
        char kind[96];
        size_t length =
            (size_t)snprintf(kind, sizeof kind, "%s", plait_level_kind_name[level->kind]);

        for (int a = 0; sides && a < PLAIT_MAX_SIDES; a++)
            if (level->side[a] > 1)
                length += (size_t)snprintf(
                    kind + length, sizeof kind - length, "%c%d%s",
                    strchr(kind, ' ') == NULL ? ' ' : 'x', level->side[a],
                    level->kind == PLAIT_LEVEL_TORUS && !level->wrap[a] ? "-" : "");
        TABLE_ROW(levels, as_text(kind),
                  level->gpus < INT_MAX ? as_format("%.0f GPUs", level->gpus) : as_text("all"),
                  as_rate(level->link.bytes_per_s, "B/s"), as_percent(level->efficiency),
                  as_seconds(level->link.latency_s), as_format("%.3g", level->oversubscription));
    }
    PLAIT_TRY(table_print(levels, 2, out, err));
    fputs("\nlevels as graphs, whose nodes are units of the previous level; bisection in both "
          "directions:\n",
          out);
    // Print the graph of each level of links, and of all levels together (C.110, C.119).
    table *graphs = table_new("level|>units|>links|>bisection|>diameter|>mean hops");
    const plait_graph all = plait_cluster_graph(cluster);
    for (int l = 0; l < cluster->levels; l++) {
        const plait_graph graph = plait_level_graph(cluster, l);
        graph_row(cluster->level[l].name, &graph, false, graphs);
    }
    graph_row("all", &all, true, graphs);
    PLAIT_TRY(table_print(graphs, 2, out, err));
    fputs("\ntime of collectives over consecutive ranks:\n", out);
    return print_collectives(cluster, out, err);
}

static void graph_members(json_writer *json, const plait_graph *graph)
{
    JSON_NUMBERS(json, {"nodes", graph->nodes}, {"links", graph->links},
                 {"cut_links", graph->cut_links},
                 {"bisection_bytes_per_s", graph->bisection_bytes_per_s},
                 {"diameter", graph->diameter}, {"mean_hops", graph->mean_hops});
}

void report_graphs_write(json_writer *json, const plait_cluster *cluster)
{
    const plait_graph all = plait_cluster_graph(cluster);

    json_begin_object(json);
    json_member_string(json, "name", cluster->name);
    json_member_array(json, "levels");
    for (int l = 0; l < cluster->levels; l++) {
        const plait_graph graph = plait_level_graph(cluster, l);
        json_begin_object(json);
        json_member_string(json, "name", cluster->level[l].name);
        graph_members(json, &graph);
        json_end_object(json);
    }
    json_end_array(json);
    graph_members(json, &all);
    json_end_object(json);
}
