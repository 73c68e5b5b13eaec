/*
 * topology.h - how a group of ranks uses each kind of link: one descriptor and one file per kind
 *
 * Level 0 is the scale-up domain: its descriptor returns whole times, from fits or from rings. A
 * level above it joins units (instances of the level below). If no level that a group uses is a
 * grid, NCCL's algorithms price all levels at once (collective.c) and need only the share of the
 * rate that a group can use. If one is a grid, the levels are priced one after the other
 * (collective_levels.c).
 */
#pragma once

#include "plait/lowlevel/collective.h"

typedef struct link_kind {

    /**
     * Seconds inside the domain; gather_s: all-gather or reduce-scatter of `bytes` over all ranks.
     */
    double (*gather_s)(const plait_route *route, int ranks, plait_collective_op op, double bytes);
    double (*reduce_s)(const plait_route *route, int ranks, double bytes);
    double (*all_to_all_s)(const plait_route *route, int ranks, double bytes);
    /**
     * Rate between two neighbours of a domain divided by that of the links that p2p was measured
     * on.
     */
    double (*send_speed)(const plait_route *route);

    /**
     * The share of a GPU's rate into level l that a group of `units` units can use; NULL: all of
     * it.
     */
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

/**
 * Bytes/s that one GPU sends into level l, after the software's efficiency and the group's share.
 */
double level_rate(const plait_route *route, plait_network network, int l, int units);

/** Latency of a hop of level l, without the part that software adds. (C.115) */
double level_latency_s(const plait_cluster *cluster, int l);

/** Does the group use a grid? */
bool route_uses_grid(const plait_route *route);

// topology_switch.c
/** Seconds by C.50 at `speed` times the rate of the links that it was fitted on. */
double fitted_s(const plait_route *route, int ranks, plait_collective_op op, double bytes,
                double speed);
/** Rate of the domain's link divided by that of the link that the fits were made on. */
double wire_speed(const plait_route *route);

// topology_grid.c
/** Fills the members of a group along each axis of level l, and their spacing. (C.52, C.117) */
void grid_place(const plait_group_shape *group, int l, plait_route *route);
/**
 * Collectives among the units of a grid at level l; `rate`: all bytes/s that one GPU sends. (C.51)
 */
double grid_gather_s(const plait_route *route, int l, double rate, double bytes);
double grid_reduce_s(const plait_route *route, int l, double rate, double bytes);
double grid_all_to_all_s(const plait_route *route, int l, double rate, double bytes);

// collective_levels.c
/** A collective one level after the other, from the inside out and back. (C.112) */
double levels_s(const plait_route *route, plait_network network, plait_collective_op op,
                double bytes);
