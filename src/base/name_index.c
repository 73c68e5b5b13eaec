/* name_index.c - hash table of names with open addressing, at most half full */
#include "base/name_index.h"

#include <stdint.h>
#include <string.h>

struct name_slot {
    const char *name; /* name; NULL: free slot */
    size_t length;
    int place;
};

enum { FEWEST_SLOTS = 16 };

/* FNV-1a (Fowler, Noll, Vo, 1991). */
static uint32_t hash_of(const char *name, size_t length)
{
    uint32_t hash = 2166136261u;

    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash;
}

/* Returns the slot of a name, or the free slot where it would be inserted. */
static name_slot *slot_of(const name_index *index, const char *name, size_t length)
{
    const uint32_t mask = (uint32_t)index->slots - 1;
    uint32_t at = hash_of(name, length) & mask;

    while (index->slot[at].name != NULL &&
           (index->slot[at].length != length || memcmp(index->slot[at].name, name, length) != 0))
        at = (at + 1) & mask;
    return &index->slot[at];
}

int name_index_find(const name_index *index, const char *name, size_t length)
{
    if (index->slots == 0)
        return -1;
    const name_slot *const slot = slot_of(index, name, length);
    return slot->name != NULL ? slot->place : -1;
}

bool name_index_put(name_index *index, plait_arena *arena, const char *name, int place)
{
    const size_t length = strlen(name);

    if (index->slots <= 2 * index->names) {
        name_index larger = {.slots = index->slots > 0 ? 2 * index->slots : FEWEST_SLOTS,
                             .names = index->names};
        larger.slot = plait_arena_alloc(arena, (size_t)larger.slots, sizeof *larger.slot);
        if (larger.slot == NULL)
            return false;
        memset(larger.slot, 0, (size_t)larger.slots * sizeof *larger.slot);
        for (int i = 0; i < index->slots; i++)
            if (index->slot[i].name != NULL)
                *slot_of(&larger, index->slot[i].name, index->slot[i].length) = index->slot[i];
        *index = larger;
    }
    name_slot *const slot = slot_of(index, name, length);
    index->names += slot->name == NULL;
    *slot = (name_slot){name, length, place};
    return true;
}
