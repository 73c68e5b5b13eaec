/* normal.h - quantiles of the standard normal distribution */
#pragma once

/** Returns the z below which a standard normal variable lies with this probability, in 0 .. 1. */
double normal_quantile(double probability);

/**
 * Returns a probability rounded to a multiple of 2^-40 (about 1e-12). C libraries differ in the last
 * digits of erfc(), and answers should have the same bytes with each of them.
 */
double normal_rounded(double probability);
