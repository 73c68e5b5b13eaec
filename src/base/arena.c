/* arena.c - memory that is released all at once
 *
 * An arena is a list of blocks. Allocation advances `used` of the current block, and goes to the
 * next block when it is full. A rewind goes back and keeps the later blocks as spares:
 *
 *     first                current
 *     [######] -> [####] -> [###....] -> [.......] -> NULL
 *                                         spare
 *
 * A mark is the number of bytes used since the start of the first block.
 */
#include "plait/arena.h"

#include <stdalign.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* Memory that is not allocated is poisoned, so the address sanitizer finds uses after a rewind. */
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define ARENA_POISONS 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define ARENA_POISONS 1
#endif

#ifdef ARENA_POISONS
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#define ASAN_UNPOISON_MEMORY_REGION(address, size) ((void)(address), (void)(size))
#endif

/*
 * A search has an arena for each of a thousand tasks, most of which need little, so the first block
 * is small and each later one is twice as large as the one before, up to LARGEST_BLOCK.
 */
enum {
    ALIGNMENT = alignof(max_align_t),
    FIRST_BLOCK = 4 * 1024 - 64,
    LARGEST_BLOCK = 64 * 1024 - 64
};

typedef struct arena_block {
    struct arena_block *next;
    struct arena_block *previous; /* valid up to the current block */
    size_t start;                 /* bytes used in previous blocks */
    size_t used;
    size_t size;
    alignas(max_align_t) unsigned char data[];
} arena_block;

struct plait_arena {
    arena_block *first;
    arena_block *current;
};

/* For tests: number of requests until all further ones fail; negative: no limit. */
static atomic_long requests_left = -1;

void plait_arena_fail_after(long calls)
{
    atomic_store(&requests_left, calls);
}

static bool request_must_fail(void)
{
    long left = atomic_load_explicit(&requests_left, memory_order_relaxed);

    while (left > 0 && !atomic_compare_exchange_weak(&requests_left, &left, left - 1))
        ;
    return left == 0;
}

static _Atomic size_t held, most_held = SIZE_MAX;

void plait_arena_limit(size_t bytes)
{
    atomic_store(&most_held, bytes > 0 ? bytes : SIZE_MAX);
}

static void block_free(arena_block *block)
{
    atomic_fetch_sub_explicit(&held, sizeof *block + block->size, memory_order_relaxed);
    free(block);
}

static arena_block *block_new(size_t size)
{
    arena_block *block;

    if (size > SIZE_MAX - sizeof *block)
        return NULL;
    const size_t bytes = sizeof *block + size;
    const size_t before = atomic_fetch_add_explicit(&held, bytes, memory_order_relaxed);
    const size_t most = atomic_load_explicit(&most_held, memory_order_relaxed);
    block = before <= most && bytes <= most - before ? malloc(bytes) : NULL;
    if (block == NULL) {
        atomic_fetch_sub_explicit(&held, bytes, memory_order_relaxed);
        return NULL;
    }
    *block = (arena_block){.size = size};
    ASAN_POISON_MEMORY_REGION(block->data, size);
    return block;
}

plait_arena *plait_arena_new(void)
{
    plait_arena *arena;

    if (request_must_fail())
        return NULL;
    arena = malloc(sizeof *arena);
    if (arena == NULL)
        return NULL;
    arena->first = arena->current = block_new(FIRST_BLOCK);
    if (arena->first == NULL) {
        free(arena);
        return NULL;
    }
    return arena;
}

void plait_arena_free(plait_arena *arena)
{
    if (arena == NULL)
        return;
    for (arena_block *block = arena->first, *next; block != NULL; block = next) {
        next = block->next;
        block_free(block);
    }
    free(arena);
}

/* Advances to the next spare block if `size` bytes fit into it; else inserts a new block. */
static bool arena_advance(plait_arena *arena, size_t size)
{
    arena_block *full = arena->current;
    arena_block *block = full->next;

    if (block == NULL || block->size < size) {
        const size_t twice = full->size < LARGEST_BLOCK / 2 ? 2 * full->size : LARGEST_BLOCK;

        block = block_new(size > twice ? size : twice);
        if (block == NULL)
            return false;
        block->next = full->next;
        full->next = block;
    }
    block->previous = full;
    block->start = full->start + full->used;
    block->used = 0;
    arena->current = block;
    return true;
}

void *plait_arena_alloc(plait_arena *arena, size_t count, size_t size)
{
    size_t bytes, room;
    unsigned char *data;

    if (arena == NULL || request_must_fail() ||
        (size != 0 && count > (SIZE_MAX - ALIGNMENT) / size))
        return NULL;

    /* An empty request also uses space, so that each result is a different, valid address. */
    bytes = count * size;
    room = bytes == 0 ? ALIGNMENT : (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (arena->current->size - arena->current->used < room && !arena_advance(arena, room))
        return NULL;

    data = arena->current->data + arena->current->used;
    arena->current->used += room;
    ASAN_UNPOISON_MEMORY_REGION(data, bytes);
    return memset(data, 0, bytes);
}

char *plait_arena_text(plait_arena *arena, const char *text)
{
    const size_t size = text != NULL ? strlen(text) + 1 : 0;
    char *copy = size > 0 ? plait_arena_alloc(arena, size, 1) : NULL;

    return copy != NULL ? memcpy(copy, text, size) : NULL;
}

char *plait_arena_printf(plait_arena *arena, const char *fmt, ...)
{
    va_list args;
    int length;
    char *text;

    va_start(args, fmt);
    length = text_format_list(NULL, 0, fmt, args);
    va_end(args);

    text = length >= 0 ? plait_arena_alloc(arena, (size_t)length + 1, 1) : NULL;
    if (text == NULL)
        return NULL;
    va_start(args, fmt);
    text_format_list(text, (size_t)length + 1, fmt, args);
    va_end(args);
    return text;
}

plait_arena_mark plait_arena_save(const plait_arena *arena)
{
    return arena != NULL ? arena->current->start + arena->current->used : 0;
}

void plait_arena_rewind(plait_arena *arena, plait_arena_mark mark)
{
    arena_block *block;

    if (arena == NULL || mark > plait_arena_save(arena)) // nothing was allocated since the mark
        return;
    block = arena->current;
    while (block->start > mark)
        block = block->previous;
#ifdef ARENA_POISONS
    for (arena_block *left = block->next; left != NULL; left = left->next)
        ASAN_POISON_MEMORY_REGION(left->data, left->size);
#endif
    block->used = mark - block->start;
    ASAN_POISON_MEMORY_REGION(block->data + block->used, block->size - block->used);
    arena->current = block;
}
