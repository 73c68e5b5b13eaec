/* data.h - names of data files: parts of plait_data_find(), and names of earlier versions */
#pragma once

#include <stdbool.h>

#include "plait/data.h"
#include "plait/degrees.h"

/** Whether a text is a path, or "-" for standard input, and no name. */
bool data_is_path(const char *name);

/**
 * Resolves a reference in `file`: a name stays a name, a path becomes the file of that name beside `file`. In
 * `arena`; NULL if out of memory.
 */
const char *data_named_in(const char *file, const char *name, plait_arena *arena) PLAIT_MUST_CHECK;

/** A profile of earlier versions that differs from a present one only in the plan's `grad_sync`. */
typedef struct runtime_alias {
    const char *name;
    const char *runtime; /* the present profile */
    plait_grad_sync grad_sync;
} runtime_alias;

/** NULL if `name` is no alias. */
const runtime_alias *runtime_alias_find(const char *name);

/** Finds the file of a name; *path is NULL if there is none. */
plait_status data_look_up(plait_data_kind kind, const char *name, plait_arena *arena,
                          const char **path, plait_error *err) PLAIT_MUST_CHECK;

/** Fails (RANGE) because no folder has files of a kind; the message lists the folders. */
plait_status data_fail_empty(plait_data_kind kind, const char *name, plait_arena *arena,
                               plait_error *err) PLAIT_MUST_CHECK;

/** Whether a text is ORG/NAME of the Hugging Face Hub, or the address of its page, and no file. */
bool data_is_hub_id(const char *address);

/**
 * Finds the file of an alias: a name in other letter case, a model's id on the Hub with or without its
 * organisation, a short name of hardware such as h100. *path is NULL if there is none.
 */
plait_status data_look_up_alias(plait_data_kind kind, const char *name, plait_arena *arena,
                                const char **path, plait_error *err) PLAIT_MUST_CHECK;

/** Fails (RANGE) on an unknown id, with the nearest models and the address of its config.json. */
plait_status data_fail_hub_id(const char *address, plait_arena *arena,
                              plait_error *err) PLAIT_MUST_CHECK;
