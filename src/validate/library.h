/* library.h - cache of the models, clusters and runtimes that rows name */
#pragma once

#include "plait/cluster.h"
#include "plait/validate.h"
#include "plait/model.h"
#include "plait/runtime.h"

/** The cache; initialise it as {.arena = arena}. */
typedef struct library {
    plait_arena *arena;
    struct library_item *first;
    const char *const *models; /* all model names; NULL: not listed yet */
    plait_evidence *evidence;  /* NULL: not loaded yet */
} library;

/*
 * Failures are cached: a later call for the same name fails with the same message. A name that
 * looks like a path fails (RANGE).
 */

/** Finds a cluster such as "h100-80gb-sxm:64x8,nic=400", whole: before plait_cluster_take(). */
plait_status library_cluster(library *shelf, const char *text, const plait_cluster **out,
                             plait_error *err) PLAIT_MUST_CHECK;
plait_status library_accelerator(library *shelf, const char *name, const plait_accelerator **out,
                                 plait_error *err) PLAIT_MUST_CHECK;
plait_status library_runtime(library *shelf, const char *name, const plait_runtime **out,
                             plait_error *err) PLAIT_MUST_CHECK;
plait_status library_model(library *shelf, const char *name, const plait_model **out,
                           plait_error *err) PLAIT_MUST_CHECK;

/** Finds the longest model name that equals `name` or is its beginning before a '-'; NULL: none. */
plait_status library_model_name(library *shelf, const char *name, const char **out,
                                plait_error *err) PLAIT_MUST_CHECK;

/** Loads the evidence of the data folders; it is empty if they have none. */
plait_status library_evidence(library *shelf, const plait_evidence **out,
                              plait_error *err) PLAIT_MUST_CHECK;
