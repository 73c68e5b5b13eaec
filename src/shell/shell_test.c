/* shell_test.c - evaluates conditions, `[ A = B ]` and `[[ A == B* && -n C ]]`, and patterns */
#include <string.h>

#include "shell/shell_state.h"

typedef struct test_reader {
    shell_state *in;
    const char **at;
    const char **end;
    bool patterns; /* whether the condition is [[ ]], which has patterns */
} test_reader;

static shell_status status_of(bool holds)
{
    return holds ? SHELL_TRUE : SHELL_FALSE;
}

static shell_status negate_status(shell_status status)
{
    return status == SHELL_UNDECIDED ? status : status_of(status == SHELL_FALSE);
}

/* ---- primaries ---- */

/*
 * Returns whether a word is known. Records an unknown word as the cause of an undecided condition.
 */
static bool is_known(test_reader *t, const char *word)
{
    const int origin = shell_origin_index(t->in->out, word);

    t->in->cause = origin >= 0 ? origin : t->in->cause;
    return origin < 0;
}

/* Returns whether a word is empty. Variables that the script does not set count as empty. */
static shell_status is_empty(test_reader *t, const char *word)
{
    bool unset = true;

    for (const char *at = word; *at != '\0'; at++) {
        if (*at != SHELL_UNKNOWN)
            return SHELL_FALSE;
        unset = unset && t->in->out->origin[shell_origin_index(t->in->out, at)].unset;
        at += strcspn(at, (char[]){SHELL_UNKNOWN_END, '\0'});
    }
    return unset || is_known(t, word) ? SHELL_TRUE : SHELL_UNDECIDED;
}

/* Reads a decimal integer. Octal integers (a leading zero in [[ ]]) are not evaluated. */
static bool is_integer(const test_reader *t, const char *word, int64_t *out)
{
    return !(t->patterns && word[0] == '0' && word[1] != '\0') &&
           text_parse_int64(word, INT64_MIN, INT64_MAX, out);
}

bool shell_compares(const char *word)
{
    static const char *const operators[] = {"=", "==", "!=", NULL};

    return text_index(word, operators) >= 0;
}

static bool is_operator(const char *word)
{
    static const char *const operators[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge", "=~", NULL};

    return shell_compares(word) || text_index(word, operators) >= 0;
}

/* Evaluates A = B, -z A or A. Tests of files and =~ are undecided. */
static shell_status primary_of(test_reader *t)
{
    const char *const word = *t->at++;
    const long left = t->end - t->at;

    if (left >= 2 && is_operator(t->at[0])) {
        t->at += 2;
        const char *const sign = t->at[-2];
        const char *const right = t->at[-1];
        static const char *const numeric[] = {"-eq", "-ne", "-lt", "-ge", "-gt", "-le", NULL};
        const int index = text_index(sign, numeric);
        shell_status holds;
        int64_t a, b;
        if (shell_compares(sign) && (word[0] == '\0' || right[0] == '\0')) { // -z
            holds = is_empty(t, word[0] != '\0' ? word : right);
        } else if (!is_known(t, word) || !is_known(t, right)) {
            return SHELL_UNDECIDED;
        } else if (shell_compares(sign)) {
            holds =
                t->patterns ? shell_match(t->in, right, word) : status_of(strcmp(word, right) == 0);
        } else {
            if (index < 0 || !is_integer(t, word, &a) || !is_integer(t, right, &b))
                return SHELL_UNDECIDED;
            holds = status_of(index < 2 ? a == b : index < 4 ? a < b : a > b);
            return index % 2 == 1 ? negate_status(holds) : holds;
        }
        return sign[0] == '!' ? negate_status(holds) : holds;
    }
    if (left >= 1 && word[0] == '-' && word[1] != '\0' && word[2] == '\0') {
        const char *const operand = *t->at++;

        return word[1] == 'z'   ? is_empty(t, operand)
               : word[1] == 'n' ? negate_status(is_empty(t, operand))
                                : SHELL_UNDECIDED;
    }
    return is_operator(word) ? SHELL_FALSE : negate_status(is_empty(t, word));
}

/* ---- expressions ---- */

static bool accept_operator(test_reader *t, const char *sign)
{
    const bool found = t->at < t->end && strcmp(*t->at, sign) == 0;

    t->at += found;
    return found;
}

static shell_status operand_of(test_reader *t)
{
    bool negate = false;

    while (t->end - t->at > 1 && accept_operator(t, "!"))
        negate = !negate;
    if (t->at == t->end)
        return SHELL_FALSE;
    const shell_status found = primary_of(t);
    return negate ? negate_status(found) : found;
}

static shell_status all_of(test_reader *t)
{
    shell_status found = operand_of(t);

    while (t->patterns && accept_operator(t, "&&")) {
        const shell_status next = operand_of(t);

        found = next == SHELL_FALSE || found == SHELL_TRUE ? next : found;
    }
    return found;
}

static shell_status any_of(test_reader *t)
{
    shell_status found = all_of(t);

    while (t->patterns && accept_operator(t, "||")) {
        const shell_status next = all_of(t);

        found = next == SHELL_TRUE || found == SHELL_FALSE ? next : found;
    }
    return found;
}

shell_status shell_test(shell_state *in, const shell_list *words, bool patterns)
{
    test_reader t = {in, words->word, words->word + words->count, patterns};

    in->cause = -1;
    const shell_status found = any_of(&t);
    return t.at == t.end ? found : SHELL_UNDECIDED;
}

/* ---- patterns ---- */

/*
 * Patterns that contain more than * and literal characters are undecided. A \ makes the next
 * character literal.
 */
shell_status shell_match(const shell_state *in, const char *pattern, const char *word)
{
    const char *star = NULL, *from = NULL;

    for (const char *at = pattern; *at != '\0'; at += *at == '\\' && at[1] != '\0' ? 2 : 1)
        if (in->patterns_unknown || strchr("?[", *at) != NULL)
            return SHELL_UNDECIDED;
    while (*word != '\0') {
        const bool literal = *pattern == '\\' && pattern[1] != '\0';

        if (*pattern == '*') {
            star = ++pattern;
            from = word;
        } else if (*word == pattern[literal]) {
            pattern += literal ? 2 : 1;
            word++;
        } else if (star != NULL) {
            pattern = star;
            word = ++from;
        } else {
            return SHELL_FALSE;
        }
    }
    return status_of(pattern[strspn(pattern, "*")] == '\0');
}
