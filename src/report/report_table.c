/* report_table.c - tables in plain ASCII: the only file that knows libsmartcols */
#include "report_table.h"

#include <libsmartcols/libsmartcols.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct table {
    struct libscols_table *scols;
    struct libscols_line *line; /* being filled */
    size_t columns;
    size_t filled; /* cells of `line` */
    bool failed;   /* out of memory */
};

static bool add_columns(table *rows, const table_column *columns)
{
    for (size_t c = 0; c < rows->columns; c++)
        if (scols_table_new_column(rows->scols, columns[c].title, 0.0,
                                   columns[c].align == TABLE_RIGHT ? SCOLS_FL_RIGHT : 0) == NULL)
            return false;
    return true;
}

/* The same bytes on a terminal and in a file: no colours, no cutting at the terminal's width. */
static bool be_plain(table *rows)
{
    return scols_table_set_termforce(rows->scols, SCOLS_TERMFORCE_NEVER) == 0 &&
           scols_table_enable_ascii(rows->scols, 1) == 0 &&
           scols_table_set_column_separator(rows->scols, "  ") == 0;
}

table *table_new(const table_column *columns, size_t count)
{
    table *rows = calloc(1, sizeof *rows);

    if (rows == NULL)
        return NULL;
    rows->columns = count;
    rows->filled = count;
    rows->scols = scols_new_table();
    if (rows->scols == NULL || !be_plain(rows) || !add_columns(rows, columns)) {
        table_free(rows);
        return NULL;
    }
    return rows;
}

void table_free(table *rows)
{
    if (rows == NULL)
        return;
    scols_unref_table(rows->scols);
    free(rows);
}

void table_cell(table *rows, const char *fmt, ...)
{
    char text[256];
    va_list args;

    if (rows == NULL || rows->failed)
        return;
    if (rows->filled == rows->columns) {
        rows->line = scols_table_new_line(rows->scols, NULL);
        rows->filled = 0;
    }
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    rows->failed = rows->line == NULL || scols_line_set_data(rows->line, rows->filled++, text) != 0;
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

plait_status table_print(table *rows, int indent, FILE *out, plait_error *err)
{
    char *text = NULL;

    if (rows == NULL || rows->failed) {
        table_free(rows);
        return plait_fail_nomem(err);
    }
    if (rows->line != NULL && scols_print_table_to_string(rows->scols, &text) != 0) {
        table_free(rows);
        return plait_fail_nomem(err);
    }
    if (text != NULL)
        print_text(text, indent, out);
    free(text);
    table_free(rows);
    return PLAIT_OK;
}
