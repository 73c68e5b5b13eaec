/* validate.c - measured runs against predictions: all rows priced, errors summed up */
#include "plait/validate.h"

#include <math.h>
#include <string.h>

#include "evaluate.h"
#include "groups.h"
#include "statistics.h"

/* ---- errors of one row ---- */

static bool counts(const plait_validation *v, size_t row)
{
    return v->price[row].priced && plait_run_timed(&v->runs->run[row]);
}

static bool has_band(const plait_validation *v, size_t row)
{
    return counts(v, row) && isfinite(v->price[row].cost.step_low_s);
}

static bool lies_in_band(const plait_validation *v, size_t row)
{
    const plait_cost *const cost = &v->price[row].cost;
    const double measured_s = v->runs->run[row].step_s;

    return cost->step_low_s <= measured_s && measured_s <= cost->step_high_s;
}

static double time_error(const plait_validation *v, size_t row)
{
    return v->price[row].cost.step_s / v->runs->run[row].step_s - 1.0;
}

/* A plan of which recomputation or interleaving is not published says nothing about memory. */
static bool plan_is_known(const plait_run *run)
{
    return run->trust != PLAIT_TRUST_RECOMPUTE_UNKNOWN && run->trust != PLAIT_TRUST_VPP_UNKNOWN;
}

static bool counts_memory(const plait_validation *v, size_t row)
{
    const plait_run *const run = &v->runs->run[row];

    return v->price[row].priced && run->outcome == PLAIT_RUN_OK && isfinite(run->peak_bytes) &&
           run->scope != PLAIT_SCOPE_NONE && plan_is_known(run);
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
    return counts(v, row);
}

static bool key_sweep(const plait_validation *v, size_t row, const char **name, const char **scope)
{
    *name = v->runs->run[row].sweep;
    *scope = NULL;
    return counts(v, row) && (*name)[0] != '\0';
}

static bool key_accelerator(const plait_validation *v, size_t row, const char **name,
                            const char **scope)
{
    *name = v->runs->run[row].accelerator;
    *scope = NULL;
    return counts(v, row);
}

static bool key_memory(const plait_validation *v, size_t row, const char **name, const char **scope)
{
    *name = v->runs->run[row].source;
    *scope = plait_memory_scope_name[v->runs->run[row].scope];
    return counts_memory(v, row);
}

typedef double row_error(const plait_validation *v, size_t row);

/* Of those rows, or of all for NULL, that have a band; NaN without one. */
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

    if (errors == NULL || all == NULL || scratch == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(groups_of(v, key, arena, &groups, err));
    group = plait_arena_alloc(arena, groups.count, sizeof *group);
    if (group == NULL)
        return plait_fail_nomem(err);
    for (size_t g = 0; g < groups.count; g++) {
        for (size_t i = 0; i < groups.size[g]; i++)
            errors[i] = all[used++] = error(v, groups.row[g][i]);
        group[g] = (plait_error_group){
            .name = groups.name[g],
            .scope = groups.scope[g],
            .errors = statistics_errors(errors, groups.size[g], scratch),
            .inside =
                error == time_error ? share_in_band(v, groups.row[g], groups.size[g]) : (double)NAN,
        };
    }
    *out = group;
    *count = groups.count;
    *total = statistics_errors(all, used, scratch);
    return PLAIT_OK;
}

static plait_status sum_errors(plait_validation *v, plait_arena *arena, plait_error *err)
{
    row_key *const keys[PLAIT_RUN_KEYS] = {[PLAIT_BY_SOURCE] = key_source,
                                           [PLAIT_BY_SWEEP] = key_sweep,
                                           [PLAIT_BY_ACCELERATOR] = key_accelerator};
    plait_errors of_groups;

    for (int k = 0; k < PLAIT_RUN_KEYS; k++)
        PLAIT_TRY(sum_groups(v, keys[k], time_error, arena, &v->group[k], &v->groups[k],
                             k == PLAIT_BY_SOURCE ? &v->total : &of_groups, err));
    return sum_groups(v, key_memory, memory_error, arena, &v->memory, &v->memories,
                      &v->memory_total, err);
}

