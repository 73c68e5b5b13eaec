/*
 * page_html.c - writes a page as one self-contained HTML document
 *
 * The template src/page/web/page.html has a {{slot}} for each part. Texts are escaped for HTML. In
 * JSON, "<" is escaped, because it could end the enclosing script element.
 */
#include <string.h>

#include "page/page_parts.h"
#include "page/page_private.h"

static void add_escaped(text_builder *out, const char *text)
{
    for (; *text != '\0'; text++) {
        switch (*text) {
        case '<':
            text_append(out, "&lt;");
            break;
        case '>':
            text_append(out, "&gt;");
            break;
        case '&':
            text_append(out, "&amp;");
            break;
        case '"':
            text_append(out, "&quot;");
            break;
        default:
            text_append_char(out, *text);
        }
    }
}

/* ---- tables ---- */

enum { WIDE_CELL = 60 }; /* length from which the text of a cell may wrap */

static void add_table(text_builder *out, const page_table *table)
{
    text_append(out, "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"");
    add_escaped(out, table->caption);
    text_append_printf(out, "\">\n<table id=\"%s\">\n", table->id);
    if (table->chart == NULL) {
        text_append(out, "<caption>");
        add_escaped(out, table->caption);
        text_append(out, "</caption>\n");
    }
    text_append(out, "<thead><tr>");
    for (int c = 0; c < table->columns; c++) {
        const page_column *const column = &table->column[c];

        text_append_printf(out, "<th scope=\"col\"%s%s>", column->number ? " class=\"number\"" : "",
                           column->title == NULL ? " hidden" : "");
        add_escaped(out, column->title != NULL ? column->title : column->key);
        text_append(out, "</th>");
    }
    text_append(out, "</tr></thead>\n");
    text_append(out, "<tbody>\n");
    for (int r = 0; r < page_table_rows(table); r++) {
        const page_cell *const cell = &table->cell[r * table->columns];

        text_append(out, "<tr>");
        for (int c = 0; c < table->columns; c++) {
            const page_column *const column = &table->column[c];

            text_append_printf(out, "<td%s%s>",
                               column->number                      ? " class=\"number\""
                               : strlen(cell[c].text) >= WIDE_CELL ? " class=\"wide\""
                                                                   : "",
                               column->title == NULL ? " hidden" : "");
            add_escaped(out, cell[c].text);
            text_append(out, "</td>");
        }
        text_append(out, "</tr>\n");
    }
    text_append(out, "</tbody>\n</table>\n</div>\n");
}

static void begin_chart(text_builder *out, const char *chart, const char *caption,
                        const page_table *table)
{
    text_append_printf(out, "<figure data-chart=\"%s\" data-table=\"%s\">\n<figcaption>", chart,
                       table->id);
    add_escaped(out, caption);
    text_append(out, "</figcaption>\n<div class=\"plot\" hidden></div>\n");
}

/* ---- the body ---- */

static void add_element(text_builder *out, const char *before, const char *text, const char *after)
{
    text_append(out, before);
    add_escaped(out, text);
    text_append(out, after);
}

/* Adds all blocks; each section that begins closes the previous one. */
static void add_body(text_builder *out, const page *of)
{
    const char *end = "";

    for (int b = 0; b < of->blocks; b++) {
        const page_block *const block = &of->block[b];

        if (block->kind == BLOCK_SECTION) {
            text_append(out, end);
            end = "</section>\n";
        }
        switch (block->kind) {
        case BLOCK_SECTION:
            text_append_printf(out, "<section aria-labelledby=\"about-%s\">\n<h2 id=\"about-%s\">",
                               block->id, block->id);
            add_element(out, "", block->text, "</h2>\n");
            break;
        case BLOCK_TEXT:
            add_element(out, "<p>", block->text, "</p>\n");
            break;
        case BLOCK_COMMAND:
            add_element(out, "<pre tabindex=\"0\"><code>", block->text, "</code></pre>\n");
            break;
        case BLOCK_DRAWING:
            add_element(out, "<figure><figcaption>", block->text, "</figcaption>\n");
            add_element(out, "<div class=\"drawing\" role=\"img\" tabindex=\"0\" aria-label=\"",
                        block->text, "\">\n");
            text_append(out, block->svg);
            text_append(out, "</div></figure>\n");
            break;
        case BLOCK_CHART:
            begin_chart(out, block->chart, block->text, block->table);
            text_append_printf(out, "<a href=\"#%s\">Data: ", block->table->id);
            add_escaped(out, block->table->caption);
            text_append(out, "</a>\n</figure>\n");
            break;
        case BLOCK_ASSUMPTIONS:
            text_append(out, "<dl class=\"assumptions\">\n");
            for (int i = 0; i < of->assumptions; i++) {
                add_element(out, "<dt>", of->assumption[i].what, "</dt>");
                add_element(out, "<dd>", of->assumption[i].text, "</dd>\n");
            }
            text_append(out, "</dl>\n");
            break;
        case BLOCK_TABLE:
            if (block->table->chart != NULL) {
                begin_chart(out, block->table->chart, block->table->caption, block->table);
                text_append(out, "<details open><summary>Data</summary>\n");
                add_table(out, block->table);
                text_append(out, "</details>\n</figure>\n");
            } else {
                add_table(out, block->table);
            }
            break;
        }
    }
    text_append(out, end);
}

static void add_sections(text_builder *out, const page *of)
{
    text_append(out, "<ul>\n");
    for (int b = 0; b < of->blocks; b++) {
        if (of->block[b].kind != BLOCK_SECTION)
            continue;
        text_append_printf(out, "<li><a href=\"#about-%s\">", of->block[b].id);
        add_element(out, "", of->block[b].text, "</a></li>\n");
    }
    text_append(out, "</ul>\n");
}

static void add_data(text_builder *out, const page *of)
{
    const char *text;
    size_t length;
    plait_error err;

    if (page_as_json(of, &text, &length, &err) != PLAIT_OK) {
        out->failed = true;
        return;
    }
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '<')
            text_append(out, "\\u003c");
        else
            text_append_char(out, text[i]);
    }
}

