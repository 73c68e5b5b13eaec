/* collective.c - seconds of one collective on one placed group */
#include "plait/collective.h"

#include <math.h>

#include "numbers.h"

static const double posting_s = 1e-6; /* CPU posting a network transfer (NCCL, Intel hosts) */

/* NCCL's cap on the low-latency protocol between nodes, at two nodes and beyond (tuning.cc). */
static const double ll_cap_two = 39e9;
static const double ll_cap_more = 20.4e9;

static double rounds_of(plait_collective_op op)
{
    return op == PLAIT_ALL_REDUCE ? 2.0 : 1.0;
}

// ---- inside one scale-up domain ------------------------------------------------------------

/* The cluster's link against the one that the fit was measured on; a mesh needs all peers. */
static double domain_speed(const plait_route *route, int ranks)
{
    const plait_level *level = &route->cluster->level[0];
    const double wire = level->link.bytes_per_s / route->accelerator->scale_up_bytes_per_s;

    if (level->kind != PLAIT_LEVEL_MESH)
        return wire;
    return wire * (ranks - 1.0) / (level->gpus - 1.0);
}

/* C.50: small, middle and large messages each on a line; in-switch reduction from 5 ranks on. */
static double fitted_s(const plait_route *route, int ranks, plait_collective_op op, double bytes)
{
    const plait_collective_fit *fit = &route->accelerator->collective[op];
    const double n = ranks;
    const double speed = domain_speed(route, ranks);
    const double sent = plait_collective_sent_bytes(op, ranks, bytes);
    double best_s = HUGE_VAL;

    for (int p = 0; p < 3; p++)
        best_s = smaller(best_s, fit->a_s[p] + fit->b_s[p] * (n - 1.0) +
                                     sent / (fit->bytes_per_s[p] * speed));
    best_s += bytes / n / fit->local_bytes_per_s;
    if (op == PLAIT_ALL_REDUCE && ranks > 4 && fit->nvls_bytes_per_s > 0.0)
        best_s =
            smaller(best_s, fit->nvls_a_s + plait_switch_all_reduce_s(
                                                bytes, fit->nvls_bytes_per_s * speed, ranks, true));
    return best_s;
}

/* One direction of one link, and whether every axis in use closes to a ring. */
typedef struct torus_place {
    double link_bytes_per_s;
    int axes; /* in use */
    int hops; /* to the farthest member */
    bool wrap;
} torus_place;

static torus_place place_on_torus(const plait_route *route)
{
    const plait_level *level = &route->cluster->level[0];
    torus_place place = {.wrap = true};
    int dimensions = 0;

    for (int a = 0; a < 3; a++) {
        const int size = route->axis[a];
        const bool whole = size == level->torus[a] && size > 2;
        dimensions += level->torus[a] > 1;
        if (size < 2)
            continue;
        place.axes++;
        place.hops += (int)plait_torus_ring_latency_s(size, 1.0, whole);
        place.wrap = place.wrap && whole;
    }
    place.link_bytes_per_s =
        level->link.bytes_per_s * level->efficiency / (2.0 * (dimensions > 0 ? dimensions : 1));
    return place;
}

/* Gather along x, then y with x times the data, then z; stripes keep all axes busy. (C.51) */
static double torus_gather_s(const plait_route *route, const torus_place *place, double bytes)
{
    double s = 0.0;
    double share = 1.0;

    for (int a = 2; a >= 0; a--) {
        if (route->axis[a] < 2)
            continue;
        s += plait_torus_ring_all_gather_s(bytes * share, route->axis[a], place->link_bytes_per_s,
                                           place->wrap);
        share /= route->axis[a];
    }
    return s / place->axes;
}

static double torus_s(const plait_route *route, plait_collective_op op, double bytes)
{
    const torus_place place = place_on_torus(route);
    const double axis = (place.wrap ? 2.0 : 1.0) * place.link_bytes_per_s;
    const double latency_s = rounds_of(op) * place.hops * route->cluster->level[0].link.latency_s;

    if (place.axes == 0)
        return 0.0;
    if (op == PLAIT_ALL_REDUCE)
        return latency_s + plait_torus_all_reduce_s(bytes, route->axis, 3, axis, true);
    if (op == PLAIT_ALL_TO_ALL) // V / (4 W) of all ranks' buffers
        return latency_s + bytes * route->ranks / (4.0 * axis * place.axes);
    return latency_s + torus_gather_s(route, &place, bytes);
}

static double domain_s(const plait_route *route, int ranks, plait_collective_op op, double bytes)
{
    if (ranks < 2)
        return 0.0;
    if (route->cluster->level[0].kind == PLAIT_LEVEL_TORUS)
        return torus_s(route, op, bytes);
    return fitted_s(route, ranks, op, bytes);
}

