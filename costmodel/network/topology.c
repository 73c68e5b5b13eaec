/*
 * topology.c - placement of groups on the levels of a cluster, rates and latencies of levels, and
 * collectives inside a domain
 *
 * joined[l] is the number of a group's ranks in one instance of level l. Example: 16 GPUs in nodes
 * of 8, tp = 4 (consecutive ranks), dp = 4:
 *
 *     node 0   0 1 2 3 | 4 5 6 7        tp groups stay inside a node: joined = {4}
 *     node 1   8 9 a b | c d e f        dp group {0, 4, 8, c}: two in a node: joined = {2, 4}
 */
#include <limits.h>
#include <math.h>
#include <stddef.h>

#include "base/numbers.h"
#include "costmodel/network/topology.h"

static const link_kind *const kinds[PLAIT_LEVEL_KINDS] = {
#define X(constant, word, descriptor) [constant] = &descriptor,
    PLAIT_LEVEL_LIST(X)
#undef X
};

const char *const plait_level_kind_name[PLAIT_LEVEL_KINDS + 1] = {
#define X(constant, word, descriptor) word,
    PLAIT_LEVEL_LIST(X)
#undef X
        NULL};

const link_kind *link_kind_of(const plait_level *level)
{
    return kinds[level->kind];
}

int plait_level_units(const plait_cluster *cluster, int l)
{
    const int reach = cluster->level[l].gpus;
    const int gpus = reach == INT_MAX ? cluster->gpus : reach;
    const int below = l == 0 ? 1 : cluster->level[l - 1].gpus;

    return gpus / below;
}

// ---- switches and direct links -------------------------------------------------------------

/* A switch (NVSwitch, PCIe switch, fat tree) connects any pair of units at the ports' full rate. */
const link_kind link_switch = {0};

/*
 * Direct links connect all pairs of units: xGMI, the ports of Gaudi. A group of n units uses n - 1
 * links of each unit. A send uses one link, and the p2p rate is measured on one link. (C.59)
 *
 *     4 units, 3 links each      a group of 2 uses one link of three, a group of 4 all of them
 */
static double full_share(const plait_cluster *cluster, int l, int units)
{
    const int all = plait_level_units(cluster, l);

    return units > 1 && units < all ? (units - 1.0) / (all - 1.0) : 1.0;
}

const link_kind link_full = {.share = full_share};

// ---- groups --------------------------------------------------------------------------------

/* Number of the group's members among the first `gpus` ranks from its first member on. */
static int joined_by(const plait_group_shape *group, int gpus)
{
    int joined = 1;

    for (int r = 0; r < group->runs; r++) {
        const int size = group->run[r].size, stride = group->run[r].stride;
        const int fit = gpus == INT_MAX ? size : (gpus + stride - 1) / stride;
        joined *= fit < 1 ? 1 : fit < size ? fit : size;
    }
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

int route_units(const plait_route *route, int l)
{
    const int inside = route->joined[l - 1];

    return (route->joined[l] + inside - 1) / inside;
}

// ---- the domain ----------------------------------------------------------------------------

double wire_speed(const plait_route *route)
{
    return route->cluster->level[0].link.bytes_per_s / route->accelerator->scale_up_bytes_per_s;
}

/*
 * Minimum number of ranks for which NCCL reduces in the switch (NVLS); with fewer ranks a ring is
 * as fast.
 */
enum { NVLS_LEAST_RANKS = 5 };

/*
 * Fitted seconds of a collective in the domain. Small, medium and large messages have one line
 * each: a + b (n-1) + sent / B. The fastest line counts, since NCCL selects its fastest protocol;
 * the copy of the rank's own shard is added. A switch that reduces transfers each byte once. (C.50)
 */
static double fitted_s(const plait_route *route, int ranks, plait_collective_op op, double bytes)
{
    const link_kind *const kind = link_kind_of(&route->cluster->level[0]);
    const double speed =
        wire_speed(route) * (kind->share ? kind->share(route->cluster, 0, ranks) : 1.0);
    const plait_collective_fit *fit = &route->accelerator->collective[op];
    const double n = ranks;
    const double sent = plait_collective_sent_bytes(op, ranks, bytes);
    double best_s = HUGE_VAL;

    for (int p = 0; p < 3; p++)
        best_s = smaller(best_s, fit->a_s[p] + fit->b_s[p] * (n - 1.0) +
                                     sent / (fit->bytes_per_s[p] * speed));
    best_s += bytes / n / fit->local_bytes_per_s;
    if (op == PLAIT_ALL_REDUCE && ranks >= NVLS_LEAST_RANKS && fit->nvls_bytes_per_s > 0.0)
        best_s =
            smaller(best_s, fit->nvls_a_s + plait_switch_all_reduce_s(
                                                bytes, fit->nvls_bytes_per_s * speed, ranks, true));
    return best_s;
}

/* The runtime's network efficiency (plait_network) does not apply inside the domain. */
double domain_s(const plait_route *route, int ranks, plait_collective_op op, double bytes)
{
    const plait_level *const level = &route->cluster->level[0];
    const link_kind *const kind = link_kind_of(level);

    if (ranks < 2)
        return 0.0;
    return kind->collective_s
               ? kind->collective_s(route, 0, level->link.bytes_per_s * level->efficiency, op,
                                    bytes)
               : fitted_s(route, ranks, op, bytes);
}

// ---- levels above the domain ---------------------------------------------------------------

/*
 * Is a job scattered over instances of this level, so that part of its traffic uses the next one?
 * (C.115)
 */
static bool is_scattered(const plait_cluster *cluster, int l)
{
    return cluster->level[l].scattered > 0.0 && l + 1 < cluster->levels;
}

double level_latency_s(const plait_cluster *cluster, int l)
{
    const plait_level *const level = &cluster->level[l];

    if (!is_scattered(cluster, l))
        return level->link.latency_s;
    return level->link.latency_s +
           level->scattered * (level[1].link.latency_s - level->link.latency_s);
}

double level_rate(const plait_route *route, plait_network network, int l, int units)
{
    const plait_level *const level = &route->cluster->level[l];
    const link_kind *const kind = link_kind_of(level);
    const double share = kind->share ? kind->share(route->cluster, l, units) : 1.0;
    const double rate =
        level->link.bytes_per_s * level->efficiency * network.nic * share / level->oversubscription;

    if (!is_scattered(route->cluster, l))
        return rate;
    const plait_level *const above = level + 1; // level that carries the scattered share
    return smaller(rate, above->link.bytes_per_s * above->efficiency * network.nic /
                             (above->oversubscription * level->scattered));
}
