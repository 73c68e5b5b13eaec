/* validate.c - compare predictions with measured runs: price all rows, summarise errors by group */
#include "plait/validate.h"

#include <math.h>
#include <string.h>

#include "validate/setup.h"
#include "validate/statistics.h"
#include "validate/sums.h"

/* ---- one row ---- */

/* Returns whether the row has a price and a trusted step time. */
static bool row_counts(const plait_validation *v, size_t row)
{
    return v->price[row].priced && plait_run_timed(&v->runs->run[row]);
}

static double time_error(const plait_validation *v, size_t row)
{
    return v->price[row].cost.step_s / v->runs->run[row].step_s - 1.0;
}

static double memory_error(const plait_validation *v, size_t row)
{
    return v->price[row].memory_bytes / v->runs->run[row].peak_bytes - 1.0;
}

/*
 * Returns whether the run's recomputation and interleaving are published; without both, predicted
 * memory is not comparable.
 */
static bool plan_is_known(const plait_run *run)
{
    return run->trust != PLAIT_TRUST_RECOMPUTE_UNKNOWN && run->trust != PLAIT_TRUST_VPP_UNKNOWN;
}

/* ---- keys of rows ---- */

bool row_source(const plait_validation *v, size_t row, const char **name, const char **scope)
{
    (void)scope;
    *name = v->runs->run[row].source;
    return row_counts(v, row);
}

bool row_sweep(const plait_validation *v, size_t row, const char **name, const char **scope)
{
    (void)scope;
    *name = v->runs->run[row].sweep;
    return row_counts(v, row) && (*name)[0] != '\0';
}

static bool row_accelerator(const plait_validation *v, size_t row, const char **name,
                            const char **scope)
{
    (void)scope;
    *name = v->runs->run[row].accelerator;
    return row_counts(v, row);
}

/* Groups runs by their cost terms: with experts, dense in 8 or 4 bits, dense in 16 bits. */
static bool row_layers(const plait_validation *v, size_t row, const char **name, const char **scope)
{
    (void)scope;
    if (!row_counts(v, row))
        return false;
    *name = v->runs->run[row].experts > 1                      ? "experts"
            : v->price[row].problem.job.precision >= PLAIT_FP8 ? "dense, 8 or 4 bits"
                                                               : "dense, 16 bits";
    return true;
}

static bool row_memory(const plait_validation *v, size_t row, const char **name, const char **scope)
{
    const plait_run *const run = &v->runs->run[row];

    *name = run->source;
    *scope = plait_memory_scope_name[run->scope];
    return v->price[row].priced && run->outcome == PLAIT_RUN_OK && isfinite(run->peak_bytes) &&
           run->scope != PLAIT_SCOPE_NONE && plan_is_known(run);
}

/* Groups the rows whose outcome is comparable with the predicted verdict. */
static bool row_outcome(const plait_validation *v, size_t row, const char **name,
                        const char **scope)
{
    const plait_run *const run = &v->runs->run[row];

    (void)scope;
    *name = run->source;
    return v->price[row].priced && plan_is_known(run) && run->recompute[0] != '\0' &&
           run->trust != PLAIT_TRUST_OFFLOAD;
}

static bool row_unpriced(const plait_validation *v, size_t row, const char **name,
                         const char **scope)
{
    (void)scope;
    *name = v->price[row].note;
    return !v->price[row].priced;
}

