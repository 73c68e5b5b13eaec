/* page.c - adds blocks and cells to a page */
#include "page/page_private.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "report/units.h"

enum { TEXT_SIZE = 4096 };

page_form page_form_of(const char *path)
{
    static const char *const ending[PAGE_FORMS] = {".html", ".md", ".csv", ".json"};
    const char *const dot = strrchr(path, '.');
    int form = dot != NULL ? 0 : PAGE_FORMS;

    while (form < PAGE_FORMS && !text_alike(dot, ending[form]))
        form++;
    return (page_form)form;
}

/*
 * Returns the formatted text in the page's arena. If memory runs out, the page is marked as failed.
 */
static const char *format_text(page *of, const char *fmt, va_list args)
{
    char text[TEXT_SIZE];
    const char *kept;

    text_format_list(text, sizeof text, fmt, args);
    text_make_lines_plain(text);
    kept = plait_arena_text(of->arena, text);
    of->failed = of->failed || kept == NULL;
    return kept;
}

page *page_new(plait_arena *arena, const char *title, ...)
{
    page *of = plait_arena_alloc(arena, 1, sizeof *of);
    va_list args;

    if (of == NULL)
        return NULL;
    of->arena = arena;
    va_start(args, title);
    of->title = format_text(of, title, args);
    va_end(args);
    return of;
}

void page_answer(page *of, const char *fmt, ...)
{
    va_list args;

    if (of == NULL)
        return;
    va_start(args, fmt);
    of->answer = format_text(of, fmt, args);
    va_end(args);
}

void page_figure(page *of, const char *title, const char *value, const char *fmt, ...)
{
    va_list args;

    if (of == NULL || of->figures == PAGE_FIGURES)
        return;
    va_start(args, fmt);
    of->figure[of->figures++] =
        (page_figure_parts){title, plait_arena_text(of->arena, value), format_text(of, fmt, args)};
    va_end(args);
    of->failed = of->failed || of->figure[of->figures - 1].value == NULL;
}

/*
 * Returns the list, in the page's arena, with space for one more item; NULL: the page has failed.
 */
static void *grow_list(page *of, void *list, int count, int *capacity, size_t size)
{
    void *const larger = of->failed ? NULL : grow_by_one(of->arena, list, count, capacity, size);

    of->failed = larger == NULL;
    return larger;
}

void page_assume(page *of, const char *what, const char *fmt, ...)
{
    page_assumption *list;
    va_list args;

    if (of == NULL)
        return;
    list = grow_list(of, of->assumption, of->assumptions, &of->assumption_capacity, sizeof *list);
    if (list == NULL)
        return;
    of->assumption = list;
    va_start(args, fmt);
    of->assumption[of->assumptions++] = (page_assumption){what, format_text(of, fmt, args)};
    va_end(args);
}

void page_add_assumptions(const page *of, text_builder *out)
{
    for (int i = 0; i < of->assumptions; i++)
        text_append_printf(out, "%s%s: %s", i > 0 ? " | " : "", of->assumption[i].what,
                           of->assumption[i].text);
}

static void add_block(page *of, page_block block)
{
    page_block *list;

    if (of == NULL)
        return;
    list = grow_list(of, of->block, of->blocks, &of->capacity, sizeof *list);
    if (list == NULL)
        return;
    of->block = list;
    of->block[of->blocks++] = block;
}

void page_section(page *of, const char *id, const char *heading)
{
    add_block(of, (page_block){.kind = BLOCK_SECTION, .id = id, .text = heading});
}

void page_text(page *of, const char *fmt, ...)
{
    va_list args;

    if (of == NULL)
        return;
    va_start(args, fmt);
    add_block(of, (page_block){.kind = BLOCK_TEXT, .text = format_text(of, fmt, args)});
    va_end(args);
}

FILE *page_begin_printed(page *of)
{
    return of == NULL ? NULL : open_memstream(&of->printed, &of->printed_length);
}

/*
 * Returns the printed text without its trailing line ends; the caller frees it. NULL: the text is
 * empty, or memory ran out.
 */
static char *take_printed(page *of, FILE *stream)
{
    char *text;
    bool ended;

    /* If memory runs out, glibc's fclose succeeds but leaves the buffer NULL. */
    ended = stream != NULL && fclose(stream) == 0 && of->printed != NULL;
    while (ended && of->printed_length > 0 && of->printed[of->printed_length - 1] == '\n')
        of->printed[--of->printed_length] = '\0';
    of->failed = of->failed || !ended;
    text = of->printed;
    of->printed = NULL;
    if (ended && of->printed_length > 0)
        return text;
    free(text);
    return NULL;
}

