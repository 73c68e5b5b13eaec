/* shell_parse.c - parses the commands of a shell script, by recursive descent */
#include "shell/shell_parse.h"

#include <ctype.h>
#include <string.h>

enum { MAX_HERES = 4, MAX_BLOCKS = 64, NODE_COST = 32, WORD_COST = 8 };

/* ---- where words and brackets end ---- */

bool shell_is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

bool shell_at_operator(const char *at)
{
    return *at != '\0' && strchr(";&|()<>", *at) != NULL;
}

bool shell_begins(const char *at, const char *end, const char *with)
{
    const size_t length = strlen(with);

    return (size_t)(end - at) >= length && memcmp(at, with, length) == 0;
}

const char *shell_skip_close(const char *at, const char *end, char open, char close)
{
    for (int depth = 1; at < end && depth > 0; at++) {
        depth += *at == open;
        depth -= *at == close;
    }
    return at;
}

/*
 * Returns the position after an expansion whose $ is before `at`; for a plain name, returns `at`.
 */
static const char *skip_expansion(const char *at, const char *end)
{
    static const char pairs[] = "{}()[]";
    const char *const open = at < end ? strchr(pairs, *at) : NULL;

    return open != NULL && (open - pairs) % 2 == 0 ? shell_skip_close(at + 1, end, open[0], open[1])
                                                   : at;
}

/*
 * Returns the position after the next `close`. If `escapes`, a \ makes the next character literal.
 */
static const char *skip_quoted(const char *at, const char *end, char close, bool escapes,
                               const char **open)
{
    while (at < end && *at != close) {
        const char c = *at++;

        if (c == '\\' && escapes && at < end)
            at++;
        else if (c == '$' && close == '"')
            at = skip_expansion(at, end);
        else if (c == '`' && close == '"')
            at = shell_skip_backtick(at, end);
    }
    if (at == end)
        *open = close == '"' ? "a \" that is not closed"
                : escapes    ? "a $' that is not closed"
                             : "a ' that is not closed";
    return at < end ? at + 1 : at;
}

const char *shell_skip_backtick(const char *at, const char *end)
{
    const char *ignored;

    return skip_quoted(at, end, '`', true, &ignored);
}

const char *shell_skip_word(const char *at, const char *end, const char **open)
{
    while (at < end && !isspace((unsigned char)*at) && !shell_at_operator(at)) {
        const char c = *at++;

        if (c == '\'' || c == '"')
            at = skip_quoted(at, end, c, c == '"', open);
        else if (c == '\\' && at < end)
            at++;
        else if (c == '`')
            at = shell_skip_backtick(at, end);
        else if (c == '$' && at < end && *at == '\'')
            at = skip_quoted(at + 1, end, '\'', true, open);
        else if (c == '$')
            at = skip_expansion(at, end);
    }
    return at;
}

const char *shell_skip_blanks(const char *at, const char *end)
{
    for (;;) {
        if (at < end && *at != '\n' && isspace((unsigned char)*at))
            at++;
        else if (shell_begins(at, end, "\\\n"))
            at += 2;
        else
            return at;
    }
}

const char *shell_skip_lines(const char *at, const char *end)
{
    while ((at = shell_skip_blanks(at, end)) < end && (*at == '\n' || *at == '#')) {
        const char *const newline = memchr(at, '\n', (size_t)(end - at));

        at = newline != NULL ? newline + 1 : end;
    }
    return at;
}

size_t shell_assignment_length(shell_text text)
{
    const char *at = text.at, *const end = at + text.length;

    while (at < end && shell_is_name(*at))
        at++;
    const size_t length = (size_t)(at - text.at);
    if (length == 0 || isdigit((unsigned char)*text.at))
        return 0;
    if (at < end && *at == '[') {
        while (at < end && strchr("] \n", *at) == NULL)
            at++;
        at += at < end && *at == ']';
    }
    at += at < end && *at == '+';
    return at < end && *at == '=' ? length : 0;
}

static bool is_any(shell_text word, const char *const *list)
{
    for (; *list != NULL; list++)
        if (strlen(*list) == word.length && memcmp(*list, word.at, word.length) == 0)
            return true;
    return false;
}

bool shell_is_declaration(shell_text word)
{
    static const char *const words[] = {"export", "declare", "local", "readonly", "typeset", NULL};

    return is_any(word, words);
}

