/* magnitude.h - numbers as people write them: "15T" tokens, "5M" dollars, "60d" */
#pragma once

#include <stdbool.h>

#include "plait/error.h"

/** A number with an optional k, M, B, G or T, decimal: "15T" is 15e12, "1.5M" 1.5e6. */
bool magnitude_parse(const char *text, double *out);

/** A whole number with an optional k, K or M, of `kilo` and its square: 1000, or 1024 of a sequence's
 * tokens, whose "8k" is 8192. False beyond `most`. */
bool magnitude_parse_count(const char *text, int kilo, int least, int most, int *out);

/** Seconds of "60d", "36h", "90m", "45s", "20ms", "5us", "8w". */
bool magnitude_parse_duration(const char *text, double *seconds);

/** From 1e-9 to 1e12, or a refusal that says `expected WHAT, found ...`. */
PLAIT_MUST_CHECK plait_status magnitude_positive(const char *where, const char *text,
                                                 const char *what, double *out, plait_error *err);

/** The same of a duration: from a nanosecond to 1e10 seconds. */
PLAIT_MUST_CHECK plait_status magnitude_duration(const char *where, const char *text,
                                                 double *seconds, plait_error *err);
