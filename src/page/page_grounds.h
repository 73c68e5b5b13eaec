/* page_grounds.h - what the numbers of a trained plan rest on, alike on each page that has some */
#ifndef PAGE_GROUNDS_H
#define PAGE_GROUNDS_H

#include "page.h"
#include "report.h"

/** "989 TFLOP/s bf16 dense": the peak that MFU counts against; of several kinds of GPU each. */
void page_peak_text(const plait_problem *problem, char *text, size_t size);

/** "of 989 TFLOP/s bf16 dense (h100-80gb-sxm)", of another cluster than page_assume_plan has. */
void page_assume_peak(page *of, const plait_problem *problem);

/** Precision, runtime, FLOPs, routing, risk, constants; `plan` may be one that does not run. */
void page_assume_plan(page *of, const plait_problem *problem, const report_plan *plan);

/**
 * "2.95 USD a GPU hour", and where that is from.
 *
 * @param groups  of the cluster that are used
 * @param usd     stated; 0: as the accelerators' files say
 */
void page_assume_prices(page *of, const plait_cluster *cluster, int groups, double usd);

#endif
