/* site.c - scale a cluster's efficiency to a few measured steps of a site */
#include "calibrate/site.h"

#include <math.h>
#include <string.h>

/*
 * Bounds of the factors: half of the published rates is a faulty site, 1.2 times another
 * generation.
 */
static const double least_factor = 0.5, most_factor = 1.2;
/* Lower limit of the robust scale: repeats of one plan differ by some percent. */
static const double least_scale = 0.03;

/* The subject of the fit: two factors on a cluster. */
typedef struct site_subject {
    double compute;
    double network;
    const plait_cluster *cluster;
    plait_arena *scratch;
    plait_pipelines *pipelines;
} site_subject;

// ---- factors on a cluster ------------------------------------------------------------------

/* Scales a share of a peak or wire rate, which stays at 1 at most. */
static void scale_share(double *share, double factor)
{
    *share = fmin(*share * factor, 1.0);
}

static void scale_accelerator(plait_accelerator *accelerator, double compute)
{
    for (int p = 0; p < PLAIT_PRECISIONS; p++) {
        scale_share(&accelerator->gemm[p].emax, compute);
        scale_share(&accelerator->grouped[p].emax, compute);
    }
    for (int k = 0; k < PLAIT_ATTENTION_KERNELS; k++)
        for (int width = 0; width < 4; width++)
            scale_share(&accelerator->attention[k].e[width], compute);
}

/* A copy of the cluster with the factors applied; NULL when out of memory. */
static plait_cluster *scaled_cluster(const site_subject *subject, plait_arena *arena)
{
    plait_cluster *const out = plait_arena_alloc(arena, 1, sizeof *out);
    plait_accelerator *gpus;

    if (out == NULL)
        return NULL;
    *out = *subject->cluster;
    gpus = plait_arena_alloc(arena, (size_t)out->groups, sizeof *gpus);
    if (gpus == NULL)
        return NULL;
    for (int g = 0; g < out->groups; g++) {
        gpus[g] = *out->group[g].accelerator;
        scale_accelerator(&gpus[g], subject->compute);
        out->group[g].accelerator = &gpus[g];
    }
    for (int l = 1; l < out->levels; l++)
        scale_share(&out->level[l].efficiency, subject->network);
    return out;
}

// ---- prices --------------------------------------------------------------------------------

/* Returns the step time on the cluster with the current factors; NaN when it has no price. */
static double step_s(const void *context, const void *what)
{
    const site_subject *subject = context;
    const site_step *point = what;
    const plait_arena_mark mark = plait_arena_save(subject->scratch);
    plait_cluster *cluster = scaled_cluster(subject, subject->scratch);
    plait_problem problem = point->problem;
    plait_plan plan;
    plait_cost cost;
    double s = (double)NAN;

    problem.cluster = cluster;
    if (cluster != NULL && plait_cluster_take(cluster, problem.job.gpus, NULL) == PLAIT_OK &&
        plait_plan_expand(&problem, &point->degrees, subject->scratch, &plan, NULL) == PLAIT_OK &&
        plait_plan_evaluate(&problem, &plan, subject->pipelines, subject->scratch, &cost, NULL) ==
            PLAIT_OK &&
        cost.step_s > 0.0)
        s = cost.step_s;
    plait_arena_rewind(subject->scratch, mark);
    return s;
}

/* Converts a priced run to a step; sets *why if it has no price or ran on another accelerator. */
static plait_status read_run(const plait_cluster *cluster, const plait_run_price *price,
                             plait_arena *arena, site_step *out, const char **why, plait_error *err)
{
    const plait_run *const run = price->run;

    if (!price->priced) {
        *why = price->note;
        return PLAIT_OK;
    }
    *out = (site_step){run->id, price->problem, price->degrees, run->step_s};
    if (strcmp(run->accelerator, cluster->group[0].accelerator->name) == 0)
        return PLAIT_OK;
    *why = plait_arena_printf(arena, "measured on %.60s, but the cluster has %.60s",
                              run->accelerator, cluster->group[0].accelerator->name);
    return *why != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

// ---- the fit -------------------------------------------------------------------------------

/* The points of the fit and the runs of the result, in the same order. */
typedef struct site_table {
    fit_point *fit;
    site_run *run;
} site_table;

/* Collects the steps with a price on the cluster; fails (RANGE) if the list is empty. */
static plait_status collect_steps(const site_subject *subject, const site_step *step, size_t steps,
                                  plait_arena *arena, site_table *table, site_result *out,
                                  plait_error *err)
{
    *table = (site_table){plait_arena_alloc(arena, steps, sizeof *table->fit),
                          plait_arena_alloc(arena, steps, sizeof *table->run)};
    PLAIT_TRY(plait_check_allocated(table->fit && table->run, err));
    for (size_t i = 0; i < steps; i++) {
        const double before_s = step_s(subject, &step[i]);

        if (isnan(before_s)) {
            out->skipped = "the cluster cannot run the plan";
            continue;
        }
        table->fit[out->runs] =
            (fit_point){.what = &step[i], .measured_s = step[i].measured_s, .weight = 1.0};
        table->run[out->runs++] = (site_run){
            .name = step[i].name, .measured_s = step[i].measured_s, .before_s = before_s};
    }
    if (out->runs > 0)
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_RANGE, subject->cluster->name,
                      "expected a timed run of this cluster, found none%s%s",
                      out->skipped != NULL ? ": " : "", out->skipped != NULL ? out->skipped : "");
}

