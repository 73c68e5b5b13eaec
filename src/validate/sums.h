/* sums.h - summaries of priced runs, one per file sum_*.c
 *
 * Each function reads the prices in `v` and fills its own part of `v`. All fail with NOMEM only.
 */
#pragma once

#include "plait/validate.h"

/* ---- one row ---- */

/** Returns whether the row has a price and a trusted step time. */
bool row_counts(const plait_validation *v, size_t row);

/** Returns predicted over measured step time - 1, for a row that counts. */
double row_time_error(const plait_validation *v, size_t row);

/** A row_key: the sweep of a row that counts. */
bool row_sweep(const plait_validation *v, size_t row, const char **name, const char **scope);

/** Returns whether recomputation and interleaving are published; else memory is not comparable. */
bool row_plan_is_known(const plait_run *run);

/* ---- all rows ---- */

/** Errors of step time and memory, by group, and the share of steps inside their bands. */
plait_status sum_errors(plait_validation *v, plait_arena *arena, plait_error *err) PLAIT_MUST_CHECK;

/** Rank correlations of sweeps, and the regret of following the predicted ranking. */
plait_status sum_ranks(plait_validation *v, plait_arena *arena, plait_error *err) PLAIT_MUST_CHECK;

/**
 * Losses on sweeps after a few tries (sum_replay.c); call after sum_ranks(), which counts sweeps.
 */
plait_status sum_replay(plait_validation *v, const plait_evidence *evidence, plait_arena *arena,
                        plait_error *err) PLAIT_MUST_CHECK;

/** Confusion matrices of predicted and real out-of-memory failures. */
plait_status sum_confusions(plait_validation *v, plait_arena *arena,
                            plait_error *err) PLAIT_MUST_CHECK;
