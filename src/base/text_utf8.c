/* text_utf8.c - well-formed UTF-8
 *
 * The table of RFC 3629, section 4, lists the valid second bytes for each first byte. Their range
 * depends on the first byte, which excludes overlong forms, surrogates and values above U+10FFFF.
 * All further bytes have the same range.
 */
#include "base/text.h"

typedef struct utf8_form {
    unsigned char first_low, first_high;
    unsigned char second_low, second_high;
    size_t length;
} utf8_form;

static const utf8_form forms[] = {
    {0x00, 0x7f, 0x00, 0x00, 1}, // ASCII
    {0xc2, 0xdf, 0x80, 0xbf, 2}, // c0 and c1 would begin overlong forms
    {0xe0, 0xe0, 0xa0, 0xbf, 3}, // shorter forms exist below U+0800
    {0xe1, 0xec, 0x80, 0xbf, 3}, // U+1000 to U+CFFF
    {0xed, 0xed, 0x80, 0x9f, 3}, // U+D800 to U+DFFF are surrogates
    {0xee, 0xef, 0x80, 0xbf, 3}, // U+E000 to U+FFFF
    {0xf0, 0xf0, 0x90, 0xbf, 4}, // shorter forms exist below U+10000
    {0xf1, 0xf3, 0x80, 0xbf, 4}, // U+40000 to U+FFFFF
    {0xf4, 0xf4, 0x80, 0x8f, 4}, // U+10FFFF is the last
};

static const utf8_form *form_of(unsigned char first)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
        if (first >= forms[i].first_low && first <= forms[i].first_high)
            return &forms[i];
    return NULL;
}

size_t text_utf8_length(const char *text, size_t left)
{
    const unsigned char *const bytes = (const unsigned char *)text;
    const utf8_form *const form = left > 0 ? form_of(bytes[0]) : NULL;

    if (form == NULL || form->length > left)
        return 0;
    if (form->length > 1 && (bytes[1] < form->second_low || bytes[1] > form->second_high))
        return 0;
    for (size_t i = 2; i < form->length; i++)
        if (bytes[i] < 0x80 || bytes[i] > 0xbf)
            return 0;
    return form->length;
}

unsigned text_utf8_value(const char *text, size_t length)
{
    unsigned value = (unsigned char)*text;

    if (length > 1)
        value &= 0xffu >> (length + 1);
    for (size_t i = 1; i < length; i++)
        value = value << 6 | ((unsigned char)text[i] & 0x3fu);
    return value;
}

size_t text_utf8_prefix(const char *text, size_t length)
{
    size_t at = 0;

    while (at < length) {
        const size_t step = text_utf8_length(text + at, length - at);

        if (step == 0)
            break;
        at += step;
    }
    return at;
}
