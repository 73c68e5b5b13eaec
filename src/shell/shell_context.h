/* shell_context.h - memory, limits and failures of reading one script
 *
 * A failure jumps back to shell_read with a status and a message, so the functions of this folder
 * neither return errors nor NULL. All memory is in the arena, so the jump leaks none.
 */
#ifndef SHELL_CONTEXT_H
#define SHELL_CONTEXT_H

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"
#include "plait/arena.h"
#include "plait/error.h"

enum { SHELL_MAX_BYTES = 1 << 22 };

typedef struct shell_context {
    const char *name; /* file name, for messages */
    int line;         /* line of the command that is parsed or evaluated */
    size_t spent;     /* work done, in bytes and steps, at most SHELL_MAX_BYTES */
    plait_arena *arena;
    jmp_buf failed;
    plait_status status; /* status of a failure */
    plait_error *err;
} shell_context;

/** A slice of a script. */
typedef struct shell_text {
    const char *at;
    size_t length;
} shell_text;

shell_text shell_text_of(const char *word);

/** Jumps back with status SYNTAX and "expected a valid shell script, found FOUND", or with NOMEM. */
_Noreturn void shell_fail(shell_context *c, const char *found);
_Noreturn void shell_fail_nomem(shell_context *c);

/** Counts work that a hostile script could multiply. Fails if the sum exceeds SHELL_MAX_BYTES. */
void shell_spend(shell_context *c, size_t cost);

void *shell_alloc(shell_context *c, size_t count, size_t size);

/** Returns the list with room for one more element, like grow_by_one. */
void *shell_grow(shell_context *c, void *list, int count, int *capacity, size_t size);

/** Return texts in the arena. */
char *shell_copy(shell_context *c, shell_text text);
char *shell_concat(shell_context *c, const char *a, const char *b, const char *d);
char *shell_finish(shell_context *c, text_builder *text);

#endif
