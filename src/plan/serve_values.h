/* serve_values.h - checks the values of serving problems and of deployments */
#pragma once

#include "plait/serve.h"

/**
 * Checks model, cluster, engines, formats, load and bounds, but not whether a deployment exists.
 */
PLAIT_MUST_CHECK plait_status serve_check_question(const plait_serve_options *question,
                                                   plait_error *err);

/** Checks engine, workers, counts, formats, chunk and cap of a deployment, but not its results. */
PLAIT_MUST_CHECK plait_status serve_check_plan(const plait_serve_plan *plan, plait_error *err);

/**
 * Returns why an engine would not start a worker with a weight format; NULL if it would start. This
 * check complements plait_serve_rule_broken(), which has no parameter for formats.
 */
const char *serve_weights_broken(plait_engine_kind kind, const plait_model *model,
                                 plait_weight_format weights, plait_worker worker);

/**
 * Checks the inputs of a simulation: workers with a table and an engine, a load, and the random
 * draws.
 */
PLAIT_MUST_CHECK plait_status serve_check_simulation(const plait_deployment *deployment,
                                                     const plait_load *load,
                                                     const plait_serve_sim_options *draws,
                                                     plait_error *err);

/**
 * Set the number of redundant experts of each layer with experts. The changed layers are copies in
 * `arena`. Fails (RANGE, at `where`) for a model without experts.
 */
plait_status serve_set_redundant(plait_model *model, int redundant, const char *where,
                                 plait_arena *arena, plait_error *err) PLAIT_MUST_CHECK;

/** Redundant experts of a layer; 0: none. */
int serve_redundant(const plait_model *model);
