/* setup.h - convert a row of a file of runs to a problem and degrees, and price it
 *
 * Empty columns get the defaults of the columns' documentation, and the note lists them. A failure
 * other than NOMEM means that the row cannot be priced, for the reason in its message.
 */
#pragma once

#include "plait/cluster.h"
#include "plait/validate.h"
#include "base/text.h"

typedef enum library_kind {
    LIBRARY_CLUSTER, /* as in "h100-80gb-sxm:64x8,nic=400", whole: before plait_cluster_take() */
    LIBRARY_ACCELERATOR,
    LIBRARY_RUNTIME,
    LIBRARY_MODEL,
    LIBRARY_KINDS
} library_kind;

/** Cache of the files that rows name; initialise it as {.arena = arena}. */
typedef struct library {
    plait_arena *arena;
    struct library_item *first;
    const char *const *models; /* all model names; NULL: not listed yet */
    plait_evidence *evidence;  /* of the data folders; NULL: not loaded yet */
} library;

/** One row being set up. */
typedef struct setup {
    library *shelf;
    const plait_run *run;
    plait_arena *arena;
    text_builder note; /* assumptions, as phrases joined by "; " */
    bool unmodelled;   /* the row used a feature without a model */
} setup;

/**
 * Returns a cluster, accelerator, runtime or model. NULL: it fails with err->status, and later
 * calls for the same name fail with the same message. A name that looks like a path fails (RANGE).
 */
const void *library_find(library *shelf, library_kind kind, const char *name, plait_error *err);

/** Adds a phrase to the note. */
void setup_note(setup *at, const char *fmt, ...) PLAIT_PRINTF(2, 3);

/** Returns whether the row's notes contain a word. */
bool setup_has_word(const plait_run *run, const char *word);

/** Copies the value of the word KEY=VALUE in the row's notes to `text`. Returns false without it. */
bool setup_value(const plait_run *run, const char *key, char *text, size_t size);

/** Fails (SCHEMA) on a column that has no number. */
plait_status setup_need(int number, const char *title, plait_error *err) PLAIT_MUST_CHECK;

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

/** Checks a row that a program may have made against the limits of files. Fails (RANGE). */
plait_status runs_check_row(const plait_run *run, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Like plait_run_evaluate(). *out lives in `arena`; shared models and clusters in the library's.
 */
plait_status evaluate_run(library *shelf, const plait_run *run, plait_arena *arena,
                          plait_run_price *out, plait_error *err) PLAIT_MUST_CHECK;
