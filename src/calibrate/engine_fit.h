/* engine_fit.h - fit the numbers of a serving engine's profile to measured runs (C.378) */
#pragma once

#include "plait/serve.h"

/**
 * Fits the numbers of one profile to its runs, and its bands to the errors on held-out runs: each
 * source is held out in turn, or each model and accelerator if all runs are of one source.
 *
 * @param profile  its name, kind and defaults; the fit does not start from its numbers
 * @param out      the fitted profile; rows is 0 when it has no runs
 */
plait_status engine_fit(const plait_serve_runs *runs, const plait_engine *profile,
                        plait_arena *arena, plait_engine *out, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Sets runs->given: for each run the profile fitted without the run's source. A profile with runs
 * of only one source is replaced by the fit to the other profiles of its engine.
 */
plait_status engine_fit_unseen(plait_serve_runs *runs, plait_arena *arena,
                               plait_error *err) PLAIT_MUST_CHECK;

/** Prints a profile as the JSON text of its file, into `arena`. */
plait_status engine_write(const plait_engine *engine, plait_arena *arena, const char **text,
                          size_t *length, plait_error *err) PLAIT_MUST_CHECK;
