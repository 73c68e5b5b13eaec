/*
 * calibrate_kernels.h - plait calibrate KERNELS.csv...: an accelerator and the network of its
 * cluster
 */
#pragma once

#include "cli/calibrate_steps.h"
#include "plait/arena.h"
#include "plait/error.h"

typedef struct calibrate_kernels_task {
    const char *accelerator; /* name of the accelerator; NULL: the one that the tables name */
    const char *cluster;     /* name of the cluster; NULL: the accelerator's default network */
    calibrate_sink accelerator_sink;
    calibrate_sink cluster_sink;
} calibrate_kernels_task;

/** Fit the tables, print the errors, and write the accelerator and the cluster. */
PLAIT_MUST_CHECK plait_status calibrate_kernels(const calibrate_kernels_task *task,
                                                const opt_operands *operands, plait_arena *arena,
                                                bool *no, plait_error *err);
