/*
 * topology.h - rates and times of a group of ranks on each kind of link
 *
 * Level 0 is the scale-up domain; its times follow from fitted constants or, on a grid, from rings.
 * A level above it joins units, which are instances of the level below. If none of a group's levels
 * is a grid, NCCL's algorithms are priced over all levels at once (collective.c), with the share of
 * each level's rate that the group can use. Otherwise the levels are priced one after the other
 * (levels_s).
 */
#pragma once

#include "plait/lowlevel/collective.h"

typedef struct link_kind {
    /**
     * Seconds of a collective among a group's units at level l; `rate` is the bytes/s that one GPU
     * sends over all its links together. NULL: level 0 is priced by fits (C.50), a level above it
     * by its rate.
     */
    double (*collective_s)(const plait_route *route, int l, double rate, plait_collective_op op,
                           double bytes);
    /** Share of a GPU's rate into level l that a group of `units` units can use; NULL: 1. */
    double (*share)(const plait_cluster *cluster, int l, int units);
} link_kind;

#define X(constant, word, descriptor) extern const link_kind descriptor;
PLAIT_LEVEL_LIST(X)
#undef X

const link_kind *link_kind_of(const plait_level *level);

// topology.c
/** Seconds of a collective of `ranks` ranks inside one domain. (C.50, C.51) */
double domain_s(const plait_route *route, int ranks, plait_collective_op op, double bytes);

/** Rate of the cluster's scale-up link divided by the rate at which the fits were measured. */
double wire_speed(const plait_route *route);

/** Number of units (instances of level l - 1) that the group has in one instance of level l. */
int route_units(const plait_route *route, int l);

/**
 * Bytes/s that one GPU of the group can send into level l: the link's rate times its efficiency,
 * the software's efficiency and the group's share, divided by the oversubscription.
 */
double level_rate(const plait_route *route, plait_network network, int l, int units);

/** Seconds of one hop at level l, without the latency of software. (C.115) */
double level_latency_s(const plait_cluster *cluster, int l);

// topology_grid.c
/** Fills the number and the spacing of a group's members on each axis of level l. (C.52, C.117) */
void grid_place(const plait_group_shape *group, int l, plait_route *route);

/** Seconds of a collective that uses its levels one after the other. (C.112) */
double levels_s(const plait_route *route, plait_network network, plait_collective_op op,
                double bytes);
