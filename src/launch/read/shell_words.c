/* shell_words.c - words of a shell: quotes, and what stands in them for something else */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "grow.h"
#include "shell_parts.h"
#include "shell_sum.h"

/* ---- lists and variables ---- */

plait_status shell_fail(const shell_reader *in, const char *found, plait_error *err)
{
    char where[256];

    snprintf(where, sizeof where, "%.200s:%d", in->name, in->line);
    return plait_fail(err, PLAIT_ERROR_SYNTAX, where, "expected shell words, found %s", found);
}

plait_status shell_spend(shell_reader *in, size_t bytes, plait_error *err)
{
    in->bytes += bytes;
    return in->bytes > SHELL_MAX_BYTES ? shell_fail(in, "more than 4 MiB of them", err) : PLAIT_OK;
}

plait_status shell_list_add(shell_reader *in, shell_list *list, const char *word, plait_error *err)
{
    const char **more;

    if (list->count == SHELL_MAX_WORDS)
        return shell_fail(in, "more than 65536 of them", err);
    PLAIT_TRY(shell_spend(in, word != NULL ? strlen(word) + 8 : 0, err));
    more = grow_by_one(in->arena, list->word, list->count, &list->capacity, sizeof *more);
    if (more == NULL || word == NULL)
        return plait_fail_nomem(err);
    list->word = more;
    more[list->count++] = word;
    return PLAIT_OK;
}

shell_variable *shell_find(const shell_reader *in, const char *name, size_t length)
{
    const int found = name_index_find(&in->variable_names, name, length);

    return found >= 0 && !in->variable[found].unset ? &in->variable[found] : NULL;
}

plait_status shell_make(shell_reader *in, const char *name, shell_variable **out, plait_error *err)
{
    const int found = name_index_find(&in->variable_names, name, strlen(name));
    shell_variable *more;

    if (found >= 0) {
        *out = &in->variable[found];
        return PLAIT_OK;
    }
    if (in->variables == SHELL_MAX_VARIABLES)
        return shell_fail(in, "more than 1024 variables", err);
    more =
        grow_by_one(in->arena, in->variable, in->variables, &in->variable_capacity, sizeof *more);
    if (more == NULL || !name_index_put(&in->variable_names, in->arena, name, in->variables))
        return plait_fail_nomem(err);
    in->variable = more;
    *out = &more[in->variables++];
    **out = (shell_variable){.name = name, .unset = true};
    return PLAIT_OK;
}

plait_status shell_set(shell_reader *in, const char *name, bool more, const shell_list *value,
                       plait_error *err)
{
    shell_variable *variable;

    PLAIT_TRY(shell_make(in, name, &variable, err));
    PLAIT_TRY(shell_keep(in, variable, err));
    if (!more || variable->unset) {
        variable->value = (shell_list){0};
        variable->array = false;
    }
    variable->unset = false;
    variable->line = in->command_line;
    for (int i = 0; i < value->count; i++)
        PLAIT_TRY(shell_list_add(in, &variable->value, value->word[i], err));
    return PLAIT_OK;
}

/* ---- what is not known ---- */

static const char *mark(shell_reader *in, int origin)
{
    return plait_arena_printf(in->arena, "%c%d%c", SHELL_UNKNOWN, origin, SHELL_UNKNOWN_END);
}

static const char *add_origin(shell_reader *in, const char *text, bool unset)
{
    shell_words *const out = in->out;
    shell_origin *more;

    for (int i = 0; i < out->unknown; i++)
        if (out->origin[i].unset == unset && strcmp(out->origin[i].text, text) == 0)
            return mark(in, i);
    if (out->unknown == SHELL_MAX_ORIGINS)
        return mark(in, 0);
    more = grow_by_one(in->arena, out->origin, out->unknown, &in->origin_capacity, sizeof *more);
    if (more == NULL)
        return NULL;
    out->origin = more;
    more[out->unknown] = (shell_origin){text, unset};
    return mark(in, out->unknown++);
}

