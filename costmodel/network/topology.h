/*
 * topology.h - what a kind of link does for a group of ranks: a descriptor a kind, one file each
 *
 * Level 0 is the scale-up domain: its times are whole, from fits or from rings. A level above it
 * joins units (instances of the level below). Where all of those that a group uses are switched,
 * NCCL's algorithms price them at once (collective.c) and ask only what share of its rate a group
 * can use; where one is a grid, they are priced one after the other (collective_levels.c).
 */
#pragma once

#include "plait/lowlevel/collective.h"

typedef struct link_kind {

    /** Inside the domain: all-gather, reduce-scatter of `ranks`, which hold `bytes` together. */
    double (*gather_s)(const plait_route *route, int ranks, plait_collective_op op, double bytes);
    double (*reduce_s)(const plait_route *route, int ranks, double bytes);
    double (*all_to_all_s)(const plait_route *route, int ranks, double bytes);
    /** Rate between two neighbours of a domain, over that of the links that p2p was measured on. */
    double (*send_speed)(const plait_route *route);

    /** At level l, of a GPU's rate what a group of so many units can use; NULL: all of it. */
    double (*share)(const plait_cluster *cluster, int l, int units);
} link_kind;

#define X(constant, word, descriptor) extern const link_kind descriptor;
PLAIT_LEVEL_LIST(X)
#undef X

const link_kind *link_kind_of(const plait_level *level);

/** Seconds of a collective of `ranks` ranks inside one domain. */
double domain_s(const plait_route *route, int ranks, plait_collective_op op, double bytes);

/** Units of level l - 1 that the group joins at level l. */
int route_units(const plait_route *route, int l);

/** What one GPU sends into level l, by the software's share of the wire and the units' of the links. */
double level_rate(const plait_route *route, plait_network network, int l, int units);

/** Of a hop of level l, beside what software adds. (C.115) */
double level_latency_s(const plait_cluster *cluster, int l);

/** Does the group use a grid? */
bool route_uses_grid(const plait_route *route);

// topology_switch.c
/** C.50 at `speed` times the rate of the links that it was fitted on. */
double fitted_s(const plait_route *route, int ranks, plait_collective_op op, double bytes,
                double speed);
/** Rate of the domain's link divided by that of the link that the fits were made on. */
double wire_speed(const plait_route *route);

// topology_grid.c
/** Along the axes of level l: how many members a group has, and how far apart. (C.52, C.117) */
void grid_place(const plait_group_shape *group, int l, plait_route *route);
/** Collectives among the units of a grid at level l, `rate` all that one GPU sends into it. (C.51) */
double grid_gather_s(const plait_route *route, int l, double rate, double bytes);
double grid_reduce_s(const plait_route *route, int l, double rate, double bytes);
double grid_all_to_all_s(const plait_route *route, int l, double rate, double bytes);

// collective_levels.c
/** One level after the other, from the inside out and back. (C.112) */
double levels_s(const plait_route *route, plait_network network, plait_collective_op op,
                double bytes);
