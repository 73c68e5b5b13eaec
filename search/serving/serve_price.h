/* serve_price.h - one deployment under any load, for what looks at many loads */
#pragma once

#include "search/serving/serve_space.h"

/** What a plan's roles are priced by, in `arena`; or *why it cannot run. RANGE, NOMEM. */
PLAIT_MUST_CHECK plait_status serve_roles(const plait_serve_options *q,
                                          const plait_serve_plan *plan, plait_arena *arena,
                                          const serve_candidate *role[PLAIT_SERVE_ROLES],
                                          const char **why, plait_error *err);

/** A plan of such roles as the cost model takes it. */
plait_deployment serve_deployment_of(const plait_serve_options *q, const plait_serve_plan *plan,
                                     const serve_candidate *const role[PLAIT_SERVE_ROLES]);

/** Prices the plan under a load; false: more comes than leaves. */
bool serve_price(const plait_serve_options *q, plait_load load, plait_serve_plan *plan,
                 const serve_candidate *const role[PLAIT_SERVE_ROLES]);

/** Is it stable, and within the bounds of the question? */
bool serve_meets(const plait_serve_options *q, const plait_serve_plan *plan);

/** The largest ratio of what a stable plan has to what a bound allows; 0: no bound. */
double serve_excess(const plait_serve_options *q, const plait_serve_plan *plan);

/** Whether a stable plan misses one of the bounds from `first` to before `end`. */
bool serve_misses(const plait_serve_options *q, const plait_serve_plan *plan, int first, int end);

/** The tightest bound on the mean time per token: percentiles are no shorter than the mean; 0: none. */
double serve_tightest_tpot(const plait_serve_options *q);

/** Requests/s that a plan takes at most: stable, or also within the bounds. (S.105) */
double serve_most_rate(const plait_serve_options *q, const plait_serve_plan *plan,
                       const serve_candidate *const role[PLAIT_SERVE_ROLES], bool within);