/* ---- the parser ---- */

typedef struct shell_parser {
    shell_context *c;
    const char *at;
    const char *end;
    const char *counted;         /* end of the text whose line breaks are counted in c->line */
    int blocks;                  /* number of blocks around the cursor */
    shell_node *here[MAX_HERES]; /* commands whose here-documents begin after the current line */
    shell_text delimiter[MAX_HERES];
    int heres;
} shell_parser;

static const char *const no_keyword[] = {NULL};

static shell_node *parse_command(shell_parser *p);
static shell_node *parse_chain(shell_parser *p);
static void parse_kind(shell_parser *p, shell_node *node);

static void count_lines(shell_parser *p)
{
    for (; p->counted < p->at; p->counted++)
        p->c->line += *p->counted == '\n';
}

static void fail_at_cursor(shell_parser *p, const char *found)
{
    count_lines(p);
    shell_fail(p->c, found);
}

static shell_node *new_node(shell_parser *p, shell_node_kind kind, const char *from)
{
    shell_node *const node = shell_alloc(p->c, 1, sizeof *node);

    count_lines(p);
    shell_spend(p->c, NODE_COST);
    *node = (shell_node){.kind = kind, .line = p->c->line, .text = {from, 0}};
    return node;
}

static void add_word(shell_parser *p, shell_node *node, const char *from)
{
    shell_spend(p->c, WORD_COST);
    node->word =
        shell_grow(p->c, node->word, node->words, &node->word_capacity, sizeof *node->word);
    node->word[node->words++] = (shell_text){from, (size_t)(p->at - from)};
}

static void take_word(shell_parser *p, shell_node *node)
{
    const char *const from = p->at, *open = NULL;

    p->at = shell_skip_word(from, p->end, &open);
    if (open != NULL)
        fail_at_cursor(p, open);
    add_word(p, node, from);
}

static bool cursor_has(const shell_parser *p, const char *with)
{
    return shell_begins(p->at, p->end, with);
}

/* Skips a text if it is at the cursor. Returns whether the text was there. */
static bool accept(shell_parser *p, const char *text)
{
    const bool found = cursor_has(p, text);

    p->at += found ? strlen(text) : 0;
    return found;
}

static void skip_blanks(shell_parser *p)
{
    p->at = shell_skip_blanks(p->at, p->end);
}

/* ---- lines, redirections ---- */

/* Returns whether a line is the delimiter of a here-document, without the delimiter's quotes. */
static bool is_delimiter(shell_text delimiter, const char *line, const char *last)
{
    for (size_t i = 0; i < delimiter.length; i++)
        if (strchr("'\"\\", delimiter.at[i]) == NULL &&
            (line == last || *line++ != delimiter.at[i]))
            return false;
    return line == last;
}

/* Skips blanks, comments and line breaks, and reads the here-documents after a line break. */
static void skip_lines(shell_parser *p)
{
    for (;;) {
        skip_blanks(p);
        if (cursor_has(p, "#")) {
            while (p->at < p->end && *p->at != '\n')
                p->at++;
        } else if (accept(p, "\n")) {
            for (int h = 0; h < p->heres; h++) {
                // Skip tabs before the delimiter, as in <<-. Tabs in the text stay.
                const char *const from = p->at, *last = from;
                for (bool ended = false; p->at < p->end && !ended;) {
                    const char *const newline = memchr(p->at, '\n', (size_t)(p->end - p->at));
                    const char *line = p->at;

                    while (line < p->end && *line == '\t')
                        line++;
                    ended = is_delimiter(p->delimiter[h], line, newline != NULL ? newline : p->end);
                    last = ended ? p->at : p->end;
                    p->at = newline != NULL ? newline + 1 : p->end;
                }
                p->here[h]->here = (shell_text){from, (size_t)(last - from)};
            }
            p->heres = 0;
        } else {
            return;
        }
    }
}

/*
 * Returns whether a redirection such as 2>&1 or &> is at the cursor. The 2 of a redirection is not
 * a word, and its & does not end a command.
 */
static bool at_redirection(const shell_parser *p)
{
    const char *at = p->at;

    at += at < p->end && (isdigit((unsigned char)*at) || cursor_has(p, "&>"));
    return at < p->end && (*at == '<' || *at == '>');
}

