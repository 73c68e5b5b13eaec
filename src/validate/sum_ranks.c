/* sum_ranks.c - rank correlation of predicted and measured step times in each sweep, and regret */
#include <math.h>
#include <string.h>

#include "validate/groups.h"
#include "validate/statistics.h"
#include "validate/sums.h"

/* Returns the relative noise of repeats: 10 to 15 % for runs of medium trust; else taken as 0. */
static double noise_of(const plait_run *run)
{
    return run->trust == PLAIT_TRUST_MEDIUM ? 0.12 : 0.0;
}

/* Predicted and measured times of one sweep. */
typedef struct sweep_times {
    double *predicted;
    double *measured;
    double *scratch; /* [2 * plans] */
} sweep_times;

static plait_sweep_rank rank_sweep(const plait_validation *v, const char *name, const size_t *row,
                                   size_t plans, const sweep_times *times)
{
    const plait_run *const first = &v->runs->run[row[0]];

    for (size_t i = 0; i < plans; i++) {
        times->predicted[i] = v->price[row[i]].cost.step_s;
        times->measured[i] = v->runs->run[row[i]].step_s;
    }
    return (plait_sweep_rank){
        .name = name,
        .source = first->source,
        .plans = plans,
        .spearman = statistics_spearman(times->predicted, times->measured, plans, times->scratch),
        .kendall = statistics_kendall(times->predicted, times->measured, plans),
        .regret = statistics_regret(times->predicted, times->measured, plans, 0.0),
        .regret_beyond_noise =
            statistics_regret(times->predicted, times->measured, plans, noise_of(first)),
        .chosen = row[statistics_least(times->predicted, plans)],
        .best = row[statistics_least(times->measured, plans)],
    };
}

/* Returns mean and median over the sweeps of the field at offset `member`, without NaN values. */
static plait_rank_summary summarize_field(const plait_validation *v, size_t member, double *scratch)
{
    size_t count = 0;
    plait_rank_summary out;

    for (size_t s = 0; s < v->sweeps; s++) {
        double value;

        memcpy(&value, (const char *)&v->sweep[s] + member, sizeof value);
        if (!isnan(value))
            scratch[count++] = value;
    }
    out.mean = statistics_mean(scratch, count);
    out.median = statistics_quantile(scratch, count, 0.5);
    return out;
}

plait_status sum_ranks(plait_validation *v, plait_arena *arena, plait_error *err)
{
    const size_t rows = v->runs->count;
    const sweep_times times = {plait_arena_alloc(arena, rows, sizeof(double)),
                               plait_arena_alloc(arena, rows, sizeof(double)),
                               plait_arena_alloc(arena, rows, 2 * sizeof(double))};
    plait_sweep_rank *sweep;
    row_groups groups;

    PLAIT_TRY(groups_of(v, row_sweep, arena, &groups, err));
    sweep = plait_arena_alloc(arena, groups.count, sizeof *sweep);
    PLAIT_TRY(
        plait_check_allocated(sweep && times.predicted && times.measured && times.scratch, err));
    for (size_t g = 0; g < groups.count; g++)
        if (groups.size[g] >= PLAIT_SWEEP_LEAST)
            sweep[v->sweeps++] =
                rank_sweep(v, groups.name[g], groups.row[g], groups.size[g], &times);
    v->sweep = sweep;
    v->spearman = summarize_field(v, offsetof(plait_sweep_rank, spearman), times.scratch);
    v->kendall = summarize_field(v, offsetof(plait_sweep_rank, kendall), times.scratch);
    v->regret = summarize_field(v, offsetof(plait_sweep_rank, regret), times.scratch);
    v->regret_beyond_noise =
        summarize_field(v, offsetof(plait_sweep_rank, regret_beyond_noise), times.scratch);
    return PLAIT_OK;
}