// ---- between domains -----------------------------------------------------------------------

static double level_rate(const plait_level *level, plait_network network)
{
    return level->link.bytes_per_s * level->efficiency * network.nic / level->oversubscription;
}

/* Ranks of a group in one node use their NICs together, as far as the communicator's rings go. */
static double rails_of(plait_network network, int inside)
{
    return network.rails > 0.0 ? smaller(network.rails, inside) : inside;
}

/*
 * C.53, bandwidth in C.55: at level l, N units of g ranks each exchange their 1/g of the buffer;
 * the slowest level sets the pace of the pipelined whole. Short messages do not fill the links:
 * `ramp` times the level's ramp_bytes is added to what each GPU sends, once for each node that a
 * chunk passes.
 */
static double outer_bytes_s(const plait_route *route, plait_network network, double rounds,
                            double bytes, double ramp)
{
    int units[PLAIT_MAX_LEVELS];
    double rate[PLAIT_MAX_LEVELS];
    double ramp_bytes = 0.0;

    for (int l = 1; l < route->levels; l++) {
        const plait_level *level = &route->cluster->level[l];
        const int inside = route->joined[l - 1];
        units[l - 1] = (route->joined[l] + inside - 1) / inside;
        rate[l - 1] = rails_of(network, inside) * level_rate(level, network);
        ramp_bytes = larger(ramp_bytes, level->ramp_bytes * inside);
    }
    return rounds * (bytes + ramp * ramp_bytes) /
           plait_tree_all_gather_bytes_per_s(units, rate, route->levels - 1);
}

/*
 * Hops that a chain over N nodes waits for. Published multi-node runs see fewer than a ring's N-1
 * on large groups: an empirical 8 + N/4. (C.54)
 */
static double chain_hops(double nodes)
{
    return smaller(nodes - 1.0, 8.0 + nodes / 4.0);
}

static double hop_latency_s(const plait_route *route, plait_network network)
{
    double s = network.hop_s;

    for (int l = 1; l < route->levels; l++)
        s = larger(s, network.hop_s + route->cluster->level[l].link.latency_s);
    return s;
}

static double ring_s(const plait_route *route, plait_network network, plait_collective_op op,
                     plait_nccl_protocol protocol, double bytes)
{
    const double nodes = plait_route_nodes(route);
    const double hops = chain_hops(nodes);
    const int seen_nodes = 1 + (int)lround(hops);
    const int seen_ranks = seen_nodes * (int)lround(route->ranks / nodes);
    const double latency_s =
        plait_nccl_latency_s(op, PLAIT_NCCL_RING, protocol, seen_ranks, seen_nodes, posting_s) +
        rounds_of(op) * hops * hop_latency_s(route, network);
    const double cap = nodes <= 2.0 ? ll_cap_two : ll_cap_more;
    const double sent = plait_collective_sent_bytes(op, route->ranks, bytes);

    if (protocol == PLAIT_NCCL_LL)
        return latency_s +
               larger(sent / cap, 2.0 * outer_bytes_s(route, network, rounds_of(op), bytes, 0.0));
    return latency_s + outer_bytes_s(route, network, rounds_of(op), bytes, 1.0 + hops) /
                           (protocol == PLAIT_NCCL_LL128 ? 0.92 : 1.0);
}

static double tree_s(const plait_route *route, plait_network network, plait_nccl_protocol protocol,
                     double bytes)
{
    const double nodes = plait_route_nodes(route);
    const double latency_s = plait_nccl_latency_s(PLAIT_ALL_REDUCE, PLAIT_NCCL_TREE, protocol,
                                                  route->ranks, (int)lround(nodes), posting_s) +
                             2.0 * ceil(log2(nodes)) * hop_latency_s(route, network);
    const double sent = plait_collective_sent_bytes(PLAIT_ALL_REDUCE, route->ranks, bytes);

    if (protocol == PLAIT_NCCL_LL)
        return latency_s +
               larger(sent / ll_cap_more, 3.8 * outer_bytes_s(route, network, 2.0, bytes, 0.0));
    return latency_s + outer_bytes_s(route, network, 2.0, bytes, 1.0 + ceil(log2(nodes))) / 0.92;
}

