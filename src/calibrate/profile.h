/*
 * profile.h - the factors of a runtime profile from measured steps of that software
 *
 * Kernels and links have measurements of their own; what a piece of software adds to them (host
 * time, shares left exposed, factors on its kernels) shows only in whole steps. At most ten numbers
 * of a profile are fitted, within bounds that physics sets. A fit begins at what the profile's family
 * leads to expect, and a number that its runs do not determine stays there.
 *
 * A variant is the same software in releases up to a month. Its numbers begin at those that all runs of
 * the software are fitted to, and only the runs of its releases move them.
 */
#pragma once

#include "calibrate/fit.h"
#include "io/json/json_tree.h"
#include "calibrate/profile_set.h"

/** A run that was not fitted to. */
typedef struct profile_left_out {
    const plait_run *run;
    const plait_problem *problem;
    const plait_degrees *degrees;
    double shipped_s; /* predicted by the profile's file */
    double step_s;    /* predicted by this fit */
} profile_left_out;

typedef struct profile_result {
    plait_runtime runtime; /* with the fitted numbers */
    int variant;           /* the month of a variant; 0: it is none */
    int numbers;
    fit_number number[PLACES];
    double was[PLACES];    /* before */
    double parent[PLACES]; /* what the family, or the software of a variant, leads to expect */
    size_t runs;           /* that were fitted to; without one the numbers are the parents */
    size_t left_outs;
    profile_left_out *left_out; /* [left_outs], in file order */
    fit_errors errors;
    double before; /* mean of |predicted / measured - 1|; NaN without a run */
    double after;
} profile_result;

/**
 * Fit a profile to the runs of its software that the set knows of. *out lives in `arena`.
 *
 * @param variant  the month of a variant of it, that is fitted instead; 0: none
 */
PLAIT_MUST_CHECK plait_status profile_fit(const profile_set *set, const char *name, int variant,
                                          plait_arena *arena, profile_result *out,
                                          plait_error *err);

/** The i-th number, as fitted. */
double profile_number(const profile_result *result, int i);

/** Put the fitted numbers into the profile's own file. */
PLAIT_MUST_CHECK plait_status profile_apply(const profile_result *result, json_tree *tree,
                                            plait_arena *arena, plait_error *err);
