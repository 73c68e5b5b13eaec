/*
 * profile_set.h - the software for which measured runs exist, the fitted parameters of its
 * profiles, and the priors of these parameters by family (hierarchy.h)
 */
#pragma once

#include "calibrate/hierarchy.h"
#include "plait/validate.h"

enum { PLACES = 10 };

/** One fitted number of a profile. Its bounds and prior are multiples of `unit`. */
typedef struct place {
    const char *block; /* JSON object in the profile's file */
    const char *key;
    size_t offset; /* offset of the double in plait_runtime */
    double unit;
    double low, prior, high; /* lower bound, prior mean for all software, upper bound */
    double spread; /* prior standard deviation between pieces of software, in logarithms */
    bool kernels;  /* whether it is a factor on the accelerator's kernel rates */
    bool sourced;  /* whether the prior has its own source; if so, runs do not shift the parents */
} place;

extern const place places[PLACES];

/** Returns a number of a profile, in base units. */
double place_value(const plait_runtime *runtime, int number);

/** One piece of software, its runs, and their residuals linearised at `line.at`. */
typedef struct profile_member {
    plait_runtime runtime; /* profile as in its file */
    int *variant;          /* [variants] months of the variants, ascending */
    size_t variants;
    const plait_run_price **run; /* [runs] */
    size_t runs;
    double *residual; /* [runs] log(predicted / measured) */
    double *slope; /* [runs][PLACES] derivatives of the residuals by the logarithm of each number */
    hierarchy_member line;
} profile_member;

typedef struct profile_set {
    profile_member *member;
    int members;
    hierarchy families;
    const char *without; /* source whose runs are left out; NULL: none */
    plait_pipelines *pipelines;
    const plait_run_price *price; /* prices of all runs, in file order */
} profile_set;

/**
 * Collects the software of all timed runs and estimates the priors. *out lives in `arena`.
 *
 * @param name       a profile to include even if it has no runs; NULL: none
 * @param variant    month of a variant of `name` to include even if it has no file; 0: none
 * @param pipelines  used for all prices of the set; must outlive the set
 */
PLAIT_MUST_CHECK plait_status profile_set_fit(const plait_runs *runs, const char *name, int variant,
                                              plait_pipelines *pipelines, plait_arena *arena,
                                              profile_set *out, plait_error *err);

/** Estimates the priors of `all` again without the runs of one source. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status profile_set_fit_without(const profile_set *all, const char *source,
                                                      plait_arena *arena, profile_set *out,
                                                      plait_error *err);

/** Returns the member with the software name `name` (without a month); NULL: none. */
profile_member *profile_set_find(const profile_set *set, const char *name);

/**
 * Returns whether fits use a run: the cost model has all features of the run, and the run's source
 * is not left out.
 */
bool profile_set_includes(const profile_set *set, const plait_run_price *run);

/**
 * Returns the predicted seconds of a run's step; NaN if the run has no price. The prediction uses
 * the fitted numbers of `numbers`, and everything else from the run's own profile.
 */
double profile_step_s(const plait_runtime *numbers, const plait_run_price *run,
                      plait_pipelines *pipelines, plait_arena *scratch);
