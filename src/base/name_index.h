/* name_index.h - hash table from names to positions in a list */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

typedef struct name_slot name_slot;

/** A hash table; a struct of zeros is an empty table. */
typedef struct name_index {
    name_slot *slot;
    int slots; /* number of slots: a power of two, or 0 */
    int names;
} name_index;

/** Returns the position of a name of `length` bytes; -1 if the name is not in the table. */
int name_index_find(const name_index *index, const char *name, size_t length);

/**
 * Sets the position of a name.
 *
 * @param name  must outlive the index
 * @return      false if out of memory
 */
bool name_index_put(name_index *index, plait_arena *arena, const char *name,
                    int place) PLAIT_MUST_CHECK;
