/* page_private.h - the data structures of a page, for the writers of its forms */
#pragma once

#include "page/page.h"
#include "base/text.h"

typedef struct page_column {
    const char *key;   /* name in CSV and JSON: "step_s" */
    const char *title; /* heading; NULL: the column is hidden */
    bool number;       /* the column has numbers, aligned to the right */
} page_column;

typedef struct page_cell {
    const char *text;
    double number; /* value if the column has numbers; NaN: none */
} page_cell;

struct page_table {
    page *of;
    const char *id, *caption, *chart;
    const page_column *column;
    int columns;
    int cells; /* number of cells filled so far, row by row */
    int capacity;
    page_cell *cell;
};

typedef enum page_block_kind {
    BLOCK_SECTION,
    BLOCK_TEXT,
    BLOCK_COMMAND,
    BLOCK_DRAWING,
    BLOCK_TABLE,
    BLOCK_CHART,
    BLOCK_ASSUMPTIONS
} page_block_kind;

/* One element of a page's body. */
typedef struct page_block {
    page_block_kind kind;
    const char *id;    /* anchor of a section */
    const char *text;  /* heading, paragraph, command or caption */
    const char *svg;   /* document of a drawing */
    const char *chart; /* name of a chart in charts.js */
    const page_table *table;
} page_block;

typedef struct page_figure_parts {
    const char *title, *value, *note;
} page_figure_parts;

typedef struct page_assumption {
    const char *what, *text;
} page_assumption;

struct page {
    plait_arena *arena;
    const char *title;
    const char *answer; /* sentence at the top; NULL: none */
    int figures;
    page_figure_parts figure[PAGE_FIGURES];
    int assumptions;
    int assumption_capacity;
    page_assumption *assumption;
    page_block *block;
    int blocks;
    int capacity;
    char *printed; /* text printed since page_begin_printed() */
    size_t printed_length;
    bool failed; /* memory ran out */
};

/* Writers of the forms of a page; each writes the whole document. */
void page_as_html(const page *of, text_builder *out);
void page_as_markdown(const page *of, text_builder *out);
void page_as_csv(const page *of, text_builder *out);

/** Returns the data of all tables: {"title", "tables": {ID: {"caption", "columns", "rows"}}}. */
PLAIT_MUST_CHECK plait_status page_as_json(const page *of, const char **text, size_t *length,
                                           plait_error *err);

/** Appends the assumptions as one text: "precision: bf16 | runtime: megatron". */
void page_add_assumptions(const page *of, text_builder *out);

/** Returns the number of rows whose cells are all filled. */
int page_table_rows(const page_table *table);
