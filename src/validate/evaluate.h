/* evaluate.h - the price of one run, with a library that runs share */
#pragma once

#include "validate/library.h"
#include "plait/validate.h"

/** As plait_run_evaluate. *out lives in `arena`; what rows share lives in the library's. */
plait_status evaluate_run(library *shelf, const plait_run *run, plait_arena *arena,
                          plait_run_price *out, plait_error *err) PLAIT_MUST_CHECK;

/** Is a row such as a file of runs may hold? A program may have made it. */
plait_status runs_check_row(const plait_run *run, plait_error *err) PLAIT_MUST_CHECK;
