/* numbers.h - two numbers: the larger, the smaller (fmax and fmin are calls, for NaN's sake), their order */
#ifndef NUMBERS_H
#define NUMBERS_H

static inline double larger(double a, double b)
{
    return a > b ? a : b;
}

static inline double smaller(double a, double b)
{
    return a < b ? a : b;
}

/** Of two doubles, for qsort: ascending. */
static inline int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;

    return (a > b) - (a < b);
}

#endif
