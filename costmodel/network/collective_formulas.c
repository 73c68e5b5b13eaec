/*
 * collective_formulas.c - textbook times and volumes of collectives
 *
 * Closed forms without fitted constants for S bytes, n ranks, and W bytes/s in one direction of one
 * rank's link. If measured constants exist, prices use those instead (collective.c, topology.c).
 * The closed forms check such prices, and `plait clusters` prints them.
 */
#include <math.h>

#include "plait/lowlevel/collective.h"
#include "base/numbers.h"

/* C.40: for a buffer of S bytes one rank sends S times the bus factor. */
double plait_collective_sent_bytes(plait_collective_op op, int ranks, double bytes)
{
    return bytes * plait_bus_factor(op, ranks);
}

/*
 * C.40: a ring sends each of n pieces n - 1 times; an all-reduce does so twice, once to reduce and
 * once to gather. The factor is the bus bandwidth of nccl-tests divided by its algorithm bandwidth.
 */
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

/* C.41: a rank receives the (n - 1) / n of S that other ranks hold, at the rate of its own link. */
double plait_switch_all_gather_s(double bytes, double bytes_per_s, int ranks)
{
    return bytes / bytes_per_s * (ranks > 0 ? (ranks - 1.0) / ranks : 1.0);
}

/*
 * C.42: an all-reduce is a reduce-scatter and an all-gather; a switch that reduces instead receives
 * each byte once and sends the sum once.
 */
double plait_switch_all_reduce_s(double bytes, double bytes_per_s, int ranks, bool in_switch)
{
    return in_switch ? bytes / bytes_per_s
                     : 2.0 * plait_switch_all_gather_s(bytes, bytes_per_s, ranks);
}

/* C.43: each rank divides its S / n bytes among all n ranks, or among topk of them. */
double plait_switch_all_to_all_s(double total_bytes, double bytes_per_s, int ranks, int topk)
{
    const double n = ranks;
    const double share = topk > 0 ? smaller(topk / n, 1.0) : 1.0;

    return share * total_bytes * (n - 1.0) / (bytes_per_s * n * n);
}

/*
 * C.44: a reduce-scatter of S among the g ranks of a node, an all-reduce of each rank's S / g
 * across n nodes, and an all-gather among the g ranks; each adds the latencies of its hops.
 */
double plait_hierarchical_all_reduce_s(double bytes, plait_link inner, int inner_ranks,
                                       plait_link outer, int outer_ranks)
{
    const double g = inner_ranks;
    const double n = outer_ranks;

    return 2.0 * (g - 1.0) / g * bytes / inner.bytes_per_s +
           2.0 * (n - 1.0) / n * (bytes / g) / outer.bytes_per_s +
           2.0 * (g - 1.0) * inner.latency_s + 2.0 * (n - 1.0) * outer.latency_s;
}

/*
 * C.45: each of the D children of a level receives (D - 1) / D of S. The slowest level sets the
 * rate.
 */
double plait_tree_all_gather_bytes_per_s(const int *degree, const double *bytes_per_s, int levels)
{
    double slowest = HUGE_VAL;

    for (int l = 0; l < levels; l++)
        if (degree[l] > 1)
            slowest = smaller(slowest, degree[l] * bytes_per_s[l] / (degree[l] - 1.0));
    return slowest;
}

/*
 * C.46: a closed ring sends in both directions at once, an open line in one direction over each
 * link.
 */
double plait_torus_ring_all_gather_s(double bytes, int ranks, double bytes_per_s, bool wrap)
{
    const double n = ranks;

    return (n - 1.0) * bytes / n / (wrap ? 2.0 * bytes_per_s : bytes_per_s);
}

/* C.47: latency to the opposite side of a ring, or to the other end of a line. */
double plait_torus_ring_latency_s(int ranks, double hop_s, bool wrap)
{
    return (wrap ? ranks / 2 : ranks - 1) * hop_s;
}

/*
 * C.48: reduce-scatter along x, y and z in turn and gather back. 1 / n_x of the buffer crosses the
 * second axis, 1 / (n_x n_y) the third. Stripes that start along different axes keep all of them
 * busy, so the sum is divided by the number of axes with more than one rank.
 */
