/*
 * python.c - what a configuration function says, as far as it says it plainly
 *
 * Keyword arguments of the configuration classes, wherever they are called, and assignments to
 * their attributes. Nothing is run: a value that is computed is text, which a reader of numbers
 * takes when it is a product.
 */
#include <ctype.h>
#include <string.h>

#include "launch/torchtitan/torchtitan.h"

enum { PYTHON_MAX_DEPTH = 64 };

typedef struct python_reader {
    const char *at;
    const char *end;
    titan_pairs *out;
    int depth;
    const char *callee[PYTHON_MAX_DEPTH]; /* before the bracket; "" where it is no call */
} python_reader;

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

/* ---- what is not looked at ---- */

static const char *skip_string(const char *at, const char *end)
{
    const char quote = *at;
    const bool triple = end - at >= 3 && at[1] == quote && at[2] == quote;

    for (at += triple ? 3 : 1; at < end; at++) {
        if (*at == '\\' && at + 1 < end)
            at++;
        else if (*at == quote && !triple)
            return at + 1;
        else if (triple && *at == quote && end - at >= 3 && at[1] == quote && at[2] == quote)
            return at + 3;
    }
    return end;
}

/* Past one string, comment or character. */
static const char *skip_one(const char *at, const char *end)
{
    if (*at == '"' || *at == '\'')
        return skip_string(at, end);
    if (*at != '#')
        return at + 1;
    while (at < end && *at != '\n')
        at++;
    return at;
}

/* The end of the value that begins here: a comma, a closing bracket, or a line outside of them. */
static const char *value_end(const char *at, const char *end, bool in_call)
{
    int depth = 0;

    while (at < end) {
        const char c = *at;

        if (depth == 0 &&
            (strchr(")]}", c) != NULL || c == '#' || (in_call ? c == ',' : c == '\n')))
            return at;
        depth += (strchr("([{", c) != NULL) - (strchr(")]}", c) != NULL);
        at = skip_one(at, end);
    }
    return end;
}

/* ---- what is ---- */

/* "parallelism" of ParallelismConfig; NULL: a class that says nothing to plait. */
static const char *section_of(const char *callee)
{
    static const char *const sections[][2] = {
        {"ParallelismConfig", "parallelism."},
        {"TrainingConfig", "training."},
        {"CompileConfig", "compile."},
        {"Trainer.Config", ""},
    };

    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++)
        if (text_ends_with(callee, sections[i][0]))
            return sections[i][1];
    return NULL;
}

static plait_status add(python_reader *in, const char *section, const char *key, size_t width,
                        const char *from, plait_error *err)
{
    plait_arena *const arena = in->out->arena;
    const char *last;

    while (from < in->end && (*from == ' ' || *from == '\n'))
        from++;
    last = value_end(from, in->end, in->depth > 0);
    while (last > from && isspace((unsigned char)last[-1]))
        last--;
    return titan_pairs_add(in->out, plait_arena_printf(arena, "%s%.*s", section, (int)width, key),
                           plait_arena_printf(arena, "%.*s", (int)(last - from), from), err);
}

/* config.training.steps = 10: the object's own name says nothing */
static plait_status add_attribute(python_reader *in, const char *word, size_t width,
                                  const char *from, plait_error *err)
{
    const char *const dot = memchr(word, '.', width);

    if (dot == NULL)
        return PLAIT_OK;
    return add(in, "", dot + 1, width - (size_t)(dot + 1 - word), from, err);
}

static plait_status take_word(python_reader *in, plait_error *err)
{
    const char *const word = in->at;
    const char *const callee = in->depth > 0 ? in->callee[in->depth - 1] : "";
    const char *const section = section_of(callee);

    while (in->at < in->end && is_word(*in->at))
        in->at++;
    const size_t width = (size_t)(in->at - word);
    const char *next = in->at;
    while (next < in->end && *next == ' ')
        next++;
    if (next < in->end && *next == '(' && in->depth < PYTHON_MAX_DEPTH) {
        in->callee[in->depth] = plait_arena_printf(in->out->arena, "%.*s", (int)width, word);
        if (in->callee[in->depth++] == NULL)
            return plait_fail_nomem(err);
        in->at = next + 1;
    } else if (next + 1 < in->end && *next == '=' && next[1] != '=') {
        if (in->depth > 0 && section != NULL)
            return add(in, section, word, width, next + 1, err);
        if (in->depth == 0)
            return add_attribute(in, word, width, next + 1, err);
    }
    return PLAIT_OK;
}

/* Which number formats, by the converters that are called, and of how many configurations. */
static plait_status add_calls(titan_pairs *out, const char *text, plait_error *err)
{
    static const char *const converters[][2] = {
        {"Float8LinearConverter.Config(", "fp8"},
        {"MXFP8LinearConverter.Config(", "mxfp8"},
        {"NVFP4LinearConverter.Config(", "nvfp4"},
    };

    const char *const first = strstr(text, "Trainer.Config(");

    if (first != NULL && strstr(first + 1, "Trainer.Config(") != NULL)
        PLAIT_TRY(titan_pairs_add(out, "several", "True", err));
    for (size_t i = 0; i < sizeof converters / sizeof *converters; i++)
        if (strstr(text, converters[i][0]) != NULL)
            return titan_pairs_add(out, "precision", converters[i][1], err);
    return first != NULL ? titan_pairs_add(out, "precision", "bf16", err) : PLAIT_OK;
}

plait_status titan_read_python(const char *text, size_t length, const char *name, titan_pairs *out,
                               plait_error *err)
{
    python_reader in = {.at = text, .end = text + length, .out = out};

    (void)name;
    while (in.at < in.end) {
        if (is_word(*in.at) && !isdigit((unsigned char)*in.at)) {
            PLAIT_TRY(take_word(&in, err));
        } else if (strchr("([{", *in.at) != NULL) {
            if (in.depth < PYTHON_MAX_DEPTH)
                in.callee[in.depth++] = "";
            in.at++;
        } else {
            in.depth -= in.depth > 0 && strchr(")]}", *in.at) != NULL;
            in.at = skip_one(in.at, in.end);
        }
    }
    return add_calls(out, text, err);
}