/* Across nodes an all-to-all is n-1 sends: what leaves the domain is bound by the rank's own NIC. */
static double outer_all_to_all_s(const plait_route *route, plait_network network, double bytes,
                                 double leaving_share)
{
    const double n = route->ranks;
    double slowest_s = 0.0;

    for (int l = 1; l < route->levels; l++) {
        const int inside = route->joined[l - 1];
        const double rate = inside * level_rate(&route->cluster->level[l], network);
        slowest_s =
            larger(slowest_s, plait_switch_all_to_all_s(bytes * leaving_share * n, rate,
                                                        (route->ranks + inside - 1) / inside, 0));
    }
    return slowest_s + hop_latency_s(route, network) + 0.5 * posting_s * (n - route->joined[0]);
}

static double all_to_all_s(const plait_route *route, plait_network network, double bytes,
                           double leaving_share)
{
    const plait_collective_fit *fit = &route->accelerator->collective[PLAIT_ALL_TO_ALL];
    const int inside = route->joined[0];
    const double staying = bytes * inside / route->ranks;
    const double inner_s =
        inside > 1 ? domain_s(route, inside, PLAIT_ALL_TO_ALL, staying) : fit->a_s[1];

    return larger(inner_s, fit->a_s[1] + outer_all_to_all_s(route, network, bytes, leaving_share));
}

double plait_expert_all_to_all_s(const plait_route *route, plait_network network, double bytes,
                                 double topk, double node_copies)
{
    if (route->ranks < 2)
        return 0.0;
    if (route->levels == 1)
        return domain_s(route, route->ranks, PLAIT_ALL_TO_ALL, bytes);
    const double nodes = plait_route_nodes(route);
    const double copies =
        node_copies > 0.0 ? smaller(node_copies, plait_expected_nodes(nodes, topk)) : topk;
    return all_to_all_s(route, network, bytes, copies / topk);
}

/* Slices of a torus joined by a network: reduce inside, exchange across, gather inside. (C.58) */
static double sliced_torus_s(const plait_route *route, plait_network network,
                             plait_collective_op op, double bytes)
{
    const torus_place place = place_on_torus(route);
    const plait_link inner = {route->cluster->level[0].link.latency_s,
                              2.0 * place.link_bytes_per_s * larger(place.axes, 1)};
    const plait_link outer = {hop_latency_s(route, network),
                              level_rate(&route->cluster->level[1], network)};
    const double s = plait_hierarchical_all_reduce_s(bytes, inner, route->joined[0], outer,
                                                     (int)lround(plait_route_nodes(route)));

    return op == PLAIT_ALL_REDUCE ? s : s / 2.0;
}

/* C.55 for all-reduce, all-gather and reduce-scatter on a group that leaves its domain. */
static double outer_s(const plait_route *route, plait_network network, plait_collective_op op,
                      double bytes)
{
    const double inner_s = domain_s(route, route->joined[0], op, bytes);
    double best_s = HUGE_VAL;

    if (route->cluster->level[0].kind == PLAIT_LEVEL_TORUS)
        return sliced_torus_s(route, network, op, bytes);
    for (int p = PLAIT_NCCL_LL; p <= PLAIT_NCCL_SIMPLE; p++) {
        best_s = smaller(best_s, ring_s(route, network, op, (plait_nccl_protocol)p, bytes));
        if (op == PLAIT_ALL_REDUCE)
            best_s = smaller(best_s, tree_s(route, network, (plait_nccl_protocol)p, bytes));
    }
    return larger(inner_s, best_s);
}

double plait_collective_s(const plait_route *route, plait_network network, plait_collective_op op,
                          double bytes)
{
    if (route->ranks < 2 || bytes <= 0.0)
        return 0.0;
    if (op == PLAIT_P2P)
        return plait_p2p_s(route, network, bytes);
    if (op == PLAIT_BROADCAST) // NCCL's ring broadcast: the time of a send, pipelined
        op = PLAIT_ALL_GATHER;
    if (route->levels == 1)
        return domain_s(route, route->ranks, op, bytes);
    if (op == PLAIT_ALL_TO_ALL)
        return all_to_all_s(route, network, bytes, 1.0);
    return outer_s(route, network, op, bytes);
}

double plait_p2p_s(const plait_route *route, plait_network network, double bytes)
{
    const plait_link near = route->accelerator->p2p;
    const plait_level *domain = &route->cluster->level[0];

    if (route->ranks < 2)
        return 0.0;
    if (route->levels == 1) {
        const double peers = domain->kind == PLAIT_LEVEL_MESH ? domain->gpus - 1.0 : 1.0;
        const double speed =
            domain->link.bytes_per_s / route->accelerator->scale_up_bytes_per_s / peers;
        return near.latency_s + bytes / (near.bytes_per_s * speed);
    }
    const plait_level *outer = &route->cluster->level[route->levels - 1];
    return near.latency_s + hop_latency_s(route, network) + bytes / level_rate(outer, network);
}
