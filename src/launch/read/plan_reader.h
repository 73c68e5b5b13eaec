/* plan_reader.h - a plan on its way in, out of flags */
#pragma once

#include "base/text.h"
#include "io/plans/plans.h"
#include "launch/read/flags.h"

/** A plan on its way in. */
typedef struct plan_reader {
    const launch_flags *flags;
    plans_entry *out;
    text_builder *warnings;
} plan_reader;

/** A key is now known. */
void import_give(plan_reader *in, const char *key);

/** Keys that are still open, of what no file of the software speaks: as software has them that says nothing. */
void import_give_plain(plans_entry *out);

/** A sentence for the user, on a line of its own. */
void import_warn(plan_reader *in, const char *sentence);

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
