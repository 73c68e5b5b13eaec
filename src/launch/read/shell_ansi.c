/* shell_ansi.c - $'...' of a shell: a backslash and what follows it are a sign */
#include <ctype.h>
#include <string.h>

#include "launch/read/shell_parts.h"

/* Up to so many digits of a base behind the cursor. */
static unsigned long digits_at(shell_reader *in, int most, unsigned base)
{
    static const char digits[] = "0123456789abcdef";
    unsigned long number = 0;

    for (int i = 0; i < most && in->at < in->end && *in->at != '\0'; i++, in->at++) {
        const char *const digit = strchr(digits, tolower((unsigned char)*in->at));

        if (digit == NULL || (unsigned long)(digit - digits) >= base)
            break;
        number = base * number + (unsigned long)(digit - digits);
    }
    return number;
}

static void append_utf8(text_builder *text, unsigned long point)
{
    static const unsigned char head[] = {0, 0xc0, 0xe0, 0xf0};
    const int more = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;

    text_append_char(text, (char)(head[more] | (point >> (6 * more))));
    for (int left = more - 1; left >= 0; left--)
        text_append_char(text, (char)(0x80 | ((point >> (6 * left)) & 0x3f)));
}

/* The sign behind a backslash, which is passed; -1: it has been appended. */
static int sign_at(shell_reader *in, text_builder *text)
{
    static const char letters[] = "abeEfnrtv", signs[] = "\a\b\033\033\f\n\r\t\v";
    const char c = *in->at++;
    const char *const letter = strchr(letters, c);
    const bool hex = c == 'x' && in->at < in->end && isxdigit((unsigned char)*in->at);

    if (letter != NULL && c != '\0')
        return signs[letter - letters];
    if (c >= '0' && c <= '7') {
        in->at--;
        return (int)(digits_at(in, 3, 8) & 0xff);
    }
    if (hex)
        return (int)digits_at(in, 2, 16);
    if (c == 'u' || c == 'U') {
        append_utf8(text, digits_at(in, c == 'u' ? 4 : 8, 16) & 0x1fffff);
        return -1;
    }
    if (c == 'c' && in->at < in->end)
        return *in->at++ & 0x1f;
    if (strchr("\\'\"?", c) == NULL)
        text_append_char(text, '\\');
    return (unsigned char)c;
}

/* A zero byte ends what is written; a byte that would be a mark is written as ?. */
const char *shell_read_ansi(shell_reader *in, bool *closed)
{
    text_builder text;
    bool ended = false;

    text_builder_init(&text, in->arena);
    while (in->at < in->end && *in->at != '\'') {
        int c = (unsigned char)*in->at++;

        in->line += c == '\n';
        if (c == '\\' && in->at < in->end)
            c = sign_at(in, &text);
        ended = ended || c == 0;
        if (c > 0 && !ended)
            text_append_char(&text, c == SHELL_UNKNOWN || c == SHELL_UNKNOWN_END ? '?' : (char)c);
    }
    *closed = in->at < in->end;
    in->at += *closed;
    return text_builder_finish(&text, NULL);
}
