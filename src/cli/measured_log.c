/* measured_log.c - the step time in a training log of a plan */
#include "cli/measured_log.h"

#include "cli/terminal.h"

/* A step outside of these is in another unit, or its line is damaged. */
static const double shortest_s = 1e-3, longest_s = 30 * 86400.0;

plait_status measured_log_read(const char *path, const plait_problem *problem, plait_arena *arena,
                               step_log *out, double *step_s, plait_error *err)
{
    PLAIT_TRY(step_log_load(path, arena, out, err));
    if (!step_log_is_of(out, problem->runtime))
        print_warning("%s: has lines of %s, but its plan is for %s; is it the log of this plan?",
                      path, out->software, problem->runtime->name);
    *step_s = step_log_seconds(out, &problem->job);
    if (!(*step_s >= shortest_s && *step_s <= longest_s))
        return plait_fail(err, PLAIT_ERROR_RANGE, path,
                          "expected steps of 1 ms to 30 days, found %.3g s a step", *step_s);
    return PLAIT_OK;
}
