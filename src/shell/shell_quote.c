/* shell_quote.c - quotes a word so that bash reads it back unchanged */
#include <ctype.h>
#include <string.h>

#include "shell/shell.h"

bool shell_is_option(const char *word)
{
    return word[0] == '-' && word[1] == '-' && isalpha((unsigned char)word[2]);
}

/*
 * Writes $'a\012b', since bytes other than plain text could break the line or control the terminal.
 */
static void append_escaped(text_builder *out, const char *word)
{
    size_t left = strlen(word);

    text_append(out, "$'");
    while (left > 0) {
        const size_t plain = text_plain_prefix(word, left);

        for (size_t i = 0; i < plain; i++)
            text_append_printf(out, strchr("'\\", word[i]) != NULL ? "\\%c" : "%c", word[i]);
        word += plain;
        left -= plain;
        if (left == 0)
            break;
        text_append_printf(out, "\\%03o", (unsigned)(unsigned char)*word++);
        left--;
    }
    text_append_char(out, '\'');
}

void shell_append_word(text_builder *out, const char *word)
{
    if (!text_is_plain(word)) {
        append_escaped(out, word);
        return;
    }
    if (!(*word == '\0' ||
          strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                       "-_./:,=+@%") != strlen(word))) {
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
