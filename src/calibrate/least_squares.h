/*
 * least_squares.h - the minimum of a sum of squares, the only place that knows cminpack
 *
 * Levenberg and Marquardt's method with differences for derivatives (MINPACK's lmdif).
 */
#pragma once

#include <stdbool.h>

#include "plait/arena.h"

/** Fills `residual` at `x`. It must be finite for every finite x. */
typedef void least_squares_fill(const void *context, const double *x, double *residual);

typedef struct least_squares {
    int residuals; /* at least as many as numbers */
    int numbers;
    least_squares_fill *fill;
    const void *context;
} least_squares;

/**
 * Find the minimum near a point.
 *
 * @param x         in: where to begin; out: the minimum
 * @param variance  out, may be NULL: of each number, for residuals of unit variance
 * @return          false when out of memory
 */
PLAIT_MUST_CHECK bool least_squares_minimise(const least_squares *problem, plait_arena *scratch,
                                             double *x, double *variance);
