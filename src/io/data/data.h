/*
 * data.h - finding data files by name: the parts of plait_data_find(), and names of earlier
 * versions
 */
#pragma once

#include <stdbool.h>

#include "plait/data.h"
#include "plait/degrees.h"

/** Returns whether a text is a path, or "-" for standard input, rather than a name. */
bool data_is_path(const char *name);

/**
 * Resolves a reference that `file` contains: a name stays a name, and a path becomes the file of
 * that base name beside `file`. The result is in `arena`; NULL if out of memory.
 */
const char *data_named_in(const char *file, const char *name, plait_arena *arena) PLAIT_MUST_CHECK;

/**
 * A runtime profile of earlier versions that differs from a current profile only in the plan's
 * `grad_sync`.
 */
typedef struct runtime_alias {
    const char *name;
    const char *runtime; /* current profile */
    plait_grad_sync grad_sync;
} runtime_alias;

/** Finds an alias of a runtime profile; NULL if `name` is none. */
const runtime_alias *runtime_alias_find(const char *name);

/** Finds the file with a name; *path is NULL if there is none. */
plait_status data_look_up(plait_data_kind kind, const char *name, plait_arena *arena,
                          const char **path, plait_error *err) PLAIT_MUST_CHECK;

/** Fails (RANGE) because no folder contains files of a kind; the message lists the folders. */
plait_status data_fail_empty(plait_data_kind kind, const char *name, plait_arena *arena,
                             plait_error *err) PLAIT_MUST_CHECK;

/**
 * Returns whether a text is ORG/NAME of the Hugging Face Hub or the address of its page, and not an
 * existing file.
 */
bool data_is_hub_id(const char *address);

/**
 * Finds the file of an alias: a name in different letter case, a model's Hub id with or without its
 * organisation, or a short name of hardware such as h100. *path is NULL if there is none.
 */
plait_status data_look_up_alias(plait_data_kind kind, const char *name, plait_arena *arena,
                                const char **path, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Fails (RANGE) for an unknown Hub id; the message has the nearest models and the address of its
 * config.json.
 */
plait_status data_fail_hub_id(const char *address, plait_arena *arena,
                              plait_error *err) PLAIT_MUST_CHECK;
