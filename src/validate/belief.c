/*
 * belief.c - normal posterior of step times, its update by measurements, and choice of plans to try
 */
#include "plait/validate.h"
#include "base/numbers.h"
#include "base/random.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

/* Standard deviation of the logarithm of step times over repeats of one plan. */
static const double repeats = 0.01;

// ---- the posterior -------------------------------------------------------------------------

static bool is_deviation(double number)
{
    return number >= 0.0 && number <= 1e30; // the limit keeps sums of squares finite
}

plait_status plait_posterior_make(const plait_degrees *const *degrees, const double *predicted_s,
                                  int plans, const plait_error_parts *parts, plait_arena *arena,
                                  plait_posterior *out, plait_error *err)
{
    if (plans < 1 || plans > PLAIT_MAX_BELIEF)
        return plait_fail(err, PLAIT_ERROR_RANGE, "plans", "expected 1 to %d plans, found %d",
                          PLAIT_MAX_BELIEF, plans);
    for (int i = 0; i < plans; i++)
        if (!(predicted_s[i] > 0.0 && isfinite(predicted_s[i])))
            return plait_fail(err, PLAIT_ERROR_RANGE, "predicted_s",
                              "expected step times above 0 s, found %g", predicted_s[i]);
    bool valid = parts != NULL && is_deviation(parts->common) && is_deviation(parts->own);
    for (int t = 0; valid && t < PLAIT_TRAITS; t++)
        valid = is_deviation(parts->trait[t]);
    if (!valid)
        return plait_fail(err, PLAIT_ERROR_RANGE, "parts",
                          "expected standard deviations of 0 or more, found others");
    const size_t n = (size_t)plans;
    int(*trait)[PLAIT_TRAITS] = plait_arena_alloc(arena, n + 1, sizeof *trait);

    *out = (plait_posterior){
        .plans = plans,
        .mean = plait_arena_alloc(arena, n + 1, sizeof *out->mean),
        .covariance = plait_arena_alloc(arena, n * n + 1, sizeof *out->covariance),
        .measured = plait_arena_alloc(arena, n + 1, sizeof *out->measured),
    };
    PLAIT_TRY(plait_check_allocated(trait && out->mean && out->covariance && out->measured, err));
    for (int i = 0; i < plans; i++) {
        plait_traits_of(degrees[i], trait[i]);
        out->mean[i] = log(predicted_s[i]);
        for (int j = 0; j <= i; j++) {
            double sum = parts->common * parts->common;

            for (int t = 0; t < PLAIT_TRAITS; t++)
                if (trait[i][t] == trait[j][t])
                    sum += parts->trait[t] * parts->trait[t];
            out->covariance[i * plans + j] = out->covariance[j * plans + i] =
                sum + (i == j ? parts->own * parts->own : 0.0);
        }
    }
    return PLAIT_OK;
}

/*
 * C.341: condition the normal distribution on one measurement. The mean of each plan moves in
 * proportion to its covariance with the measured plan, and covariances shrink.
 */
void plait_posterior_measure(plait_posterior *b, int plan, double seconds)
{
    if (plan < 0 || plan >= b->plans || !(seconds > 0.0 && isfinite(seconds)))
        return;
    const int n = b->plans;
    const double known = b->covariance[plan * n + plan] + repeats * repeats;
    const double surprise = log(seconds) - b->mean[plan];
    double share[PLAIT_MAX_BELIEF];

    for (int i = 0; i < n; i++)
        share[i] = b->covariance[i * n + plan] / known;
    for (int i = 0; i < n; i++) {
        b->mean[i] += share[i] * surprise;
        for (int j = 0; j < n; j++)
            b->covariance[i * n + j] -= share[i] * share[j] * known;
    }
    b->measured[plan] = true;
}

plait_plan_posterior plait_posterior_of_plan(const plait_posterior *b, int plan)
{
    static const double quantile90 = 1.2815515655446004;
    const double nan = (double)NAN;

    if (plan < 0 || plan >= b->plans)
        return (plait_plan_posterior){nan, nan, nan};
    const double sigma = sqrt(fmax(0.0, b->covariance[plan * b->plans + plan]));
    const double step_s = exp(b->mean[plan]);

    return (plait_plan_posterior){step_s, step_s * exp(-quantile90 * sigma),
                                  step_s * exp(quantile90 * sigma)};
}

// ---- choice of plans to try ----------------------------------------------------------------

enum { DRAWS = 4000 };

/*
 * Draws samples of the logarithms of all step times into out[DRAWS x plans], with the Cholesky
 * factor L of the covariance L L'. Diagonal elements within rounding of 0 count as 0. `l` [plans x
 * plans] and `z` [plans] are scratch.
 */
