/* opt_print.c - prints the help, completions and manual of commands from their tables of options */
#include "cli/opt.h"

#include <string.h>

#include "base/text.h"
#include "plait/data.h"

enum { HELP_COLUMN = 28, HELP_WIDTH = 96 };

void opt_spell_words(const opt *option, char *text, size_t size)
{
    static const char mark[] = "{words}";
    const char *const *const words = opt_words(&option->offer);
    const char *const at = strstr(option->help, mark);
    size_t used;

    if (at == NULL || words == NULL) {
        snprintf(text, size, "%s", option->help);
        return;
    }
    used = (size_t)snprintf(text, size, "%.*s", (int)(at - option->help), option->help);
    for (int i = 0; words[i] != NULL && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i > 0 ? ", " : "", words[i]);
    if (used < size)
        snprintf(text + used, size - used, "%s", at + strlen(mark));
}

void opt_help(const opt_usage *usage, FILE *out)
{
    opt_table options;

    fprintf(out, "usage: plait %s %s\n\n%s\n", usage->command, usage->synopsis, usage->summary);
    if (usage->about[0] != '\0')
        fprintf(out, "\n%s\n", usage->about);
    opt_spell_out(usage->options, &options);
    for (const opt *option = options.row; option->kind != OPT_LAST; option++) {
        if (option->kind == OPT_GROUP)
            fprintf(out, "\n%s:\n", option->name);
        else {
            char left[80], help[OPT_HELP_SIZE];
            int length;

            if (option->letter != '\0')
                length = snprintf(left, sizeof left, "  -%c, --%s", option->letter, option->name);
            else
                length = snprintf(left, sizeof left, "  --%s", option->name);
            if (option->value != NULL)
                length +=
                    snprintf(left + length, sizeof left - (size_t)length, " %s", option->value);
            if (length > HELP_COLUMN - 2)
                fprintf(out, "%s\n%*s", left, HELP_COLUMN, "");
            else
                fprintf(out, "%-*s", HELP_COLUMN, left);
            opt_spell_words(option, help, sizeof help);
            const char *text = help;
            int column = HELP_COLUMN;
            while (*text != '\0') {
                const int word = (int)strcspn(text, " ");

                if (column > HELP_COLUMN && column + 1 + word > HELP_WIDTH) {
                    fprintf(out, "\n%*s", HELP_COLUMN, "");
                    column = HELP_COLUMN;
                } else if (column > HELP_COLUMN) {
                    fputc(' ', out);
                    column++;
                }
                fprintf(out, "%.*s", word, text);
                column += word;
                text += word;
                text += strspn(text, " ");
            }
            fputc('\n', out);
        }
    }
}

const char *const *opt_words(const opt_offer *offer)
{
    return offer->listed != NULL ? offer->listed() : offer->words;
}

static plait_status print_line(const char *what, const char *value, const opt_offer *offer,
                               plait_arena *arena, FILE *out, plait_error *err)
{
    const char *const *words = opt_words(offer);
    size_t count;

    fprintf(out, "%s\t%s\t", what, value != NULL ? value : "");
    if (offer->names > 0)
        PLAIT_TRY(plait_data_list((plait_data_kind)(offer->names - 1), arena, &words, &count, err));
    for (size_t i = 0; words != NULL && words[i] != NULL; i++)
        fprintf(out, "%s%s", i > 0 ? " " : "", words[i]);
    fputc('\n', out);
    return PLAIT_OK;
}

plait_status opt_complete(const opt_usage *usage, plait_arena *arena, FILE *out, plait_error *err)
{
    opt_table options;
    char name[32];

    opt_spell_out(usage->options, &options);
    for (const opt *option = options.row; option->kind != OPT_LAST; option++) {
        if (option->kind == OPT_GROUP)
            continue;
        snprintf(name, sizeof name, "--%s", option->name);
        PLAIT_TRY(print_line(name, option->value, &option->offer, arena, out, err));
        snprintf(name, sizeof name, "-%c", option->letter);
        if (option->letter != '\0')
            PLAIT_TRY(print_line(name, option->value, &option->offer, arena, out, err));
    }
    for (int i = 0; i < 2 && i < usage->max_operands; i++) {
        snprintf(name, sizeof name, "%d", i + 1);
        PLAIT_TRY(print_line(name, "", &usage->operand[i], arena, out, err));
    }
    return PLAIT_OK;
}

/*
 * Return the index of the first command whose table has an equal option; `count` if there is none.
 */
static int first_with(const opt *option, const opt_table *tables, int count)
{
    for (int c = 0; c < count; c++)
        for (const opt *row = tables[c].row; row->kind != OPT_LAST; row++)
            if (row->kind != OPT_GROUP && text_equal(row->name, option->name) &&
                row->letter == option->letter && text_equal(row->help, option->help) &&
                text_equal(row->value != NULL ? row->value : "",
                           option->value != NULL ? option->value : ""))
                return c;
    return count;
}

plait_status opt_manual(const opt_usage *const *usage, int count, plait_arena *arena, FILE *out,
                        plait_error *err)
{
    opt_table *const tables = plait_arena_alloc(arena, (size_t)count, sizeof *tables);

    PLAIT_TRY(plait_check_allocated(tables, err));
    for (int c = 0; c < count; c++) {
        opt_spell_out(usage[c]->options, &tables[c]);
        fprintf(out, "\n### %s\n\n%s\n\n    plait %s %s\n", usage[c]->command, usage[c]->summary,
                usage[c]->command, usage[c]->synopsis);
        if (usage[c]->about[0] != '\0')
            fprintf(out, "\n%s\n", usage[c]->about);
        const char *heading = "";
        char help[OPT_HELP_SIZE];

        for (const opt *option = tables[c].row; option->kind != OPT_LAST; option++) {
            if (option->kind == OPT_GROUP) {
                heading = option->name;
                continue;
            }
            if (first_with(option, tables, c) < c)
                continue;
            if (heading != NULL)
                fprintf(out, "%s%s\n", heading[0] != '\0' ? "\nOptions: " : "", heading);
            if (heading != NULL && heading[0] != '\0')
                fputc('\n', out);
            heading = NULL;
            fputs("* `", out);
            if (option->letter != '\0')
                fprintf(out, "-%c, ", option->letter);
            opt_spell_words(option, help, sizeof help);
            fprintf(out, "--%s%s%s`: %s\n", option->name, option->value != NULL ? " " : "",
                    option->value != NULL ? option->value : "", help);
        }
        for (int before = 0; before < c; before++) {
            int shared = 0;

            for (const opt *option = tables[c].row; option->kind != OPT_LAST; option++) {
                if (option->kind == OPT_GROUP || first_with(option, tables, c) != before)
                    continue;
                if (shared++ == 0)
                    fprintf(out, "\nAs for `plait %s`: `--%s`", usage[before]->command,
                            option->name);
                else
                    fprintf(out, ", `--%s`", option->name);
            }
            if (shared > 0)
                fputc('\n', out);
        }
    }
    return PLAIT_OK;
}
