/*
 * profile_set.h - all software with runs, the fitted numbers of its profiles, and their priors by
 * family (hierarchy.h)
 */
#pragma once

#include "calibrate/hierarchy.h"
#include "plait/validate.h"

enum { PLACES = 10 };

/** One fitted number of a profile. Bounds and prior are in `unit`. */
typedef struct place {
    const char *block; /* object in the file */
    const char *key;
    size_t offset; /* of the double in plait_runtime */
    double unit;
    double low, prior, high; /* bounds, and the value expected of any software */
    double spread;           /* prior deviation between pieces of software, in logarithms */
    bool kernels;            /* a factor on the accelerator's kernel rates */
    bool sourced; /* the prior has a source of its own: parents are not estimated from runs */
} place;

extern const place places[PLACES];

/** Returns a number of a profile, in base units. */
double place_value(const plait_runtime *runtime, int number);

/** One piece of software, its runs, and their residuals linearised at `line.at`. */
typedef struct profile_member {
    plait_runtime runtime; /* as in its file */
    int *variant;          /* [variants] months, ascending */
    size_t variants;
    const plait_run_price **run; /* [runs] */
    size_t runs;
    double *residual; /* [runs] log(predicted / measured) */
    double *slope;    /* [runs][PLACES] derivatives by the logarithm of each number */
    hierarchy_member line;
} profile_member;

typedef struct profile_set {
    profile_member *member;
    int members;
    hierarchy families;
    const char *without; /* source whose runs are left out, or NULL */
    plait_pipelines *pipelines;
    const plait_run_price *price; /* of all runs in the file, in its order */
} profile_set;

/**
 * Collects the software of all timed runs and estimates the priors. *out lives in `arena`.
 *
 * @param name       a profile to include even if it has no runs; NULL: none
 * @param variant    month of a variant of it to include even if it has no file; 0: none
 * @param pipelines  used for all prices of the set; must outlive it
 */
PLAIT_MUST_CHECK plait_status profile_set_fit(const plait_runs *runs, const char *name, int variant,
                                              plait_pipelines *pipelines, plait_arena *arena,
                                              profile_set *out, plait_error *err);

/** Estimates the priors of `all` again without the runs of one source. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status profile_set_fit_without(const profile_set *all, const char *source,
                                                      plait_arena *arena, profile_set *out,
                                                      plait_error *err);

/** Returns the member of that name (without a month); NULL: none. */
profile_member *profile_set_find(const profile_set *set, const char *name);

/** Returns whether a run is fitted to: all it used is modelled, and its source is not left out. */
bool profile_set_includes(const profile_set *set, const plait_run_price *run);

/**
 * Returns the predicted seconds of a run; NaN if it has no price. The run keeps the switches of its
 * own profile; only the fitted numbers are replaced by those of `numbers`.
 */
double profile_step_s(const plait_runtime *numbers, const plait_run_price *run,
                      plait_pipelines *pipelines, plait_arena *scratch);
