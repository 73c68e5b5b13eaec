/*
 * fit.c - robust fit of the constants of a cost function to measured times
 *
 * The fit represents a number by z = log(u / (1 - u)), where u is the number's position between its
 * bounds, from 0 to 1 (in logarithms if the number `scales`). With r_i = log(predicted / measured)
 * of point i, its weight w_i, and the `sweep_weight` D, the fit minimises
 *
 *     sum_i w_i v_i ((r_i / s)^2 + D ((r_i - mean of its sweep) / s)^2) + sum_j ((z_j - prior_j) / PRIOR)^2
 *
 * where s is 1.48 times the median |r|, and v_i = 1 / (1 + (r_i / 2.385 s)^2) is Cauchy's weight.
 * The fit alternates between computing v and minimising over z. (Holland and Welsch, "Robust
 * regression using iteratively reweighted least-squares", Communications in Statistics A6, 1977.)
 */
#include "calibrate/fit.h"

#include <assert.h>
#include <cminpack.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/numbers.h"
#include "base/text.h"

/* Standard deviation of the prior in z: one deviation covers 2/3 of the range of the bounds. */
#define PRIOR 1.6
/* Least distance of u from 0 and 1, so that z is finite. */
#define EDGE 1e-3
/* Cauchy's tuning constant, for an efficiency of 95 % if the errors are normal. */
#define CAUCHY 2.385
/* Lower limit of the scale s, unless the problem has a larger one. */
#define LEAST_SCALE 1e-3
/* Largest residual, a factor of e^20. Points without a finite prediction have this residual. */
#define WORST 20.0

enum { TURNS = 6, STARTS = 4 };

/* Cached residuals of the training points, with the numbers from which they were computed. */
typedef struct fit_taken {
    bool any;
    double number[FIT_MAX_NUMBERS];
    double *error;
} fit_taken;

typedef struct fit_state {
    const fit_problem *problem;
    plait_arena *arena;
    fit_taken *taken;          /* shared by copies of the state */
    int free[FIT_MAX_NUMBERS]; /* indices of the numbers that are fitted */
    int frees;
    double prior[FIT_MAX_NUMBERS];   /* prior means of all numbers, as z */
    double initial[FIT_MAX_NUMBERS]; /* values of all numbers before the fit */
    const fit_point **train;
    double *weight;      /* [trains]: square root of w_i v_i, over s */
    double *residual;    /* scratch [trains] */
    int *sweep;          /* [trains]: index of the point's sweep; -1: none */
    double *mean;        /* [sweeps]: weighted sum of the sweep's residuals */
    double *mean_weight; /* [sweeps]: sum of the weights of the sweep's residuals */
    int sweeps;
    int trains;
    int turns; /* finished iterations, for progress */
} fit_state;

// ---- numbers and their z -------------------------------------------------------------------

static double *number_address(const fit_problem *problem, int number)
{
    return (double *)(void *)((char *)problem->subject + problem->number[number].offset);
}

static double to_number(const fit_number *n, double z)
{
    const double u = 1.0 / (1.0 + exp(-z));

    return n->scales ? n->low * pow(n->high / n->low, u) : n->low + (n->high - n->low) * u;
}

double fit_rounded(double number, double unit)
{
    char digits[32];
    double rounded = number;

    snprintf(digits, sizeof digits, "%.3g", number / unit);
    return text_parse_number(digits, &rounded) ? rounded * unit : number;
}

// ---- residuals -----------------------------------------------------------------------------

static double log_error(const fit_problem *problem, const fit_point *point)
{
    const double s = problem->predict_s(problem->subject, point->what);
    const double r = s > 0.0 ? log(s / point->measured_s) : WORST;

    return isfinite(r) ? fmin(fmax(r, -WORST), WORST) : WORST;
}

/*
 * Returns the residuals of the training points, from the cache if the numbers are those of the last
 * call: the fit needs the residuals several times in a row for the same numbers.
 */
