/*
 * collective_levels.c - collectives one level after the other, where a group's levels include a
 * grid
 *
 *     4 units of 8 ranks, S bytes, all-reduce      scatter among 8 S, reduce among 4 S/8, gather S
 *
 * NCCL's rings pass all levels at once and pipeline them (collective.c). Software on a torus uses
 * the levels one after the other: the outer level transfers only the share left after the inner
 * ones.
 */
#include "costmodel/network/topology.h"

#include <math.h>

/*
 * Gather among units on switches or direct links by recursive halving or doubling: log2 u steps, in
 * which each rank sends as many bytes as in a ring.
 */
static double port_gather_s(const plait_route *route, int l, double rate, double latency_s,
                            double bytes)
{
    const int units = route_units(route, l);

    return plait_switch_all_gather_s(bytes, rate, units) + ceil(log2(units)) * latency_s;
}

/* Seconds at one level; `bytes`: the buffer of the ranks that communicate there, together. */
static double level_s(const plait_route *route, plait_network network, int l,
                      plait_collective_op op, double bytes)
{
    const plait_cluster *const cluster = route->cluster;

    if (l == 0)
        return domain_s(route, route->joined[0], op, bytes);
    const double rate = level_rate(route, network, l, route_units(route, l));
    const double rounds = op == PLAIT_ALL_REDUCE ? 2.0 : 1.0;
    if (!plait_level_is_grid(&cluster->level[l]))
        return rounds *
               port_gather_s(route, l, rate, level_latency_s(cluster, l) + network.hop_s, bytes);
    return op == PLAIT_ALL_REDUCE ? grid_reduce_s(route, l, rate, bytes)
                                  : grid_gather_s(route, l, rate, bytes);
}

double levels_s(const plait_route *route, plait_network network, plait_collective_op op,
                double bytes)
{
    const int outermost = route->levels - 1;
    double s = level_s(route, network, outermost, op, bytes / route->joined[outermost - 1]);
    double share = bytes;

    for (int l = 0; l < outermost; l++) {
        if (op == PLAIT_ALL_REDUCE)
            s += level_s(route, network, l, PLAIT_REDUCE_SCATTER, share) +
                 level_s(route, network, l, PLAIT_ALL_GATHER, share);
        else
            s += level_s(route, network, l, op, share);
        share = bytes / route->joined[l];
    }
    return s;
}
