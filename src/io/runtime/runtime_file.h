/*
 * runtime_file.h - runtime profiles as JSON, and the state of software in a month or a release
 *
 * A variant, clusters/runtimes/NAME@YY.MM.json, contains the differences from the profile NAME for
 * releases up to that month. A date selects the earliest variant whose month is not before the
 * date, or NAME itself if there is none. A date is a number such as 2509 for "25.09"; 0 means no
 * date.
 */
#pragma once

#include <stddef.h>

#include "io/json/json.h"
#include "plait/runtime.h"

// ---- dates and variants (runtime_variant.c) ----------------------------------------------------

/** Converts "25.09" to 2509; returns 0 if the text is not a month. */
int runtime_date(const char *text);

enum { RUNTIME_MONTH_SIZE = 16 };

/** Converts 2509 to "25.09". Returns `out`. */
const char *runtime_month(int date, char out[RUNTIME_MONTH_SIZE]);

/**
 * Splits "megatron@25.09" into "megatron" and "25.09"; *when is NULL if the name has no date or is
 * a path.
 */
plait_status runtime_split(const char *name, plait_arena *arena, const char **software,
                           const char **when, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Lists the dates of all variants in ascending order; *dates lives in `arena` and has space for one
 * more.
 */
plait_status runtime_variants(const char *software, plait_arena *arena, int **dates, size_t *count,
                              plait_error *err) PLAIT_MUST_CHECK;

/** Returns the date of the variant that `date` selects; 0 means the software's own profile. */
int runtime_variant_at(const int *dates, size_t count, int date);

/**
 * Loads NAME@WHEN. WHEN is a month, a release in the profile of NAME with or without its product
 * ("v0.14.0"), or the first numbers of a release ("v0.14"). Features of later releases are removed
 * from the profile.
 *
 * @param held  fail (RANGE) if the software has no versions, or if WHEN is older than all of them
 */
plait_status runtime_find_dated(const char *software, const char *when, bool held,
                                plait_arena *arena, plait_runtime *out,
                                plait_error *err) PLAIT_MUST_CHECK;

/**
 * Like plait_runtime_find() for the runtime of a measured run: accepts any month, since the run may
 * serve to fit a variant.
 */
plait_status runtime_find_of_run(const char *name, plait_arena *arena, plait_runtime *out,
                                 plait_error *err) PLAIT_MUST_CHECK;

/** Reads "releases", the names and months of all releases, oldest first. */
plait_status runtime_read_releases(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                                   plait_error *err) PLAIT_MUST_CHECK;

/**
 * Reads the name that is the value of `key`, and the profile of that name, which may not refer to a
 * third one.
 */
plait_status runtime_read_other(const json_cursor *at, const char *key, plait_arena *arena,
                                const char **name, plait_runtime *out,
                                plait_error *err) PLAIT_MUST_CHECK;

/** Reads the profile that a variant changes, and the variant's own name and date. */
plait_status runtime_read_base(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                               plait_error *err) PLAIT_MUST_CHECK;

// ---- parts of a profile ------------------------------------------------------------------------

/** Reads a whole profile or a variant (runtime.c). */
plait_status runtime_read(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                          plait_error *err) PLAIT_MUST_CHECK;

/** Returns the default value of a key among the values that the software supports (runtime.c). */
int runtime_default(const plait_key *row, unsigned takes);

/** Reads "can", the plan space that the software supports (runtime_capabilities.c). */
plait_status runtime_read_capabilities(const json_cursor *at, plait_capabilities *out,
                                       plait_error *err) PLAIT_MUST_CHECK;

/**
 * Reads "since", the release that introduced each value. The releases must already be read
 * (runtime_since.c).
 */
plait_status runtime_read_since(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                                plait_error *err) PLAIT_MUST_CHECK;

/** Removes the features that releases after `at` introduced (runtime_since.c). */
void runtime_bound(plait_runtime *runtime, const plait_release *at);
