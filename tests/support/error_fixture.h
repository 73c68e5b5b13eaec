/* error_fixture.h - for each test an arena of its own, and an error that says nothing yet */
#pragma once

#include "plait/arena.h"
#include "plait/error.h"

static plait_arena *arena;
static plait_error err;

static int begin(void **state)
{
    (void)state;
    arena = plait_arena_new();
    err = (plait_error){PLAIT_OK, "", ""};
    return arena == NULL;
}

static int end(void **state)
{
    (void)state;
    plait_arena_free(arena);
    return 0;
}
