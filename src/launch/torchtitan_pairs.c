/* torchtitan_pairs.c - what a config of torchtitan says, out of a command line or TOML */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "shell.h"
#include "torchtitan_private.h"

plait_status titan_pairs_add(titan_pairs *pairs, const char *key, const char *value,
                             plait_error *err)
{
    if (pairs->count == pairs->capacity) {
        const int capacity = pairs->capacity > 0 ? 2 * pairs->capacity : 64;
        titan_pair *more = plait_arena_alloc(pairs->arena, (size_t)capacity, sizeof *more);

        if (more == NULL)
            return plait_fail_nomem(err);
        if (pairs->count > 0)
            memcpy(more, pairs->pair, (size_t)pairs->count * sizeof *more);
        pairs->pair = more;
        pairs->capacity = capacity;
    }
    if (key == NULL || value == NULL)
        return plait_fail_nomem(err);
    pairs->pair[pairs->count++] = (titan_pair){key, value};
    return PLAIT_OK;
}

const char *titan_pairs_find(const titan_pairs *pairs, const char *key)
{
    for (int i = pairs->count - 1; i >= 0; i--)
        if (text_equal(pairs->pair[i].key, key))
            return pairs->pair[i].value;
    return NULL;
}

/* ---- a command line ---- */

/* "--a.no-b-c" is a.b_c, switched off. */
static plait_status add_switch(titan_pairs *out, char *key, plait_error *err)
{
    char *const dot = strrchr(key, '.');
    char *const leaf = dot != NULL ? dot + 1 : key;
    const bool off = text_starts_with(leaf, "no_");

    if (off)
        memmove(leaf, leaf + 3, strlen(leaf + 3) + 1);
    return titan_pairs_add(out, key, off ? "False" : "True", err);
}

static bool is_value(const char *word)
{
    return word[0] != '-' || isdigit((unsigned char)word[1]);
}

/* activation-checkpoint:full */
static bool is_choice(const char *word)
{
    return text_starts_with(word, "activation-checkpoint:") ||
           text_starts_with(word, "activation_checkpoint:");
}

static char *key_of(const char *flag, plait_arena *arena)
{
    char *const key = plait_arena_text(arena, flag + 2);

    for (char *c = key; c != NULL && *c != '\0' && *c != '='; c++)
        if (*c == '-')
            *c = '_';
    return key;
}

static plait_status add_flag(const shell_words *words, int *at, titan_pairs *out, plait_error *err)
{
    char *const key = key_of(words->word[*at], out->arena);
    const char *value = key != NULL ? text_cut(key, '=') : NULL;

    if (key == NULL)
        return plait_fail_nomem(err);
    if (value == NULL && *at + 1 < words->count && is_value(words->word[*at + 1]) &&
        !is_choice(words->word[*at + 1]))
        value = words->word[++*at];
    if (value == NULL)
        return add_switch(out, key, err);
    return shell_word_known(value) ? titan_pairs_add(out, key, value, err) : PLAIT_OK;
}

/* MODULE=llama3 CONFIG=llama3_8b NGPU=8 ./run_train.sh: assignments are no words. */
static plait_status add_variable(const char *text, const char *variable, const char *key,
                                 titan_pairs *out, plait_error *err)
{
    const char *const found = strstr(text, variable);
    const char *const from = found != NULL ? found + strlen(variable) : NULL;
    size_t width = 0;

    while (from != NULL && (isalnum((unsigned char)from[width]) || from[width] == '_'))
        width++;
    if (width == 0 || (found > text && !isspace((unsigned char)found[-1])))
        return PLAIT_OK;
    return titan_pairs_add(out, key, plait_arena_printf(out->arena, "%.*s", (int)width, from), err);
}

plait_status titan_read_shell(const char *text, size_t length, const char *name, titan_pairs *out,
                              plait_error *err)
{
    shell_words words;

    PLAIT_TRY(shell_read(text, length, name, out->arena, &words, err));
    if (strstr(text, "run_train.sh") != NULL) {
        PLAIT_TRY(add_variable(text, "NGPU=", "nproc_per_node", out, err));
        PLAIT_TRY(add_variable(text, "MODULE=", "module", out, err));
        PLAIT_TRY(add_variable(text, "CONFIG=", "config", out, err));
    }
    for (int i = 0; i < words.count; i++) {
        const char *const word = words.word[i];

        if (is_choice(word))
            PLAIT_TRY(titan_pairs_add(out, "activation_checkpoint", strchr(word, ':') + 1, err));
        else if (text_starts_with(word, "--") && word[2] != '\0')
            PLAIT_TRY(add_flag(&words, &i, out, err));
    }
    return PLAIT_OK;
}

