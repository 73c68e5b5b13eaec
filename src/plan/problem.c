/* problem.c - the question as a struct that grows: an older program's is shorter */
#include "plait/job.h"

#include <string.h>

void plait_problem_init_sized(plait_problem *problem, size_t size)
{
    const plait_problem empty = {.size = size, .risk = PLAIT_USUAL_RISK};

    memcpy(problem, &empty, size < sizeof empty ? size : sizeof empty);
}
