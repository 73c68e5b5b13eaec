/*
 * places.h - the numbers of a runtime profile that are fitted: where they are, and what they can be
 */
#pragma once

#include <stddef.h>

#include "plait/runtime.h"

enum { PLACES = 10 };

/** One number of a profile. */
typedef struct place {
    const char *block; /* of the file */
    const char *key;
    size_t offset; /* of the double in plait_runtime */
    double unit;
    double low, prior, high; /* what physics allows, and what to expect of any software */
    double spread;           /* of software about what is expected, in logarithms */
    bool kernels;            /* it stands on the rates of an accelerator's kernels */
    bool sourced; /* what to expect of it is measured apart: no parent learns from runs */
} place;

extern const place places[PLACES];

double place_value(const plait_runtime *runtime, int number);
void place_set(plait_runtime *runtime, int number, double value);

/** Numbers that are zero are switched off, and stay so; a share of what never overlaps is all. */
bool place_used(const plait_runtime *runtime, int number);

/** What software of this make has more than other software, as a logarithm. */
double place_shift(const plait_runtime *runtime, int number);
