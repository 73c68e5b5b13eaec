/* runs.c - so many stages of a choice, one behind the other in their group */
#include "search/mixed/mixed.h"

/* Shared by all sets that have it. */
mixed_run *mixed_run_of(mixed_question *q, mixed_choice *choice, int stages)
{
    mixed_run **run = &choice->run[stages];

    if (!*run)
        *run = plait_arena_alloc(q->arena, 1, sizeof **run);
    if (*run)
        **run = (*run)->choice ? **run : (mixed_run){.choice = choice, .stages = stages};
    return *run;
}

bool mixed_follows(const mixed_choice *a, int stages, const mixed_choice *b)
{
    return stages * a->gpus % a->domain == 0 || stages * a->gpus % b->gpus == 0;
}
