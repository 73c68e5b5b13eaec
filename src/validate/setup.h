/* setup.h - from a row of a file of runs to a problem and degrees
 *
 * What a row leaves open is assumed as the columns' documentation says, and the note lists it. A
 * failure other than NOMEM means that the row cannot be priced, and its message says why.
 */
#pragma once

#include "validate/library.h"
#include "plait/validate.h"
#include "base/text.h"

/** One row being set up. */
typedef struct setup {
    library *shelf;
    const plait_run *run;
    plait_arena *arena;
    text_builder note; /* what was assumed, in phrases joined by "; " */
    bool unmodelled;   /* the row did something that has no price */
} setup;

/** Adds a phrase to the note. */
void setup_note(setup *at, const char *fmt, ...) PLAIT_PRINTF(2, 3);

/** Is this word among the row's notes? */
bool setup_has_word(const plait_run *run, const char *word);

/** The text behind "KEY=" among the row's notes, up to the word's end; NULL: no such word. */
const char *setup_value(const plait_run *run, const char *key, char *text, size_t size);

/** Which word of a column it is; fails (RANGE) on another. */
plait_status setup_word(const char *title, const char *word, const char *const *words, int *out,
                        plait_error *err) PLAIT_MUST_CHECK;

plait_status setup_model(setup *at, const plait_model **out, plait_error *err) PLAIT_MUST_CHECK;

/** Cluster, runtime and job; `out->model` is set already. */
plait_status setup_problem(setup *at, plait_problem *out, plait_error *err) PLAIT_MUST_CHECK;

/** The runtime of a row: its profile with the switches that the row's notes turn. */
plait_status setup_runtime(setup *at, const plait_runtime **out, plait_error *err) PLAIT_MUST_CHECK;

plait_status setup_degrees(setup *at, const plait_problem *problem, plait_degrees *out,
                           plait_error *err) PLAIT_MUST_CHECK;
