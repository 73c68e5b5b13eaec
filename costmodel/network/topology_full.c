/*
 * topology_full.c - direct links between all pairs: xGMI, the ports of Gaudi
 *
 *     4 units, 3 links each      a group of 2 uses one link of three, a group of 4 all of them
 */
#include "costmodel/network/topology.h"

/* A group of n units uses n - 1 links of each. */
static double share(const plait_cluster *cluster, int l, int units)
{
    const int all = plait_level_units(cluster, l);

    return units > 1 && units < all ? (units - 1.0) / (all - 1.0) : 1.0;
}

static double speed(const plait_route *route, int ranks)
{
    return wire_speed(route) * share(route->cluster, 0, ranks);
}

/* The fitted times at the share of the links that the ranks of the group use. (C.50) */
static double gather_s(const plait_route *route, int ranks, plait_collective_op op, double bytes)
{
    return fitted_s(route, ranks, op, bytes, speed(route, ranks));
}

static double reduce_s(const plait_route *route, int ranks, double bytes)
{
    return fitted_s(route, ranks, PLAIT_ALL_REDUCE, bytes, speed(route, ranks));
}

static double all_to_all_s(const plait_route *route, int ranks, double bytes)
{
    return fitted_s(route, ranks, PLAIT_ALL_TO_ALL, bytes, speed(route, ranks));
}

/* A send uses one link, and p2p was measured on one link. (C.59) */
const link_kind link_full = {
    .gather_s = gather_s,
    .reduce_s = reduce_s,
    .all_to_all_s = all_to_all_s,
    .send_speed = wire_speed,
    .share = share,
};
