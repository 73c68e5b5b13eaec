/*
 * starved.c - plait, whose arenas give out after so many requests: PLAIT_STARVE_AFTER of them
 *
 * Clocks stand still, so that what is printed is the same twice.
 */
#include <stdlib.h>
#include <time.h>

#include "plait/arena.h"

#define main plait_main
#include "cli/main.c"
#undef main

int clock_gettime(clockid_t clock, struct timespec *now)
{
    (void)clock;
    *now = (struct timespec){.tv_sec = 1};
    return 0;
}

int main(int argc, const char **argv)
{
    const char *const after = getenv("PLAIT_STARVE_AFTER");

    if (after != NULL)
        plait_arena_fail_after(atol(after));
    return plait_main(argc, argv);
}
