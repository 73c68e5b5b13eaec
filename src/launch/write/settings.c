/* settings.c - writes rows of settings as YAML, arguments or overrides */
#include "launch/write/settings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const void *field_of(const setting_row *row, const void *values)
{
    return (const char *)values + row->field;
}

/*
 * Return a number as YAML 1.1 reads it: PyYAML takes 1e-05 as text, since it expects a point before
 * the exponent.
 */
static const char *number_text(double number, plait_arena *arena)
{
    char text[TEXT_NUMBER_SIZE];
    const size_t digits = strcspn(text_number(number, text), "e");

    return text[digits] == 'e' && memchr(text, '.', digits) == NULL
               ? plait_arena_printf(arena, "%.*s.0%s", (int)digits, text, text + digits)
               : plait_arena_text(arena, text);
}

/* Return the value as text; NULL if it is not given. Sets *failed if memory runs out. */
static const char *value_text(const setting_row *row, const void *values, plait_arena *arena,
                              bool *failed)
{
    const void *const field = field_of(row, values);
    const char *text = NULL;

    if (row->kind == SETTING_TEXT)
        return row->text;
    if (row->kind == SETTING_WORD || row->kind == SETTING_WORDS)
        return *(const char *const *)field;
    if (row->kind == SETTING_NUMBER) {
        if (isnan(*(const double *)field))
            return NULL;
        text = number_text(*(const double *)field, arena);
    } else {
        const int number = *(const int *)field;

        if (number == SETTING_OPEN)
            return NULL;
        text = row->kind == SETTING_SWITCH ? (number ? "true" : "false")
                                           : plait_arena_printf(arena, "%d", number);
    }
    *failed = *failed || text == NULL;
    return text;
}

/* Append words as a list in brackets, with quotes where YAML and Hydra need them. */
static void append_list(const char *words, text_builder *out)
{
    text_append_char(out, '[');
    for (const char *at = words; *at != '\0';) {
        const size_t width = strcspn(at, " ");
        const bool quoted = memchr(at, '*', width) != NULL;

        text_append_printf(out, "%s%s%.*s%s", at > words ? "," : "", quoted ? "'" : "", (int)width,
                           at, quoted ? "'" : "");
        at += width + (at[width] == ' ');
    }
    text_append_char(out, ']');
}

/*
 * True if YAML 1.1 and Hydra read a text without quotes unchanged: it has only characters of
 * names and paths, and does not look like a number, a truth value or null.
 */
static bool is_plain(const char *word)
{
    static const char *const values[] = {"null", "true", "false", "yes", "no",
                                         "on",   "off",  "inf",   "nan", NULL};
    bool plain = text_is_alphanumeric(word[0]) || word[0] == '/';

    for (const char *c = word; *c != '\0'; c++)
        plain = plain && (text_is_alphanumeric(*c) || strchr("._/+-", *c) != NULL);
    for (size_t v = 0; values[v] != NULL; v++)
        plain = plain && !text_alike(word, values[v]);
    return plain && !(word[0] >= '0' && word[0] <= '9');
}

/* ---- YAML ---- */

/* Append a scalar, in double quotes if it is not plain. */
static void append_scalar(const char *word, text_builder *out)
{
    if (is_plain(word)) {
        text_append(out, word);
        return;
    }
    text_append_char(out, '"');
    for (const char *c = word; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\')
            text_append_char(out, '\\');
        text_append_char(out, *c);
    }
    text_append_char(out, '"');
}

/* Return the length of the sections that two keys share, with the dot after them. */
static size_t shared_sections(const char *a, const char *b)
{
    size_t shared = 0;

    for (size_t i = 0; a[i] != '\0' && a[i] == b[i]; i++)
        if (a[i] == '.')
            shared = i + 1;
    return shared;
}

static int depth_of(const char *key, size_t length)
{
    int depth = 0;

    for (size_t i = 0; i < length; i++)
        depth += key[i] == '.';
    return depth;
}

/* Append the sections of a key that the key before it does not have, and the key. */
static void append_path(const char *key, const char *before, text_builder *out)
{
    size_t begin = shared_sections(key, before);

    for (const char *dot; (dot = strchr(key + begin, '.')) != NULL; begin = (size_t)(dot - key) + 1)
        text_append_printf(out, "%*s%.*s:\n", 2 * depth_of(key, begin), "",
                           (int)(dot - key - (long)begin), key + begin);
    text_append_printf(out, "%*s%s: ", 2 * depth_of(key, begin), "", key + begin);
}

void settings_append_yaml(const setting_row *rows, const void *values, text_builder *out)
{
    const char *before = "", *group = NULL;
    bool failed = false;

    for (const setting_row *row = rows; row->key != NULL; row++) {
        const char *const text = value_text(row, values, out->arena, &failed);

        group = row->group != NULL ? row->group : group;
        if (text == NULL)
            continue;
        if (group != NULL)
            text_append_printf(out, "\n# %s\n", group);
        group = NULL;
        append_path(row->key, before, out);
        before = row->key;
        if (row->kind == SETTING_WORDS)
            append_list(text, out);
        else if (row->kind == SETTING_WORD)
            append_scalar(text, out);
        else
            text_append(out, text);
        text_append_char(out, '\n');
    }
    out->failed = out->failed || failed;
}

/* ---- arguments and overrides ---- */

/*
 * Return a value of an override for Hydra, in single quotes if it is not plain. Backslashes escape
 * only quotes, and themselves before a quote. Source: hydra/grammar/OverrideLexer.g4 in
 * facebookresearch/hydra 2c03d1b.
 */
static const char *override_text(const char *word, plait_arena *arena)
{
    text_builder out;

    if (is_plain(word))
        return word;
    text_builder_init(&out, arena);
    text_append_char(&out, '\'');
    for (const char *c = word; *c != '\0'; c++) {
        const char after = c[strspn(c, "\\")];

        if (*c == '\'' || (*c == '\\' && (after == '\'' || after == '\0')))
            text_append_char(&out, '\\');
        text_append_char(&out, *c);
    }
    text_append_char(&out, '\'');
    return text_builder_finish(&out, NULL);
}

void settings_append_args(const setting_row *rows, const void *values, launch_args *out)
{
    const bool overrides = out->between == '=';

    for (const setting_row *row = rows; row->key != NULL; row++) {
        const char *const text = value_text(row, values, out->arena, &out->failed);
        const char *const key =
            overrides ? row->key : plait_arena_printf(out->arena, "--%s", row->key);

        out->failed = out->failed || key == NULL;
        if (row->group != NULL)
            args_group(out, row->group);
        if (text == NULL || key == NULL)
            continue;
        if (row->kind == SETTING_WORD && overrides) {
            const char *const value = override_text(text, out->arena);
            out->failed = out->failed || value == NULL;
            args_text(out, key, value != NULL ? value : "");
        } else if (row->kind != SETTING_WORDS) {
            args_text(out, key, text);
        } else if (overrides) {
            text_builder list;

            text_builder_init(&list, out->arena);
            append_list(text, &list);
            const char *const brackets = text_builder_finish(&list, NULL);
            out->failed = out->failed || brackets == NULL;
            args_text(out, key, brackets != NULL ? brackets : "");
        } else {
            args_words(out, key, text);
        }
    }
}
