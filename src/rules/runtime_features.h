/* runtime_features.h - features that are newer than a release of the software */
#pragma once

#include "plait/runtime.h"

/**
 * Returns the release that introduced a value of a key, if that release is later than the
 * runtime's; else NULL.
 */
const plait_release *runtime_brought(const plait_runtime *runtime, int key, int value);

/**
 * Returns the first part of a model (a plait_model_part) that the runtime's release does not
 * support yet; -1: none.
 */
int runtime_part_missed(const plait_runtime *runtime, const plait_model *model);

/** Size of the buffer of runtime_brought_text(). */
enum { RUNTIME_BROUGHT_SIZE = 80 };

/** Writes "; core-v0.16.0 brought it", or "" if runtime_brought() returns NULL. Returns `out`. */
const char *runtime_brought_text(const plait_runtime *runtime, int key, int value,
                                 char out[RUNTIME_BROUGHT_SIZE]);
