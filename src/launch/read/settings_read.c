/* settings_read.c - reads rows of settings */
#include "launch/read/settings_read.h"

#include <ctype.h>
#include <string.h>

/* ---- sources ---- */

/* True if the first line that is not a comment is KEY: or KEY: VALUE. */
static bool begins_with_key(const char *text, size_t length)
{
    const char *at = text, *const end = text + length;

    while (at < end && (isspace((unsigned char)*at) || *at == '#' || *at == '-')) {
        const char *const newline =
            isspace((unsigned char)*at) ? at : memchr(at, '\n', (size_t)(end - at));
        at = newline != NULL ? newline + 1 : end;
    }
    while (at < end && (isalnum((unsigned char)*at) || *at == '_'))
        at++;
    return at < end && *at == ':';
}

/*
 * Remove the quotes that enclose a value of Hydra: a backslash before a quote, or before the end,
 * is removed.
 */
static void remove_quotes(char *value)
{
    const size_t length = strlen(value);
    const char quote = value[0];
    char *to = value;

    if (length < 2 || (quote != '\'' && quote != '"') || value[length - 1] != quote)
        return;
    value[length - 1] = '\0';
    for (const char *from = value + 1; *from != '\0'; from++) {
        const char after = from[strspn(from, "\\")];

        if (*from == '\\' && (after == quote || after == '\0') && from[1] != '\0')
            from++;
        *to++ = *from;
    }
    *to = '\0';
}

/* Add the words KEY=VALUE of the launch, or of all commands of a file without one. */
static plait_status add_overrides(launch_flags *flags, plait_error *err)
{
    const shell_words *const script = &flags->script;

    for (int c = 0; c < script->commands; c++) {
        const shell_command *const command = &script->command[c];

        for (int i = 0; i < command->count && (flags->launch < 0 || c == flags->launch); i++) {
            const char *const word = script->word[command->first + i];
            char *const key = plait_arena_text(flags->arena, word + strspn(word, "+"));

            PLAIT_TRY(plait_check_allocated(key, err));
            char *const value = text_cut(key, '=');
            if (value == NULL || strchr(key, '/') != NULL)
                continue;
            remove_quotes(value);
            PLAIT_TRY(flags_add(flags, key, value, err));
        }
    }
    // in a file without a launch, a shell reads a key without dots as an assignment
    const char *const engine =
        flags->launch < 0 ? shell_variable_word(script, "model_engine") : NULL;
    return engine != NULL ? flags_add(flags, "model_engine", engine, err) : PLAIT_OK;
}

plait_status settings_open(const char *text, size_t length, const char *name, bool overrides,
                           const launch_call *call, plait_arena *arena, settings_source *out,
                           plait_error *err)
{
    *out = (settings_source){.arena = arena};
    if (!overrides && begins_with_key(text, length)) {
        out->yaml = plait_arena_alloc(arena, 1, sizeof *out->yaml);
        PLAIT_TRY(plait_check_allocated(out->yaml, err));
        return yaml_read(text, length, name, arena, out->yaml, err);
    }
    out->flags = plait_arena_alloc(arena, 1, sizeof *out->flags);
    PLAIT_TRY(plait_check_allocated(out->flags, err));
    PLAIT_TRY(flags_read(text, length, name, call, arena, out->flags, err));
    return overrides ? add_overrides(out->flags, err) : PLAIT_OK;
}

/* ---- values ---- */

enum { REFERENCES = 8 }; /* references that lead to each other before the reader gives up */

static const char *const *find_values(const settings_source *source, const char *key, int *count)
{
    key += strspn(key, "+");
    if (source->yaml != NULL) {
        const yaml_leaf *const leaf = yaml_find(source->yaml, key);

        *count = leaf != NULL ? leaf->values : 0;
        return leaf != NULL ? leaf->value : NULL;
    }
    const launch_flag *const flag = flags_find(source->flags, key);
    *count = flag != NULL ? flag->values : 0;
    return flag != NULL ? flag->value : NULL;
}

