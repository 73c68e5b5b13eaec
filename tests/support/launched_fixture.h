/*
 * launched_fixture.h - for each test an arena and the question that `usual` asks, which it may change
 *
 * A test file says behind the includes what is asked and of whom:
 *
 *     static const launched_usual usual = {"llama-3.1-8b", "fsdp", 16, PLAIT_LAUNCH_ACCELERATE};
 */
#pragma once

#include "support/launched.h"
#include "support/must.h"

typedef struct launched_usual {
    const char *model, *runtime;
    int gpus;
    plait_launch_target target;
} launched_usual;

static const launched_usual usual;

static plait_arena *arena;
static launched it;

static int begin(void **state)
{
    (void)state;
    arena = plait_arena_new();
    if (arena == NULL)
        return 1;
    launched_question(&it, usual.model, usual.runtime, usual.gpus, arena);
    return 0;
}

static int end(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}

static void render(const char *keys)
{
    plait_error err;

    must(launched_render(&it, keys, usual.target, arena, &err), &err);
}
