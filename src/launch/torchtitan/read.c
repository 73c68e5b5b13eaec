/*
 * read.c - reads keys and values from a config of torchtitan: a command line, TOML or a recipe in
 * Python
 */
#include "launch/torchtitan/torchtitan.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"
#include "launch/read/flags.h"

/*
 * Return the current name of a key of 2024 or early 2025, when there were no sections for
 * parallelism and the compiler. Source: torchtitan/config_manager.py at 0011fb9.
 */
static const char *name_of_today(const char *key)
{
    static const struct {
        const char *was, *is;
    } names[] = {
        {"training.batch_size", "training.local_batch_size"},
        {"training.data_parallel_degree", "parallelism.data_parallel_shard_degree"},
        {"training.data_parallel_shard_degree", "parallelism.data_parallel_shard_degree"},
        {"training.data_parallel_replicate_degree", "parallelism.data_parallel_replicate_degree"},
        {"training.tensor_parallel_degree", "parallelism.tensor_parallel_degree"},
        {"training.compile", "compile.enable"},
        {"experimental.context_parallel_degree", "parallelism.context_parallel_degree"},
        {"experimental.pipeline_parallel_degree", "parallelism.pipeline_parallel_degree"},
        {"experimental.pipeline_parallel_schedule", "parallelism.pipeline_parallel_schedule"},
        {"experimental.pipeline_parallel_microbatches", "parallelism.num_pp_microbatches"},
        {"experimental.enable_async_tensor_parallel", "parallelism.enable_async_tensor_parallel"},
        {"training.enable_loss_parallel", "parallelism.enable_loss_parallel"},
    };

    for (size_t n = 0; key != NULL && n < sizeof names / sizeof *names; n++)
        if (strcmp(key, names[n].was) == 0)
            return names[n].is;
    return key;
}

static plait_status titan_pairs_add(titan_pairs *pairs, const char *key, const char *value,
                                    plait_error *err)
{
    titan_pair *const list =
        grow_by_one(pairs->arena, pairs->pair, pairs->count, &pairs->capacity, sizeof *list);

    PLAIT_TRY(plait_check_allocated(list && key && value, err));
    pairs->pair = list;
    list[pairs->count++] = (titan_pair){.key = name_of_today(key), .value = value};
    return PLAIT_OK;
}

const char *titan_pairs_find(const titan_pairs *pairs, const char *key)
{
    const char *last = NULL;

    for (int i = 0; i < pairs->count; i++)
        if (text_equal(pairs->pair[i].key, key)) {
            pairs->pair[i].read = true;
            last = pairs->pair[i].value;
        }
    return last;
}

/* ---- a command line ---- */

static bool is_value(const char *word)
{
    return word[0] != '-' || isdigit((unsigned char)word[1]);
}

/* True for the choice of a class, such as activation-checkpoint:full. */
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

/*
 * Add a variable such as those in MODULE=llama3 CONFIG=llama3_8b NGPU=8 ./run_train.sh, since the
 * shell's reader drops assignments.
 */
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

/*
 * Append the further words of a list, `--compile.components model loss`; *i is the index of the
 * last word that is read.
 */
static plait_status add_items(const shell_words *words, int end, int *i, plait_arena *arena,
                              const char **value, plait_error *err)
{
    while (*i + 1 < end && is_value(words->word[*i + 1]) && !is_choice(words->word[*i + 1])) {
        *value = plait_arena_printf(arena, "%s %s", *value, words->word[++*i]);
        PLAIT_TRY(plait_check_allocated(*value, err));
    }
    return PLAIT_OK;
}

