/* log_text.h - lines of a log, and the numbers in them */
#pragma once

#include <stdbool.h>

/** A part of a log: one line, or the whole log. */
typedef struct log_text {
    const char *at;
    const char *end;
} log_text;

/** Gets the next line. Lines also end at a carriage return, because progress bars end with one. */
bool log_next_line(log_text *rest, log_text *line);

/** Returns the text after a mark; NULL if the text does not contain the mark. */
const char *log_text_after(log_text text, const char *mark);

/**
 * Returns a positive number such as "1,234.5", "1.23K" or "6.5e+03"; NaN if there is none, or if it
 * is part of a clock such as 1:02:03. Blanks, quotes, ':' and '=' before the number are skipped, so
 * a mark may be a key of JSON or of Python.
 *
 * @param stop  out: the first byte after the number; may be NULL
 */
double log_number_at(const char *at, const char *end, const char **stop);

/** Returns the number after a mark; NaN if it is missing. */
double log_number_after(log_text text, const char *mark);

/** Computes the median of the later half of the values, which it sorts; returns their number. */
int log_median_of_later_half(double *value, int count, double *median);
