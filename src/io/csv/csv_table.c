/* csv_table.c - reads comma-separated values with libcsv */
#include "io/csv/csv_table.h"

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <csv.h>

#include "base/fail.h"
#include "base/grow.h"
#include "base/text.h"
#include "io/file.h"

/* ---- bytes and lines ---- */

static plait_status fail_line(const char *name, size_t line, plait_status status, plait_error *err,
                              const char *fmt, ...) PLAIT_PRINTF(5, 6);

static plait_status fail_line(const char *name, size_t line, plait_status status, plait_error *err,
                              const char *fmt, ...)
{
    char where[256];
    va_list args;

    snprintf(where, sizeof where, "%.200s:%zu", name, line);
    va_start(args, fmt);
    status = fail_list(err, status, where, fmt, args);
    va_end(args);
    return status;
}

/* Returns the length of a line including its line end: LF, CR or both. */
static size_t length_of_line(const char *text, size_t length)
{
    size_t i = 0;

    while (i < length && text[i] != '\n' && text[i] != '\r')
        i++;
    if (i + 1 < length && text[i] == '\r' && text[i + 1] == '\n')
        i++;
    return i < length ? i + 1 : length;
}

static size_t line_of(const char *text, size_t at)
{
    size_t line = 1;

    for (size_t i = 0; (i += length_of_line(text + i, at + 1 - i)) <= at;)
        line++;
    return line;
}

/* Checks that the text is plain (text.h) except for tabs and line ends. */
static plait_status check_bytes(const char *text, size_t length, const char *name, plait_error *err)
{
    for (size_t at = 0; (at += text_plain_prefix(text + at, length - at)) < length; at++) {
        const bool cut = text_utf8_length(text + at, length - at) == 0;

        if (text[at] != '\t' && text[at] != '\n' && text[at] != '\r')
            return fail_line(name, line_of(text, at), PLAIT_ERROR_SYNTAX, err,
                             "expected %s, found byte 0x%02x", cut ? "UTF-8" : "text",
                             (unsigned)(unsigned char)text[at]);
    }
    return PLAIT_OK;
}

/* ---- cells and rows ---- */

/* A table that is being read. An int can count its cells, because a file has at most 64 MiB. */
typedef struct csv_reader {
    plait_arena *arena;
    const char *name;
    const char *const *title; /* titles; NULL until the header is complete */
    size_t columns;
    const char **cell;
    int cells, cell_capacity;
    int *line;
    int rows, line_capacity;
    size_t in_row;    /* cells of the current row so far */
    size_t row_began; /* number of the current row's first line */
    plait_status status;
    plait_error *err;
} csv_reader;

static bool push_cell(csv_reader *reader, const char *bytes, size_t length)
{
    char *copy = "";

    reader->cell = grow_by_one(reader->arena, reader->cell, reader->cells, &reader->cell_capacity,
                               sizeof *reader->cell);
    if (reader->cell == NULL)
        return false;
    if (length > 0) {
        copy = plait_arena_alloc(reader->arena, length + 1, 1);
        if (copy == NULL)
            return false;
        memcpy(copy, bytes, length);
    }
    reader->cell[reader->cells++] = copy;
    return true;
}

static bool push_line(csv_reader *reader)
{
    reader->line = grow_by_one(reader->arena, reader->line, reader->rows, &reader->line_capacity,
                               sizeof *reader->line);
    if (reader->line == NULL)
        return false;
    reader->line[reader->rows++] =
        reader->row_began < INT32_MAX ? (int)reader->row_began : INT32_MAX;
    return true;
}

/* libcsv calls this function at the end of each cell. */
static void end_cell(void *bytes, size_t length, void *context)
{
    csv_reader *const reader = context;
    const size_t most = reader->title != NULL ? reader->columns : CSV_MAX_COLUMNS;

    if (reader->status != PLAIT_OK)
        return;
    if (reader->in_row == most)
        reader->status = fail_line(reader->name, reader->row_began, PLAIT_ERROR_SYNTAX, reader->err,
                                   "expected %s%zu cells, found more",
                                   reader->title != NULL ? "" : "at most ", most);
    else if (!push_cell(reader, bytes, length))
        reader->status = plait_fail_nomem(reader->err);
    reader->in_row++;
}