plait_status titan_read_shell(const char *text, size_t length, const char *name, titan_pairs *out,
                              plait_error *err)
{
    const shell_source source = {.text = text,
                                 .length = length,
                                 .name = name,
                                 .arguments = out->call != NULL ? out->call->arguments : 0,
                                 .argument = out->call != NULL ? out->call->argument : NULL};
    shell_words words;

    if (out->call != NULL && out->call->taken != NULL)
        *out->call->taken = true;
    PLAIT_TRY(shell_read(&source, out->arena, &words, err));
    if (strstr(text, "run_train.sh") != NULL) {
        PLAIT_TRY(add_variable(text, "NGPU=", "nproc_per_node", out, err));
        PLAIT_TRY(add_variable(text, "MODULE=", "module", out, err));
        PLAIT_TRY(add_variable(text, "CONFIG=", "config", out, err));
    }
    const int launch = flags_launch(&words);
    for (int c = 0; c < words.commands; c++)
        if (flags_counts(&words, launch, c)) {
            const int end = words.command[c].first + words.command[c].count;
            for (int i = words.command[c].first; i < end; i++) {
                const char *const word = words.word[i];

                if (is_choice(word))
                    PLAIT_TRY(
                        titan_pairs_add(out, "activation_checkpoint", strchr(word, ':') + 1, err));
                else if (text_starts_with(word, "--") && word[2] != '\0') {
                    char *const key = key_of(words.word[i], out->arena);
                    const char *value = key != NULL ? text_cut(key, '=') : NULL;
                    PLAIT_TRY(plait_check_allocated(key, err));
                    if (value == NULL && i + 1 < end && is_value(words.word[i + 1]) &&
                        !is_choice(words.word[i + 1]))
                        value = words.word[++i];
                    if (value != NULL && text_equal(key, "compile.components"))
                        PLAIT_TRY(add_items(&words, end, &i, out->arena, &value, err));
                    if (value == NULL) {
                        // "--a.no-b-c" switches a.b_c off
                        char *const dot = strrchr(key, '.');
                        char *const leaf = dot != NULL ? dot + 1 : key;
                        const bool off = text_starts_with(leaf, "no_");
                        if (off)
                            memmove(leaf, leaf + 3, strlen(leaf + 3) + 1);
                        PLAIT_TRY(titan_pairs_add(out, key, off ? "False" : "True", err));
                    } else {
                        PLAIT_TRY(shell_word_known(value) ? titan_pairs_add(out, key, value, err)
                                                          : PLAIT_OK);
                    }
                }
            }
        }
    return PLAIT_OK;
}

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

/* Read a value, which ends with its line, or with the brackets that it opens. */
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

plait_status titan_read_toml(const char *text, size_t length, const char *name, titan_pairs *out,
                             plait_error *err)
{
    toml_reader in = {text, text + length, 1, name, ""};

    for (skip_blank(&in, true); in.at < in.end; skip_blank(&in, true)) {
        if (*in.at == '[') {
            const char *const close = memchr(in.at, ']', (size_t)(in.end - in.at));
            const size_t width = close != NULL ? (size_t)(close - in.at) - 1 : 0;
            if (close == NULL || width == 0 || width >= sizeof in.section ||
                memchr(in.at, '\n', width) != NULL)
                return toml_fail(&in, "a section that has no name or is not closed", err);
            snprintf(in.section, sizeof in.section, "%.*s", (int)width, in.at + 1);
            in.at = close + 1;
        } else {
            const char *const from = in.at;
            const char *value;
            size_t width;
            while (in.at < in.end &&
                   (isalnum((unsigned char)*in.at) || strchr("_-.", *in.at) != NULL))
                in.at++;
            width = (size_t)(in.at - from);
            skip_blank(&in, false);
            if (width == 0 || in.at == in.end || *in.at != '=')
                return toml_fail(&in, "neither a section nor KEY = VALUE", err);
            in.at++;
            PLAIT_TRY(read_value(&in, out, &value, err));
            PLAIT_TRY(titan_pairs_add(
                out, plait_arena_printf(out->arena, "%s.%.*s", in.section, (int)width, from), value,
                err));
        }
    }
    return PLAIT_OK;
}

enum { PYTHON_MAX_DEPTH = 64 };

typedef struct python_reader {
    const char *at;
    const char *end;
    titan_pairs *out;
    int depth;
    const char
        *callee[PYTHON_MAX_DEPTH]; /* name before the bracket; "" for a bracket without a call */
} python_reader;

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '.';
}

static const char *skip_one(const char *at, const char *end)
{
    if (*at == '"' || *at == '\'') {
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
    if (*at != '#')
        return at + 1;
    while (at < end && *at != '\n')
        at++;
    return at;
}

/*
 * Return the end of the value at `at`: a comma, a closing bracket, or outside brackets the end of
 * the line.
 */
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

/*
 * Return the prefix of a class's keys, "parallelism." for ParallelismConfig; NULL: the keys of the
 * class are not read.
 */
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

static plait_status add_setting(python_reader *in, const char *section, const char *key,
                                size_t width, const char *from, plait_error *err)
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
        PLAIT_TRY(plait_check_allocated(in->callee[in->depth++], err));
        in->at = next + 1;
    } else if (next + 1 < in->end && *next == '=' && next[1] != '=') {
        if (in->depth > 0 && section != NULL)
            return add_setting(in, section, word, width, next + 1, err);
        if (in->depth == 0) {
            // config.training.steps = 10: drop the name of the object
            const char *const dot = memchr(word, '.', width);
            if (dot == NULL)
                return PLAIT_OK;
            return add_setting(in, "", dot + 1, width - (size_t)(dot + 1 - word), next + 1, err);
        }
    }
    return PLAIT_OK;
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
    // find number formats by the converters that the recipe calls, and check for several
    // configurations
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