const char *shell_unknown_text(shell_reader *in, const char *text, size_t length, bool unset)
{
    size_t shown = 0;

    while (shown < length && shown < 60 && text[shown] != '\n')
        shown++;
    const char *const copy = plait_arena_printf(in->arena, "%.*s", (int)shown, text);

    return copy != NULL ? add_origin(in, copy, unset) : NULL;
}

const char *shell_unknown(shell_reader *in, const char *from, bool unset)
{
    return shell_unknown_text(in, from, in->at > from ? (size_t)(in->at - from) : 0, unset);
}

const char *shell_unknown_set(shell_reader *in, int origin)
{
    return add_origin(in, in->out->origin[origin].text, false);
}

int shell_origin_index(const shell_words *words, const char *word)
{
    const char *const at = strchr(word, SHELL_UNKNOWN);
    int index = 0;

    if (at == NULL)
        return -1;
    for (const char *digit = at + 1; isdigit((unsigned char)*digit) && index < words->unknown;)
        index = 10 * index + (*digit++ - '0');
    return index < words->unknown ? index : words->unknown - 1;
}

/* ---- words in the making ---- */

/* `begun` tells an empty word in quotes from none. */
typedef struct shell_word {
    text_builder text;
    bool begun;
} shell_word;

static plait_status finish_word(shell_reader *in, shell_word *word, shell_list *list,
                                plait_error *err)
{
    if (!word->begun)
        return PLAIT_OK;
    PLAIT_TRY(shell_list_add(in, list, text_builder_finish(&word->text, NULL), err));
    text_builder_init(&word->text, in->arena);
    word->begun = false;
    return PLAIT_OK;
}

static plait_status append_unknown(shell_reader *in, shell_word *word, const char *from, bool unset,
                                   plait_error *err)
{
    const char *const text = shell_unknown(in, from, unset);

    if (text == NULL)
        return plait_fail_nomem(err);
    text_append(&word->text, text);
    word->begun = true;
    return PLAIT_OK;
}

/* A text that was not in quotes is cut at blanks. Whatever is expanded comes through here. */
static plait_status append_split(shell_reader *in, const char *text, bool quoted, shell_word *word,
                                 shell_list *list, plait_error *err)
{
    PLAIT_TRY(shell_spend(in, strlen(text), err));
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
    }
    return PLAIT_OK;
}

void shell_skip_to_close(shell_reader *in, char open, char close)
{
    int depth = 1;

    for (; in->at < in->end && depth > 0; in->at++) {
        depth += *in->at == open;
        depth -= *in->at == close;
        in->line += *in->at == '\n';
    }
}

/* ---- arithmetic ---- */

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static bool no_number(const void *context, const char *name, size_t length, int64_t *out)
{
    (void)context;
    (void)name;
    (void)length;
    (void)out;
    return false;
}

/* A variable stands for a sum; names in that one are not followed. */
static bool variable_number(const void *context, const char *name, size_t length, int64_t *out)
{
    const shell_variable *const found = shell_find(context, name, length);

    if (found == NULL || found->value.count != 1)
        return false;
    const char *const text = found->value.word[0];
    return shell_sum(text, text + strlen(text), no_number, NULL, out);
}

bool shell_arithmetic(shell_reader *in, const char *text, size_t length, int64_t *out)
{
    const char *expanded;

    if (shell_expand(in, text, length, &expanded, NULL) != PLAIT_OK)
        return false;
    return shell_sum(expanded, expanded + strlen(expanded), variable_number, in, out);
}

/* $((...)) */
static plait_status append_sum(shell_reader *in, shell_word *word, const char *from,
                               plait_error *err)
{
    const char *const first = in->at;
    int64_t number;

    shell_skip_to_close(in, '(', ')');
    const size_t length = in->at > first ? (size_t)(in->at - first) - 1 : 0;
    if (in->at < in->end && *in->at == ')')
        in->at++;
    if (!shell_arithmetic(in, first, length, &number)) {
        PLAIT_TRY(append_unknown(in, word, from, false, err));
        return shell_run_sum(in, first, length, err);
    }
    text_append_printf(&word->text, "%lld", (long long)number);
    word->begun = true;
    return PLAIT_OK;
}

