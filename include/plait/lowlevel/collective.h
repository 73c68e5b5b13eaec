/*
 * collective.h - seconds of one collective on one group of ranks
 *
 * In order: plait_route_of places a group on the cluster, that is, it computes the number of its
 * ranks that share each level of links; then plait_collective_s gives the seconds of a buffer on
 * that route, from fitted lines inside one scale-up domain, NCCL's latencies and the bandwidth of
 * each level beyond it, and rings or lines on grids. The closed forms that it evaluates are public;
 * each is a textbook formula with its source.
 *
 * The buffer S is what nccl-tests call size: the whole vector of an all-reduce, the gathered
 * output of an all-gather, the input of a reduce-scatter, what one rank sends in an all-to-all
 * (its own share included), the message of a send.
 *
 * Left out: contention between different collectives at the same time.
 */
#ifndef PLAIT_LOWLEVEL_COLLECTIVE_H
#define PLAIT_LOWLEVEL_COLLECTIVE_H

#include "plait/cluster.h"
#include "plait/plan.h"

PLAIT_BEGIN_DECLS

/* ---- bytes on the wire ------------------------------------------------------------------- */

/** Bytes that one of `ranks` sends for a buffer of `bytes` on a ring. (C.40) */
double plait_collective_sent_bytes(plait_collective_op op, int ranks, double bytes);

/** Bus bandwidth over algorithm bandwidth: 2(n-1)/n, (n-1)/n or 1 (nccl-tests). (C.40) */
double plait_bus_factor(plait_collective_op op, int ranks);

/* ---- closed forms ------------------------------------------------------------------------ */

/** All-gather or reduce-scatter through a switch: S/W (n-1)/n; ranks 0: the limit S/W. (C.41) */
double plait_switch_all_gather_s(double bytes, double bytes_per_s, int ranks);

/** All-reduce through a switch: twice C.41, or S/W if the switch reduces (SHARP, NVLS). (C.42) */
double plait_switch_all_reduce_s(double bytes, double bytes_per_s, int ranks, bool in_switch);

/**
 * All-to-all inside a node of `ranks`, `total_bytes` over all of them: S (n-1) / (n^2 W). (C.43)
 *
 * @param topk  k, ranks that each row is sent to, so the share min(k/n, 1) of S travels; 0: all
 *              ranks
 */
double plait_switch_all_to_all_s(double total_bytes, double bytes_per_s, int ranks, int topk);

/**
 * Hierarchical all-reduce: reduce-scatter in a node, all-reduce across nodes, all-gather. (C.44)
 */
double plait_hierarchical_all_reduce_s(double bytes, plait_link inner, int inner_ranks,
                                       plait_link outer, int outer_ranks);

/** Algorithm bandwidth of an all-gather up a switch tree: min_i D_i W_i / (D_i - 1). (C.45) */
double plait_tree_all_gather_bytes_per_s(const int *degree, const double *bytes_per_s, int levels);

/** All-gather on a ring (both directions) or, without wrap, a line. (C.46) */
double plait_torus_ring_all_gather_s(double bytes, int ranks, double bytes_per_s, bool wrap);

/**
 * All-to-all of `bytes` per rank on a grid of sides size[], routed along one axis after the other.
 * The axis whose halves exchange the most bytes limits it. (C.111)
 *
 * @param wrap  whether each axis closes to a ring; an axis of two units does not
 */
double plait_grid_all_to_all_s(double bytes, const int *size, const bool *wrap, int axes,
                               double link_bytes_per_s);

/** All-reduce through a root that serves one rank at a time, as a textbook reference. (C.116) */
double plait_naive_all_reduce_s(plait_link link, int ranks, double bytes);

/** Latency of a ring or line all-gather: its sequential hops times the hop latency. (C.47) */
double plait_torus_ring_latency_s(int ranks, double hop_s, bool wrap);

/**
 * All-reduce over the axes of a grid: reduce-scatter x, y, z, then all-gather back. (C.48)
 *
 * @param axis_bytes_per_s  rate of one axis, both directions together
 * @param all_axes          the buffer is striped over all axes at once
 */
double plait_torus_all_reduce_s(double bytes, const int *size, int axes, double axis_bytes_per_s,
                                bool all_axes);

/* ---- NCCL's own latencies ---------------------------------------------------------------- */

typedef enum plait_nccl_algorithm {
    PLAIT_NCCL_RING,
    PLAIT_NCCL_TREE,
    PLAIT_NCCL_NVLS,
    PLAIT_NCCL_ALGORITHMS
} plait_nccl_algorithm;

