/* notes_read.h - the notes that notes.h writes, on their way back */
#pragma once

#include "io/plans/plans.h"

/**
 * Fill the fields of *out that are still unknown from the notes of a text. A model is one of those
 * that plait knows by name; another name, and a key that is none, say nothing.
 *
 * Fails (RANGE) on a value outside its key's range; `where` is NAME:LINE.
 */
PLAIT_MUST_CHECK plait_status notes_read(const char *text, size_t length, const char *name,
                                         plait_arena *arena, plans_entry *out, plait_error *err);

/** The value of the last note of this key, as a shell reads it; NULL when there is none. */
PLAIT_MUST_CHECK plait_status notes_find(const char *text, size_t length, const char *key,
                                         plait_arena *arena, const char **out, plait_error *err);
