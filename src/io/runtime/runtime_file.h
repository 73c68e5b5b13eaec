/*
 * runtime_file.h - runtime profiles as JSON, and the software as it was in a month or a release
 *
 * A variant, clusters/runtimes/NAME@YY.MM.json, has what differs from the profile NAME in releases up to that
 * month. A date selects the earliest variant that is not before it, or NAME itself if there is none. A date is
 * one number, 2509 for "25.09"; 0 is no date.
 */
#pragma once

#include <stddef.h>

#include "io/json/json.h"
#include "plait/runtime.h"

// ---- dates and variants (runtime_variant.c) ----------------------------------------------------

/** "25.09" -> 2509; 0 if the text is no month. */
int runtime_date(const char *text);

enum { RUNTIME_MONTH_SIZE = 16 };

/** 2509 -> "25.09". Returns `out`. */
const char *runtime_month(int date, char out[RUNTIME_MONTH_SIZE]);

/** "megatron@25.09" -> "megatron" and "25.09"; *when is NULL if the name has none, or is a path. */
plait_status runtime_split(const char *name, plait_arena *arena, const char **software,
                           const char **when, plait_error *err) PLAIT_MUST_CHECK;

/** The dates of all variants, ascending; *dates lives in `arena` and has space for one more. */
plait_status runtime_variants(const char *software, plait_arena *arena, int **dates, size_t *count,
                              plait_error *err) PLAIT_MUST_CHECK;

/** The date of the variant that a date selects; 0: the software's own profile. */
int runtime_variant_at(const int *dates, size_t count, int date);

/**
 * Loads NAME@WHEN. WHEN is a month, or a release in the profile of NAME, with its product or without
 * ("v0.14.0"), or its first numbers ("v0.14"). The profile then lacks what later releases brought.
 *
 * @param held  fail (RANGE) if the software has no versions, or if WHEN is older than all of them
 */
plait_status runtime_find_dated(const char *software, const char *when, bool held,
                                plait_arena *arena, plait_runtime *out,
                                plait_error *err) PLAIT_MUST_CHECK;

/** Like plait_runtime_find(), but accepts any month, since a variant may be fitted to the run. */
plait_status runtime_find_of_run(const char *name, plait_arena *arena, plait_runtime *out,
                                 plait_error *err) PLAIT_MUST_CHECK;

/** Reads "releases", oldest first: the month of each. */
plait_status runtime_read_releases(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                                   plait_error *err) PLAIT_MUST_CHECK;

/** Reads the profile that `key` names, and the name. That profile may not refer to a third one. */
plait_status runtime_read_other(const json_cursor *at, const char *key, plait_arena *arena,
                                const char **name, plait_runtime *out,
                                plait_error *err) PLAIT_MUST_CHECK;

/** Reads the profile that a variant differs from, and the variant's own name and date. */
plait_status runtime_read_base(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                               plait_error *err) PLAIT_MUST_CHECK;

// ---- parts of a profile ------------------------------------------------------------------------

/** Reads a whole profile or a variant (runtime.c). */
plait_status runtime_read(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                          plait_error *err) PLAIT_MUST_CHECK;

/** The default value of a key among those that the software supports (runtime.c). */
int runtime_default(const plait_key *row, unsigned takes);

/** Reads "can", the plan space that the software supports (runtime_capabilities.c). */
plait_status runtime_read_capabilities(const json_cursor *at, plait_capabilities *out,
                                       plait_error *err) PLAIT_MUST_CHECK;

/** Reads "since", the release that brought each value, after the releases (runtime_since.c). */
plait_status runtime_read_since(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                                plait_error *err) PLAIT_MUST_CHECK;

/** Removes what releases after `at` brought (runtime_since.c). */
void runtime_bound(plait_runtime *runtime, const plait_release *at);
