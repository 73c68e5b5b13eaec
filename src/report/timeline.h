/* timeline.h - a simulated step as a trace that Chrome and Perfetto open, or drawn */
#pragma once

#include <stdio.h>

#include "plait/lowlevel/simulate.h"

/** In letters, a line a rank, at most eight of them, with an axis and what the letters mean. */
void timeline_text(const plait_timeline *line, FILE *out);

/** What it takes beside its price, and which parts differ: a line without an indent. */
void timeline_against(const plait_timeline *line, const plait_cost *cost, FILE *out);

/**
 * A JSON of trace events, times in microseconds: a row a stage, and one for its gradients and
 * parameters. *text lives in `arena`.
 */
PLAIT_MUST_CHECK plait_status timeline_trace(const plait_timeline *line, plait_arena *arena,
                                             const char **text, size_t *length, plait_error *err);

/** An SVG: a row a stage, a box an action with its microbatch. */
PLAIT_MUST_CHECK plait_status timeline_svg(const plait_timeline *line, plait_arena *arena,
                                           const char **text, size_t *length, plait_error *err);
