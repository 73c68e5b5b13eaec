/* text.c - text builders, splitting and comparing */
#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- a text that grows ---- */

void text_builder_init(text_builder *out, plait_arena *arena)
{
    *out = (text_builder){.arena = arena};
}

bool text_builder_reserve(text_builder *out, size_t more)
{
    size_t capacity = out->capacity == 0 ? 256 : out->capacity;
    char *text;

    if (out->failed || more > SIZE_MAX / 4 - out->length) {
        out->failed = true;
        return false;
    }
    /* One byte after the text stays free for the zero byte at the end. */
    if (out->length + more < out->capacity)
        return true;
    while (capacity <= out->length + more)
        capacity *= 2;
    text = plait_arena_alloc(out->arena, capacity, 1);
    if (text == NULL) {
        out->failed = true;
        return false;
    }
    if (out->length > 0)
        memcpy(text, out->text, out->length);
    out->text = text;
    out->capacity = capacity;
    return true;
}

void text_append_bytes(text_builder *out, const char *bytes, size_t length)
{
    if (length == 0 || !text_builder_reserve(out, length))
        return;
    memcpy(out->text + out->length, bytes, length);
    out->length += length;
}

void text_append(text_builder *out, const char *text)
{
    text_append_bytes(out, text, strlen(text));
}

void text_append_char(text_builder *out, char c)
{
    text_append_bytes(out, &c, 1);
}

void text_append_repeated(text_builder *out, char c, size_t times)
{
    if (times == 0 || !text_builder_reserve(out, times))
        return;
    memset(out->text + out->length, c, times);
    out->length += times;
}

void text_append_number(text_builder *out, double number)
{
    char digits[TEXT_NUMBER_SIZE];

    text_append(out, text_number(number, digits));
}

void text_append_printf(text_builder *out, const char *fmt, ...)
{
    va_list args;
    int length;

    va_start(args, fmt);
    length = text_format_list(NULL, 0, fmt, args);
    va_end(args);

    if (length < 0 || !text_builder_reserve(out, (size_t)length))
        return;
    va_start(args, fmt);
    text_format_list(out->text + out->length, (size_t)length + 1, fmt, args);
    va_end(args);
    out->length += (size_t)length;
}

char *text_builder_finish(text_builder *out, size_t *length)
{
    if (!text_builder_reserve(out, 0))
        return NULL;
    out->text[out->length] = '\0';
    if (length != NULL)
        *length = out->length;
    return out->text;
}

/* ---- lists of names ---- */

void text_names_init(text_names *out, plait_arena *arena)
{
    text_builder_init(&out->text, arena);
    out->count = 0;
}

void text_names_add(text_names *out, const char *name)
{
    const size_t length = strlen(name);

    if (out->count++ >= TEXT_NAMES_SHOWN)
        return;
    text_append(&out->text, out->count > 1 ? ", " : "");
    text_append_bytes(&out->text, name, text_utf8_prefix(name, length < 60 ? length : 60));
}

char *text_names_finish(text_names *out)
{
    if (out->count > TEXT_NAMES_SHOWN)
        text_append_printf(&out->text, " ... and %zu more", out->count - TEXT_NAMES_SHOWN);
    return text_builder_finish(&out->text, NULL);
}

/* ---- cutting and comparing ---- */

char *text_cut(char *text, char separator)
{
    char *found = strchr(text, separator);

    if (found == NULL)
        return NULL;
    *found = '\0';
    return found + 1;
}

char **text_split(plait_arena *arena, const char *text, char separator, size_t *count)
{
    size_t pieces = *text != '\0';
    char **list;
    char *rest;

    for (const char *p = text; *p != '\0'; p++)
        pieces += *p == separator;
    list = plait_arena_alloc(arena, pieces + 1, sizeof *list);
    rest = plait_arena_text(arena, text);
    if (list == NULL || rest == NULL)
        return NULL;

    for (size_t i = 0; i < pieces; i++) {
        list[i] = rest;
        rest = text_cut(rest, separator);
    }
    if (count != NULL)
        *count = pieces;
    return list;
}

bool text_is_alphanumeric(char c)
{
    return (c >= '0' && c <= '9') || (text_lower(c) >= 'a' && text_lower(c) <= 'z');
}

char text_lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

bool text_equal(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

bool text_alike(const char *a, const char *b)
{
    while (*a != '\0' && text_lower(*a) == text_lower(*b)) {
        a++;
        b++;
    }
    return *a == *b;
}

bool text_starts_with(const char *text, const char *prefix)
{
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

bool text_ends_with(const char *text, const char *suffix)
{
    const size_t length = strlen(text);
    const size_t tail = strlen(suffix);

    return tail <= length && strcmp(text + length - tail, suffix) == 0;
}

int text_index(const char *word, const char *const *known)
{
    for (int i = 0; known[i] != NULL; i++)
        if (text_equal(word, known[i]))
            return i;
    return -1;
}
