/* page_text.c - writes a page as Markdown, its first table as CSV, and all tables as JSON */
#include <math.h>
#include <string.h>

#include "io/json/json_write.h"
#include "page/page_private.h"

/* ---- Markdown ---- */

/* Escapes characters that Markdown would interpret. */
static void add_plain(text_builder *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (strchr("\\|*_`<[", *text) != NULL)
            text_append_char(out, '\\');
        text_append_char(out, *text == '\n' ? ' ' : *text);
    }
}

static void add_paragraph(text_builder *out, const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == '\n') {
            text_append(out, "  \n");
            continue;
        }
        add_plain(out, (const char[2]){*text, '\0'});
    }
    text_append(out, "\n\n");
}

static void add_line(text_builder *out, const page_table *table, const page_cell *cell)
{
    text_append(out, "|");
    for (int c = 0; c < table->columns; c++) {
        if (table->column[c].title == NULL)
            continue;
        text_append(out, " ");
        add_plain(out, cell != NULL ? cell[c].text : table->column[c].title);
        text_append(out, " |");
    }
    text_append(out, "\n");
}

static void add_table(text_builder *out, const page_table *table)
{
    add_plain(out, table->caption);
    text_append(out, ":\n\n");
    add_line(out, table, NULL);
    text_append(out, "|");
    for (int c = 0; c < table->columns; c++)
        if (table->column[c].title != NULL)
            text_append(out, table->column[c].number ? " ---: |" : " --- |");
    text_append(out, "\n");
    for (int r = 0; r < page_table_rows(table); r++)
        add_line(out, table, &table->cell[r * table->columns]);
    text_append(out, "\n");
}

static void add_block(text_builder *out, const page *of, const page_block *block)
{
    switch (block->kind) {
    case BLOCK_SECTION:
        text_append_printf(out, "## %s\n\n", block->text);
        break;
    case BLOCK_TEXT:
        add_paragraph(out, block->text);
        break;
    case BLOCK_COMMAND:
        text_append_printf(out, "    %s\n\n", block->text);
        break;
    case BLOCK_TABLE:
        add_table(out, block->table);
        break;
    case BLOCK_ASSUMPTIONS:
        for (int i = 0; i < of->assumptions; i++) {
            text_append_printf(out, "- %s: ", of->assumption[i].what);
            add_plain(out, of->assumption[i].text);
            text_append(out, "\n");
        }
        text_append(out, "\n");
        break;
    case BLOCK_DRAWING:
    case BLOCK_CHART:
        break;
    }
}

void page_as_markdown(const page *of, text_builder *out)
{
    text_append(out, "# ");
    add_plain(out, of->title);
    text_append(out, "\n\n");
    if (of->answer != NULL)
        add_paragraph(out, of->answer);
    for (int i = 0; i < of->figures; i++) {
        text_append_printf(out, "- %s: ", of->figure[i].title);
        add_plain(out, of->figure[i].value);
        text_append(out, " (");
        add_plain(out, of->figure[i].note);
        text_append(out, ")\n");
    }
    if (of->figures > 0)
        text_append(out, "\n");
    for (int b = 0; b < of->blocks; b++)
        add_block(out, of, &of->block[b]);
}

/* ---- CSV ---- */

static void add_quoted(text_builder *out, const char *text)
{
    if (strpbrk(text, ",\"\n\r") == NULL) {
        text_append(out, text);
        return;
    }
    text_append_char(out, '"');
    for (; *text != '\0'; text++) {
        if (*text == '"')
            text_append_char(out, '"');
        text_append_char(out, *text);
    }
    text_append_char(out, '"');
}

static const page_table *first_table(const page *of)
{
    for (int b = 0; b < of->blocks; b++)
        if (of->block[b].kind == BLOCK_TABLE)
            return of->block[b].table;
    return NULL;
}

void page_as_csv(const page *of, text_builder *out)
{
    const page_table *const table = first_table(of);

    if (table == NULL)
        return;
    for (int c = 0; c < table->columns; c++)
        text_append_printf(out, "%s%s", c > 0 ? "," : "", table->column[c].key);
    text_append(out, of->answer != NULL ? ",answer,assumptions\n" : "\n");
    for (int r = 0; r < page_table_rows(table); r++) {
        for (int c = 0; c < table->columns; c++) {
            const page_cell *const cell = &table->cell[r * table->columns + c];

            if (c > 0)
                text_append_char(out, ',');
            if (!table->column[c].number)
                add_quoted(out, cell->text);
            else if (!isnan(cell->number))
                text_append_number(out, cell->number);
        }
        text_builder grounds;
        const char *text;

        if (of->answer != NULL) {
            text_append_char(out, ',');
            if (r == 0)
                add_quoted(out, of->answer);
            text_append_char(out, ',');
            text_builder_init(&grounds, of->arena);
            page_add_assumptions(of, &grounds);
            text = text_builder_finish(&grounds, NULL);
            out->failed = out->failed || text == NULL;
            if (text != NULL)
                add_quoted(out, text);
        }
        text_append_char(out, '\n');
    }
}

plait_status page_as_json(const page *of, const char **text, size_t *length, plait_error *err)
{
    json_writer json;

    json_writer_init(&json, of->arena);
    json_begin_object(&json);
    json_member_version(&json);
    json_member_string(&json, "title", of->title);
    if (of->answer != NULL) {
        json_member_string(&json, "answer", of->answer);
        json_member_array(&json, "figures");
        for (int i = 0; i < of->figures; i++) {
            json_begin_object(&json);
            json_member_string(&json, "title", of->figure[i].title);
            json_member_string(&json, "value", of->figure[i].value);
            json_member_string(&json, "note", of->figure[i].note);
            json_end_object(&json);
        }
        json_end_array(&json);
        json_member_array(&json, "assumptions");
        for (int i = 0; i < of->assumptions; i++) {
            json_begin_object(&json);
            json_member_string(&json, "what", of->assumption[i].what);
            json_member_string(&json, "text", of->assumption[i].text);
            json_end_object(&json);
        }
        json_end_array(&json);
    }
    json_member_object(&json, "tables");
    for (int b = 0; b < of->blocks; b++)
        if (of->block[b].kind == BLOCK_TABLE) {
            const page_table *const table = of->block[b].table;

            json_member_object(&json, table->id);
            json_member_string(&json, "caption", table->caption);
            json_member_array(&json, "columns");
            for (int c = 0; c < table->columns; c++) {
                json_begin_object(&json);
                json_member_string(&json, "key", table->column[c].key);
                json_member_string(&json, "title", table->column[c].title);
                json_end_object(&json);
            }
            json_end_array(&json);
            json_member_array(&json, "rows");
            for (int r = 0; r < page_table_rows(table); r++) {
                json_begin_row(&json);
                for (int c = 0; c < table->columns; c++) {
                    const page_cell *const cell = &table->cell[r * table->columns + c];

                    if (table->column[c].number)
                        json_write_number(&json, cell->number); // NaN becomes null
                    else
                        json_write_string(&json, cell->text);
                }
                json_end_array(&json);
            }
            json_end_array(&json);
            json_end_object(&json);
        }
    json_end_object(&json);
    json_end_object(&json);
    return json_writer_finish(&json, text, length, err);
}
