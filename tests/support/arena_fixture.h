/* arena_fixture.h - an arena of its own for each test */
#pragma once

#include "plait/arena.h"

static plait_arena *arena;

static int begin(void **state)
{
    (void)state;
    arena = plait_arena_new();
    return arena == NULL;
}

static int end(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}
