/* span_memo.h - how long pipelines take whose schedules have been simulated before, to the bit */
#ifndef PLAIT_COSTMODEL_SPAN_MEMO_H
#define PLAIT_COSTMODEL_SPAN_MEMO_H

#include "plait/cost.h"
#include "plait/simulate.h"

/** An order of the actions of each shape, in which none waits for a later one. */
typedef plait_pipelines span_memo;

/** NULL: out of memory. It remembers nothing until it may grow. */
span_memo *span_memo_new(plait_arena *arena);

/** From now on what it remembers lives in `arena`, which is not to be rewound. */
void span_memo_grow(span_memo *memo, plait_arena *arena);

/**
 * plait_sim_span of a shape's actions, whose stages have no sends, no reductions and no pairs.
 *
 * @param memo     NULL: nothing is remembered
 * @param stage    [ranks * chunks]
 * @param scratch  is rewound
 * @return         RANGE: the schedule cannot be spelled out; NOMEM
 */
PLAIT_MUST_CHECK plait_status span_memo_spans(span_memo *memo, const plait_pipeline_shape *shape,
                                              const plait_sim_stage *stage, plait_arena *scratch,
                                              plait_sim_spans *out, plait_error *err);

#endif
