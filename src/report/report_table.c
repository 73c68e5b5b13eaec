/* report_table.c - prints tables in plain ASCII, fitted to the width of the lines */
#include "report/report_table.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "report/lines.h"
#include "base/text.h"

enum {
    GAP = 2,      /* blanks between columns */
    HANG = 2,     /* blanks before the second and later lines of a cell */
    WRAPPED = 24, /* smallest width of a wrapped column */
    BELOW_INDENT = 4,
};

/*
 * Values of `leaves` below 0. A column with a value of 0 or more is omitted from a table that is
 * too wide.
 */
enum { GOES_BELOW = -1, STAYS = -2 };

typedef enum table_place { IN_ROW, BELOW, LEFT_OUT } table_place;

typedef struct table_room {
    bool right;   /* the column is aligned to the right */
    size_t width; /* width of the widest cell, or less if cells must be wrapped */
    size_t word;  /* length of the longest word */
    int leaves;   /* order in which columns are omitted, largest first; or a value below 0 */
    table_place place;
} table_room;

struct table {
    table_room *column;
    size_t columns;
    char **cell; /* cells row by row; the first row has the titles */
    size_t cells, capacity;
    bool failed; /* memory ran out */
};

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

/*
 * Replaces bytes that are not printable ASCII by \xNN, so that names cannot control the terminal
 * and cells line up.
 */
static char *printable_text(const char *text)
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

static size_t longest_word(const char *text)
{
    size_t longest = 0;

    while (*text != '\0') {
        const size_t length = strcspn(text, " ");

        longest = length > longest ? length : longest;
        text += length + strspn(text + length, " ");
    }
    return longest;
}

void table_cell(table *rows, const char *fmt, ...)
{
    char text[VALUE_SIZE], *kept;
    table_room *column;
    va_list args;

    if (rows == NULL || rows->failed)
        return;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    kept = make_room(rows) ? printable_text(text) : NULL;
    rows->failed = kept == NULL;
    if (kept == NULL)
        return;
    column = &rows->column[rows->cells % rows->columns];
    if (strlen(kept) > column->width)
        column->width = strlen(kept);
    if (longest_word(kept) > column->word)
        column->word = longest_word(kept);
    rows->cell[rows->cells++] = kept;
}

void table_row(table *rows, const table_value *cells, size_t count)
{
    char text[VALUE_SIZE];

    for (size_t c = 0; c < count; c++)
        table_cell(rows, "%s", cell_text(&cells[c], text));
}

/* Reads the text after a title that controls its column: "@below", "@stays", "@2". */
static int leaves_of(const char *place)
{
    return place[1] == 'b' ? GOES_BELOW : place[1] == 's' ? STAYS : place[1] - '0';
}

table *table_new(const char *columns)
{
    table *const rows = calloc(1, sizeof *rows);
    size_t count = 1, length;

    for (const char *c = columns; *c != '\0'; c++)
        count += *c == '|';
    if (rows == NULL || (rows->column = calloc(count, sizeof *rows->column)) == NULL) {
        free(rows);
        return NULL;
    }
    rows->columns = count;
    for (size_t c = 0; c < count; c++, columns += length + 1) {
        const bool right = columns[0] == '>';
        const size_t title = strcspn(columns, "@|");

        length = strcspn(columns, "|");
        rows->column[c].right = right;
        rows->column[c].leaves = title < length ? leaves_of(columns + title) : 0;
        table_cell(rows, "%.*s", (int)(title - right), columns + right);
    }
    return rows;
}

/* ---- fitting the width ---- */

static size_t least_width(const table_room *column)
{
    const size_t least = column->word + HANG > WRAPPED ? column->word + HANG : WRAPPED;

    return !column->right && least < column->width ? least : column->width;
}

static size_t table_width(const table *rows, bool wrapped)
{
    size_t width = 0;

    for (size_t c = 0; c < rows->columns; c++)
        if (rows->column[c].place == IN_ROW)
            width += GAP + (wrapped ? least_width(&rows->column[c]) : rows->column[c].width);
    return width - GAP;
}

/*
 * Returns whether column `a` is removed from the row before column `b`, which is further left.
 * Among columns with equal `leaves`, the last one is omitted first; among those to be printed
 * below, the widest is first.
 */
static bool leaves_first(const table_room *a, const table_room *b)
{
    return a->leaves > b->leaves ||
           (a->leaves == b->leaves && (a->leaves >= 0 || a->width > b->width));
}

/* Returns the next column to remove from the row; 0: none, since the first column always stays. */
static size_t next_to_leave(const table *rows)
{
    size_t next = 0;

    for (size_t c = 1; c < rows->columns; c++)
        if (rows->column[c].place == IN_ROW && rows->column[c].leaves > STAYS &&
            (next == 0 || leaves_first(&rows->column[c], &rows->column[next])))
            next = c;
    return next;
}

