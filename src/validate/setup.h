/* setup.h - convert a row of a file of runs to a problem and degrees
 *
 * Empty columns get the defaults of the columns' documentation, and the note lists them. A failure
 * other than NOMEM means that the row cannot be priced, for the reason in its message.
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
    text_builder note; /* assumptions, as phrases joined by "; " */
    bool unmodelled;   /* the row used a feature without a model */
} setup;

/** Adds a phrase to the note. */
void setup_note(setup *at, const char *fmt, ...) PLAIT_PRINTF(2, 3);

/** Returns whether the row's notes contain a word. */
bool setup_has_word(const plait_run *run, const char *word);

/** Copies the value of the word KEY=VALUE in the row's notes to `text`. NULL: no such word. */
const char *setup_value(const plait_run *run, const char *key, char *text, size_t size);

/** Sets *out to the index of a column's word in `words`; fails (RANGE) on an unknown one. */
plait_status setup_word(const char *title, const char *word, const char *const *words, int *out,
                        plait_error *err) PLAIT_MUST_CHECK;

/** The model of a row: its model file, or one built from the columns. */
plait_status setup_model(setup *at, const plait_model **out, plait_error *err) PLAIT_MUST_CHECK;

/** Sets cluster, runtime and job; set `out->model` before. */
plait_status setup_problem(setup *at, plait_problem *out, plait_error *err) PLAIT_MUST_CHECK;

/** The runtime of a row: its profile with the switches that the row's notes set. */
plait_status setup_runtime(setup *at, const plait_runtime **out, plait_error *err) PLAIT_MUST_CHECK;

/** The plan of a row. */
plait_status setup_degrees(setup *at, const plait_problem *problem, plait_degrees *out,
                           plait_error *err) PLAIT_MUST_CHECK;
