/*
 * data.h - models, clusters, accelerators, families, engines and runtime profiles by name
 *
 * A name refers to the file NAME.json in the folder of its kind. The folders are models, clusters,
 * clusters/accelerators, clusters/families, clusters/runtimes, clusters/engines and models/cases.
 * They are searched in this order: in $PLAIT_DATA; in share/plait of the running program's prefix,
 * or next to the program (in a build, links to the source tree); in share/plait of the shared
 * library's prefix; in share/plait of the configured prefix. A text with a '/' in it, or one that
 * ends in ".json", is a path and is used unchanged.
 *
 * A model also has its ids on the Hugging Face Hub, such as "Qwen/Qwen3-30B-A3B", unless a file of
 * that path exists. Hardware has short names, such as "h100". If no file has the exact name, letter
 * case is ignored.
 *
 * In order: plait_model_find, plait_cluster_find and plait_runtime_find for the arguments of a
 * user; plait_data_list for the valid names.
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
 * The path of the file that a name refers to.
 *
 * @param name  a name of this kind, or a path
 * @param path  out: lives in `arena`. A given path is not opened, so the file may not exist. If the
 *              path of a model is a folder, it is a checkpoint, and *path is its config.json
 *
 * Fails (RANGE) for an unknown name; the message has the nearest valid name and the command that
 * lists all of them.
 */
PLAIT_MUST_CHECK plait_status plait_data_find(plait_data_kind kind, const char *name,
                                              plait_arena *arena, const char **path,
                                              plait_error *err);

/**
 * A file by its path in the data folders, such as "clusters/evidence.csv".
 *
 * @param path  out: lives in `arena`; NULL if no folder has the file
 */
PLAIT_MUST_CHECK plait_status plait_data_file(const char *file, plait_arena *arena,
                                              const char **path, plait_error *err);

/**
 * All names of a kind in all data folders, sorted, without duplicates.
 *
 * @param names  out: `count` names, then NULL; lives in `arena`
 */
PLAIT_MUST_CHECK plait_status plait_data_list(plait_data_kind kind, plait_arena *arena,
                                              const char *const **names, size_t *count,
                                              plait_error *err);

/** Load a model by name or path; other parameters and errors as in plait_model_load. */
PLAIT_MUST_CHECK plait_status plait_model_find(const char *name, plait_arena *arena,
                                               plait_model *out, const char **warning,
                                               plait_error *err);

/**
 * Load a cluster by name, by path, or from a synthetic string such as "h100-80gb-sxm:64x8". The
 * name of an accelerator refers to a cluster of its default nodes, with as many nodes as a job
 * takes; a cluster of the same name takes precedence. "8xh100" takes 8 GPUs, "2x8xh100" two nodes
 * of 8.
 */
PLAIT_MUST_CHECK plait_status plait_cluster_find(const char *text, plait_arena *arena,
                                                 plait_cluster *out, plait_error *err);

/** Load an accelerator by name or path. */
PLAIT_MUST_CHECK plait_status plait_accelerator_find(const char *name, plait_arena *arena,
                                                     plait_accelerator *out, plait_error *err);

/**
 * Load a runtime profile by name or path; for a path, out->file is the absolute path.
 *
 * NAME@WHEN is an earlier state of the software, where WHEN is a month, YY.MM, or a release that
 * the profile of NAME lists. It loads the earliest variant of that month or later, or else NAME
 * itself.
 *
 * Fails (RANGE) for an unknown name, and if WHEN is neither a month nor a release.
 */
PLAIT_MUST_CHECK plait_status plait_runtime_find(const char *name, plait_arena *arena,
                                                 plait_runtime *out, plait_error *err);

PLAIT_END_DECLS

#endif
