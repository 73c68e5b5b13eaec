/*
 * topology.c - descriptors of levels, their rates and latencies, and collectives inside the domain
 */
#include <limits.h>
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

/* C.50, C.51: one rank alone takes no time. A broadcast takes the time of an all-gather. */
double domain_s(const plait_route *route, int ranks, plait_collective_op op, double bytes)
{
    const link_kind *const kind = link_kind_of(&route->cluster->level[0]);

    if (ranks < 2)
        return 0.0;
    switch (op) {
    case PLAIT_ALL_REDUCE:
        return kind->reduce_s(route, ranks, bytes);
    case PLAIT_ALL_TO_ALL:
        return kind->all_to_all_s(route, ranks, bytes);
    default:
        return kind->gather_s(route, ranks, op, bytes);
    }
}

// ---- levels above the domain ---------------------------------------------------------------

int route_units(const plait_route *route, int l)
{
    const int inside = route->joined[l - 1];

    return (route->joined[l] + inside - 1) / inside;
}

bool route_uses_grid(const plait_route *route)
{
    for (int l = 0; l < route->levels; l++)
        if (plait_level_is_grid(&route->cluster->level[l]))
            return true;
    return false;
}

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
    const plait_level *const above = level + 1; // carries the scattered share
    return smaller(rate, above->link.bytes_per_s * above->efficiency * network.nic /
                             (above->oversubscription * level->scattered));
}