static void take_redirection(shell_parser *p, shell_node *node)
{
    const bool errors = *p->at == '2';
    shell_node words = {.kind = SHELL_SIMPLE};
    int signs = 0;

    p->at += *p->at != '<' && *p->at != '>';
    const bool writes = *p->at == '>';
    for (; p->at < p->end && (*p->at == '<' || *p->at == '>') && signs < 3; p->at++)
        signs++;
    if (signs == 1 && accept(p, "(")) { // <(COMMAND)
        p->at = shell_skip_close(p->at, p->end, '(', ')');
        return;
    }
    const bool here = !writes && signs == 2;
    if (here ? !accept(p, "-") : !accept(p, "&"))
        (void)accept(p, "|");
    skip_blanks(p);
    take_word(p, &words);
    if (here && words.word->length > 0 && p->heres < MAX_HERES) {
        node->has_here = true;
        node->here = (shell_text){"", 0}; // stays empty if the script ends in this line
        node->here_quoted = strchr("'\"\\", *words.word->at) != NULL;
        p->here[p->heres] = node;
        p->delimiter[p->heres++] = *words.word;
    } else if (writes && !errors && signs == 1) {
        node->target = *words.word;
    }
}

/* ---- lists ---- */

/* Returns the word at the cursor without regard to quotes, to compare it with keywords. */
static shell_text plain_word(const shell_parser *p)
{
    const char *at = p->at;

    while (at < p->end && !isspace((unsigned char)*at) && !shell_at_operator(at))
        at++;
    return (shell_text){p->at, (size_t)(at - p->at)};
}

/* Skips a keyword if it is at the cursor. Returns whether the keyword was there. */
static bool takes_keyword(shell_parser *p, const char *keyword)
{
    return plain_word(p).length == strlen(keyword) && accept(p, keyword);
}

/*
 * Parses commands up to one of the keywords `stops`. If `close` is ) or ;, the list also ends at
 * the ) of a subshell or the ;; of a branch. The cursor stays before the end of the list.
 */
static shell_node *parse_list(shell_parser *p, const char *const *stops, char close)
{
    static const char *const closers[] = {"then", "elif", "else", "fi", "do",
                                          "done", "esac", "}",    NULL};
    shell_node *first = NULL, **last = &first;

    for (;;) {
        skip_lines(p);
        const shell_text word = plain_word(p);
        if (p->at == p->end || is_any(word, stops) || (close == ')' && *p->at == ')') ||
            (close == ';' && (cursor_has(p, ";;") || cursor_has(p, ";&"))))
            return first;
        if (strchr(";&|)", *p->at) != NULL && !at_redirection(p)) {
            p->at++;
        } else if (is_any(word, closers)) {
            p->at += word.length;
        } else {
            *last = parse_chain(p);
            last = &(*last)->next;
        }
    }
}

static shell_node *parse_until(shell_parser *p, const char *keyword)
{
    shell_node *const first = parse_list(p, (const char *[]){keyword, NULL}, '\0');

    (void)takes_keyword(p, keyword);
    return first;
}

/* ---- simple commands ---- */

static void parse_function(shell_parser *p, shell_node *node)
{
    node->kind = SHELL_FUNCTION;
    skip_lines(p);
    if (takes_keyword(p, "{"))
        node->body = parse_until(p, "}");
    else if (cursor_has(p, "("))
        node->body = parse_command(p);
}

static void parse_simple(shell_parser *p, shell_node *node)
{
    for (skip_blanks(p); p->at < p->end && *p->at != '#' && *p->at != '\n'; skip_blanks(p)) {
        const shell_text rest = {p->at, (size_t)(p->end - p->at)};

        if (at_redirection(p))
            take_redirection(p, node);
        else if (shell_at_operator(p->at))
            break;
        else if ((node->words == node->assignments ||
                  shell_is_declaration(node->word[node->assignments])) &&
                 shell_assignment_length(rest) > 0) {
            const char *const from = p->at, *open = NULL;
            node->assignments += node->words == node->assignments;
            p->at = memchr(from, '=', (size_t)(p->end - from));
            p->at++;
            if (accept(p, "(")) {
                while ((p->at = shell_skip_lines(p->at, p->end)) < p->end && *p->at != ')' &&
                       open == NULL)
                    p->at = shell_at_operator(p->at) ? p->at + 1
                                                     : shell_skip_word(p->at, p->end, &open);
                if (!accept(p, ")") && open == NULL)
                    open = "a ( that is not closed";
            } else {
                p->at = shell_skip_word(p->at, p->end, &open);
            }
            if (open != NULL)
                fail_at_cursor(p, open);
            add_word(p, node, from);
        } else
            take_word(p, node);
    }
    if (node->words == 1 && node->assignments == 0 && accept(p, "()"))
        parse_function(p, node);
}

