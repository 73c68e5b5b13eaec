/* measured_log.c - the step time in a training log of a plan */
#include "measured_log.h"

#include "say.h"

plait_status measured_log_read(const char *path, const plait_problem *problem, plait_arena *arena,
                               step_log *out, double *step_s, plait_error *err)
{
    PLAIT_TRY(step_log_load(path, arena, out, err));
    if (!step_log_is_of(out, problem->runtime))
        say_warning("%s: has lines of %s, but its plan is for %s; is it the log of this plan?",
                    path, out->software, problem->runtime->name);
    *step_s = step_log_seconds(out, &problem->job);
    return PLAIT_OK;
}
