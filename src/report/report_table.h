/* report_table.h - tables in plain ASCII
 *
 *     table *rows = table_new("level|>bandwidth");
 *
 *     table_cell(rows, "%s", level->name);
 *     table_cell(rows, "%s", units_rate(level->link.bytes_per_s, "B/s", text));
 *     ...
 *     PLAIT_TRY(table_print(rows, 2, out, err));
 *
 * Cells are filled from left to right and from line to line. Nothing fails before table_print,
 * which also frees the table.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "plait/error.h"
#include "report/units.h"

typedef struct table table;

/**
 * Returns an empty table; NULL: out of memory, which the other functions accept.
 *
 * @param columns  titles, separated by "|". A title that begins with ">" has a column aligned to the right.
 *                 Its end states the place of the column in a table that is wider than its lines (lines.h):
 *                 "@stays": never leaves the row, like the first column; "@below": is printed on a line
 *                 below the row; "@1" to "@9": is left out before any text is wrapped, larger numbers
 *                 first; without any of them it is left out if wrapping is not enough.
 */
table *table_new(const char *columns);

/** Fills the next cells. */
void table_row(table *rows, const table_value *cells, size_t count);
#define TABLE_ROW(rows, ...) table_row(rows, CELLS(__VA_ARGS__))

/** Fills the next cell; a text longer than 255 bytes is truncated. */
void table_cell(table *rows, const char *fmt, ...) PLAIT_PRINTF(2, 3);

/**
 * Prints the table, each line after `indent` blanks, and frees it. A table without rows prints nothing.
 * If lines are too narrow, columns are left out, and a line below the table names them.
 */
plait_status table_print(table *rows, int indent, FILE *out, plait_error *err) PLAIT_MUST_CHECK;

/** Frees a table without printing it. */
void table_free(table *rows);
