/* shell_word.c - a word as a shell reads it back */
#include "shell_word.h"

#include <string.h>

static bool needs_quotes(const char *text)
{
    return *text == '\0' ||
           strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                        "-_./:,=+@%") != strlen(text);
}

void shell_append_word(text_builder *out, const char *word)
{
    if (!needs_quotes(word)) {
        text_append(out, word);
        return;
    }
    text_append_char(out, '\'');
    for (; *word != '\0'; word++)
        text_append(out, *word == '\'' ? "'\\''" : (char[]){*word, '\0'});
    text_append_char(out, '\'');
}

char *shell_quoted(const char *word, plait_arena *arena)
{
    text_builder out;

    text_builder_init(&out, arena);
    shell_append_word(&out, word);
    return text_builder_finish(&out, NULL);
}