/* ---- compound commands ---- */

static void parse_condition(shell_parser *p, shell_node *node)
{
    for (p->at += 2;;) {
        const char *const from = p->at = shell_skip_lines(p->at, p->end);

        if (p->at == p->end)
            fail_at_cursor(p, "a [[ that is not closed");
        if (takes_keyword(p, "]]"))
            return;
        if (!shell_at_operator(p->at)) {
            take_word(p, node);
            continue;
        }
        p->at += cursor_has(p, "&&") || cursor_has(p, "||") ? 2 : 1;
        add_word(p, node, from);
    }
}

static void take_arithmetic(shell_parser *p, shell_node *node)
{
    const char *const from = p->at + 2, *const close = shell_skip_close(from, p->end, '(', ')');

    p->at = close > from && close[-1] == ')' ? close - 1 : close;
    add_word(p, node, from);
    p->at = close;
    (void)accept(p, ")");
}

static void parse_if(shell_parser *p, shell_node *node)
{
    static const char *const then[] = {"then", "elif", "else", "fi", NULL};
    static const char *const branch[] = {"elif", "else", "fi", NULL};

    node->test = parse_list(p, then, '\0');
    (void)takes_keyword(p, "then");
    node->body = parse_list(p, branch, '\0');
    if (takes_keyword(p, "else")) {
        node->otherwise = parse_until(p, "fi");
    } else if (plain_word(p).length == 4 && cursor_has(p, "elif")) {
        node->otherwise = new_node(p, SHELL_IF, p->at);
        parse_kind(p, node->otherwise);
    } else {
        (void)takes_keyword(p, "fi");
    }
}

static void parse_loop(shell_parser *p, shell_node *node)
{
    static const char *const body[] = {"do", "done", NULL};

    skip_blanks(p);
    node->counts = node->kind == SHELL_FOR && cursor_has(p, "((");
    if (node->counts)
        take_arithmetic(p, node);
    else if (node->kind != SHELL_FOR)
        node->text.at = p->at;
    for (; node->kind == SHELL_FOR && p->at < p->end && strchr(";\n&|#)", *p->at) == NULL;
         skip_blanks(p))
        if (shell_at_operator(p->at))
            p->at++;
        else
            take_word(p, node);
    node->test = parse_list(p, body, '\0');
    node->text.length = (size_t)(p->at - node->text.at);
    (void)takes_keyword(p, "do");
    node->body = parse_until(p, "done");
}

static void parse_case(shell_parser *p, shell_node *node)
{
    static const char *const esac[] = {"esac", NULL};
    bool falls = false;

    skip_blanks(p);
    take_word(p, node);
    skip_lines(p);
    (void)takes_keyword(p, "in");
    skip_lines(p);
    for (shell_node **next = &node->body; p->at < p->end && !takes_keyword(p, "esac");) {
        shell_node *const branch = *next = new_node(p, SHELL_BRANCH, p->at);

        next = &branch->next;
        // Parse the patterns of a branch, such as `A | B)`; a leading `(` is optional.
        (void)accept(p, "(");
        for (skip_blanks(p); p->at < p->end && *p->at != '\n' && !accept(p, ")"); skip_blanks(p))
            if (accept(p, "(")) {
                p->at = shell_skip_close(p->at, p->end, '(', ')');
                branch->undecided = true;
            } else if (shell_at_operator(p->at)) {
                p->at++;
            } else {
                take_word(p, branch);
            }
        branch->body = parse_list(p, esac, ';');
        if (!accept(p, ";;"))
            (void)accept(p, ";");
        falls = accept(p, "&") || falls;
        branch->undecided = branch->undecided || falls;
        skip_lines(p);
    }
}

static void parse_group(shell_parser *p, shell_node *node)
{
    node->body = parse_until(p, "}");
}

static void parse_named_function(shell_parser *p, shell_node *node)
{
    skip_blanks(p);
    take_word(p, node);
    skip_blanks(p);
    (void)accept(p, "()");
    parse_function(p, node);
}

