/* magnitude.c - numbers with suffixes */
#include "base/magnitude.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

typedef struct suffix {
    const char *word;
    double factor;
} suffix;

static const suffix magnitudes[] = {
    {"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"B", 1e9}, {"G", 1e9}, {"T", 1e12}, {NULL, 1.0},
};

/* The suffix "ms" comes before "s", since the first suffix that ends a text is used. */
static const suffix durations[] = {
    {"us", 1e-6},  {"ms", 1e-3}, {"w", 7.0 * 86400.0}, {"d", 86400.0},
    {"h", 3600.0}, {"m", 60.0},  {"s", 1.0},           {NULL, 1.0},
};

/* Parses the number before the first suffix that ends the text. If `bare`, no suffix is needed. */
static bool parse_suffixed(const char *text, const suffix *list, bool bare, double *out)
{
    const size_t length = strlen(text);
    char digits[64];

    if (length == 0 || length >= sizeof digits)
        return false;
    for (; list->word != NULL; list++) {
        const size_t cut = strlen(list->word);

        if (length > cut && strcmp(text + length - cut, list->word) == 0) {
            memcpy(digits, text, length - cut);
            digits[length - cut] = '\0';
            if (!text_parse_number(digits, out))
                return false;
            *out *= list->factor;
            return isfinite(*out);
        }
    }
    return bare && text_parse_number(text, out);
}

bool magnitude_parse(const char *text, double *out)
{
    return parse_suffixed(text, magnitudes, true, out);
}

bool magnitude_parse_count(const char *text, int kilo, int least, int most, int *out)
{
    const size_t length = strlen(text);
    const char last = length > 1 ? text[length - 1] : '\0';
    const int factor = last == 'k' || last == 'K' ? kilo : last == 'M' ? kilo * kilo : 1;
    char digits[64];
    int number;

    if (factor == 1)
        return text_parse_int(text, least, most, out);
    if (length >= sizeof digits)
        return false;
    memcpy(digits, text, length - 1);
    digits[length - 1] = '\0';
    if (!text_parse_int(digits, 0, most / factor, &number) || number * factor < least)
        return false;
    *out = number * factor;
    return true;
}

bool magnitude_parse_duration(const char *text, double *seconds)
{
    return parse_suffixed(text, durations, false, seconds);
}

/* Bounds of amounts, such as requests/s (1e-9 is one request in 30 years) or dollars. */
static const double least_amount = 1e-9, most_amount = 1e12;

/* Bounds of durations: one nanosecond, and about 300 years. */
static const double least_s = 1e-9, most_s = 1e10;

plait_status magnitude_positive(const char *where, const char *text, const char *what, double *out,
                                plait_error *err)
{
    if (!magnitude_parse(text, out) || *out <= 0.0)
        return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected %s above 0, found '%.40s'", what,
                          text);
    if (*out < least_amount || *out > most_amount)
        return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected %s from %g to %g, found '%.40s'",
                          what, least_amount, most_amount, text);
    return PLAIT_OK;
}

plait_status magnitude_duration(const char *where, const char *text, double *seconds,
                                plait_error *err)
{
    if (!magnitude_parse_duration(text, seconds) || *seconds <= 0.0)
        return plait_fail(err, PLAIT_ERROR_RANGE, where,
                          "expected a time above 0 such as 60d or 500ms, found '%.40s'", text);
    if (*seconds < least_s || *seconds > most_s)
        return plait_fail(err, PLAIT_ERROR_RANGE, where,
                          "expected a time from %g to %g seconds, found '%.40s'", least_s, most_s,
                          text);
    return PLAIT_OK;
}
