/*
 * timeline.h - draws a simulated step in letters, as an SVG, or as a trace for Chrome and Perfetto
 */
#pragma once

#include <stdio.h>

#include "plait/lowlevel/simulate.h"

/**
 * Draws the step in letters, with one line for each of at most eight ranks, an axis and a legend.
 */
void timeline_text(const plait_timeline *line, FILE *out);

/**
 * Prints the simulated step time next to the price, and the terms that differ. The first line is
 * not indented.
 */
void timeline_against(const plait_timeline *line, const plait_cost *cost, FILE *out);

/**
 * Writes JSON trace events with times in microseconds: one row for each stage, and another for the
 * stage's gradients and parameters. *text lives in `arena`.
 */
PLAIT_MUST_CHECK plait_status timeline_trace(const plait_timeline *line, plait_arena *arena,
                                             const char **text, size_t *length, plait_error *err);

/** Writes an SVG with one row per stage and one box per action, which shows its microbatch. */
PLAIT_MUST_CHECK plait_status timeline_svg(const plait_timeline *line, plait_arena *arena,
                                           const char **text, size_t *length, plait_error *err);
