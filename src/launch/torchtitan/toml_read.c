/* toml_read.c - sections, keys and values of a TOML file, as far as configs have them */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "launch/torchtitan/torchtitan.h"

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
