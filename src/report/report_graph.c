/* report_graph.c - levels of links as graphs: links, bisection, diameter, mean distance */
#include <stdio.h>

#include "report/report.h"
#include "report/report_table.h"
#include "report/units.h"

static void graph_row(const char *name, const plait_graph *graph, bool whole, table *rows)
{
    char text[UNITS_SIZE];

    table_cell(rows, "%s", name);
    if (graph->nodes < 2.0) { // nobody says how many units there are
        table_cell(rows, "any");
        for (int i = 0; i < 4; i++)
            table_cell(rows, "-");
        return;
    }
    table_cell(rows, whole ? "%.0f GPUs" : "%.0f", graph->nodes);
    table_cell(rows, "%.0f", graph->links);
    table_cell(rows, "%s", units_rate(graph->bisection_bytes_per_s, "B/s", text));
    table_cell(rows, "%.0f", graph->diameter);
    table_cell(rows, "%.3g", graph->mean_hops);
}

plait_status report_graphs(const plait_cluster *cluster, FILE *out, plait_error *err)
{
    static const table_column columns[] = {{"level", TABLE_LEFT},     {"units", TABLE_RIGHT},
                                           {"links", TABLE_RIGHT},    {"bisection", TABLE_RIGHT},
                                           {"diameter", TABLE_RIGHT}, {"mean hops", TABLE_RIGHT}};
    table *rows = table_new(columns, sizeof columns / sizeof *columns);
    const plait_graph all = plait_cluster_graph(cluster);

    for (int l = 0; l < cluster->levels; l++) {
        const plait_graph graph = plait_level_graph(cluster, l);
        graph_row(cluster->level[l].name, &graph, false, rows);
    }
    graph_row("all", &all, true, rows);
    return table_print(rows, 2, out, err);
}

static void graph_members(json_writer *json, const plait_graph *graph)
{
    json_member_number(json, "nodes", graph->nodes);
    json_member_number(json, "links", graph->links);
    json_member_number(json, "cut_links", graph->cut_links);
    json_member_number(json, "bisection_bytes_per_s", graph->bisection_bytes_per_s);
    json_member_number(json, "diameter", graph->diameter);
    json_member_number(json, "mean_hops", graph->mean_hops);
}

void report_graphs_write(json_writer *json, const plait_cluster *cluster)
{
    const plait_graph all = plait_cluster_graph(cluster);

    json_begin_object(json);
    json_member_string(json, "name", cluster->name);
    json_write_key(json, "levels");
    json_begin_array(json);
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