/* ---- what is predicted without a source ---- */

static bool has_source(const plait_runs *runs, const char *source)
{
    for (size_t i = 0; i < runs->count; i++)
        if (strcmp(runs->run[i].source, source) == 0)
            return true;
    return false;
}

/* Of the sources that the runs are from. */
static plait_status sum_left_out(plait_validation *v, plait_arena *arena, plait_error *err)
{
    plait_evidence evidence;
    plait_left_out *group;
    size_t groups;

    PLAIT_TRY(plait_evidence_find(arena, &evidence, err));
    PLAIT_TRY(plait_evidence_sum(&evidence, arena, &group, &groups, &v->left_out_total, err));
    for (size_t g = 0; g < groups; g++)
        if (has_source(v->runs, group[g].source))
            group[v->left_outs++] = group[g];
    v->left_out = group;
    return PLAIT_OK;
}

/* ---- ranking ---- */

/* What two runs of one plan differ by, where that is more than a few per cent. */
static double noise_of(const plait_run *run)
{
    return strcmp(run->runtime, "nanotron") == 0 ? 0.12 : 0.0;
}

/* The times of one sweep side by side. */
typedef struct sweep_times {
    double *predicted;
    double *measured;
    double *scratch; /* two of each */
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

/* Mean and median of one member over the sweeps; what is NaN is left out. */
static plait_rank_summary summarize(const plait_validation *v, size_t member, double *scratch)
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

static plait_status rank_sweeps(plait_validation *v, plait_arena *arena, plait_error *err)
{
    const size_t rows = v->runs->count;
    const sweep_times times = {plait_arena_alloc(arena, rows, sizeof(double)),
                               plait_arena_alloc(arena, rows, sizeof(double)),
                               plait_arena_alloc(arena, rows, 2 * sizeof(double))};
    plait_sweep_rank *sweep;
    row_groups groups;

    PLAIT_TRY(groups_of(v, key_sweep, arena, &groups, err));
    sweep = plait_arena_alloc(arena, groups.count, sizeof *sweep);
    if (sweep == NULL || times.predicted == NULL || times.measured == NULL || times.scratch == NULL)
        return plait_fail_nomem(err);
    for (size_t g = 0; g < groups.count; g++)
        if (groups.size[g] >= PLAIT_SWEEP_LEAST)
            sweep[v->sweeps++] =
                rank_sweep(v, groups.name[g], groups.row[g], groups.size[g], &times);
    v->sweep = sweep;
    v->spearman = summarize(v, offsetof(plait_sweep_rank, spearman), times.scratch);
    v->kendall = summarize(v, offsetof(plait_sweep_rank, kendall), times.scratch);
    v->regret = summarize(v, offsetof(plait_sweep_rank, regret), times.scratch);
    v->regret_beyond_noise =
        summarize(v, offsetof(plait_sweep_rank, regret_beyond_noise), times.scratch);
    return PLAIT_OK;
}

/* ---- running out of memory ---- */

static bool key_known(const plait_validation *v, size_t row, const char **name, const char **scope)
{
    const plait_run *const run = &v->runs->run[row];

    *name = run->source;
    *scope = NULL;
    return v->price[row].priced && plan_is_known(run) && run->trust != PLAIT_TRUST_OFFLOAD;
}

static void confuse(const plait_validation *v, size_t row, plait_confusion *out)
{
    const bool failed = v->runs->run[row].outcome != PLAIT_RUN_OK;
    const bool predicted = v->price[row].verdict == PLAIT_OUT_OF_MEMORY;

    out->true_positives += failed && predicted;
    out->false_negatives += failed && !predicted;
    out->false_positives += !failed && predicted;
    out->true_negatives += !failed && !predicted;
}

static plait_status sum_confusions(plait_validation *v, plait_arena *arena, plait_error *err)
{
    plait_confusion *confusion;
    row_groups groups;

    PLAIT_TRY(groups_of(v, key_known, arena, &groups, err));
    confusion = plait_arena_alloc(arena, groups.count, sizeof *confusion);
    if (confusion == NULL)
        return plait_fail_nomem(err);
    for (size_t g = 0; g < groups.count; g++) {
        plait_confusion of_group = {.source = groups.name[g]};

        for (size_t i = 0; i < groups.size[g]; i++) {
            confuse(v, groups.row[g][i], &of_group);
            confuse(v, groups.row[g][i], &v->confusion_total);
        }
        of_group.balanced_accuracy = statistics_balanced_accuracy(&of_group);
        if (of_group.true_positives + of_group.false_negatives > 0)
            confusion[v->confusions++] = of_group;
    }
    v->confusion = confusion;
    v->confusion_total.balanced_accuracy = statistics_balanced_accuracy(&v->confusion_total);
    return PLAIT_OK;
}

/* ---- the worst rows, and those without a price ---- */

static void find_worst(plait_validation *v)
{
    for (size_t row = 0; row < v->runs->count; row++) {
        size_t place = v->worst_count;

        if (!counts(v, row))
            continue;
        while (place > 0 && fabs(time_error(v, row)) > fabs(time_error(v, v->worst[place - 1])))
            place--;
        if (place == PLAIT_WORST_RUNS)
            continue;
        if (v->worst_count < PLAIT_WORST_RUNS)
            v->worst_count++;
        for (size_t i = v->worst_count - 1; i > place; i--)
            v->worst[i] = v->worst[i - 1];
        v->worst[place] = row;
    }
}

static bool key_reason(const plait_validation *v, size_t row, const char **name, const char **scope)
{
    *name = v->price[row].note;
    *scope = NULL;
    return !v->price[row].priced;
}

static plait_status list_unpriced(plait_validation *v, plait_arena *arena, plait_error *err)
{
    plait_unpriced *unpriced;
    row_groups groups;

    PLAIT_TRY(groups_of(v, key_reason, arena, &groups, err));
    unpriced = plait_arena_alloc(arena, groups.count, sizeof *unpriced);
    if (unpriced == NULL)
        return plait_fail_nomem(err);
    for (size_t g = 0; g < groups.count; g++) {
        const plait_unpriced of_group = {groups.name[g], groups.size[g],
                                         v->runs->run[groups.row[g][0]].id};
        size_t place = g;

        for (; place > 0 && unpriced[place - 1].rows < of_group.rows; place--)
            unpriced[place] = unpriced[place - 1];
        unpriced[place] = of_group;
    }
    v->reasons = groups.count;
    v->unpriced = unpriced;
    return PLAIT_OK;
}

/* ---- the whole ---- */

static plait_status price_all(const plait_runs *runs, plait_arena *arena, plait_validation *out,
                              plait_error *err)
{
    plait_run_price *price = plait_arena_alloc(arena, runs->count, sizeof *price);
    library shelf = {.arena = arena};

    if (price == NULL)
        return plait_fail_nomem(err);
    for (size_t i = 0; i < runs->count; i++) {
        PLAIT_TRY(evaluate_run(&shelf, &runs->run[i], arena, &price[i], err));
        out->priced += price[i].priced;
        out->timed += plait_run_timed(&runs->run[i]);
        out->timed_priced += price[i].priced && plait_run_timed(&runs->run[i]);
    }
    out->price = price;
    return PLAIT_OK;
}

plait_status plait_validate(const plait_runs *runs, plait_arena *arena, plait_validation *out,
                            plait_error *err)
{
    *out = (plait_validation){.runs = runs};
    PLAIT_TRY(price_all(runs, arena, out, err));
    PLAIT_TRY(sum_errors(out, arena, err));
    out->inside = share_in_band(out, NULL, runs->count);
    PLAIT_TRY(sum_left_out(out, arena, err));
    PLAIT_TRY(rank_sweeps(out, arena, err));
    PLAIT_TRY(sum_confusions(out, arena, err));
    find_worst(out);
    return list_unpriced(out, arena, err);
}
