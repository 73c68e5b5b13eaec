/* site.c - scale a cluster's efficiency to a few measured steps of a site */
#include "calibrate/site.h"

#include <math.h>
#include <string.h>

/*
 * Bounds of the factors: less than half of the published rates means a faulty site, and more than
 * 1.2 times these rates means another generation of accelerators.
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

/* Scales a share of a peak or wire rate, and limits the result to 1. */
static void scale_share(double *share, double factor)
{
    *share = fmin(*share * factor, 1.0);
}

/* Returns a copy of the cluster with the factors applied; NULL when out of memory. */
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
        out->group[g].accelerator = &gpus[g];
        for (int p = 0; p < PLAIT_PRECISIONS; p++) {
            scale_share(&gpus[g].gemm[p].emax, subject->compute);
            scale_share(&gpus[g].grouped[p].emax, subject->compute);
        }
        for (int k = 0; k < PLAIT_ATTENTION_KERNELS; k++)
            for (int width = 0; width < 4; width++)
                scale_share(&gpus[g].attention[k].e[width], subject->compute);
    }
    for (int l = 1; l < out->levels; l++)
        scale_share(&out->level[l].efficiency, subject->network);
    return out;
}

// ---- prices --------------------------------------------------------------------------------

/* Returns a plan's step time with the current factors; NaN if the plan has no price. */
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

// ---- the fit -------------------------------------------------------------------------------

static plait_status fail_untimed(const char *name, const char *skipped, plait_error *err)
{
    return plait_fail(err, PLAIT_ERROR_RANGE, name,
                      "expected a timed run of this cluster, found none%s%s",
                      skipped != NULL ? ": " : "", skipped != NULL ? skipped : "");
}

/* Fits the factors to the steps that can be priced on the cluster; fails (RANGE) without any. */
static plait_status fit_factors(site_subject *subject, const site_step *step, size_t steps,
                                const fit_watch *watch, plait_arena *arena, site_result *out,
                                plait_error *err)
{
    const fit_number factor = {
        .element = -1, .unit = 1.0, .low = least_factor, .high = most_factor, .scales = true};
    fit_point *const point = plait_arena_alloc(arena, steps, sizeof *point);
    site_run *const run = plait_arena_alloc(arena, steps, sizeof *run);
    fit_number number[] = {factor, factor};
    fit_errors errors;

    PLAIT_TRY(plait_check_allocated(point && run, err));
    for (size_t i = 0; i < steps; i++) {
        const double before_s = step_s(subject, &step[i]);

        if (isnan(before_s)) {
            out->skipped = "the cluster cannot run the plan";
            continue;
        }
        point[out->runs] =
            (fit_point){.what = &step[i], .measured_s = step[i].measured_s, .weight = 1.0};
        run[out->runs++] = (site_run){
            .name = step[i].name, .measured_s = step[i].measured_s, .before_s = before_s};
    }
    if (out->runs == 0)
        return fail_untimed(subject->cluster->name, out->skipped, err);
    number[0].key = "compute";
    number[0].offset = offsetof(site_subject, compute);
    number[1].key = "network";
    number[1].offset = offsetof(site_subject, network);
    const fit_problem problem = {
        .subject = subject,
        .number = number,
        .numbers = subject->cluster->levels > 1 ? 2 : 1,
        .point = point,
        .points = (int)out->runs,
        .predict_s = step_s,
        .least_scale = least_scale,
        .watch = watch,
    };
    PLAIT_TRY(fit_run(&problem, arena, &errors, err));
    out->compute = subject->compute;
    out->network = subject->network;
    out->compute_determined = number[0].determined;
    out->network_determined = problem.numbers > 1 && number[1].determined;
    for (size_t i = 0; i < out->runs; i++) {
        run[i].after_s = step_s(subject, point[i].what);
        out->before += fabs(run[i].before_s / run[i].measured_s - 1.0) / (double)out->runs;
        out->after += fabs(run[i].after_s / run[i].measured_s - 1.0) / (double)out->runs;
    }
    out->run = run;
    out->cluster = scaled_cluster(subject, arena);
    return plait_check_allocated(out->cluster, err);
}

plait_status site_scale_steps(const plait_cluster *cluster, const site_step *step, size_t steps,
                              const fit_watch *watch, plait_arena *arena, site_result *out,
                              plait_error *err)
{
    site_subject subject = {.compute = 1.0,
                            .network = 1.0,
                            .cluster = cluster,
                            .scratch = plait_arena_new(),
                            .pipelines = plait_pipelines_new()};
    plait_status status;

    *out = (site_result){.compute = 1.0, .network = 1.0};
    status = subject.scratch != NULL && subject.pipelines != NULL
                 ? fit_factors(&subject, step, steps, watch, arena, out, err)
                 : plait_fail_nomem(err);
    plait_pipelines_free(subject.pipelines);
    plait_arena_free(subject.scratch);
    return status;
}

plait_status site_scale(const plait_cluster *cluster, const plait_runs *runs,
                        const fit_watch *watch, plait_arena *arena, site_result *out,
                        plait_error *err)
{
    const char *const accelerator = cluster->group[0].accelerator->name;
    site_step *step = plait_arena_alloc(arena, runs->count, sizeof *step);
    const char *skipped = NULL;
    plait_validation prices;
    size_t steps = 0;

    PLAIT_TRY(plait_check_allocated(step, err));
    PLAIT_TRY(plait_validate_prices(runs, arena, &prices, err));
    for (size_t i = 0; i < runs->count; i++) {
        const plait_run *const run = &runs->run[i];
        const plait_run_price *const price = &prices.price[i];
        const char *why = NULL;

        if (run->outcome != PLAIT_RUN_OK || !(run->step_s > 0.0))
            continue;
        if (!price->priced) {
            why = price->note;
        } else if (strcmp(run->accelerator, accelerator) != 0) {
            why = plait_arena_printf(arena, "measured on %.60s, but the cluster has %.60s",
                                     run->accelerator, accelerator);
            PLAIT_TRY(plait_check_allocated(why, err));
        } else {
            step[steps++] = (site_step){run->id, price->problem, price->degrees, run->step_s};
        }
        skipped = skipped != NULL ? skipped : why;
    }
    if (steps == 0)
        return fail_untimed(runs->name, skipped, err);
    PLAIT_TRY(site_scale_steps(cluster, step, steps, watch, arena, out, err));
    out->skipped = skipped != NULL ? skipped : out->skipped;
    return PLAIT_OK;
}
