/*
 * topology.h - what a kind of link does for a group of ranks: a descriptor a kind, one file each
 *
 * Level 0 is the scale-up domain: its times are whole, from fits or from rings. A level above it
 * joins units (instances of the level below) by NCCL's algorithms (collective.c), which ask it only
 * what share of its rate a group can use.
 */
#ifndef PLAIT_COSTMODEL_TOPOLOGY_H
#define PLAIT_COSTMODEL_TOPOLOGY_H

#include "plait/collective.h"

typedef struct link_kind {
    /** How far a group reaches along the axes of level `l`; NULL: it has no axes. */
    void (*place)(const plait_cluster *cluster, int l, const plait_group_shape *group, int axis[3]);

    /** All-gather, reduce-scatter of `ranks` of one domain, which hold `bytes` together. */
    double (*gather_s)(const plait_route *route, int ranks, plait_collective_op op, double bytes);
    double (*reduce_s)(const plait_route *route, int ranks, double bytes);
    double (*all_to_all_s)(const plait_route *route, int ranks, double bytes);
    /** Rate between two neighbours of a domain, over that of the links that p2p was measured on. */
    double (*send_speed)(const plait_route *route);

    /**
     * Time of a collective over several domains of this kind, outer links of `rate` bytes a second
     * a GPU and `latency_s` a hop; NULL: NCCL's rings and trees.
     */
    double (*slices_s)(const plait_route *route, plait_collective_op op, double bytes, double rate,
                       double latency_s);

    bool above; /* has a price above the domain, too: */
    /** At level l, of a GPU's rate what a group of so many units can use; NULL: all of it. */
    double (*share)(const plait_cluster *cluster, int l, int units);
} link_kind;

#define X(constant, word, descriptor) extern const link_kind descriptor;
PLAIT_LEVEL_LIST(X)
#undef X

const link_kind *link_kind_of(const plait_level *level);

/** Seconds of a collective of `ranks` ranks inside one domain. */
double domain_s(const plait_route *route, int ranks, plait_collective_op op, double bytes);

// topology_switch.c
/** C.50 at `speed` times the rate of the links that it was fitted on. */
double fitted_s(const plait_route *route, int ranks, plait_collective_op op, double bytes,
                double speed);
/** The domain's link against the one that the fits were made on. */
double wire_speed(const plait_route *route);

#endif
