/* engine_fit.h - fit the numbers of a serving engine's profile to measured runs (C.378) */
#pragma once

#include "plait/serve.h"

/** Runs that a fit leaves out together. */
typedef enum engine_fold {
    ENGINE_FOLD_SOURCE,
    ENGINE_FOLD_MODEL,
    ENGINE_FOLD_ACCELERATOR,
    ENGINE_FOLDS
} engine_fold;

/** Words of the folds: source, model, accelerator. */
extern const char *const engine_fold_name[ENGINE_FOLDS + 1];

/**
 * Fits the numbers of engine profiles to their runs, and lists the evidence.
 *
 * @param name  name of one profile, whose bands stay as they are; NULL: fit all profiles, and their
 *              common bands to the errors on runs that are held out by source, model and
 *              accelerator in turn (C.383)
 * @param out   [runs->engines], fitted profiles or copies; rows is 0 if a profile has no runs
 */
plait_status engine_fit(const plait_serve_runs *runs, const char *name, plait_arena *arena,
                        plait_engine **out, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Sets runs->given: for each run, the profile fitted without the run's source, model or
 * accelerator, with bands from the held-out runs of the other folds. A profile without other runs
 * is that of all generations of its engine.
 */
plait_status engine_fit_unseen(plait_serve_runs *runs, engine_fold left_out, plait_arena *arena,
                               plait_error *err) PLAIT_MUST_CHECK;

/** Sets *text to the JSON text of a profile's file, allocated in `arena`. */
plait_status engine_write(const plait_engine *engine, plait_arena *arena, const char **text,
                          size_t *length, plait_error *err) PLAIT_MUST_CHECK;
