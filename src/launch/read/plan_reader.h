/* plan_reader.h - functions for importing a plan from flags */
#pragma once

#include "base/text.h"
#include "io/plans/plans.h"
#include "launch/read/flags.h"

/** The state of an import: the flags that are read, the plan, and the warnings. */
typedef struct plan_reader {
    const launch_flags *flags;
    plans_entry *out;
    text_builder *warnings;
} plan_reader;

/** Mark keys, with blanks between them, as known. */
void import_mark_known(plan_reader *in, const char *keys);

/** Set a key and mark it as known; a value below 0 leaves the key open. */
void import_set_key(plans_entry *out, plait_key_id key, int value);

/**
 * Set the keys that are still open and that no file of the software gives to their plainest values,
 * such as no offload.
 */
void import_fill_plain(plans_entry *out);

/** Add a warning on a line of its own. Returns `warnings`, for text that continues the sentence. */
text_builder *import_warn(text_builder *warnings, const char *sentence);

/** A warning with a list, "SENTENCE: a, b"; adding the first item begins the sentence. */
typedef struct import_list {
    text_builder *warnings;
    const char *sentence;
    bool begun;
} import_list;

/** Add an item; an item of NULL means that memory ran out. */
void import_list_add(import_list *list, const char *item);

/** Add the names of given flags that are in `names` and are not off; mark these flags as read. */
void import_list_add_flags(import_list *list, const launch_flags *flags, const char *const *names);

/**
 * Fill the fields of *out that are still unknown from the notes of a text. A model is used only if
 * plait has it by name; unknown names and keys are ignored.
 *
 * Fails (RANGE) on a value outside its key's range; `where` is NAME:LINE.
 */
PLAIT_MUST_CHECK plait_status notes_read(const char *text, size_t length, const char *name,
                                         plait_arena *arena, plans_entry *out, plait_error *err);

/** Find the value of the last note with this key, as a shell reads the value; NULL: none. */
PLAIT_MUST_CHECK plait_status notes_find(const char *text, size_t length, const char *key,
                                         plait_arena *arena, const char **out, plait_error *err);
