/*
 * class_cache.c - cache of the classes of ranks and chunks, and of the runs of equal ranks
 *
 *     key: pp, vpp, schedule, split, and the number of microbatches, which bounds those in flight
 *
 * The lists are arrays of the table that point into each other. The cache stores a copy of the used
 * part of each array, and restores it to the same place.
 */
#include "costmodel/table/table_private.h"

#include <string.h>

#include "base/hash.h"

/* PLACES is the number of hash buckets, each a linked list; BYTES limits the size of the cache. */
enum { PLACES = 1024, BYTES = 8 << 20 };

typedef struct class_key {
    int pp, vpp, microbatches;
    int schedule, split, first, last;
} class_key;

typedef struct cached_classes {
    struct cached_classes *next; /* next entry of the same bucket */
    class_key key;
    class_list ranks, chunks; /* fields that table_classify fills */
    int runs;
    stage_run *run;
} cached_classes;

struct class_cache {
    plait_arena *arena; /* NULL: the cache stores nothing */
    size_t used;
    cached_classes *place[PLACES];
};

class_cache *class_cache_new(plait_arena *arena)
{
    return plait_arena_alloc(arena, 1, sizeof(class_cache));
}

void class_cache_grow(class_cache *cache, plait_arena *arena)
{
    cache->arena = arena;
}

static class_key class_key_of(const plait_degrees *d, int microbatches)
{
    return (class_key){d->pp,         d->vpp,         microbatches, d->schedule,
                       d->split.kind, d->split.first, d->split.last};
}

static size_t place_of(const class_key *key)
{
    const int words[] = {key->pp,    key->vpp,   key->microbatches, key->schedule,
                         key->split, key->first, key->last};

    return hash_ints(0, words, sizeof words / sizeof *words) % PLACES;
}

// ---- lists ---------------------------------------------------------------------------------

static size_t bytes_of(const class_list *list)
{
    return (size_t)list->count * sizeof *list->of + list->leads * sizeof *list->leading +
           list->parts * sizeof *list->part + list->holds * sizeof *list->held;
}

static bool make_room(const class_list *list, plait_arena *arena, class_list *out)
{
    out->of = plait_arena_alloc(arena, (size_t)list->count, sizeof *out->of);
    out->leading = plait_arena_alloc(arena, list->leads, sizeof *out->leading);
    out->part = plait_arena_alloc(arena, list->parts, sizeof *out->part);
    out->held = plait_arena_alloc(arena, list->holds, sizeof *out->held);
    return out->of && out->leading && out->part && out->held;
}

/*
 * Copies a list. The copied classes still point into the arrays of the table, to which a cached
 * list is restored.
 */
static void copy_list(const class_list *from, class_list *to)
{
    to->count = from->count;
    to->leads = from->leads;
    to->parts = from->parts;
    to->holds = from->holds;
    memcpy(to->of, from->of, (size_t)from->count * sizeof *to->of);
    memcpy(to->leading, from->leading, from->leads * sizeof *to->leading);
    memcpy(to->part, from->part, from->parts * sizeof *to->part);
    memcpy(to->held, from->held, from->holds * sizeof *to->held);
}

// ---- the cache -----------------------------------------------------------------------------

static cached_classes *cached_classes_of(const class_cache *cache, const class_key *key)
{
    cached_classes *known = cache->place[place_of(key)];

    while (known && memcmp(&known->key, key, sizeof *key) != 0)
        known = known->next;
    return known;
}

bool class_cache_get(const class_cache *cache, const plait_degrees *d, plait_table *table)
{
    const class_key key = class_key_of(d, table->microbatches);
    const cached_classes *known =
        d->split.kind == PLAIT_SPLIT_LAYOUT ? NULL : cached_classes_of(cache, &key);

    if (!known)
        return false;
    copy_list(&known->ranks, &table->ranks);
    copy_list(&known->chunks, &table->chunks);
    table->runs = known->runs;
    memcpy(table->run, known->run, (size_t)known->runs * sizeof *table->run);
    return true;
}

void class_cache_put(class_cache *cache, const plait_degrees *d, const plait_table *table)
{
    const size_t bytes = sizeof(cached_classes) + bytes_of(&table->ranks) +
                         bytes_of(&table->chunks) + (size_t)table->runs * sizeof *table->run;

    if (!cache->arena || d->split.kind == PLAIT_SPLIT_LAYOUT || cache->used + bytes > BYTES)
        return;
    cached_classes *known = plait_arena_alloc(cache->arena, 1, sizeof *known);
    if (!known || !make_room(&table->ranks, cache->arena, &known->ranks) ||
        !make_room(&table->chunks, cache->arena, &known->chunks))
        return;
    known->run = plait_arena_alloc(cache->arena, (size_t)table->runs, sizeof *known->run);
    if (!known->run)
        return;
    known->key = class_key_of(d, table->microbatches);
    copy_list(&table->ranks, &known->ranks);
    copy_list(&table->chunks, &known->chunks);
    known->runs = table->runs;
    memcpy(known->run, table->run, (size_t)table->runs * sizeof *known->run);
    cached_classes **const place = &cache->place[place_of(&known->key)];
    known->next = *place;
    *place = known;
    cache->used += bytes;
}
