/* grow.h - lists that grow in an arena */
#pragma once

#include <stddef.h>

#include "plait/arena.h"

/**
 * Makes space for one more element. The function doubles the capacity of a full list.
 *
 * @param list      NULL for an empty list
 * @param capacity  in and out: number of elements that the list has space for
 * @return          the list, which may have moved; NULL if out of memory
 */
void *grow_by_one(plait_arena *arena, void *list, int count, int *capacity, size_t size);
