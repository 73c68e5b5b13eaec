/* report_case.h - prints published systems, priced, beside their published figures */
#pragma once

#include "io/plans/cases.h"
#include "report/report.h"

/** One row of a case with its price. */
typedef struct case_priced {
    const plait_problem *problem;
    const report_plan *plan;
    double ours[CASE_FIGURES];      /* NaN: the row publishes nothing, or the plan cannot run */
    double published[CASE_FIGURES]; /* published figures, and g/T derived from a speed-up (C.136) */
} case_priced;

/** Fills `ours` and `published` of row `row`; the rows before it must be filled. */
void case_compare(const case_study *study, case_priced *priced, int row);

/** Returns ours / published - 1, for percentages the difference in points / 100; NaN: one is missing. */
double case_error(case_figure figure, double ours, double published);

/** Prints one line per case. */
PLAIT_MUST_CHECK plait_status report_cases(const case_study *study, size_t count, FILE *out,
                                           plait_error *err);

/** Prints one case: plans, figures beside published ones, remarks. */
PLAIT_MUST_CHECK plait_status report_case(const case_study *study, const case_priced *priced,
                                          FILE *out, plait_error *err);

/** Write the JSON documents of both. */
void json_cases(json_writer *json, const case_study *study, size_t count);
void json_case(json_writer *json, const case_study *study, const case_priced *priced);
