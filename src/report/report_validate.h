/* report_validate.h - measured runs against predictions, for people and for machines */
#ifndef REPORT_VALIDATE_H
#define REPORT_VALIDATE_H

#include <stdio.h>

#include "plait/validate.h"

/**
 * Errors of the step time by one key, ranking of sweeps, memory, out-of-memory prediction, the worst
 * rows, and why rows have no price.
 */
PLAIT_MUST_CHECK plait_status report_validation(const plait_validation *validation,
                                                plait_run_key by, FILE *out, plait_error *err);

/** Errors of each source as predicted without it. */
PLAIT_MUST_CHECK plait_status report_left_out(const plait_evidence *evidence, FILE *out,
                                              plait_arena *arena, plait_error *err);

/** The document of `plait validate --json`. *text lives in `arena`. */
PLAIT_MUST_CHECK plait_status json_validation(const plait_validation *validation,
                                              plait_arena *arena, const char **text, size_t *length,
                                              plait_error *err);

#endif
