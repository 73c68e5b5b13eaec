/* capacity.c - best plan for a number of GPUs, and days, dollars and energy of the run (C.328) */
#include "search/capacity/capacity.h"

#include <math.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "base/threads.h"
#include "plait/runtime.h"
#include "plait/units.h"
#include "plan/problem_check.h"
#include "search/nested.h"
#include "search/exhaustive/exhaustive.h"
#include "plan/ranges.h"
#include "plait/capacity.h"
#include "plait/lowlevel/goodput.h"

const char *const plait_capacity_limit_name[PLAIT_CAPACITY_LIMITS + 1] = {
    "-", "plan", "memory", "failures", "deadline", "budget", "deadline+budget", NULL,
};

void plait_capacity_options_init(plait_capacity_options *ask)
{
    plait_capacity_options usual = {.co2_g_per_kwh = (double)NAN, .knee = 0.8, .runs = 1000};

    plait_reliability_init(&usual.fleet);
    plait_search_options_init(&usual.search);
    *ask = usual;
}

/* Upper limit of simulated runs. */
enum { MOST_RUNS = 1000000 };

plait_status capacity_options_check(const plait_capacity_options *ask, plait_error *err)
{
    if (!ask)
        return plait_fail(err, PLAIT_ERROR_RANGE, "ask", "expected options, found NULL");
    if (!(ask->tokens > 0.0 && ask->tokens <= 1e18))
        return plait_fail(err, PLAIT_ERROR_RANGE, "tokens",
                          "expected a positive number up to 1e18, found %g", ask->tokens);
    if (!(ask->deadline_s >= 0.0) || !(ask->budget_usd >= 0.0) || !(ask->usd_per_gpu_hour >= 0.0))
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "deadline_s",
            "expected a deadline, a budget and a price of 0 or more, found %g s, %g and %g USD",
            ask->deadline_s, ask->budget_usd, ask->usd_per_gpu_hour);
    if (!(ask->knee >= 0.0 && ask->knee <= 1.0))
        return plait_fail(err, PLAIT_ERROR_RANGE, "knee", "expected a share from 0 to 1, found %g",
                          ask->knee);
    if (ask->co2_g_per_kwh < 0.0) // NaN: not given
        return plait_fail(err, PLAIT_ERROR_RANGE, "co2_g_per_kwh",
                          "expected a number of 0 or more, or NaN, found %g", ask->co2_g_per_kwh);
    if (ask->runs < 0 || ask->runs > MOST_RUNS)
        return plait_fail(err, PLAIT_ERROR_RANGE, "runs",
                          "expected an integer from 0 to %d, found %d", MOST_RUNS, ask->runs);
    PLAIT_TRY(plait_reliability_check(&ask->fleet, err));
    return search_options_check(&ask->search, err);
}

// ---- money and energy ----------------------------------------------------------------------

double plait_capacity_usd_per_gpu_hour(const plait_capacity_options *ask,
                                       const plait_problem *problem)
{
    const int gpus = problem->job.gpus;
    double sum = 0.0;

    if (ask->usd_per_gpu_hour > 0.0)
        return ask->usd_per_gpu_hour;
    for (int g = 0; g < plait_cluster_groups(problem->cluster, gpus); g++) {
        const double usd = problem->cluster->group[g].accelerator->usd_per_hour;

        if (usd <= 0.0)
            return (double)NAN;
        sum += usd * plait_cluster_taken(problem->cluster, gpus, g);
    }
    return sum / gpus;
}

int capacity_nodes(const plait_problem *problem)
{
    const int a_node = problem->cluster->group[0].gpus_per_node;

    return (problem->job.gpus + a_node - 1) / a_node;
}

// ---- random runs ---------------------------------------------------------------------------

/*
 * Expected interruptions of a run above which runs are not simulated, since their durations hardly
 * differ from the mean.
 */
static const double most_interruptions = 1e5;

static double quantile(const double *sorted, int count, double share)
{
    return sorted[(int)(share * (count - 1) + 0.5)];
}

typedef struct run_draws {
    const plait_capacity_row *row;
    double *end_s; /* [runs] */
} run_draws;

static void draw_run(int worker, int64_t i, void *context)
{
    const run_draws *const draws = context;
    const plait_capacity_row *const row = draws->row;
    const plait_band band = row->problem->band;

    (void)worker;
    draws->end_s[i] = plait_goodput_run(&row->goodput, row->work_s, band.low, band.high,
                                        10.0 * row->wall_s, (uint64_t)i);
}

/*
 * Simulates the runs of a row (C.327); NaN if the closed form gives no finite time. Run i has seed
 * i and its own array element, and the array is sorted, so the result does not depend on the number
 * of threads.
 */
static plait_status draw_runs(const plait_capacity_options *ask, const plait_capacity_row *row,
                              plait_arena *arena, plait_run_samples *out, plait_error *err)
{
    const double nan = (double)NAN;
    double *end_s;

    *out = (plait_run_samples){nan, nan, nan, nan, nan};
    if (ask->runs == 0 || !isfinite(row->wall_s) ||
        row->wall_s > most_interruptions * row->goodput.mtbf_s)
        return PLAIT_OK;
    end_s = plait_arena_alloc(arena, (size_t)ask->runs, sizeof *end_s);
    PLAIT_TRY(plait_check_allocated(end_s, err));
    threads_for(ask->search.threads, ask->runs, draw_run, &(run_draws){row, end_s});
    qsort(end_s, (size_t)ask->runs, sizeof *end_s, compare_doubles);

    double sum = 0.0;
    int early = 0;
    for (int i = 0; i < ask->runs; i++) {
        sum += end_s[i];
        early += end_s[i] <= ask->deadline_s;
    }
    *out = (plait_run_samples){
        .mean_s = sum / ask->runs,
        .early_s = quantile(end_s, ask->runs, 0.1),
        .middle_s = quantile(end_s, ask->runs, 0.5),
        .late_s = quantile(end_s, ask->runs, 0.9),
        .finishes = ask->deadline_s > 0.0 ? (double)early / ask->runs : (double)NAN,
    };
    return PLAIT_OK;
}

