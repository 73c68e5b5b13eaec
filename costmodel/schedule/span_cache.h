/* span_cache.h - how long pipelines take whose schedules have been simulated before, to the bit */
#pragma once

#include "plait/cost.h"
#include "plait/lowlevel/simulate.h"

/** In an arena of the caller; NULL: out of memory. It remembers nothing until it may grow. */
plait_pipelines *span_cache_new(plait_arena *arena);

/** From now on what it remembers lives in `arena`, which is not to be rewound. */
void span_cache_grow(plait_pipelines *cache, plait_arena *arena);

/**
 * plait_sim_span of a shape's actions, whose stages have no sends, no reductions and no pairs.
 *
 * @param cache     NULL: nothing is remembered
 * @param stage    [ranks * chunks]
 * @param scratch  is rewound
 * @return         RANGE: the schedule cannot be spelled out; NOMEM
 */
PLAIT_MUST_CHECK plait_status span_cache_spans(plait_pipelines *cache,
                                               const plait_pipeline_shape *shape,
                                               const plait_sim_stage *stage, plait_arena *scratch,
                                               plait_sim_spans *out, plait_error *err);