static bool texts_equal(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

plait_status groups_of(const plait_validation *v, row_key *key, plait_arena *arena, row_groups *out,
                       plait_error *err)
{
    const size_t rows = v->runs->count;
    size_t *group_of = plait_arena_alloc(arena, rows, sizeof *group_of);
    size_t *place = plait_arena_alloc(arena, rows, sizeof *place);

    *out = (row_groups){
        .name = plait_arena_alloc(arena, rows, sizeof *out->name),
        .scope = plait_arena_alloc(arena, rows, sizeof *out->scope),
        .size = plait_arena_alloc(arena, rows, sizeof *out->size),
        .row = plait_arena_alloc(arena, rows, sizeof *out->row),
    };
    PLAIT_TRY(plait_check_allocated(
        group_of && place && out->name && out->scope && out->size && out->row, err));
    for (size_t i = 0; i < rows; i++) {
        const char *name, *scope = NULL;
        size_t g = 0;

        group_of[i] = rows;
        if (!key(v, i, &name, &scope))
            continue;
        while (g < out->count &&
               !(texts_equal(out->name[g], name) && texts_equal(out->scope[g], scope)))
            g++;
        group_of[i] = g;
        if (g == out->count) {
            out->name[g] = name;
            out->scope[g] = scope;
            out->size[out->count++] = 0;
        }
        out->size[g]++;
    }
    for (size_t g = 0, used = 0; g < out->count; used += out->size[g++])
        out->row[g] = place + used;
    memset(out->size, 0, out->count * sizeof *out->size);
    for (size_t i = 0; i < rows; i++)
        if (group_of[i] < out->count)
            out->row[group_of[i]][out->size[group_of[i]]++] = i;
    return PLAIT_OK;
}

/* ---- errors ---- */

/*
 * Returns the share of step times inside their band, over the rows that have a band; NaN without
 * such rows. `row` NULL: all rows.
 */
static double share_in_band(const plait_validation *v, const size_t *row, size_t count)
{
    size_t with = 0, inside = 0;

    for (size_t i = 0; i < count; i++) {
        const size_t at = row != NULL ? row[i] : i;
        const plait_cost *const cost = &v->price[at].cost;
        const double measured_s = v->runs->run[at].step_s;

        if (!row_counts(v, at) || !isfinite(cost->step_low_s))
            continue;
        with++;
        inside += cost->step_low_s <= measured_s && measured_s <= cost->step_high_s;
    }
    return with > 0 ? (double)inside / (double)with : (double)NAN;
}

static plait_status sum_errors(const plait_validation *v, row_key *key,
                               double (*error)(const plait_validation *, size_t),
                               plait_arena *arena, const plait_error_group **out, size_t *count,
                               plait_errors *total, plait_error *err)
{
    const size_t rows = v->runs->count;
    double *errors = plait_arena_alloc(arena, rows, sizeof *errors);
    double *scratch = plait_arena_alloc(arena, rows, sizeof *scratch);
    plait_error_group *group;
    row_groups groups;
    size_t used = 0;

    PLAIT_TRY(plait_check_allocated(errors && scratch, err));
    PLAIT_TRY(groups_of(v, key, arena, &groups, err));
    group = plait_arena_alloc(arena, groups.count, sizeof *group);
    PLAIT_TRY(plait_check_allocated(group, err));
    for (size_t g = 0; g < groups.count; used += groups.size[g++]) {
        for (size_t i = 0; i < groups.size[g]; i++)
            errors[used + i] = error(v, groups.row[g][i]);
        group[g] = (plait_error_group){
            .name = groups.name[g],
            .scope = groups.scope[g],
            .errors = statistics_errors(&errors[used], groups.size[g], scratch),
            .inside =
                error == time_error ? share_in_band(v, groups.row[g], groups.size[g]) : (double)NAN,
        };
    }
    *out = group;
    *count = groups.count;
    *total = statistics_errors(errors, used, scratch);
    return PLAIT_OK;
}

/* Summarises the evidence by groups, and keeps the groups whose sources occur in the runs. */
static plait_status sum_left_out(plait_validation *v, const plait_evidence *evidence,
                                 plait_arena *arena, plait_error *err)
{
    plait_left_out *group;
    size_t groups;

    PLAIT_TRY(plait_evidence_sum(evidence, arena, &group, &groups, &v->left_out_total, err));
    for (size_t g = 0; g < groups; g++) {
        size_t i = 0;

        while (i < v->runs->count && strcmp(v->runs->run[i].source, group[g].source) != 0)
            i++;
        if (i < v->runs->count)
            group[v->left_outs++] = group[g];
    }
    v->left_out = group;
    return PLAIT_OK;
}

/* ---- out of memory ---- */

static void count_confusion(const plait_validation *v, size_t row, plait_confusion *out)
{
    const bool failed = v->runs->run[row].outcome != PLAIT_RUN_OK;
    const bool predicted = v->price[row].verdict == PLAIT_OUT_OF_MEMORY;

    out->true_positives += failed && predicted;
    out->false_negatives += failed && !predicted;
    out->false_positives += !failed && predicted;
    out->true_negatives += !failed && !predicted;
    out->tight += !failed && v->price[row].verdict == PLAIT_TIGHT;
}

static plait_status sum_confusions(plait_validation *v, plait_arena *arena, plait_error *err)
{
    plait_confusion *confusion;
    row_groups groups;

    PLAIT_TRY(groups_of(v, row_outcome, arena, &groups, err));
    confusion = plait_arena_alloc(arena, groups.count, sizeof *confusion);
    PLAIT_TRY(plait_check_allocated(confusion, err));
    for (size_t g = 0; g < groups.count; g++) {
        confusion[g] = (plait_confusion){.source = groups.name[g]};
        for (size_t i = 0; i < groups.size[g]; i++) {
            count_confusion(v, groups.row[g][i], &confusion[g]);
            count_confusion(v, groups.row[g][i], &v->confusion_total);
        }
        confusion[g].balanced_accuracy = statistics_balanced_accuracy(&confusion[g]);
    }
    v->confusions = groups.count;
    v->confusion = confusion;
    v->confusion_total.balanced_accuracy = statistics_balanced_accuracy(&v->confusion_total);
    return PLAIT_OK;
}

/* ---- the worst rows, and those without a price ---- */

static void find_worst(plait_validation *v)
{
    for (size_t row = 0; row < v->runs->count; row++) {
        size_t place = v->worst_count;

        if (!row_counts(v, row))
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

static plait_status list_unpriced(plait_validation *v, plait_arena *arena, plait_error *err)
{
    plait_unpriced *unpriced;
    row_groups groups;

    PLAIT_TRY(groups_of(v, row_unpriced, arena, &groups, err));
    unpriced = plait_arena_alloc(arena, groups.count, sizeof *unpriced);
    PLAIT_TRY(plait_check_allocated(unpriced, err));
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

/* ---- validation ---- */

plait_status plait_validate_prices(const plait_runs *runs, plait_arena *arena,
                                   plait_validation *out, plait_error *err)
{
    plait_run_price *price = plait_arena_alloc(arena, runs->count, sizeof *price);
    library shelf = {.arena = arena};

    *out = (plait_validation){.runs = runs};
    PLAIT_TRY(plait_check_allocated(price, err));
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
    row_key *const keys[PLAIT_RUN_KEYS] = {[PLAIT_BY_SOURCE] = row_source,
                                           [PLAIT_BY_SWEEP] = row_sweep,
                                           [PLAIT_BY_ACCELERATOR] = row_accelerator,
                                           [PLAIT_BY_LAYERS] = row_layers};
    plait_evidence evidence;
    plait_errors of_groups;

    PLAIT_TRY(plait_evidence_find(arena, &evidence, err));
    PLAIT_TRY(plait_validate_prices(runs, arena, out, err));
    for (int k = 0; k < PLAIT_RUN_KEYS; k++)
        PLAIT_TRY(sum_errors(out, keys[k], time_error, arena, &out->group[k], &out->groups[k],
                             k == PLAIT_BY_SOURCE ? &out->total : &of_groups, err));
    out->inside = share_in_band(out, NULL, runs->count);
    PLAIT_TRY(sum_errors(out, row_memory, memory_error, arena, &out->memory, &out->memories,
                         &out->memory_total, err));
    PLAIT_TRY(sum_left_out(out, &evidence, arena, err));
    PLAIT_TRY(sum_sweeps(out, &evidence, arena, err));
    PLAIT_TRY(sum_confusions(out, arena, err));
    find_worst(out);
    return list_unpriced(out, arena, err);
}
