/* saturating.h - products of counts that saturate instead of overflowing
 *
 * Degrees, ranks and sequences are ints with bounds (PLAIT_MAX_DEGREE, PLAIT_MAX_GPUS,
 * PLAIT_MAX_GBS). Products of them are unbounded until plait_degrees_check() compares them with the
 * job's GPUs and batch.
 */
#pragma once

#include <limits.h>

/**
 * Returns a * b, or INT_MAX on overflow. INT_MAX exceeds every bound and divides no smaller number.
 */
static inline int saturating_mul(int a, int b)
{
    int whole;

    return __builtin_mul_overflow(a, b, &whole) ? INT_MAX : whole;
}
