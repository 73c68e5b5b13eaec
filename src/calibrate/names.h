/*
 * names.h - names of accelerators in measurements, points to exclude, accelerators that share a die
 */
#pragma once

#include "calibrate/points.h"

/** Returns the accelerator for a name in a table or log; NULL if the list lacks it. */
const char *names_accelerator(const char *measured);

/** Returns whether a known fault of the published tables makes a point unusable. */
bool names_distrusts(const point *p);

/** Returns whether an accelerator or its stand-in was measured; if not, its rates are guesses. */
bool names_measured(const char *accelerator);

/**
 * Returns the accelerator whose measurements stand in for missing ones of `name`; NULL: none.
 *
 * @param kernels  true: for products and attention; false: for links
 */
const char *names_stand_in(const char *name, bool kernels);