double plait_torus_all_reduce_s(double bytes, const int *size, int axes, double axis_bytes_per_s,
                                bool all_axes)
{
    double share = 0.0; // share of the buffer that crosses an axis, summed over axes
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

/*
 * C.111: each of N ranks sends N messages of S / N bytes. Each line along an axis of X units passes
 * N / X messages from any position to any other. floor(X^2 / 4) pairs of positions have the middle
 * link of the line between them; a ring divides their messages between its two directions:
 *
 *     0 1 | 2 3      4 pairs cross to the right: 02 03 12 13
 */
double plait_grid_all_to_all_s(double bytes, const int *size, const bool *wrap, int axes,
                               double link_bytes_per_s)
{
    double slowest = 0.0; // share of S that the busiest link passes

    for (int a = 0; a < axes; a++) {
        const double pairs = floor((double)size[a] * size[a] / 4.0);
        const double ways = wrap[a] ? 2.0 : 1.0;
        if (size[a] > 1)
            slowest = larger(slowest, pairs / (ways * size[a]));
    }
    return bytes * slowest / link_bytes_per_s;
}

/* C.116: the root receives n - 1 buffers over one link and sends the sum n - 1 times. */
double plait_naive_all_reduce_s(plait_link link, int ranks, double bytes)
{
    return 2.0 * (ranks - 1.0) * (link.latency_s + bytes / link.bytes_per_s);
}

/*
 * C.57: one expert of a token is not on a given node with probability 1 - 1/N, and none of its k
 * experts is there with probability (1 - 1/N)^k.
 */
double plait_expected_nodes(double nodes, double topk)
{
    return nodes * (1.0 - pow(1.0 - 1.0 / nodes, topk));
}

/* Upper limit of top-k, far above that of any router. */
enum { MOST_PICKED = 1 << 16 };

/*
 * C.150: k of E experts are drawn without replacement; `missed` is the probability that all k lie
 * outside a given group of E/N experts.
 */
double plait_reached_groups(double groups, double topk, double experts)
{
    const double others = experts - experts / groups;
    double missed = 1.0;

    for (int i = 0; i < topk && i < MOST_PICKED && missed > 0.0; i++)
        missed *= larger(0.0, others - i) / (experts - i);
    return groups * (1.0 - missed);
}

double plait_reached_groups_round_robin(double groups, double topk, double experts)
{
    const double held = experts / groups;
    double divisor = topk, rest = fmod(held, topk);

    while (rest >= 1.0) {
        const double next = fmod(divisor, rest);
        divisor = rest;
        rest = next;
    }
    return fmin(groups, 1.0 + (topk - divisor) / held);
}

// ---- NCCL's latencies, microseconds by protocol (LL, LL128, Simple) ------------------------

/*
 * Tables of NVIDIA/nccl src/graph/tuning.cc, 2.30 (baseLatencies, hwLatencies): the fixed part of
 * an algorithm, a hop over NVLink, and a hop over the network. Rows for PCIe are left out.
 */

// clang-format off
static const double base_us[PLAIT_NCCL_ALGORITHMS][PLAIT_NCCL_PROTOCOLS] = {
    {6.6, 14.0, 8.4},  /* ring */
    {6.8, 14.0, 8.4},  /* tree */
    {0.0,  0.0, 0.0}}; /* NVLS: its fixed latency is in nvlink_us */
static const double nvlink_us[PLAIT_NCCL_ALGORITHMS][PLAIT_NCCL_PROTOCOLS] = {
    {0.6, 1.9,  3.4},
    {0.6, 1.25, 4.0},
    {0.0, 0.0, 25.0}};
static const double net_us[PLAIT_NCCL_ALGORITHMS][PLAIT_NCCL_PROTOCOLS] = {
    {2.7, 4.0, 14.0},
    {5.0, 8.5, 14.0},
    {0.0, 0.0, 18.0}};
// clang-format on

/*
 * C.49: a ring of n ranks takes n - 1 steps per round, of which nodes - 1 cross the network. In a
 * group of several nodes a step inside a node takes at least the time of the CPU to post one
 * transfer, or three under Simple. A tree passes the chain of ranks in a node and log2 N levels of
 * N nodes, up and down. NVLS has one exchange with the switch and one with the network.
 */
double plait_nccl_latency_s(plait_collective_op op, plait_nccl_algorithm algorithm,
                            plait_nccl_protocol protocol, int ranks, int nodes,
                            double net_overhead_s)
{
    if ((unsigned)protocol >= PLAIT_NCCL_PROTOCOLS || (unsigned)algorithm >= PLAIT_NCCL_ALGORITHMS)
        return (double)NAN;
    const double fixed = base_us[algorithm][protocol], inside = nvlink_us[algorithm][protocol];
    const double across = net_us[algorithm][protocol];
    const double rounds = op == PLAIT_ALL_REDUCE ? 2.0 : 1.0;
    const double steps = rounds * (ranks - 1.0);
    const double between = nodes > 1 ? rounds * (nodes - 1.0) : 0.0;
    const double posting_us = net_overhead_s * 1e6 * (protocol == PLAIT_NCCL_SIMPLE ? 3.0 : 1.0);
    double us = 0.0;

    switch (algorithm) {
    case PLAIT_NCCL_RING:
        us = fixed + (steps - between) * (nodes > 1 ? larger(inside, posting_us) : inside) +
             between * across;
        break;
    case PLAIT_NCCL_TREE:
        us = fixed +
             2.0 * (((nodes > 0 ? ranks / nodes : 0) - 1) * inside + floor(log2(nodes)) * across);
        break;
    case PLAIT_NCCL_NVLS:
        us = inside + (nodes > 1 ? across : 0.0);
        break;
    case PLAIT_NCCL_ALGORITHMS:
        break;
    }
    return us * 1e-6;
}
