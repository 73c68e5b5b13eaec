/* shell_word.h - a word as a shell reads it back: for commands that are shown and scripts that are
 * written */
#ifndef SHELL_WORD_H
#define SHELL_WORD_H

#include "text.h"

/** Append a word so that bash reads it back as it is: in quotes where it needs them, on one line of
 * plain text whatever is in it. */
void shell_append_word(text_builder *out, const char *word);

/** The same in the arena; NULL when out of memory. */
char *shell_quoted(const char *word, plait_arena *arena);

#endif
