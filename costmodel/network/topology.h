/*
 * topology.h - how a group of ranks uses each kind of link
 *
 * Level 0 is the scale-up domain, whose times follow from fits or, on a grid, from rings. A level
 * above it joins units (instances of the level below). If no level that a group uses is a grid,
 * NCCL's algorithms price all levels at once (collective.c) and need only the share of the rate
 * that a group can use. If one is a grid, the levels are priced one after the other (levels_s).
 */
#pragma once

#include "plait/lowlevel/collective.h"

typedef struct link_kind {
    /**
     * Seconds of a collective of a group's units at level l; `rate`: all bytes/s that one GPU
     * sends. NULL: the level is priced by fits as the domain (C.50), and by its rate above it.
     */
    double (*collective_s)(const plait_route *route, int l, double rate, plait_collective_op op,
                           double bytes);
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

// topology.c
/** Seconds of a collective of `ranks` ranks inside one domain. (C.50, C.51) */
double domain_s(const plait_route *route, int ranks, plait_collective_op op, double bytes);

/** Rate of the domain's link divided by that of the link that the fits were made on. */
double wire_speed(const plait_route *route);

/** Units of level l - 1 that the group joins at level l. */
int route_units(const plait_route *route, int l);

/**
 * Bytes/s that one GPU sends into level l, after the software's efficiency and the group's share.
 */
double level_rate(const plait_route *route, plait_network network, int l, int units);

/** Latency of a hop of level l, without the part that software adds. (C.115) */
double level_latency_s(const plait_cluster *cluster, int l);

// topology_grid.c
/** Fills the members of a group along each axis of level l, and their spacing. (C.52, C.117) */
void grid_place(const plait_group_shape *group, int l, plait_route *route);

/** A collective one level after the other, from the inside out and back. (C.112) */
double levels_s(const plait_route *route, plait_network network, plait_collective_op op,
                double bytes);
