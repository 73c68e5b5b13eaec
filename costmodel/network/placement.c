/*
 * placement.c - which links each parallel group spans
 *
 * 16 GPUs in nodes of 8, tp = 4, dp = 4, innermost first:
 *
 *     node 0   0 1 2 3 | 4 5 6 7        tp groups stay inside a node: joined = {4}
 *     node 1   8 9 a b | c d e f        dp group {0, 4, 8, c}: two in a node: joined = {2, 4}
 */
#include <limits.h>
#include <math.h>

#include "costmodel/network/topology.h"

/* Members of one run that fit into `gpus` consecutive ranks. */
static int members_within(int size, int stride, int gpus)
{
    const int fit = gpus == INT_MAX ? size : (gpus + stride - 1) / stride;

    return fit < 1 ? 1 : fit < size ? fit : size;
}

static int joined_by(const plait_group_shape *group, int gpus)
{
    int joined = 1;

    for (int r = 0; r < group->runs; r++)
        joined *= members_within(group->run[r].size, group->run[r].stride, gpus);
    return joined;
}

plait_route plait_route_of(const plait_cluster *cluster, plait_group_shape group)
{
    plait_route route = {
        .cluster = cluster,
        .accelerator = cluster->group[0].accelerator,
        .ranks = group.ranks,
    };

    for (int l = 0; l < cluster->levels; l++) {
        route.joined[l] = joined_by(&group, cluster->level[l].gpus);
        route.levels = l + 1;
        if (route.joined[l] >= group.ranks)
            break;
    }
    route.joined[route.levels - 1] = group.ranks; // the outermost level joins all ranks
    for (int l = 0; l < route.levels; l++)
        if (plait_level_is_grid(&cluster->level[l]))
            grid_place(&group, l, &route);
    return route;
}

double plait_route_nodes(const plait_route *route)
{
    return route->levels == 1 ? 1.0 : (double)route->ranks / route->joined[0];
}
