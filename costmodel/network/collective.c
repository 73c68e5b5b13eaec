/*
 * collective.c - seconds of one collective of a group that is placed on a cluster
 *
 * The time of a group inside one scale-up domain comes from domain_s (topology.c). For a group
 * across domains, NCCL's rings and trees are priced over all levels at once, at the rate of the
 * slowest level.
 */
#include "costmodel/network/topology.h"

#include <math.h>

#include "base/numbers.h"

/*
 * Constants of NCCL 2.30 (src/graph/tuning.cc): the time of the CPU to post a transfer on Intel
 * hosts (2 us on AMD); the limits in bytes/s of the low-latency protocol LL between two nodes and
 * between more nodes; and the shares of the links' rate that the protocols reach. LL sends a flag
 * with each data item, which halves the data rate; LL on trees is slower still.
 */
static const double posting_s = 1e-6;
static const double ll_cap_two = 39e9;
static const double ll_cap_more = 20.4e9;
static const double ll_slower = 2.0;
static const double tree_ll_slower = 3.8;
static const double ll128_share = 0.92;
static const double tree_share = 0.92;

/* Largest number of ranks at which links still reach their full rate. (C.308) */
static const double ranks_at_full_rate = 16.0;

/*
 * Time that an all-to-all takes to post the send to one peer outside the domain, as a share of
 * posting_s: an estimate. (C.56)
 */
static const double posting_share_a_peer = 0.5;

/*
 * A chain over N nodes waits for min(N - 1, 8 + N / 4) hops. The second term is empirical: in
 * published runs, large groups wait for fewer than N - 1 hops. (C.54)
 */
static const double chain_least_hops = 8.0;
static const double chain_nodes_a_hop = 4.0;

// ---- between domains -----------------------------------------------------------------------

/*
 * Number of NICs that the group's ranks in one node use together: one for each rank, but at most
 * one for each rail of the communicator's rings (0 rails: no limit).
 */
static double rails_of(plait_network network, int inside)
{
    return network.rails > 0.0 ? smaller(network.rails, inside) : inside;
}

/* All levels beyond the domain as one link. NCCL pipelines them, so the slowest sets the rate. */
typedef struct outer_link {
    double bytes_per_s;      /* rate of an all-gather that sends a unit only the data of others */
    double link_bytes_per_s; /* lowest rate into one unit over all levels */
    double ramp_bytes;       /* additional bytes for each hop (C.53) */
    double hop_s;
    double nodes;
} outer_link;

static double hop_latency_s(const plait_route *route, plait_network network)
{
    double s = network.hop_s;

    for (int l = 1; l < route->levels; l++)
        s = larger(s, network.hop_s + level_latency_s(route->cluster, l));
    return s;
}

/*
 * At level l the g ranks of a unit use g NICs, each for 1/g of the buffer (C.53). A ring runs at
 * the rate of its slowest link, which is lower on average the more links the ring has (C.308).
 */
static outer_link outer_of(const plait_route *route, plait_network network)
{
    outer_link outer = {
        .link_bytes_per_s = HUGE_VAL,
        .hop_s = hop_latency_s(route, network),
        .nodes = plait_route_nodes(route),
    };
    const double share = network.nic_ranks > 0.0 && route->ranks > ranks_at_full_rate
                             ? pow(ranks_at_full_rate / route->ranks, network.nic_ranks)
                             : 1.0;
    int units[PLAIT_MAX_LEVELS];
    double rate[PLAIT_MAX_LEVELS];

    for (int l = 1; l < route->levels; l++) {
        const int inside = route->joined[l - 1];
        units[l - 1] = route_units(route, l);
        rate[l - 1] =
            share * rails_of(network, inside) * level_rate(route, network, l, units[l - 1]);
        outer.link_bytes_per_s = smaller(outer.link_bytes_per_s, rate[l - 1]);
        outer.ramp_bytes = larger(outer.ramp_bytes, route->cluster->level[l].ramp_bytes * inside);
    }
    outer.bytes_per_s = plait_tree_all_gather_bytes_per_s(units, rate, route->levels - 1);
    return outer;
}

/*
 * Seconds of `rounds` passes of a buffer over the outer link. Short messages do not fill the links:
 * this counts as ramp_bytes more for each of the `passes` nodes that a chunk passes. (C.53)
 */
static double wire_s(const outer_link *outer, double rounds, double bytes, double passes)
{
    return rounds * (bytes + passes * outer->ramp_bytes) / outer->bytes_per_s;
}

/*
 * Each link of a ring carries all chunks but one, even into units that already have them. Between
 * two nodes this is twice the data that each node is missing. (C.309)
 */
static double ring_wire_s(const plait_route *route, const outer_link *outer, double rounds,
                          double bytes, double passes)
{
    const double passed = bytes * (route->ranks - 1) / route->ranks;

    return rounds * passed / outer->link_bytes_per_s + wire_s(outer, rounds, 0.0, passes);
}

