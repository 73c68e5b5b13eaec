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
 * Members and spacing of the group along each axis, in units of the level below. Ranks run along
 * the axes in the order of the plan's placement. (C.52, C.117)
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

/* The links of a grid that a group uses. */
typedef struct grid_use {
    int axis[PLAIT_MAX_SIDES];
    bool closes[PLAIT_MAX_SIDES];
    double link_bytes_per_s; /* one direction of one link */
    double pace;             /* links of the slowest axis that a group can use, both directions */
    double latency_s;        /* latency to the farthest member */
    int axes;                /* axes with more than one member */
} grid_use;

/*
 * `rate` is that of all links of a unit together. A ring needs a whole axis of three or more units.
 * If members are s units apart, s groups interleave and share the links:
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
 * Gather along the last axis first, then with more data along the others; stripes keep all busy.
 * (C.51)
 */
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

/* Reduce-scatter along each axis and gather back, so the latency counts twice. (C.51) */
double grid_reduce_s(const plait_route *route, int l, double rate, double bytes)
{
    const grid_use use = use_of(route, l, rate);

    if (use.axes == 0)
        return 0.0;
    return 2.0 * use.latency_s + plait_torus_all_reduce_s(bytes, use.axis, PLAIT_MAX_SIDES,
                                                          use.pace * use.link_bytes_per_s, true);
}

/*
 * The links between the halves of an axis carry the traffic of all groups that interleave. (C.111)
 */
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

// ---- a grid as the domain ------------------------------------------------------------------

/* The runtime's network efficiency does not apply inside the domain. */
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
