/* text.c - growing text, numbers in text, and cutting text up */
#include "text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a text that grows ---- */

void text_builder_init(text_builder *out, plait_arena *arena)
{
    *out = (text_builder){.arena = arena};
}

bool text_builder_reserve(text_builder *out, size_t more)
{
    size_t capacity = out->capacity == 0 ? 256 : out->capacity;
    char *text;

    if (out->failed || more > SIZE_MAX / 4 - out->length) {
        out->failed = true;
        return false;
    }
    /* One byte beyond the text stays free, for the zero that ends it. */
    if (out->length + more < out->capacity)
        return true;
    while (capacity <= out->length + more)
        capacity *= 2;
    text = plait_arena_alloc(out->arena, capacity, 1);
    if (text == NULL) {
        out->failed = true;
        return false;
    }
    if (out->length > 0)
        memcpy(text, out->text, out->length);
    out->text = text;
    out->capacity = capacity;
    return true;
}

void text_append_bytes(text_builder *out, const char *bytes, size_t length)
{
    if (length == 0 || !text_builder_reserve(out, length))
        return;
    memcpy(out->text + out->length, bytes, length);
    out->length += length;
}

void text_append(text_builder *out, const char *text)
{
    text_append_bytes(out, text, strlen(text));
}

void text_append_char(text_builder *out, char c)
{
    text_append_bytes(out, &c, 1);
}

void text_append_repeated(text_builder *out, char c, size_t times)
{
    if (times == 0 || !text_builder_reserve(out, times))
        return;
    memset(out->text + out->length, c, times);
    out->length += times;
}

void text_append_number(text_builder *out, double number)
{
    char digits[TEXT_NUMBER_SIZE];

    text_append(out, text_number(number, digits));
}

void text_append_printf(text_builder *out, const char *fmt, ...)
{
    va_list args;
    int length;

    va_start(args, fmt);
    length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    assert(length >= 0);

    if (!text_builder_reserve(out, (size_t)length))
        return;
    va_start(args, fmt);
    vsnprintf(out->text + out->length, (size_t)length + 1, fmt, args);
    va_end(args);
    out->length += (size_t)length;
}

char *text_builder_finish(text_builder *out, size_t *length)
{
    if (!text_builder_reserve(out, 0))
        return NULL;
    out->text[out->length] = '\0';
    if (length != NULL)
        *length = out->length;
    return out->text;
}

/* ---- numbers ---- */

/* The C library formats and parses numbers as the thread's locale says; these two run it in the "C"
 * locale, which is part of the library and costs nothing to open. */
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

static bool is_whole(double number)
{
    const double exact = 9007199254740992.0; // 2^53: beyond it, not every integer is a double

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

/* [sign] digits [. digits] [e [sign] digits]; one side of the point may be without digits */
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

/* ---- cutting and comparing ---- */

char *text_cut(char *text, char separator)
{
    char *found = strchr(text, separator);

    if (found == NULL)
        return NULL;
    *found = '\0';
    return found + 1;
}

char **text_split(plait_arena *arena, const char *text, char separator, size_t *count)
{
    size_t pieces = *text != '\0';
    char **list;
    char *rest;

    for (const char *p = text; *p != '\0'; p++)
        pieces += *p == separator;
    list = plait_arena_alloc(arena, pieces + 1, sizeof *list);
    rest = plait_arena_text(arena, text);
    if (list == NULL || rest == NULL)
        return NULL;

    for (size_t i = 0; i < pieces; i++) {
        list[i] = rest;
        rest = text_cut(rest, separator);
    }
    if (count != NULL)
        *count = pieces;
    return list;
}

bool text_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool text_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends_with(const char *text, const char *suffix)
{
    const size_t length = strlen(text);
    const size_t tail = strlen(suffix);

    return tail <= length && strcmp(text + length - tail, suffix) == 0;
}

int text_index(const char *word, const char *const *known)
{
    for (int i = 0; known[i] != NULL; i++)
        if (text_equal(word, known[i]))
            return i;
    return -1;
}
