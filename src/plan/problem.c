/* problem.c - the question as a struct that grows: an older program's is shorter, and refused */
#include "problem_check.h"

#include <string.h>

void plait_problem_init_sized(plait_problem *problem, size_t size)
{
    const plait_problem empty = {.size = size, .risk = PLAIT_USUAL_RISK};

    memcpy(problem, &empty, size < sizeof empty ? size : sizeof empty);
}

static plait_status check_count(const char *where, int count, plait_error *err)
{
    if (count >= 1)
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_RANGE, where, "expected an integer of at least 1, found %d",
                      count);
}

plait_status problem_check(const plait_problem *problem, plait_error *err)
{
    if (problem->size != 0 && problem->size != sizeof *problem)
        return plait_fail(err, PLAIT_ERROR_RANGE, "problem",
                          "expected a problem of this version of plait, %zu bytes, found %zu",
                          sizeof *problem, problem->size);

    const plait_job *const job = &problem->job;
    const int taken = problem->cluster ? problem->cluster->gpus : 0; // 0: any number

    PLAIT_TRY(check_count("seq", job->seq, err));
    PLAIT_TRY(check_count("gbs", job->gbs, err));
    PLAIT_TRY(check_count("gpus", job->gpus, err));
    if (taken > 0 && job->gpus > taken)
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "gpus", "expected at most the %d GPUs taken of %s, found %d",
            taken, problem->cluster->name ? problem->cluster->name : "the cluster", job->gpus);
    return PLAIT_OK;
}
