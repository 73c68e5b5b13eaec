/*
 * profile.h - fit the factors of a runtime profile to measured steps of that software
 *
 * Separate measurements determine the constants of kernels and links. The effects of the software
 * (host time, exposed shares of communication, factors on its kernels) appear only in whole steps.
 * At most ten numbers of a profile are fitted, within physical bounds (profile_set.h). A fit starts
 * at the parent of the profile's family, and a number that the runs do not determine stays there.
 *
 * A variant describes the software in its releases up to a month. The fit of a variant starts at
 * the numbers fitted to all runs of the software, and uses only the runs of the variant's releases.
 */
#pragma once

#include "calibrate/fit.h"
#include "io/json/json_tree.h"
#include "calibrate/profile_set.h"

/** A run that the fit did not use, with two predictions. */
typedef struct profile_left_out {
    const plait_run_price *run;
    double shipped_s; /* predicted with the numbers in the profile's file */
    double step_s;    /* predicted with the fitted numbers */
} profile_left_out;

typedef struct profile_result {
    plait_runtime runtime; /* profile with the fitted numbers */
    int variant;           /* month of the variant; 0: the software itself */
    int numbers;
    fit_number number[PLACES];
    double was[PLACES];    /* [numbers]: values in the file, in base units */
    double parent[PLACES]; /* [numbers]: prior means; for a variant, the values of its software */
    size_t runs;           /* number of runs of the fit; if 0, the numbers equal `parent` */
    size_t left_outs;
    profile_left_out *left_out; /* [left_outs], in file order */
    fit_errors errors;
    double before; /* mean of |predicted / measured - 1| with the file's numbers; NaN: no runs */
    double after;  /* the same mean with the fitted numbers */
} profile_result;

/**
 * Fits a profile to the runs of its software in the set. *out lives in `arena`.
 *
 * @param variant  month of the variant to fit; 0: the software itself
 */
PLAIT_MUST_CHECK plait_status profile_fit(const profile_set *set, const char *name, int variant,
                                          plait_arena *arena, profile_result *out,
                                          plait_error *err);

/** Returns the fitted value of the i-th number, in base units. */
double profile_number(const profile_result *result, int i);

/** Writes the fitted numbers and their sources into the profile's file. */
PLAIT_MUST_CHECK plait_status profile_apply(const profile_result *result, json_tree *tree,
                                            plait_arena *arena, plait_error *err);

/** Callback before each fit, to show progress. */
typedef void cross_progress(const char *source, const char *runtime);

/**
 * Estimates the error of predictions on unseen runs by leave-one-source-out cross-validation. For
 * each source in turn, leave out its runs, fit the parents of all families and the profiles of the
 * source's software to the other runs, and predict the runs left out, with the fitted profiles and
 * with the shipped ones. Software that no other source ran gets the numbers of its family's parent.
 * Also compares measured peaks of memory with predicted ones.
 *
 * @param progress  may be NULL
 * @param out       lives in `arena`
 */
PLAIT_MUST_CHECK plait_status cross_predict(const plait_runs *runs, cross_progress *progress,
                                            plait_arena *arena, plait_evidence *out,
                                            plait_error *err);
