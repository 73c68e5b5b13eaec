/* statistics.h - errors, rank correlation, regret, and out-of-memory prediction of plain arrays */
#pragma once

#include "plait/validate.h"

/** Mean, NaN of nothing. */
double statistics_mean(const double *values, size_t count);

/** Quantile by linear interpolation between order statistics; sorts `values`. NaN of nothing. */
double statistics_quantile(double *values, size_t count, double share);

/** Summary of relative errors; sorts the sizes of them into `scratch` [count]. */
plait_errors statistics_errors(const double *error, size_t count, double *scratch);

/**
 * Spearman's rank correlation: Pearson's of the ranks, ties sharing their mean rank.
 *
 * @param scratch  [2 * count]
 * @return         NaN when either side is constant
 */
double statistics_spearman(const double *a, const double *b, size_t count, double *scratch);

/**
 * Kendall's tau-b: concordant minus discordant pairs, over sqrt((n0 - ties in a)(n0 - ties in b)),
 * n0 = n(n-1)/2. NaN when either side is constant.
 */
double statistics_kendall(const double *a, const double *b, size_t count);

/** Index of the least value, the first among equals; `count` > 0. */
size_t statistics_least(const double *values, size_t count);

/**
 * What it costs to follow a prediction: measured[argmin predicted] / min measured - 1.
 *
 * @param noise  a choice within this share of the best costs nothing
 */
double statistics_regret(const double *predicted, const double *measured, size_t count,
                         double noise);

/** Mean of the shares of positives and of negatives that are right; NaN when a class is empty. */
double statistics_balanced_accuracy(const plait_confusion *confusion);
