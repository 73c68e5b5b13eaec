/* page_grounds.h - adds the assumptions of a training plan's numbers, equal on all pages */
#pragma once

#include "page/page.h"
#include "report/report.h"

/** Writes the peak that MFU counts against, "989 TFLOP/s bf16 dense"; a mixed cluster has one for each kind of GPU. */
void page_peak_text(const plait_problem *problem, char *text, size_t size);

/** Adds "of 989 TFLOP/s bf16 dense (h100-80gb-sxm)"; page_assume_plan adds it for its own cluster. */
void page_assume_peak(page *of, const plait_problem *problem);

/** Adds precision, runtime, FLOPs, routing, risk and constants. @param plan  NULL, or a plan, which need not run */
void page_assume_plan(page *of, const plait_problem *problem, const report_plan *plan);

/**
 * Adds "2.95 USD a GPU hour" and its origin.
 *
 * @param groups  of the cluster that are used
 * @param usd     stated; 0: as the accelerators' files say
 */
void page_assume_prices(page *of, const plait_cluster *cluster, int groups, double usd);
