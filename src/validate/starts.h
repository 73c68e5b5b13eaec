/* starts.h - predictions of the figures in a server's start log */
#pragma once

#include "io/csv/start_log.h"
#include "plait/cluster.h"
#include "plait/model.h"
#include "plait/serve.h"

/** The prediction of a start log, with its engine and worker. */
typedef struct start_prediction {
    plait_engine engine; /* the profile with the settings of the log */
    plait_serving serving;
    plait_serve_start start;
} start_prediction;

/**
 * Predict the figures of a start log.
 *
 * @param profile  name of an engine profile; NULL: the one for the version in the log
 * @return         RANGE if no profile covers the engine, or if the worker cannot run
 */
PLAIT_MUST_CHECK plait_status start_predict(const start_log *log, const char *profile,
                                            const plait_model *model, const plait_cluster *cluster,
                                            plait_arena *arena, start_prediction *out,
                                            plait_error *err);
