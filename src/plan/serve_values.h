/* serve_values.h - is a question of serving, or a deployment, made of values that there are at all? */
#pragma once

#include "plait/serve.h"

/** A model, a cluster, engines, formats, a load and bounds; what they come to is the search's to say. */
PLAIT_MUST_CHECK plait_status serve_check_question(const plait_serve_options *question,
                                                   plait_error *err);

/** What says a deployment: engine, workers, counts, formats, chunk and cap; not what it comes to. */
PLAIT_MUST_CHECK plait_status serve_check_plan(const plait_serve_plan *plan, plait_error *err);

/**
 * Why an engine would not start such workers with weights in a format; NULL: it would. Beside
 * plait_serve_rule_broken, which has no argument for formats.
 */
const char *serve_weights_broken(plait_engine_kind kind, const plait_model *model,
                                 plait_weight_format weights, plait_worker worker);

/** What is simulated: workers with a table under an engine, a load, and how requests are drawn. */
PLAIT_MUST_CHECK plait_status serve_check_simulation(const plait_deployment *deployment,
                                                     const plait_load *load,
                                                     const plait_serve_sim_options *draws,
                                                     plait_error *err);
