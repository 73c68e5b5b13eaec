/* report_private.h - lines that eval and explain have in common */
#pragma once

#include "report/report.h"

/** "verdict: fits", or why not. */
void report_verdict(const report_plan *plan, FILE *out);

/** "stages 0 to 3 recompute full in 4 layers, none in 6": what stages choose other than the plan. */
void report_choices(const plait_plan *plan, FILE *out);

/** Step time, rates, MFU by both conventions, band, memory. */
void report_totals(const plait_problem *problem, const plait_cost *cost, FILE *out);

/** Returns how MFU counts FLOPs of attention: "causal attention halved, as ... count". */
const char *report_halved(const plait_model *model, int seq);

/** Prints the routing of experts that the price assumes, and the step with natural routing. */
void report_routing(const plait_problem *problem, const report_plan *plan, FILE *out);

/** "tp 8, pp 2 x 10, dp 32, mbs 2, 32 microbatches, ZeRO-1, recompute none". Returns `line`. */
enum { REPORT_LINE_SIZE = 288 };
const char *report_line(const plait_problem *problem, const plait_degrees *degrees,
                        char line[REPORT_LINE_SIZE]);

/** The plans of a search, one a row; what all have alike stands above. */
PLAIT_MUST_CHECK plait_status report_ranking(const plait_problem *problem,
                                             const report_found *found, FILE *out,
                                             plait_error *err);

/** The plans to start, and what is lost by starting so many: those asked for, and 1, 2, 3, 5. */
PLAIT_MUST_CHECK plait_status report_tries(const plait_problem *problem, const report_found *found,
                                           FILE *out, plait_error *err);
