/* timeline.h - a simulated step as a trace that Chrome and Perfetto open, or as a drawing */
#ifndef TIMELINE_H
#define TIMELINE_H

#include "plait/simulate.h"

/** A JSON of trace events: a row a stage, times in microseconds. *text lives in `arena`. */
PLAIT_MUST_CHECK plait_status timeline_trace(const plait_timeline *line, int ranks,
                                             plait_arena *arena, const char **text, size_t *length,
                                             plait_error *err);

/** An SVG: a row a stage, a box an action with its microbatch. */
PLAIT_MUST_CHECK plait_status timeline_svg(const plait_timeline *line, int ranks,
                                           plait_arena *arena, const char **text, size_t *length,
                                           plait_error *err);

#endif
