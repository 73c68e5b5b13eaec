/* sums.h - what priced runs add up to, a question a file
 *
 * Each takes the prices in `v` and fills its own part of it. All fail with NOMEM only.
 */
#pragma once

#include "plait/validate.h"

/* ---- one row ---- */

/** Does the step time of this row count? Predicted over measured - 1, then. */
bool row_counts(const plait_validation *v, size_t row);
double row_time_error(const plait_validation *v, size_t row);

/** The sweep of a row that counts; as row_key. */
bool row_sweep(const plait_validation *v, size_t row, const char **name, const char **scope);

/** Is it published whether it recomputes and interleaves? Else it says nothing about memory. */
bool row_plan_is_known(const plait_run *run);

/* ---- all rows ---- */

/** Errors of step time and memory, by group, and the share of steps inside their bands. */
plait_status sum_errors(plait_validation *v, plait_arena *arena, plait_error *err) PLAIT_MUST_CHECK;

/** How sweeps are ranked, and what following that ranking costs. */
plait_status sum_ranks(plait_validation *v, plait_arena *arena, plait_error *err) PLAIT_MUST_CHECK;

/** What is lost on sweeps after a few tries; behind sum_ranks, which counts them. */
plait_status sum_replay(plait_validation *v, const plait_evidence *evidence, plait_arena *arena,
                        plait_error *err) PLAIT_MUST_CHECK;
/** Running out of memory, predicted and real. */
plait_status sum_confusions(plait_validation *v, plait_arena *arena,
                            plait_error *err) PLAIT_MUST_CHECK;
