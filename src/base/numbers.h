/* numbers.h - larger and smaller of two numbers, inline: fmax and fmin are calls, for NaN's sake */
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

#endif
