/* engine_fit.c - fit a serving engine's profile to measured runs (C.378), and write it as JSON */
#include "calibrate/engine_fit.h"
#include "base/numbers.h"
#include "calibrate/fit.h"
#include "io/json/json_write.h"
#include "plait/units.h"

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

/* Kinds of folds of a fit; a group has one source, model and accelerator. */
typedef enum fold_kind {
    FOLD_SOURCES,
    FOLD_GROUPS,
    FOLD_MODELS,
} fold_kind;

/* The runs of a fit, and the fold (a part of these runs) that is held out. */
typedef struct sample {
    const plait_serve_run **run;
    double *weight; /* [count]: 1 / sqrt(rows of the same group) */
    size_t count;
    const char *held; /* name of the held-out fold; NULL: none */
    fold_kind folds;
    bool one_model; /* all runs are of one model */
} sample;

static const char *fold_of(const sample *s, const plait_serve_run *run)
{
    return s->folds == FOLD_GROUPS   ? run->group
           : s->folds == FOLD_MODELS ? run->model
                                     : run->source;
}

// ---- the fit -------------------------------------------------------------------------------

/*
 * Returns the weighted sum of the losses of a run's measured figures. A loss is
 * |log(predicted / measured)|, or 1 if the prediction is unstable. Losses are capped at 1, since
 * the table does not state every condition of a run, and one such run must not distort the fit.
 */
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

    for (int f = 0; f < PLAIT_SERVE_MEASURES; f++) {
        if (!(run->measured[f] > 0.0))
            continue;
        const double e = s.stable ? fabs(log(plait_service_figure(&s, f) / run->measured[f])) : 1.0;
        sum += weight[f] * (e < 1.0 ? e : 1.0);
    }
    return sum;
}

static bool is_held(const sample *s, const plait_serve_run *run)
{
    return s->held != NULL && strcmp(fold_of(s, run), s->held) == 0;
}

/*
 * Returns the loss of the runs that are not held out, plus a penalty for the distance of each
 * number from its start. The penalty is strongest for the host's time of a request and of a launch,
 * since sources measure behind different servers and these times follow the source rather than the
 * engine, then for expert kernels, since the runs of one generation have only one or two models
 * with experts, and weakest for the rate of caches. Runs of one model cannot tell the factors of
 * its kernels apart, so each number has a strong penalty. The weights are **chosen** for the least
 * errors on held-out runs.
 */
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
        const bool experts = n == PLAIT_ENGINE_experts || n == PLAIT_ENGINE_experts_4bit;
        const double pull = s->one_model                ? 1.0
                            : experts                   ? 0.4
                            : n < PLAIT_ENGINE_launch_s ? 0.1
                            : n < PLAIT_ENGINE_handover ? 0.5
                                                        : 0.01;
        const double small = 0.02 * numbers[n].most * numbers[n].unit;
        sum += (pull + 1.0 / (double)s->count) / PLAIT_ENGINE_NUMBER_COUNT *
               fabs(log((*value_of(&x, n) + small) / (*value_of(&from, n) + small)));
    }
    return sum;
}

