/* grow.c - lists that grow in an arena */
#include "base/grow.h"

#include <string.h>

void *grow_by_one(plait_arena *arena, void *list, int count, int *capacity, size_t size)
{
    const int more = *capacity > 0 ? 2 * *capacity : 16;
    void *moved;

    if (count < *capacity)
        return list;
    moved = plait_arena_alloc(arena, (size_t)more, size);
    if (moved == NULL)
        return NULL;
    if (count > 0)
        memcpy(moved, list, (size_t)count * size);
    *capacity = more;
    return moved;
}
