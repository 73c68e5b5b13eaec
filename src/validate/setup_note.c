/* setup_note.c - find words in a row's notes, and collect the note on assumptions */
#include "validate/setup.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void setup_note(setup *at, const char *fmt, ...)
{
    char phrase[320];
    va_list args;

    va_start(args, fmt);
    text_format_list(phrase, sizeof phrase, fmt, args);
    va_end(args);
    if (at->note.length > 0)
        text_append(&at->note, "; ");
    text_append(&at->note, phrase);
}

/* Returns the next word of a note; blanks, commas and semicolons separate words. NULL: none. */
static const char *next_word(const char *text, size_t *length)
{
    static const char between[] = " \t,;";

    text += strspn(text, between);
    *length = strcspn(text, between);
    return *length > 0 ? text : NULL;
}

bool setup_has_word(const plait_run *run, const char *word)
{
    size_t length;

    for (const char *at = run->notes; (at = next_word(at, &length)) != NULL; at += length)
        if (length == strlen(word) && strncmp(at, word, length) == 0)
            return true;
    return false;
}

const char *setup_value(const plait_run *run, const char *key, char *text, size_t size)
{
    const size_t key_length = strlen(key);
    size_t length;

    for (const char *at = run->notes; (at = next_word(at, &length)) != NULL; at += length) {
        if (length <= key_length || strncmp(at, key, key_length) != 0 || at[key_length] != '=')
            continue;
        snprintf(text, size, "%.*s", (int)(length - key_length - 1), at + key_length + 1);
        return text;
    }
    return NULL;
}