static const double *log_errors(const fit_state *state)
{
    const fit_problem *const problem = state->problem;
    fit_taken *const taken = state->taken;
    bool same = taken->any;

    for (int i = 0; i < problem->numbers; i++) {
        const double number = *number_address(problem, i);

        same = same && taken->number[i] == number;
        taken->number[i] = number;
    }
    for (int i = 0; !same && i < state->trains; i++)
        taken->error[i] = log_error(problem, state->train[i]);
    taken->any = true;
    return taken->error;
}

/* Sets the free numbers of the subject from z. */
static void set_numbers(const fit_state *state, const double *z)
{
    for (int i = 0; i < state->frees; i++) {
        const int number = state->free[i];
        *number_address(state->problem, number) = to_number(&state->problem->number[number], z[i]);
    }
}

/* Returns the distance of a free number from its prior, in standard deviations of the prior. */
static double from_prior(const fit_state *state, const double *z, int i)
{
    const int number = state->free[i];
    const fit_number *const n = &state->problem->number[number];

    return n->spread > 0.0 ? log(to_number(n, z[i]) / state->initial[number]) / n->spread
                           : (z[i] - state->prior[number]) / PRIOR;
}

/*
 * Computes the distance of each residual from the mean of its sweep; 0 for points without a sweep.
 */
static void fill_differences(const fit_state *state, const double *r, double *out)
{
    for (int s = 0; s < state->sweeps; s++)
        state->mean[s] = state->mean_weight[s] = 0.0;
    for (int i = 0; i < state->trains; i++) {
        const double weight = state->weight[i] * state->weight[i];

        if (state->sweep[i] < 0)
            continue;
        state->mean[state->sweep[i]] += weight * r[i];
        state->mean_weight[state->sweep[i]] += weight;
    }
    for (int i = 0; i < state->trains; i++) {
        const int s = state->sweep[i];

        out[i] = s >= 0 && state->mean_weight[s] > 0.0
                     ? r[i] - state->mean[s] / state->mean_weight[s]
                     : 0.0;
    }
}

/* Computes the residuals at z, as a callback of lmdif. */
static int fill_residuals(void *context, int residuals, int numbers, const double *z,
                          double *residual, int flag)
{
    const fit_state *state = context;
    double *next = residual + state->trains;

    (void)residuals;
    (void)numbers;
    (void)flag;
    set_numbers(state, z);
    const double *const error = log_errors(state);
    if (state->sweeps > 0) {
        fill_differences(state, error, next);
        for (int i = 0; i < state->trains; i++)
            next[i] *= sqrt(state->problem->sweep_weight) * state->weight[i];
        next += state->trains;
    }
    for (int i = 0; i < state->trains; i++)
        residual[i] = error[i] * state->weight[i];
    for (int i = 0; i < state->frees; i++)
        next[i] = from_prior(state, z, i);
    return 0;
}

static void update_weights(fit_state *state, double scale)
{
    const double *const error = log_errors(state);

    for (int i = 0; i < state->trains; i++) {
        const double r = error[i] / (CAUCHY * scale);
        state->weight[i] = sqrt(state->train[i]->weight / (1.0 + r * r)) / scale;
    }
}

/* Returns Cauchy's cost of one residual. */
static double cauchy_cost(const fit_state *state, int i, double residual, double scale)
{
    const double r = residual / (CAUCHY * scale);

    return state->train[i]->weight * CAUCHY * CAUCHY * log1p(r * r);
}

/*
 * Returns the cost that the reweighted fit minimises: Cauchy's cost of the residuals at a given
 * scale, plus the cost of the prior.
 */
