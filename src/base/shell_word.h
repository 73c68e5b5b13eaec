/* shell_word.h - a word as a shell reads it back: for commands that are shown, scripts that are written
 * and those that are read */
#pragma once

#include "base/text.h"

/** Is a word an option, "--num-layers"? */
bool shell_is_option(const char *word);

/** Append a word so that bash reads it back as it is: in quotes where it needs them, on one line of
 * plain text whatever is in it. */
void shell_append_word(text_builder *out, const char *word);

/** The same in the arena; NULL when out of memory. */
char *shell_quoted(const char *word, plait_arena *arena);
