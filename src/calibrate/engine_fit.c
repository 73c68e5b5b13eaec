/* engine_fit.c - fit a serving engine's profile to measured runs (C.378), and write it as JSON */
#include "calibrate/engine_fit.h"
#include "base/numbers.h"
#include "base/threads.h"
#include "calibrate/fit.h"
#include "io/json/json_write.h"
#include "plait/units.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const engine_fold_name[] = {"source", "model", "accelerator", NULL};

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

/* The runs of a fit, and the fold (a part of these runs) that is held out. */
typedef struct sample {
    const plait_serve_run **run;
    const plait_engine **of; /* [count] profiles of the runs, whose defaults price them */
    double *weight;          /* [count]: 1 / sqrt(rows of the same group) */
    double *thin;            /* [count]: the same for fits without a fold, which use at most
                              * FOLD_ROWS rows of a group; 0: not used */
    size_t count;
    const char *held; /* name of the held-out fold; NULL: none */
    engine_fold folds;
    bool one_model; /* all runs are of one model */
} sample;

static const char *fold_of(engine_fold folds, const plait_serve_run *run)
{
    return folds == ENGINE_FOLD_MODEL         ? run->model
           : folds == ENGINE_FOLD_ACCELERATOR ? run->accelerator
                                              : run->source;
}

/* Returns the defaults of one profile with the fitted numbers of another. */
static plait_engine with_numbers(const plait_engine *of, const plait_engine *numbers_of)
{
    plait_engine x = *of, from = *numbers_of;

    for (int n = 0; n < PLAIT_ENGINE_NUMBER_COUNT; n++)
        *value_of(&x, n) = *value_of(&from, n);
    return x;
}

// ---- the fit -------------------------------------------------------------------------------

/*
 * Returns the weighted sum of the losses of a run's measured figures. A loss is
 * |log(predicted / measured)|, or 1 if the prediction is unstable. Losses are capped at 1, since
 * the table does not state every condition of a run, and one such run must not distort the fit.
 */
static double row_loss(const plait_serve_run *run, const plait_engine *of,
                       const plait_engine *numbers_of)
{
    static const double weight[PLAIT_SERVE_MEASURES] = {
        [PLAIT_SERVE_TTFT] = 0.8,
        [PLAIT_SERVE_TPOT] = 1.0,
        [PLAIT_SERVE_RATE] = 0.5,
        [PLAIT_SERVE_E2E] = 1.0,
    };
    const plait_engine engine = with_numbers(of, numbers_of);
    const plait_service s = plait_serve_run_price(run, &engine);
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
    return s->held != NULL && strcmp(fold_of(s->folds, run), s->held) == 0;
}

/*
 * Returns the loss of the runs that are not held out, plus a penalty for the distance of each
 * number from its start. The penalty is strongest for the host's time of a request and of a launch,
 * since sources measure through different servers and these times follow the source rather than the
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
        const double weight = s->held != NULL ? s->thin[i] : s->weight[i];

        if (!(weight > 0.0) || is_held(s, s->run[i]))
            continue;
        sum += weight * row_loss(s->run[i], s->of[i], engine);
        rows += weight;
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

// ---- fits without a fold --------------------------------------------------------------------

/*
 * A fit without one fold: of all generations of an engine, from the assumed numbers, or of one
 * generation, from the result of the former.
 */
typedef struct fit_task {
    sample s;
    const plait_engine *profile; /* NULL: all generations */
    size_t start;                /* task of all generations without the same fold */
    plait_engine x;              /* start, then result */
} fit_task;

enum { MOST_TASKS = 4096, FOLD_ROWS = 12 };

/* Samples of all engines and of all profiles, and the fits without folds of them. */
typedef struct fits {
    const plait_serve_runs *runs;
    sample engine[PLAIT_ENGINES];
    sample *profile; /* [runs->engines] */
    fit_task *task;  /* [MOST_TASKS] */
    size_t tasks;
} fits;

