/* shell_read.h - the words of a shell script, without running it */
#ifndef SHELL_READ_H
#define SHELL_READ_H

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

/** The words of a script, as far as they can be known without running it. */
typedef struct shell_words {
    int count;
    const char **word;
    int unknown;         /* expansions of variables that the script does not set, of commands */
    const char *example; /* the first of them: "$WORLD_SIZE"; NULL when there is none */
} shell_words;

/**
 * Read the words of a script: assignments, arrays and export lines are followed, `$NAME`,
 * `${NAME}`, `${NAME:-default}`, `${NAME[@]}` and `$((...))` are expanded, comments and
 * continuations are skipped. A word with an expansion that cannot be known holds '\x01' in its
 * place. Assignments themselves are not words. Commands are not told from their arguments.
 *
 * @param out  lives in `arena`
 *
 * Fails (SYNTAX) on a quote that is not closed; `where` is NAME:LINE.
 */
PLAIT_MUST_CHECK plait_status shell_read(const char *text, size_t length, const char *name,
                                         plait_arena *arena, shell_words *out, plait_error *err);

/** Does a word hold something that could not be known? */
bool shell_word_known(const char *word);

#endif
