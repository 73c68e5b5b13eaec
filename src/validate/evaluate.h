/* evaluate.h - price one run, with a cache of models and clusters that runs share */
#pragma once

#include "validate/library.h"
#include "plait/validate.h"

/**
 * Like plait_run_evaluate(). *out lives in `arena`; shared models and clusters in the library's.
 */
plait_status evaluate_run(library *shelf, const plait_run *run, plait_arena *arena,
                          plait_run_price *out, plait_error *err) PLAIT_MUST_CHECK;

/** Checks a row that a program may have made against the limits of files. Fails (RANGE). */
plait_status runs_check_row(const plait_run *run, plait_error *err) PLAIT_MUST_CHECK;
