/*
 * csv_table.h - tables of comma-separated values with a header row
 *
 *     csv_table table;
 *     int tp;
 *
 *     PLAIT_TRY(csv_table_read("runs.csv", arena, &table, err));
 *     PLAIT_TRY(csv_table_among(&table, known, err));
 *     PLAIT_TRY(csv_table_int(&table, row, csv_table_column(&table, "tp"), 1, 1024, &tp, err));
 *
 * Quoted cells may contain commas, line ends and doubled quotes (RFC 4180). Blanks around unquoted
 * cells, empty lines and a byte order mark are dropped. Every row has the same number of cells as
 * the header. Errors name file, line and column, "runs.csv:12:tp".
 */
#pragma once

#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

static const size_t CSV_MAX_BYTES = (size_t)64 << 20;

enum { CSV_MAX_COLUMNS = 1024 };

/** A table whose cells are texts. It lives in the reader's arena. */
typedef struct csv_table {
    const char *name; /* path of the file, for messages */
    size_t columns;
    size_t rows;              /* number of rows after the header */
    const char *const *title; /* [columns] titles, then NULL */
    const char *const *cell;  /* [rows * columns] texts; an empty cell is "" */
    const int *line;          /* [rows] line number at which each row begins */
} csv_table;

/** Reads a file of UTF-8 text of at most 64 MiB. */
plait_status csv_table_read(const char *path, plait_arena *arena, csv_table *out,
                            plait_error *err) PLAIT_MUST_CHECK;

/** Parses a text; error messages have `name` as its path. */
plait_status csv_table_parse(const char *text, size_t length, const char *name, plait_arena *arena,
                             csv_table *out, plait_error *err) PLAIT_MUST_CHECK;

/** Returns the index of the column with a title, or -1. */
int csv_table_column(const csv_table *table, const char *title);

/**
 * Fails if the table has a column that is not in the list `known`; the message has the nearest
 * known title.
 */
plait_status csv_table_among(const csv_table *table, const char *const *known,
                             plait_error *err) PLAIT_MUST_CHECK;

/** Returns the text of a cell; "" if the column is -1 (missing). */
const char *csv_table_text(const csv_table *table, size_t row, int column);

/** Fails with "file:LINE:COLUMN: expected ..., found ...". */
plait_status csv_table_fail(const csv_table *table, size_t row, int column, plait_error *err,
                            const char *expected) PLAIT_MUST_CHECK;

/*
 * Read a number from `min` to `max`. If the cell is empty or the column missing, *out stays
 * unchanged.
 */
plait_status csv_table_number(const csv_table *table, size_t row, int column, double min,
                              double max, double *out, plait_error *err) PLAIT_MUST_CHECK;

plait_status csv_table_int(const csv_table *table, size_t row, int column, int min, int max,
                           int *out, plait_error *err) PLAIT_MUST_CHECK;

/** Reads a word of a list that ends with NULL; *out is its index in the list. */
plait_status csv_table_word(const csv_table *table, size_t row, int column,
                            const char *const *words, int *out, plait_error *err) PLAIT_MUST_CHECK;
