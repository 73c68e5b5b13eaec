/* library.h - models, clusters and runtimes that rows share, each loaded once */
#pragma once

#include "plait/cluster.h"
#include "plait/validate.h"
#include "plait/model.h"
#include "plait/runtime.h"

/** What has been asked for so far; starts as {.arena = arena}. */
typedef struct library {
    plait_arena *arena;
    struct library_item *first;
    const char *const *models; /* all names, once they were asked for */
    plait_evidence *evidence;  /* likewise */
} library;

/* Each fails again, with the same message, when it failed before. A name is a plain word: what
 * looks like a path is unknown. */

/** "h100-80gb-sxm:64x8,nic=400"; no GPUs of it are taken beyond the whole. */
plait_status library_cluster(library *shelf, const char *text, const plait_cluster **out,
                             plait_error *err) PLAIT_MUST_CHECK;
plait_status library_accelerator(library *shelf, const char *name, const plait_accelerator **out,
                                 plait_error *err) PLAIT_MUST_CHECK;
plait_status library_runtime(library *shelf, const char *name, const plait_runtime **out,
                             plait_error *err) PLAIT_MUST_CHECK;
plait_status library_model(library *shelf, const char *name, const plait_model **out,
                           plait_error *err) PLAIT_MUST_CHECK;

/** The longest model name that `name` is or begins with, followed by '-'; NULL: none. */
plait_status library_model_name(library *shelf, const char *name, const char **out,
                                plait_error *err) PLAIT_MUST_CHECK;

/** The evidence of the data folders; nothing where they have none. */
plait_status library_evidence(library *shelf, const plait_evidence **out,
                              plait_error *err) PLAIT_MUST_CHECK;
