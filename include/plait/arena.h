/* arena.h - memory that is released all at once
 *
 * What a load or a search returns lives in the arena that the caller gave it; one plait_arena_free
 * ends all of it, and no object has a `free` of its own. A loop that needs scratch memory saves a
 * mark before each turn and rewinds to it afterwards, which keeps the memory for the next turn.
 *
 *     plait_arena *arena = plait_arena_new();
 *     int *degrees = plait_arena_alloc(arena, 8, sizeof *degrees);
 *     ...
 *     plait_arena_free(arena);
 *
 * An arena belongs to one thread at a time. NULL stands for one that there was no memory for: whatever
 * is allocated in it is NULL, and a function that was to fill it fails with NOMEM.
 */
#ifndef PLAIT_ARENA_H
#define PLAIT_ARENA_H

#include <stddef.h>

#include "plait/error.h"

PLAIT_BEGIN_DECLS

typedef struct plait_arena plait_arena;

/** A position in an arena: how many bytes of it had been used. */
typedef size_t plait_arena_mark;

/** An empty arena, or NULL when out of memory. */
plait_arena *plait_arena_new(void);

/** Releases the arena and all that lives in it; NULL is fine. */
void plait_arena_free(plait_arena *arena);

/**
 * Zeroed memory for `count` objects of `size` bytes, aligned for any type.
 *
 * @return never NULL for a count of 0; NULL when out of memory or when count * size overflows
 */
void *plait_arena_alloc(plait_arena *arena, size_t count, size_t size) PLAIT_MUST_CHECK;

/** A copy of `text`, or NULL when out of memory, and of NULL. */
char *plait_arena_text(plait_arena *arena, const char *text) PLAIT_MUST_CHECK;

/** A formatted string, or NULL when out of memory. */
char *plait_arena_printf(plait_arena *arena, const char *fmt, ...) PLAIT_MUST_CHECK
    PLAIT_PRINTF(2, 3);

plait_arena_mark plait_arena_save(const plait_arena *arena);

/** Forgets what was allocated since `mark` was saved; marks saved since then are void. */
void plait_arena_rewind(plait_arena *arena, plait_arena_mark mark);

/**
 * For tests: the next `calls` requests for memory, of any arena in any thread, succeed, and those
 * after them fail, until this is called again. A negative number turns it off.
 */
void plait_arena_fail_after(long calls);

PLAIT_END_DECLS

#endif
