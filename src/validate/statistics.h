/* statistics.h - errors, rank correlation, regret, and out-of-memory prediction of plain arrays */
#pragma once

#include "plait/validate.h"

/** Returns the mean; NaN if count is 0. */
double statistics_mean(const double *values, size_t count);

/**
 * Sorts `values` and returns the quantile at `share` (0 to 1), with linear interpolation between
 * order statistics; NaN if count is 0.
 */
double statistics_quantile(double *values, size_t count, double share);

/** Returns a summary of relative errors. `scratch` has `count` elements. */
plait_errors statistics_errors(const double *error, size_t count, double *scratch);

/**
 * Returns Spearman's rank correlation, which is Pearson's correlation of the ranks. Equal values
 * share their mean rank.
 *
 * @param scratch  [2 * count]
 * @return         NaN if all values of `a` or all values of `b` are equal
 */
double statistics_spearman(const double *a, const double *b, size_t count, double *scratch);

/**
 * Returns Kendall's tau-b: the number of concordant minus discordant pairs, divided by
 * sqrt((n0 - ties in a)(n0 - ties in b)), where n0 = n(n-1)/2 for n values. Returns NaN if all
 * values of `a` or all values of `b` are equal.
 */
double statistics_kendall(const double *a, const double *b, size_t count);

/** Returns the index of the least value (the first one of equal values). Requires count > 0. */
size_t statistics_least(const double *values, size_t count);

/**
 * Returns the relative loss if the plan with the best prediction is chosen:
 * measured[argmin predicted] / min measured - 1.
 *
 * @param noise  a loss of at most this counts as 0
 */
double statistics_regret(const double *predicted, const double *measured, size_t count,
                         double noise);

/** Returns the mean of true positive rate and true negative rate; NaN if a class is empty. */
double statistics_balanced_accuracy(const plait_confusion *confusion);
