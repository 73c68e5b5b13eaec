/*
 * data.h - models, clusters, accelerators, their families and runtime profiles by name.
 *
 * A name stands for NAME.json in the folder of its kind, looked for in this order: under
 * $PLAIT_DATA; in share/plait of the prefix that the running program lies in, or beside it (in a
 * build, links to the source tree); in share/plait of the prefix that the shared library lies in; in
 * share/plait of the prefix that was configured. The folders are
 * models, clusters, clusters/accelerators, clusters/families, clusters/runtimes, clusters/engines and
 * models/cases in each of them. A text with a '/' in it, or one that ends in ".json", is a path and is taken as it is.
 *
 * A model also has its ids on the Hugging Face Hub, "Qwen/Qwen3-30B-A3B", unless there is such a file;
 * hardware has short names, "h100". Letter case does not count where no file has the name as it is.
 *
 * In order: plait_model_find, plait_cluster_find, plait_runtime_find for what a user typed;
 * plait_data_list for what there is.
 *
 * Left out: reading from the network, archives, caches.
 */
#ifndef PLAIT_DATA_H
#define PLAIT_DATA_H

#include <stddef.h>

#include "plait/arena.h"
#include "plait/cluster.h"
#include "plait/error.h"
#include "plait/model.h"
#include "plait/runtime.h"

PLAIT_BEGIN_DECLS

typedef enum plait_data_kind {
    PLAIT_DATA_MODELS,
    PLAIT_DATA_CLUSTERS,
    PLAIT_DATA_ACCELERATORS,
    PLAIT_DATA_RUNTIMES,
    PLAIT_DATA_FAMILIES,
    PLAIT_DATA_CASES,
    PLAIT_DATA_ENGINES,
    PLAIT_DATA_KINDS
} plait_data_kind;

/**
 * The file that a name stands for.
 *
 * @param name  a name of this kind, or a path
 * @param path  out: lives in `arena`; a path is not opened, so it may be that of no file. A folder in the
 *              place of a model is a checkpoint: the path is that of its config.json
 *
 * Fails (RANGE) on an unknown name, with the nearest known one and how to list them.
 */
PLAIT_MUST_CHECK plait_status plait_data_find(plait_data_kind kind, const char *name,
                                              plait_arena *arena, const char **path,
                                              plait_error *err);

/**
 * A file by its path in the data folders, such as "clusters/evidence.csv".
 *
 * @param path  out: lives in `arena`; NULL where no folder has it
 */
PLAIT_MUST_CHECK plait_status plait_data_file(const char *file, plait_arena *arena,
                                              const char **path, plait_error *err);

/**
 * All names of a kind, sorted, each once, whichever folder they are in.
 *
 * @param names  out: `count` names, then NULL; lives in `arena`
 */
PLAIT_MUST_CHECK plait_status plait_data_list(plait_data_kind kind, plait_arena *arena,
                                              const char *const **names, size_t *count,
                                              plait_error *err);

/** Load a model by name or path; as plait_model_load otherwise. */
PLAIT_MUST_CHECK plait_status plait_model_find(const char *name, plait_arena *arena,
                                               plait_model *out, const char **warning,
                                               plait_error *err);

/**
 * Load a cluster from what a user typed: a name, a path, or a synthetic string such as
 * "h100-80gb-sxm:64x8". The bare name of an accelerator stands for the usual nodes that carry it,
 * as many as a job takes; where a cluster has the same name, the cluster is meant. "8xh100" takes 8
 * GPUs, "2x8xh100" two nodes of 8.
 */
PLAIT_MUST_CHECK plait_status plait_cluster_find(const char *text, plait_arena *arena,
                                                 plait_cluster *out, plait_error *err);

/** Load an accelerator by name or path. */
PLAIT_MUST_CHECK plait_status plait_accelerator_find(const char *name, plait_arena *arena,
                                                     plait_accelerator *out, plait_error *err);

/**
 * Load a runtime profile by name or path; of a path, `file` of *out is the absolute one.
 *
 * NAME@WHEN is the software as it was at a month, YY.MM, or in a release that the profile of NAME
 * lists: the earliest variant that is of that month or a later one, else NAME itself.
 *
 * Fails (RANGE) on an unknown name, and on what is neither month nor release.
 */
PLAIT_MUST_CHECK plait_status plait_runtime_find(const char *name, plait_arena *arena,
                                                 plait_runtime *out, plait_error *err);

PLAIT_END_DECLS

#endif
