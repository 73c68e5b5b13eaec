/*
 * lines.h - prints text in lines no wider than the terminal
 *
 *     report_search(problem, &found, lines_out(), err);
 *     ...
 *     PLAIT_TRY(lines_flush(err));
 *
 * The width is the value of COLUMNS, or else the width of the terminal. Without COLUMNS, a pipe or
 * a file has no width: its lines are never broken, and lines_out() is stdout itself. Tables fit
 * themselves to the width (report_table.h). Other lines are broken between words, and a plait
 * command is broken such that it can be pasted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "plait/error.h"

/** Returns the stream for text. JSON must not be broken, so it is written to stdout. */
FILE *lines_out(void);

/** Prints the text that was written to lines_out(), and closes that stream. */
plait_status lines_flush(plait_error *err) PLAIT_MUST_CHECK;

/** Returns the width of lines of `out`; 0: no limit, as for any memory stream. */
size_t lines_width(FILE *out);

/** Removes the limit for --wide: no line is broken, and tables have all columns. */
void lines_keep_whole(bool whole);

/**
 * Returns the length in bytes of the first line of `text` at `width` columns, which ends before a
 * blank or at the end. No word is split. A number stays next to its unit and its name, unless the
 * line would then fill less than two thirds of the width.
 */
size_t lines_cut(const char *text, size_t width);

/**
 * Returns the number of terminal columns of UTF-8 text: a wide character takes two, a combining
 * mark none.
 */
size_t lines_columns(const char *text, size_t bytes);

/** Prints one line, which is broken if it is wider than `width`; a width of 0 means no limit. */
void lines_print(const char *line, size_t width, FILE *out);
