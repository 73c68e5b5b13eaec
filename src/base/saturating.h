/* saturating.h - products of counts that saturate instead of overflowing
 *
 * Degrees, ranks and sequences are ints with bounds (PLAIT_MAX_DEGREE, PLAIT_MAX_GPUS, PLAIT_MAX_GBS). Their
 * products have none until plait_degrees_check() has compared them with the job's GPUs and batch.
 */
#pragma once

#include <limits.h>

/** a b, or INT_MAX if that overflows. INT_MAX is above every bound and divides no smaller number. */
static inline int saturating_mul(int a, int b)
{
    int whole;

    return __builtin_mul_overflow(a, b, &whole) ? INT_MAX : whole;
}