static double robust_cost(fit_state *state, const double *z, double scale)
{
    double *const difference = state->residual;
    double cost = 0.0;

    set_numbers(state, z);
    const double *const r = log_errors(state);
    for (int i = 0; i < state->trains; i++)
        cost += cauchy_cost(state, i, r[i], scale);
    if (state->sweeps > 0) {
        update_weights(state, scale);
        fill_differences(state, r, difference);
        for (int i = 0; i < state->trains; i++)
            cost += state->problem->sweep_weight * cauchy_cost(state, i, difference[i], scale);
    }
    for (int i = 0; i < state->frees; i++)
        cost += from_prior(state, z, i) * from_prior(state, z, i);
    return cost;
}

// ---- one minimum ---------------------------------------------------------------------------

/*
 * Minimises the sum of squares over z by the Levenberg-Marquardt method with finite differences
 * (MINPACK's lmdif). Sets `variance`, which may be NULL, to the variance of each number if the
 * residuals have unit variance. Returns false when out of memory.
 */
static bool minimise_squares(fit_state *state, double *z, double *variance)
{
    enum { MOST_EVALUATIONS = 25 }; // upper limit, times the number of free numbers plus 1
    // lmdif stops when the relative change of the sum of squares or of z is below `tolerance`.
    // `precision` is the relative error of the residuals; its square root, 1e-4, is lmdif's step
    // for derivatives.
    static const double tolerance = 1e-6, precision = 1e-8;
    const int m = state->trains * (state->sweeps > 0 ? 2 : 1) + state->frees, n = state->frees;
    const plait_arena_mark mark = plait_arena_save(state->arena);
    // The work arrays: jacobian [m x n], residual and d [m], and five of [n].
    double *const jacobian =
        plait_arena_alloc(state->arena, (size_t)m * ((size_t)n + 2), sizeof *jacobian);
    double *const scale = plait_arena_alloc(state->arena, (size_t)n, 5 * sizeof *scale);
    int *const pivot = plait_arena_alloc(state->arena, (size_t)n, sizeof *pivot);
    int evaluations = 0;

    if (jacobian == NULL || scale == NULL || pivot == NULL) {
        plait_arena_rewind(state->arena, mark);
        return false;
    }
    double *const residual = jacobian + (size_t)m * (size_t)n, *const d = residual + m;
    double *const projected = scale + n, *const a = scale + 2 * n, *const b = scale + 3 * n;
    // The reason for stopping does not matter, since z is always the best point so far.
    (void)lmdif(fill_residuals, state, m, n, z, residual, tolerance, tolerance, 0.0,
                MOST_EVALUATIONS * (n + 1), precision, scale, 1, 1.0, 0, &evaluations, jacobian, m,
                pivot, projected, a, b, scale + 4 * n, d);
    if (variance != NULL) {
        covar(n, jacobian, m, pivot, 0.0, a);
        for (int i = 0; i < n; i++)
            variance[i] = jacobian[(size_t)i * (size_t)m + (size_t)i];
    }
    plait_arena_rewind(state->arena, mark);
    return true;
}

/*
 * Alternates between computing weights and fitting numbers, starting at z. Returns the last scale
 * s, 1.48 times the median |r| (the standard deviation if errors are normal); < 0: out of memory.
 */
static double fit_until_stable(fit_state *state, double *z, double *variance)
{
    const double foreseen = (STARTS + 2) * TURNS;
    const fit_watch *const watch = state->problem->watch;
    double scale = 0.0;

    for (int turn = 0; turn < TURNS; turn++) {
        set_numbers(state, z);
        const double *const error = log_errors(state);
        for (int i = 0; i < state->trains; i++)
            state->residual[i] = fabs(error[i]);
        qsort(state->residual, (size_t)state->trains, sizeof *state->residual, compare_doubles);
        scale = fmax(1.4826 * state->residual[state->trains / 2],
                     fmax(state->problem->least_scale, LEAST_SCALE));
        update_weights(state, scale);
        if (!minimise_squares(state, z, variance))
            return -1.0;
        // Dropping numbers can take more iterations than estimated, so limit the progress to 99 %.
        state->turns++;
        if (watch != NULL)
            watch->show(watch->context, smaller(state->turns / foreseen, 0.99));
    }
    set_numbers(state, z);
    return scale;
}

