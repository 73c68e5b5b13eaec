/*
 * capacity_samples.c - random runs of one plan, and their quantiles (C.327)
 *
 * Run i has seed i and its own slot, and the slots are sorted, so the result does not depend on threads.
 */
#include "search/capacity/capacity.h"

#include <math.h>
#include <stdlib.h>

#include "base/numbers.h"
#include "search/exhaustive/exhaustive.h"
#include "plait/lowlevel/goodput.h"

/* With more expected interruptions all runs take the mean, and none is drawn. */
static const double most_interruptions = 1e5;

static double quantile(const double *sorted, int count, double share)
{
    return sorted[(int)(share * (count - 1) + 0.5)];
}

plait_status capacity_draw(const plait_capacity_options *ask, const plait_capacity_row *row,
                           plait_arena *arena, plait_run_samples *out, plait_error *err)
{
    const double nan = (double)NAN;
    const plait_band band = row->problem->band;
    double *end_s;

    *out = (plait_run_samples){nan, nan, nan, nan, nan};
    if (ask->runs == 0 || !isfinite(row->wall_s) ||
        row->wall_s > most_interruptions * row->goodput.mtbf_s)
        return PLAIT_OK;
    end_s = plait_arena_alloc(arena, (size_t)ask->runs, sizeof *end_s);
    PLAIT_TRY(plait_check_allocated(end_s, err));
#pragma omp parallel for num_threads(search_threads(ask->search.threads)) schedule(static)
    for (int i = 0; i < ask->runs; i++)
        end_s[i] = plait_goodput_run(&row->goodput, row->work_s, band.low, band.high,
                                     10.0 * row->wall_s, (uint64_t)i);
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
