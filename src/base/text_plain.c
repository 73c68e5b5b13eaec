/* text_plain.c - text without control characters and marks of direction
 *
 * Names, paths and messages quote files from untrusted sources. Terminals execute control sequences
 * (to clear the screen, change colours, rename the window or enter text). YAML, Python and
 * JavaScript end a line at U+2028. Direction marks change the displayed order of characters.
 * Readers reject such characters in names, and this file removes them from printed text.
 */
#include "base/text.h"

#include <string.h>

static const struct control_range {
    unsigned first, last;
} controls[] = {
    // in ascending order
    {0x0000, 0x001f}, // ASCII control characters, including line ends and tabs
    {0x007f, 0x009f}, // DEL, and the control characters of Latin-1, including CSI
    {0x061c, 0x061c}, // the Arabic letter mark (direction)
    {0x200e, 0x200f}, // left-to-right and right-to-left marks
    {0x2028, 0x202e}, // line and paragraph separators, direction embeddings and overrides
    {0x2066, 0x2069}, // direction isolates
    {0xfeff, 0xfeff}, // the byte order mark, which is invisible
};

static bool is_control(unsigned character)
{
    for (size_t i = 0; i < sizeof controls / sizeof *controls; i++)
        if (character >= controls[i].first && character <= controls[i].last)
            return true;
    return false;
}

size_t text_plain_prefix(const char *text, size_t length)
{
    size_t at = 0;

    while (at < length) {
        const size_t step = text_utf8_length(text + at, length - at);

        if (step == 0 || is_control(text_utf8_value(text + at, step)))
            break;
        at += step;
    }
    return at;
}

bool text_is_plain(const char *text)
{
    const size_t length = strlen(text);

    return text_plain_prefix(text, length) == length;
}

/* Makes the bytes plain and returns their new length, without a final zero byte. */
static size_t make_plain(char *text, size_t length)
{
    size_t from = 0, to = 0;

    while (from < length) {
        const size_t plain = text_plain_prefix(text + from, length - from);
        size_t step;

        memmove(text + to, text + from, plain);
        from += plain;
        to += plain;
        if (from == length)
            break;
        step = text_utf8_length(text + from, length - from);
        from += step > 0 ? step : 1;
        text[to++] = '?';
    }
    return to;
}

size_t text_make_plain(char *text, size_t length)
{
    const size_t left = make_plain(text, length);

    text[left] = '\0';
    return left;
}

void text_make_lines_plain(char *text)
{
    char *to = text;

    for (const char *from = text; *from != '\0';) {
        const size_t length = strcspn(from, "\n");
        const bool ends = from[length] == '\n';

        memmove(to, from, length);
        from += length + ends;
        to += make_plain(to, length);
        if (ends)
            *to++ = '\n';
    }
    *to = '\0';
}

char *text_plain(plait_arena *arena, const char *text)
{
    char *const copy = plait_arena_text(arena, text);

    if (copy != NULL)
        text_make_plain(copy, strlen(copy));
    return copy;
}

void text_append_plain(text_builder *out, const char *text)
{
    const size_t before = out->length;

    text_append(out, text);
    if (!out->failed && out->length > before)
        out->length = before + text_make_plain(out->text + before, out->length - before);
}
