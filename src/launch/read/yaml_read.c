/* yaml_read.c - reads the leaves of a YAML file, for the part of YAML that training configs use */
#include "launch/read/yaml_read.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"
#include "base/text.h"

enum { YAML_MAX_DEPTH = 16, YAML_MAX_KEYS = 4096 };

/*
 * An open mapping. All its keys begin in one column; it belongs to the last key of the mapping that
 * encloses it.
 */
typedef struct yaml_mapping {
    size_t column;
    const char *path; /* path of the mapping's last key */
} yaml_mapping;

typedef struct yaml_reader {
    plait_arena *arena;
    yaml_file *file;
    yaml_leaf *leaf;
    int capacity;
    const char **value; /* values of the last leaf */
    int value_capacity;
    int line;
    bool begun;            /* true after the first key */
    bool in_text;          /* true while lines of a block scalar follow */
    size_t text_column;    /* column to the right of which the lines of the block scalar begin */
    const char *open_list; /* line whose list in brackets continues in the next line; NULL: none */
    int depth;
    yaml_mapping open[YAML_MAX_DEPTH];
    const char **seen; /* paths of all keys */
    int keys;
    int seen_capacity;
} yaml_reader;

static plait_status fail_expected(const yaml_reader *in, const char *expected, const char *found,
                                  plait_error *err)
{
    char where[256];

    snprintf(where, sizeof where, "%.200s:%d", in->file->name, in->line);
    return plait_fail(err, PLAIT_ERROR_SYNTAX, where, "expected %s, found \"%.60s\"", expected,
                      found);
}

/*
 * Return the end of a string in quotes, or NULL if the string is not closed. In single quotes, ''
 * is a quote.
 */
static const char *behind_string(const char *at)
{
    const char quote = *at++;

    for (; *at != '\0'; at++) {
        if (*at == '\\' && quote == '"' && at[1] != '\0')
            at++;
        else if (*at == quote && quote == '\'' && at[1] == quote)
            at++;
        else if (*at == quote)
            return at + 1;
    }
    return NULL;
}

/* ---- scalars ---- */

static const char *skip_blanks(const char *at)
{
    return at + strspn(at, " \t");
}

static char *unquoted_text(const char *text, plait_arena *arena)
{
    const size_t length = strlen(text);
    text_builder out;

    text_builder_init(&out, arena);
    for (size_t i = 1; i + 1 < length; i++) {
        if (text[0] == '"' && text[i] == '\\') {
            i++;
            text_append_char(&out, text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i]);
        } else {
            text_append_char(&out, text[i]);
            i += text[0] == '\'' && text[i] == '\'';
        }
    }
    return text_builder_finish(&out, NULL);
}

static plait_status add_value(yaml_reader *in, const char *text, plait_error *err)
{
    yaml_leaf *const leaf = &in->leaf[in->file->count - 1];
    const char **list;
    const char *value;

    const bool quoted = text[0] == '"' || text[0] == '\'';
    const char *const behind = quoted ? behind_string(text) : NULL;
    value = NULL;
    // reject the first characters of YAML syntax that configs do not need; a mapping in braces on
    // one line is a text
    const size_t length = strlen(text);
    const bool mapping = text[0] == '{' && text[length - 1] == '}';
    if ((text[0] != '\0' && strchr("&*!|>{%@`?", text[0]) != NULL && !mapping) ||
        (quoted && (behind == NULL || *behind != '\0')))
        return fail_expected(in, "a complete value on one line", text, err);
    if (text[0] != '\0' && !text_equal(text, "null") && !text_equal(text, "~") &&
        !text_equal(text, "{}")) {
        value = quoted ? unquoted_text(text, in->arena) : plait_arena_text(in->arena, text);
        PLAIT_TRY(plait_check_allocated(value, err));
    }
    if (value == NULL)
        return leaf->is_list ? fail_expected(in, "a value for each element of the list", text, err)
                             : PLAIT_OK;
    list = grow_by_one(in->arena, in->value, leaf->values, &in->value_capacity, sizeof *list);
    PLAIT_TRY(plait_check_allocated(list, err));
    list[leaf->values++] = value;
    leaf->value = in->value = list;
    return PLAIT_OK;
}

/* Return the end of a list's element: its comma, or the bracket that closes the list. */
static const char *element_end(const char *at)
{
    int depth = 0;

    for (; *at != '\0'; at++) {
        const char *const behind = *at == '"' || *at == '\'' ? behind_string(at) : NULL;

        if (behind != NULL)
            at = behind - 1;
        else if (depth == 0 && (*at == ',' || *at == ']'))
            return at;
        else
            depth += (*at == '[') - (*at == ']');
    }
    return NULL;
}