typedef enum plait_nccl_protocol {
    PLAIT_NCCL_LL,
    PLAIT_NCCL_LL128,
    PLAIT_NCCL_SIMPLE,
    PLAIT_NCCL_PROTOCOLS
} plait_nccl_protocol;

/**
 * Latency of NCCL's tuner for one (algorithm, protocol). (C.49)
 *
 * @param ranks, nodes   n and N; n / N ranks in each node
 * @param net_overhead_s posting time of the CPU: 1 us, 2 us on AMD hosts
 *
 * Source: NVIDIA/nccl src/graph/tuning.cc, 2.30.
 */
double plait_nccl_latency_s(plait_collective_op op, plait_nccl_algorithm algorithm,
                            plait_nccl_protocol protocol, int ranks, int nodes,
                            double net_overhead_s);

/* ---- a group placed on a cluster --------------------------------------------------------- */

/** A group placed on a cluster: joined[l] of its ranks share one instance of level l. */
typedef struct plait_route {
    const plait_cluster *cluster;
    const plait_accelerator *accelerator;
    int ranks;
    int levels; /* number of levels that the group spans: 0 .. levels-1 */
    int joined[PLAIT_MAX_LEVELS];
    /* if a level is a grid: members along x, y, ..., and their spacing in units */
    unsigned short axis[PLAIT_MAX_LEVELS][PLAIT_MAX_SIDES];
    unsigned short spacing[PLAIT_MAX_LEVELS][PLAIT_MAX_SIDES];
} plait_route;

/** Place a group on the cluster. (C.52) */
plait_route plait_route_of(const plait_cluster *cluster, plait_group_shape group);

/** Effects of the software on a route, from plait_factors (runtime.h). */
typedef struct plait_network {
    double nic;       /* factor on the rate of levels beyond the first */
    double nic_ranks; /* exponent by which that rate falls with the ranks; 0: constant */
    double rails;     /* NICs of a node that one communicator drives at once; 0: all */
    double hop_s;     /* latency added to each hop between nodes */
} plait_network;

/** Scale-up domains that the group spans: ranks / joined[0], at least 1; may be fractional. */
double plait_route_nodes(const plait_route *route);

/**
 * Expected number of distinct nodes in topk uniform, independent choices: N (1 - (1 - 1/N)^k).
 * (C.57)
 *
 * The limit on nodes of the DeepSeek-V3 report is not included.
 */
double plait_expected_nodes(double nodes, double topk);

/**
 * Expected number of groups of experts that a token is sent to, of `groups` equal ones: nodes, or
 * ranks. (C.150)
 *
 *     N (1 - C(E - E/N, k) / C(E, k))
 *
 * @param experts  E, of which topk different ones are chosen uniformly
 */
double plait_reached_groups(double groups, double topk, double experts);

/**
 * Like plait_reached_groups(), if the topk experts of a token have consecutive numbers, as a fake
 * gate assigns them round robin, and each group has consecutive experts. (C.150)
 *
 *     1 + (k - gcd(k, E/N)) / (E/N)
 */
double plait_reached_groups_round_robin(double groups, double topk, double experts);

/**
 * Seconds of a collective on a placed group. (C.55)
 *
 * Inside one domain: the fitted lines and in-switch reduction of C.50, or C.51 on a grid. Across
 * domains: the larger of that time and the fastest of NCCL's algorithms and protocols between
 * domains (C.49, C.53, C.54, C.114). If any used level is a grid, the levels are summed (C.112).
 */
double plait_collective_s(const plait_route *route, plait_network network, plait_collective_op op,
                          double bytes);

/**
 * Seconds of an expert all-to-all: each rank sends `bytes`, topk copies of its tokens. (C.56)
 *
 * @param node_copies  > 0: a token is sent once to each node that it needs, at most to this number
 *                     of nodes, and is distributed inside the node; 0: every copy is sent
 *                     separately
 */
double plait_expert_all_to_all_s(const plait_route *route, plait_network network, double bytes,
                                 double topk, double node_copies);

/**
 * Seconds of an expert all-to-all by kernels that send a token once to each node that it needs and,
 * at the same time, forward it once to each rank in the node (DeepEP, HybridEP). (C.153)
 *
 * @param bytes          topk copies of the tokens of one rank
 * @param topk, experts  experts of a token, experts of the router
 * @param node_copies    maximum number of nodes of a token, its own included
 * @param round_robin        whether a token's experts have consecutive numbers
 */
double plait_relayed_all_to_all_s(const plait_route *route, plait_network network, double bytes,
                                  double topk, double experts, double node_copies,
                                  bool round_robin);

/** Seconds of one point-to-point message between neighbours of a group. (C.59) */
double plait_p2p_s(const plait_route *route, plait_network network, double bytes);

PLAIT_END_DECLS

#endif
