/* runtime_features.h - features that are newer than a release of the software */
#pragma once

#include <stdint.h>

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

/** A set of parts of models: bits 1 << plait_model_part. */
typedef uint64_t model_part_set;
#define MODEL_PART_BIT(part) ((model_part_set)1 << (part))

/**
 * Returns the first rare part (from PLAIT_FIRST_RARE_PART on) of a model that is not in a set; -1:
 * none.
 */
int model_part_beyond(const plait_model *model, model_part_set known);

/** Returns a part's name in sentences; "" unless the part is rare. */
const char *model_part_phrase(int part);

/** Size of the buffer of runtime_brought_text(). */
enum { RUNTIME_BROUGHT_SIZE = 80 };

/** Writes "; core-v0.16.0 brought it", or "" if runtime_brought() returns NULL. Returns `out`. */
const char *runtime_brought_text(const plait_runtime *runtime, int key, int value,
                                 char out[RUNTIME_BROUGHT_SIZE]);
