/* notes.h - what a config has no words for, in comments that plait reads back
 *
 *     # plait: gpus 64
 *     # plait: runtime torchtitan
 *     # plait: attention flash2
 *     # plait: model llama-3.1-70b
 *
 * Any key of a plan may stand there too, and seq, gbs and precision. What the config itself says
 * goes before: notes fill only what is still unknown.
 */
#ifndef NOTES_H
#define NOTES_H

#include "plait/launch.h"

#include "plans.h"
#include "text.h"

/** Append the four notes above. */
void notes_append(const plait_launch *launch, text_builder *out);

/** Append one note more; the value has no line breaks. */
void notes_append_one(const char *key, const char *value, text_builder *out);

/**
 * Fill the fields of *out that are still unknown from the notes of a text. A model is one of those
 * that plait knows by name; another name, and a key that is none, say nothing.
 *
 * Fails (RANGE) on a value outside its key's range; `where` is NAME:LINE.
 */
PLAIT_MUST_CHECK plait_status notes_read(const char *text, size_t length, const char *name,
                                         plait_arena *arena, plans_entry *out, plait_error *err);

/** The value of the last note of this key, as a shell reads it; NULL when there is none. */
const char *notes_find(const char *text, size_t length, const char *key, plait_arena *arena);

#endif