/* Collects the runs of a profile, or if it is NULL the runs of all generations of an engine. */
static plait_status collect_sample(const plait_serve_runs *runs, plait_engine_kind kind,
                                   const plait_engine *profile, plait_arena *arena, sample *s,
                                   plait_error *err)
{
    *s = (sample){.run = plait_arena_alloc(arena, runs->count + 1, sizeof *s->run),
                  .of = plait_arena_alloc(arena, runs->count + 1, sizeof *s->of),
                  .weight = plait_arena_alloc(arena, runs->count + 1, sizeof *s->weight),
                  .thin = plait_arena_alloc(arena, runs->count + 1, sizeof *s->thin)};
    PLAIT_TRY(plait_check_allocated(s->run && s->of && s->weight && s->thin, err));
    for (size_t i = 0; i < runs->count; i++) {
        const plait_serve_run *const run = &runs->run[i];

        if (run->low || run->note[0] != '\0' || run->ways != 1 || run->kind != kind)
            continue;
        const plait_engine *const of = plait_engine_of(runs->engine, runs->engines, run->kind,
                                                       run->vendor, run->month, run->version);
        if (of == NULL || (profile != NULL && of != profile))
            continue;
        s->run[s->count] = run;
        s->of[s->count++] = of;
    }
    for (size_t i = 0; i < s->count; i++) {
        int rows = 0, before = 0;
        for (size_t j = 0; j < s->count; j++) {
            const bool same = strcmp(s->run[i]->group, s->run[j]->group) == 0;
            rows += same;
            before += same && j < i;
        }
        const int kept = rows < FOLD_ROWS ? rows : FOLD_ROWS;
        const bool keeps = (before + 1) * kept / rows > before * kept / rows;
        s->weight[i] = 1.0 / sqrt(rows);
        s->thin[i] = keeps ? sqrt(rows) / kept : 0.0;
    }
    s->one_model = s->count > 0;
    for (size_t i = 1; i < s->count; i++)
        s->one_model = s->one_model && strcmp(s->run[i]->model, s->run[0]->model) == 0;
    return PLAIT_OK;
}

static plait_status collect_samples(const plait_serve_runs *runs, plait_arena *arena, fits *out,
                                    plait_error *err)
{
    *out = (fits){.runs = runs,
                  .profile = plait_arena_alloc(arena, runs->engines, sizeof *out->profile),
                  .task = plait_arena_alloc(arena, MOST_TASKS, sizeof *out->task)};
    PLAIT_TRY(plait_check_allocated(out->profile && out->task, err));
    for (int k = 0; k < PLAIT_ENGINES; k++)
        PLAIT_TRY(collect_sample(runs, (plait_engine_kind)k, NULL, arena, &out->engine[k], err));
    for (size_t e = 0; e < runs->engines; e++)
        PLAIT_TRY(collect_sample(runs, runs->engine[e].kind, &runs->engine[e], arena,
                                 &out->profile[e], err));
    return PLAIT_OK;
}

/* Returns the task of a sample without a fold, and adds it if it is missing; `held` NULL: all. */
static size_t task_of(fits *f, const sample *s, engine_fold folds, const char *held,
                      const plait_engine *profile, size_t start)
{
    for (size_t t = 0; t < f->tasks; t++) {
        const fit_task *const task = &f->task[t];
        if (task->s.run == s->run && task->s.folds == folds &&
            (task->s.held == NULL) == (held == NULL) &&
            (held == NULL || strcmp(task->s.held, held) == 0))
            return t;
    }
    if (f->tasks == MOST_TASKS)
        return 0;
    fit_task *const task = &f->task[f->tasks];
    *task = (fit_task){.s = *s, .profile = profile, .start = start};
    task->s.folds = folds;
    task->s.held = held;
    return f->tasks++;
}

static size_t profile_task(fits *f, size_t profile, engine_fold folds, const char *held)
{
    const plait_engine *const e = &f->runs->engine[profile];
    const size_t start = task_of(f, &f->engine[e->kind], folds, held, NULL, 0);

    return task_of(f, &f->profile[profile], folds, held, e, start);
}

static bool is_all_held(const sample *s)
{
    for (size_t i = 0; i < s->count; i++)
        if (!is_held(s, s->run[i]))
            return false;
    return true;
}

typedef struct fit_pass {
    fits *f;
    bool of_profiles; /* the pass whose tasks start at the results of the other pass */
} fit_pass;