// ---- days ----------------------------------------------------------------------------------

/* Share of useful time below which a run is treated as endless. */
static const double least_effective = 1e-3;

static plait_capacity_limit limit_of(const plait_capacity_options *ask,
                                     const plait_capacity_row *row)
{
    const bool late = ask->deadline_s > 0.0 && !(row->wall_s <= ask->deadline_s);
    const bool expensive = ask->budget_usd > 0.0 && !(row->usd <= ask->budget_usd);

    if (isinf(row->wall_s))
        return PLAIT_CAPACITY_LIMIT_FAILURES;
    if (late && expensive)
        return PLAIT_CAPACITY_LIMIT_BOTH;
    return late        ? PLAIT_CAPACITY_LIMIT_DEADLINE
           : expensive ? PLAIT_CAPACITY_LIMIT_BUDGET
                       : PLAIT_CAPACITY_LIMIT_NOTHING;
}

plait_status plait_capacity_follow(const plait_capacity_options *ask, plait_arena *arena,
                                   plait_capacity_row *row, plait_error *err)
{
    PLAIT_TRY(capacity_options_check(ask, err));
    PLAIT_TRY(problem_check(row->problem, err));
    PLAIT_TRY(plan_check_ranges(&row->plan, err));
    const plait_problem *const problem = row->problem;
    const plait_band band = problem->band;
    const plait_state_bytes state = plait_state_of(problem, &row->plan.degrees);

    row->checkpoint_bytes =
        plait_model_params(problem->model).total * (state.weight + state.optimizer);
    row->steps = ceil(ask->tokens / plait_job_tokens(&problem->job));
    row->work_s = row->steps * row->cost.step_s;
    row->tokens_per_s = plait_job_tokens(&problem->job) / row->cost.step_s;
    row->goodput =
        plait_goodput_of(&ask->fleet, capacity_nodes(problem), row->work_s, row->checkpoint_bytes);
    row->wall_s = row->goodput.effective < least_effective
                      ? (double)INFINITY
                      : plait_goodput_wall_s(&row->goodput, row->work_s);
    row->wall_low_s = row->wall_s * row->cost.step_low_s / row->cost.step_s;
    row->wall_high_s = row->wall_s * row->cost.step_high_s / row->cost.step_s;
    row->finishes = ask->deadline_s > 0.0 ? plait_finish_probability(row->wall_s, ask->deadline_s,
                                                                     band.low, band.high)
                                          : (double)NAN;

    // Spares are paid for as long as the job runs. Repeated steps draw the same power as other
    // steps.
    const double spare_gpus =
        (double)row->goodput.spares * problem->cluster->group[0].gpus_per_node;
    row->usd_per_gpu_hour = plait_capacity_usd_per_gpu_hour(ask, problem);
    row->usd = row->usd_per_gpu_hour * (problem->job.gpus + spare_gpus) * row->wall_s / PLAIT_HOUR;
    row->power_w = row->cost.energy_j / row->cost.step_s;
    row->energy_j = row->power_w * row->wall_s;
    row->co2_kg = row->energy_j / 3.6e6 * ask->co2_g_per_kwh / 1e3;
    row->limit = limit_of(ask, row);
    return draw_runs(ask, row, arena, &row->drawn, err);
}

// ---- the plan ------------------------------------------------------------------------------

plait_status capacity_find_below(const plait_capacity_options *ask, const plait_problem *problem,
                                 double below_s, plait_arena *arena, plait_capacity_row *row,
                                 plait_error *err)
{
    plait_search_options one;
    plait_search_result result = {0};
    plait_error refusal = {PLAIT_OK, "", ""};

    *row = (plait_capacity_row){.problem = problem};
    PLAIT_TRY(capacity_options_check(ask, err));
    PLAIT_TRY(problem_check(problem, err));
    one = ask->search;
    one.top = 1;
    one.distinct = 0;
    const plait_status status =
        search_problem_below(problem, &one, SEARCH_RANKING, below_s, arena, &result, &refusal);
    row->limit = status == PLAIT_OK ? PLAIT_CAPACITY_LIMIT_MEMORY : PLAIT_CAPACITY_LIMIT_PLAN;
    if (status != PLAIT_OK && status != PLAIT_ERROR_RANGE)
        return plait_fail(err, status, refusal.where, "%s", refusal.message);
    // No legal plan is a result, not a failure: other numbers of GPUs may have one.
    if (status != PLAIT_OK || result.plans == 0)
        return PLAIT_OK;
    row->fits = true;
    row->plan = result.plan[0].plan;
    PLAIT_TRY(plait_plan_evaluate(problem, &row->plan, NULL, arena, &row->cost, err));
    return plait_capacity_follow(ask, arena, row, err);
}

plait_status plait_capacity_find(const plait_capacity_options *ask, const plait_problem *problem,
                                 plait_arena *arena, plait_capacity_row *row, plait_error *err)
{
    return capacity_find_below(ask, problem, (double)INFINITY, arena, row, err);
}
