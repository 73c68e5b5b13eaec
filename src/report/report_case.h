/* report_case.h - published systems, priced and printed beside what was published */
#pragma once

#include "io/plans/cases.h"
#include "report/report.h"

/** One row of a case with its price. */
typedef struct case_priced {
    const plait_problem *problem;
    const report_plan *plan;
    double ours[CASE_FIGURES]; /* NaN where the row publishes nothing, or the plan cannot run */
    double published[CASE_FIGURES]; /* and what follows from it: g/T from a speed-up (C.136) */
} case_priced;

/** Fill `ours` and `published` of row `row`; rows before it are filled already. */
void case_compare(const case_study *study, case_priced *priced, int row);

/** ours / published - 1; of percentages, the difference in points over 100. NaN without either. */
double case_error(case_figure figure, double ours, double published);

/** One line a case. */
PLAIT_MUST_CHECK plait_status report_cases(const case_study *study, size_t count, FILE *out,
                                           plait_error *err);

/** One case: its plans, figures beside published ones, what to know of them. */
PLAIT_MUST_CHECK plait_status report_case(const case_study *study, const case_priced *priced,
                                          FILE *out, plait_error *err);

/** The same as JSON documents; they live in `arena`. */
PLAIT_MUST_CHECK plait_status json_cases(const case_study *study, size_t count, plait_arena *arena,
                                         const char **text, size_t *length, plait_error *err);
PLAIT_MUST_CHECK plait_status json_case(const case_study *study, const case_priced *priced,
                                        plait_arena *arena, const char **text, size_t *length,
                                        plait_error *err);