/* Fits from several starts, the prior and offsets from the prior with alternating signs. */
static plait_status best_start(fit_state *state, double *z, plait_error *err)
{
    static const double side[STARTS] = {0.0, 0.7, -0.7, 1.2};
    double found[STARTS][FIT_MAX_NUMBERS];
    double least_scale = HUGE_VAL, least = HUGE_VAL;

    for (int s = 0; s < STARTS; s++) {
        for (int i = 0; i < state->frees; i++)
            found[s][i] = state->prior[state->free[i]] + (i % 2 == 0 ? side[s] : -side[s]);
        const double scale = fit_until_stable(state, found[s], NULL);
        if (scale < 0.0)
            return plait_fail_nomem(err);
        least_scale = fmin(least_scale, scale);
    }
    for (int s = 0; s < STARTS; s++) {
        const double cost = robust_cost(state, found[s], least_scale);
        if (cost < least) {
            least = cost;
            memcpy(z, found[s], sizeof found[s]);
        }
    }
    return PLAIT_OK;
}

// ---- numbers that the points do not determine ----------------------------------------------

/* A number is doubtful if its variance is more than this share of the variance of its prior. */
#define IN_DOUBT 0.5
/*
 * A doubtful number is undetermined if a reset to its prior increases the cost by less than this.
 */
#define AS_WELL 3.0

/* Returns the variance of a free number divided by the variance of its prior. */
static double variance_ratio(const fit_state *state, const double *z, const double *variance, int i)
{
    const fit_number *const n = &state->problem->number[state->free[i]];
    const double u = 1.0 / (1.0 + exp(-z[i]));
    const double slope = log(n->high / n->low) * u * (1.0 - u) / n->spread;

    return variance[i] * (n->spread > 0.0 ? slope * slope : 1.0 / (PRIOR * PRIOR));
}

/*
 * Resets each doubtful number to its prior if the other numbers then fit about as well as before.
 */
static plait_status drop_undetermined(fit_state *state, double *z, plait_error *err)
{
    bool tried[FIT_MAX_NUMBERS] = {false};
    double variance[FIT_MAX_NUMBERS];
    double scale = fit_until_stable(state, z, variance);

    while (scale >= 0.0 && state->frees > 1) {
        fit_state without = *state;
        double other[FIT_MAX_NUMBERS], most = IN_DOUBT;
        int doubtful = -1;

        for (int i = 0; i < state->frees; i++)
            if (!tried[state->free[i]] && variance_ratio(state, z, variance, i) > most) {
                most = variance_ratio(state, z, variance, i);
                doubtful = i;
            }
        if (doubtful < 0)
            break;
        const int number = state->free[doubtful];
        const size_t after = (size_t)(state->frees - 1 - doubtful);
        const double cost = robust_cost(state, z, scale);
        tried[number] = true;
        memcpy(other, z, sizeof other);
        // Take the number out of the free ones.
        *number_address(state->problem, number) = state->initial[number];
        memmove(&without.free[doubtful], &without.free[doubtful + 1], after * sizeof *without.free);
        memmove(&other[doubtful], &other[doubtful + 1], after * sizeof *other);
        without.frees--;
        if (fit_until_stable(&without, other, NULL) < 0.0)
            return plait_fail_nomem(err);
        if (robust_cost(&without, other, scale) < cost + AS_WELL) {
            state->problem->number[number].determined = false;
            *state = without;
            memcpy(z, other, sizeof other);
        }
        scale = fit_until_stable(state, z, variance);
    }
    return scale < 0.0 ? plait_fail_nomem(err) : PLAIT_OK;
}

// ---- the whole fit -------------------------------------------------------------------------