/* ---- the document ---- */

static void add_title(text_builder *out, const page *of)
{
    add_escaped(out, of->title);
}

static void add_answer(text_builder *out, const page *of)
{
    if (of->answer != NULL)
        add_element(out, "<p class=\"answer\">", of->answer, "</p>\n");
    if (of->figures == 0)
        return;
    text_append(out, "<dl class=\"figures\">\n");
    for (int i = 0; i < of->figures; i++) {
        add_element(out, "<div><dt>", of->figure[i].title, "</dt>");
        add_element(out, "<dd>", of->figure[i].value, "</dd>");
        add_element(out, "<dd class=\"note\">", of->figure[i].note, "</dd></div>\n");
    }
    text_append(out, "</dl>\n");
}

/* Slots of the template, each of which is filled with a bundled file or a part of the page. */
static const struct {
    const char *name;
    const page_part *part;
    void (*add)(text_builder *out, const page *of);
} slots[] = {
    {"title", NULL, add_title},     {"style", &page_style, NULL}, {"sections", NULL, add_sections},
    {"body", NULL, add_body},       {"data", NULL, add_data},     {"script", &page_script, NULL},
    {"charts", &page_charts, NULL}, {"answer", NULL, add_answer},
};

void page_as_html(const page *of, text_builder *out)
{
    const char *at = page_template.text;
    const char *slot;

    while ((slot = strstr(at, "{{")) != NULL) {
        const char *const end = strstr(slot, "}}");

        text_append_bytes(out, at, (size_t)(slot - at));
        const size_t length = (size_t)(end - slot - 2);

        for (size_t s = 0; s < sizeof slots / sizeof *slots; s++) {
            if (strlen(slots[s].name) != length || memcmp(slots[s].name, slot + 2, length) != 0)
                continue;
            if (slots[s].part != NULL)
                text_append_bytes(out, slots[s].part->text, slots[s].part->length);
            else
                slots[s].add(out, of);
        }
        at = end + 2;
    }
    text_append(out, at);
}
