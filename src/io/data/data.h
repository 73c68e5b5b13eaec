/* data_private.h - the steps of plait_data_find, for names that may be of two kinds */
#pragma once

#include <stdbool.h>

#include "plait/data.h"
#include "plait/degrees.h"

/** Is it a path, or "-" for standard input, rather than a name? */
bool data_is_path(const char *name);

/**
 * What a file says by name: a name as it is, a path as the file of that name beside `file`. In `arena`,
 * NULL when out of memory.
 */
const char *data_named_in(const char *file, const char *name, plait_arena *arena) PLAIT_MUST_CHECK;

/**
 * The name of a profile of earlier versions, for software that differs from a profile of today only in
 * the plan's `grad_sync`.
 */
typedef struct runtime_alias {
    const char *name;
    const char *runtime; /* the profile of today */
    plait_grad_sync grad_sync;
} runtime_alias;

/** NULL when `name` is no alias. */
const runtime_alias *runtime_alias_find(const char *name);

/** The file of a name, or NULL in *path. */
plait_status data_look_up(plait_data_kind kind, const char *name, plait_arena *arena,
                          const char **path, plait_error *err) PLAIT_MUST_CHECK;

/** Fails (RANGE) for want of any file of a kind, with the folders that were looked at. */
plait_status data_fail_nothing(plait_data_kind kind, const char *name, plait_arena *arena,
                               plait_error *err) PLAIT_MUST_CHECK;

/** Is it ORG/NAME as on the Hugging Face Hub, or the address of its page, and no file? */
bool data_is_hub_id(const char *address);

/**
 * The file of a name that others use, or NULL in *path: other letter case, a model's id on the Hub with or
 * without its organisation, a short name of hardware such as h100.
 */
plait_status data_look_up_alias(plait_data_kind kind, const char *name, plait_arena *arena,
                                const char **path, plait_error *err) PLAIT_MUST_CHECK;

/** Fails (RANGE) on an unknown id, with the nearest models and where its config.json is. */
plait_status data_fail_hub(const char *address, plait_arena *arena,
                           plait_error *err) PLAIT_MUST_CHECK;
