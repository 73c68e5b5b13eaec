/*
 * names.h - what measurements call an accelerator, which of them to trust, and who shares a die
 */
#pragma once

#include "calibrate/points.h"

/** The accelerator that a table means by a name; NULL when it is not known here. */
const char *names_accelerator(const char *measured);

/** Whether a known fault of the published tables makes a point useless. */
bool names_distrusts(const point *p);

/** Whether tables of measured kernels are known of an accelerator; else its rates are guesses. */
bool names_measured(const char *accelerator);

/**
 * The accelerator whose measurements stand in for those that `name` lacks; NULL: none.
 *
 * @param kernels  of products and attention; else of links
 */
const char *names_stand_in(const char *name, bool kernels);
