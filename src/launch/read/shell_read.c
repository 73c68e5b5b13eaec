/*
 * shell_read.c - words of a shell script, as far as they can be known without running it
 *
 * One pass over the text cuts words and follows assignments. A value is a list of words: an array
 * has many, a variable one. Where a word holds an unquoted list, the list is spliced in; what is
 * not known becomes SHELL_UNKNOWN, so that one unset variable does not hide the rest of a script.
 */
#include "shell_read.h"

#include "grow.h"
#include "shell_sum.h"
#include "text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { SHELL_UNKNOWN = '\x01', SHELL_MAX_WORDS = 1 << 16, SHELL_MAX_BYTES = 1 << 22 };

typedef struct shell_list {
    const char **word;
    int count;
    int capacity;
} shell_list;

typedef struct shell_variable {
    const char *name;
    shell_list value;
} shell_variable;

typedef struct shell_reader {
    const char *at;
    const char *end;
    int line;
    const char *name; /* of the file, for messages */
    plait_arena *arena;
    shell_variable *variable;
    int variables;
    int capacity;
    size_t bytes; /* of all words made so far: an expansion of expansions ends here */
    shell_words *out;
} shell_reader;

/* ---- lists and variables ---- */

static plait_status fail_at(const shell_reader *in, const char *found, plait_error *err)
{
    char where[256];

    snprintf(where, sizeof where, "%.200s:%d", in->name, in->line);
    return plait_fail(err, PLAIT_ERROR_SYNTAX, where, "expected shell words, found %s", found);
}

static plait_status list_add(shell_reader *in, shell_list *list, const char *word, plait_error *err)
{
    const char **more;

    if (list->count == SHELL_MAX_WORDS)
        return fail_at(in, "more than 65536 of them", err);
    more = grow_by_one(in->arena, list->word, list->count, &list->capacity, sizeof *more);
    if (more == NULL)
        return plait_fail_nomem(err);
    list->word = more;
    more[list->count++] = word;
    return PLAIT_OK;
}

static shell_variable *find(const shell_reader *in, const char *name, size_t length)
{
    for (int v = 0; v < in->variables; v++)
        if (strlen(in->variable[v].name) == length &&
            memcmp(in->variable[v].name, name, length) == 0)
            return &in->variable[v];
    return NULL;
}

