/*
 * site.h - scale a cluster's efficiency to a few measured steps of a site
 *
 * Kernels and network of a site may be slower than in published measurements. The fit determines
 * two factors: one multiplies the share of the peak that products and attention reach, the other
 * the efficiency of every level outside the scale-up domain. It minimises the squared logarithms of
 * predicted over measured step times, robustly (fit.h), with a prior at 1.
 */
#pragma once

#include "plait/validate.h"

#include "calibrate/fit.h"

/** One plan and its measured step time. */
typedef struct site_step {
    const char *name;
    plait_problem problem;
    plait_degrees degrees;
    double measured_s;
} site_step;

/** One measured step time, and the predictions before and after the fit. */
typedef struct site_run {
    const char *name;
    double measured_s;
    double before_s;
    double after_s;
} site_run;

typedef struct site_result {
    double compute; /* factor on shares of the peak; 1 if not determined */
    double network; /* factor on the efficiency of levels; 1 if not determined */
    bool compute_determined;
    bool network_determined;
    size_t runs;
    const site_run *run; /* [runs]: runs with a price */
    const char *skipped; /* reason of the first run without a price; NULL: all runs have a price */
    double before;       /* mean of |predicted / measured - 1| with factors of 1 */
    double after;        /* the same mean with the fitted factors */
    const plait_cluster *cluster; /* cluster with the factors applied */
} site_result;

/**
 * Scales a cluster to measured runs on it. *out lives in `arena`.
 *
 * @param cluster  the whole cluster, before plait_cluster_take(); each run takes its GPUs
 * @param watch    receives the progress of the fit; may be NULL
 *
 * Fails (RANGE) when no run can be priced on the cluster.
 */
PLAIT_MUST_CHECK plait_status site_scale(const plait_cluster *cluster, const plait_runs *runs,
                                         const fit_watch *watch, plait_arena *arena,
                                         site_result *out, plait_error *err);

/** Like site_scale() for plans with measured steps. Fails (RANGE) when none can be priced. */
PLAIT_MUST_CHECK plait_status site_scale_steps(const plait_cluster *cluster, const site_step *step,
                                               size_t steps, const fit_watch *watch,
                                               plait_arena *arena, site_result *out,
                                               plait_error *err);