/* Return the value that ${a.b} refers to; NULL for functions, which plait does not compute. */
static const char *resolve(const settings_source *source, const char *value)
{
    for (int i = 0; i < REFERENCES && value != NULL && text_starts_with(value, "${"); i++) {
        const size_t width = strcspn(value + 2, "}");
        const char *const key = plait_arena_printf(source->arena, "%.*s", (int)width, value + 2);
        int count;

        if (key == NULL || value[2 + width] != '}' || value[3 + width] != '\0' || *key == '.' ||
            strchr(key, ':') != NULL)
            return NULL;
        const char *const *const found = find_values(source, key, &count);
        value = count > 0 ? found[0] : NULL;
    }
    return value != NULL && shell_word_known(value) && strstr(value, "${") == NULL &&
                   !text_equal(value, "null") && !text_equal(value, "None")
               ? value
               : NULL;
}

const char *settings_value(const settings_source *source, const char *key)
{
    int count;
    const char *const *const value = find_values(source, key, &count);

    return count > 0 ? resolve(source, value[0]) : NULL;
}

/* Return all values of a key with blanks between them, without the brackets of an override. */
static const char *list_text(const settings_source *source, const char *key)
{
    int count;
    const char *const *const value = find_values(source, key, &count);
    text_builder out;

    text_builder_init(&out, source->arena);
    for (int i = 0; i < count; i++)
        for (const char *c = value[i]; *c != '\0' || c == value[i]; c++) {
            if (c == value[i] && out.length > 0)
                text_append_char(&out, ' ');
            if (*c == ',')
                text_append_char(&out, ' ');
            else if (*c != '\0' && strchr("[]'\" ", *c) == NULL)
                text_append_char(&out, *c);
            if (*c == '\0')
                break;
        }
    return text_builder_finish(&out, NULL);
}

static plait_status fail_kind(const settings_source *source, const char *key, const char *expected,
                              const char *value, plait_error *err)
{
    const char *const file = source->yaml != NULL ? source->yaml->name : source->flags->file;
    const char *const where = plait_arena_printf(source->arena, "%.120s: %.100s", file, key);

    PLAIT_TRY(plait_check_allocated(where, err));
    return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected %s, found \"%.60s\"", expected,
                      value);
}

static plait_status read_row(const setting_row *row, const settings_source *source, void *values,
                             plait_error *err)
{
    void *const field = (char *)values + row->field;
    const char *const value = settings_value(source, row->key);
    static const char *const off[] = {"false", "no", "off", "0", NULL};
    static const char *const on[] = {"true", "yes", "on", "1", NULL};
    char lower[8];

    if (value == NULL)
        return PLAIT_OK;
    if (row->kind == SETTING_INT) {
        int number;

        if (!text_parse_int(value, SETTING_OPEN, 1 << 30, &number))
            return fail_kind(source, row->key, "an integer", value, err);
        *(int *)field = number;
    } else if (row->kind == SETTING_NUMBER) {
        if (!text_parse_number(value, field))
            return fail_kind(source, row->key, "a number", value, err);
    } else if (row->kind == SETTING_SWITCH) {
        size_t i = 0;

        for (; value[i] != '\0' && i < sizeof lower - 1; i++)
            lower[i] = text_lower(value[i]);
        lower[i] = '\0';
        if (text_index(lower, on) < 0 && text_index(lower, off) < 0)
            return fail_kind(source, row->key, "true or false", value, err);
        *(int *)field = text_index(lower, on) >= 0;
    } else if (row->kind == SETTING_WORDS) {
        *(const char **)field = list_text(source, row->key);
        return plait_check_allocated(*(const char **)field, err);
    } else {
        *(const char **)field = value;
    }
    return PLAIT_OK;
}

plait_status settings_read(const setting_row *rows, const settings_source *source, void *values,
                           plait_error *err)
{
    for (const setting_row *row = rows; row->key != NULL; row++)
        if (row->kind != SETTING_TEXT)
            PLAIT_TRY(read_row(row, source, values, err));
        else
            (void)settings_value(source, row->key); // known, but without a meaning for a plan
    return PLAIT_OK;
}

const char *settings_not_read(const settings_source *source)
{
    text_names names;

    if (source->flags != NULL)
        return flags_not_read(source->flags);
    text_names_init(&names, source->arena);
    for (int i = 0; i < source->yaml->count; i++)
        if (!source->yaml->leaf[i].read)
            text_names_add(&names, source->yaml->leaf[i].path);
    return text_names_finish(&names);
}
