/* csv_table.h - tables of comma-separated values with a header row, the only place that knows libcsv
 *
 *     csv_table table;
 *     int tp;
 *
 *     PLAIT_TRY(csv_table_read("runs.csv", arena, &table, err));
 *     PLAIT_TRY(csv_table_among(&table, known, err));
 *     PLAIT_TRY(csv_table_int(&table, row, csv_table_column(&table, "tp"), 1, 1024, &tp, err));
 *
 * RFC 4180: cells may be quoted, and then hold commas, line ends and doubled quotes. Blanks around a
 * cell that is not quoted are dropped, and so are empty lines and a byte order mark. Every row has
 * as many cells as the header. Messages say "runs.csv:12:tp": file, line and column.
 */
#pragma once

#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

static const size_t CSV_MAX_BYTES = (size_t)64 << 20;

enum { CSV_MAX_COLUMNS = 1024 };

/** A whole table, as text. It lives in the arena that it was read into. */
typedef struct csv_table {
    const char *name; /* of the file */
    size_t columns;
    size_t rows;              /* without the header */
    const char *const *title; /* [columns], then NULL */
    const char *const *cell;  /* [rows * columns], "" where empty */
    const int *line;          /* [rows]: where each row begins */
} csv_table;

/** Reads a file. A directory, more than 64 MiB, and what is not UTF-8 text are refused. */
plait_status csv_table_read(const char *path, plait_arena *arena, csv_table *out,
                            plait_error *err) PLAIT_MUST_CHECK;

/** The same from text; `name` stands for the file in messages. */
plait_status csv_table_parse(const char *text, size_t length, const char *name, plait_arena *arena,
                             csv_table *out, plait_error *err) PLAIT_MUST_CHECK;

/** The column of a title, or -1. */
int csv_table_column(const csv_table *table, const char *title);

/** Refuses a column that `known` does not list, and names the nearest that it does. */
plait_status csv_table_among(const csv_table *table, const char *const *known,
                             plait_error *err) PLAIT_MUST_CHECK;

/** A cell's text; "" when the table lacks the column (-1). */
const char *csv_table_text(const csv_table *table, size_t row, int column);

/** Refuses a cell: "file:LINE:COLUMN: expected ..., found ...". */
plait_status csv_table_fail(const csv_table *table, size_t row, int column, plait_error *err,
                            const char *expected) PLAIT_MUST_CHECK;

/* A cell that is empty, or a column that the table lacks, leaves *out as it is. */

/** A number from `min` to `max`. */
plait_status csv_table_number(const csv_table *table, size_t row, int column, double min,
                              double max, double *out, plait_error *err) PLAIT_MUST_CHECK;

plait_status csv_table_int(const csv_table *table, size_t row, int column, int min, int max,
                           int *out, plait_error *err) PLAIT_MUST_CHECK;

/** The index of a word in a list that NULL ends. */
plait_status csv_table_word(const csv_table *table, size_t row, int column,
                            const char *const *words, int *out, plait_error *err) PLAIT_MUST_CHECK;
