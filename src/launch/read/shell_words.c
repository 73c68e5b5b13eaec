/* shell_words.c - words of a shell: quotes, and what stands in them for something else */
#include <ctype.h>
#include <string.h>

#include "launch/read/shell_parts.h"
#include "launch/read/shell_sum.h"

/* ---- words in the making ---- */

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

/* A byte that stands for itself. In a pattern a backslash says so. */
static void put_quoted(const shell_reader *in, shell_word *word, char c)
{
    if (in->pattern && strchr("*?[]\\!^-", c) != NULL)
        text_append_char(&word->text, '\\');
    text_append_char(&word->text, c);
    word->begun = true;
}

plait_status shell_append_unknown(shell_reader *in, shell_word *word, const char *from, bool unset,
                                  plait_error *err)
{
    const char *const text = shell_unknown(in, from, unset);

    if (text == NULL)
        return plait_fail_nomem(err);
    text_append(&word->text, text);
    word->begun = true;
    return PLAIT_OK;
}

/* IFS may say that a text is not cut at blanks, but elsewhere. */
static bool is_cut_elsewhere(const shell_reader *in, const char *text)
{
    const shell_variable *const ifs = shell_find(in, "IFS", 3);
    const char *const signs = ifs != NULL && ifs->value.count == 1 ? ifs->value.word[0] : " \t\n";

    return strcmp(signs, " \t\n") != 0 &&
           (strpbrk(text, " \t\n") != NULL || strpbrk(text, signs) != NULL);
}

/* A text that was not in quotes is cut at blanks. Whatever is expanded comes through here. */
plait_status shell_append_split(shell_reader *in, const char *text, bool quoted, shell_word *word,
                                shell_list *list, plait_error *err)
{
    PLAIT_TRY(shell_spend(in, strlen(text), err));
    if (!quoted && is_cut_elsewhere(in, text))
        return shell_append_unknown(in, word, in->at, false, err);
    for (; *text != '\0'; text++) {
        if (!quoted && isspace((unsigned char)*text)) {
            PLAIT_TRY(finish_word(in, word, list, err));
            continue;
        }
        if (quoted)
            put_quoted(in, word, *text);
        else
            text_append_char(&word->text, *text);
        word->begun = true;
    }
    return PLAIT_OK;
}

/* "$*", "${NAME[*]}": one word, with the first sign of IFS between its parts. */
plait_status shell_append_joined(shell_reader *in, const shell_list *value, shell_word *word,
                                 shell_list *list, const char *from, plait_error *err)
{
    const shell_variable *const ifs = shell_find(in, "IFS", 3);
    const char *const signs = ifs != NULL && ifs->value.count == 1 ? ifs->value.word[0] : " ";

    if (!shell_word_known(signs))
        return shell_append_unknown(in, word, from, false, err);
    for (int i = 0; i < value->count; i++) {
        if (i > 0 && signs[0] != '\0')
            put_quoted(in, word, signs[0]);
        PLAIT_TRY(shell_append_split(in, value->word[i], true, word, list, err));
    }
    word->begun = true;
    return PLAIT_OK;
}

