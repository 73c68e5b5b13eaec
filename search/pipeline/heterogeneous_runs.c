/* runs.c - so many stages of a choice, one behind the other in their group */
#include "search/pipeline/heterogeneous.h"

/* Shared by all sets that have it. */
stage_run *hetero_run(hetero_problem *q, group_degrees *choice, int stages)
{
    stage_run **run = &choice->run[stages];

    if (!*run)
        *run = plait_arena_alloc(q->arena, 1, sizeof **run);
    if (*run)
        **run = (*run)->choice ? **run : (stage_run){.choice = choice, .stages = stages};
    return *run;
}

bool hetero_may_follow(const group_degrees *a, int stages, const group_degrees *b)
{
    return stages * a->gpus % a->domain == 0 || stages * a->gpus % b->gpus == 0;
}
