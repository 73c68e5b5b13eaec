/*
 * numbers.h - two numbers: the larger, the smaller (fmax and fmin are calls, for NaN's sake), their order,
 * their greatest common divisor
 */
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

/** The greatest common divisor; of 0 and a it is a. */
static inline int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        const int64_t rest = a % b;

        a = b;
        b = rest;
    }
    return a;
}

/** Order of two doubles for qsort: ascending. */
static inline int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}