plait_status shell_append_value(shell_reader *in, const shell_list *value, bool quoted,
                                shell_word *word, shell_list *list, plait_error *err)
{
    for (int i = 0; i < value->count; i++) {
        if (i > 0)
            PLAIT_TRY(finish_word(in, word, list, err));
        if (quoted)
            word->begun = true;
        PLAIT_TRY(shell_append_split(in, value->word[i], quoted, word, list, err));
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

/* $((...)), and as it was once written, $[...] */
static plait_status append_sum(shell_reader *in, char open, shell_word *word, const char *from,
                               plait_error *err)
{
    const char *const first = in->at;
    int64_t number;

    shell_skip_to_close(in, open, open == '(' ? ')' : ']');
    const size_t length = in->at > first ? (size_t)(in->at - first) - 1 : 0;
    if (open == '(' && in->at < in->end && *in->at == ')')
        in->at++;
    if (!shell_arithmetic(in, first, length, &number)) {
        PLAIT_TRY(shell_append_unknown(in, word, from, false, err));
        return shell_run_sum(in, first, length, err);
    }
    text_append_printf(&word->text, "%lld", (long long)number);
    word->begun = true;
    return PLAIT_OK;
}

/* ---- expansions ---- */

/* Is a name that of an argument which has been moved? */
bool shell_is_moved(const shell_reader *in, const char *name)
{
    return in->argument_open && isdigit((unsigned char)*name);
}

/* The value of $NAME or of $1; NULL: it is not set. */
const shell_list *shell_value_of(const shell_reader *in, const char *name, size_t length,
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

static plait_status append_named(shell_reader *in, char sign, bool quoted, shell_word *word,
                                 shell_list *list, const char *from, plait_error *err);

/* ${NAME}, ${NAME[@]}, ${#NAME[@]}; other forms are not known. */
static plait_status append_braced(shell_reader *in, bool quoted, shell_word *word, shell_list *list,
                                  const char *from, plait_error *err)
{
    const char *const first = in->at;
    shell_list argument;

    if (in->end - in->at >= 2 && strchr("@*#?", *in->at) != NULL && in->at[1] == '}') {
        in->at += 2;
        return append_named(in, *first, quoted, word, list, from, err);
    }
    while (in->at < in->end && is_name(*in->at))
        in->at++;
    const char *const rest = in->at;
    const size_t width = (size_t)(rest - first);
    shell_skip_to_close(in, '{', '}');
    if (in->at == rest || in->at[-1] != '}' || shell_is_moved(in, first) || width == 0)
        return shell_append_unknown(in, word, from, false, err);
    const shell_list *const value = shell_value_of(in, first, width, &argument);
    return shell_append_operation(in,
                                  &(shell_braces){.from = from,
                                                  .name = first,
                                                  .rest = rest,
                                                  .name_length = width,
                                                  .length = (size_t)(in->at - rest) - 1,
                                                  .quoted = quoted,
                                                  .settable = shell_may_be_set(in, first, width),
                                                  .value = value},
                                  word, list, err);
}

/* `command`, $(command) */
static plait_status append_command(shell_reader *in, shell_word *word, const char *from,
                                   plait_error *err)
{
    in->substitutions++;
    if (*from == '`') {
        while (in->at < in->end && *in->at != '`')
            in->line += *in->at++ == '\n';
        in->at += in->at < in->end;
    } else {
        shell_skip_to_close(in, '(', ')');
    }
    return shell_append_unknown(in, word, from, false, err);
}

/* $? where it is known. */
static plait_status append_code(shell_reader *in, shell_word *word, const char *from,
                                plait_error *err)
{
    if (in->code < 0)
        return shell_append_unknown(in, word, from, false, err);
    text_append_printf(&word->text, "%d", in->code);
    word->begun = true;
    return PLAIT_OK;
}

/* $@, $*, $#, $?, $$ and their like. */
static plait_status append_named(shell_reader *in, char sign, bool quoted, shell_word *word,
                                 shell_list *list, const char *from, plait_error *err)
{
    if (sign == '?')
        return append_code(in, word, from, err);
    if (strchr("$!-0", sign) != NULL || in->argument_open)
        return shell_append_unknown(in, word, from, false, err);
    if (sign == '*' && quoted)
        return shell_append_joined(in, &in->argument, word, list, from, err);
    if (sign != '#')
        return shell_append_value(in, &in->argument, quoted, word, list, err);
    word->begun = true;
    text_append_printf(&word->text, "%d", in->argument.count);
    return PLAIT_OK;
}

/* $NAME, $1 */
static plait_status append_variable(shell_reader *in, bool quoted, shell_word *word,
                                    shell_list *list, const char *from, plait_error *err)
{
    const char *const first = in->at;
    shell_list argument;

    if (in->at < in->end && isdigit((unsigned char)*in->at))
        in->at++;
    else
        while (in->at < in->end && is_name(*in->at))
            in->at++;
    const size_t width = (size_t)(in->at - first);
    if (width == 0)
        return shell_append_split(in, "$", true, word, list, err);
    const shell_list *const found = shell_value_of(in, first, width, &argument);
    if (found != NULL)
        return shell_append_whole(in,
                                  &(shell_braces){.from = from,
                                                  .name = first,
                                                  .rest = "",
                                                  .name_length = width,
                                                  .quoted = quoted,
                                                  .value = found},
                                  word, list, err);
    return shell_append_unknown(
        in, word, from, !shell_is_moved(in, first) && !shell_may_be_set(in, first, width), err);
}

static plait_status append_expansion(shell_reader *in, bool quoted, shell_word *word,
                                     shell_list *list, plait_error *err)
{
    const char *const from = in->at - 1;

    PLAIT_TRY(shell_spend(in, 4, err));
    if (in->at == in->end)
        return shell_append_split(in, "$", true, word, list, err);
    if (strchr("@*#?$!-0", *in->at) != NULL && *in->at != '\0')
        return append_named(in, *in->at++, quoted, word, list, from, err);
    if (*in->at == '{') {
        in->at++;
        return append_braced(in, quoted, word, list, from, err);
    }
    if (in->end - in->at >= 2 && in->at[0] == '(' && in->at[1] == '(') {
        in->at += 2;
        return append_sum(in, '(', word, from, err);
    }
    if (*in->at == '[') {
        in->at++;
        return append_sum(in, '[', word, from, err);
    }
    if (*in->at == '(') {
        in->at++;
        return append_command(in, word, from, err);
    }
    return append_variable(in, quoted, word, list, from, err);
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
            put_quoted(in, word, *in->at++);
        } else {
            put_quoted(in, word, c);
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
        put_quoted(in, word, *in->at++);
    }
    if (in->at == in->end)
        return shell_fail(in, "a ' that is not closed", err);
    in->at++;
    return PLAIT_OK;
}

static plait_status append_ansi_quoted(shell_reader *in, shell_word *word, plait_error *err)
{
    bool closed;
    const char *const text = shell_read_ansi(in, &closed);

    if (text == NULL)
        return plait_fail_nomem(err);
    if (!closed)
        return shell_fail(in, "a $' that is not closed", err);
    word->begun = true;
    for (const char *c = text; *c != '\0'; c++)
        put_quoted(in, word, *c);
    return PLAIT_OK;
}

plait_status shell_expand(shell_reader *in, const char *text, size_t length, const char **out,
                          plait_error *err)
{
    const char *const at = in->at, *const end = in->end;
    const int line = in->line;
    const bool pattern = in->pattern;
    shell_word word = {.begun = false};
    shell_list list = {0};
    text_builder joined;

    if (in->nesting == SHELL_MAX_NESTING)
        return shell_fail(in, "expansions in expansions, too many", err);
    in->nesting++;
    text_builder_init(&word.text, in->arena);
    text_builder_init(&joined, in->arena);
    in->at = text;
    in->end = text + length;
    in->pattern = false;
    const plait_status status = append_double_quoted(in, '\0', &word, &list, err);
    in->pattern = pattern;
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
    if (c == '$' && in->at < in->end && *in->at == '"') // as a locale would have it translated
        return PLAIT_OK;
    if (c == '$')
        return append_expansion(in, false, word, list, err);
    if (c == '`')
        return append_command(in, word, in->at - 1, err);
    if (c == '\\' && in->at < in->end) {
        c = *in->at++;
        in->line += c == '\n';
        if (c != '\n')
            put_quoted(in, word, c);
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
