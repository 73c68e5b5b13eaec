/* log_text.c - lines of a log, and the numbers in them */
#include "io/csv/log_text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"

bool log_next_line(log_text *rest, log_text *line)
{
    if (rest->at >= rest->end)
        return false;
    *line = (log_text){rest->at, rest->at};
    while (line->end < rest->end && *line->end != '\n' && *line->end != '\r')
        line->end++;
    rest->at = line->end + 1;
    return true;
}

const char *log_text_after(log_text text, const char *mark)
{
    const size_t length = strlen(mark);

    for (const char *at = text.at; (size_t)(text.end - at) >= length; at++) {
        at = memchr(at, mark[0], (size_t)(text.end - at) - length + 1);
        if (at == NULL)
            return NULL;
        if (memcmp(at, mark, length) == 0)
            return at + length;
    }
    return NULL;
}

double log_number_at(const char *at, const char *end, const char **stop)
{
    char digits[40];
    size_t used = 0;
    double value;

    while (at < end && strchr(" '\":=", *at) != NULL && *at != '\0')
        at++;
    while (at < end && used + 1 < sizeof digits &&
           ((*at >= '0' && *at <= '9') || *at == '.' || *at == ',')) {
        if (*at != ',')
            digits[used++] = *at;
        at++;
    }
    if (end - at > 2 && *at == 'e' && (at[1] == '+' || at[1] == '-') && used + 5 < sizeof digits) {
        digits[used++] = *at++;
        digits[used++] = *at++;
        for (int d = 0; d < 3 && at < end && *at >= '0' && *at <= '9'; d++)
            digits[used++] = *at++;
    }
    while (used > 1 && digits[used - 1] == '.') // the end of a sentence
        used--;
    digits[used] = '\0';
    if (stop != NULL)
        *stop = at;
    if (!text_parse_number(digits, &value) || !(value > 0.0) || (at < end && *at == ':'))
        return (double)NAN;
    if (end - at > 1 && at[1] == 'i') // "41234.5MiB": the format has the unit
        return value;
    return value * (at < end && *at == 'K' ? 1e3 : at < end && *at == 'M' ? 1e6 : 1.0);
}

double log_number_after(log_text text, const char *mark)
{
    const char *const at = log_text_after(text, mark);

    return at != NULL ? log_number_at(at, text.end, NULL) : (double)NAN;
}

int log_median_of_later_half(double *value, int count, double *median)
{
    double *const later = value + count / 2;
    const int kept = count - count / 2;

    qsort(later, (size_t)kept, sizeof *later, compare_doubles);
    *median = 0.5 * (later[kept / 2] + later[(kept - 1) / 2]);
    return kept;
}
