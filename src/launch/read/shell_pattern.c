/* shell_pattern.c - does a word match a pattern of a shell: *, ?, [a-z], and letters */
#include <ctype.h>
#include <string.h>

#include "launch/read/shell_parts.h"

/* ---- classes: [[:digit:]] ---- */

static int is_word_letter(int c)
{
    return isalnum(c) || c == '_';
}

typedef struct pattern_class {
    const char *name;
    int (*holds)(int c);
} pattern_class;

static const pattern_class classes[] = {
    {"[:alnum:]", isalnum},  {"[:alpha:]", isalpha}, {"[:blank:]", isblank},
    {"[:cntrl:]", iscntrl},  {"[:digit:]", isdigit}, {"[:graph:]", isgraph},
    {"[:lower:]", islower},  {"[:print:]", isprint}, {"[:punct:]", ispunct},
    {"[:space:]", isspace},  {"[:upper:]", isupper}, {"[:word:]", is_word_letter},
    {"[:xdigit:]", isxdigit}};

static const pattern_class *class_at(const char *at)
{
    for (size_t c = 0; c < sizeof classes / sizeof *classes; c++)
        if (text_starts_with(at, classes[c].name))
            return &classes[c];
    return NULL;
}

/* ---- one sign of a pattern ---- */

/* What a sign of the pattern is: where it ends, and whether it stands for a byte. */
typedef struct pattern_sign {
    const char *behind;
    bool fits;
    bool open; /* [.x.], [=x=]: what those hold, the locale says */
} pattern_sign;

static unsigned char letter_at(const char **at)
{
    *at += **at == '\\' && (*at)[1] != '\0';
    return (unsigned char)*(*at)++;
}

/* A letter, a range or a class of [...]. */
static const char *member_of(const char *at, unsigned char c, pattern_sign *out)
{
    const pattern_class *const named = class_at(at);

    if (named != NULL) {
        out->fits = out->fits || named->holds(c) != 0;
        return at + strlen(named->name);
    }
    out->open = out->open || (at[0] == '[' && at[1] != '\0' && strchr(".=:", at[1]) != NULL);
    const unsigned char first = letter_at(&at);
    unsigned char last = first;
    if (at[0] == '-' && at[1] != ']' && at[1] != '\0') {
        at++;
        last = letter_at(&at);
    }
    out->fits = out->fits || (first <= c && c <= last);
    return at;
}

/* Behind the [ ; one that is not closed stands for itself. */
static pattern_sign brackets_of(const char *at, unsigned char c)
{
    pattern_sign out = {at, c == '[', false}, held = {NULL, false, false};
    const bool negated = *at == '!' || *at == '^';

    at += negated;
    do {
        if (*at == '\0')
            return out;
        at = member_of(at, c, &held);
    } while (*at != ']');
    held.behind = at + 1;
    held.fits = held.fits != negated;
    return held;
}

static pattern_sign sign_of(const char *pattern, unsigned char c)
{
    if (*pattern == '[')
        return brackets_of(pattern + 1, c);
    if (*pattern == '?')
        return (pattern_sign){pattern + 1, true, false};
    if (*pattern == '\0')
        return (pattern_sign){pattern, false, false};
    const bool fits = letter_at(&pattern) == c;
    return (pattern_sign){pattern, fits, false};
}

/* ---- a word ---- */

/* ? and [...] are letters of the locale: of bytes that are none nothing is known. */
static bool hangs_on_locale(const char *pattern, const char *word)
{
    if (strpbrk(pattern, "?[") == NULL)
        return false;
    for (; *word != '\0'; word++)
        if ((unsigned char)*word >= 0x80)
            return true;
    return false;
}

shell_answer shell_matches(const shell_reader *in, const char *pattern, const char *word)
{
    const char *star = NULL, *from = NULL;

    if (in->caseless || hangs_on_locale(pattern, word))
        return SHELL_OPEN;
    while (*word != '\0') {
        if (*pattern == '*') {
            star = ++pattern;
            from = word;
            continue;
        }
        const pattern_sign sign = sign_of(pattern, (unsigned char)*word);
        if (sign.open)
            return SHELL_OPEN;
        if (sign.fits) {
            pattern = sign.behind;
            word++;
        } else if (star != NULL) {
            pattern = star;
            word = ++from;
        } else {
            return SHELL_NO;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0' ? SHELL_YES : SHELL_NO;
}
