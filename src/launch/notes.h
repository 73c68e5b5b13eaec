/* notes.h - what a format has no words for, in comments: `# plait: gpus 64` */
#ifndef NOTES_H
#define NOTES_H

#include "plait/launch.h"

#include "plans.h"

/** The notes of a plan, a line each: gpus, runtime, attention, model. NULL when out of memory. */
const char *notes_of(const plait_launch *launch, plait_arena *arena);

/** Where an imported value came from, for people. */
typedef struct notes_found {
    const char *model; /* a name; NULL: not noted */
} notes_found;

/**
 * Read the notes of a text into the job: gpus, runtime, attention. Lines that are no notes are
 * passed over.
 *
 * Fails (RANGE) on a note with a value that cannot be; `where` is NAME:LINE.
 */
PLAIT_MUST_CHECK plait_status notes_read(const char *text, size_t length, const char *name,
                                         plait_arena *arena, plans_entry *out, notes_found *found,
                                         plait_error *err);

#endif
