/* explain.h - the sections of an explained plan, in the order in which they are printed */
#pragma once

#include "report/report.h"
#include "report/report_private.h"

/** A line of its own above a section. */
void explain_heading(const char *text, FILE *out);

/** The way from one number to another; what differs only by rounding does not differ. */
double explain_difference(double from, double to);

PLAIT_MUST_CHECK plait_status explain_communication(const plait_cost *cost, FILE *out,
                                                    plait_error *err);
PLAIT_MUST_CHECK plait_status explain_fused(const plait_cost *cost, FILE *out, plait_error *err);
PLAIT_MUST_CHECK plait_status explain_stages(const report_plan *plan, FILE *out, plait_error *err);
void explain_timeline(const report_explained *explained, FILE *out);
PLAIT_MUST_CHECK plait_status explain_syncs(const plait_runtime *runtime, const report_plan *plan,
                                            FILE *out, plait_error *err);
void explain_binding(const report_plan *plan, FILE *out);
PLAIT_MUST_CHECK plait_status explain_limits(const report_explained *explained, FILE *out,
                                             plait_error *err);
PLAIT_MUST_CHECK plait_status explain_sensitivities(const report_explained *explained, FILE *out,
                                                    plait_error *err);
PLAIT_MUST_CHECK plait_status explain_versus(const report_explained *explained, FILE *out,
                                             plait_error *err);
PLAIT_MUST_CHECK plait_status explain_why_not(const plait_problem *problem,
                                              const report_explained *explained, FILE *out,
                                              plait_error *err);
