/*
 * least_squares.h - minimise a sum of squares; wraps cminpack
 *
 * The Levenberg-Marquardt method with finite differences for derivatives (MINPACK's lmdif).
 */
#pragma once

#include <stdbool.h>

#include "plait/arena.h"

/** Computes the residuals at `x`; they must be finite for every finite x. */
typedef void least_squares_fill(const void *context, const double *x, double *residual);

typedef struct least_squares {
    int residuals; /* count; at least `numbers` */
    int numbers;
    least_squares_fill *fill;
    const void *context;
} least_squares;

/**
 * Finds a local minimum.
 *
 * @param x         in: the starting point; out: the minimum
 * @param variance  out, may be NULL: variance of each number if the residuals have unit variance
 * @return          false when out of memory
 */
PLAIT_MUST_CHECK bool least_squares_minimise(const least_squares *problem, plait_arena *scratch,
                                             double *x, double *variance);