static void run_task(int worker, int64_t t, void *context)
{
    const fit_pass *const pass = context;
    fit_task *const task = &pass->f->task[t];

    (void)worker;
    if ((task->profile != NULL) != pass->of_profiles)
        return;
    plait_engine_assume(&task->x);
    if (pass->of_profiles)
        task->x = with_numbers(task->profile, &pass->f->task[task->start].x);
    if (!is_all_held(&task->s))
        task->x = fit_sample(&task->s, &task->x);
}

/*
 * C.378: fit all generations of an engine together, starting at the assumed numbers. Then fit the
 * profile's generation, starting at the result of the first fit. A fit without runs returns its
 * starting numbers.
 */
static void run_tasks(fits *f)
{
    threads_for(0, (int64_t)f->tasks, run_task, &(fit_pass){f, false});
    threads_for(0, (int64_t)f->tasks, run_task, &(fit_pass){f, true});
}

/* Adds the fits of all profiles without each fold of one kind. */
static void add_folds(fits *f, engine_fold folds)
{
    for (size_t e = 0; e < f->runs->engines; e++)
        for (size_t i = 0; i < f->profile[e].count; i++)
            profile_task(f, e, folds, fold_of(folds, f->profile[e].run[i]));
}

// ---- evidence and bands --------------------------------------------------------------------

static const char *architecture_of(const plait_serve_run *run)
{
    return plait_serve_architecture(run->shape);
}

static const char *model_of(const plait_serve_run *run)
{
    return run->shape->name;
}

static const char *accelerator_of(const plait_serve_run *run)
{
    return run->accelerator;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Sets *out to the sorted texts of the runs that are not held out, each once, ended by NULL. */
static plait_status list_texts(const sample *s, const char *(*text)(const plait_serve_run *),
                               plait_arena *arena, const char *const **out, plait_error *err)
{
    const char **const list = plait_arena_alloc(arena, s->count + 1, sizeof *list);
    size_t count = 0, kept = 0;

    PLAIT_TRY(plait_check_allocated(list, err));
    for (size_t i = 0; i < s->count; i++)
        if (!is_held(s, s->run[i]))
            list[count++] = text(s->run[i]);
    qsort(list, count, sizeof *list, compare_texts);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || strcmp(list[i], list[kept - 1]) != 0)
            list[kept++] = list[i];
    list[kept] = NULL;
    *out = list;
    return PLAIT_OK;
}

/* Sets the evidence of a fitted profile. */
static plait_status list_evidence(fit_task *task, plait_arena *arena, plait_error *err)
{
    PLAIT_TRY(list_texts(&task->s, accelerator_of, arena, &task->x.accelerators, err));
    PLAIT_TRY(list_texts(&task->s, model_of, arena, &task->x.models, err));
    return list_texts(&task->s, architecture_of, arena, &task->x.architectures, err);
}

/* Measured over predicted of one figure of a run that a fit has held out. */
typedef struct held_ratio {
    double ratio;
    const plait_serve_run *run;
    engine_fold folds;
    plait_serve_evidence evidence;
    double weight; /* 1 / ratios of the same group, folds and evidence */
} held_ratio;

typedef struct held_ratios {
    size_t count[PLAIT_SERVE_FIGURES];
    held_ratio *of[PLAIT_SERVE_FIGURES]; /* sorted by ratio */
    double tail[PLAIT_SERVE_FIGURES];    /* share of ratios beyond each side of a band */
} held_ratios;

static int compare_ratios(const void *a, const void *b)
{
    const held_ratio *const x = a, *const y = b;

    if (x->ratio != y->ratio)
        return x->ratio < y->ratio ? -1 : 1;
    return x->run != y->run ? (x->run < y->run ? -1 : 1) : (int)x->folds - (int)y->folds;
}

/* Orders ratios so that those which share a weight are together. */
static int compare_shares(const void *a, const void *b)
{
    const held_ratio *const x = a, *const y = b;

    if (x->folds != y->folds)
        return (int)x->folds - (int)y->folds;
    if (x->evidence != y->evidence)
        return (int)x->evidence - (int)y->evidence;
    const int group = strcmp(x->run->group, y->run->group);
    return group != 0 ? group : compare_ratios(a, b);
}