static plait_status read_brackets(yaml_reader *in, const char *text, plait_error *err)
{
    const char *at = skip_blanks(text + 1);

    in->leaf[in->file->count - 1].is_list = true;
    while (*at != ']') {
        const char *const end = element_end(at);
        const char *last = end;

        if (end == NULL)
            return fail_expected(in, "a list that ends on the line where it begins", text, err);
        while (last > at && isspace((unsigned char)last[-1]))
            last--;
        const char *const element = plait_arena_printf(in->arena, "%.*s", (int)(last - at), at);
        PLAIT_TRY(plait_check_allocated(element, err));
        PLAIT_TRY(add_value(in, element, err));
        at = *end == ',' ? skip_blanks(end + 1) : end;
    }
    return at[1] == '\0' ? PLAIT_OK : fail_expected(in, "nothing after the list", text, err);
}

static plait_status add_leaf(yaml_reader *in, const char *path, plait_error *err)
{
    const char **list;

    for (int k = 0; k < in->keys; k++) {
        if (!text_equal(in->seen[k], path))
            continue;
        if (!text_starts_with(path, "ARGS.") && !text_starts_with(path, "MODEL_ARGS."))
            return fail_expected(in, "each key once", path, err);
        in->file->repeated = path;
        return PLAIT_OK;
    }
    if (in->keys == YAML_MAX_KEYS)
        return fail_expected(in, "at most 4096 keys", path, err);
    list = grow_by_one(in->arena, in->seen, in->keys, &in->seen_capacity, sizeof *list);
    PLAIT_TRY(plait_check_allocated(list, err));
    in->seen = list;
    list[in->keys++] = path;
    return PLAIT_OK;
}

/* True if the key above this line has no value yet, so that a mapping or a list may follow. */
static bool above_is_empty(const yaml_reader *in)
{
    const yaml_leaf *const leaf = &in->leaf[in->file->count - 1];

    return leaf->values == 0 && !leaf->is_list &&
           text_equal(leaf->path, in->open[in->depth - 1].path);
}

/* Read "key: value" or "key:". */
static plait_status read_key(yaml_reader *in, size_t column, const char *line, plait_error *err)
{
    size_t width = 0;
    const char *path, *colon;

    while (isalnum((unsigned char)line[width]) ||
           (line[width] != '\0' && strchr("_-", line[width])))
        width++;
    colon = skip_blanks(line + width);
    if (width == 0 || colon[0] != ':' || (colon[1] != '\0' && colon[1] != ' '))
        return fail_expected(in, "KEY: VALUE", line, err);
    // find the open mapping whose keys begin in this column; otherwise open one, which belongs to
    // the key above
    while (in->depth > 0 && column < in->open[in->depth - 1].column)
        in->depth--;
    if (in->depth <= 0 || column != in->open[in->depth - 1].column) {
        if (in->begun && (in->depth == 0 || !above_is_empty(in)))
            return fail_expected(in, "a key in the same column as the keys above it", line, err);
        if (in->depth == YAML_MAX_DEPTH)
            return fail_expected(in, "at most 16 nested levels", line, err);
        if (in->begun)
            in->file->count--;
        in->open[in->depth++].column = column;
    }
    path = in->depth > 1 ? plait_arena_printf(in->arena, "%s.%.*s", in->open[in->depth - 2].path,
                                              (int)width, line)
                         : plait_arena_printf(in->arena, "%.*s", (int)width, line);
    PLAIT_TRY(plait_check_allocated(path, err));
    PLAIT_TRY(add_leaf(in, path, err));
    const char *const dot = strrchr(path, '.');
    yaml_leaf *const list =
        grow_by_one(in->arena, in->leaf, in->file->count, &in->capacity, sizeof *list);

    PLAIT_TRY(plait_check_allocated(list, err));
    in->leaf = list;
    in->value = NULL;
    in->value_capacity = 0;
    list[in->file->count++] =
        (yaml_leaf){.path = path, .key = dot != NULL ? dot + 1 : path, .line = in->line};
    in->open[in->depth - 1].path = path;
    in->begun = true;
    const char *const value = skip_blanks(colon + 1);
    // `|` and `>`, with an optional sign for the last newline, begin text of several lines, which
    // is skipped
    in->in_text =
        (value[0] == '|' || value[0] == '>') && value[1 + strspn(value + 1, "+-")] == '\0';
    in->text_column = column;
    if (in->in_text)
        return PLAIT_OK;
    return *value == '[' ? read_brackets(in, value, err) : add_value(in, value, err);
}

/* True if an element of a list is a mapping: "name: adam". */
static bool is_mapping(const char *item)
{
    const size_t width = strcspn(item, ": \"'[{");

    return width > 0 && item[width] == ':' && (item[width + 1] == '\0' || item[width + 1] == ' ');
}

/*
 * Read "- value", which begins at the column of the key above or further right; that key has no
 * other value. The first line of a mapping is a text, and the lines below it are skipped.
 */
