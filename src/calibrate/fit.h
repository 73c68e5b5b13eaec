/*
 * fit.h - robust fit of the constants of a cost function to measured times
 *
 * The numbers to fit are fields of a subject, such as an accelerator. The function that predicts
 * the time of a point reads them from the subject, so the fit calls the same function as
 * predictions:
 *
 *     fit_number number[] = {{"emax", .offset = ..., .low = 0.1, .high = 1.0}};
 *     fit_problem problem = {.subject = &subject, .number = number, .numbers = 1, ...};
 *     PLAIT_TRY(fit_run(&problem, arena, &result, err));
 *
 * A residual is the logarithm of predicted over measured time, so an error of 10 % counts the same
 * at a microsecond and at a second. Cauchy's weights, scaled by the median residual, reduce the
 * influence of outliers. Each number stays inside its bounds and has a prior at its value before
 * the fit; the prior is weak unless `spread` is set. A number that the points do not determine
 * keeps exactly its value before the fit, and its `determined` is false.
 *
 * The points of one sweep can share an error. If `sweep_weight` is set, the distance of each
 * residual from the mean of its sweep also counts, since the order of plans depends on these
 * distances.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

enum { FIT_MAX_NUMBERS = 16 };

/** One number to fit: its offset in the subject and its bounds, all in base units. */
typedef struct fit_number {
    const char *key; /* key in the file; NULL: not written */
    int element;     /* index in the array of that key; -1: no array */
    size_t offset;   /* offset of the double in the subject */
    double unit;     /* unit in the file, in which values are rounded to three digits */
    double low;      /* lower bound; above 0 if `scales` */
    double high;     /* upper bound; above `low` */
    double spread;   /* standard deviation of the prior, in logarithms; 0: weak prior */
    bool scales;     /* whether it is fitted by its logarithm (rates, times) or linearly (shares) */
    bool preset;     /* whether it has no default and starts at an estimate */
    bool determined; /* out: whether the points determine it */
} fit_number;

/** One measured time. */
typedef struct fit_point {
    const void *what; /* passed to `predict_s` */
    double measured_s;
    double weight;
    const char *sweep; /* name; NULL or "": none */
    bool held_out;     /* whether the point only measures the error of the fit */
    bool large;        /* whether the point is as large as operations of training are */
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

/** Mean errors |predicted / measured - 1|. A mean without points is negative. */
typedef struct fit_errors {
    int points;        /* number of points, held out or not */
    int held_out;      /* number of points held out */
    double fitted;     /* mean over the points that are not held out */
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

/** Returns a number rounded to three significant digits in `unit`, the unit of the file. */
double fit_rounded(double number, double unit);
