/* serve_errors.c - compare predictions of serving with measurements: prices, errors, choices */
#include <math.h>
#include <string.h>

#include "plait/serve.h"
#include "validate/statistics.h"

/* ---- one run ---- */

double plait_service_figure(const plait_service *s, int figure)
{
    const double figures[PLAIT_SERVE_MEASURES] = {
        [PLAIT_SERVE_TTFT] = s->ttft_s,
        [PLAIT_SERVE_TPOT] = s->tpot_s,
        [PLAIT_SERVE_RATE] = s->output_tokens_per_s,
        [PLAIT_SERVE_E2E] = s->e2e_s,
    };

    return figures[figure];
}

static plait_service price_way(const plait_serve_run *run, int way, const plait_engine *engine,
                               plait_load load)
{
    plait_deployment d = run->way[way];
    plait_engine here = *engine;

    plait_engine_on(&here, run->gpu);
    d.engine = &here;
    for (int p = 0; p <= d.disaggregated; p++) {
        plait_pool *pool = &d.pool[p];
        *pool = plait_pool_of(pool->table, &here, &run->memory[way][p], pool->workers,
                              run->chunk_tokens);
        pool->poll_steps = run->poll_steps > 0.0 ? run->poll_steps : pool->poll_steps;
        pool->gather_steps = run->gather_steps > 0.0 ? run->gather_steps : pool->gather_steps;
    }
    return plait_serve(&d, load);
}

plait_service plait_serve_run_price(const plait_serve_run *run, const plait_engine *engine)
{
    static const double unbounded = 1e6;
    plait_load queued = run->load;
    int best = 0;
    double most = -1.0;

    queued.kind = PLAIT_LOAD_OFFLINE;
    queued.concurrency = 0.0;
    // If the deployment is not published, use the feasible one with the highest offline rate.
    for (int w = 0; w < run->ways && run->ways > 1; w++) {
        const plait_service s = price_way(run, w, engine, queued);
        if (s.stable && s.output_tokens_per_s > most) {
            most = s.output_tokens_per_s;
            best = w;
        }
    }
    const plait_service s = price_way(run, best, engine, run->load);
    if (s.stable || run->load.kind != PLAIT_LOAD_RATE)
        return s;
    // The server is overloaded: model the load as a closed loop at the allowed concurrency, or as
    // offline if there is no limit.
    plait_load loop = run->load;
    loop.kind = PLAIT_LOAD_CLOSED;
    return price_way(run, best, engine,
                     loop.concurrency > 0.0 && loop.concurrency < unbounded ? loop : queued);
}

/* ---- all runs ---- */

/* Returns the errors of one figure in one mode. `error` and `ratio` are scratch, [runs]. */
static plait_serve_errors sum_errors(plait_serve_validation *v, int mode, int figure, double *error,
                                     double *ratio)
{
    size_t count = 0;
    int within = 0, covered = 0;

    for (size_t i = 0; i < v->runs->count; i++) {
        const plait_serve_run *run = &v->runs->run[i];
        const double measured = run->measured[figure];

        if ((int)run->mode != mode || run->low || run->note[0] != '\0' || !v->service[i].stable ||
            !(measured > 0.0))
            continue;
        const double predicted = plait_service_figure(&v->service[i], figure);
        const double *const band = figure < PLAIT_SERVE_FIGURES
                                       ? v->engine[i]->bands[v->evidence[i]].figure[figure]
                                       : NULL;
        ratio[count] = predicted / measured - 1.0;
        error[count] = fabs(ratio[count]);
        within += error[count++] <= 0.2;
        if (band == NULL)
            continue;
        const bool inside = measured >= predicted * band[0] && measured <= predicted * band[1];
        covered += inside;
        v->coverage[v->evidence[i]][figure].rows++;
        v->coverage[v->evidence[i]][figure].covered += inside;
    }
    if (count == 0)
        return (plait_serve_errors){0};
    return (plait_serve_errors){
        .rows = (int)count,
        .mean = statistics_mean(error, count),
        .median = statistics_quantile(error, count, 0.5),
        .bias = statistics_quantile(ratio, count, 0.5),
        .within = (double)within / (double)count,
        .covered = (double)covered / (double)count,
    };
}

/* ---- choices ---- */

static bool is_choice(const plait_serve_validation *v, size_t i)
{
    const plait_serve_run *run = &v->runs->run[i];

    return run->mode == PLAIT_SERVE_RUN_AGGREGATED && !run->low && run->note[0] == '\0' &&
           run->load.kind == PLAIT_LOAD_CLOSED && run->measured[PLAIT_SERVE_TPOT] > 0.0 &&
           run->measured[PLAIT_SERVE_TTFT] > 0.0;
}

/*
 * Returns whether two runs are alternatives: their source, model, accelerator, engine and lengths
 * are equal.
 */
static bool is_same_choice(const plait_serve_run *a, const plait_serve_run *b)
{
    return strcmp(a->group, b->group) == 0 && a->kind == b->kind && a->month == b->month &&
           a->load.input == b->load.input && a->load.output == b->load.output;
}

/* Returns the output tokens/s per GPU of a closed loop with the given TTFT and TPOT (C.373). */
static double rate_of(const plait_serve_run *run, double ttft_s, double tpot_s)
{
    return run->load.concurrency * run->load.output / (ttft_s + (run->load.output - 1.0) * tpot_s) /
           run->gpus;
}

