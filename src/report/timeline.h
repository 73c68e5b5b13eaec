/* timeline.h - writes a simulated step as letters, as an SVG, or as a trace for Chrome and Perfetto */
#pragma once

#include <stdio.h>

#include "plait/lowlevel/simulate.h"

/** Draws the step in letters, one line per rank for at most eight ranks, with an axis and a legend. */
void timeline_text(const plait_timeline *line, FILE *out);

/** Prints the simulated step beside the price, and the terms that differ; the first line has no indent. */
void timeline_against(const plait_timeline *line, const plait_cost *cost, FILE *out);

/**
 * Writes JSON trace events, times in microseconds: one row per stage, and one for its gradients and
 * parameters. *text lives in `arena`.
 */
PLAIT_MUST_CHECK plait_status timeline_trace(const plait_timeline *line, plait_arena *arena,
                                             const char **text, size_t *length, plait_error *err);

/** Writes an SVG: one row per stage, one box per action with its microbatch. */
PLAIT_MUST_CHECK plait_status timeline_svg(const plait_timeline *line, plait_arena *arena,
                                           const char **text, size_t *length, plait_error *err);
