/*
 * network.h - fit the links between nodes to measured collectives and sends
 *
 * The fit determines three numbers of the level that joins the measured nodes: the latency per hop,
 * the share of the wire rate that large messages reach, and the ramp, the bytes lost while links
 * fill. It uses the functions that price plans (C.53 to C.56, C.59). These compute the time inside
 * a node from the accelerator's constants, so calibrate the accelerator first. The fit does not
 * change the wire rate: measurements of two nodes cannot separate the rate from the efficiency.
 *
 * The numbers of levels that no measured group uses stay unchanged. The numbers of effects that
 * only many nodes show (oversubscription, scattered ranks, switches that reduce) also stay
 * unchanged.
 */
#pragma once

#include "calibrate/fit.h"
#include "calibrate/points.h"

enum { NETWORK_NUMBERS = 3 };

typedef struct network_result {
    const plait_cluster *cluster; /* the given cluster, with the fitted numbers if `used` */
    int level;                    /* index of the fitted level */
    fit_errors errors; /* errors of the fit; errors.points is 0 if there were too few points */
    bool used;         /* whether the mean error on held-out points is at most 25 % */
    bool at_wire; /* whether the efficiency is about 1, so the cluster's wire rate may be too low */
    fit_number number[NETWORK_NUMBERS];
    double value[NETWORK_NUMBERS]; /* fitted values, in base units */
} network_result;

/** The largest groups among the points. */
typedef struct network_shape {
    int nodes;         /* most nodes of a point; 0: each point has one node */
    int gpus_per_node; /* most ranks per node of a collective; 0: no collectives */
} network_shape;

/** Returns the largest groups among the points of an accelerator. */
network_shape network_shape_of(const char *accelerator, const point_list *points);

/**
 * Fits the links of a cluster to the points that span several nodes. *out lives in `arena`.
 *
 * @param cluster  the whole cluster, before plait_cluster_take(), with the measured accelerator
 */
PLAIT_MUST_CHECK plait_status network_fit(const plait_cluster *cluster, const point_list *points,
                                          plait_arena *arena, network_result *out,
                                          plait_error *err);
