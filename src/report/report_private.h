/* report_private.h - lines that eval and explain have in common */
#ifndef REPORT_PRIVATE_H
#define REPORT_PRIVATE_H

#include "report.h"

/** "verdict: fits", or why not. */
void report_verdict(const report_plan *plan, FILE *out);

/** Step time, rates, MFU, memory: two lines. */
void report_totals(const plait_cost *cost, FILE *out);

#endif
