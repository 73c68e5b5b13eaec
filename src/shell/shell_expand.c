/* shell_expand.c - parameter expansion, quotes and word splitting */
#include <ctype.h>
#include <string.h>

#include "shell/shell_state.h"

/* State of the expansion of a word. `begun` distinguishes an empty word in quotes from no word. */
typedef struct shell_expander {
    shell_state *in;
    const char *at, *end;
    shell_expansion how;
    text_builder text;
    bool begun;
    shell_list *list; /* complete words */
} shell_expander;

static void finish_word(shell_expander *x)
{
    if (!x->begun)
        return;
    shell_list_add(x->in, x->list, shell_finish(x->in->c, &x->text));
    text_builder_init(&x->text, x->in->c->arena);
    x->begun = false;
}

static void append_quoted(shell_expander *x, char c)
{
    if (x->how == SHELL_PATTERN && strchr("*?[]\\!^-", c) != NULL)
        text_append_char(&x->text, '\\');
    text_append_char(&x->text, c);
    x->begun = true;
}

static void append_unknown(shell_expander *x, const char *from, bool unset)
{
    text_append(&x->text, shell_unknown(x->in, (shell_text){from, (size_t)(x->at - from)}, unset));
    x->begun = true;
}

static void append_number(shell_expander *x, int64_t number)
{
    text_append_printf(&x->text, "%lld", (long long)number);
    x->begun = true;
}

/* ---- values ---- */

/* Returns whether the script sets IFS, so that the splitting and joining of values is unknown. */
static bool sets_ifs(const shell_state *in)
{
    return shell_find(in, shell_text_of("IFS")) != NULL;
}

static void append_text(shell_expander *x, const char *text, bool quoted)
{
    const bool split = !quoted && x->how == SHELL_SPLIT;

    shell_spend(x->in->c, strlen(text));
    if (split && *text != '\0' && sets_ifs(x->in)) {
        append_unknown(x, x->at, false);
        return;
    }
    for (; *text != '\0'; text++) {
        if (split && isspace((unsigned char)*text)) {
            finish_word(x);
        } else if (quoted) {
            append_quoted(x, *text);
        } else {
            text_append_char(&x->text, *text);
            x->begun = true;
        }
    }
}

/*
 * Appends each value of $A, ${A[@]} or $@ as a word. If `joined` ("$*", "${A[*]}"), appends all
 * values as one word.
 */
static void append_list(shell_expander *x, const shell_list *value, bool quoted, bool joined)
{
    const bool one = (quoted && joined) || x->how != SHELL_SPLIT;

    if (one && value->count > 1 && sets_ifs(x->in)) {
        append_unknown(x, x->at, false);
        return;
    }
    x->begun = x->begun || (quoted && joined);
    for (int i = 0; i < value->count; i++) {
        if (i > 0 && one)
            append_quoted(x, ' ');
        else if (i > 0)
            finish_word(x);
        x->begun = x->begun || quoted;
        append_text(x, value->word[i], quoted);
    }
}

/* ---- parameters ---- */

/* A parameter in $NAME or ${NAME...}, and its value. */
typedef struct shell_parameter {
    const char *from; /* position of the $ */
    shell_text name;
    shell_text rest; /* text after the name inside the braces */
    bool quoted;
    const shell_list *value; /* value; NULL: the parameter is not set */
    bool array;
    bool may_be_set;     /* whether only the environment can set the parameter */
    shell_list argument; /* storage of `value` if the name is a number */
} shell_parameter;

static void find_parameter(const shell_state *in, shell_parameter *p)
{
    const shell_variable *const variable = shell_find(in, p->name);
    int number = 0;

    if (!isdigit((unsigned char)*p->name.at)) {
        p->value = variable != NULL ? &variable->value : NULL;
        p->array = variable != NULL && variable->array;
        p->may_be_set = shell_may_be_set(in, p->name);
        return;
    }
    for (size_t c = 0; c < p->name.length && p->name.length < 4; c++)
        number = 10 * number + (p->name.at[c] - '0');
    p->may_be_set = in->argument_unknown || number == 0;
    if (p->may_be_set || number > in->argument.count)
        return;
    p->argument = (shell_list){in->argument.word + number - 1, 1, 1};
    p->value = &p->argument;
}

