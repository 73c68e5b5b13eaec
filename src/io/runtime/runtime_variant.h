/*
 * runtime_variant.h - software as it was at a date: which profile NAME@YY.MM stands for
 *
 * A variant, clusters/runtimes/NAME@YY.MM.json, holds what a profile had other than NAME in releases
 * up to that month. A date takes the earliest variant that is not before it, and NAME itself where
 * there is none. A date is one number here, 2509 of "25.09"; 0 is none.
 */
#pragma once

#include <stddef.h>

#include "io/json/json.h"
#include "plait/runtime.h"

/** "25.09" -> 2509; 0 where it is no month. */
int runtime_date(const char *text);

enum { RUNTIME_MONTH_SIZE = 16 };

/** 2509 -> "25.09". Returns `out`. */
const char *runtime_month(int date, char out[RUNTIME_MONTH_SIZE]);

/** "megatron@25.09" -> "megatron" and "25.09"; *when is NULL where the name has none, or is a path. */
plait_status runtime_split(const char *name, plait_arena *arena, const char **software,
                           const char **when, plait_error *err) PLAIT_MUST_CHECK;

/** The dates of all variants, ascending; *dates lives in `arena` and has room for one more. */
plait_status runtime_variants(const char *software, plait_arena *arena, int **dates, size_t *count,
                              plait_error *err) PLAIT_MUST_CHECK;

/** The date of the variant that holds at a date; 0: the software's own profile. */
int runtime_variant_at(const int *dates, size_t count, int date);

/**
 * Loads NAME@WHEN: WHEN is a month, or a release that the profile of NAME lists, with its product or
 * without ("v0.14.0"), whole or but for its end ("v0.14"). The profile then lacks what later releases
 * brought.
 *
 * Fails (RANGE), where it has to be held, on software without versions and on what is older than all
 * that are.
 */
plait_status runtime_find_dated(const char *software, const char *when, bool held,
                                plait_arena *arena, plait_runtime *out,
                                plait_error *err) PLAIT_MUST_CHECK;

/** plait_runtime_find for a run of any month: a variant may be about to be fitted to it. */
plait_status runtime_find_of_run(const char *name, plait_arena *arena, plait_runtime *out,
                                 plait_error *err) PLAIT_MUST_CHECK;

/** Reads "releases", oldest first: the month of each. */
plait_status runtime_read_releases(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                                   plait_error *err) PLAIT_MUST_CHECK;

/** Reads the profile that `key` names into *out, and its name: it refers to no other profile itself. */
plait_status runtime_read_other(const json_cursor *at, const char *key, plait_arena *arena,
                                const char **name, plait_runtime *out,
                                plait_error *err) PLAIT_MUST_CHECK;

/** Reads whose variant the document is: the profile of that into *out, but for name and date. */
plait_status runtime_read_base(const json_cursor *at, plait_arena *arena, plait_runtime *out,
                               plait_error *err) PLAIT_MUST_CHECK;
