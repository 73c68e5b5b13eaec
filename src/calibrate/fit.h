/*
 * fit.h - constants of a cost function from measured times, robustly
 *
 * The numbers to fit sit somewhere in a subject, an accelerator for one; the function that prices a
 * point reads them there. So what is fitted is the very function that later predicts:
 *
 *     fit_number number[] = {{"emax", .offset = ..., .low = 0.1, .high = 1.0}};
 *     fit_problem problem = {.subject = &subject, .number = number, .numbers = 1, ...};
 *     PLAIT_TRY(fit_run(&problem, arena, &result, err));
 *
 * Residuals are logarithms of predicted over measured time, so 10 % counts alike at a microsecond
 * and at a second. A few wild points do not count: Cauchy's weights, from the median residual. Each
 * number stays inside its bounds and has a prior at the value that the subject held before, a weak one
 * unless it says how far its kind spreads. A number that the points do not determine keeps exactly
 * that value, and says so.
 *
 * Points of one sweep may share what they are all off by: how far residuals lie from their sweep's
 * mean then counts too, since the order of plans rests on it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "plait/arena.h"
#include "plait/error.h"

enum { FIT_MAX_NUMBERS = 16 };

/** One number, its place in the subject and its bounds, all in base units. */
typedef struct fit_number {
    const char *key;
    int element;     /* of the array that the key stands for; -1: it is no array */
    size_t offset;   /* of the double in the subject */
    double unit;     /* in which three digits are kept */
    double low;      /* above 0 where `scales` */
    double high;     /* above low */
    double spread;   /* of the prior, in logarithms; 0: a weak one */
    bool scales;     /* ratios count: a rate, a time; else differences: a share */
    bool preset;     /* begins at a guess, since without it the default is none at all */
    bool determined; /* out */
} fit_number;

/** One measured time. */
typedef struct fit_point {
    const void *what; /* what `predict_s` prices */
    double measured_s;
    double weight;
    const char *sweep; /* NULL or "": it is of none */
    bool held_out;     /* only judged */
    bool large;        /* of the size that training has */
} fit_point;

/** Seconds of one point, with the numbers that the subject holds. */
typedef double fit_predict(const void *subject, const void *what);

/** Who is told how far a fit is, 0 to 1. */
typedef struct fit_watch {
    void (*tell)(void *context, double share);
    void *context;
} fit_watch;

typedef struct fit_problem {
    void *subject;
    fit_number *number;
    int numbers;
    const fit_point *point;
    int points;
    fit_predict *predict_s;
    double least_scale;     /* residuals below it are noise; 0: a tenth of a percent */
    double sweep_weight;    /* of a difference inside a sweep, over that of a residual */
    const fit_watch *watch; /* NULL: nobody */
} fit_problem;

/** Mean of |predicted / measured - 1|; negative where there is no such point. */
typedef struct fit_errors {
    int points; /* all of them */
    int held_out;
    double fitted;
    double held;
    double held_large;
} fit_errors;

/**
 * Fit the numbers on the points that are not held out, and judge them on all.
 *
 * The subject then holds them, rounded to three digits.
 */
PLAIT_MUST_CHECK plait_status fit_run(const fit_problem *problem, plait_arena *arena,
                                      fit_errors *out, plait_error *err);

/** A number to three significant digits of its unit. */
double fit_rounded(double number, double unit);
