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

typedef enum table_align { TABLE_LEFT, TABLE_RIGHT } table_align;

typedef struct table_column {
    const char *title;
    table_align align;
} table_column;

typedef struct table table;

/** An empty table, or NULL when out of memory, which the other functions take as well. */
table *table_new(const table_column *columns, size_t count);

/** Fills the next cell; a text above 255 bytes is cut. */
void table_cell(table *rows, const char *fmt, ...) PLAIT_PRINTF(2, 3);

/* Order in which columns leave the rows of a table that is wider than its lines (lines.h), the largest first. */
enum {
    TABLE_SPARE = 1,  /* this and larger values: left out before any text is wrapped */
    TABLE_PLAIN = 0,  /* the default: left out if wrapping is not enough */
    TABLE_BELOW = -1, /* defines the row: printed on a line below it instead */
    TABLE_STAYS = -2, /* never leaves the row, as the first column */
};

void table_spare(table *rows, size_t column, int spare);

/**
 * Prints the table, each line behind `indent` blanks, and frees it. An empty one is nothing. Where
 * lines are too narrow, columns are left out, and a line below names them.
 */
plait_status table_print(table *rows, int indent, FILE *out, plait_error *err) PLAIT_MUST_CHECK;

/** Frees a table that is not printed. */
void table_free(table *rows);
