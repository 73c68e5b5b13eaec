/*
 * cross.h - leave-one-source-out cross-validation: the error of predictions on unseen runs
 *
 * For each source in turn, leave out its runs, fit the parents of all families and the profiles of
 * the source's software to the other runs, and predict the runs left out. Software that no other
 * source ran gets the numbers of its family's parent.
 */
#pragma once

#include "plait/validate.h"

/** Called before each fit, to show progress. */
typedef void cross_progress(const char *source, const char *runtime);

/**
 * Predict each timed run twice: with a profile fitted without the run's source, and with the
 * shipped one. Also compares measured peaks of memory with predicted ones.
 *
 * @param progress  may be NULL
 * @param out       lives in `arena`
 */
PLAIT_MUST_CHECK plait_status cross_predict(const plait_runs *runs, cross_progress *progress,
                                            plait_arena *arena, plait_evidence *out,
                                            plait_error *err);
