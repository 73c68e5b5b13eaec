/*
 * class_cache.c - classes of ranks and of chunks, and the runs of ranks, by what they hang on
 *
 *     pp vpp schedule split, and the microbatches, of which some are in flight
 *
 * All lists stand end to end in arrays of the table, and point to each other there: the used part of each is
 * copied, and later copied back to where it was.
 */
#include "costmodel/table/class_cache.h"

#include <string.h>

#include "base/hash.h"

/* What is kept takes so many bytes at most; lists of one place hang on each other. */
enum { PLACES = 1024, BYTES = 8 << 20 };

typedef struct class_key {
    int pp, vpp, microbatches;
    int schedule, split, first, last;
} class_key;

typedef struct known_classes {
    struct known_classes *next; /* at the same place */
    class_key key;
    class_list ranks, chunks; /* what sorting fills of them */
    int runs;
    stage_run *run;
} known_classes;

struct class_memo {
    plait_arena *arena; /* NULL: it may not grow */
    size_t used;
    known_classes *place[PLACES];
};

class_memo *class_memo_new(plait_arena *arena)
{
    return plait_arena_alloc(arena, 1, sizeof(class_memo));
}

void class_memo_grow(class_memo *memo, plait_arena *arena)
{
    memo->arena = arena;
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

/* Classes point into the lists of the table, wherever they are kept. */
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

// ---- what is known -------------------------------------------------------------------------

static known_classes *classes_known(const class_memo *memo, const class_key *key)
{
    known_classes *known = memo->place[place_of(key)];

    while (known && memcmp(&known->key, key, sizeof *key) != 0)
        known = known->next;
    return known;
}

bool class_memo_take(const class_memo *memo, const plait_degrees *d, plait_table *table)
{
    const class_key key = class_key_of(d, table->microbatches);
    const known_classes *known =
        d->split.kind == PLAIT_SPLIT_LAYOUT ? NULL : classes_known(memo, &key);

    if (!known)
        return false;
    copy_list(&known->ranks, &table->ranks);
    copy_list(&known->chunks, &table->chunks);
    table->runs = known->runs;
    memcpy(table->run, known->run, (size_t)known->runs * sizeof *table->run);
    return true;
}

void class_memo_keep(class_memo *memo, const plait_degrees *d, const plait_table *table)
{
    const size_t bytes = sizeof(known_classes) + bytes_of(&table->ranks) +
                         bytes_of(&table->chunks) + (size_t)table->runs * sizeof *table->run;

    if (!memo->arena || d->split.kind == PLAIT_SPLIT_LAYOUT || memo->used + bytes > BYTES)
        return;
    known_classes *known = plait_arena_alloc(memo->arena, 1, sizeof *known);
    if (!known || !make_room(&table->ranks, memo->arena, &known->ranks) ||
        !make_room(&table->chunks, memo->arena, &known->chunks))
        return;
    known->run = plait_arena_alloc(memo->arena, (size_t)table->runs, sizeof *known->run);
    if (!known->run)
        return;
    known->key = class_key_of(d, table->microbatches);
    copy_list(&table->ranks, &known->ranks);
    copy_list(&table->chunks, &known->chunks);
    known->runs = table->runs;
    memcpy(known->run, table->run, (size_t)table->runs * sizeof *known->run);
    known_classes **const place = &memo->place[place_of(&known->key)];
    known->next = *place;
    *place = known;
    memo->used += bytes;
}
