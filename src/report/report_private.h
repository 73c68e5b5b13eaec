/* report_private.h - parts that several reports print */
#pragma once

#include "report/report.h"

/**
 * Appends formatted text to `text`, a buffer of `size` bytes; text that does not fit is cut off.
 */
void report_append(char *text, size_t size, const char *fmt, ...) PLAIT_PRINTF(3, 4);

/** Prints "verdict: fits", or the reason why the plan does not fit. */
void report_verdict(const report_plan *plan, FILE *out);

/**
 * Prints the choices of stages that differ from the plan's: "stages 0 to 3 recompute full in 4
 * layers, none in 6".
 */
void report_choices(const plait_plan *plan, FILE *out);

/** Prints the step time, rates, MFU by both conventions, the band, and memory. */
void report_totals(const plait_problem *problem, const plait_cost *cost, FILE *out);

/**
 * Returns the name of the convention by which MFU counts attention: "causal attention halved, as in
 * ...".
 */
const char *report_half_batch_hint(const plait_model *model, int seq);

/** Prints which routing of experts the price assumes, and the step time with natural routing. */
void report_routing(const plait_problem *problem, const report_plan *plan, FILE *out);

/**
 * Writes the main keys of a plan on one line: "tp 8, pp 2 x 10, dp 32, mbs 2, 32 microbatches,
 * ZeRO-1, recompute none". Returns `line`.
 */
enum { REPORT_LINE_SIZE = 288 };
const char *report_line(const plait_problem *problem, const plait_degrees *degrees,
                        char line[REPORT_LINE_SIZE]);
