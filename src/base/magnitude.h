/* magnitude.h - numbers with suffixes: "15T" tokens, "5M" dollars, "60d" */
#pragma once

#include <stdbool.h>

#include "plait/error.h"

/** Parses a number with an optional suffix k, M, B, G or T: "15T" is 15e12, "1.5M" is 1.5e6. */
bool magnitude_parse(const char *text, double *out);

/**
 * Parses a whole number from `least` to `most`. A suffix k or K multiplies the number by `kilo`,
 * and M by its square. `kilo` is 1000, or 1024 for sequence lengths ("8k" is 8192).
 */
bool magnitude_parse_count(const char *text, int kilo, int least, int most, int *out);

/** Parses a duration such as "60d", "36h", "90m", "45s", "20ms", "5us" or "8w" to seconds. */
bool magnitude_parse_duration(const char *text, double *seconds);

/** Parses a number from 1e-9 to 1e12; `what` describes the number in error messages. */
PLAIT_MUST_CHECK plait_status magnitude_positive(const char *where, const char *text,
                                                 const char *what, double *out, plait_error *err);

/** Parses a duration from a nanosecond to 1e10 seconds. */
PLAIT_MUST_CHECK plait_status magnitude_duration(const char *where, const char *text,
                                                 double *seconds, plait_error *err);
