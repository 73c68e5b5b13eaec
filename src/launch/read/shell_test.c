/* shell_test.c - conditions of a shell: `[ A = B ]`, `[[ A == B* && -n C ]]` */
#include <string.h>

#include "launch/read/shell_parts.h"

typedef struct test_reader {
    shell_reader *in;
    const char **at;
    const char **end;
    bool patterns;
    bool wrong; /* an integer is none: the answer is an error */
    int depth;
} test_reader;

static shell_answer either_of(test_reader *t);

static shell_answer answer(bool yes)
{
    return yes ? SHELL_YES : SHELL_NO;
}

static shell_answer negated(shell_answer a)
{
    return a == SHELL_YES ? SHELL_NO : a == SHELL_NO ? SHELL_YES : SHELL_OPEN;
}

/* A word that is not known leaves the answer open. */
static bool is_known(test_reader *t, const char *word)
{
    const int origin = shell_origin_index(t->in->out, word);

    if (origin >= 0)
        t->in->cause = origin;
    return origin < 0;
}

/* Does a word hold nothing but variables that are not set? */
static bool is_unset(const test_reader *t, const char *word)
{
    for (const char *at = word; *at != '\0'; at = strchr(at, SHELL_UNKNOWN_END) + 1) {
        if (*at != SHELL_UNKNOWN || strchr(at, SHELL_UNKNOWN_END) == NULL ||
            !t->in->out->origin[shell_origin_index(t->in->out, at)].unset)
            return false;
    }
    return true;
}

/* What the script does not set is empty. */
static shell_answer is_empty(test_reader *t, const char *word)
{
    const int origin = shell_origin_index(t->in->out, word);

    if (origin < 0)
        return answer(word[0] == '\0');
    if (is_unset(t, word))
        return SHELL_YES;
    for (const char *at = word; *at != '\0'; at++) { // a letter beside what is not known
        if (*at != SHELL_UNKNOWN)
            return SHELL_NO;
        at = strchr(at, SHELL_UNKNOWN_END);
        if (at == NULL)
            break;
    }
    t->in->cause = origin;
    return SHELL_OPEN;
}

static shell_answer equals(const test_reader *t, const char *left, const char *right)
{
    return t->patterns ? shell_matches(t->in, right, left) : answer(strcmp(left, right) == 0);
}

/* [[ ]] takes sums for integers, and 010 for 8; [ ] refuses what is none. */
static shell_answer of_no_integer(test_reader *t, const char *word)
{
    const bool looks_like = word[0] != '\0' && word[strspn(word, " \t\n+-0123456789")] == '\0';

    t->wrong = t->wrong || (!t->patterns && !looks_like);
    return SHELL_OPEN;
}

static bool is_integer(const test_reader *t, const char *word, int64_t *out)
{
    const bool octal = t->patterns && word[0] == '0' && word[1] != '\0';

    return !octal && text_parse_int64(word, INT64_MIN, INT64_MAX, out);
}

static shell_answer compared(test_reader *t, const char *left, const char *sign, const char *right)
{
    static const char *const equality[] = {"=", "==", "!=", NULL};
    static const char *const numeric[] = {"-eq", "-ne", "-lt", "-le", "-gt", "-ge", NULL};
    int64_t a, b;

    // "$X" == "" is the same test as -z "$X"
    if (text_index(sign, equality) >= 0 && (left[0] == '\0' || right[0] == '\0')) {
        const shell_answer empty = is_empty(t, left[0] != '\0' ? left : right);

        return sign[0] == '!' ? negated(empty) : empty;
    }
    if (!is_known(t, left) || !is_known(t, right))
        return SHELL_OPEN;
    if (strcmp(sign, "=") == 0 || strcmp(sign, "==") == 0)
        return equals(t, left, right);
    if (strcmp(sign, "!=") == 0)
        return negated(equals(t, left, right));
    if (!is_integer(t, left, &a))
        return of_no_integer(t, left);
    if (!is_integer(t, right, &b))
        return of_no_integer(t, right);
    const bool holds[] = {a == b, a != b, a<b, a <= b, a> b, a >= b};
    const int which = text_index(sign, numeric);
    return which < 0 ? SHELL_OPEN : answer(holds[which]);
}

static bool is_sign(const char *word)
{
    static const char *const signs[] = {"=",   "==",  "!=",  "-eq", "-ne", "-lt",
                                        "-le", "-gt", "-ge", "=~",  NULL};

    return text_index(word, signs) >= 0;
}

static shell_answer primary_of(test_reader *t)
{
    const char *const word = *t->at++;
    const long left = t->end - t->at;

    if (left >= 2 && is_sign(t->at[0])) {
        t->at += 2;
        if (strcmp(t->at[-2], "=~") == 0) {
            is_known(t, word);
            return SHELL_OPEN;
        }
        return compared(t, word, t->at[-2], t->at[-1]);
    }
    if (left >= 1 && (strcmp(word, "-z") == 0 || strcmp(word, "-n") == 0)) {
        const shell_answer empty = is_empty(t, *t->at++);

        return word[1] == 'z' ? empty : negated(empty);
    }
    if (left >= 1 && word[0] == '-' && word[1] != '\0' && word[2] == '\0') {
        t->at++; // -f FILE and the like
        return SHELL_OPEN;
    }
    return is_sign(word) ? SHELL_NO : negated(is_empty(t, word));
}

static shell_answer not_of(test_reader *t)
{
    shell_answer found;

    if (t->at == t->end || t->depth == 32)
        return SHELL_NO;
    t->depth++;
    if (strcmp(*t->at, "!") == 0 && t->end - t->at > 1) {
        t->at++;
        found = negated(not_of(t));
    } else if (strcmp(*t->at, "(") == 0) {
        t->at++;
        found = either_of(t);
        t->at += t->at < t->end;
    } else {
        found = primary_of(t);
    }
    t->depth--;
    return found;
}

static bool takes(test_reader *t, const char *word, const char *other)
{
    if (t->at == t->end || (strcmp(*t->at, word) != 0 && strcmp(*t->at, other) != 0))
        return false;
    t->at++;
    return true;
}

static shell_answer both_of(test_reader *t)
{
    shell_answer found = not_of(t);

    while (takes(t, "&&", "-a")) {
        const shell_answer next = not_of(t);

        found = found == SHELL_NO || next == SHELL_NO ? SHELL_NO
                : found == SHELL_YES                  ? next
                                                      : SHELL_OPEN;
    }
    return found;
}

static shell_answer either_of(test_reader *t)
{
    shell_answer found = both_of(t);

    while (takes(t, "||", "-o")) {
        const shell_answer next = both_of(t);

        found = found == SHELL_YES || next == SHELL_YES ? SHELL_YES
                : found == SHELL_NO                     ? next
                                                        : SHELL_OPEN;
    }
    return found;
}

shell_answer shell_test(shell_reader *in, const shell_list *words, bool patterns)
{
    test_reader t = {in, words->word, words->word + words->count, patterns, false, 0};

    in->cause = -1;
    const shell_answer found = either_of(&t);
    in->erred = t.wrong && t.at == t.end && words->count == 3;
    if (t.wrong)
        return in->erred ? SHELL_NO : SHELL_OPEN;
    return t.at == t.end ? found : SHELL_OPEN;
}
