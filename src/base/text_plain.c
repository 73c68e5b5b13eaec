/* text_plain.c - text without control characters and marks of direction
 *
 * Names, paths and messages quote files that may come from anyone. A terminal obeys control characters (sequences
 * after ESC clear, colour, rename, type); YAML, Python and JavaScript end a line at U+2028; marks of direction change
 * the order of the characters shown. Readers refuse such characters in names, and printed text is made plain here.
 */
#include "base/text.h"

#include <string.h>

static const struct control_range {
    unsigned first, last;
} controls[] = {
    // ascending
    {0x0000, 0x001f}, // ASCII's control characters, line ends and tabs among them
    {0x007f, 0x009f}, // DEL, and the control characters of Latin-1, CSI among them
    {0x061c, 0x061c}, // the Arabic mark of direction
    {0x200e, 0x200f}, // marks of direction
    {0x2028, 0x202e}, // ends of lines and paragraphs; embeddings and overrides of direction
    {0x2066, 0x2069}, // isolates of direction
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
