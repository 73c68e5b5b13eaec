/*
 * goodput_run.c - one run of a job, drawn interruption by interruption (C.327)
 *
 * The simulation uses no closed form except the interval between checkpoints. It draws the times of
 * interruptions, the number of restarts and the repair times, and counts the work that checkpoints
 * save.
 */
#include "plait/lowlevel/goodput.h"

#include <math.h>

#include "base/random.h"

static double exponential(uint64_t *state, double mean)
{
    return -mean * log(random_share(state));
}

typedef struct drawn_run {
    const plait_goodput *job;
    uint64_t state;
    double now_s;
    double left_s;                        /* work that no checkpoint contains */
    double back_s[PLAIT_MOST_SPARES + 1]; /* time at which each node returns from repair */
} drawn_run;

/*
 * A failed node goes to repair; a spare replaces it, or the job waits for the first repaired node.
 */
static void replace_node(drawn_run *run)
{
    int first = 0;

    if (random_share(&run->state) >= run->job->node_loss)
        return;
    const double repaired_s = run->now_s + exponential(&run->state, run->job->repair_s);
    for (int i = 1; i < run->job->spares; i++)
        if (run->back_s[i] < run->back_s[first])
            first = i;
    if (run->job->spares == 0) {
        run->now_s = repaired_s;
        return;
    }
    if (run->back_s[first] > run->now_s) { // no spare is free; the failed node may return first
        const double free_s = fmin(run->back_s[first], repaired_s);

        run->back_s[first] = fmax(run->back_s[first], repaired_s);
        run->now_s = free_s;
        return;
    }
    run->back_s[first] = repaired_s;
}

static double draw_restart(drawn_run *run)
{
    double restart_s = run->job->once_s;

    while (random_share(&run->state) < run->job->repeat)
        restart_s += run->job->once_s;
    return restart_s;
}

/*
 * Advances the run until the work is done (true) or an interruption after `up_s` seconds (false).
 */
static bool compute(drawn_run *run, double up_s)
{
    const plait_goodput *const job = run->job;
    const double cycle_s = job->interval_s + job->blocked_s;
    const double checkpoints = isinf(cycle_s) ? 0.0 : ceil(run->left_s / job->interval_s) - 1.0;
    const double whole_s = run->left_s + checkpoints * job->blocked_s;

    if (whole_s <= up_s) {
        run->now_s += whole_s;
        return true;
    }
    run->now_s += up_s;
    if (!isinf(cycle_s))
        run->left_s -= job->interval_s * floor(fmax(0.0, up_s - job->lag_s) / cycle_s);
    return false;
}

double plait_goodput_run(const plait_goodput *goodput, double work_s, double low, double high,
                         double most_s, uint64_t number)
{
    drawn_run run = {.job = goodput, .state = number * 0xd1342543de82ef95U + 1U};
    double restart_s = 0.0;

    run.left_s =
        work_s * goodput->straggler * plait_step_factor(low, high, random_normal(&run.state));
    if (isinf(goodput->mtbf_s))
        return fmin(run.left_s, most_s);
    while (run.now_s < most_s) {
        const double up_s = exponential(&run.state, goodput->mtbf_s);

        if (up_s > restart_s) {
            run.now_s += restart_s;
            if (compute(&run, up_s - restart_s))
                return fmin(run.now_s, most_s);
        } else {
            run.now_s += up_s;
        }
        run.now_s += goodput->detect_s;
        replace_node(&run);
        restart_s = draw_restart(&run);
    }
    return most_s;
}