/* Moves each number up and then down while the loss decreases; repeats this with smaller steps. */
static plait_engine fit_sample(const sample *s, const plait_engine *start)
{
    static const double steps[] = {0.4, 0.2, 0.1, 0.1, 0.05, 0.05, 0.02, 0.02};
    plait_engine x = *start;
    double loss = loss_of(s, &x, start);

    for (size_t k = 0; k < sizeof steps / sizeof *steps; k++)
        for (int move = 0; move < 2 * PLAIT_ENGINE_NUMBER_COUNT; move++) {
            const number *const n = &numbers[move / 2];
            double *const value = value_of(&x, move / 2);
            const double step = steps[k], high = n->most * n->unit;

            for (int i = 0; i < 8; i++) {
                const double before = *value, floor_step = 0.01 * step * high;
                const double next = move % 2 ? before / (1.0 + step) - floor_step
                                             : before * (1.0 + step) + floor_step;
                *value = fmin(fmax(next, n->least * n->unit), high);
                const double now = loss_of(s, &x, start);
                if (!(now < loss - 1e-9)) {
                    *value = before;
                    break;
                }
                loss = now;
            }
        }
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
 * C.378: fit all generations of an engine together, starting at the assumed numbers. Then fit the
 * profile's generation, starting at the result of the first fit. A fit without runs returns its
 * starting numbers.
 */
static plait_engine fit_from(const sample *all, sample *s, const char *held,
                             const plait_engine *profile)
{
    sample engine = *all;
    plait_engine x = *profile;

    plait_engine_assume(&x);
    engine.held = s->held = held;
    engine.folds = s->folds;
    if (!is_all_held(&engine))
        x = fit_sample(&engine, &x);
    return is_all_held(s) ? x : fit_sample(s, &x);
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

/* Sets the bands from ratios of measured to predicted figures, with each fold held out in turn. */
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
    for (size_t first = 0; first < s->count; first++) {
        if (!is_first(s, first))
            continue;
        const plait_engine without = fit_from(all, s, fold_of(s, s->run[first]), profile);
        for (size_t i = 0; i < s->count; i++) {
            if (!is_held(s, s->run[i]))
                continue;
            const plait_service v = plait_serve_run_price(s->run[i], &without);
            for (int f = 0; f < PLAIT_SERVE_FIGURES; f++)
                if (v.stable && s->run[i]->measured[f] > 0.0)
                    ratio[f][count[f]++] = s->run[i]->measured[f] / plait_service_figure(&v, f);
        }
    }
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

/* Collects the runs of a profile, or if `all` is set the runs of all generations of its engine. */
static plait_status collect_sample(const plait_serve_runs *runs, const plait_engine *profile,
                                   bool all, plait_arena *arena, sample *s, plait_error *err)
{
    *s = (sample){.run = plait_arena_alloc(arena, runs->count + 1, sizeof *s->run),
                  .weight = plait_arena_alloc(arena, runs->count + 1, sizeof *s->weight)};
    PLAIT_TRY(plait_check_allocated(s->run && s->weight, err));
    for (size_t i = 0; i < runs->count; i++) {
        const plait_serve_run *const run = &runs->run[i];

        if (!run->low && run->note[0] == '\0' && run->ways == 1 &&
            (all ? run->kind == profile->kind
                 : plait_engine_of(runs->engine, runs->engines, run->kind, run->vendor, run->month,
                                   run->version) == profile))
            s->run[s->count++] = run;
    }
    for (size_t i = 0; i < s->count; i++) {
        double rows = 0.0;
        for (size_t j = 0; j < s->count; j++)
            rows += strcmp(s->run[i]->group, s->run[j]->group) == 0;
        s->weight[i] = 1.0 / sqrt(rows);
    }
    s->one_model = s->count > 0;
    for (size_t i = 1; i < s->count; i++)
        s->one_model = s->one_model && strcmp(s->run[i]->model, s->run[0]->model) == 0;
    return PLAIT_OK;
}

plait_status engine_fit(const plait_serve_runs *runs, const plait_engine *profile,
                        plait_arena *arena, plait_engine *out, plait_error *err)
{
    static const double quarter = 1.25, least_loss = 1e-3;
    sample s, all;
    int sources = 0;

    *out = *profile;
    out->rows = 0;
    PLAIT_TRY(collect_sample(runs, profile, false, arena, &s, err));
    PLAIT_TRY(collect_sample(runs, profile, true, arena, &all, err));
    if (s.count == 0)
        return PLAIT_OK;
    for (size_t i = 0; i < s.count; i++)
        sources += is_first(&s, i);
    s.folds = s.one_model ? FOLD_MODELS : sources < 2 ? FOLD_GROUPS : FOLD_SOURCES;
    *out = fit_from(&all, &s, NULL, profile);
    out->rows = (int)s.count;
    // A number is determined if a change by a quarter, up or down, increases the loss.
    const double loss = loss_of(&s, out, out);
    for (int n = 0; n < PLAIT_ENGINE_NUMBER_COUNT; n++) {
        plait_engine up = *out, down = *out;
        const double tenth = 0.01 * numbers[n].most * numbers[n].unit;
        *value_of(&up, n) = *value_of(out, n) * quarter + tenth;
        *value_of(&down, n) = fmax(*value_of(out, n) / quarter - tenth, 0.0);
        out->determined[n] = !s.one_model && (loss_of(&s, &up, &up) > loss + least_loss ||
                                              loss_of(&s, &down, &down) > loss + least_loss);
    }
    return fit_bands(&all, &s, profile, arena, out, err);
}

// ---- fits without a run's source -----------------------------------------------------------

plait_status engine_fit_unseen(plait_serve_runs *runs, plait_arena *arena, plait_error *err)
{
    sample s, all;

    runs->given = plait_arena_alloc(arena, runs->count + 1, sizeof *runs->given);
    PLAIT_TRY(plait_check_allocated(runs->given, err));
    for (size_t e = 0; e < runs->engines; e++) {
        PLAIT_TRY(collect_sample(runs, &runs->engine[e], false, arena, &s, err));
        PLAIT_TRY(collect_sample(runs, &runs->engine[e], true, arena, &all, err));
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

// ---- the file ------------------------------------------------------------------------------

plait_status engine_write(const plait_engine *e, plait_arena *arena, const char **text,
                          size_t *length, plait_error *err)
{
    static const char *const figures[PLAIT_SERVE_FIGURES] = {"ttft", "tpot", "out_tok_s"};
    json_writer json;
    int n = 0;

    json_writer_init(&json, arena);
    json_begin_object(&json);
    json_member_string(&json, "name", e->name);
    json_member_string(&json, "source", e->source);
    json_member_string(&json, "engine", plait_engine_name[e->kind]);
    if (e->until != 0)
        json_member_int64(&json, "until", e->until);
    if (e->before != 0)
        json_member_int64(&json, "before", e->before);
    if (e->vendor[0] != '\0')
        json_member_string(&json, "vendor", e->vendor);
    json_write_key(&json, "defaults");
    json_begin_object(&json);
    json_member_number(&json, "chunk_tokens", e->chunk_tokens);
    json_member_number(&json, "max_sequences", e->max_sequences);
    json_member_number(&json, "memory_fraction", e->memory_fraction);
    json_member_number(&json, "graph_gb", e->graph_bytes / PLAIT_GB);
    json_member_number(&json, "block_tokens", e->block_tokens);
    if (e->prefill_first)
        json_member_bool(&json, "prefill_first", true);
    if (e->host_overlap)
        json_member_bool(&json, "host_overlap", true);
    if (e->logit_bytes > 0.0)
        json_member_number(&json, "logit_bytes", e->logit_bytes);
    if (e->outside_bytes > 0.0)
        json_member_number(&json, "outside_gb", e->outside_bytes / PLAIT_GB);
    if (e->group_bytes > 0.0)
        json_member_number(&json, "group_gb", e->group_bytes / PLAIT_GB);
    json_end_object(&json);
    // Three digits are enough, since repeats of a run differ by some percent. A missing key stands
    // for the assumed value.
    json_write_key(&json, "numbers");
    json_begin_object(&json);
#define X(field, word, unit, least, most, assumed)                                                 \
    if (fit_rounded(e->field / (unit), 1.0) != (assumed))                                          \
        json_member_number(&json, word, fit_rounded(e->field / (unit), 1.0));
    PLAIT_ENGINE_NUMBERS(X)
#undef X
    json_end_object(&json);
    json_write_key(&json, "determined");
    json_begin_row(&json);
#define X(field, word, unit, least, most, assumed)                                                 \
    if (e->determined[n++])                                                                        \
        json_write_string(&json, word);
    PLAIT_ENGINE_NUMBERS(X)
#undef X
    json_end_array(&json);
    json_member_int64(&json, "rows", e->rows);
    json_write_key(&json, "band");
    json_begin_object(&json);
    for (int f = 0; f < PLAIT_SERVE_FIGURES; f++) {
        json_write_key(&json, figures[f]);
        json_begin_row(&json);
        for (int side = 0; side < 2; side++)
            json_write_number(&json, fit_rounded(e->band[f][side], 1.0));
        json_end_array(&json);
    }
    json_end_object(&json);
    json_end_object(&json);
    return json_writer_finish(&json, text, length, err);
}