/* ---- expansions ---- */

/* A word that stands in braces, out of its quotes: a default, an index. */
static plait_status expand_inner(shell_reader *in, const char *text, size_t length, bool *quoted,
                                 const char **out, plait_error *err)
{
    *quoted = length >= 2 && (text[0] == '"' || text[0] == '\'') && text[length - 1] == text[0];
    return shell_expand(in, text + *quoted, length - 2 * *quoted, out, err);
}

/* Is a name that of an argument which has been moved? */
static bool is_moved(const shell_reader *in, const char *name)
{
    return in->argument_open && isdigit((unsigned char)*name);
}

/* The value of $NAME or of $1; NULL: it is not set. */
static const shell_list *value_of(const shell_reader *in, const char *name, size_t length,
                                  shell_list *argument)
{
    const shell_variable *const found = shell_find(in, name, length);

    if (found != NULL)
        return &found->value;
    if (in->argument_open)
        return NULL;
    int number = 0;
    for (size_t c = 0; c < length && length < 4 && isdigit((unsigned char)name[c]); c++)
        number = 10 * number + (name[c] - '0');
    if (number < 1 || number > in->argument.count)
        return NULL;
    *argument = (shell_list){in->argument.word + number - 1, 1, 1};
    return argument;
}

/* The element of a list that an index picks: [3], or of an associative array [7B]. NULL: none. */
static const char *element_of(const shell_list *value, const char *index)
{
    const size_t width = strlen(index);
    int number;

    for (int i = value->count - 1; i >= 0; i--) {
        const char *const word = value->word[i];

        if (word[0] == '[' && strncmp(word + 1, index, width) == 0 &&
            strncmp(word + 1 + width, "]=", 2) == 0)
            return word + width + 3;
        if (shell_word_open(word)) // any number of elements
            return NULL;
    }
    return text_parse_int(index, 0, value->count - 1, &number) ? value->word[number] : NULL;
}

/* ${NAME[INDEX]} */
static plait_status append_element(shell_reader *in, const shell_list *value, const char *text,
                                   size_t length, bool quoted, shell_word *word, shell_list *list,
                                   const char *from, plait_error *err)
{
    const char *index, *element;
    bool ignored;

    PLAIT_TRY(expand_inner(in, text, length, &ignored, &index, err));
    PLAIT_TRY(shell_spend(in, (size_t)value->count, err)); // each may be looked at
    element = element_of(value, index);
    if (element == NULL)
        return append_unknown(in, word, from, false, err);
    return append_split(in, element, quoted, word, list, err);
}

/* What stands behind the name in braces: a default, an alternative, an index, or nothing. */
static plait_status append_operation(shell_reader *in, const shell_list *value, const char *rest,
                                     size_t length, bool quoted, shell_word *word, shell_list *list,
                                     const char *from, plait_error *err)
{
    const bool colon = length >= 2 && rest[0] == ':';
    const char sign = length >= 1 ? rest[colon] : '\0';
    const size_t skipped = (size_t)colon + 1;
    const bool empty = value == NULL || (colon && value->count <= 1 &&
                                         (value->count == 0 || value->word[0][0] == '\0'));
    const char *text;
    bool inner;

    if (length == 0 ||
        (length == 3 && (memcmp(rest, "[@]", 3) == 0 || memcmp(rest, "[*]", 3) == 0)))
        return value != NULL ? append_value(in, value, quoted, word, list, err)
                             : append_unknown(in, word, from, true, err);
    if (sign == '\0' || strchr("-=+?", sign) == NULL) {
        if (value != NULL && rest[0] == '[' && rest[length - 1] == ']')
            return append_element(in, value, rest + 1, length - 2, quoted, word, list, from, err);
        return append_unknown(in, word, from, value == NULL, err);
    }
    if (sign == '+' ? empty : !empty)
        return sign == '+' ? PLAIT_OK : append_value(in, value, quoted, word, list, err);
    if (sign == '?')
        return append_unknown(in, word, from, true, err);
    PLAIT_TRY(expand_inner(in, rest + skipped, length - skipped, &inner, &text, err));
    return append_split(in, text, quoted || inner, word, list, err);
}