static fit_number factor_number(const char *key, size_t offset)
{
    return (fit_number){.key = key,
                        .element = -1,
                        .offset = offset,
                        .unit = 1.0,
                        .low = least_factor,
                        .high = most_factor,
                        .scales = true};
}

static plait_status fit_factors(site_subject *subject, const site_table *table,
                                const fit_watch *watch, site_result *out, plait_arena *arena,
                                plait_error *err)
{
    fit_number number[] = {factor_number("compute", offsetof(site_subject, compute)),
                           factor_number("network", offsetof(site_subject, network))};
    const fit_problem problem = {
        .subject = subject,
        .number = number,
        .numbers = subject->cluster->levels > 1 ? 2 : 1,
        .point = table->fit,
        .points = (int)out->runs,
        .predict_s = step_s,
        .least_scale = least_scale,
        .watch = watch,
    };
    fit_errors errors;

    PLAIT_TRY(fit_run(&problem, arena, &errors, err));
    out->compute = subject->compute;
    out->network = subject->network;
    out->compute_determined = number[0].determined;
    out->network_determined = problem.numbers > 1 && number[1].determined;
    return PLAIT_OK;
}

plait_status site_scale_steps(const plait_cluster *cluster, const site_step *step, size_t steps,
                              const fit_watch *watch, plait_arena *arena, site_result *out,
                              plait_error *err)
{
    plait_arena *const scratch = plait_arena_new();
    plait_pipelines *const pipelines = plait_pipelines_new();
    site_subject subject = {.compute = 1.0,
                            .network = 1.0,
                            .cluster = cluster,
                            .scratch = scratch,
                            .pipelines = pipelines};
    site_table table;
    plait_status status;

    *out = (site_result){.compute = 1.0, .network = 1.0};
    status = scratch != NULL && pipelines != NULL ? PLAIT_OK : plait_fail_nomem(err);
    if (status == PLAIT_OK)
        status = collect_steps(&subject, step, steps, arena, &table, out, err);
    if (status == PLAIT_OK)
        status = fit_factors(&subject, &table, watch, out, arena, err);
    for (size_t i = 0; status == PLAIT_OK && i < out->runs; i++) {
        site_run *const run = &table.run[i];

        run->after_s = step_s(&subject, table.fit[i].what);
        out->before += fabs(run->before_s / run->measured_s - 1.0) / (double)out->runs;
        out->after += fabs(run->after_s / run->measured_s - 1.0) / (double)out->runs;
    }
    plait_pipelines_free(pipelines);
    plait_arena_free(scratch);
    PLAIT_TRY(status);
    out->run = table.run;
    out->cluster = scaled_cluster(&subject, arena);
    return out->cluster != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

plait_status site_scale(const plait_cluster *cluster, const plait_runs *runs,
                        const fit_watch *watch, plait_arena *arena, site_result *out,
                        plait_error *err)
{
    site_step *step = plait_arena_alloc(arena, runs->count, sizeof *step);
    const char *skipped = NULL;
    plait_validation prices;
    size_t steps = 0;

    PLAIT_TRY(plait_check_allocated(step, err));
    PLAIT_TRY(plait_validate_prices(runs, arena, &prices, err));
    for (size_t i = 0; i < runs->count; i++) {
        const plait_run *const run = &runs->run[i];
        const char *why = NULL;

        if (run->outcome != PLAIT_RUN_OK || !(run->step_s > 0.0))
            continue;
        PLAIT_TRY(read_run(cluster, &prices.price[i], arena, &step[steps], &why, err));
        steps += why == NULL;
        skipped = skipped != NULL ? skipped : why;
    }
    if (steps == 0)
        return plait_fail(err, PLAIT_ERROR_RANGE, runs->name,
                          "expected a timed run of this cluster, found none%s%s",
                          skipped != NULL ? ": " : "", skipped != NULL ? skipped : "");
    PLAIT_TRY(site_scale_steps(cluster, step, steps, watch, arena, out, err));
    out->skipped = skipped != NULL ? skipped : out->skipped;
    return PLAIT_OK;
}
