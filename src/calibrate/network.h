/*
 * network.h - fit the links between nodes to measured collectives and sends
 *
 * The fit determines three numbers of the level that joins the measured nodes: the latency per hop,
 * the share of the wire rate that large messages reach, and the ramp, the bytes lost while links
 * fill. It uses the functions that price plans (C.53 to C.56, C.59). These take the time inside a
 * node from the accelerator, so calibrate the accelerator first. The wire rate stays the
 * cluster's: measurements of two nodes cannot separate it from the efficiency.
 *
 * Levels that no measured group reaches keep their numbers, and so do effects that only many nodes
 * show (oversubscription, scattered ranks, switches that reduce).
 */
#pragma once

#include "calibrate/fit.h"
#include "calibrate/points.h"

enum { NETWORK_NUMBERS = 3 };

typedef struct network_result {
    const plait_cluster *cluster; /* the given one, with the fitted numbers if `used` */
    int level;                    /* index of the fitted level */
    fit_errors errors;            /* points is 0 if there were too few for a fit */
    bool used;                    /* mean error on held-out points at most 25 % */
    bool at_wire; /* efficiency at the wire rate: the cluster's rate may be too low */
    fit_number number[NETWORK_NUMBERS];
    double value[NETWORK_NUMBERS]; /* base units */
} network_result;

/** The largest groups among the points. */
typedef struct network_shape {
    int nodes;         /* most nodes of a point; 0: no point spans several */
    int gpus_per_node; /* most ranks per node of a collective; 0: no collectives */
} network_shape;

/** Returns the largest groups among the points of an accelerator. */
network_shape network_shape_of(const char *accelerator, const point_list *points);

/**
 * Fits the links of a cluster to the points that span several nodes. *out lives in `arena`.
 *
 * @param cluster  whole, before plait_cluster_take(); its accelerator is the measured one
 */
PLAIT_MUST_CHECK plait_status network_fit(const plait_cluster *cluster, const point_list *points,
                                          plait_arena *arena, network_result *out,
                                          plait_error *err);