/* ---- TOML ---- */

typedef struct toml_reader {
    const char *at;
    const char *end;
    int line;
    const char *name;
    char section[128];
} toml_reader;

static plait_status toml_fail(const toml_reader *in, const char *found, plait_error *err)
{
    char where[256];

    snprintf(where, sizeof where, "%.200s:%d", in->name, in->line);
    return plait_fail(err, PLAIT_ERROR_SYNTAX, where, "expected TOML, found %s", found);
}

static void skip_blank(toml_reader *in, bool lines)
{
    while (in->at < in->end) {
        if (*in->at == '#')
            while (in->at < in->end && *in->at != '\n')
                in->at++;
        else if (*in->at == ' ' || *in->at == '\t' || *in->at == '\r' || (lines && *in->at == '\n'))
            in->line += *in->at++ == '\n';
        else
            break;
    }
}

/* Behind the string that begins here, escapes included. */
static bool skip_string(toml_reader *in)
{
    const char quote = *in->at++;

    for (; in->at < in->end && *in->at != quote && *in->at != '\n'; in->at++)
        if (*in->at == '\\' && quote == '"' && in->at + 1 < in->end)
            in->at++;
    if (in->at == in->end || *in->at != quote)
        return false;
    in->at++;
    return true;
}

/* A value runs to the end of its line, or to the end of the brackets that it opens. */
static plait_status read_value(toml_reader *in, titan_pairs *out, const char **value,
                               plait_error *err)
{
    text_builder text;
    int depth = 0;

    text_builder_init(&text, out->arena);
    while (in->at < in->end && (depth > 0 || *in->at != '\n')) {
        const char *const from = in->at;

        skip_blank(in, depth > 0);
        if (in->at > from)
            continue;
        if (*from == '"' || *from == '\'') {
            if (!skip_string(in))
                return toml_fail(in, "a string that is not closed", err);
        } else {
            depth += (*from == '[' || *from == '{') - (*from == ']' || *from == '}');
            in->at++;
        }
        text_append_bytes(&text, from, (size_t)(in->at - from));
    }
    if (depth != 0)
        return toml_fail(in, "a bracket that is not closed", err);
    *value = text_builder_finish(&text, NULL);
    return *value != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

static plait_status read_section(toml_reader *in, plait_error *err)
{
    const char *const close = memchr(in->at, ']', (size_t)(in->end - in->at));
    const size_t width = close != NULL ? (size_t)(close - in->at) - 1 : 0;

    if (close == NULL || width == 0 || width >= sizeof in->section ||
        memchr(in->at, '\n', width) != NULL)
        return toml_fail(in, "a section that has no name or is not closed", err);
    snprintf(in->section, sizeof in->section, "%.*s", (int)width, in->at + 1);
    in->at = close + 1;
    return PLAIT_OK;
}

static plait_status read_pair(toml_reader *in, titan_pairs *out, plait_error *err)
{
    const char *const from = in->at;
    const char *value;
    size_t width;

    while (in->at < in->end && (isalnum((unsigned char)*in->at) || strchr("_-.", *in->at) != NULL))
        in->at++;
    width = (size_t)(in->at - from);
    skip_blank(in, false);
    if (width == 0 || in->at == in->end || *in->at != '=')
        return toml_fail(in, "neither a section nor KEY = VALUE", err);
    in->at++;
    PLAIT_TRY(read_value(in, out, &value, err));
    return titan_pairs_add(
        out, plait_arena_printf(out->arena, "%s.%.*s", in->section, (int)width, from), value, err);
}

plait_status titan_read_toml(const char *text, size_t length, const char *name, titan_pairs *out,
                             plait_error *err)
{
    toml_reader in = {text, text + length, 1, name, ""};

    for (skip_blank(&in, true); in.at < in.end; skip_blank(&in, true)) {
        if (*in.at == '[')
            PLAIT_TRY(read_section(&in, err));
        else
            PLAIT_TRY(read_pair(&in, out, err));
    }
    return PLAIT_OK;
}
