/* text_number.c - printing and parsing numbers independently of the locale
 *
 * The C library uses the decimal point of the thread's locale, which the calling program chooses.
 * So all numbers with a decimal point are printed and parsed by the functions of this file.
 */
#include "base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A scope in the "C" locale. To open this locale is cheap, since it is part of the C library. */
typedef struct number_locale {
    locale_t c;
    locale_t before;
} number_locale;

static number_locale locale_enter(void)
{
    const locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);

    return (number_locale){.c = c, .before = uselocale(c)};
}

static void locale_leave(number_locale locale)
{
    uselocale(locale.before);
    if (locale.c != (locale_t)0)
        freelocale(locale.c);
}

int text_format_list(char *text, size_t size, const char *fmt, va_list args)
{
    const number_locale locale = locale_enter();
    const int length = vsnprintf(text, size, fmt, args);

    locale_leave(locale);
    return length;
}

int text_format(char *text, size_t size, const char *fmt, ...)
{
    va_list args;
    int length;

    va_start(args, fmt);
    length = text_format_list(text, size, fmt, args);
    va_end(args);
    return length;
}

static bool is_whole(double number)
{
    const double exact = 9007199254740992.0; // 2^53; above it, not every integer is a double

    return number > -exact && number < exact && (double)(int64_t)number == number;
}

char *text_number(double number, char out[TEXT_NUMBER_SIZE])
{
    const number_locale locale = locale_enter();

    if (isnan(number))
        snprintf(out, TEXT_NUMBER_SIZE, "nan"); // without the sign that the C library may print
    else if (is_whole(number))
        snprintf(out, TEXT_NUMBER_SIZE, "%.0f", number);
    else
        for (int digits = 15; digits <= 17; digits++) {
            snprintf(out, TEXT_NUMBER_SIZE, "%.*g", digits, number);
            if (strtod(out, NULL) == number)
                break;
        }
    locale_leave(locale);
    return out;
}

static const char *skip_digits(const char *p)
{
    while (*p >= '0' && *p <= '9')
        p++;
    return p;
}

/*
 * Returns whether a text is [sign] digits [. digits] [e [sign] digits], where the digits on one
 * side of the point can be missing.
 */
static bool is_decimal(const char *text)
{
    const char *p = text + (*text == '-' || *text == '+');
    const char *whole = p;
    const char *end = skip_digits(p);
    bool any = end > whole;

    if (*end == '.') {
        const char *fraction = end + 1;

        end = skip_digits(fraction);
        any = any || end > fraction;
    }
    if (any && (*end == 'e' || *end == 'E')) {
        const char *exponent = end + 1;

        exponent += *exponent == '-' || *exponent == '+';
        end = skip_digits(exponent);
        any = end > exponent;
    }
    return any && *end == '\0';
}

bool text_parse_number(const char *text, double *out)
{
    number_locale locale;
    double number;

    if (!is_decimal(text))
        return false;
    locale = locale_enter();
    number = strtod(text, NULL);
    locale_leave(locale);
    if (!isfinite(number))
        return false;
    *out = number;
    return true;
}

bool text_parse_int64(const char *text, int64_t min, int64_t max, int64_t *out)
{
    const char *digits = text + (*text == '-' || *text == '+');
    const char *end = skip_digits(digits);
    intmax_t number;

    if (end == digits || *end != '\0')
        return false;
    errno = 0;
    number = strtoimax(text, NULL, 10);
    if (errno == ERANGE || number < min || number > max)
        return false;
    *out = (int64_t)number;
    return true;
}

bool text_parse_int(const char *text, int min, int max, int *out)
{
    int64_t number;

    if (!text_parse_int64(text, min, max, &number))
        return false;
    *out = (int)number;
    return true;
}
