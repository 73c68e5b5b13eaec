/* lines.h - answers as text, in lines no wider than the terminal
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
#ifndef LINES_H
#define LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "plait/error.h"

/** Standard output for text; JSON, which must not be broken, goes to stdout. */
FILE *lines_out(void);

/** Prints what lines_out() holds; the next lines_out() begins anew. */
plait_status lines_flush(plait_error *err) PLAIT_MUST_CHECK;

/** Columns that a line of `out` may have; 0: as many as it needs, as always in memory. */
size_t lines_width(FILE *out);

/** No line of what follows is broken, and tables have all columns (--wide). */
void lines_keep_whole(bool whole);

/**
 * The bytes of `text` that stand on its first line of `width` columns; a blank or the end follows.
 * Words stay whole, and a number stays beside its unit and its name where that fills two thirds.
 */
size_t lines_cut(const char *text, size_t width);

/** Columns that UTF-8 takes, one a character. */
size_t lines_columns(const char *text, size_t bytes);

/** Prints one line, broken if it is wider than `width`; 0: never. */
void lines_print(const char *line, size_t width, FILE *out);

#endif
