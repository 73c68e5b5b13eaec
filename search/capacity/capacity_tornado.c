/* capacity_tornado.c - sensitivity of days and dollars to each input, from -10 % to +10 % */
#include <math.h>
#include <stdlib.h>

#include "search/capacity/capacity.h"
#include "plan/problem_check.h"

/* The question with one input changed, on a copy of its hardware. */
typedef struct changed_question {
    plait_capacity_options ask;
    plait_problem problem;
    plait_cluster cluster;
    plait_accelerator gpu[PLAIT_MAX_NODE_GROUPS];
} changed_question;

/*
 * Finds the best plan of the changed problem. The plan of the row limits the search if it fits, and
 * is the result if no plan is faster.
 */
static plait_status replan(const changed_question *q, const plait_capacity_row *row,
                           plait_arena *arena, plait_capacity_row *out, plait_error *err)
{
    plait_cost cost;

    PLAIT_TRY(plait_plan_evaluate(&q->problem, &row->plan, NULL, arena, &cost, err));
    const bool fits = cost.verdict == PLAIT_FITS;
    const double below_s = fits ? cost.step_s : (double)INFINITY;
    PLAIT_TRY(capacity_find_below(&q->ask, &q->problem, below_s, arena, out, err));
    if (out->fits || !fits)
        return PLAIT_OK;
    *out =
        (plait_capacity_row){.problem = &q->problem, .fits = true, .plan = row->plan, .cost = cost};
    return plait_capacity_follow(&q->ask, arena, out, err);
}

enum { PRICE, FAILURES, RESTART, STORAGE, NETWORK, MEMORY, EFFICIENCY };

static const struct {
    const char *what;
    bool replan; /* whether the input changes the step, so that another plan can be best */
} inputs[PLAIT_CAPACITY_SWINGS] = {
    [PRICE] = {"price of a GPU hour", false},
    [FAILURES] = {"rate of interruptions", false},
    [RESTART] = {"detection and restart", false},
    [STORAGE] = {"write rate of checkpoints", false},
    [NETWORK] = {"network bandwidth", true},
    [MEMORY] = {"memory of a GPU", true},
    [EFFICIENCY] = {"efficiency of matrix products", true},
};

static plait_status change_input(int input, double factor, const plait_capacity_options *ask,
                                 const plait_capacity_row *row, plait_arena *arena,
                                 plait_capacity_row *out, plait_error *err)
{
    changed_question *const q = plait_arena_alloc(arena, 1, sizeof *q);

    PLAIT_TRY(plait_check_allocated(q, err));
    q->ask = *ask;
    q->ask.runs = 0;
    q->ask.fleet.spares = row->goodput.spares;
    q->problem = *row->problem;
    q->cluster = *row->problem->cluster;
    q->problem.cluster = &q->cluster;
    for (int g = 0; g < q->cluster.groups; g++) {
        q->gpu[g] = *q->cluster.group[g].accelerator;
        q->cluster.group[g].accelerator = &q->gpu[g];
    }
    plait_reliability *const fleet = &q->ask.fleet;

    switch (input) {
    case PRICE: {
        const double usd = plait_capacity_usd_per_gpu_hour(&q->ask, &q->problem);
        q->ask.usd_per_gpu_hour = isnan(usd) ? 0.0 : usd * factor;
        break;
    }
    case FAILURES:
        fleet->interruptions_per_node_day *= factor;
        break;
    case RESTART:
        fleet->detect_s *= factor;
        fleet->restart_s *= factor;
        break;
    case STORAGE:
        fleet->node_bytes_per_s *= factor;
        fleet->most_bytes_per_s *= factor;
        break;
    case NETWORK:
        for (int l = 1; l < q->cluster.levels; l++)
            q->cluster.level[l].link.bytes_per_s *= factor;
        q->cluster.between.link.bytes_per_s *= factor;
        break;
    case MEMORY:
        for (int g = 0; g < q->cluster.groups; g++)
            q->gpu[g].memory_bytes *= factor;
        break;
    case EFFICIENCY:
        for (int g = 0; g < q->cluster.groups; g++)
            for (int p = 0; p < PLAIT_PRECISIONS; p++)
                q->gpu[g].peak_flops_per_s[p] *= factor;
        break;
    }
    if (inputs[input].replan)
        return replan(q, row, arena, out, err);
    *out = *row;
    out->problem = &q->problem;
    return plait_capacity_follow(&q->ask, arena, out, err);
}

static double swing_width(const plait_capacity_swing *swing)
{
    const double days = fabs(swing->wall_s[1] / swing->wall_s[0] - 1.0);
    const double usd = fabs(swing->usd[1] / swing->usd[0] - 1.0);

    return isnan(usd) ? days : fmax(days, usd);
}

static int widest_first(const void *left, const void *right)
{
    const double a = swing_width(left), b = swing_width(right);

    return (a < b) - (a > b);
}

plait_status plait_capacity_tornado(const plait_capacity_options *ask,
                                    const plait_capacity_row *row, plait_arena *arena,
                                    plait_capacity_swing swing[PLAIT_CAPACITY_SWINGS],
                                    plait_error *err)
{
    PLAIT_TRY(capacity_options_check(ask, err));
    PLAIT_TRY(problem_check(row->problem, err));
    for (int i = 0; i < PLAIT_CAPACITY_SWINGS; i++) {
        swing[i] = (plait_capacity_swing){.what = inputs[i].what};
        for (int side = 0; side < 2; side++) {
            plait_capacity_row out;

            PLAIT_TRY(change_input(i, side == 0 ? 0.9 : 1.1, ask, row, arena, &out, err));
            swing[i].wall_s[side] = out.fits ? out.wall_s : (double)INFINITY;
            swing[i].usd[side] = out.fits ? out.usd : (double)INFINITY;
        }
    }
    qsort(swing, PLAIT_CAPACITY_SWINGS, sizeof *swing, widest_first);
    return PLAIT_OK;
}
