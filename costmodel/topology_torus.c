/*
 * topology_torus.c - rings along up to three axes: TPU pods, Trainium's nodes
 *
 *     4 x 4 torus, a group of 16      axes 4 and 4, both closed to rings
 *     its first 8 ranks               axes 4 and 2: the second is a line of two
 */
#include <math.h>

#include "numbers.h"
#include "topology.h"

/* How far the group's runs reach along each axis, in units of the level below. (C.52) */
static void place(const plait_cluster *cluster, int l, const plait_group_shape *group, int axis[3])
{
    const int *const extent = cluster->level[l].torus;
    int below = l == 0 ? 1 : cluster->level[l - 1].gpus; // ranks between neighbours of this axis

    for (int a = 0; a < 3; a++) {
        const int end = below * (extent[a] > 0 ? extent[a] : 1);
        axis[a] = 1;
        for (int r = 0; r < group->runs; r++) {
            const int start = group->run[r].stride > below ? group->run[r].stride : below;
            const long reach = (long)group->run[r].stride * group->run[r].size;
            const int stop = reach < end ? (int)reach : end;
            if (stop > start)
                axis[a] *= stop / start;
        }
        below = end;
    }
}

/* One direction of one link, and whether every axis in use closes to a ring. */
typedef struct torus_use {
    const int *axis;
    double link_bytes_per_s;
    double latency_s; /* to the farthest member */
    int axes;         /* in use */
    bool wrap;
} torus_use;

/* A chip's rate is that of both directions of all its axes; a ring needs a whole axis of three or more. */
static torus_use use_of(const plait_route *route)
{
    const plait_level *level = &route->cluster->level[0];
    torus_use use = {.axis = route->axis[0], .wrap = true};
    int dimensions = 0;
    int hops = 0;

    for (int a = 0; a < 3; a++) {
        const int size = use.axis[a];
        const bool whole = size == level->torus[a] && size > 2;
        dimensions += level->torus[a] > 1;
        if (size < 2)
            continue;
        use.axes++;
        hops += (int)plait_torus_ring_latency_s(size, 1.0, whole);
        use.wrap = use.wrap && whole;
    }
    use.latency_s = hops * level->link.latency_s;
    use.link_bytes_per_s =
        level->link.bytes_per_s * level->efficiency / (2.0 * (dimensions > 0 ? dimensions : 1));
    return use;
}

/* Both directions of one axis, or one where it is a line. */
static double axis_rate(const torus_use *use)
{
    return (use->wrap ? 2.0 : 1.0) * use->link_bytes_per_s;
}

/* Gather along z, then y with z times the data, then x; stripes keep all axes busy. (C.51) */
static double gather_s(const plait_route *route, int ranks, plait_collective_op op, double bytes)
{
    const torus_use use = use_of(route);
    double s = 0.0;
    double share = 1.0;

    (void)ranks, (void)op;
    if (use.axes == 0)
        return 0.0;
    for (int a = 2; a >= 0; a--) {
        if (use.axis[a] < 2)
            continue;
        s += plait_torus_ring_all_gather_s(bytes * share, use.axis[a], use.link_bytes_per_s,
                                           use.wrap);
        share /= use.axis[a];
    }
    return use.latency_s + s / use.axes;
}

/* Reduce-scatter along each axis and gather back: there and back again. (C.51) */
static double reduce_s(const plait_route *route, int ranks, double bytes)
{
    const torus_use use = use_of(route);

    (void)ranks;
    if (use.axes == 0)
        return 0.0;
    return 2.0 * use.latency_s +
           plait_torus_all_reduce_s(bytes, use.axis, 3, axis_rate(&use), true);
}

/* On a ring a quarter of all that is sent, V, passes each link of rate W: V / (4 W). (C.51) */
static double all_to_all_s(const plait_route *route, int ranks, double bytes)
{
    const torus_use use = use_of(route);

    if (use.axes == 0)
        return 0.0;
    return use.latency_s + bytes * ranks / (4.0 * axis_rate(&use) * use.axes);
}

/*
 * Slices joined by a network: reduce inside, exchange across, gather inside; a gather or a scatter
 * is half of that, an estimate. (C.58)
 */
static double slices_s(const plait_route *route, plait_collective_op op, double bytes, double rate,
                       double latency_s)
{
    const torus_use use = use_of(route);
    const plait_link inner = {route->cluster->level[0].link.latency_s,
                              2.0 * use.link_bytes_per_s * larger(use.axes, 1)};
    const plait_link outer = {latency_s, rate};
    const double s = plait_hierarchical_all_reduce_s(bytes, inner, route->joined[0], outer,
                                                     (int)lround(plait_route_nodes(route)));

    return op == PLAIT_ALL_REDUCE ? s : s / 2.0;
}

/* Not `above`: between slices of a larger torus nothing is known of the way yet. */
const link_kind link_torus = {
    .place = place,
    .gather_s = gather_s,
    .reduce_s = reduce_s,
    .all_to_all_s = all_to_all_s,
    .send_speed = wire_speed,
    .slices_s = slices_s,
};
