/* arenas_fixture.h - two arenas for all tests of a group: one that stays, one that a test rewinds */
#pragma once

#include "plait/arena.h"

static plait_arena *arena, *scratch;

static int make_arenas(void **state)
{
    (void)state;
    arena = plait_arena_new();
    scratch = plait_arena_new();
    return arena == NULL || scratch == NULL;
}

static int free_arenas(void **state)
{
    (void)state;
    plait_arena_free(arena);
    plait_arena_free(scratch);
    return 0;
}
