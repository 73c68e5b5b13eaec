/* calibrate_steps.h - `plait calibrate --log`: a cluster from a site's own measured steps */
#ifndef CALIBRATE_STEPS_H
#define CALIBRATE_STEPS_H

#include "calibrate_sink.h"
#include "opt.h"
#include "plait/arena.h"
#include "plait/error.h"

/**
 * Scale the cluster to the steps of a file, print what changed, and write the cluster.
 *
 * @param cluster_name  NULL is refused: steps do not say where they were measured
 */
PLAIT_MUST_CHECK plait_status calibrate_steps(const char *log, const char *cluster_name,
                                              const opt_operands *operands,
                                              const calibrate_sink *sink, plait_arena *arena,
                                              plait_error *err);

#endif
