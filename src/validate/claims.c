/*
 * claims.c - gains that the model claims for techniques, against what measured runs gained (C.346)
 *
 *     claimed = log(predicted without the technique / predicted with it)
 *     error   = log(measured / predicted) with it - the mean of the same over runs without it
 *
 * A run is compared with the runs of the same job without the technique or, without such runs, with
 * those of the same generation of accelerators, the same use of experts and the same precision. The
 * profiles are fitted to all runs; a fit without the runs that use a technique would move its other
 * constants by less than the differences between jobs.
 */
#include <math.h>
#include <string.h>

#include "plait/search.h"
#include "validate/setup.h"
#include "validate/statistics.h"

/* ---- runs with and without a technique ---- */

static bool is_timed(const plait_validation *v, size_t row)
{
    return v->price[row].priced && plait_run_timed(&v->runs->run[row]) && !v->price[row].unmodelled;
}

static double residual(const plait_validation *v, size_t row)
{
    return log(v->runs->run[row].step_s / v->price[row].cost.step_s);
}

static bool is_on(const plait_run_price *price, plait_key_id key, int value)
{
    return plait_key_value(&price->degrees, key) == value &&
           plait_key_applies(&price->problem, &price->degrees, key);
}

static bool same_kind(const plait_run_price *a, const plait_run_price *b)
{
    const plait_regime x = plait_regime_of(&a->problem), y = plait_regime_of(&b->problem);

    return strcmp(a->run->runtime, b->run->runtime) == 0 && x.narrowest == y.narrowest &&
           x.rack == y.rack && x.experts == y.experts &&
           a->problem.job.precision == b->problem.job.precision;
}

/*
 * Returns the mean residual of runs without the value, of the row's job or else of its kind; NaN
 * without such runs.
 */
static double residual_without(const plait_validation *v, size_t row, plait_key_id key, int value)
{
    double sum[2] = {0.0, 0.0};
    int count[2] = {0, 0};

    for (size_t i = 0; i < v->runs->count; i++) {
        if (!is_timed(v, i) || is_on(&v->price[i], key, value) ||
            !same_kind(&v->price[i], &v->price[row]))
            continue;
        for (int kind = setup_same_job(&v->runs->run[i], &v->runs->run[row]) ? 0 : 1; kind < 2;
             kind++) {
            sum[kind] += residual(v, i);
            count[kind]++;
        }
    }
    return count[0] > 0 ? sum[0] / count[0] : count[1] > 0 ? sum[1] / count[1] : (double)NAN;
}

/* Returns log(step without the value / step with it), as predicted; NaN if the former has no price. */
static double claim_of(const plait_run_price *price, plait_key_id key, plait_arena *scratch)
{
    const plait_arena_mark mark = plait_arena_save(scratch);
    plait_degrees off = price->degrees;
    plait_cost cost = {.step_s = 0.0};
    plait_error ignored;
    plait_plan plan;

    plait_key_put(&off, key, plait_key_default(&price->problem, &off, key));
    const bool has_price =
        plait_plan_expand(&price->problem, &off, scratch, &plan, &ignored) == PLAIT_OK &&
        plait_plan_evaluate(&price->problem, &plan, NULL, scratch, &cost, &ignored) == PLAIT_OK &&
        cost.verdict != PLAIT_INVALID && cost.step_s > 0.0;

    plait_arena_rewind(scratch, mark);
    return has_price ? log(cost.step_s / price->cost.step_s) : (double)NAN;
}

/* ---- one technique ---- */

static void sum_claim(const plait_validation *v, plait_key_id key, int value, plait_arena *scratch,
                      plait_claim *out)
{
    double claims = 0.0, errors = 0.0, squares = 0.0, claim_squares = 0.0;

    *out = (plait_claim){.key = key, .value = value};
    for (size_t i = 0; i < v->runs->count; i++) {
        if (!is_timed(v, i) || !is_on(&v->price[i], key, value))
            continue;
        const double without = residual_without(v, i, key, value);
        const double claim = claim_of(&v->price[i], key, scratch);

        if (!isfinite(without) || !isfinite(claim))
            continue;
        const double error = residual(v, i) - without;
        out->rows++;
        claims += claim;
        errors += error;
        squares += error * error;
        claim_squares += claim * claim;
    }
    for (size_t i = 0; i < v->runs->count; i++)
        out->rows_without += is_timed(v, i) && !is_on(&v->price[i], key, value) &&
                             (plait_keys[key].matters == NULL ||
                              plait_keys[key].matters(&v->price[i].problem, &v->price[i].degrees));
    if (out->rows == 0)
        return;
    const double rows = (double)out->rows;

    out->claimed = exp(claims / rows) - 1.0;
    out->gained = exp((claims - errors) / rows) - 1.0;
    out->error = sqrt(squares / rows);
    out->claim = sqrt(claim_squares / rows);
}

plait_status plait_validate_claims(plait_validation *v, plait_arena *arena, plait_error *err)
{
    enum { LEAST = 6 };
    plait_claim *const claim =
        plait_arena_alloc(arena, PLAIT_KEYS * PLAIT_SUPPORT_VALUES, sizeof *claim);
    double squares = 0.0, claim_squares = 0.0;

    PLAIT_TRY(plait_check_allocated(claim, err));
    for (int key = 0; key < PLAIT_KEYS; key++)
        for (int value = 0;
             plait_evidence_judges((plait_key_id)key) && value < PLAIT_SUPPORT_VALUES &&
             (plait_key_all((plait_key_id)key) >> value & 1u);
             value++) {
            plait_claim *const one = &claim[v->claims];

            sum_claim(v, (plait_key_id)key, value, arena, one);
            if (one->rows < LEAST || one->rows_without < LEAST || one->claim <= 0.0)
                continue;
            v->claims++;
            // The rates of attention kernels come from measurements of kernels, not of steps.
            if (key == PLAIT_KEY_ATTENTION)
                continue;
            squares += one->error * one->error;
            claim_squares += one->claim * one->claim;
        }
    v->claim = claim;
    v->half_at = claim_squares > 0.0 ? squares / claim_squares : (double)NAN;
    return PLAIT_OK;
}
