/* assert_near.h - cmocka with its headers in order, and doubles compared as doubles
 *
 * cmocka 1.1.5 compares only float.
 */
#pragma once

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/** Fails unless |actual - expected| <= tolerance, which is absolute; a NaN is near nothing. */
#define assert_near(actual, expected, tolerance)                                                   \
    assert_near_at((actual), (expected), (tolerance), #actual, __FILE__, __LINE__)

/** The same with a tolerance relative to the expected value. */
#define assert_near_relative(actual, expected, tolerance)                                          \
    assert_near_at((actual), (expected), (tolerance)*fabs(expected), #actual, __FILE__, __LINE__)

static inline void assert_near_at(double actual, double expected, double tolerance,
                                  const char *what, const char *file, int line)
{
    if (fabs(actual - expected) <= tolerance || actual == expected)
        return;
    print_error("%s is %.17g, expected %.17g within %.3g\n", what, actual, expected, tolerance);
    _fail(file, line);
}
