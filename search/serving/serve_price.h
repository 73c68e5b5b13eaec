/* serve_price.h - prices one deployment under any load */
#pragma once

#include "search/serving/serve_space.h"

/**
 * Fills `role` with the tables and memory that pricing a plan needs, in `arena`; or sets *why to
 * the reason why the plan cannot run. Errors: RANGE, NOMEM.
 */
PLAIT_MUST_CHECK plait_status serve_roles(const plait_serve_options *q,
                                          const plait_serve_plan *plan, plait_arena *arena,
                                          const serve_candidate *role[PLAIT_SERVE_ROLES],
                                          const char **why, plait_error *err);

/** Returns the plan in the form that the cost model takes. */
plait_deployment serve_deployment_of(const plait_serve_options *q, const plait_serve_plan *plan,
                                     const serve_candidate *const role[PLAIT_SERVE_ROLES]);

/** Prices the plan under a load. Returns false if the service is not stable. */
bool serve_price(const plait_serve_options *q, plait_load load, plait_serve_plan *plan,
                 const serve_candidate *const role[PLAIT_SERVE_ROLES]);

/** True if the plan is stable and meets all bounds of the options. */
bool serve_meets(const plait_serve_options *q, const plait_serve_plan *plan);

/** Returns the largest ratio of a stable plan's time to its bound; 0 without bounds. */
double serve_excess(const plait_serve_options *q, const plait_serve_plan *plan);

/** True if a stable plan misses one of the bounds first .. end - 1. */
bool serve_misses(const plait_serve_options *q, const plait_serve_plan *plan, int first, int end);

/**
 * Returns the tightest bound on the mean time per token, 0 if there is none. Bounds on percentiles
 * count, since percentiles are no shorter than the mean.
 */
double serve_tightest_tpot(const plait_serve_options *q, const plait_engine *engine);

/**
 * Fills the bounds that the predicted times of an engine must meet: those of the question divided
 * by the engine's factors (C.384); 0: no bound.
 */
void serve_limits_of(const plait_serve_options *q, const plait_engine *engine,
                     double seconds[PLAIT_SERVE_LIMITS]);

/**
 * Returns the maximum rate, requests/s, at which a plan is stable and, if `within` is true, meets
 * all bounds. (S.105)
 */
double serve_most_rate(const plait_serve_options *q, const plait_serve_plan *plan,
                       const serve_candidate *const role[PLAIT_SERVE_ROLES], bool within);
