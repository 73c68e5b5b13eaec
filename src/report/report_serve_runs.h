/* report_serve_runs.h - prints measured serving runs beside predictions, as text and as JSON */
#pragma once

#include <stdio.h>

#include "plait/serve.h"

/** Prints errors of each figure by mode, choices, and the reasons why rows have no price. */
PLAIT_MUST_CHECK plait_status report_serve_validation(const plait_serve_validation *validation,
                                                      FILE *out, plait_error *err);

/** Writes the document of `plait validate --serving --json`. *text lives in `arena`. */
PLAIT_MUST_CHECK plait_status json_serve_validation(const plait_serve_validation *validation,
                                                    plait_arena *arena, const char **text,
                                                    size_t *length, plait_error *err);
