/* engine_fit.h - fit the numbers of a serving engine's profile to measured runs (C.378) */
#pragma once

#include "plait/serve.h"

/**
 * Fits the numbers of one profile to its runs, and its bands to the errors on held-out runs. Each
 * source is held out in turn; if all runs have one source, each pair of model and accelerator is.
 *
 * @param profile  provides name, kind and defaults; the fit does not start from its numbers
 * @param out      the fitted profile; out->rows is 0 if the profile has no runs
 */
plait_status engine_fit(const plait_serve_runs *runs, const plait_engine *profile,
                        plait_arena *arena, plait_engine *out, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Sets runs->given: for each run, the profile fitted to the runs of other sources. If all runs of a
 * profile have one source, the fit uses the other profiles of the same engine.
 */
plait_status engine_fit_unseen(plait_serve_runs *runs, plait_arena *arena,
                               plait_error *err) PLAIT_MUST_CHECK;

/** Sets *text to the JSON text of a profile's file, allocated in `arena`. */
plait_status engine_write(const plait_engine *engine, plait_arena *arena, const char **text,
                          size_t *length, plait_error *err) PLAIT_MUST_CHECK;