static plait_status make(shell_reader *in, const char *name, shell_variable **out, plait_error *err)
{
    shell_variable *more;

    *out = find(in, name, strlen(name));
    if (*out != NULL)
        return PLAIT_OK;
    more = grow_by_one(in->arena, in->variable, in->variables, &in->capacity, sizeof *more);
    if (more == NULL)
        return plait_fail_nomem(err);
    in->variable = more;
    *out = &more[in->variables++];
    **out = (shell_variable){.name = name};
    return PLAIT_OK;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* ---- words ---- */

/* A word in the making; `begun` tells an empty one in quotes from none. */
typedef struct shell_word {
    text_builder text;
    bool begun;
} shell_word;

static plait_status finish_word(shell_reader *in, shell_word *word, shell_list *list,
                                plait_error *err)
{
    const char *text;
    size_t length;

    if (!word->begun)
        return PLAIT_OK;
    text = text_builder_finish(&word->text, &length);
    if (text == NULL)
        return plait_fail_nomem(err);
    in->bytes += length + 1;
    if (in->bytes > SHELL_MAX_BYTES)
        return fail_at(in, "more than 4 MiB of them", err);
    PLAIT_TRY(list_add(in, list, text, err));
    text_builder_init(&word->text, in->arena);
    word->begun = false;
    return PLAIT_OK;
}

static void append_unknown(shell_reader *in, shell_word *word, const char *from)
{
    text_append_char(&word->text, SHELL_UNKNOWN);
    word->begun = true;
    in->out->unknown++;
    if (in->out->example == NULL) {
        const size_t length = (size_t)(in->at - from);
        char *copy = plait_arena_printf(in->arena, "%.*s", length < 60 ? (int)length : 60, from);

        in->out->example = copy;
    }
}

/* A text that was not in quotes is cut at blanks. */
static plait_status append_split(shell_reader *in, const char *text, bool quoted, shell_word *word,
                                 shell_list *list, plait_error *err)
{
    for (; *text != '\0'; text++) {
        if (!quoted && isspace((unsigned char)*text)) {
            PLAIT_TRY(finish_word(in, word, list, err));
            continue;
        }
        text_append_char(&word->text, *text);
        word->begun = true;
    }
    return PLAIT_OK;
}

static plait_status append_value(shell_reader *in, const shell_list *value, bool quoted,
                                 shell_word *word, shell_list *list, plait_error *err)
{
    for (int i = 0; i < value->count; i++) {
        if (i > 0)
            PLAIT_TRY(finish_word(in, word, list, err));
        if (quoted)
            word->begun = true;
        PLAIT_TRY(append_split(in, value->word[i], quoted, word, list, err));
        in->bytes += strlen(value->word[i]);
        if (in->bytes > SHELL_MAX_BYTES)
            return fail_at(in, "more than 4 MiB of them", err);
    }
    return PLAIT_OK;
}

/* Behind the closing sign that belongs to the opening one before in->at. */
static void skip_to_close(shell_reader *in, char open, char close)
{
    int depth = 1;

    for (; in->at < in->end && depth > 0; in->at++) {
        depth += *in->at == open;
        depth -= *in->at == close;
        in->line += *in->at == '\n';
    }
}

static bool variable_number(const void *context, const char *name, size_t length, int64_t *out)
{
    const shell_variable *const found = find(context, name, length);

    return found != NULL && found->value.count == 1 &&
           text_parse_int64(found->value.word[0], INT32_MIN, INT32_MAX, out);
}

/* $((...)) */
static void append_sum(shell_reader *in, shell_word *word, const char *from)
{
    const char *const first = in->at;
    char digits[24];
    int64_t number;

    skip_to_close(in, '(', ')');
    const bool known =
        shell_sum(first, in->at > first ? in->at - 1 : first, variable_number, in, &number);
    if (in->at < in->end && *in->at == ')')
        in->at++;
    if (!known) {
        append_unknown(in, word, from);
        return;
    }
    snprintf(digits, sizeof digits, "%lld", (long long)number);
    text_append(&word->text, digits);
    word->begun = true;
}

/* The default of ${NAME:-default}, out of its quotes. */
static plait_status append_default(shell_reader *in, const char *text, size_t length, bool quoted,
                                   shell_word *word, shell_list *list, plait_error *err)
{
    const bool in_quotes =
        length >= 2 && (text[0] == '"' || text[0] == '\'') && text[length - 1] == text[0];
    const char *const copy =
        plait_arena_printf(in->arena, "%.*s", (int)(length - 2 * in_quotes), text + in_quotes);

    return copy == NULL ? plait_fail_nomem(err)
                        : append_split(in, copy, quoted || in_quotes, word, list, err);
}

/* ${NAME}, ${NAME[@]}, ${NAME:-default}; other forms are not known. */
static plait_status append_braced(shell_reader *in, bool quoted, shell_word *word, shell_list *list,
                                  const char *from, plait_error *err)
{
    const char *const first = in->at;
    const char *last, *rest;
    const shell_variable *found;

    while (in->at < in->end && is_name(*in->at))
        in->at++;
    last = rest = in->at;
    skip_to_close(in, '{', '}');
    found = find(in, first, (size_t)(last - first));
    const size_t length = in->at > rest ? (size_t)(in->at - rest) - 1 : 0;
    const bool whole =
        length == 0 ||
        (length == 3 && (memcmp(rest, "[@]", 3) == 0 || memcmp(rest, "[*]", 3) == 0));
    const bool has_default = length >= 2 && rest[0] == ':' && rest[1] == '-';

    if (found != NULL && (whole || has_default))
        return append_value(in, &found->value, quoted, word, list, err);
    if (has_default && memchr(rest, '$', length) == NULL)
        return append_default(in, rest + 2, length - 2, quoted, word, list, err);
    append_unknown(in, word, from);
    return PLAIT_OK;
}

static plait_status append_expansion(shell_reader *in, bool quoted, shell_word *word,
                                     shell_list *list, plait_error *err)
{
    const char *const from = in->at - 1;
    const char *first = in->at;
    const shell_variable *found;

    if (in->at == in->end)
        return append_split(in, "$", true, word, list, err);
    if (*in->at == '@' || *in->at == '*') {
        in->at++;
        return PLAIT_OK;
    }
    if (*in->at == '{') {
        in->at++;
        return append_braced(in, quoted, word, list, from, err);
    }
    if (*in->at == '(') {
        const bool sum = in->at + 1 < in->end && in->at[1] == '(';

        in->at += sum ? 2 : 1;
        if (sum) {
            append_sum(in, word, from);
            return PLAIT_OK;
        }
        skip_to_close(in, '(', ')');
        append_unknown(in, word, from);
        return PLAIT_OK;
    }
    while (in->at < in->end && is_name(*in->at))
        in->at++;
    found = find(in, first, (size_t)(in->at - first));
    if (found != NULL)
        return append_value(in, &found->value, quoted, word, list, err);
    append_unknown(in, word, from);
    return PLAIT_OK;
}

/* The inside of "...". */
static plait_status append_double_quoted(shell_reader *in, shell_word *word, shell_list *list,
                                         plait_error *err)
{
    const bool alone = in->at + 1 < in->end && in->at[0] == '$' && in->at[1] == '{';

    word->begun = word->begun || !alone; // "${EMPTY[@]}" is no word
    while (in->at < in->end && *in->at != '"') {
        const char c = *in->at++;

        in->line += c == '\n';
        if (c == '$') {
            PLAIT_TRY(append_expansion(in, true, word, list, err));
        } else if (c == '`') {
            const char *const from = in->at - 1;

            while (in->at < in->end && *in->at++ != '`')
                continue;
            append_unknown(in, word, from);
        } else if (c == '\\' && in->at < in->end && *in->at == '\n') {
            in->at++;
        } else if (c == '\\' && in->at < in->end && strchr("$`\"\\", *in->at) != NULL) {
            text_append_char(&word->text, *in->at++);
            word->begun = true;
        } else {
            text_append_char(&word->text, c);
            word->begun = true;
        }
    }
    if (in->at == in->end)
        return fail_at(in, "a \" that is not closed", err);
    in->at++;
    return PLAIT_OK;
}

static plait_status append_single_quoted(shell_reader *in, shell_word *word, plait_error *err)
{
    word->begun = true;
    while (in->at < in->end && *in->at != '\'') {
        in->line += *in->at == '\n';
        text_append_char(&word->text, *in->at++);
    }
    if (in->at == in->end)
        return fail_at(in, "a ' that is not closed", err);
    in->at++;
    return PLAIT_OK;
}

/* One word, up to a blank or an operator. */
static plait_status read_word(shell_reader *in, shell_list *list, plait_error *err)
{
    shell_word word = {.begun = false};

    text_builder_init(&word.text, in->arena);
    while (in->at < in->end && !isspace((unsigned char)*in->at) &&
           strchr(";&|()<>", *in->at) == NULL) {
        const char c = *in->at++;

        if (c == '\'') {
            PLAIT_TRY(append_single_quoted(in, &word, err));
        } else if (c == '"') {
            PLAIT_TRY(append_double_quoted(in, &word, list, err));
        } else if (c == '$') {
            PLAIT_TRY(append_expansion(in, false, &word, list, err));
        } else if (c == '`') {
            const char *const from = in->at - 1;

            while (in->at < in->end && *in->at++ != '`')
                continue;
            append_unknown(in, &word, from);
        } else if (c == '\\') {
            if (in->at < in->end && *in->at == '\n') {
                in->line++;
                in->at++;
            } else if (in->at < in->end) {
                text_append_char(&word.text, *in->at++);
                word.begun = true;
            }
        } else {
            text_append_char(&word.text, c);
            word.begun = true;
        }
    }
    return finish_word(in, &word, list, err);
}

/* ---- lines ---- */

/* Blanks, comments and continuations; true when a new command may begin behind them. */
static bool skip_space(shell_reader *in)
{
    bool fresh = false;

    while (in->at < in->end) {
        if (*in->at == '#') {
            while (in->at < in->end && *in->at != '\n')
                in->at++;
        } else if (in->at[0] == '\\' && in->at + 1 < in->end && in->at[1] == '\n') {
            in->line++;
            in->at += 2;
        } else if (isspace((unsigned char)*in->at)) {
            in->line += *in->at == '\n';
            fresh = fresh || *in->at == '\n';
            in->at++;
        } else {
            break;
        }
    }
    return fresh;
}

/* Length of the NAME of a `NAME=` or `NAME+=` at the cursor, or 0. */
static size_t assignment_at(const shell_reader *in)
{
    const char *at = in->at;

    while (at < in->end && is_name(*at))
        at++;
    const size_t length = (size_t)(at - in->at);
    if (length == 0 || isdigit((unsigned char)*in->at))
        return 0;
    if (at < in->end && *at == '+')
        at++;
    return at < in->end && *at == '=' ? length : 0;
}

static plait_status read_array(shell_reader *in, shell_list *list, plait_error *err)
{
    for (;;) {
        skip_space(in);
        if (in->at == in->end)
            return fail_at(in, "a ( that is not closed", err);
        if (*in->at == ')') {
            in->at++;
            return PLAIT_OK;
        }
        if (strchr(";&|(<>", *in->at) != NULL)
            in->at++;
        else
            PLAIT_TRY(read_word(in, list, err));
    }
}

static plait_status read_assignment(shell_reader *in, size_t length, plait_error *err)
{
    const char *const name = plait_arena_printf(in->arena, "%.*s", (int)length, in->at);
    shell_variable *variable;
    shell_list list = {0};

    if (name == NULL)
        return plait_fail_nomem(err);
    in->at += length;
    const bool more = *in->at == '+';
    in->at += more ? 2 : 1;
    if (in->at < in->end && *in->at == '(') {
        in->at++;
        PLAIT_TRY(read_array(in, &list, err));
    } else {
        PLAIT_TRY(read_word(in, &list, err));
        for (int i = 1; i < list.count; i++) { // an unquoted value is not cut in an assignment
            list.word[0] = plait_arena_printf(in->arena, "%s %s", list.word[0], list.word[i]);
            if (list.word[0] == NULL)
                return plait_fail_nomem(err);
        }
        list.count = list.count > 1 ? 1 : list.count;
    }
    PLAIT_TRY(make(in, name, &variable, err));
    if (!more)
        variable->value.count = 0;
    for (int i = 0; i < list.count; i++)
        PLAIT_TRY(list_add(in, &variable->value, list.word[i], err));
    return PLAIT_OK;
}

static bool keeps_command_open(const char *word)
{
    static const char *const words[] = {"export", "declare", "local", "readonly", "env",
                                        "then",   "else",    "do",    "set",      NULL};

    return text_index(word, words) >= 0;
}

static bool any_option(const shell_list *words)
{
    for (int i = 0; i < words->count; i++)
        if (words->word[i][0] == '-')
            return true;
    return false;
}

/* A file that only sets variables is for others to source: what they hold is what it says. */
static plait_status add_variables(shell_reader *in, shell_list *words, plait_error *err)
{
    for (int v = 0; v < in->variables; v++) {
        const shell_list value = in->variable[v].value;
        shell_word word = {.begun = false};

        text_builder_init(&word.text, in->arena);
        if (!any_option(&value))
            continue;
        PLAIT_TRY(append_value(in, &value, value.count > 1, &word, words, err));
        PLAIT_TRY(finish_word(in, &word, words, err));
    }
    return PLAIT_OK;
}

static plait_status read_script(shell_reader *in, shell_list *words, plait_error *err)
{
    bool command = true; // may an assignment stand here?

    for (;;) {
        command = skip_space(in) || command;
        if (in->at == in->end)
            break;
        const size_t assigned = command ? assignment_at(in) : 0;
        if (assigned > 0) {
            PLAIT_TRY(read_assignment(in, assigned, err));
        } else if (strchr(";&|()<>", *in->at) != NULL) {
            command = *in->at != '<' && *in->at != '>';
            in->at++;
        } else {
            const int before = words->count;

            PLAIT_TRY(read_word(in, words, err));
            command =
                command && words->count == before + 1 && keeps_command_open(words->word[before]);
        }
    }
    if (!any_option(words))
        PLAIT_TRY(add_variables(in, words, err));
    return PLAIT_OK;
}

plait_status shell_read(const char *text, size_t length, const char *name, plait_arena *arena,
                        shell_words *out, plait_error *err)
{
    shell_reader in = {text, text + length, 1, name, arena, NULL, 0, 0, 0, out};
    shell_list words = {0};

    *out = (shell_words){0};
    if (memchr(text, '\0', length) != NULL)
        return fail_at(&in, "a zero byte", err);
    PLAIT_TRY(read_script(&in, &words, err));
    out->word = words.word;
    out->count = words.count;
    return PLAIT_OK;
}

bool shell_word_known(const char *word)
{
    return strchr(word, SHELL_UNKNOWN) == NULL;
}
