/*
 * topology_grid.c - rings and lines along up to six axes: TPU pods, Trainium's nodes, hypercubes
 *
 *     4 x 4 torus, a group of 16      axes 4 and 4, both closed to rings
 *     its first 8 ranks               axes 4 and 2: the second is a line of two
 */
#include <assert.h>
#include <math.h>

#include "base/numbers.h"
#include "costmodel/network/topology.h"

/*
 * Fills the number of the group's members on each axis, and their spacing in units of the level
 * below. Ranks are numbered along the axes in the order of the plan's placement. (C.52, C.117)
 */
void grid_place(const plait_group_shape *group, int l, plait_route *route)
{
    const plait_cluster *const cluster = route->cluster;
    const int *const order = plait_placement_axes((plait_placement)group->placement);
    int64_t below = l == 0 ? 1 : cluster->level[l - 1].gpus; // distance of neighbours in ranks

    for (int i = 0; i < PLAIT_MAX_SIDES; i++) {
        const int a = order[i];
        const int side = cluster->level[l].side[a] > 1 ? cluster->level[l].side[a] : 1;
        const int64_t end = below * side;
        int64_t members = 1, span = 1;
        for (int r = 0; r < group->runs; r++) {
            const int64_t start = group->run[r].stride > below ? group->run[r].stride : below;
            const int64_t reach = (int64_t)group->run[r].stride * group->run[r].size;
            const int64_t stop = reach < end ? reach : end;
            if (stop <= start)
                continue;
            members *= stop / start;
            span = stop / below;
        }
        route->axis[l][a] = (unsigned short)members;
        route->spacing[l][a] = (unsigned short)(span > members ? span / members : 1);
        below = end;
    }
}

/*
 * The links of a grid that a group uses. `pace` counts 2 links for an axis that the group closes to
 * a ring, else 1, divided by the spacing of the group's members.
 */
typedef struct grid_use {
    int axis[PLAIT_MAX_SIDES];
    bool closes[PLAIT_MAX_SIDES];
    double link_bytes_per_s; /* one direction of one link */
    double pace;             /* links that the group can use on its slowest axis */
    double latency_s;        /* latency to the farthest member */
    int axes;                /* axes with more than one member */
} grid_use;

/*
 * `rate` is the bytes/s of all links of a unit together. A group forms a ring if it covers a whole
 * axis of three or more units. If its members are s units apart, s groups interleave and share the
 * links:
 *
 *     a b a b a b      two groups of three on one line: each link is on the way of both
 */
static grid_use use_of(const plait_route *route, int l, double rate)
{
    const plait_level *level = &route->cluster->level[l];
    grid_use use = {.pace = 2.0};
    int hops = 0;

    assert(level->ports > 0);
    for (int a = 0; a < PLAIT_MAX_SIDES; a++) {
        const int size = route->axis[l][a];
        const int apart = route->spacing[l][a];
        const bool whole = size * apart == level->side[a] && level->wrap[a] && level->side[a] > 2;
        use.axis[a] = size;
        use.closes[a] = whole;
        if (size < 2)
            continue;
        use.axes++;
        hops += apart * (int)plait_torus_ring_latency_s(size, 1.0, whole);
        use.pace = smaller(use.pace, (whole ? 2.0 : 1.0) / apart);
    }
    use.latency_s = hops * level_latency_s(route->cluster, l);
    use.link_bytes_per_s = rate / level->ports;
    return use;
}

/*
 * C.51: an all-gather runs along one axis after the other with growing buffers, the whole buffer on
 * the last axis; the buffer is striped so that all axes are busy. An all-reduce scatters along each
 * axis and gathers back, so the latency counts twice. In an all-to-all the links between the halves
 * of an axis carry the traffic of all groups that interleave on it. (C.111)
 */
static double grid_s(const plait_route *route, int l, double rate, plait_collective_op op,
                     double bytes)
{
    const grid_use use = use_of(route, l, rate);
    const double axis_bytes_per_s = use.pace * use.link_bytes_per_s;
    double s = 0.0;
    double share = 1.0;

    if (use.axes == 0)
        return 0.0;
    if (op == PLAIT_ALL_REDUCE)
        return 2.0 * use.latency_s +
               plait_torus_all_reduce_s(bytes, use.axis, PLAIT_MAX_SIDES, axis_bytes_per_s, true);
    for (int a = PLAIT_MAX_SIDES - 1; a >= 0; a--) {
        if (use.axis[a] < 2)
            continue;
        if (op == PLAIT_ALL_TO_ALL) {
            s = larger(s, route->spacing[l][a] * plait_grid_all_to_all_s(bytes, &use.axis[a],
                                                                         &use.closes[a], 1,
                                                                         use.link_bytes_per_s));
            continue;
        }
        s += plait_torus_ring_all_gather_s(bytes * share, use.axis[a], axis_bytes_per_s, false);
        share /= use.axis[a];
    }
    return use.latency_s + (op == PLAIT_ALL_TO_ALL ? s : s / use.axes);
}

const link_kind link_grid = {.collective_s = grid_s};

/* ---- collectives on one level after the other, for groups that use a grid ----
 *
 *     all-reduce of S bytes on 4 units of 8 ranks:
 *     reduce-scatter of S among 8 ranks, all-reduce of S/8 among 4 units, all-gather of S among 8
 *
 * NCCL's rings pass all levels at once and pipeline them (collective.c). Software on a torus uses
 * the levels one after the other: the outer level transfers only the share of the buffer that is
 * left after the inner levels.
 */

/*
 * Seconds at level l; `bytes` is the whole buffer of the ranks that communicate at that level. A
 * gather among u units on switches or direct links takes log2 u steps of recursive halving or
 * doubling, in which each rank sends as many bytes as in a ring.
 */
static double level_s(const plait_route *route, plait_network network, int l,
                      plait_collective_op op, double bytes)
{
    if (l == 0)
        return domain_s(route, route->joined[0], op, bytes);
    const int units = route_units(route, l);
    const double rate = level_rate(route, network, l, units);
    if (plait_level_is_grid(&route->cluster->level[l]))
        return grid_s(route, l, rate, op, bytes);
    return (op == PLAIT_ALL_REDUCE ? 2.0 : 1.0) *
           (plait_switch_all_gather_s(bytes, rate, units) +
            ceil(log2(units)) * (level_latency_s(route->cluster, l) + network.hop_s));
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