static void append_parameter(shell_expander *x, shell_parameter p)
{
    const shell_text rest = p.rest;
    const size_t sign_at = rest.length >= 2 && rest.at[0] == ':';
    const bool all = rest.length == 3 && rest.at[0] == '[' && strchr("@*", rest.at[1]) != NULL;

    find_parameter(x->in, &p);
    if (rest.length > 0 && strchr("-=+?", rest.at[sign_at]) != NULL) {
        // Expand ${NAME:-TEXT}, ${NAME:=TEXT}, ${NAME:?TEXT} or ${NAME:+TEXT}. `sign_at` is 1 with
        // the colon, else 0.
        const char sign = p.rest.at[sign_at];
        const shell_list *const value = p.value;
        const bool colon = sign_at == 1 && value != NULL && value->count <= 1;
        const char *const text = colon && value->count == 1 ? value->word[0] : "";
        const bool missing = value == NULL || (colon && *text == '\0');
        bool quoted = p.quoted;
        if (value == NULL && (p.may_be_set || sign == '+')) { // the environment can set it
            append_unknown(x, p.from, !p.may_be_set);
        } else if (sign == '+' && colon && shell_word_open(text)) { // the value can be empty
            append_unknown(x, p.from, false);
        } else if (missing && sign == '?') {
            append_unknown(x, p.from, true);
        } else if (missing == (sign != '+')) {
            shell_text inner = {p.rest.at + sign_at + 1, p.rest.length - sign_at - 1};

            if (inner.length >= 2 && (*inner.at == '"' || *inner.at == '\'') &&
                inner.at[inner.length - 1] == *inner.at) {
                inner = (shell_text){inner.at + 1, inner.length - 2};
                quoted = true;
            }
            const char *const other = shell_expand_text(x->in, inner);
            if (sign == '=' && !isdigit((unsigned char)*p.name.at))
                shell_assign_word(x->in, shell_copy(x->in->c, p.name), false, other);
            x->begun = x->begun || quoted;
            append_text(x, other, quoted);
        } else {
            x->begun = x->begun || p.quoted;
            if (sign != '+')
                append_list(x, value, p.quoted, false);
        }
    } else if (p.value == NULL || (rest.length > 0 && !all)) {
        append_unknown(x, p.from, p.value == NULL && !p.may_be_set);
    } else {
        shell_list value = *p.value;

        if (p.array && !all) // $A is the first element
            value.count = value.count > 0;
        append_list(x, &value, p.quoted, all && rest.at[1] == '*');
    }
}

/* Appends the value of a parameter of one character, such as $@ $* $# $?. */
static void append_special(shell_expander *x, char c, bool quoted, const char *from)
{
    const shell_state *const in = x->in;

    if (c == '?' && in->status == SHELL_TRUE)
        append_number(x, 0);
    else if (strchr("?$!-0", c) != NULL || in->argument_unknown)
        append_unknown(x, from, false);
    else if (c == '#')
        append_number(x, in->argument.count);
    else
        append_list(x, &in->argument, quoted, c == '*');
}

/* ---- expansions ---- */

static const char *skip_name(const char *at, const char *end)
{
    while (at < end && shell_is_name(*at))
        at++;
    return at;
}

static void append_braced(shell_expander *x, bool quoted, const char *from)
{
    const char *const first = x->at, *const rest = skip_name(first, x->end);

    x->at = shell_skip_close(rest, x->end, '{', '}');
    if (x->at == first + 2 && strchr("@*#?", *first) != NULL)
        append_special(x, *first, quoted, from);
    else if (rest == first || x->at == rest || x->at[-1] != '}')
        append_unknown(x, from, false);
    else
        append_parameter(x, (shell_parameter){.from = from,
                                              .name = {first, (size_t)(rest - first)},
                                              .rest = {rest, (size_t)(x->at - rest) - 1},
                                              .quoted = quoted});
}

static void append_arith(shell_expander *x, const char *from)
{
    const char *const first = x->at;
    int64_t number;

    x->at = shell_skip_close(first, x->end, '(', ')');
    const size_t length = x->at > first ? (size_t)(x->at - first) - 1 : 0;
    x->at += x->at < x->end && *x->at == ')';
    if (shell_expand_arith(x->in, (shell_text){first, length}, &number))
        append_number(x, number);
    else
        append_unknown(x, from, false);
}

/* Appends an unknown value for $(COMMAND) or `COMMAND`, which ends at `end`. */
static void append_command(shell_expander *x, const char *from, const char *end)
{
    x->at = end;
    x->in->substitutions++;
    append_unknown(x, from, false);
}

/* Expands the text after a $. If no expansion follows, the $ is literal. */
static void append_expansion(shell_expander *x, bool quoted)
{
    const char *const from = x->at - 1, *const first = x->at;
    const char c = x->at < x->end ? *x->at : '\0';

    shell_spend(x->in->c, 4);
    x->at += c != '\0';
    if (shell_begins(first, x->end, "((")) {
        x->at++;
        append_arith(x, from);
    } else if (c == '{') {
        append_braced(x, quoted, from);
    } else if (c == '(' || c == '[') { // $[...] is an old form of $((...))
        append_command(x, from, shell_skip_close(x->at, x->end, c, c == '(' ? ')' : ']'));
    } else if (c != '\0' && strchr("@*#?$!-0", c) != NULL) {
        append_special(x, c, quoted, from);
    } else if (shell_is_name(c)) {
        if (!isdigit((unsigned char)c))
            x->at = skip_name(first, x->end);
        append_parameter(x, (shell_parameter){.from = from,
                                              .name = {first, (size_t)(x->at - first)},
                                              .rest = {"", 0},
                                              .quoted = quoted});
    } else {
        x->at = first;
        append_quoted(x, '$');
    }
}

/* ---- quotes ---- */

