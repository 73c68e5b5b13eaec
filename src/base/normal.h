/* normal.h - quantiles of the standard normal distribution */
#pragma once

/** Returns the z below which a standard normal variable lies with this probability, in 0 .. 1. */
double normal_quantile(double probability);
