/*
 * fit.h - robust fit of the constants of a cost function to measured times
 *
 * The numbers to fit are fields of a subject, such as an accelerator, and the function that prices
 * a point reads them from there. The fit thus calls the same function that later predicts:
 *
 *     fit_number number[] = {{"emax", .offset = ..., .low = 0.1, .high = 1.0}};
 *     fit_problem problem = {.subject = &subject, .number = number, .numbers = 1, ...};
 *     PLAIT_TRY(fit_run(&problem, arena, &result, err));
 *
 * A residual is the logarithm of predicted over measured time, so an error of 10 % counts the same
 * at a microsecond and at a second. Cauchy's weights, scaled by the median residual, make outliers
 * count little. Each number stays inside its bounds and has a prior at its value before the fit;
 * the prior is weak unless `spread` is set. A number that the points do not determine keeps exactly
 * that value, and its `determined` is false.
 *
 * Points of one sweep may share an error. With `sweep_weight` set, the distances of residuals from
 * the mean of their sweep count as well, since the order of plans depends on them.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

enum { FIT_MAX_NUMBERS = 16 };

/** One number to fit: its offset in the subject and its bounds, all in base units. */
typedef struct fit_number {
    const char *key; /* in the file; NULL: not written */
    int element;     /* index in the array of that key; -1: no array */
    size_t offset;   /* of the double in the subject */
    double unit;     /* of the file; values are rounded to three digits of it */
    double low;      /* above 0 if `scales` */
    double high;     /* above low */
    double spread;   /* of the prior, in logarithms; 0: a weak prior */
    bool scales;     /* fitted by its logarithm (a rate, a time); else linearly (a share) */
    bool preset;     /* starts at an estimate, since the number has no default */
    bool determined; /* out: whether the points determine it */
} fit_number;

/** One measured time. */
typedef struct fit_point {
    const void *what; /* passed to `predict_s` */
    double measured_s;
    double weight;
    const char *sweep; /* name; NULL or "": none */
    bool held_out;     /* not fitted to, only used to measure the error */
    bool large;        /* of a size that training has */
} fit_point;

/** Returns the predicted seconds of one point, with the current numbers of the subject. */
typedef double fit_predict(const void *subject, const void *what);

/** Callback for progress: `share` is the finished part of the fit, 0 to 1. */
typedef struct fit_watch {
    void (*show)(void *context, double share);
    void *context;
} fit_watch;

typedef struct fit_problem {
    void *subject;
    fit_number *number;
    int numbers;
    const fit_point *point;
    int points;
    fit_predict *predict_s;
    double least_scale;     /* lower limit of the robust scale; 0: a tenth of a percent */
    double sweep_weight;    /* weight of a distance from the sweep's mean, relative to a residual */
    const fit_watch *watch; /* NULL: no progress reports */
} fit_problem;

/** Means of |predicted / measured - 1|; negative if there is no such point. */
typedef struct fit_errors {
    int points;        /* number of points, held out or not */
    int held_out;      /* number of points held out */
    double fitted;     /* mean over the points fitted to */
    double held;       /* mean over the held-out points */
    double held_large; /* mean over the large held-out points */
} fit_errors;

/**
 * Fits the numbers to the points that are not held out, and sets *out to the errors on all points.
 *
 * Writes the numbers into the subject, rounded to three digits.
 */
PLAIT_MUST_CHECK plait_status fit_run(const fit_problem *problem, plait_arena *arena,
                                      fit_errors *out, plait_error *err);

/** Rounds a number to three significant digits. `unit` is the unit of the file. */
double fit_rounded(double number, double unit);
