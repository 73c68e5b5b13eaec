/* megatron_flags.c - args.sh as Megatron-LM's parser would take it */
#include "support/megatron_flags.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/megatron_layers.h"

typedef enum flag_kind { SWITCH, INT, FLOAT, TEXT, PATTERN, INTS, FLOATS, TEXTS } flag_kind;

typedef struct flag_entry {
    const char *name; /* with '_' */
    flag_kind kind;
    const char *otherwise;
    const char *choices;
} flag_entry;

static const flag_entry flags[MEGATRON_FLAG_COUNT] = {
#define X(name, kind, otherwise, choices) {#name, kind, otherwise, choices},
    MEGATRON_FLAGS(X)
#undef X
};

static bool refuse(char sentence[MEGATRON_SENTENCE_SIZE], const char *fmt, ...)
{
    va_list list;

    va_start(list, fmt);
    vsnprintf(sentence, MEGATRON_SENTENCE_SIZE, fmt, list);
    va_end(list);
    return false;
}

/* ---- words of a shell ---- */

typedef struct word_reader {
    const char *at;
    char word[MEGATRON_VALUE_SIZE];
    bool quoted; /* then "--x" is a value */
    bool broken; /* an open quote, an expansion, or a word that is too long */
} word_reader;

static void skip_blanks(word_reader *in)
{
    for (;; in->at++) {
        while (*in->at == '#' && *in->at != '\0')
            in->at += strcspn(in->at, "\n");
        if (*in->at == '\\' && in->at[1] == '\n')
            in->at++;
        else if (*in->at == '\0' || strchr(" \t\n", *in->at) == NULL)
            return;
    }
}

/* One character after the other; single quotes keep all, double quotes end at the next. */
static bool next_word(word_reader *in)
{
    size_t length = 0;
    char quote = '\0';

    skip_blanks(in);
    in->quoted = false;
    if (*in->at == '\0')
        return false;
    for (; *in->at != '\0' && (quote != '\0' || strchr(" \t\n", *in->at) == NULL); in->at++) {
        char c = *in->at;
        if (c == quote || (quote == '\0' && (c == '\'' || c == '"'))) {
            quote = quote == '\0' ? c : '\0';
            in->quoted = true;
            continue;
        }
        if (quote != '\'' && strchr(quote == '\0' ? "$`;&|<>()*?[{~!" : "$`", c) != NULL)
            in->broken = true;
        if (quote != '\'' && c == '\\')
            c = *++in->at;
        if (c == '\0' || length + 1 == sizeof in->word) {
            in->broken = true;
            return false;
        }
        in->word[length++] = c;
    }
    in->word[length] = '\0';
    in->broken = in->broken || quote != '\0';
    return !in->broken;
}

/* ---- one flag ---- */

static int flag_of(const char *word)
{
    char name[64];

    if (strncmp(word, "--", 2) != 0 || strlen(word) >= sizeof name || strchr(word, '_') != NULL)
        return -1;
    strcpy(name, word + 2);
    for (char *c = name; *c != '\0'; c++)
        *c = *c == '-' ? '_' : *c;
    for (int f = 0; f < MEGATRON_FLAG_COUNT; f++)
        if (strcmp(flags[f].name, name) == 0)
            return f;
    return -1;
}

/* One of `choices`, words with blanks between them. */
static bool is_among(const char *choices, const char *word)
{
    const size_t length = strlen(word);

    for (const char *c = choices; *c != '\0'; c += strspn(c, " ")) {
        const size_t its = strcspn(c, " ");
        if (its == length && strncmp(c, word, its) == 0)
            return true;
        c += its;
    }
    return false;
}

static bool is_int(const char *word)
{
    char *end;

    errno = 0;
    const long value = strtol(word, &end, 10);
    return end != word && *end == '\0' && errno == 0 && value >= INT_MIN && value <= INT_MAX;
}

static bool is_number(const char *word)
{
    char *end;

    (void)strtod(word, &end);
    return end != word && *end == '\0';
}

static bool has_type(flag_kind kind, const char *word)
{
    if (kind == INT || kind == INTS)
        return is_int(word);
    if (kind == FLOAT || kind == FLOATS)
        return is_number(word);
    return kind != PATTERN || megatron_pattern(word, NULL) > 0;
}

static bool takes(const flag_entry *flag, const char *word, char *sentence)
{
    if (!has_type(flag->kind, word))
        return refuse(sentence, "%s: '%s' has not its type", flag->name, word);
    if (*flag->choices != '\0' && !is_among(flag->choices, word))
        return refuse(sentence, "%s: '%s' is not one of %s", flag->name, word, flag->choices);
    return true;
}

