/*
 * topology_graph.c - links, bisection, diameter and mean distance of levels and of clusters
 *
 *     mesh 3 x 2     o-o-o      7 links, 2 of them cut where the longer side is halved (3 | 3)
 *                    | | |      from corner to corner 3 hops
 *                    o-o-o
 */
#include <math.h>

#include "base/numbers.h"
#include "costmodel/network/topology.h"

// ---- one level -----------------------------------------------------------------------------

/*
 * Distances along the axes add up. The mean distance on a line of X units is (X^2 - 1) / 3X, on a
 * ring floor(X^2 / 4) / X. The bisection cuts all lines of one axis: one link of each open line,
 * two links of each ring. (C.110)
 */
static plait_graph grid_graph(const plait_level *level, double units, double unit_bytes_per_s)
{
    plait_graph graph = {.nodes = units, .cut_links = HUGE_VAL};

    for (int a = 0; a < PLAIT_MAX_SIDES; a++) {
        const double x = level->side[a];
        const bool ring = level->wrap[a] && level->side[a] > 2;
        if (x < 2.0)
            continue;
        graph.links += units / x * (ring ? x : x - 1.0);
        graph.diameter += plait_torus_ring_latency_s((int)x, 1.0, ring);
        graph.mean_hops += ring ? floor(x * x / 4.0) / x : (x * x - 1.0) / (3.0 * x);
        graph.cut_links = smaller(graph.cut_links, units / x * (ring ? 2.0 : 1.0));
    }
    if (graph.links == 0.0)
        return (plait_graph){.nodes = units};
    graph.bisection_bytes_per_s = 2.0 * graph.cut_links * unit_bytes_per_s / level->ports;
    return graph;
}

/* The graph of `units` units of `below` accelerators each. */
static plait_graph graph_of(const plait_level *level, double units, double below)
{
    const double rate = level->link.bytes_per_s * below;

    if (units < 2.0)
        return (plait_graph){.nodes = units};
    if (plait_level_is_grid(level))
        return grid_graph(level, units, rate);
    if (level->kind == PLAIT_LEVEL_FULL) {
        const double cut = floor(units / 2.0) * ceil(units / 2.0);

        return (plait_graph){
            .nodes = units,
            .links = units * (units - 1.0) / 2.0,
            .cut_links = cut,
            .diameter = 1.0,
            .mean_hops = (units - 1.0) / units,
            .bisection_bytes_per_s = 2.0 * cut * rate / (units - 1.0),
        };
    }
    return (plait_graph){
        .nodes = units,
        .links = units,
        .diameter = 2.0,
        .mean_hops = 2.0 * (units - 1.0) / units,
        // each half sends at the rate of its ports divided by the switches' oversubscription
        .bisection_bytes_per_s = units * rate / level->oversubscription,
    };
}

static double gpus_below(const plait_cluster *cluster, int l)
{
    return l == 0 ? 1.0 : cluster->level[l - 1].gpus;
}

plait_graph plait_level_graph(const plait_cluster *cluster, int l)
{
    return graph_of(&cluster->level[l], plait_level_units(cluster, l), gpus_below(cluster, l));
}

// ---- all levels ----------------------------------------------------------------------------

/*
 * The links of all instances of a level are added. Each pair of accelerators adds to the mean
 * distance its distance at the innermost level that joins the pair. Every accelerator of a unit has
 * its own link. The bisection cuts the outermost level. (C.119)
 */
plait_graph plait_cluster_graph(const plait_cluster *cluster)
{
    plait_graph all = {.nodes = cluster->gpus};

    for (int l = 0; l < cluster->levels && gpus_below(cluster, l) < all.nodes; l++) {
        const double below = gpus_below(cluster, l);
        const double units = smaller(plait_level_units(cluster, l), all.nodes / below);
        const plait_graph level = graph_of(&cluster->level[l], units, below);

        if (units < 2.0)
            continue;
        all.links += all.nodes / units * level.links;
        all.diameter = larger(all.diameter, level.diameter);
        all.mean_hops +=
            (units - 1.0) * below / all.nodes * level.mean_hops * units / (units - 1.0);
        all.cut_links = level.cut_links * below;
        all.bisection_bytes_per_s = level.bisection_bytes_per_s;
    }
    return all;
}

plait_fat_tree plait_fat_tree_of(int ports, int layers)
{
    const double half = ports / 2.0;
    const double endpoints = 2.0 * pow(half, layers);

    // each layer below the top uses half of its ports upwards; the top has half as many switches
    return (plait_fat_tree){
        .endpoints = endpoints,
        .switches = endpoints / half * (layers - 0.5),
        .links = endpoints * (layers - 1.0),
    };
}
