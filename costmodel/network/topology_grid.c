/*
 * topology_grid.c - rings and lines along up to six axes: TPU pods, Trainium's nodes, hypercubes
 *
 *     4 x 4 torus, a group of 16      axes 4 and 4, both closed to rings
 *     its first 8 ranks               axes 4 and 2: the second is a line of two
 */
#include <assert.h>

#include "base/numbers.h"
#include "costmodel/network/topology.h"

/*
 * How far the group's runs reach along each axis, in units of the level below: ranks run along the
 * axes in the order of the plan's placement. (C.52, C.117)
 */
void grid_place(const plait_group_shape *group, int l, plait_route *route)
{
    const plait_cluster *const cluster = route->cluster;
    const int *const order = plait_placement_axes((plait_placement)group->placement);
    int64_t below = l == 0 ? 1 : cluster->level[l - 1].gpus; // ranks between neighbours

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

/* What a group has of a grid's links. */
typedef struct grid_use {
    int axis[PLAIT_MAX_SIDES];
    bool closes[PLAIT_MAX_SIDES];
    double link_bytes_per_s; /* one direction of one link */
    double pace;      /* links that the slowest axis in use has for a group, both directions */
    double latency_s; /* to the farthest member */
    int axes;         /* in use */
} grid_use;

/*
 * A unit's rate is that of all its links together. A ring needs a whole axis of three or more units;
 * where members are s units apart, s groups lie between each other and share the links.
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

/* Gather along z, then y with z times the data, then x; stripes keep all axes busy. (C.51) */
double grid_gather_s(const plait_route *route, int l, double rate, double bytes)
{
    const grid_use use = use_of(route, l, rate);
    double s = 0.0;
    double share = 1.0;

    if (use.axes == 0)
        return 0.0;
    for (int a = PLAIT_MAX_SIDES - 1; a >= 0; a--) {
        if (use.axis[a] < 2)
            continue;
        s += plait_torus_ring_all_gather_s(bytes * share, use.axis[a],
                                           use.pace * use.link_bytes_per_s, false);
        share /= use.axis[a];
    }
    return use.latency_s + s / use.axes;
}

/* Reduce-scatter along each axis and gather back: there and back again. (C.51) */
double grid_reduce_s(const plait_route *route, int l, double rate, double bytes)
{
    const grid_use use = use_of(route, l, rate);

    if (use.axes == 0)
        return 0.0;
    return 2.0 * use.latency_s + plait_torus_all_reduce_s(bytes, use.axis, PLAIT_MAX_SIDES,
                                                          use.pace * use.link_bytes_per_s, true);
}

/* What the halves of an axis exchange passes the links between them, beside other groups. (C.111) */
double grid_all_to_all_s(const plait_route *route, int l, double rate, double bytes)
{
    const grid_use use = use_of(route, l, rate);
    double slowest_s = 0.0;

    if (use.axes == 0)
        return 0.0;
    for (int a = 0; a < PLAIT_MAX_SIDES; a++)
        slowest_s =
            larger(slowest_s, route->spacing[l][a] * plait_grid_all_to_all_s(bytes, &use.axis[a],
                                                                             &use.closes[a], 1,
                                                                             use.link_bytes_per_s));
    return use.latency_s + slowest_s;
}

// ---- as the domain -------------------------------------------------------------------------

/* No software's share of a network lies on it. */
static double domain_rate(const plait_route *route)
{
    const plait_level *const level = &route->cluster->level[0];

    return level->link.bytes_per_s * level->efficiency;
}

static double gather_s(const plait_route *route, int ranks, plait_collective_op op, double bytes)
{
    (void)ranks, (void)op;
    return grid_gather_s(route, 0, domain_rate(route), bytes);
}

static double reduce_s(const plait_route *route, int ranks, double bytes)
{
    (void)ranks;
    return grid_reduce_s(route, 0, domain_rate(route), bytes);
}

static double all_to_all_s(const plait_route *route, int ranks, double bytes)
{
    (void)ranks;
    return grid_all_to_all_s(route, 0, domain_rate(route), bytes);
}

const link_kind link_grid = {
    .gather_s = gather_s,
    .reduce_s = reduce_s,
    .all_to_all_s = all_to_all_s,
    .send_speed = wire_speed,
};