/*
 * A ring passes every rank. Its time is NCCL's latency for the hops that the chain waits for, the
 * wire latency of each hop, and the bytes at the rate that the protocol reaches. (C.55)
 */
static double ring_s(const plait_route *route, const outer_link *outer, plait_collective_op op,
                     plait_nccl_protocol protocol, double bytes)
{
    const double nodes = outer->nodes;
    const double hops = smaller(nodes - 1.0, chain_least_hops + nodes / chain_nodes_a_hop);
    const int seen_nodes = 1 + (int)lround(hops);
    const int seen_ranks = seen_nodes * (int)lround(route->ranks / nodes);
    const double rounds = op == PLAIT_ALL_REDUCE ? 2.0 : 1.0;
    const double latency_s =
        plait_nccl_latency_s(op, PLAIT_NCCL_RING, protocol, seen_ranks, seen_nodes, posting_s) +
        rounds * hops * outer->hop_s;
    const double cap = nodes <= 2.0 ? ll_cap_two : ll_cap_more;
    const double sent = plait_collective_sent_bytes(op, route->ranks, bytes);

    if (protocol == PLAIT_NCCL_LL)
        return latency_s +
               larger(sent / cap, ll_slower * ring_wire_s(route, outer, rounds, bytes, 0.0));
    return latency_s + ring_wire_s(route, outer, rounds, bytes, 1.0 + hops) /
                           (protocol == PLAIT_NCCL_LL128 ? ll128_share : 1.0);
}

/* Data passes the log2 N levels of a tree over N nodes up and down again. (C.55) */
static double tree_s(const plait_route *route, const outer_link *outer,
                     plait_nccl_protocol protocol, double bytes)
{
    const double depth = ceil(log2(outer->nodes));
    const double latency_s =
        plait_nccl_latency_s(PLAIT_ALL_REDUCE, PLAIT_NCCL_TREE, protocol, route->ranks,
                             (int)lround(outer->nodes), posting_s) +
        2.0 * depth * outer->hop_s;
    const double sent = plait_collective_sent_bytes(PLAIT_ALL_REDUCE, route->ranks, bytes);

    if (protocol == PLAIT_NCCL_LL)
        return latency_s +
               larger(sent / ll_cap_more, tree_ll_slower * wire_s(outer, 2.0, bytes, 0.0));
    return latency_s + wire_s(outer, 2.0, bytes, 1.0 + depth) / tree_share;
}

/*
 * Beyond the domain each of the n ranks of an all-to-all posts n-1 sends. At each level the rank's
 * own port limits the time, or on a grid the links between the grid's halves. (C.56, C.111)
 */
static double outer_all_to_all_s(const plait_route *route, plait_network network, double bytes)
{
    double slowest_s = 0.0;

    for (int l = 1; l < route->levels; l++) {
        const int inside = route->joined[l - 1];
        const double rate = level_rate(route, network, l, route_units(route, l));
        slowest_s = larger(
            slowest_s, plait_level_is_grid(&route->cluster->level[l])
                           ? link_grid.collective_s(route, l, rate, PLAIT_ALL_TO_ALL, bytes)
                           : plait_switch_all_to_all_s(bytes * route->ranks, inside * rate,
                                                       (route->ranks + inside - 1) / inside, 0));
    }
    return slowest_s + hop_latency_s(route, network) +
           posting_share_a_peer * posting_s * (route->ranks - route->joined[0]);
}