static plait_status begin_fit(const fit_problem *problem, plait_arena *arena, fit_state *state,
                              plait_error *err)
{
    const size_t points = (size_t)problem->points;

    *state = (fit_state){
        .problem = problem,
        .arena = arena,
        .taken = plait_arena_alloc(arena, 1, sizeof *state->taken),
        .train = plait_arena_alloc(arena, points, sizeof *state->train),
        .weight = plait_arena_alloc(arena, points, sizeof *state->weight),
        .residual = plait_arena_alloc(arena, points, sizeof *state->residual),
        .sweep = plait_arena_alloc(arena, points, sizeof *state->sweep),
        .mean = plait_arena_alloc(arena, points, sizeof *state->mean),
        .mean_weight = plait_arena_alloc(arena, points, sizeof *state->mean_weight),
    };
    PLAIT_TRY(plait_check_allocated(state->taken && state->train && state->weight &&
                                        state->residual && state->sweep && state->mean &&
                                        state->mean_weight,
                                    err));
    state->taken->error = plait_arena_alloc(arena, points, sizeof *state->taken->error);
    PLAIT_TRY(plait_check_allocated(state->taken->error, err));
    for (int i = 0; i < problem->points; i++)
        if (!problem->point[i].held_out)
            state->train[state->trains++] = &problem->point[i];
    // Assign an index to each sweep of the training points, if sweeps have a weight.
    for (int i = 0; i < state->trains; i++) {
        const char *const name = state->train[i]->sweep;

        state->sweep[i] = -1;
        if (!(problem->sweep_weight > 0.0) || name == NULL || name[0] == '\0')
            continue;
        for (int j = 0; j < i && state->sweep[i] < 0; j++)
            if (state->sweep[j] >= 0 && strcmp(state->train[j]->sweep, name) == 0)
                state->sweep[i] = state->sweep[j];
        if (state->sweep[i] < 0)
            state->sweep[i] = state->sweeps++;
    }
    for (int i = 0; i < problem->numbers; i++) {
        const fit_number *const n = &problem->number[i];
        const double x = *number_address(problem, i);
        const double u =
            n->scales ? log(x / n->low) / log(n->high / n->low) : (x - n->low) / (n->high - n->low);
        const double inside = fmin(fmax(u, EDGE), 1.0 - EDGE);

        state->initial[i] = x;
        state->prior[i] = log(inside / (1.0 - inside));
        state->free[state->frees++] = i;
        problem->number[i].determined = true;
    }
    return PLAIT_OK;
}

plait_status fit_run(const fit_problem *problem, plait_arena *arena, fit_errors *out,
                     plait_error *err)
{
    const plait_arena_mark mark = plait_arena_save(arena);
    double z[FIT_MAX_NUMBERS];
    fit_state state;
    plait_status status;
    int fitted = 0, large = 0;

    assert(problem->numbers >= 1 && problem->numbers <= FIT_MAX_NUMBERS && problem->points >= 1);
    status = begin_fit(problem, arena, &state, err);
    if (status == PLAIT_OK && state.trains > 0)
        status = best_start(&state, z, err);
    if (status == PLAIT_OK && state.trains > 0)
        status = drop_undetermined(&state, z, err);
    plait_arena_rewind(arena, mark);
    PLAIT_TRY(status);
    for (int i = 0; i < problem->numbers; i++) {
        const fit_number *number = &problem->number[i];
        double *const at = number_address(problem, i);

        *at = number->determined ? fit_rounded(*at, number->unit) : state.initial[i];
    }
    *out = (fit_errors){.points = problem->points};
    for (int i = 0; i < problem->points; i++) {
        const fit_point *point = &problem->point[i];
        const double error = fabs(expm1(log_error(problem, point)));
        if (!point->held_out) {
            out->fitted += error;
            fitted++;
            continue;
        }
        out->held += error;
        out->held_out++;
        out->held_large += point->large ? error : 0.0;
        large += point->large;
    }
    out->fitted = fitted > 0 ? out->fitted / fitted : -1.0;
    out->held = out->held_out > 0 ? out->held / out->held_out : -1.0;
    out->held_large = large > 0 ? out->held_large / large : -1.0;
    return PLAIT_OK;
}
