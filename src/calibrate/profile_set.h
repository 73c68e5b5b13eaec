/*
 * profile_set.h - all software with runs, and the priors of its numbers by family (hierarchy.h)
 */
#pragma once

#include "calibrate/hierarchy.h"
#include "calibrate/places.h"
#include "plait/validate.h"

/**
 * One run with its problem and plan; the fitted numbers of its runtime are replaced in each price.
 */
typedef struct profile_point {
    const plait_run *run;
    plait_problem problem;
    plait_degrees degrees;
    bool unmodelled;            /* used features without a model: predicted, but not fitted to */
    int date;                   /* month of its release; 0: unknown */
    plait_pipelines *pipelines; /* shared by all points of a set */
} profile_point;

/** One piece of software, its runs, and their residuals linearised at `line.at`. */
typedef struct profile_member {
    plait_runtime runtime; /* as in its file */
    int *variant;          /* [variants] months, ascending */
    size_t variants;
    profile_point *point;
    size_t points;
    double *residual; /* [points] log(predicted / measured) */
    double *slope;    /* [points][PLACES] derivatives by the logarithm of each number */
    hierarchy_member line;
} profile_member;

typedef struct profile_set {
    profile_member *member;
    int members;
    hierarchy families;
    const char *without; /* source whose runs are left out, or NULL */
} profile_set;

/**
 * Collects the software of all timed runs and estimates the priors. *out lives in `arena`.
 *
 * @param name       a profile to include even if it has no runs; NULL: none
 * @param variant    month of a variant of it to include even if it has no file; 0: none
 * @param pipelines  used for all prices of the set; must outlive it
 */
PLAIT_MUST_CHECK plait_status profile_set_learn(const plait_runs *runs, const char *name,
                                                int variant, plait_pipelines *pipelines,
                                                plait_arena *arena, profile_set *out,
                                                plait_error *err);

/** Estimates the priors of `all` again without the runs of one source. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status profile_set_forget(const profile_set *all, const char *source,
                                                 plait_arena *arena, profile_set *out,
                                                 plait_error *err);

/** Returns the member of that name (without a month); NULL: none. */
profile_member *profile_set_find(const profile_set *set, const char *name);

/** Returns the month of the variant that covers a run's release; 0: none. */
int profile_variant_of(const profile_member *member, const profile_point *ran_as);

/** Return a number's prior mean in base units, and its standard deviation in logarithms. */
double profile_set_parent(const profile_set *set, const profile_member *member, int number);
double profile_set_spread(const profile_set *set, const profile_member *member, int number);

/** Returns whether a run is fitted to: all it used is modelled, and its source is not left out. */
bool profile_set_knows(const profile_set *set, const profile_point *ran_as);

/** Returns the predicted seconds of a run with the numbers of a profile; NaN if it has no price. */
double profile_step_s(const plait_runtime *numbers, const profile_point *ran_as,
                      plait_arena *scratch);