static double all_to_all_s(const plait_route *route, plait_network network, double bytes,
                           double leaving_share)
{
    const plait_collective_fit *fit = &route->accelerator->collective[PLAIT_ALL_TO_ALL];
    const int inside = route->joined[0];
    const double staying = bytes * inside / route->ranks;
    const double inner_s =
        inside > 1 ? domain_s(route, inside, PLAIT_ALL_TO_ALL, staying) : fit->a_s[1];

    return larger(inner_s, fit->a_s[1] + outer_all_to_all_s(route, network, bytes * leaving_share));
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

/*
 * Seconds of an all-reduce in the switches; infinite if the switches of a level cannot reduce. Such
 * switches receive each byte once and send the sum once, so they are up to twice as fast as a
 * reduce and a gather; level->in_network is the factor. The latency is that of NVLS. (C.114)
 */
static double in_network_s(const plait_route *route, plait_network network, double bytes)
{
    const int nodes = (int)lround(plait_route_nodes(route));
    double slowest_s = 0.0;
    double hops_s = 0.0;

    for (int l = 1; l < route->levels; l++) {
        const plait_level *const level = &route->cluster->level[l];
        const int inside = route->joined[l - 1];
        if (level->in_network <= 0.0)
            return HUGE_VAL;
        const double rate =
            rails_of(network, inside) * level_rate(route, network, l, route_units(route, l));
        slowest_s = larger(slowest_s,
                           2.0 / level->in_network * (bytes + level->ramp_bytes * inside) / rate);
        hops_s += 2.0 * (level_latency_s(route->cluster, l) + network.hop_s);
    }
    return slowest_s + hops_s +
           plait_nccl_latency_s(PLAIT_ALL_REDUCE, PLAIT_NCCL_NVLS, PLAIT_NCCL_SIMPLE, route->ranks,
                                nodes, posting_s);
}

/*
 * C.153: one copy of a token is sent to each node with any of its topk experts, and from there to
 * the ranks with these experts (C.150). Each call also takes call_s, and crossing_s across nodes,
 * for the exchange of routing tables and the work that waits for them (C.307).
 */
double plait_relayed_all_to_all_s(const plait_route *route, plait_network network, double bytes,
                                  double topk, double experts, double node_copies, bool round_robin)
{
    double (*const reached)(double, double, double) =
        round_robin ? plait_reached_groups_round_robin : plait_reached_groups;
    static const double call_s = 1e-4, crossing_s = 2e-4; // C.307
    const double token_bytes = bytes / topk;

    if (route->ranks < 2)
        return 0.0;
    const double fan_out_s = domain_s(route, route->joined[0], PLAIT_ALL_TO_ALL,
                                      token_bytes * reached(route->ranks, topk, experts));
    if (route->levels == 1)
        return call_s + fan_out_s;
    const double nodes = plait_route_nodes(route);
    const double copies = smaller(node_copies, reached(nodes, topk, experts));
    const double outer_s = route->accelerator->collective[PLAIT_ALL_TO_ALL].a_s[1] +
                           outer_all_to_all_s(route, network, token_bytes * copies);
    return call_s + crossing_s + larger(fan_out_s, outer_s);
}

/*
 * Seconds of an all-reduce, all-gather or reduce-scatter of a group across domains. NCCL uses its
 * fastest algorithm and protocol; the part inside each domain runs at the same time, so the longer
 * of both counts. (C.55)
 */
static double outer_s(const plait_route *route, plait_network network, plait_collective_op op,
                      double bytes)
{
    double best_s = HUGE_VAL;

    for (int l = 0; l < route->levels; l++)
        if (plait_level_is_grid(&route->cluster->level[l]))
            return levels_s(route, network, op, bytes);
    const outer_link outer = outer_of(route, network);
    for (int p = 0; p < PLAIT_NCCL_PROTOCOLS; p++) {
        best_s = smaller(best_s, ring_s(route, &outer, op, (plait_nccl_protocol)p, bytes));
        if (op == PLAIT_ALL_REDUCE)
            best_s = smaller(best_s, tree_s(route, &outer, (plait_nccl_protocol)p, bytes));
    }
    if (op == PLAIT_ALL_REDUCE)
        best_s = smaller(best_s, in_network_s(route, network, bytes));
    return larger(domain_s(route, route->joined[0], op, bytes), best_s);
}

/*
 * C.140: a many-to-many scatter between two groups (PLAIT_M2MS) is priced as an all-to-all of their
 * union in which each rank sends S bytes, none of them to itself. Across domains all of S leaves
 * the domain. On a switch only the rank's port limits the time. With direct links between all
 * pairs, S uses only the links to the other half of the ranks. On a grid S passes at least one
 * link.
 */
double plait_collective_s(const plait_route *route, plait_network network, plait_collective_op op,
                          double bytes)
{
    if (route->ranks < 2 || bytes <= 0.0)
        return 0.0;
    if (op == PLAIT_P2P)
        return plait_p2p_s(route, network, bytes);
    if (op == PLAIT_M2MS) {
        const bool grid = plait_level_is_grid(&route->cluster->level[0]);
        const bool pairs = !grid && route->cluster->level[0].kind != PLAIT_LEVEL_SWITCH;
        const double n = route->ranks;
        const double stays = route->levels > 1 ? route->joined[0] : pairs ? 0.5 * n : 1.0;
        const double s =
            plait_collective_s(route, network, PLAIT_ALL_TO_ALL, bytes * n / (n - stays));

        return grid && route->levels == 1 ? larger(s, plait_p2p_s(route, network, bytes)) : s;
    }
    if (op == PLAIT_BROADCAST) // NCCL pipelines a broadcast around a ring
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
    const int l = route->levels - 1;

    if (route->ranks < 2)
        return 0.0;
    if (l == 0)
        return near.latency_s + bytes / (near.bytes_per_s * wire_speed(route));
    const plait_level *const level = &route->cluster->level[l];
    const double ports = plait_level_is_grid(level) ? level->ports : 1.0; // a send uses one port
    return near.latency_s + hop_latency_s(route, network) +
           bytes / (level_rate(route, network, l, 2) / ports);
}
