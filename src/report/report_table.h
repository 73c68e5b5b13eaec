/*
 * report_table.h - tables in plain ASCII
 *
 *     table *rows = table_new("level|>bandwidth");
 *
 *     table_cell(rows, "%s", level->name);
 *     table_cell(rows, "%s", units_rate(level->link.bytes_per_s, "B/s", text));
 *     ...
 *     PLAIT_TRY(table_print(rows, 2, out, err));
 *
 * Cells are filled from left to right and row by row. Only table_print() reports errors; it also
 * frees the table.
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
 * @param columns  titles separated by "|". ">" before a title aligns the column to the right. The
 *                 end of a title determines where the column goes if the table is too wide
 *                 (lines.h): "@stays" columns never leave the row, nor does the first column;
 *                 "@below" columns are printed on a line below the row; "@1" to "@9" columns are
 *                 omitted before any text is wrapped, larger numbers first; all other columns are
 *                 omitted if wrapping is not enough
 */
table *table_new(const char *columns);

/** Fills the next cells. */
void table_row(table *rows, const table_value *cells, size_t count);
#define TABLE_ROW(rows, ...) table_row(rows, CELLS(__VA_ARGS__))

/** Fills the next cell; text beyond 255 bytes is cut off. */
void table_cell(table *rows, const char *fmt, ...) PLAIT_PRINTF(2, 3);

/**
 * Prints the table with each line indented by `indent` blanks, and frees it. A table without rows
 * prints nothing. If the lines are too narrow, columns are omitted, and a line below the table
 * names them.
 */
plait_status table_print(table *rows, int indent, FILE *out, plait_error *err) PLAIT_MUST_CHECK;

/** Frees a table without printing it. */
void table_free(table *rows);