static bool is_list(flag_kind kind)
{
    return kind == INTS || kind == FLOATS || kind == TEXTS;
}

static bool is_flag(const word_reader *in)
{
    return strncmp(in->word, "--", 2) == 0 && !in->quoted;
}

static bool append_value(char *value, const char *word)
{
    const size_t length = strlen(value);

    if (length + strlen(word) + 2 > MEGATRON_VALUE_SIZE)
        return false;
    snprintf(value + length, MEGATRON_VALUE_SIZE - length, length > 0 ? " %s" : "%s", word);
    return true;
}

/* Reads the values of a flag, and the word after them; *more: there is such a word. */
static bool read_values(word_reader *in, int f, megatron_args *args, bool *more, char *sentence)
{
    int values = 0;

    args->value[f][0] = '\0';
    while ((*more = next_word(in)) && !is_flag(in) && (values == 0 || is_list(flags[f].kind))) {
        if (flags[f].kind == SWITCH)
            return refuse(sentence, "%s is a switch and '%s' is none", flags[f].name, in->word);
        if (!takes(&flags[f], in->word, sentence))
            return false;
        if (!append_value(args->value[f], in->word))
            return refuse(sentence, "%s is too long", flags[f].name);
        values++;
    }
    if (*more && !is_flag(in))
        return refuse(sentence, "'%s' follows %s", in->word, flags[f].name);
    return values > 0 || flags[f].kind == SWITCH ||
           refuse(sentence, "%s has no value", flags[f].name);
}

/* ---- the whole text ---- */

static bool read_export(const word_reader *in, megatron_args *args, char *sentence)
{
    const struct {
        const char *name;
        char *value;
    } variables[] = {
        {"CUDA_DEVICE_MAX_CONNECTIONS", args->connections},
        {"NCCL_GRAPH_REGISTER", args->graph_register},
        {"NVTE_CUTEDSL_FUSED_GROUPED_MLP", args->fused_experts},
    };
    const char *const equals = strchr(in->word, '=');

    if (equals == NULL)
        return refuse(sentence, "export of '%s' has no value", in->word);
    for (size_t v = 0; v < sizeof variables / sizeof *variables; v++)
        if (strlen(variables[v].name) == (size_t)(equals - in->word) &&
            strncmp(in->word, variables[v].name, strlen(variables[v].name)) == 0)
            snprintf(variables[v].value, sizeof args->connections, "%s", equals + 1);
    return true;
}

static bool read_all(word_reader *in, megatron_args *args, char *sentence)
{
    bool more = next_word(in);

    while (more && strcmp(in->word, "export") == 0) {
        if (!next_word(in) || !read_export(in, args, sentence))
            return refuse(sentence, "export has no name and value");
        more = next_word(in);
    }
    while (more) {
        const int f = flag_of(in->word);
        if (f < 0)
            return refuse(sentence, "'%s' is no flag", in->word);
        if (args->given[f])
            return refuse(sentence, "%s is given twice", flags[f].name);
        args->given[f] = true;
        if (!read_values(in, f, args, &more, sentence))
            return false;
    }
    return true;
}

bool megatron_args_read(const char *text, megatron_args *args,
                        char sentence[MEGATRON_SENTENCE_SIZE])
{
    word_reader in = {.at = text};

    *args = (megatron_args){0};
    for (int f = 0; f < MEGATRON_FLAG_COUNT; f++)
        strcpy(args->value[f], flags[f].otherwise);
    if (!read_all(&in, args, sentence))
        return false;
    return !in.broken || refuse(sentence, "the text is not plain words: %.40s", in.at);
}

/* ---- values ---- */

int megatron_int(const megatron_args *args, megatron_flag flag)
{
    return (int)strtol(args->value[flag], NULL, 10);
}

double megatron_number(const megatron_args *args, megatron_flag flag)
{
    return strtod(args->value[flag], NULL);
}

bool megatron_is(const megatron_args *args, megatron_flag flag, const char *value)
{
    return strcmp(args->value[flag], value) == 0;
}

int megatron_words(const megatron_args *args, megatron_flag flag)
{
    int words = *args->value[flag] != '\0';

    for (const char *c = args->value[flag]; *c != '\0'; c++)
        words += *c == ' ';
    return words;
}

bool megatron_has_word(const megatron_args *args, megatron_flag flag, const char *word)
{
    return is_among(args->value[flag], word);
}