void page_end_printed(page *of, FILE *stream)
{
    char *const text = of != NULL ? take_printed(of, stream) : NULL;

    if (text != NULL)
        page_text(of, "%s", text);
    free(text);
}

void page_end_assumed(page *of, const char *what, FILE *stream)
{
    static const char note[] = "note: ";
    char *const text = of != NULL ? take_printed(of, stream) : NULL;

    for (char *line = text, *next; line != NULL; line = next) {
        next = text_cut(line, '\n');
        line += text_starts_with(line, note) ? strlen(note) : strspn(line, " ");
        page_assume(of, what, "%s", line);
    }
    free(text);
}

void page_grounds(page *of)
{
    page_section(of, "about", "Assumptions");
    add_block(of, (page_block){.kind = BLOCK_ASSUMPTIONS});
}

void page_command(page *of, const char *command)
{
    if (command != NULL)
        add_block(of, (page_block){.kind = BLOCK_COMMAND, .text = command});
}

void page_drawing(page *of, const char *caption, const char *svg)
{
    add_block(of, (page_block){.kind = BLOCK_DRAWING, .text = caption, .svg = svg});
}

page_table *page_table_add(page *of, const char *id, const char *caption, const char *columns,
                           const char *chart)
{
    page_table *table;
    page_column *column;

    if (of == NULL || of->failed)
        return NULL;
    table = plait_arena_alloc(of->arena, 1, sizeof *table);
    of->failed = table == NULL;
    if (of->failed)
        return NULL;
    *table = (page_table){.of = of, .id = id, .caption = caption, .chart = chart};
    // Split the columns "key>title|key=title"; an empty title becomes NULL.
    char *text = plait_arena_text(table->of->arena, columns), *next;
    size_t count = 1;
    for (const char *c = columns; *c != '\0'; c++)
        count += *c == '|';
    column = plait_arena_alloc(table->of->arena, count, sizeof *column);
    table->column = column;
    table->of->failed = text == NULL || column == NULL;
    if (!table->of->failed) {
        for (; text != NULL; text = next, column++, table->columns++) {
            char *const mark = text + strcspn(text, "=>|");

            next = text_cut(text, '|');
            column->key = text;
            column->number = *mark == '>';
            column->title = mark[1] != '\0' ? mark + 1 : NULL;
            *mark = '\0';
        }
    }
    if (of->failed)
        return NULL;
    add_block(of, (page_block){.kind = BLOCK_TABLE, .table = table});
    return table;
}

void page_chart_add(page *of, const page_table *rows, const char *chart, const char *caption)
{
    if (rows != NULL)
        add_block(
            of, (page_block){.kind = BLOCK_CHART, .text = caption, .chart = chart, .table = rows});
}

int page_table_rows(const page_table *table)
{
    return table->cells / table->columns;
}

static void add_cell(page_table *rows, double number, const char *fmt, va_list args)
{
    page_cell *list;

    if (rows == NULL)
        return;
    list = grow_list(rows->of, rows->cell, rows->cells, &rows->capacity, sizeof *list);
    if (list == NULL)
        return;
    rows->cell = list;
    rows->cell[rows->cells++] = (page_cell){format_text(rows->of, fmt, args), number};
}

void page_word(page_table *rows, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_cell(rows, (double)NAN, fmt, args);
    va_end(args);
}

void page_number(page_table *rows, double value, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    add_cell(rows, isfinite(value) ? value : (double)NAN, isnan(value) ? "-" : fmt, args);
    va_end(args);
}

void page_row(page_table *rows, const table_value *cells, size_t count)
{
    char text[VALUE_SIZE];

    for (size_t c = 0; c < count; c++)
        if (cells[c].text != NULL)
            page_word(rows, "%s", cells[c].text);
        else
            page_number(rows, cells[c].number, "%s", cell_text(&cells[c], text));
}

plait_status page_write(page *of, page_form form, const char **text, size_t *length,
                        plait_error *err)
{
    static void (*const write[PAGE_FORMS])(const page *of, text_builder *out) = {
        [PAGE_HTML] = page_as_html, [PAGE_MARKDOWN] = page_as_markdown, [PAGE_CSV] = page_as_csv};
    text_builder out;

    if (of == NULL || of->failed)
        return plait_fail_nomem(err);
    if (form == PAGE_JSON)
        return page_as_json(of, text, length, err);
    text_builder_init(&out, of->arena);
    write[form](of, &out);
    *text = text_builder_finish(&out, length);
    return *text != NULL ? PLAIT_OK : plait_fail_nomem(err);
}