/* Determines the kind of the command at the cursor by its keyword, and parses it. */
static void parse_kind(shell_parser *p, shell_node *node)
{
    static const struct {
        const char *keyword;
        shell_node_kind kind;
        void (*parse)(shell_parser *p, shell_node *node);
    } kinds[] = {{"if", SHELL_IF, parse_if},
                 {"for", SHELL_FOR, parse_loop},
                 {"select", SHELL_FOR, parse_loop},
                 {"while", SHELL_WHILE, parse_loop},
                 {"until", SHELL_UNTIL, parse_loop},
                 {"case", SHELL_CASE, parse_case},
                 {"elif", SHELL_IF, parse_if},
                 {"{", SHELL_GROUP, parse_group},
                 {"function", SHELL_FUNCTION, parse_named_function}};
    size_t k = 0;

    if (++p->blocks > MAX_BLOCKS + 1)
        fail_at_cursor(p, "more than 64 nested blocks");
    while (k < sizeof kinds / sizeof *kinds && !takes_keyword(p, kinds[k].keyword))
        k++;
    if (k < sizeof kinds / sizeof *kinds) {
        node->kind = kinds[k].kind;
        kinds[k].parse(p, node);
    } else if (cursor_has(p, "[[") && p->end - p->at >= 3 && isspace((unsigned char)p->at[2])) {
        node->kind = SHELL_CONDITION;
        parse_condition(p, node);
    } else if (cursor_has(p, "((")) {
        node->kind = SHELL_ARITHMETIC;
        take_arithmetic(p, node);
    } else if (cursor_has(p, "(")) {
        node->kind = SHELL_SUBSHELL;
        p->at++;
        node->apart = true;
        node->body = parse_list(p, no_keyword, ')');
        (void)accept(p, ")");
    } else {
        parse_simple(p, node);
    }
    p->blocks--;
}

static shell_node *parse_command(shell_parser *p)
{
    const char *const from = p->at;
    bool negated = false;

    while (cursor_has(p, "! ") || cursor_has(p, "!\t") || takes_keyword(p, "time")) {
        negated = accept(p, "!") || negated;
        skip_blanks(p);
    }
    shell_node *const node = new_node(p, SHELL_SIMPLE, from);
    node->negated = negated;
    node->select = cursor_has(p, "select");
    parse_kind(p, node);
    for (skip_blanks(p); node->kind != SHELL_SIMPLE && at_redirection(p); skip_blanks(p))
        take_redirection(p, node);
    if (node->text.length == 0)
        node->text.length = (size_t)(p->at - node->text.at);
    return node;
}

static shell_node *wrap_list(shell_parser *p, shell_node_kind kind, shell_node *first)
{
    shell_node *const node = new_node(p, kind, first->text.at);

    node->line = first->line;
    node->body = first;
    return node;
}

/* Parses commands joined by |. A single command is not wrapped in a node. */
static shell_node *parse_pipe(shell_parser *p)
{
    shell_node *const first = parse_command(p), *last = first;
    const bool negated = first->negated;

    while (cursor_has(p, "|") && !cursor_has(p, "||")) {
        p->at += cursor_has(p, "|&") ? 2 : 1;
        skip_lines(p);
        last->apart = true;
        last = last->next = parse_command(p);
    }
    if (last == first)
        return first;
    last->apart = true;
    first->negated = false;
    shell_node *const pipe = wrap_list(p, SHELL_PIPE, first);
    pipe->negated = negated;
    return pipe;
}

/* Parses pipes joined by && and ||. A single pipe is not wrapped in a node. */
static shell_node *parse_chain(shell_parser *p)
{
    shell_node *const first = parse_pipe(p), *last = first;

    while (cursor_has(p, "&&") || cursor_has(p, "||")) {
        const char sign = *p->at;

        p->at += 2;
        skip_lines(p);
        last = last->next = parse_pipe(p);
        last->sign = sign;
    }
    shell_node *const chain = last == first ? first : wrap_list(p, SHELL_CHAIN, first);
    chain->background = accept(p, "&");
    chain->apart = chain->apart || chain->background;
    return chain;
}

shell_node *shell_parse(shell_text text, shell_context *c)
{
    shell_parser p = {.c = c, .at = text.at, .end = text.at + text.length, .counted = text.at};

    return parse_list(&p, no_keyword, '\0');
}