static void weigh_ratios(held_ratio *ratio, size_t count)
{
    qsort(ratio, count, sizeof *ratio, compare_shares);
    for (size_t first = 0, next; first < count; first = next) {
        for (next = first + 1; next < count; next++)
            if (ratio[next].folds != ratio[first].folds ||
                ratio[next].evidence != ratio[first].evidence ||
                strcmp(ratio[next].run->group, ratio[first].run->group) != 0)
                break;
        for (size_t i = first; i < next; i++)
            ratio[i].weight = 1.0 / (double)(next - first);
    }
    qsort(ratio, count, sizeof *ratio, compare_ratios);
}

/* Collects the ratios of all held-out runs, with the evidence that each fit has for the run. */
static plait_status collect_ratios(const fits *f, plait_arena *arena, held_ratios *out,
                                   plait_error *err)
{
    size_t most = 0;

    *out = (held_ratios){0};
    for (size_t t = 0; t < f->tasks; t++)
        for (size_t i = 0; f->task[t].profile != NULL && i < f->task[t].s.count; i++)
            most += is_held(&f->task[t].s, f->task[t].s.run[i]);
    for (int g = 0; g < PLAIT_SERVE_FIGURES; g++) {
        out->of[g] = plait_arena_alloc(arena, most + 1, sizeof *out->of[g]);
        PLAIT_TRY(plait_check_allocated(out->of[g], err));
    }
    for (size_t t = 0; t < f->tasks; t++) {
        const fit_task *const task = &f->task[t];

        for (size_t i = 0; task->profile != NULL && i < task->s.count; i++) {
            const plait_serve_run *const run = task->s.run[i];
            const plait_service v = is_held(&task->s, run) ? plait_serve_run_price(run, &task->x)
                                                           : (plait_service){.stable = false};

            if (!v.stable)
                continue;
            for (int g = 0; g < PLAIT_SERVE_FIGURES; g++)
                if (run->measured[g] > 0.0)
                    out->of[g][out->count[g]++] = (held_ratio){
                        .ratio = run->measured[g] / plait_service_figure(&v, g),
                        .run = run,
                        .folds = task->s.folds,
                        .evidence = plait_engine_evidence(&task->x, run->shape, run->accelerator)};
        }
    }
    for (int g = 0; g < PLAIT_SERVE_FIGURES; g++)
        weigh_ratios(out->of[g], out->count[g]);
    return PLAIT_OK;
}

static bool is_without(const held_ratio *r, engine_fold folds, const char *held)
{
    return held == NULL || strcmp(fold_of(folds, r->run), held) != 0;
}

/*
 * C.383: the bands of one figure by evidence. A band leaves `tail` of the ratios on each side,
 * contains the prediction, and contains the bands of better evidence. All groups have equal
 * weights.
 *
 * @param held  leave out the ratios of this fold; NULL: of none
 */
static void bands_of(const held_ratios *ratios, int figure, double tail, engine_fold folds,
                     const char *held, plait_serve_bands bands[PLAIT_SERVE_EVIDENCES])
{
    const held_ratio *const r = ratios->of[figure];
    double all[PLAIT_SERVE_EVIDENCES] = {0}, sum[PLAIT_SERVE_EVIDENCES] = {0};
    int runs[PLAIT_SERVE_EVIDENCES] = {0};

    for (size_t i = 0; i < ratios->count[figure]; i++)
        if (is_without(&r[i], folds, held)) {
            all[r[i].evidence] += r[i].weight;
            runs[r[i].evidence]++;
        }
    for (int e = 0; e < PLAIT_SERVE_EVIDENCES; e++) {
        bands[e].figure[figure][0] = bands[e].figure[figure][1] = 1.0;
        if (runs[e] > bands[e].runs)
            bands[e].runs = runs[e];
    }
    for (size_t i = 0; i < ratios->count[figure]; i++) {
        const plait_serve_evidence e = r[i].evidence;
        double *const band = bands[e].figure[figure];

        if (!is_without(&r[i], folds, held))
            continue;
        if (sum[e] < tail * all[e] && sum[e] + r[i].weight >= tail * all[e])
            band[0] = fmin(r[i].ratio, 1.0);
        sum[e] += r[i].weight;
        if (sum[e] - r[i].weight < (1.0 - tail) * all[e])
            band[1] = fmax(r[i].ratio, 1.0);
    }
    for (int e = 1; e < PLAIT_SERVE_EVIDENCES; e++) {
        double *const band = bands[e].figure[figure], *const better = bands[e - 1].figure[figure];

        band[0] = fmin(band[0], better[0]);
        band[1] = fmax(band[1], better[1]);
    }
}

