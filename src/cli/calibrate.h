/*
 * calibrate.h - the fits of plait calibrate: kernels and links of an accelerator, steps of a site
 */
#pragma once

#include <stdio.h>

#include "cli/opt.h"
#include "plait/arena.h"
#include "plait/error.h"
#include "calibrate/site.h"

/** Destination of a fitted accelerator or cluster. */
typedef struct calibrate_sink {
    const char *path; /* file to write; NULL: none */
    bool print;       /* print it to standard output; tables of the fit then go to standard error */
} calibrate_sink;

/** Print the fit of a site: predicted steps before and after the fit, and the two factors. */
PLAIT_MUST_CHECK plait_status calibrate_print_site(const site_result *result, FILE *out,
                                                   plait_error *err);

/** Write the scaled cluster as JSON, with the factors in its source. *text lives in `arena`. */
PLAIT_MUST_CHECK plait_status calibrate_write_site(const site_result *result, plait_arena *arena,
                                                   const char **text, size_t *length,
                                                   plait_error *err);

/**
 * Scale the cluster to measured steps, print the changes, and write the cluster.
 *
 * @param log           a CSV of runs, or the training log of `plan`
 * @param plan          FILE[:RANK]; NULL if `log` is a CSV, each row of which has its plan
 * @param cluster_name  name; required with a CSV; NULL for the cluster of the plan
 */
PLAIT_MUST_CHECK plait_status calibrate_steps(const char *log, const char *plan,
                                              const char *cluster_name,
                                              const opt_operands *operands,
                                              const calibrate_sink *sink, plait_arena *arena,
                                              plait_error *err);

typedef struct calibrate_kernels_task {
    const char *accelerator; /* name of the accelerator; NULL: the one named in the tables */
    const char *cluster;     /* name of the cluster; NULL: the accelerator's default network */
    calibrate_sink accelerator_sink;
    calibrate_sink cluster_sink;
} calibrate_kernels_task;

/** Fit the tables, print the errors, and write the accelerator and the cluster. */
PLAIT_MUST_CHECK plait_status calibrate_kernels(const calibrate_kernels_task *task,
                                                const opt_operands *operands, plait_arena *arena,
                                                bool *no, plait_error *err);
