/* engine_fit.h - the numbers of a serving engine's profile from measured runs */
#pragma once

#include "plait/serve.h"

/**
 * Fits the numbers of one profile to the runs that it is of, and its bands to what it says of runs that it
 * was not fitted to: those of each source in turn, or, of one source alone, those of each model and accelerator.
 *
 * @param profile  its numbers are not read: a fit starts from the same ones whatever the file says
 * @param out      filled; rows 0 where no run is of the profile
 */
plait_status engine_fit(const plait_serve_runs *runs, const plait_engine *profile,
                        plait_arena *arena, plait_engine *out, plait_error *err) PLAIT_MUST_CHECK;

/** Gives each run the profile that runs of other sources make: runs->given. */
plait_status engine_fit_unseen(plait_serve_runs *runs, plait_arena *arena,
                               plait_error *err) PLAIT_MUST_CHECK;

/** A profile's file. */
plait_status engine_write(const plait_engine *engine, plait_arena *arena, const char **text,
                          size_t *length, plait_error *err) PLAIT_MUST_CHECK;
