/* cluster_private.h - what the readers of clusters share: bounds, defaults, the reader itself */
#pragma once

#include "plait/cluster.h"

#include "io/json/json.h"
#include "io/json/json_write.h"

enum {
    CLUSTER_MAX_NODE = 4096,     /* GPUs of one node */
    CLUSTER_MAX_NODES = 1 << 20, /* of one group */
    CLUSTER_MAX_GPUS = 1 << 22
};

/* Host, fans and NICs of a node of eight take 0.5 to 1 kW: an assumption. */
#define CLUSTER_GPU_OVERHEAD_W 125.0
/* Facility power over IT power of a modern site: 1.1 to 1.2. */
#define CLUSTER_PUE 1.2

/**
 * Reads the sides of a grid, which axes close, and what follows from them.
 *
 * @param below  accelerators of one of the units that it joins
 */
plait_status cluster_read_shape(const json_cursor *at, int below, plait_level *level,
                                plait_error *err) PLAIT_MUST_CHECK;

/** Writes them, of the whole grid: who reads it takes a slice again. */
void cluster_write_shape(json_writer *json, const plait_level *level);

/** Links of one unit: two along each axis, one where two units face each other. */
int cluster_ports(const int *side);

/** Gives a group links of its own, which live in `arena`. */
plait_status cluster_group_links(plait_arena *arena, int levels, const plait_level *level,
                                 plait_node_group *group, plait_error *err) PLAIT_MUST_CHECK;

/** Makes one group of those that are of one sort; one that is left has its links from the cluster. */
void cluster_merge_groups(plait_cluster *cluster);

/** Reads a cluster from the object at the cursor, as a file of plans holds one. */
plait_status cluster_read(const json_cursor *at, plait_arena *arena, plait_cluster *out,
                          plait_error *err) PLAIT_MUST_CHECK;
