/* span_cache.h - cache of simulated schedules: times for other stage times, equal to simulation */
#pragma once

#include "plait/cost.h"
#include "plait/lowlevel/simulate.h"

/** A cache in the caller's arena; NULL: out of memory. It stores nothing before span_cache_grow. */
plait_pipelines *span_cache_new(plait_arena *arena);

/** Lets the cache store schedules in `arena`, which must not be rewound. */
void span_cache_grow(plait_pipelines *cache, plait_arena *arena);

/**
 * plait_sim_span of a shape's actions, whose stages have no sends, no reductions and no pairs.
 *
 * @param cache     NULL: no cache
 * @param stage    [ranks * chunks]
 * @param scratch  is rewound
 * @return         RANGE: the schedule has no list of actions; NOMEM
 */
PLAIT_MUST_CHECK plait_status span_cache_spans(plait_pipelines *cache,
                                               const plait_pipeline_shape *shape,
                                               const plait_sim_stage *stage, plait_arena *scratch,
                                               plait_sim_spans *out, plait_error *err);