/* ${NAME}, ${NAME[@]}, ${NAME:-default}, ${#NAME[@]}; other forms are not known. */
static plait_status append_braced(shell_reader *in, bool quoted, shell_word *word, shell_list *list,
                                  const char *from, plait_error *err)
{
    const char *const first = in->at;
    shell_list argument;

    while (in->at < in->end && is_name(*in->at))
        in->at++;
    const char *const rest = in->at;
    shell_skip_to_close(in, '{', '}');
    if (in->at == rest || in->at[-1] != '}' || is_moved(in, first))
        return append_unknown(in, word, from, false, err);
    const shell_list *const value = value_of(in, first, (size_t)(rest - first), &argument);
    return append_operation(in, value, rest, (size_t)(in->at - rest) - 1, quoted, word, list, from,
                            err);
}

/* `command`, $(command) */
static plait_status append_command(shell_reader *in, shell_word *word, const char *from,
                                   plait_error *err)
{
    if (*from == '`') {
        while (in->at < in->end && *in->at != '`')
            in->line += *in->at++ == '\n';
        in->at += in->at < in->end;
    } else {
        shell_skip_to_close(in, '(', ')');
    }
    return append_unknown(in, word, from, false, err);
}

static plait_status append_expansion(shell_reader *in, bool quoted, shell_word *word,
                                     shell_list *list, plait_error *err)
{
    const char *const from = in->at - 1, *const first = in->at;
    shell_list argument;

    PLAIT_TRY(shell_spend(in, 4, err));
    if (in->at == in->end)
        return append_split(in, "$", true, word, list, err);
    if (in->argument_open && strchr("@*#", *in->at) != NULL) {
        in->at++;
        return append_unknown(in, word, from, false, err);
    }
    if (*in->at == '@' || *in->at == '*') {
        in->at++;
        return append_value(in, &in->argument, quoted, word, list, err);
    }
    if (*in->at == '#') {
        in->at++;
        word->begun = true;
        text_append_printf(&word->text, "%d", in->argument.count);
        return PLAIT_OK;
    }
    if (*in->at == '{') {
        in->at++;
        return append_braced(in, quoted, word, list, from, err);
    }
    if (in->end - in->at >= 2 && in->at[0] == '(' && in->at[1] == '(') {
        in->at += 2;
        return append_sum(in, word, from, err);
    }
    if (*in->at == '(') {
        in->at++;
        return append_command(in, word, from, err);
    }
    if (isdigit((unsigned char)*in->at)) {
        in->at++;
    } else {
        while (in->at < in->end && is_name(*in->at))
            in->at++;
    }
    const shell_list *const found = value_of(in, first, (size_t)(in->at - first), &argument);
    if (found != NULL)
        return append_value(in, found, quoted, word, list, err);
    if (in->at == first)
        return append_split(in, "$", true, word, list, err);
    return append_unknown(in, word, from, !is_moved(in, first), err);
}

/* ---- quotes ---- */

