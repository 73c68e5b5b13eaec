/* report_table.c - tables in plain ASCII: as wide as their cells */
#include "report_table.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { GAP = 2, CELL_SIZE = 256 }; /* blanks between columns; bytes of a cell */

typedef struct table_room {
    table_align align;
    size_t width; /* of the widest cell */
    int spare;
    bool dropped; /* there is no room for it */
} table_room;

struct table {
    table_room *column;
    size_t columns;
    char **cell; /* row by row, the titles first */
    size_t cells, capacity;
    bool failed; /* out of memory */
};

static bool always_whole;

void table_keep_whole(bool whole)
{
    always_whole = whole;
}

void table_free(table *rows)
{
    if (rows == NULL)
        return;
    for (size_t c = 0; c < rows->cells; c++)
        free(rows->cell[c]);
    free(rows->cell);
    free(rows->column);
    free(rows);
}

void table_spare(table *rows, size_t column, int spare)
{
    if (rows != NULL)
        rows->column[column].spare = spare;
}

static bool make_room(table *rows)
{
    const size_t more = rows->capacity > 0 ? 2 * rows->capacity : 64;
    char **grown;

    if (rows->cells < rows->capacity)
        return true;
    grown = realloc(rows->cell, more * sizeof *grown);
    if (grown == NULL)
        return false;
    rows->cell = grown;
    rows->capacity = more;
    return true;
}

/* Bytes that are no printable ASCII stand as \xNN: a name steers no terminal, and cells line up. */
static char *plain(const char *text)
{
    char *const copy = malloc(4 * strlen(text) + 1), *end = copy;

    for (const char *c = text; copy != NULL && *c != '\0'; c++)
        if (*c < ' ' || *c > '~' || (c[0] == '\\' && c[1] == 'x'))
            end += sprintf(end, "\\x%02x", (unsigned)(unsigned char)*c);
        else
            *end++ = *c;
    if (copy != NULL)
        *end = '\0';
    return copy;
}

void table_cell(table *rows, const char *fmt, ...)
{
    char text[CELL_SIZE], *kept;
    table_room *column;
    va_list args;

    if (rows == NULL || rows->failed)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    kept = make_room(rows) ? plain(text) : NULL;
    rows->failed = kept == NULL;
    if (kept == NULL)
        return;
    column = &rows->column[rows->cells % rows->columns];
    if (strlen(kept) > column->width)
        column->width = strlen(kept);
    rows->cell[rows->cells++] = kept;
}

table *table_new(const table_column *columns, size_t count)
{
    table *rows = calloc(1, sizeof *rows);
    table_room *column = calloc(count, sizeof *column);

    if (rows == NULL || column == NULL) {
        free(rows);
        free(column);
        return NULL;
    }
    *rows = (table){.column = column, .columns = count};
    for (size_t c = 0; c < count; c++) {
        column[c].align = columns[c].align;
        table_cell(rows, "%s", columns[c].title);
    }
    return rows;
}

/* ---- what there is room for ---- */

/* Of a terminal; 0: a file or a pipe, where a line is as long as it is. */
static size_t room_of(FILE *out)
{
    struct winsize size;

    if (always_whole || fileno(out) < 0 || !isatty(fileno(out)) ||
        ioctl(fileno(out), TIOCGWINSZ, &size) != 0)
        return 0;
    return size.ws_col;
}

static size_t table_width(const table *rows)
{
    size_t width = 0;

    for (size_t c = 0; c < rows->columns; c++)
        if (!rows->column[c].dropped)
            width += GAP + rows->column[c].width;
    return width - GAP;
}

/* The most dispensable column that is there, of equals the last; the first one stays: 0, none. */
static size_t most_spare(const table *rows)
{
    size_t most = 0;

    for (size_t c = 1; c < rows->columns; c++)
        if (!rows->column[c].dropped &&
            (most == 0 || rows->column[c].spare >= rows->column[most].spare))
            most = c;
    return most;
}

static void fit(table *rows, size_t room)
{
    size_t spare;

    while (room > 0 && table_width(rows) > room && (spare = most_spare(rows)) != 0)
        rows->column[spare].dropped = true;
}

/* ---- printing ---- */

/* Blanks wait until something stands behind them: a line does not end in any. */
static void print_cell(const table_room *column, const char *text, size_t *blanks, FILE *out)
{
    const size_t length = strlen(text), rest = column->width - length;
    const size_t before = column->align == TABLE_RIGHT ? rest : 0;

    if (length > 0) {
        fprintf(out, "%*s%s", (int)(*blanks + before), "", text);
        *blanks = 0;
    } else {
        *blanks += before;
    }
    *blanks += rest - before + GAP;
}

static void print_row(const table *rows, size_t first, int indent, FILE *out)
{
    size_t blanks = (size_t)indent;

    for (size_t c = 0; c < rows->columns; c++)
        if (!rows->column[c].dropped && first + c < rows->cells)
            print_cell(&rows->column[c], rows->cell[first + c], &blanks, out);
    fputc('\n', out);
}

static void print_dropped(const table *rows, int indent, FILE *out)
{
    const char *lead = "no room for ";

    for (size_t c = 0; c < rows->columns; c++) {
        if (!rows->column[c].dropped)
            continue;
        fprintf(out, "%*s%s%s", lead[0] == 'n' ? indent : 0, "", lead, rows->cell[c]);
        lead = ", ";
    }
    if (lead[0] == ',')
        fputs("; --wide shows all\n", out);
}

plait_status table_print(table *rows, int indent, FILE *out, plait_error *err)
{
    const size_t room = room_of(out);
    const bool failed = rows == NULL || rows->failed;

    if (!failed && rows->cells > rows->columns) {
        fit(rows, room > (size_t)indent ? room - (size_t)indent : room);
        for (size_t c = 0; c < rows->cells; c += rows->columns)
            print_row(rows, c, indent, out);
        print_dropped(rows, indent, out);
    }
    table_free(rows);
    return failed ? plait_fail_nomem(err) : PLAIT_OK;
}
