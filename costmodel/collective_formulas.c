/* collective_formulas.c - textbook times and volumes of collectives */
#include <assert.h>
#include <math.h>

#include "plait/collective.h"
#include "numbers.h"

double plait_collective_sent_bytes(plait_collective_op op, int ranks, double bytes)
{
    return bytes * plait_bus_factor(op, ranks);
}

double plait_bus_factor(plait_collective_op op, int ranks)
{
    const double n = ranks;

    switch (op) {
    case PLAIT_ALL_REDUCE:
        return 2.0 * (n - 1.0) / n;
    case PLAIT_ALL_GATHER:
    case PLAIT_REDUCE_SCATTER:
    case PLAIT_ALL_TO_ALL:
        return (n - 1.0) / n;
    default:
        return 1.0;
    }
}

double plait_switch_all_gather_s(double bytes, double bytes_per_s, int ranks)
{
    return bytes / bytes_per_s * (ranks > 0 ? (ranks - 1.0) / ranks : 1.0);
}

double plait_switch_all_reduce_s(double bytes, double bytes_per_s, int ranks, bool in_switch)
{
    return in_switch ? bytes / bytes_per_s
                     : 2.0 * plait_switch_all_gather_s(bytes, bytes_per_s, ranks);
}

double plait_switch_all_to_all_s(double total_bytes, double bytes_per_s, int ranks, int topk)
{
    const double n = ranks;
    const double share = topk > 0 ? smaller(topk / n, 1.0) : 1.0;

    return share * total_bytes * (n - 1.0) / (bytes_per_s * n * n);
}

double plait_hierarchical_all_reduce_s(double bytes, plait_link inner, int inner_ranks,
                                       plait_link outer, int outer_ranks)
{
    const double g = inner_ranks;
    const double n = outer_ranks;

    return 2.0 * (g - 1.0) / g * bytes / inner.bytes_per_s +
           2.0 * (n - 1.0) / n * (bytes / g) / outer.bytes_per_s +
           2.0 * (g - 1.0) * inner.latency_s + 2.0 * (n - 1.0) * outer.latency_s;
}

double plait_tree_all_gather_bytes_per_s(const int *degree, const double *bytes_per_s, int levels)
{
    double slowest = HUGE_VAL;

    for (int l = 0; l < levels; l++)
        if (degree[l] > 1)
            slowest = smaller(slowest, degree[l] * bytes_per_s[l] / (degree[l] - 1.0));
    return slowest;
}

double plait_torus_ring_all_gather_s(double bytes, int ranks, double bytes_per_s, bool wrap)
{
    const double n = ranks;

    return (n - 1.0) * bytes / n / (wrap ? 2.0 * bytes_per_s : bytes_per_s);
}

double plait_torus_ring_latency_s(int ranks, double hop_s, bool wrap)
{
    return (wrap ? ranks / 2 : ranks - 1) * hop_s;
}

double plait_torus_all_reduce_s(double bytes, const int *size, int axes, double axis_bytes_per_s,
                                bool all_axes)
{
    double share = 0.0; // of the buffer that crosses an axis, summed over axes
    double below = 1.0;
    int used = 0;

    for (int a = 0; a < axes; a++) {
        if (size[a] < 2)
            continue;
        below *= size[a];
        share += (size[a] - 1.0) / below;
        used++;
    }
    if (used == 0)
        return 0.0;
    return 2.0 * bytes / axis_bytes_per_s * share / (all_axes ? used : 1);
}

double plait_expected_nodes(double nodes, double topk)
{
    return nodes * (1.0 - pow(1.0 - 1.0 / nodes, topk));
}

// ---- NCCL's latencies, microseconds by protocol (LL, LL128, Simple) ------------------------

// clang-format off
static const double base_us[3][3] = {
    {6.6, 14.0, 8.4},  /* ring */
    {6.8, 14.0, 8.4},  /* tree */
    {0.0,  0.0, 0.0}}; /* NVLS: its own latency is the NVLink entry */
static const double nvlink_us[3][3] = {
    {0.6, 1.9,  3.4},
    {0.6, 1.25, 4.0},
    {0.0, 0.0, 25.0}};
static const double net_us[3][3] = {
    {2.7, 4.0, 14.0},
    {5.0, 8.5, 14.0},
    {0.0, 0.0, 18.0}};
// clang-format on

static double ring_latency_us(plait_collective_op op, plait_nccl_protocol p, int ranks, int nodes,
                              double overhead_us)
{
    const double rounds = op == PLAIT_ALL_REDUCE ? 2.0 : 1.0;
    const double steps = rounds * (ranks - 1.0);
    const double between = nodes > 1 ? rounds * (nodes - 1.0) : 0.0;
    const double posting_us = overhead_us * (p == PLAIT_NCCL_SIMPLE ? 3.0 : 1.0);
    double inside_us = nvlink_us[PLAIT_NCCL_RING][p];

    if (nodes > 1)
        inside_us = larger(inside_us, posting_us);
    return base_us[PLAIT_NCCL_RING][p] + (steps - between) * inside_us +
           between * net_us[PLAIT_NCCL_RING][p];
}

double plait_nccl_latency_s(plait_collective_op op, plait_nccl_algorithm algorithm,
                            plait_nccl_protocol protocol, int ranks, int nodes,
                            double net_overhead_s)
{
    const int per_node = ranks / nodes;
    double us = 0.0;

    assert(ranks >= 1 && nodes >= 1);
    switch (algorithm) {
    case PLAIT_NCCL_RING:
        us = ring_latency_us(op, protocol, ranks, nodes, net_overhead_s * 1e6);
        break;
    case PLAIT_NCCL_TREE:
        us =
            base_us[algorithm][protocol] + 2.0 * ((per_node - 1) * nvlink_us[algorithm][protocol] +
                                                  floor(log2(nodes)) * net_us[algorithm][protocol]);
        break;
    case PLAIT_NCCL_NVLS:
        us = nvlink_us[algorithm][protocol] + (nodes > 1 ? net_us[algorithm][protocol] : 0.0);
        break;
    }
    return us * 1e-6;
}