/* Returns the widest column that can still be wrapped; NULL: none. */
static table_room *widest_to_wrap(const table *rows)
{
    table_room *widest = NULL;

    for (size_t c = 0; c < rows->columns; c++) {
        table_room *const column = &rows->column[c];

        if (column->place == IN_ROW && least_width(column) < column->width &&
            (widest == NULL || column->width > widest->width))
            widest = column;
    }
    return widest;
}

/* ---- printing ---- */

/* Prints one line of a row, and advances each cell past its printed part. */
static void print_line(table *rows, const char **cell, bool first, int indent, FILE *out)
{
    size_t blanks = (size_t)indent;

    for (size_t c = 0; c < rows->columns; c++) {
        const table_room *const column = &rows->column[c];
        const size_t hang = first || cell[c][0] == '\0' ? 0 : HANG;
        size_t length;

        if (column->place != IN_ROW)
            continue;
        length = strlen(cell[c]) + hang > column->width ? lines_cut(cell[c], column->width - hang)
                                                        : strlen(cell[c]);
        blanks += hang;
        // Blanks are printed only before text, so that no line ends with blanks.
        const size_t rest = column->width > length ? column->width - length : 0;
        const size_t before = column->right ? rest : 0;

        if (length > 0) {
            fprintf(out, "%*s%.*s", (int)(blanks + before), "", (int)length, cell[c]);
            blanks = 0;
        } else {
            blanks += before;
        }
        blanks += rest - before + GAP;
        blanks -= hang;
        cell[c] += length + strspn(cell[c] + length, " ");
    }
    fputc('\n', out);
}

static bool any_left(const table *rows, const char *const *cell)
{
    for (size_t c = 0; c < rows->columns; c++)
        if (rows->column[c].place == IN_ROW && cell[c][0] != '\0')
            return true;
    return false;
}

plait_status table_print(table *rows, int indent, FILE *out, plait_error *err)
{
    const size_t width = lines_width(out), inside = (size_t)indent;
    const size_t room = width > inside ? width - inside : width;
    const bool failed = rows == NULL || rows->failed;
    const char **cell = failed ? NULL : calloc(rows->columns, sizeof *cell);

    if (cell != NULL && rows->cells > rows->columns) {
        // Columns with "@1" to "@9" are omitted before any text is wrapped, other columns only if
        // wrapping is not enough.
        size_t leaving;

        while (room > 0 && (leaving = next_to_leave(rows)) != 0 &&
               table_width(rows, rows->column[leaving].leaves <= 0) > room)
            rows->column[leaving].place = rows->column[leaving].leaves < 0 ? BELOW : LEFT_OUT;
        while (room > 0 && table_width(rows, false) > room && widest_to_wrap(rows) != NULL)
            widest_to_wrap(rows)->width--;
        for (size_t c = 0; c < rows->cells; c += rows->columns) {
            for (size_t k = 0; k < rows->columns; k++)
                cell[k] = c + k < rows->cells ? rows->cell[c + k] : "";
            print_line(rows, cell, true, indent, out);
            while (any_left(rows, cell))
                print_line(rows, cell, false, indent, out);
            if (c > 0) {
                enum { LINE_SIZE = 4096 };
                char line[LINE_SIZE];
                size_t used = 0;

                for (size_t k = 0; k < rows->columns; k++) {
                    const char *const title = rows->cell[k], *const text = rows->cell[c + k];

                    if (rows->column[k].place != BELOW || text[0] == '\0' || text_equal(text, "-"))
                        continue;
                    used += (size_t)text_format(line + used, LINE_SIZE - used, "%*s%s%s%s",
                                                used == 0 ? indent + BELOW_INDENT : 0, "",
                                                used > 0 ? ", " : "", title,
                                                title[0] != '\0' ? " " : "");
                    used += (size_t)text_format(line + used, LINE_SIZE - used, "%s", text);
                }
                if (used > 0)
                    lines_print(line, room + (size_t)indent, out);
            }
        }
        const char *lead = "no room for ";

        for (size_t c = 0; c < rows->columns; c++) {
            if (rows->column[c].place != LEFT_OUT || rows->cell[c][0] == '\0')
                continue;
            fprintf(out, "%*s%s%s", lead[0] == 'n' ? indent : 0, "", lead, rows->cell[c]);
            lead = ", ";
        }
        if (lead[0] == ',')
            fputs("; --wide shows all\n", out);
    }
    free(cell);
    table_free(rows);
    return cell == NULL ? plait_fail_nomem(err) : PLAIT_OK;
}
