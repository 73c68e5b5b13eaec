/* name_index.h - the place that a name has in a list, found without reading the list */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

typedef struct name_slot name_slot;

/** Empty when it is all zeros. */
typedef struct name_index {
    name_slot *slot;
    int slots; /* a power of two, or 0 */
    int names;
} name_index;

/** The place of a name, `length` bytes of it; -1: it has none. */
int name_index_find(const name_index *index, const char *name, size_t length);

/**
 * Gives a name a place, instead of the one that it may have had.
 *
 * @param name  outlives the index
 * @return      false when out of memory
 */
bool name_index_put(name_index *index, plait_arena *arena, const char *name,
                    int place) PLAIT_MUST_CHECK;