/* The inside of "...", up to a closing sign, or to the end when there is none: '\0'. */
static plait_status append_double_quoted(shell_reader *in, char close, shell_word *word,
                                         shell_list *list, plait_error *err)
{
    const bool alone = in->end - in->at >= 2 && in->at[0] == '$' && in->at[1] == '{';

    word->begun = word->begun || !alone; // "${EMPTY[@]}" is no word
    while (in->at < in->end && (close == '\0' || *in->at != close)) {
        const char c = *in->at++;

        in->line += c == '\n';
        if (c == '$') {
            PLAIT_TRY(append_expansion(in, true, word, list, err));
        } else if (c == '`') {
            PLAIT_TRY(append_command(in, word, in->at - 1, err));
        } else if (c == '\\' && in->at < in->end && *in->at == '\n') {
            in->at++;
            in->line++;
        } else if (c == '\\' && in->at < in->end && strchr("$`\"\\", *in->at) != NULL) {
            text_append_char(&word->text, *in->at++);
            word->begun = true;
        } else {
            text_append_char(&word->text, c);
            word->begun = true;
        }
    }
    if (close == '\0')
        return PLAIT_OK;
    if (in->at == in->end)
        return shell_fail(in, "a \" that is not closed", err);
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
        return shell_fail(in, "a ' that is not closed", err);
    in->at++;
    return PLAIT_OK;
}

/* $'...': a backslash and a letter are a sign. */
static plait_status append_ansi_quoted(shell_reader *in, shell_word *word, plait_error *err)
{
    word->begun = true;
    while (in->at < in->end && *in->at != '\'') {
        char c = *in->at++;
        if (c == '\\' && in->at < in->end) {
            c = *in->at++;
            c = c == 'n' ? '\n' : c == 't' ? '\t' : c;
        }
        in->line += in->at[-1] == '\n';
        text_append_char(&word->text, c);
    }
    if (in->at == in->end)
        return shell_fail(in, "a $' that is not closed", err);
    in->at++;
    return PLAIT_OK;
}

plait_status shell_expand(shell_reader *in, const char *text, size_t length, const char **out,
                          plait_error *err)
{
    const char *const at = in->at, *const end = in->end;
    const int line = in->line;
    shell_word word = {.begun = false};
    shell_list list = {0};
    text_builder joined;

    if (++in->nesting > SHELL_MAX_NESTING)
        return shell_fail(in, "expansions in expansions, too many", err);
    text_builder_init(&word.text, in->arena);
    text_builder_init(&joined, in->arena);
    in->at = text;
    in->end = text + length;
    const plait_status status = append_double_quoted(in, '\0', &word, &list, err);
    in->at = at;
    in->end = end;
    in->line = line;
    in->nesting--;
    PLAIT_TRY(status);
    PLAIT_TRY(finish_word(in, &word, &list, err));
    for (int i = 0; i < list.count; i++)
        text_append_printf(&joined, "%s%s", i > 0 ? " " : "", list.word[i]);
    *out = text_builder_finish(&joined, NULL);
    return *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

/* ---- a word ---- */

/* What an unquoted byte stands for. */
static plait_status append_plain(shell_reader *in, char c, shell_word *word, shell_list *list,
                                 plait_error *err)
{
    if (c == '\'')
        return append_single_quoted(in, word, err);
    if (c == '"')
        return append_double_quoted(in, '"', word, list, err);
    if (c == '$' && in->at < in->end && *in->at == '\'') {
        in->at++;
        return append_ansi_quoted(in, word, err);
    }
    if (c == '$')
        return append_expansion(in, false, word, list, err);
    if (c == '`')
        return append_command(in, word, in->at - 1, err);
    if (c == '\\' && in->at < in->end) {
        c = *in->at++;
        in->line += c == '\n';
        if (c == '\n')
            return PLAIT_OK;
    }
    text_append_char(&word->text, c);
    word->begun = true;
    return PLAIT_OK;
}

plait_status shell_read_word(shell_reader *in, shell_list *list, plait_error *err)
{
    shell_word word = {.begun = false};

    text_builder_init(&word.text, in->arena);
    while (in->at < in->end && !isspace((unsigned char)*in->at) &&
           strchr(";&|()<>", *in->at) == NULL) {
        const char c = *in->at++;

        PLAIT_TRY(append_plain(in, c, &word, list, err));
    }
    return finish_word(in, &word, list, err);
}
