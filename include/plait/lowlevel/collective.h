/*
 * collective.h - seconds of one collective on one group of ranks.
 *
 * A group is placed on the cluster (plait_route_of): how many of its ranks share each level of
 * links. plait_collective_s then prices a buffer on that route: fitted lines inside one scale-up
 * domain, NCCL's latencies and a bandwidth bound a level beyond it, rings and lines on grids. The closed
 * forms it is made of are public; each is a textbook formula with its source.
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

/** All-reduce through a switch: twice that, or S/W if the switch reduces (SHARP, NVLS). (C.42) */
double plait_switch_all_reduce_s(double bytes, double bytes_per_s, int ranks, bool in_switch);

/**
 * All-to-all inside a node of `ranks`, `total_bytes` over all of them: S (n-1) / (n^2 W). (C.43)
 *
 * @param topk  each row goes to so many ranks only, min(k/n, 1) of it; 0: to all
 */
double plait_switch_all_to_all_s(double total_bytes, double bytes_per_s, int ranks, int topk);

/** Reduce-scatter in the node, all-reduce across, all-gather in the node. (C.44) */
double plait_hierarchical_all_reduce_s(double bytes, plait_link inner, int inner_ranks,
                                       plait_link outer, int outer_ranks);

/** Algorithm bandwidth of an all-gather up a switch tree: min_i D_i W_i / (D_i - 1). (C.45) */
double plait_tree_all_gather_bytes_per_s(const int *degree, const double *bytes_per_s, int levels);

/** All-gather on a ring (both directions) or, without wrap, a line. (C.46) */
double plait_torus_ring_all_gather_s(double bytes, int ranks, double bytes_per_s, bool wrap);

/**
 * All-to-all of `bytes` a rank on a grid of sides size[], routed along one axis after the other. The
 * axis whose halves exchange most is the bound. (C.111)
 *
 * @param wrap  which axes have two ways round, which neighbours alone (an axis of two) have not
 */
double plait_grid_all_to_all_s(double bytes, const int *size, const bool *wrap, int axes,
                               double link_bytes_per_s);

/** A root takes everybody's buffer and sends the sum back, one rank at a time: for teaching. (C.116) */
double plait_naive_all_reduce_s(plait_link link, int ranks, double bytes);

/** Hops that a ring or line all-gather waits for, times the hop latency. (C.47) */
double plait_torus_ring_latency_s(int ranks, double hop_s, bool wrap);

/**
 * All-reduce over the axes of a grid: reduce-scatter x, y, z, then all-gather back. (C.48)
 *
 * @param axis_bytes_per_s  both directions of one axis together
 * @param all_axes          stripes run along all axes at once
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

/** Where a group's ranks sit: joined[l] ranks of it share one instance of level l. */
typedef struct plait_route {
    const plait_cluster *cluster;
    const plait_accelerator *accelerator;
    int ranks;
    int levels; /* used: the group spans levels 0 .. levels-1 */
    int joined[PLAIT_MAX_LEVELS];
    /* where a level is a grid: members along x, y, ..., and how many units apart they are */
    unsigned short axis[PLAIT_MAX_LEVELS][PLAIT_MAX_SIDES];
    unsigned short spacing[PLAIT_MAX_LEVELS][PLAIT_MAX_SIDES];
} plait_route;

/** Place a group on the cluster. (C.52) */
plait_route plait_route_of(const plait_cluster *cluster, plait_group_shape group);

/** What software adds to a route: a factor on the network rate, time of a hop. */
typedef struct plait_network {
    double nic;       /* factor on the rate of levels beyond the first */
    double nic_ranks; /* how fast it falls with a collective's ranks: an exponent; 0: not at all */
    double rails;     /* NICs of a node that one communicator drives at once; 0: all it has */
    double hop_s;     /* added to each hop between nodes */
} plait_network;

/** Scale-up domains that the group spans: ranks / joined[0], at least 1; may be no whole number. */
double plait_route_nodes(const plait_route *route);

/**
 * Distinct nodes that topk uniform choices hit: N (1 - (1 - 1/N)^k). (C.57)
 *
 * Uniform and independent choices; the DeepSeek-V3 report adds the limit on nodes.
 */
double plait_expected_nodes(double nodes, double topk);

/**
 * Groups of a router's experts that a token's choice reaches, of `groups` alike: nodes, or ranks. (C.150)
 *
 *     N (1 - C(E - E/N, k) / C(E, k))
 *
 * @param experts  E, of which topk different ones are chosen uniformly
 */
double plait_reached_groups(double groups, double topk, double experts);

/**
 * Seconds of a collective on a placed group. (C.55)
 *
 * One domain: C.50's fitted lines and in-switch reduction, on a grid C.51. Beyond: the larger of
 * that inside and the cheapest of NCCL's algorithms and protocols between domains (C.49, C.53,
 * C.54, C.114); where any level that is used is a grid, one level after the other (C.112).
 */
double plait_collective_s(const plait_route *route, plait_network network, plait_collective_op op,
                          double bytes);

/**
 * Seconds of an expert all-to-all: each rank sends `bytes`, topk copies of its tokens. (C.56)
 *
 * @param node_copies  > 0: a token is sent once a node it needs, at most so many nodes, and fans
 *                     out inside; 0: every copy travels
 */
double plait_expert_all_to_all_s(const plait_route *route, plait_network network, double bytes,
                                 double topk, double node_copies);

/**
 * The same by kernels that send a token once to a node, and there once to each rank that it needs,
 * beside each other (DeepEP, HybridEP). (C.153)
 *
 * @param bytes        topk copies of the tokens, as above
 * @param topk, experts  of the router
 * @param node_copies    nodes that a token reaches at most, its own included
 */
double plait_relayed_all_to_all_s(const plait_route *route, plait_network network, double bytes,
                                  double topk, double experts, double node_copies);

/** Seconds of one point-to-point message between neighbours of a group. (C.59) */
double plait_p2p_s(const plait_route *route, plait_network network, double bytes);

PLAIT_END_DECLS

#endif