static void draw_steps(const plait_posterior *b, double *l, double *z, double *out)
{
    const int n = b->plans;
    uint64_t state = 1;

    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++) {
            double rest = b->covariance[i * n + j];
            for (int k = 0; k < j; k++)
                rest -= l[i * n + k] * l[j * n + k];
            if (i == j)
                l[i * n + i] = rest > 1e-15 ? sqrt(rest) : 0.0;
            else
                l[i * n + j] = l[j * n + j] > 0.0 ? rest / l[j * n + j] : 0.0;
        }
    for (int d = 0; d < DRAWS; d++)
        for (int i = 0; i < n; i++) {
            double sum = b->mean[i];
            z[i] = random_normal(&state);
            for (int k = 0; k <= i; k++)
                sum += l[i * n + k] * z[k];
            out[(size_t)d * (size_t)n + (size_t)i] = sum;
        }
}

typedef struct trial {
    const plait_posterior *belief;
    const double *step; /* [DRAWS x plans] */
    double *best;       /* [DRAWS] least step time of all plans */
    double *tried;      /* [DRAWS] least step time of plans tried or measured; infinite if none */
} trial;

static double step_at(const trial *t, int draw, int plan)
{
    return t->step[(size_t)draw * (size_t)t->belief->plans + (size_t)plan];
}

/*
 * Adds one plan to the tries: the plan with which the mean relative loss is least. Returns false if
 * all plans are already tried or measured.
 */
static bool try_best(trial *t, plait_tries *out)
{
    int best = -1;
    double least = HUGE_VAL;

    for (int i = 0; i < t->belief->plans; i++) {
        bool taken = t->belief->measured[i];
        double sum = 0.0;

        for (int k = 0; k < out->count && !taken; k++)
            taken = out->plan[k] == i;
        if (taken)
            continue;
        for (int d = 0; d < DRAWS; d++)
            sum += exp(fmin(t->tried[d], step_at(t, d, i)) - t->best[d]) - 1.0;
        if (sum / DRAWS < least) {
            least = sum / DRAWS;
            best = i;
        }
    }
    if (best < 0)
        return false;
    for (int d = 0; d < DRAWS; d++)
        t->tried[d] = fmin(t->tried[d], step_at(t, d, best));
    out->plan[out->count] = best;
    out->regret[out->count++] = least;
    return true;
}

plait_status plait_posterior_tries(const plait_posterior *b, int most, plait_arena *scratch,
                                   plait_tries *out, plait_error *err)
{
    if (b->plans < 1 || b->plans > PLAIT_MAX_BELIEF || most < 1 || most > PLAIT_MAX_TRIES)
        return plait_fail(err, PLAIT_ERROR_RANGE, "belief",
                          "expected 1 to %d plans and 1 to %d tries, found %d and %d",
                          PLAIT_MAX_BELIEF, PLAIT_MAX_TRIES, b->plans, most);
    const plait_arena_mark mark = plait_arena_save(scratch);
    const size_t n = (size_t)b->plans;
    double *l = plait_arena_alloc(scratch, n * n + 1, sizeof *l);
    double *z = plait_arena_alloc(scratch, n + DRAWS, sizeof *z);
    double *step = plait_arena_alloc(scratch, n * DRAWS + 1, sizeof *step);
    trial t = {b, step, plait_arena_alloc(scratch, DRAWS, sizeof *t.best),
               plait_arena_alloc(scratch, DRAWS, sizeof *t.tried)};
    bool any_measured = false;
    double sum = 0.0;

    *out = (plait_tries){.now = HUGE_VAL, .gain = 1.0};
    PLAIT_TRY(plait_check_allocated(l && z && step && t.best && t.tried, err));
    draw_steps(b, l, z, step);
    for (int d = 0; d < DRAWS; d++) {
        t.best[d] = t.tried[d] = HUGE_VAL;
        for (int i = 0; i < b->plans; i++) {
            t.best[d] = fmin(t.best[d], step_at(&t, d, i));
            if (b->measured[i])
                t.tried[d] = fmin(t.tried[d], step_at(&t, d, i));
            any_measured = any_measured || b->measured[i];
        }
    }
    if (any_measured) {
        // Compute the best measured plan's mean relative loss and the 95 % quantile of the gain.
        for (int d = 0; d < DRAWS; d++) {
            z[d] = 1.0 - exp(t.best[d] - t.tried[d]);
            sum += exp(t.tried[d] - t.best[d]) - 1.0;
        }
        qsort(z, DRAWS, sizeof *z, compare_doubles);
        out->now = sum / DRAWS;
        out->gain = z[DRAWS * 95 / 100];
    }
    while (out->count < most && try_best(&t, out))
        ;
    plait_arena_rewind(scratch, mark);
    return PLAIT_OK;
}
