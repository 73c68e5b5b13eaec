/* lines.h - prints text in lines no wider than the terminal
 *
 *     report_search(problem, &found, lines_out(), err);
 *     ...
 *     PLAIT_TRY(lines_flush(err));
 *
 * The width is COLUMNS, else that of the terminal. A pipe or a file without COLUMNS has none: there
 * each line is as long as its text, and lines_out() is stdout itself. Tables fit themselves to the
 * width (report_table.h); other lines break between words, and a command of plait breaks so that
 * it can be pasted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "plait/error.h"

/** Returns the stream for text; JSON, which must not be broken, goes to stdout. */
FILE *lines_out(void);

/** Prints the text written to lines_out(), and closes that stream. */
plait_status lines_flush(plait_error *err) PLAIT_MUST_CHECK;

/** Returns the width of lines of `out`; 0: no limit, which memory streams always have. */
size_t lines_width(FILE *out);

/** Removes the limit, so that no line is broken and tables have all columns (--wide). */
void lines_keep_whole(bool whole);

/**
 * Returns the number of bytes of `text` on its first line of `width` columns, up to a blank or the end.
 * No word is split, and a number stays beside its unit and its name if that fills two thirds of the line.
 */
size_t lines_cut(const char *text, size_t width);

/** Returns the columns that UTF-8 text takes on a terminal: two of a wide character, none of a combining mark. */
size_t lines_columns(const char *text, size_t bytes);

/** Prints one line, broken if it is wider than `width`; 0: never. */
void lines_print(const char *line, size_t width, FILE *out);
