/* numbers.h - inline maximum and minimum without NaN handling, order of doubles, common divisor */
#pragma once

#include <stdint.h>

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}

/** Returns the greatest common divisor; for 0 and a, the result is a. */
static inline int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/** Compares two doubles for qsort(), in ascending order. */
static inline int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}