/* Returns the share of ratios of one kind of folds that lie in the bands without their fold. */
static double coverage(const held_ratios *ratios, int figure, double tail, engine_fold folds)
{
    const held_ratio *const r = ratios->of[figure];
    plait_serve_bands bands[PLAIT_SERVE_EVIDENCES];
    double covered = 0.0, all = 0.0;
    const char *held = NULL;

    // The folds in the order of their names: each next one is the least above the last.
    for (;;) {
        const char *next = NULL;

        for (size_t i = 0; i < ratios->count[figure]; i++) {
            const char *const fold = fold_of(folds, r[i].run);
            if (r[i].folds == folds && (held == NULL || strcmp(fold, held) > 0) &&
                (next == NULL || strcmp(fold, next) < 0))
                next = fold;
        }
        if (next == NULL)
            break;
        held = next;
        bands_of(ratios, figure, tail, folds, held, bands);
        for (size_t i = 0; i < ratios->count[figure]; i++) {
            const double *const band = bands[r[i].evidence].figure[figure];
            if (r[i].folds != folds || is_without(&r[i], folds, held))
                continue;
            covered += r[i].ratio >= band[0] && r[i].ratio <= band[1];
            all += 1.0;
        }
    }
    return all > 0.0 ? covered / all : 1.0;
}

/*
 * Sets the tail of each figure: the largest at which the bands cover enough of each kind of folds.
 * Bands of the other folds cover less than the share that they leave inside, since folds differ.
 */
static void find_tails(held_ratios *ratios)
{
    static const double enough = 0.78, most = 0.15, step = 0.005;

    for (int g = 0; g < PLAIT_SERVE_FIGURES; g++)
        for (double tail = most; tail > step; tail -= step) {
            bool covers = true;

            ratios->tail[g] = tail;
            for (int k = 0; k < ENGINE_FOLDS && covers; k++)
                covers = coverage(ratios, g, tail, (engine_fold)k) >= enough;
            if (covers)
                break;
        }
}

/* Sets the bands of a profile from all held-out runs, or from those of other folds. */
static void set_bands(const held_ratios *ratios, engine_fold folds, const char *held,
                      plait_engine *x)
{
    memset(x->bands, 0, sizeof x->bands);
    for (int g = 0; g < PLAIT_SERVE_FIGURES; g++)
        bands_of(ratios, g, ratios->tail[g], folds, held, x->bands);
}

/* Fits without each fold of all kinds, in addition to the tasks that the caller has added. */
static plait_status run_folds(fits *f, plait_arena *arena, held_ratios *ratios, plait_error *err)
{
    for (int k = 0; k < ENGINE_FOLDS; k++)
        add_folds(f, (engine_fold)k);
    run_tasks(f);
    for (size_t t = 0; t < f->tasks; t++)
        if (f->task[t].profile != NULL)
            PLAIT_TRY(list_evidence(&f->task[t], arena, err));
    PLAIT_TRY(collect_ratios(f, arena, ratios, err));
    find_tails(ratios);
    return PLAIT_OK;
}

// ---- profiles ------------------------------------------------------------------------------

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
        x->determined[n] = !s->one_model && (loss_of(s, &up, &up) > loss + least_loss ||
                                             loss_of(s, &down, &down) > loss + least_loss);
    }
}