static plait_status end_header(csv_reader *reader)
{
    const char **title = plait_arena_alloc(reader->arena, (size_t)reader->cells + 1, sizeof *title);

    if (title == NULL)
        return plait_fail_nomem(reader->err);
    memcpy(title, reader->cell, (size_t)reader->cells * sizeof *title);
    reader->title = title;
    reader->columns = (size_t)reader->cells;
    reader->cells = 0;
    for (size_t i = 0; i < reader->columns; i++) {
        if (reader->title[i][0] == '\0')
            return fail_line(reader->name, reader->row_began, PLAIT_ERROR_SYNTAX, reader->err,
                             "expected a name for each column, found none for column %zu", i + 1);
        for (size_t j = 0; j < i; j++)
            if (strcmp(reader->title[i], reader->title[j]) == 0)
                return fail_line(reader->name, reader->row_began, PLAIT_ERROR_SCHEMA, reader->err,
                                 "expected each column once, found \"%.60s\" twice",
                                 reader->title[i]);
    }
    return PLAIT_OK;
}

/* libcsv calls this function at the end of each row. */
static void end_row(int terminator, void *context)
{
    csv_reader *const reader = context;

    (void)terminator;
    if (reader->status != PLAIT_OK)
        return;
    if (reader->title == NULL)
        reader->status = end_header(reader);
    else if (reader->in_row < reader->columns)
        reader->status =
            fail_line(reader->name, reader->row_began, PLAIT_ERROR_SYNTAX, reader->err,
                      "expected %zu cells, found %zu", reader->columns, reader->in_row);
    else if (!push_line(reader))
        reader->status = plait_fail_nomem(reader->err);
    reader->in_row = 0;
}

/* ---- the file ---- */

static plait_status fail_parse(const csv_reader *reader, struct csv_parser *parser, size_t line)
{
    if (csv_error(parser) != CSV_EPARSE)
        return plait_fail_nomem(reader->err);
    return fail_line(reader->name, line, PLAIT_ERROR_SYNTAX, reader->err,
                     "expected quotes around a whole cell, and doubled quotes inside it, found a "
                     "quote elsewhere");
}

/*
 * Parses the text line by line. Quoted cells may contain line ends, so a line begins a row only if
 * the number of quotes before it is even.
 */
static plait_status feed_text(csv_reader *reader, struct csv_parser *parser, const char *text,
                              size_t length)
{
    size_t line = 1;
    bool quoted = false;

    while (length > 0) {
        const size_t part = length_of_line(text, length);

        if (!quoted)
            reader->row_began = line;
        if (csv_parse(parser, text, part, end_cell, end_row, reader) != part)
            return fail_parse(reader, parser, line);
        PLAIT_TRY(reader->status);
        for (size_t i = 0; i < part; i++)
            quoted ^= text[i] == '"';
        text += part;
        length -= part;
        line++;
    }
    if (csv_fini(parser, end_cell, end_row, reader) != 0)
        return fail_parse(reader, parser, reader->row_began);
    return reader->status;
}

plait_status csv_table_parse(const char *text, size_t length, const char *name, plait_arena *arena,
                             csv_table *out, plait_error *err)
{
    static const char mark[] = "\xef\xbb\xbf";
    csv_reader reader = {.arena = arena, .err = err};
    struct csv_parser parser;
    plait_status status;

    if (text == NULL || name == NULL)
        return plait_fail(err, PLAIT_ERROR_RANGE, name, "expected a text and its name, found NULL");
    reader.name = plait_arena_text(arena, name);
    PLAIT_TRY(plait_check_allocated(reader.name, err));
    if (length > CSV_MAX_BYTES)
        return plait_fail(err, PLAIT_ERROR_SYNTAX, name, "expected at most %zu bytes, found %zu",
                          CSV_MAX_BYTES, length);
    if (length >= 3 && memcmp(text, mark, 3) == 0) {
        text += 3;
        length -= 3;
    }
    PLAIT_TRY(check_bytes(text, length, name, err));
    if (csv_init(&parser, CSV_STRICT | CSV_STRICT_FINI) != 0)
        return plait_fail_nomem(err);
    status = feed_text(&reader, &parser, text, length);
    csv_free(&parser);
    PLAIT_TRY(status);
    if (reader.title == NULL)
        return plait_fail(err, PLAIT_ERROR_SYNTAX, name,
                          "expected a header row that names the columns, found nothing");
    *out = (csv_table){.name = reader.name,
                       .columns = reader.columns,
                       .rows = (size_t)reader.rows,
                       .title = reader.title,
                       .cell = reader.cell,
                       .line = reader.line};
    return PLAIT_OK;
}

