/* report_table.h - tables in plain ASCII
 *
 *     static const table_column columns[] = {{"level", TABLE_LEFT}, {"bandwidth", TABLE_RIGHT}};
 *     table *rows = table_new(columns, 2);
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

/*
 * Style of a column: its alignment, plus what happens to it in a table that is wider than its lines
 * (lines.h). Without one of the last three, a column is left out if wrapping its text is not enough.
 */
enum {
    TABLE_LEFT = 0,
    TABLE_RIGHT = 1,
    TABLE_BELOW = 2, /* defines the row: printed on a line below it instead */
    TABLE_STAYS = 4, /* never leaves the row, like the first column */
    TABLE_SPARE =
        8, /* left out before any text is wrapped; columns with larger multiples go first */
};

typedef struct table_column {
    const char *title;
    int style; /* alignment | place, such as TABLE_RIGHT | 2 * TABLE_SPARE */
} table_column;

typedef struct table table;

/** Returns an empty table; NULL: out of memory, which the other functions accept. */
table *table_new(const table_column *columns, size_t count);

/** Fills the next cell; a text longer than 255 bytes is truncated. */
void table_cell(table *rows, const char *fmt, ...) PLAIT_PRINTF(2, 3);

/**
 * Prints the table, each line after `indent` blanks, and frees it. A table without rows prints nothing.
 * If lines are too narrow, columns are left out, and a line below the table names them.
 */
plait_status table_print(table *rows, int indent, FILE *out, plait_error *err) PLAIT_MUST_CHECK;

/** Frees a table without printing it. */
void table_free(table *rows);
