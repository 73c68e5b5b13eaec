/* statistics.h - errors, rank correlation, regret, and out-of-memory prediction of plain arrays */
#pragma once

#include "plait/validate.h"

/** Returns the mean; NaN if count is 0. */
double statistics_mean(const double *values, size_t count);

/** Quantile by linear interpolation between order statistics; sorts `values`. NaN if count is 0. */
double statistics_quantile(double *values, size_t count, double share);

/** Summarises relative errors. `scratch`: [count]. */
plait_errors statistics_errors(const double *error, size_t count, double *scratch);

/**
 * Spearman's rank correlation: Pearson's correlation of the ranks; ties share their mean rank.
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

/** Returns the index of the least value, the first if several are equal; `count` > 0. */
size_t statistics_least(const double *values, size_t count);

/**
 * Returns the loss by following a prediction: measured[argmin predicted] / min measured - 1.
 *
 * @param noise  a loss of at most this counts as 0
 */
double statistics_regret(const double *predicted, const double *measured, size_t count,
                         double noise);

/** Returns the mean of the true positive and true negative rates; NaN when a class is empty. */
double statistics_balanced_accuracy(const plait_confusion *confusion);
