/* grow.h - lists in an arena that grow by doubling */
#pragma once

#include <stddef.h>

#include "plait/arena.h"

/**
 * Room for one more element behind the `count` that a list has.
 *
 * @param list      NULL when it has none yet
 * @param capacity  of the list; grows with it
 * @return          the list, moved or not; NULL when out of memory
 */
void *grow_by_one(plait_arena *arena, void *list, int count, int *capacity, size_t size);