/* Expands the inside of "..." and skips the closing quote. If `open`, expands up to the end. */
static void append_double_quoted(shell_expander *x, bool open)
{
    x->begun = x->begun || !shell_begins(x->at, x->end, "${"); // "${A[@]}" can expand to no word
    while (x->at < x->end && (open || *x->at != '"')) {
        const char c = *x->at++, next = x->at < x->end ? *x->at : '\0';

        if (c == '$')
            append_expansion(x, true);
        else if (c == '`')
            append_command(x, x->at - 1, shell_skip_backtick(x->at, x->end));
        else if (c == '\\' && next == '\n')
            x->at++;
        else if (c == '\\' && next != '\0' && strchr("$`\"\\", next) != NULL)
            append_quoted(x, *x->at++);
        else
            append_quoted(x, c);
    }
    x->at += !open && x->at < x->end;
}

/*
 * Appends the text after ' or $'. A value with escapes of $'...' is unknown (they are not decoded).
 */
static void append_single_quoted(shell_expander *x, bool ansi)
{
    const char *const from = x->at;

    x->begun = true;
    for (; x->at < x->end && *x->at != '\''; x->at++)
        if (ansi && *x->at == '\\' && x->end - x->at >= 2) {
            x->at++;
            append_unknown(x, from, false);
        } else {
            append_quoted(x, *x->at);
        }
    x->at += x->at < x->end;
}

/* ---- words ---- */

static shell_expander expander_of(shell_state *in, shell_text word, shell_expansion how,
                                  shell_list *list)
{
    shell_expander x = {
        .in = in, .at = word.at, .end = word.at + word.length, .how = how, .list = list};

    text_builder_init(&x.text, in->c->arena);
    return x;
}

void shell_expand_word(shell_state *in, shell_text word, shell_expansion how, shell_list *list)
{
    shell_expander x = expander_of(in, word, how, list);

    while (x.at < x.end) {
        const char c = *x.at++;

        // `c` is a character outside quotes, before the cursor.
        const char next = x.at < x.end ? *x.at : '\0';
        switch (c) {
        case '\'':
            append_single_quoted(&x, false);
            break;
        case '"':
            append_double_quoted(&x, false);
            break;
        case '`':
            append_command(&x, x.at - 1, shell_skip_backtick(x.at, x.end));
            break;
        case '$':
            x.at += next == '\'';
            if (next == '\'')
                append_single_quoted(&x, true);
            else if (next != '"')
                append_expansion(&x, false);
            break;
        case '\\':
            if (next != '\0' && next != '\n')
                append_quoted(&x, next);
            x.at += next != '\0';
            break;
        default:
            text_append_char(&x.text, c);
            x.begun = true;
        }
    }
    finish_word(&x);
}

const char *shell_expand_whole(shell_state *in, shell_text word, shell_expansion how)
{
    shell_list list = {0};

    shell_expand_word(in, word, how, &list);
    return list.count > 0 ? list.word[0] : "";
}

const char *shell_expand_text(shell_state *in, shell_text text)
{
    shell_expander x = expander_of(in, text, SHELL_WHOLE, NULL);

    if (in->nesting == 2 * SHELL_MAX_NESTING) // twice, since expansions nest inside calls
        shell_fail(in->c, "expansions nested too deeply");
    in->nesting++;
    append_double_quoted(&x, true);
    in->nesting--;
    return shell_finish(in->c, &x.text);
}

/* ---- arithmetic ---- */

/*
 * Returns whether an expression assigns to a name: ++, --, = or an operator with = follows the
 * name, or ++ or -- precedes it.
 */
static bool is_assigned(const char *first, const char *name, const char *at, const char *end)
{
    static const char *const signs[] = {
        "++", "--", "<<=", ">>=", "+=", "-=", "*=", "/=", "%=", "&=", "^=", "|=", NULL};
    const char *next = shell_skip_lines(at, end);

    while (name > first && isspace((unsigned char)name[-1]))
        name--;
    if (name - first >= 2 && name[-1] == name[-2] && (name[-1] == '+' || name[-1] == '-'))
        return true;
    if (shell_begins(next, end, "[")) // NAME[INDEX]
        next = shell_skip_lines(shell_skip_close(next + 1, end, '[', ']'), end);
    for (const char *const *sign = signs; *sign != NULL; sign++)
        if (shell_begins(next, end, *sign))
            return true;
    return shell_begins(next, end, "=") && !shell_begins(next, end, "==");
}

bool shell_expand_arith(shell_state *in, shell_text text, int64_t *out)
{
    const char *const end = text.at + text.length;
    bool known = shell_arith(in, shell_expand_text(in, text), out);

    for (const char *at = text.at, *next; at<end; at = next> at ? next : at + 1) {
        next = skip_name(at, end);
        if (next == at || isdigit((unsigned char)*at) || !is_assigned(text.at, at, next, end))
            continue;
        known = false;
        shell_set_unknown(in, shell_copy(in->c, (shell_text){at, (size_t)(next - at)}), text);
    }
    return known;
}