plait_status csv_table_read(const char *path, plait_arena *arena, csv_table *out, plait_error *err)
{
    plait_arena *scratch = plait_arena_new();
    plait_status status;
    const char *text;
    size_t length;

    PLAIT_TRY(plait_check_allocated(scratch, err));
    status = file_read_all(path, CSV_MAX_BYTES, scratch, &text, &length, err);
    if (status == PLAIT_OK)
        status = csv_table_parse(text, length, path, arena, out, err);
    plait_arena_free(scratch);
    return status;
}

/* ---- columns ---- */

int csv_table_column(const csv_table *table, const char *title)
{
    return text_index(title, table->title);
}

plait_status csv_table_among(const csv_table *table, const char *const *known, plait_error *err)
{
    for (size_t i = 0; i < table->columns; i++) {
        const char *const title = table->title[i];
        const char *nearest;

        if (text_index(title, known) >= 0)
            continue;
        nearest = text_nearest(title, known);
        return fail_line(table->name, 1, PLAIT_ERROR_SCHEMA, err,
                         nearest != NULL
                             ? "expected column \"%.60s\", found \"%.60s\""
                             : "expected a known column such as \"%.60s\", found \"%.60s\"",
                         nearest != NULL ? nearest : known[0], title);
    }
    return PLAIT_OK;
}

/* ---- cells ---- */

const char *csv_table_text(const csv_table *table, size_t row, int column)
{
    assert(row < table->rows && column < (int)table->columns);
    return column < 0 ? "" : table->cell[row * table->columns + (size_t)column];
}

plait_status csv_table_fail(const csv_table *table, size_t row, int column, plait_error *err,
                            const char *expected)
{
    char where[256];

    snprintf(where, sizeof where, "%.120s:%d:%.80s", table->name, table->line[row],
             table->title[column]);
    return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected %s, found \"%.60s\"", expected,
                      csv_table_text(table, row, column));
}

plait_status csv_table_number(const csv_table *table, size_t row, int column, double min,
                              double max, double *out, plait_error *err)
{
    const char *const text = csv_table_text(table, row, column);
    char expected[80];
    double number;

    if (text[0] == '\0')
        return PLAIT_OK;
    if (!text_parse_number(text, &number) || number < min || number > max) {
        text_format(expected, sizeof expected, "a number from %g to %g", min, max);
        return csv_table_fail(table, row, column, err, expected);
    }
    *out = number;
    return PLAIT_OK;
}

plait_status csv_table_int(const csv_table *table, size_t row, int column, int min, int max,
                           int *out, plait_error *err)
{
    const char *const text = csv_table_text(table, row, column);
    char expected[80];

    if (text[0] == '\0' || text_parse_int(text, min, max, out))
        return PLAIT_OK;
    snprintf(expected, sizeof expected, "an integer from %d to %d", min, max);
    return csv_table_fail(table, row, column, err, expected);
}

plait_status csv_table_word(const csv_table *table, size_t row, int column,
                            const char *const *words, int *out, plait_error *err)
{
    const char *const text = csv_table_text(table, row, column);
    const char *nearest;
    char expected[160] = "";
    int index;

    if (text[0] == '\0')
        return PLAIT_OK;
    index = text_index(text, words);
    if (index >= 0) {
        *out = index;
        return PLAIT_OK;
    }
    nearest = text_nearest(text, words);
    for (size_t i = 0; nearest == NULL && words[i] != NULL; i++) {
        const size_t used = strlen(expected);

        snprintf(expected + used, sizeof expected - used, "%s%s", used > 0 ? ", " : "one of ",
                 words[i]);
    }
    return csv_table_fail(table, row, column, err, nearest != NULL ? nearest : expected);
}
