/* engine_fit.c - fit the numbers of a serving engine's profile to measured runs (C.378) */
#include "calibrate/engine_fit.h"
#include "base/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct number {
    size_t offset;
    double unit, least, most;
} number;

static const number numbers[PLAIT_ENGINE_NUMBER_COUNT] = {
#define X(field, word, unit, least, most, assumed)                                                 \
    {offsetof(plait_engine, field), unit, least, most},
    PLAIT_ENGINE_NUMBERS(X)
#undef X
};

static double *value_of(plait_engine *engine, int n)
{
    return (double *)(void *)((char *)engine + numbers[n].offset);
}

/* The runs that a fit uses, and the fold of them that is held out. */
typedef struct sample {
    const plait_serve_run **run;
    double *weight; /* [count]: 1 / sqrt(rows of the same group) */
    size_t count;
    const char *held; /* the fold held out, a source or group; NULL: none */
    bool by_group;    /* folds are groups (source, model, accelerator) instead of sources */
} sample;

static const char *fold_of(const sample *s, const plait_serve_run *run)
{
    return s->by_group ? run->group : run->source;
}

// ---- the fit -------------------------------------------------------------------------------

/*
 * Returns the loss of one figure, where `ratio` is predicted over measured. It is capped at 1, so
 * that a run with conditions that the table does not state does not distort the fit.
 */
static double ratio_penalty(double ratio)
{
    const double e = fabs(log(ratio));

    return e < 1.0 ? e : 1.0;
}

/* Sums the weighted losses of a run's measured figures; each is 1 if the prediction is unstable. */
static double row_loss(const plait_serve_run *run, const plait_engine *engine)
{
    static const double weight[PLAIT_SERVE_MEASURES] = {
        [PLAIT_SERVE_TTFT] = 0.8,
        [PLAIT_SERVE_TPOT] = 1.0,
        [PLAIT_SERVE_RATE] = 0.5,
        [PLAIT_SERVE_E2E] = 1.0,
    };
    const plait_service s = plait_serve_run_price(run, engine);
    double sum = 0.0;

    for (int f = 0; f < PLAIT_SERVE_MEASURES; f++)
        if (run->measured[f] > 0.0)
            sum += weight[f] *
                   (s.stable ? ratio_penalty(plait_service_figure(&s, f) / run->measured[f]) : 1.0);
    return sum;
}

static bool is_held(const sample *s, const plait_serve_run *run)
{
    return s->held != NULL && strcmp(fold_of(s, run), s->held) == 0;
}

/*
 * Weight of the penalty for a number's distance from the start. It is largest for expert kernels,
 * since the runs of one generation have only one or two models with experts, smaller for other
 * kernels, and smallest for the scheduler. **Chosen** for the least errors on runs of held-out
 * sources.
 */
static double pull_of(const sample *s, int n)
{
    const bool experts = n == PLAIT_ENGINE_experts || n == PLAIT_ENGINE_experts_4bit;
    const double pull = experts ? 0.4 : n < PLAIT_ENGINE_launch_s ? 0.1 : 0.01;

    return pull + 1.0 / (double)s->count;
}

static double loss_of(const sample *s, const plait_engine *engine, const plait_engine *start)
{
    plait_engine x = *engine, from = *start;
    double sum = 0.0, rows = 0.0;

    for (size_t i = 0; i < s->count; i++) {
        if (is_held(s, s->run[i]))
            continue;
        sum += s->weight[i] * row_loss(s->run[i], engine);
        rows += s->weight[i];
    }
    sum /= rows > 0.0 ? rows : 1.0;
    for (int n = 0; n < PLAIT_ENGINE_NUMBER_COUNT; n++) {
        const double small = 0.02 * numbers[n].most * numbers[n].unit;
        sum += pull_of(s, n) / PLAIT_ENGINE_NUMBER_COUNT *
               fabs(log((*value_of(&x, n) + small) / (*value_of(&from, n) + small)));
    }
    return sum;
}

