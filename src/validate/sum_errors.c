/* sum_errors.c - errors of step time and memory, by row and by group of rows */
#include <math.h>

#include "validate/groups.h"
#include "validate/statistics.h"
#include "validate/sums.h"

/* ---- one row ---- */

bool row_counts(const plait_validation *v, size_t row)
{
    return v->price[row].priced && plait_run_timed(&v->runs->run[row]);
}

static bool has_band(const plait_validation *v, size_t row)
{
    return row_counts(v, row) && isfinite(v->price[row].cost.step_low_s);
}

static bool lies_in_band(const plait_validation *v, size_t row)
{
    const plait_cost *const cost = &v->price[row].cost;
    const double measured_s = v->runs->run[row].step_s;

    return cost->step_low_s <= measured_s && measured_s <= cost->step_high_s;
}

double row_time_error(const plait_validation *v, size_t row)
{
    return v->price[row].cost.step_s / v->runs->run[row].step_s - 1.0;
}

/* Memory errors exclude plans with unpublished recomputation or interleaving. */
bool row_plan_is_known(const plait_run *run)
{
    return run->trust != PLAIT_TRUST_RECOMPUTE_UNKNOWN && run->trust != PLAIT_TRUST_VPP_UNKNOWN;
}

static bool counts_memory(const plait_validation *v, size_t row)
{
    const plait_run *const run = &v->runs->run[row];

    return v->price[row].priced && run->outcome == PLAIT_RUN_OK && isfinite(run->peak_bytes) &&
           run->scope != PLAIT_SCOPE_NONE && row_plan_is_known(run);
}

static double memory_error(const plait_validation *v, size_t row)
{
    return v->price[row].memory_bytes / v->runs->run[row].peak_bytes - 1.0;
}

/* ---- errors of groups ---- */

static bool key_source(const plait_validation *v, size_t row, const char **name, const char **scope)
{
    *name = v->runs->run[row].source;
    *scope = NULL;
    return row_counts(v, row);
}

bool row_sweep(const plait_validation *v, size_t row, const char **name, const char **scope)
{
    *name = v->runs->run[row].sweep;
    *scope = NULL;
    return row_counts(v, row) && (*name)[0] != '\0';
}

static bool key_accelerator(const plait_validation *v, size_t row, const char **name,
                            const char **scope)
{
    *name = v->runs->run[row].accelerator;
    *scope = NULL;
    return row_counts(v, row);
}

/* Groups runs with different cost terms: with experts, dense in 8 or 4 bits, dense in 16 bits. */
static bool key_layers(const plait_validation *v, size_t row, const char **name, const char **scope)
{
    const plait_problem *const problem = &v->price[row].problem;

    *scope = NULL;
    if (!row_counts(v, row))
        return false;
    *name = v->runs->run[row].experts > 1         ? "experts"
            : problem->job.precision >= PLAIT_FP8 ? "dense, 8 or 4 bits"
                                                  : "dense, 16 bits";
    return true;
}

static bool key_memory(const plait_validation *v, size_t row, const char **name, const char **scope)
{
    *name = v->runs->run[row].source;
    *scope = plait_memory_scope_name[v->runs->run[row].scope];
    return counts_memory(v, row);
}

typedef double row_error(const plait_validation *v, size_t row);

/* Returns the share of rows (NULL: all) with a band whose step lies in it; NaN: none has a band. */
static double share_in_band(const plait_validation *v, const size_t *row, size_t count)
{
    size_t with = 0, inside = 0;

    for (size_t i = 0; i < count; i++) {
        const size_t at = row != NULL ? row[i] : i;

        with += has_band(v, at);
        inside += has_band(v, at) && lies_in_band(v, at);
    }
    return with > 0 ? (double)inside / (double)with : (double)NAN;
}

static plait_status sum_groups(const plait_validation *v, row_key *key, row_error *error,
                               plait_arena *arena, const plait_error_group **out, size_t *count,
                               plait_errors *total, plait_error *err)
{
    const size_t rows = v->runs->count;
    double *errors = plait_arena_alloc(arena, rows, sizeof *errors);
    double *all = plait_arena_alloc(arena, rows, sizeof *all);
    double *scratch = plait_arena_alloc(arena, rows, sizeof *scratch);
    plait_error_group *group;
    row_groups groups;
    size_t used = 0;

    PLAIT_TRY(plait_check_allocated(errors && all && scratch, err));
    PLAIT_TRY(groups_of(v, key, arena, &groups, err));
    group = plait_arena_alloc(arena, groups.count, sizeof *group);
    PLAIT_TRY(plait_check_allocated(group, err));
    for (size_t g = 0; g < groups.count; g++) {
        for (size_t i = 0; i < groups.size[g]; i++)
            errors[i] = all[used++] = error(v, groups.row[g][i]);
        group[g] = (plait_error_group){
            .name = groups.name[g],
            .scope = groups.scope[g],
            .errors = statistics_errors(errors, groups.size[g], scratch),
            .inside = error == row_time_error ? share_in_band(v, groups.row[g], groups.size[g])
                                              : (double)NAN,
        };
    }
    *out = group;
    *count = groups.count;
    *total = statistics_errors(all, used, scratch);
    return PLAIT_OK;
}

plait_status sum_errors(plait_validation *v, plait_arena *arena, plait_error *err)
{
    row_key *const keys[PLAIT_RUN_KEYS] = {[PLAIT_BY_SOURCE] = key_source,
                                           [PLAIT_BY_SWEEP] = row_sweep,
                                           [PLAIT_BY_ACCELERATOR] = key_accelerator,
                                           [PLAIT_BY_LAYERS] = key_layers};
    plait_errors of_groups;

    for (int k = 0; k < PLAIT_RUN_KEYS; k++)
        PLAIT_TRY(sum_groups(v, keys[k], row_time_error, arena, &v->group[k], &v->groups[k],
                             k == PLAIT_BY_SOURCE ? &v->total : &of_groups, err));
    v->inside = share_in_band(v, NULL, v->runs->count);
    return sum_groups(v, key_memory, memory_error, arena, &v->memory, &v->memories,
                      &v->memory_total, err);
}
