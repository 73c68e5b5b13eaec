/*
 * places.h - the fitted numbers of a runtime profile: their offsets, bounds and priors
 */
#pragma once

#include <stddef.h>

#include "plait/runtime.h"

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

/** Read and write a number of a profile, in base units. */
double place_value(const plait_runtime *runtime, int number);
void place_set(plait_runtime *runtime, int number, double value);

/**
 * Returns whether a number is fitted. A number of 0 is switched off, and dp_exposed has no effect
 * if the profile overlaps no gradient reduction.
 */
bool place_used(const plait_runtime *runtime, int number);

/** Returns the known offset of a profile's number from its parent, as a logarithm. */
double place_shift(const plait_runtime *runtime, int number);