/* Moves one number up, then down, while that reduces the loss. Returns the new loss. */
static double improve_number(const sample *s, plait_engine *engine, const plait_engine *start,
                             int n, double step, double loss)
{
    double *value = value_of(engine, n);
    const double low = numbers[n].least * numbers[n].unit;
    const double high = numbers[n].most * numbers[n].unit;

    for (int sign = 0; sign < 2; sign++)
        for (int i = 0; i < 8; i++) {
            const double before = *value;
            const double floor_step = 0.01 * step * high;
            const double next =
                sign ? before / (1.0 + step) - floor_step : before * (1.0 + step) + floor_step;
            *value = fmin(fmax(next, low), high);
            const double now = loss_of(s, engine, start);
            if (!(now < loss - 1e-9)) {
                *value = before;
                break;
            }
            loss = now;
        }
    return loss;
}

static plait_engine fit_sample(const sample *s, const plait_engine *start)
{
    static const double steps[] = {0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.02, 0.02};
    plait_engine x = *start;
    double loss = loss_of(s, &x, start);

    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        for (int n = 0; n < PLAIT_ENGINE_NUMBER_COUNT; n++)
            loss = improve_number(s, &x, start, n, steps[i], loss);
    return x;
}

static bool is_all_held(const sample *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (!is_held(s, s->run[i]))
            return false;
    return true;
}

/*
 * C.378: fit all generations of an engine together, starting at the assumed numbers, and then the
 * generation of the profile, starting at the engine's fit. A step without runs keeps its start.
 */
static plait_engine fit_from(const sample *all, sample *s, const char *held,
                             const plait_engine *profile)
{
    sample engine = *all;
    plait_engine x = *profile;

    plait_engine_assume(&x);
    engine.held = s->held = held;
    engine.by_group = s->by_group;
    if (!is_all_held(&engine))
        x = fit_sample(&engine, &x);
    return is_all_held(s) ? x : fit_sample(s, &x);
}

/* A number is determined if a change by a quarter, up or down, increases the loss. */
static void find_determined(const sample *s, plait_engine *x)
{
    static const double quarter = 1.25, least_loss = 1e-3;
    const double loss = loss_of(s, x, x);

    for (int n = 0; n < PLAIT_ENGINE_NUMBER_COUNT; n++) {
        plait_engine up = *x, down = *x;
        const double tenth = 0.01 * numbers[n].most * numbers[n].unit;
        *value_of(&up, n) = *value_of(x, n) * quarter + tenth;
        *value_of(&down, n) = fmax(*value_of(x, n) / quarter - tenth, 0.0);
        x->determined[n] = loss_of(s, &up, &up) > loss + least_loss ||
                           loss_of(s, &down, &down) > loss + least_loss;
    }
}

// ---- bands ---------------------------------------------------------------------------------

/* Returns whether row i is the first of its fold. */
static bool is_first(const sample *s, size_t i)
{
    for (size_t j = 0; j < i; j++)
        if (strcmp(fold_of(s, s->run[j]), fold_of(s, s->run[i])) == 0)
            return false;
    return true;
}

/* Appends measured over predicted for each figure of the held-out rows. */
static void add_ratios(const sample *s, const plait_engine *without, double *ratio[],
                       size_t count[PLAIT_SERVE_FIGURES])
{
    for (size_t i = 0; i < s->count; i++) {
        if (strcmp(fold_of(s, s->run[i]), s->held) != 0)
            continue;
        const plait_service v = plait_serve_run_price(s->run[i], without);
        for (int f = 0; f < PLAIT_SERVE_FIGURES; f++)
            if (v.stable && s->run[i]->measured[f] > 0.0)
                ratio[f][count[f]++] = s->run[i]->measured[f] / plait_service_figure(&v, f);
    }
}

static plait_status fit_bands(const sample *all, sample *s, const plait_engine *profile,
                              plait_arena *arena, plait_engine *out, plait_error *err)
{
    static const double each_side = 0.1;
    double *ratio[PLAIT_SERVE_FIGURES];
    size_t count[PLAIT_SERVE_FIGURES] = {0};

    for (int f = 0; f < PLAIT_SERVE_FIGURES; f++) {
        ratio[f] = plait_arena_alloc(arena, s->count, sizeof(double));
        PLAIT_TRY(plait_check_allocated(ratio[f], err));
    }
    for (size_t i = 0; i < s->count; i++) {
        if (!is_first(s, i))
            continue;
        const plait_engine without = fit_from(all, s, fold_of(s, s->run[i]), profile);
        add_ratios(s, &without, ratio, count);
    }
    s->held = NULL;
    for (int f = 0; f < PLAIT_SERVE_FIGURES; f++) {
        if (count[f] == 0)
            continue;
        qsort(ratio[f], count[f], sizeof(double), compare_doubles);
        out->band[f][0] = fmin(ratio[f][(size_t)(each_side * (double)(count[f] - 1))], 1.0);
        out->band[f][1] = fmax(ratio[f][(size_t)((1.0 - each_side) * (double)(count[f] - 1))], 1.0);
    }
    return PLAIT_OK;
}

