/*
 * cross.h - what a prediction is worth on runs that nothing was fitted to
 *
 * The runs of one source after the other are left out, the parents of all families and the profiles
 * of their software fitted to what is left, and the runs left out are predicted. Software that no
 * other source ran is predicted with what its family leads to expect.
 */
#pragma once

#include "plait/validate.h"

/** Called before each fit, to show progress. */
typedef void cross_progress(const char *source, const char *runtime);

/**
 * Predict all timed runs twice: evidence, by source and software.
 *
 * @param progress  may be NULL
 * @param out       lives in `arena`
 */
PLAIT_MUST_CHECK plait_status cross_predict(const plait_runs *runs, cross_progress *progress,
                                            plait_arena *arena, plait_evidence *out,
                                            plait_error *err);