plait_status engine_fit(const plait_serve_runs *runs, const char *name, plait_arena *arena,
                        plait_engine **out, plait_error *err)
{
    fits f;
    held_ratios ratios;
    size_t *const task = plait_arena_alloc(arena, runs->engines, sizeof *task);

    *out = plait_arena_alloc(arena, runs->engines, sizeof **out);
    PLAIT_TRY(plait_check_allocated(task && *out, err));
    PLAIT_TRY(collect_samples(runs, arena, &f, err));
    for (size_t e = 0; e < runs->engines; e++)
        if (name == NULL || strcmp(name, runs->engine[e].name) == 0)
            task[e] = profile_task(&f, e, ENGINE_FOLD_SOURCE, NULL);
    if (name == NULL) {
        PLAIT_TRY(run_folds(&f, arena, &ratios, err));
    } else {
        run_tasks(&f);
    }
    for (size_t e = 0; e < runs->engines; e++) {
        plait_engine *const x = &(*out)[e];

        *x = runs->engine[e];
        if (name != NULL && strcmp(name, x->name) != 0)
            continue;
        if (f.profile[e].count > 0) {
            PLAIT_TRY(list_evidence(&f.task[task[e]], arena, err));
            *x = f.task[task[e]].x;
            find_determined(&f.profile[e], x);
        }
        x->rows = (int)f.profile[e].count;
        if (name == NULL)
            set_bands(&ratios, ENGINE_FOLD_SOURCE, NULL, x);
    }
    return PLAIT_OK;
}

plait_status engine_fit_unseen(plait_serve_runs *runs, engine_fold left_out, plait_arena *arena,
                               plait_error *err)
{
    fits f;
    held_ratios ratios;

    PLAIT_TRY(collect_samples(runs, arena, &f, err));
    PLAIT_TRY(run_folds(&f, arena, &ratios, err));
    runs->given = plait_arena_alloc(arena, runs->count + 1, sizeof *runs->given);
    PLAIT_TRY(plait_check_allocated(runs->given, err));
    for (size_t t = 0; t < f.tasks; t++) {
        fit_task *const task = &f.task[t];

        if (task->profile == NULL || task->s.folds != left_out)
            continue;
        set_bands(&ratios, left_out, task->s.held, &task->x);
        for (size_t i = 0; i < task->s.count; i++)
            if (is_held(&task->s, task->s.run[i]))
                runs->given[task->s.run[i] - runs->run] = &task->x;
    }
    return PLAIT_OK;
}

// ---- the file ------------------------------------------------------------------------------

static void write_above_zero(json_writer *json, const char *key, double value)
{
    if (value > 0.0)
        json_member_number(json, key, value);
}

static void write_texts(json_writer *json, const char *key, const char *const *texts)
{
    json_write_key(json, key);
    json_begin_row(json);
    for (; texts != NULL && *texts != NULL; texts++)
        json_write_string(json, *texts);
    json_end_array(json);
}

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
    write_above_zero(&json, "poll_steps", e->poll_steps);
    write_above_zero(&json, "gather_steps", e->gather_steps);
    if (e->prefill_first)
        json_member_bool(&json, "prefill_first", true);
    if (e->host_overlap)
        json_member_bool(&json, "host_overlap", true);
    write_above_zero(&json, "logit_bytes", e->logit_bytes);
    write_above_zero(&json, "outside_gb", e->outside_bytes / PLAIT_GB);
    write_above_zero(&json, "group_gb", e->group_bytes / PLAIT_GB);
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
    json_write_key(&json, "evidence");
    json_begin_object(&json);
    write_texts(&json, "accelerators", e->accelerators);
    write_texts(&json, "models", e->models);
    write_texts(&json, "architectures", e->architectures);
    json_end_object(&json);
    json_write_key(&json, "band");
    json_begin_object(&json);
    for (int b = 0; b < PLAIT_SERVE_EVIDENCES; b++) {
        json_write_key(&json, plait_serve_evidence_name[b]);
        json_begin_object(&json);
        json_member_int64(&json, "runs", e->bands[b].runs);
        for (int f = 0; f < PLAIT_SERVE_FIGURES; f++) {
            json_write_key(&json, figures[f]);
            json_begin_row(&json);
            for (int side = 0; side < 2; side++)
                json_write_number(&json, fit_rounded(e->bands[b].figure[f][side], 1.0));
            json_end_array(&json);
        }
        json_end_object(&json);
    }
    json_end_object(&json);
    json_end_object(&json);
    return json_writer_finish(&json, text, length, err);
}
