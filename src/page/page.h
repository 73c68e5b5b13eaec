/*
 * page.h - a document of texts and tables, written as a web page, Markdown, CSV or JSON
 *
 *     page *about = page_new(arena, "llama-3.1-70b on 64 GPUs of dgx-h100");
 *     page_table *plans;
 *
 *     page_answer(about, "Run llama-3.1-70b as tp 4, pp 4: one step takes %s.", "9.87 s");
 *     page_figure(about, "one step", "9.87 s", "80 %% of runs like it: 8.9 s to 11.2 s");
 *     page_assume(about, "precision", "%s", "bf16");
 *     page_section(about, "plans", "Plans");
 *     plans = page_table_add(about, "ranking", "The best plans", "rank>plan|step_s>step", NULL);
 *     PAGE_ROW(plans, as_int(1), as_seconds(9.87));
 *     ...
 *     PLAIT_TRY(page_write(about, PAGE_HTML, &text, &length, err));
 *
 * Cells are filled from left to right and row by row. A cell has a number for sorting and charts,
 * and a text for readers. Only page_write() reports errors. A table may name a chart of
 * src/page/web/charts.js, which is drawn above the table from its columns.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "plait/arena.h"
#include "plait/error.h"
#include "report/units.h"

typedef struct page page;
typedef struct page_table page_table;

typedef enum page_form { PAGE_HTML, PAGE_MARKDOWN, PAGE_CSV, PAGE_JSON, PAGE_FORMS } page_form;

/**
 * Returns the form that the extension of a file selects: .html, .md, .csv or .json; PAGE_FORMS for
 * other extensions.
 */
page_form page_form_of(const char *path);

/** Returns an empty page in `arena`; NULL: out of memory, which the other functions accept. */
page *page_new(plait_arena *arena, const char *title, ...) PLAIT_PRINTF(2, 3);

/** Sets the answer, a sentence at the top of the page and in the first row of CSV. */
void page_answer(page *of, const char *fmt, ...) PLAIT_PRINTF(2, 3);

/**
 * Adds one of at most three numbers below the answer: its title, its value, and a note that puts it
 * in context.
 */
enum { PAGE_FIGURES = 3 };
void page_figure(page *of, const char *title, const char *value, const char *fmt, ...)
    PLAIT_PRINTF(4, 5);

/**
 * Adds an assumption on which the numbers depend, such as "precision", "bf16". The section "What
 * this rests on" lists all assumptions; CSV has them in a column.
 */
void page_assume(page *of, const char *what, const char *fmt, ...) PLAIT_PRINTF(3, 4);

/** Begins the last section, "What this rests on". */
void page_grounds(page *of);

/** Begins a section; `id` is the anchor of its links. */
void page_section(page *of, const char *id, const char *heading);

/** Adds a paragraph; its line breaks are kept. */
void page_text(page *of, const char *fmt, ...) PLAIT_PRINTF(2, 3);

/**
 * Returns a stream; page_end_printed() adds the text printed to it as a paragraph. NULL: out of
 * memory, print nothing.
 */
FILE *page_begin_printed(page *of);
void page_end_printed(page *of, FILE *stream);

/**
 * Ends the printed text and adds each of its lines as an assumption, without a leading "note: ".
 */
void page_end_assumed(page *of, const char *what, FILE *stream);

/** Adds a command line; NULL adds nothing. */
void page_command(page *of, const char *command);

/**
 * Adds an SVG document, which only the web page shows. It is not escaped and must live as long as
 * the page.
 */
void page_drawing(page *of, const char *caption, const char *svg);

/**
 * Adds a table; CSV contains only the first table of a page.
 *
 * @param columns  columns separated by "|": "key>title" for numbers, aligned to the right, and
 *                 "key=title" for others. The key is the name in CSV and JSON. A column without a
 *                 title is hidden; only charts and data use it
 * @param chart    name in charts.js; NULL: no chart
 */
page_table *page_table_add(page *of, const char *id, const char *caption, const char *columns,
                           const char *chart);

/** Adds another chart of a table that is already on the page. */
void page_chart_add(page *of, const page_table *rows, const char *chart, const char *caption);

/** Fills the next cells of a table. */
void page_row(page_table *rows, const table_value *cells, size_t count);
#define PAGE_ROW(rows, ...) page_row(rows, CELLS(__VA_ARGS__))

/* Fill the next cell of a table. NaN is written as "-" in texts and as null in data. */
void page_word(page_table *rows, const char *fmt, ...) PLAIT_PRINTF(2, 3);
void page_number(page_table *rows, double value, const char *fmt, ...) PLAIT_PRINTF(3, 4);

/** Writes the document in one of its forms. *text lives in the page's arena. */
PLAIT_MUST_CHECK plait_status page_write(page *of, page_form form, const char **text,
                                         size_t *length, plait_error *err);
