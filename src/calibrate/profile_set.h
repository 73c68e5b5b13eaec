/*
 * profile_set.h - all software that runs are of, and what its families expect of a profile
 */
#pragma once

#include "calibrate/hierarchy.h"
#include "calibrate/places.h"
#include "plait/validate.h"

/** One run as it was, but for the numbers that are fitted. */
typedef struct profile_point {
    const plait_run *run;
    plait_problem problem;
    plait_degrees degrees;
    bool unmodelled;            /* it did what has no price: it is predicted, but teaches nothing */
    int date;                   /* the month of its release; 0: not known */
    plait_pipelines *pipelines; /* of all points of a set */
} profile_point;

/** One piece of software, its runs, and what they are off by near the numbers of `line.at`. */
typedef struct profile_member {
    plait_runtime runtime; /* as its file has it */
    int *variant;          /* months, ascending, of its variants */
    size_t variants;
    profile_point *point;
    size_t points;
    double *residual; /* [points] log(predicted / measured) */
    double *slope;    /* [points][PLACES], by the logarithm of each number */
    hierarchy_member line;
} profile_member;

typedef struct profile_set {
    profile_member *member;
    int members;
    hierarchy families;
    const char *without; /* a source that nothing here knows of, or NULL */
} profile_set;

/**
 * The software of all timed runs, and what they teach. *out lives in `arena`.
 *
 * @param name       of a profile that is asked for whether or not it has runs; NULL: none
 * @param variant    a month, of a variant of it whether or not that has a file; 0: none
 * @param pipelines  serves all prices of the set, and outlives it
 */
PLAIT_MUST_CHECK plait_status profile_set_learn(const plait_runs *runs, const char *name,
                                                int variant, plait_pipelines *pipelines,
                                                plait_arena *arena, profile_set *out,
                                                plait_error *err);

/** The same without the runs of one source, from what `all` has learned. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status profile_set_forget(const profile_set *all, const char *source,
                                                 plait_arena *arena, profile_set *out,
                                                 plait_error *err);

/** The software of a name without a month; NULL: none. */
profile_member *profile_set_find(const profile_set *set, const char *name);

/** The month of the variant that a run is of; 0: of none. */
int profile_variant_of(const profile_member *member, const profile_point *ran_as);

/** What the families expect of a member's number, in base units, and how far it may be off, in logarithms. */
double profile_set_parent(const profile_set *set, const profile_member *member, int number);
double profile_set_spread(const profile_set *set, const profile_member *member, int number);

/** Whether a run counts: it is priced whole, and not of the source that is left out. */
bool profile_set_knows(const profile_set *set, const profile_point *ran_as);

/** Seconds of a run with the numbers of another profile; NaN where it has no price. */
double profile_step_s(const plait_runtime *numbers, const profile_point *ran_as,
                      plait_arena *scratch);
