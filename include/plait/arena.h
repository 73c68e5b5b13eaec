/*
 * arena.h - memory that is released all at once
 *
 * The results of a load or a search live in the arena that the caller passes. One plait_arena_free
 * releases all of them, and no object has its own `free`. A loop that needs scratch memory saves a
 * mark before each iteration and rewinds to it afterwards, which keeps the memory for the next one.
 *
 *     plait_arena *arena = plait_arena_new();
 *     int *degrees = plait_arena_alloc(arena, 8, sizeof *degrees);
 *     ...
 *     plait_arena_free(arena);
 *
 * Only one thread may use an arena at a time. A NULL arena is the result of a failed allocation:
 * every allocation in it returns NULL, and functions that fill it fail with NOMEM.
 */
#ifndef PLAIT_ARENA_H
#define PLAIT_ARENA_H

#include <stddef.h>

#include "plait/error.h"

PLAIT_BEGIN_DECLS

typedef struct plait_arena plait_arena;

/** A position in an arena: the number of bytes in use. */
typedef size_t plait_arena_mark;

/** An empty arena, or NULL when out of memory. */
plait_arena *plait_arena_new(void);

/** Release the arena and everything in it. NULL is allowed. */
void plait_arena_free(plait_arena *arena);

/**
 * Zeroed memory for `count` objects of `size` bytes, aligned for any type.
 *
 * @return  not NULL for a count of 0; NULL when out of memory or if count * size overflows
 */
void *plait_arena_alloc(plait_arena *arena, size_t count, size_t size) PLAIT_MUST_CHECK;

/** A copy of `text`; NULL when out of memory or if `text` is NULL. */
char *plait_arena_text(plait_arena *arena, const char *text) PLAIT_MUST_CHECK;

/** A formatted string, or NULL when out of memory. */
char *plait_arena_printf(plait_arena *arena, const char *fmt, ...) PLAIT_MUST_CHECK
    PLAIT_PRINTF(2, 3);

/** The current position, for plait_arena_rewind. */
plait_arena_mark plait_arena_save(const plait_arena *arena);

/** Release all allocations since `mark` was saved; marks saved since then become invalid. */
void plait_arena_rewind(plait_arena *arena, plait_arena_mark mark);

/**
 * Limits the bytes that all arenas of the process hold together: an allocation beyond the limit fails
 * as if memory were short. 0: no limit.
 */
void plait_arena_limit(size_t bytes);

/**
 * For tests: the next `calls` allocations of any arena in any thread succeed, and all later ones
 * fail until the next call of this function. A negative number ends this mode.
 */
void plait_arena_fail_after(long calls);

PLAIT_END_DECLS

#endif
