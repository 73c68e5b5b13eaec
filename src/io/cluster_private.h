/* cluster_private.h - what the readers of clusters share: bounds, defaults, the reader itself */
#ifndef CLUSTER_PRIVATE_H
#define CLUSTER_PRIVATE_H

#include "plait/cluster.h"

#include "json.h"

enum {
    CLUSTER_MAX_NODE = 4096,     /* GPUs of one node */
    CLUSTER_MAX_NODES = 1 << 20, /* of one group */
    CLUSTER_MAX_GPUS = 1 << 22
};

/* Host, fans and NICs of a node of eight take 0.5 to 1 kW: an assumption. */
#define CLUSTER_GPU_OVERHEAD_W 125.0
/* Facility power over IT power of a modern site: 1.1 to 1.2. */
#define CLUSTER_PUE 1.2

/** Reads a cluster from the object at the cursor, as a file of plans holds one. */
plait_status cluster_read(const json_cursor *at, plait_arena *arena, plait_cluster *out,
                          plait_error *err) PLAIT_MUST_CHECK;

#endif
