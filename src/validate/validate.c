/* validate.c - validate predictions against measured runs: price all rows and summarise */
#include "plait/validate.h"

#include <math.h>
#include <string.h>

#include "validate/evaluate.h"
#include "validate/groups.h"
#include "validate/sums.h"

/* ---- predictions without a source's own runs ---- */

static bool has_source(const plait_runs *runs, const char *source)
{
    for (size_t i = 0; i < runs->count; i++)
        if (strcmp(runs->run[i].source, source) == 0)
            return true;
    return false;
}

/* Summarises the evidence, and keeps the groups whose sources occur in the runs. */
static plait_status sum_left_out(plait_validation *v, const plait_evidence *evidence,
                                 plait_arena *arena, plait_error *err)
{
    plait_left_out *group;
    size_t groups;

    PLAIT_TRY(plait_evidence_sum(evidence, arena, &group, &groups, &v->left_out_total, err));
    for (size_t g = 0; g < groups; g++)
        if (has_source(v->runs, group[g].source))
            group[v->left_outs++] = group[g];
    v->left_out = group;
    return PLAIT_OK;
}

/* ---- the worst rows, and those without a price ---- */

static void find_worst(plait_validation *v)
{
    for (size_t row = 0; row < v->runs->count; row++) {
        size_t place = v->worst_count;

        if (!row_counts(v, row))
            continue;
        while (place > 0 &&
               fabs(row_time_error(v, row)) > fabs(row_time_error(v, v->worst[place - 1])))
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
    plait_evidence evidence;

    PLAIT_TRY(plait_evidence_find(arena, &evidence, err));
    PLAIT_TRY(plait_validate_prices(runs, arena, out, err));
    PLAIT_TRY(sum_errors(out, arena, err));
    PLAIT_TRY(sum_left_out(out, &evidence, arena, err));
    PLAIT_TRY(sum_ranks(out, arena, err));
    PLAIT_TRY(sum_replay(out, &evidence, arena, err));
    PLAIT_TRY(sum_confusions(out, arena, err));
    find_worst(out);
    return list_unpriced(out, arena, err);
}
