/* normal.c - quantiles of the standard normal distribution, by bisection */
#include "base/normal.h"

#include <math.h>

double normal_quantile(double probability)
{
    double low = -9.0, high = 9.0;

    for (int i = 0; i < 60; i++) {
        const double middle = 0.5 * (low + high);

        if (0.5 * erfc(-middle / sqrt(2.0)) < probability)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

double normal_rounded(double probability)
{
    return ldexp(round(ldexp(probability, 40)), -40);
}
