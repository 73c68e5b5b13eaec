/*
 * site.h - a cluster's efficiency from a few measured steps of a site
 *
 * Kernels of a site may run slower than those that were published, and so may its network. Two
 * factors say by how much: one on the share of the peak that products and attention reach, one on
 * the efficiency of every level beyond the first. Least squares of the logarithms of predicted over
 * measured step times, with a prior at 1, finds them.
 */
#pragma once

#include "plait/validate.h"

#include "calibrate/fit.h"

/** What is to be priced on the cluster, and what it took. */
typedef struct site_step {
    const char *name;
    plait_problem problem;
    plait_degrees degrees;
    double measured_s;
} site_step;

/** One measured step, and what it is predicted to take before and after. */
typedef struct site_run {
    const char *name;
    double measured_s;
    double before_s;
    double after_s;
} site_run;

typedef struct site_result {
    double compute; /* factors; 1 where the runs do not tell */
    double network;
    bool compute_determined;
    bool network_determined;
    size_t runs;
    const site_run *run; /* that were priced */
    const char *skipped; /* why the first of the others was not; NULL: all were */
    double before;       /* mean of |predicted / measured - 1| */
    double after;
    const plait_cluster *cluster; /* with the factors applied */
} site_result;

/**
 * Scale a cluster to measured steps of it. *out lives in `arena`.
 *
 * @param cluster  no GPUs of it are taken yet; each run takes its own
 * @param watch    is told how far the fit is; may be NULL
 *
 * Fails (RANGE) when no run can be priced on it.
 */
PLAIT_MUST_CHECK plait_status site_scale(const plait_cluster *cluster, const plait_runs *runs,
                                         const fit_watch *watch, plait_arena *arena,
                                         site_result *out, plait_error *err);

/** The same of steps that are known as plans. Fails (RANGE) when none can be priced. */
PLAIT_MUST_CHECK plait_status site_scale_steps(const plait_cluster *cluster, const site_step *step,
                                               size_t steps, const fit_watch *watch,
                                               plait_arena *arena, site_result *out,
                                               plait_error *err);
