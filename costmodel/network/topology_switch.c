/*
 * topology_switch.c - any pair at full rate: NVSwitch, a PCIe switch, a fat tree of leaves and
 * spines
 */
#include "costmodel/network/topology.h"

#include <math.h>

#include "base/numbers.h"

double wire_speed(const plait_route *route)
{
    return route->cluster->level[0].link.bytes_per_s / route->accelerator->scale_up_bytes_per_s;
}

/*
 * Minimum number of ranks for which NCCL reduces in the switch (NVLS); with fewer a ring is as
 * fast.
 */
enum { NVLS_LEAST_RANKS = 5 };

/*
 * Small, medium and large messages each follow a line a + b (n-1) + sent / B. The fastest line
 * counts, since NCCL selects its protocol likewise; the copy of the rank's own shard is added. A
 * switch that reduces transfers every byte once. (C.50)
 */
double fitted_s(const plait_route *route, int ranks, plait_collective_op op, double bytes,
                double speed)
{
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

static double gather_s(const plait_route *route, int ranks, plait_collective_op op, double bytes)
{
    return fitted_s(route, ranks, op, bytes, wire_speed(route));
}

static double reduce_s(const plait_route *route, int ranks, double bytes)
{
    return fitted_s(route, ranks, PLAIT_ALL_REDUCE, bytes, wire_speed(route));
}

static double all_to_all_s(const plait_route *route, int ranks, double bytes)
{
    return fitted_s(route, ranks, PLAIT_ALL_TO_ALL, bytes, wire_speed(route));
}

const link_kind link_switch = {
    .gather_s = gather_s,
    .reduce_s = reduce_s,
    .all_to_all_s = all_to_all_s,
    .send_speed = wire_speed,
    // share is NULL: each unit of a group uses its whole port, however few there are
};
