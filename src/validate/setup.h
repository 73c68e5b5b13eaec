/* setup.h - convert a row of a file of runs to a problem and degrees, and price it
 *
 * Empty columns get the documented defaults of the columns, and the row's note lists these
 * defaults. A failure other than NOMEM means that the row cannot be priced; the error message is
 * the reason.
 */
#pragma once

#include "plait/cluster.h"
#include "plait/validate.h"
#include "base/text.h"

typedef enum library_kind {
    LIBRARY_CLUSTER, /* whole cluster, named as in "h100-80gb-sxm:64x8,nic=400" */
    LIBRARY_ACCELERATOR,
    LIBRARY_RUNTIME,
    LIBRARY_MODEL,
    LIBRARY_KINDS
} library_kind;

/** Cache of the files that rows refer to; initialise it as {.arena = arena}. */
typedef struct library {
    plait_arena *arena;
    struct library_item *first;
    const char *const *models; /* all model names; NULL: not listed yet */
    plait_evidence *evidence;  /* evidence in the data folders; NULL: not loaded yet */
} library;

/** The state of the conversion of one row. */
typedef struct setup {
    library *shelf;
    const plait_run *run;
    plait_arena *arena;
    text_builder note; /* assumptions, as phrases joined by "; " */
    bool unmodelled;   /* whether the run used a feature that the cost model lacks */
} setup;

/**
 * Returns a cluster, accelerator, runtime or model by its name. Returns NULL and sets *err if
 * loading fails; later calls for the same name fail with the same message. A name that looks like a
 * path fails (RANGE).
 */
const void *library_find(library *shelf, library_kind kind, const char *name, plait_error *err);

/** Adds a phrase to the note. */
void setup_note(setup *at, const char *fmt, ...) PLAIT_PRINTF(2, 3);

/** Returns whether two rows have the same model, cluster, sequences, batch and precision. */
bool setup_same_job(const plait_run *a, const plait_run *b);

/** Returns whether the row's notes contain a word. */
bool setup_has_word(const plait_run *run, const char *word);

/**
 * Copies VALUE of the word KEY=VALUE in the row's notes to `text`; false if there is no such word.
 */
bool setup_value(const plait_run *run, const char *key, char *text, size_t size);

/** Fails (SCHEMA) if a required column has no number. */
plait_status setup_need(int number, const char *title, plait_error *err) PLAIT_MUST_CHECK;

/** Sets *out to the index in `words` of a column's word; fails (RANGE) on an unknown word. */
plait_status setup_word(const char *title, const char *word, const char *const *words, int *out,
                        plait_error *err) PLAIT_MUST_CHECK;

/** Sets *out to the model of a row, from a model file or from the row's columns. */
plait_status setup_model(setup *at, const plait_model **out, plait_error *err) PLAIT_MUST_CHECK;

/** Sets cluster, runtime and job of *out; the caller sets out->model before. */
plait_status setup_problem(setup *at, plait_problem *out, plait_error *err) PLAIT_MUST_CHECK;

/** Sets *out to the runtime of a row: a profile with the switches in the row's notes. */
plait_status setup_runtime(setup *at, const plait_runtime **out, plait_error *err) PLAIT_MUST_CHECK;

/** Sets *out to the plan of a row. */
plait_status setup_degrees(setup *at, const plait_problem *problem, plait_degrees *out,
                           plait_error *err) PLAIT_MUST_CHECK;

/** Checks a row that can come from a program against the limits for files. Fails (RANGE). */
plait_status runs_check_row(const plait_run *run, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Like plait_run_evaluate(), with a cache of files. *out lives in `arena`; models and clusters that
 * runs share live in the arena of the library.
 */
plait_status evaluate_run(library *shelf, const plait_run *run, plait_arena *arena,
                          plait_run_price *out, plait_error *err) PLAIT_MUST_CHECK;
