/*
 * network.h - the links between nodes from measured collectives and sends
 *
 * Of the level that joins the measured nodes three numbers are fitted: its latency a hop, the share of
 * the wire that large messages reach, and what of a message is lost while links fill. The functions
 * are those that price plans (C.53 to C.56, C.59); what they say of the inside of a node is the
 * accelerator's, so that is fitted first. The wire rate is the cluster's: two nodes cannot tell it
 * from the efficiency.
 *
 * Left out: levels that no measured group reaches keep their numbers, and so does what only many
 * nodes show (oversubscription, ranks that are scattered, switches that add).
 */
#pragma once

#include "calibrate/fit.h"
#include "calibrate/points.h"

enum { NETWORK_NUMBERS = 3 };

typedef struct network_result {
    const plait_cluster *cluster; /* as given, with the fitted numbers where they are used */
    int level;                    /* that was fitted */
    fit_errors errors;            /* points 0: too few, nothing was fitted */
    bool used;                    /* at most 25 % off on what was held out */
    bool at_wire;                 /* as fast as the wire: it may be faster than the cluster says */
    fit_number number[NETWORK_NUMBERS];
    double value[NETWORK_NUMBERS]; /* base units */
} network_result;

/** How far the points reach. */
typedef struct network_shape {
    int nodes;         /* 0: no point spans several */
    int gpus_per_node; /* that collectives share a node with; 0: there are none */
} network_shape;

/** The most nodes that points of this accelerator span, and the most ranks of one node. */
network_shape network_shape_of(const char *accelerator, const point_list *points);

/**
 * Fit the links of a cluster to the points that leave its scale-up domain. *out lives in `arena`.
 *
 * @param cluster  whole: no GPUs of it are taken yet; its accelerator is the one that was measured
 */
PLAIT_MUST_CHECK plait_status network_fit(const plait_cluster *cluster, const point_list *points,
                                          plait_arena *arena, network_result *out,
                                          plait_error *err);
