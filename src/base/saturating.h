/* saturating.h - products of counts that do not wrap: degrees out of a file may be any numbers
 *
 * Degrees, ranks and sequences are ints, and each is bounded where it comes in (PLAIT_MAX_DEGREE,
 * PLAIT_MAX_GPUS, PLAIT_MAX_GBS). Their products are not, until plait_degrees_check has seen that they
 * make up the job's world and batch. Whoever multiplies before that does it here.
 */
#pragma once

#include <limits.h>

/** a b; INT_MAX, which is above every bound and divides nothing below it, where that is too much. */
static inline int product(int a, int b)
{
    int whole;

    return __builtin_mul_overflow(a, b, &whole) ? INT_MAX : whole;
}