// ---- one profile ---------------------------------------------------------------------------

static bool is_of(const plait_serve_runs *runs, const plait_serve_run *run,
                  const plait_engine *profile)
{
    if (run->low || run->note[0] != '\0' || run->ways > 1)
        return false;
    return plait_engine_of(runs->engine, runs->engines, run->kind, run->vendor, run->month,
                           run->version) == profile;
}

static void weigh_sample(sample *s)
{
    for (size_t i = 0; i < s->count; i++) {
        double rows = 0.0;
        for (size_t j = 0; j < s->count; j++)
            rows += strcmp(s->run[i]->group, s->run[j]->group) == 0;
        s->weight[i] = 1.0 / sqrt(rows);
    }
}

static bool is_of_kind(const plait_serve_runs *runs, const plait_serve_run *run,
                       const plait_engine *profile)
{
    (void)runs;
    return !run->low && run->note[0] == '\0' && run->ways == 1 && run->kind == profile->kind;
}

static plait_status take_sample(const plait_serve_runs *runs, const plait_engine *profile,
                                bool (*takes)(const plait_serve_runs *, const plait_serve_run *,
                                              const plait_engine *),
                                plait_arena *arena, sample *s, plait_error *err)
{
    *s = (sample){.run = plait_arena_alloc(arena, runs->count + 1, sizeof *s->run),
                  .weight = plait_arena_alloc(arena, runs->count + 1, sizeof *s->weight)};
    PLAIT_TRY(plait_check_allocated(s->run && s->weight, err));
    for (size_t i = 0; i < runs->count; i++)
        if (takes(runs, &runs->run[i], profile))
            s->run[s->count++] = &runs->run[i];
    weigh_sample(s);
    return PLAIT_OK;
}

plait_status engine_fit(const plait_serve_runs *runs, const plait_engine *profile,
                        plait_arena *arena, plait_engine *out, plait_error *err)
{
    sample s, all;
    int sources = 0;

    *out = *profile;
    out->rows = 0;
    PLAIT_TRY(take_sample(runs, profile, is_of, arena, &s, err));
    PLAIT_TRY(take_sample(runs, profile, is_of_kind, arena, &all, err));
    if (s.count == 0)
        return PLAIT_OK;
    for (size_t i = 0; i < s.count; i++)
        sources += is_first(&s, i);
    s.by_group = sources < 2;
    *out = fit_from(&all, &s, NULL, profile);
    out->rows = (int)s.count;
    find_determined(&s, out);
    return fit_bands(&all, &s, profile, arena, out, err);
}

// ---- fits without a run's source -----------------------------------------------------------

plait_status engine_fit_unseen(plait_serve_runs *runs, plait_arena *arena, plait_error *err)
{
    sample s, all;

    runs->given = plait_arena_alloc(arena, runs->count + 1, sizeof *runs->given);
    PLAIT_TRY(plait_check_allocated(runs->given, err));
    for (size_t e = 0; e < runs->engines; e++) {
        PLAIT_TRY(take_sample(runs, &runs->engine[e], is_of, arena, &s, err));
        PLAIT_TRY(take_sample(runs, &runs->engine[e], is_of_kind, arena, &all, err));
        for (size_t i = 0; i < s.count; i++) {
            if (!is_first(&s, i))
                continue;
            plait_engine *without = plait_arena_alloc(arena, 1, sizeof *without);
            PLAIT_TRY(plait_check_allocated(without, err));
            *without = fit_from(&all, &s, fold_of(&s, s.run[i]), &runs->engine[e]);
            for (size_t j = i; j < s.count; j++)
                if (strcmp(fold_of(&s, s.run[j]), s.held) == 0)
                    runs->given[s.run[j] - runs->run] = without;
        }
    }
    return PLAIT_OK;
}