/*
 * Picks the run of a group with the highest predicted rate among runs whose predicted TPOT, times
 * its factor, is within `bound` seconds. Returns the ratio of its measured rate to the best
 * measured rate; NaN if no run is within the bound. Sets *over to whether the measured TPOT of the
 * picked run exceeds the bound.
 *
 * @param factor  [runs] quantile of measured over predicted TPOT
 */
static double pick_share(const plait_serve_validation *v, const double *factor, size_t first,
                         double bound, bool *over)
{
    double best = 0.0, picked = 0.0, most = 0.0;

    *over = false;
    for (size_t i = first; i < v->runs->count; i++) {
        const plait_serve_run *run = &v->runs->run[i];
        if (!is_choice(v, i) || !is_same_choice(run, &v->runs->run[first]))
            continue;
        const double *m = run->measured;
        const plait_service *s = &v->service[i];
        const double measured = rate_of(run, m[PLAIT_SERVE_TTFT], m[PLAIT_SERVE_TPOT]);
        const double predicted = rate_of(run, s->ttft_s, s->tpot_s);
        if (m[PLAIT_SERVE_TPOT] <= bound && measured > best)
            best = measured;
        if (s->tpot_s * factor[i] <= bound && predicted > most) {
            most = predicted;
            picked = measured;
            *over = m[PLAIT_SERVE_TPOT] > 1.1 * bound; // repeats of a run differ by up to 10 %
        }
    }
    return best > 0.0 && most > 0.0 ? fmin(picked / best, 1.0) : (double)NAN;
}

/* Sums the picks of all groups at one confidence. `factor` is scratch, [runs]. */
static void sum_choices(const plait_serve_validation *v, double *factor,
                        struct plait_serve_picks *out)
{
    static const double bounds_s[] = {10e-3, 15e-3, 20e-3, 30e-3, 50e-3, 100e-3};

    for (size_t i = 0; i < v->runs->count; i++) {
        if (!is_choice(v, i))
            continue;
        plait_engine engine = *v->engine[i];
        plait_engine_judge(&engine, v->runs->run[i].shape, v->runs->run[i].accelerator);
        factor[i] = plait_engine_quantile(&engine, PLAIT_SERVE_TPOT, out->confidence);
    }
    for (size_t i = 0; i < v->runs->count; i++) {
        bool first = is_choice(v, i);
        size_t same = 0;
        for (size_t j = 0; first && j < v->runs->count; j++) {
            if (!is_choice(v, j) || !is_same_choice(&v->runs->run[j], &v->runs->run[i]))
                continue;
            first = j >= i;
            same++;
        }
        if (!first || same < 4)
            continue;
        for (size_t b = 0; b < sizeof bounds_s / sizeof *bounds_s; b++) {
            bool over;
            const double share = pick_share(v, factor, i, bounds_s[b], &over);
            if (isnan(share))
                continue;
            out->choices++;
            out->share += share;
            out->over += over;
        }
    }
    if (out->choices > 0) {
        out->share /= out->choices;
        out->over /= out->choices;
    }
}

plait_status plait_serve_validate(const plait_serve_runs *runs, plait_arena *arena,
                                  plait_serve_validation *out, plait_error *err)
{
    static const double confidences[PLAIT_SERVE_PICKS] = {0.5, 0.6, 0.8, 0.9};
    double *error = plait_arena_alloc(arena, runs->count, sizeof *error);
    double *ratio = plait_arena_alloc(arena, runs->count, sizeof *ratio);

    *out = (plait_serve_validation){
        .runs = runs,
        .service = plait_arena_alloc(arena, runs->count, sizeof *out->service),
        .engine = plait_arena_alloc(arena, runs->count, sizeof *out->engine),
        .evidence = plait_arena_alloc(arena, runs->count, sizeof *out->evidence)};
    PLAIT_TRY(
        plait_check_allocated(error && ratio && out->service && out->engine && out->evidence, err));
    for (size_t i = 0; i < runs->count; i++) {
        plait_serve_run *run = &runs->run[i];
        if (run->note[0] == '\0') {
            out->engine[i] = runs->given != NULL && runs->given[i] != NULL
                                 ? runs->given[i]
                                 : plait_engine_of(runs->engine, runs->engines, run->kind,
                                                   run->vendor, run->month, run->version);
            out->service[i] = plait_serve_run_price(run, out->engine[i]);
            out->evidence[i] = plait_engine_evidence(out->engine[i], run->shape, run->accelerator);
            if (!out->service[i].stable)
                run->note = "out of memory or overloaded";
        }
        out->low += run->low;
        out->refused += !run->low && run->note[0] != '\0';
        out->priced += !run->low && run->note[0] == '\0';
    }
    for (int m = 0; m < PLAIT_SERVE_RUN_MODES; m++)
        for (int f = 0; f < PLAIT_SERVE_MEASURES; f++)
            out->errors[m][f] = sum_errors(out, m, f, error, ratio);
    for (int e = 0; e < PLAIT_SERVE_EVIDENCES; e++)
        for (int f = 0; f < PLAIT_SERVE_FIGURES; f++)
            if (out->coverage[e][f].rows > 0)
                out->coverage[e][f].covered /= out->coverage[e][f].rows;
    for (int p = 0; p < PLAIT_SERVE_PICKS; p++) {
        out->picks[p].confidence = confidences[p];
        sum_choices(out, ratio, &out->picks[p]);
    }
    out->choices = out->picks[0].choices;
    out->choice_share = out->picks[0].share;
    out->choice_over = out->picks[0].over;
    return PLAIT_OK;
}
