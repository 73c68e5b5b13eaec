/* report_table.c - tables in plain ASCII: the only file that knows libsmartcols */
#include "report_table.h"

#include <libsmartcols/libsmartcols.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { GAP = 2, CELL_SIZE = 256 }; /* blanks between columns; bytes of a cell */

struct table {
    table_column *column;
    size_t columns;
    char **cell; /* row by row */
    size_t cells, capacity;
    int *spare;    /* [columns] */
    bool *dropped; /* [columns]: there is no room for it */
    bool failed;   /* out of memory */
};

static bool always_whole;

void table_keep_whole(bool whole)
{
    always_whole = whole;
}

table *table_new(const table_column *columns, size_t count)
{
    table *rows = calloc(1, sizeof *rows);
    table_column *column = calloc(count, sizeof *column);
    int *spare = calloc(count, sizeof *spare);
    bool *dropped = calloc(count, sizeof *dropped);

    if (rows == NULL || column == NULL || spare == NULL || dropped == NULL) {
        free(rows);
        free(column);
        free(spare);
        free(dropped);
        return NULL;
    }
    memcpy(column, columns, count * sizeof *column);
    *rows = (table){.column = column, .columns = count, .spare = spare, .dropped = dropped};
    return rows;
}

void table_free(table *rows)
{
    if (rows == NULL)
        return;
    for (size_t c = 0; c < rows->cells; c++)
        free(rows->cell[c]);
    free(rows->cell);
    free(rows->spare);
    free(rows->dropped);
    free(rows->column);
    free(rows);
}

void table_spare(table *rows, size_t column, int spare)
{
    if (rows != NULL)
        rows->spare[column] = spare;
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

void table_cell(table *rows, const char *fmt, ...)
{
    char text[CELL_SIZE], *kept;
    va_list args;

    if (rows == NULL || rows->failed)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    kept = make_room(rows) ? strdup(text) : NULL;
    rows->failed = kept == NULL;
    if (kept != NULL)
        rows->cell[rows->cells++] = kept;
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

static size_t column_width(const table *rows, size_t column)
{
    size_t width = strlen(rows->column[column].title);

    for (size_t c = column; c < rows->cells; c += rows->columns) {
        const size_t length = strlen(rows->cell[c]);
        width = length > width ? length : width;
    }
    return width;
}

static size_t table_width(const table *rows)
{
    size_t width = 0;

    for (size_t c = 0; c < rows->columns; c++)
        if (!rows->dropped[c])
            width += GAP + column_width(rows, c);
    return width - GAP;
}

/* The most dispensable column that is there, of equals the last; the first one stays: 0, none. */
static size_t most_spare(const table *rows)
{
    size_t most = 0;

    for (size_t c = 1; c < rows->columns; c++)
        if (!rows->dropped[c] && (most == 0 || rows->spare[c] >= rows->spare[most]))
            most = c;
    return most;
}

static void fit(table *rows, size_t room)
{
    size_t spare;

    while (room > 0 && table_width(rows) > room && (spare = most_spare(rows)) != 0)
        rows->dropped[spare] = true;
}

/* ---- printing ---- */

static bool add_columns(const table *rows, struct libscols_table *made)
{
    for (size_t c = 0; c < rows->columns; c++)
        if (!rows->dropped[c] &&
            scols_table_new_column(made, rows->column[c].title, 0.0,
                                   rows->column[c].align == TABLE_RIGHT ? SCOLS_FL_RIGHT : 0) ==
                NULL)
            return false;
    return true;
}

static bool add_lines(const table *rows, struct libscols_table *made)
{
    struct libscols_line *line = NULL;
    size_t filled = 0;

    for (size_t c = 0; c < rows->cells; c++) {
        if (c % rows->columns == 0) {
            line = scols_table_new_line(made, NULL);
            filled = 0;
        }
        if (line == NULL)
            return false;
        if (!rows->dropped[c % rows->columns] &&
            scols_line_set_data(line, filled++, rows->cell[c]) != 0)
            return false;
    }
    return true;
}

/* No colours, no cutting of cells. */
static bool be_plain(struct libscols_table *made)
{
    return scols_table_set_termforce(made, SCOLS_TERMFORCE_NEVER) == 0 &&
           scols_table_enable_ascii(made, 1) == 0 &&
           scols_table_set_column_separator(made, "  ") == 0;
}

/* The table as text, to be freed; NULL: out of memory. */
static char *laid_out(const table *rows)
{
    struct libscols_table *made = scols_new_table();
    char *text = NULL;

    if (made == NULL)
        return NULL;
    if (!be_plain(made) || !add_columns(rows, made) || !add_lines(rows, made) ||
        scols_print_table_to_string(made, &text) != 0)
        text = NULL;
    scols_unref_table(made);
    return text;
}

/* The library pads the last column of each line; blanks at the end help nobody. */
static void print_line(const char *line, size_t length, int indent, FILE *out)
{
    while (length > 0 && line[length - 1] == ' ')
        length--;
    fprintf(out, "%*s%.*s\n", length > 0 ? indent : 0, "", (int)length, line);
}

static void print_text(const char *text, int indent, FILE *out)
{
    while (*text != '\0') {
        const size_t length = strcspn(text, "\n");

        print_line(text, length, indent, out);
        text += length + (text[length] == '\n');
    }
}

static void print_dropped(const table *rows, int indent, FILE *out)
{
    const char *lead = "no room for ";

    for (size_t c = 0; c < rows->columns; c++) {
        if (!rows->dropped[c])
            continue;
        fprintf(out, "%*s%s%s", lead[0] == 'n' ? indent : 0, "", lead, rows->column[c].title);
        lead = ", ";
    }
    if (lead[0] == ',')
        fputs("; --wide shows all\n", out);
}

plait_status table_print(table *rows, int indent, FILE *out, plait_error *err)
{
    const size_t room = room_of(out);
    char *text = NULL;
    bool failed = rows == NULL || rows->failed;

    if (!failed && rows->cells > 0) {
        fit(rows, room > (size_t)indent ? room - (size_t)indent : room);
        text = laid_out(rows);
        failed = text == NULL;
    }
    if (text != NULL) {
        print_text(text, indent, out);
        print_dropped(rows, indent, out);
    }
    free(text);
    table_free(rows);
    return failed ? plait_fail_nomem(err) : PLAIT_OK;
}