static plait_status read_item(yaml_reader *in, size_t column, const char *line, plait_error *err)
{
    yaml_leaf *const leaf = in->begun ? &in->leaf[in->file->count - 1] : NULL;

    while (in->depth > 0 && column < in->open[in->depth - 1].column)
        in->depth--;
    if (leaf == NULL || in->depth == 0 || !text_equal(leaf->path, in->open[in->depth - 1].path) ||
        (leaf->values > 0 && !leaf->is_list))
        return fail_expected(in, "a list under a key without another value", line, err);
    leaf->is_list = true;
    in->in_text = is_mapping(skip_blanks(line + 1));
    in->text_column = column;
    return add_value(in, skip_blanks(line + 1), err);
}

/* True if a value is a list in brackets, or a reference ${...}, that does not end on its line. */
static bool opens_list(const char *line)
{
    const char *const list = strstr(line, ": ["), *const reference = strstr(line, ": ${");
    const char *value = list != NULL ? list : reference;
    const char open = list != NULL ? '[' : '{', close = list != NULL ? ']' : '}';
    int depth = 0;

    for (value = value != NULL ? value + 2 : ""; *value != '\0'; value++) {
        const bool quoted = (*value == '"' || *value == '\'') && strchr("[, ", value[-1]) != NULL;
        const char *const behind = quoted ? behind_string(value) : NULL;

        value = behind != NULL ? behind - 1 : value;
        depth += (*value == open) - (*value == close);
    }
    return depth > 0;
}

static plait_status read_line(yaml_reader *in, char *line, plait_error *err)
{
    if (in->open_list != NULL) {
        line = plait_arena_printf(in->arena, "%s %s", in->open_list, line + strspn(line, " "));
        PLAIT_TRY(plait_check_allocated(line, err));
        in->open_list = NULL;
    }
    const size_t column = strspn(line, " ");

    if (in->in_text && (column > in->text_column || line[column] == '\0'))
        return PLAIT_OK;
    in->in_text = false;
    // remove a comment, which begins at a # after a blank outside quotes, and the blanks before it
    char *at = line;
    while (*at != '\0' && (*at != '#' || (at > line && at[-1] != ' ' && at[-1] != '\t'))) {
        const bool opens =
            (*at == '"' || *at == '\'') && (at == line || strchr(" \t[,:", at[-1]) != NULL);
        const char *const behind = opens ? behind_string(at) : NULL;

        at = behind != NULL ? line + (behind - line) : at + 1;
    }
    while (at > line && isspace((unsigned char)at[-1]))
        at--;
    *at = '\0';
    if (opens_list(line)) {
        in->open_list = line;
        return PLAIT_OK;
    }
    line += column < strlen(line) ? column : strlen(line);
    if (*line == '\0' || (!in->begun && text_equal(line, "---")))
        return PLAIT_OK;
    for (const char *c = line; *c != '\0'; c++)
        if ((unsigned char)*c < ' ' || *c == '\x7f')
            return fail_expected(in, "text without tabs and control characters",
                                 "a control character", err);
    return line[0] == '-' && (line[1] == ' ' || line[1] == '\0') ? read_item(in, column, line, err)
                                                                 : read_key(in, column, line, err);
}

plait_status yaml_read(const char *text, size_t length, const char *name, plait_arena *arena,
                       yaml_file *out, plait_error *err)
{
    yaml_reader in = {.arena = arena, .file = out};
    const char *const end = text + length;

    *out = (yaml_file){.name = name};
    for (const char *at = text; at < end;) {
        const char *const newline = memchr(at, '\n', (size_t)(end - at));
        const size_t width = (size_t)((newline != NULL ? newline : end) - at);
        char *const line = plait_arena_alloc(arena, width + 1, 1);

        PLAIT_TRY(plait_check_allocated(line, err));
        memcpy(line, at, width);
        in.line++;
        if (memchr(line, '\0', width) != NULL || text_utf8_prefix(line, width) != width)
            return fail_expected(&in, "text in UTF-8", "other bytes", err);
        PLAIT_TRY(read_line(&in, line, err));
        at += width + 1;
    }
    out->leaf = in.leaf;
    return in.open_list == NULL
               ? PLAIT_OK
               : fail_expected(&in, "a list that ends", skip_blanks(in.open_list), err);
}

const yaml_leaf *yaml_find(const yaml_file *file, const char *path)
{
    for (int i = 0; i < file->count; i++)
        if (text_equal(file->leaf[i].path, path)) {
            file->leaf[i].read = true;
            return &file->leaf[i];
        }
    return NULL;
}

plait_status yaml_expected(const yaml_file *file, const yaml_leaf *leaf, const char *expected,
                           plait_error *err)
{
    char where[256];

    if (leaf == NULL) // the key is not given: its default contradicts other values
        return plait_fail(err, PLAIT_ERROR_RANGE, file->name, "expected %s, found nothing",
                          expected);
    snprintf(where, sizeof where, "%.120s:%d: %.80s", file->name, leaf->line, leaf->key);
    return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected %s, found \"%.60s\"", expected,
                      leaf->values > 0 ? leaf->value[0] : "");
}
