/* report_serve_runs.h - prints measured serving runs beside predictions, as text and as JSON */
#pragma once

#include <stdio.h>

#include "io/json/json_write.h"
#include "plait/serve.h"

/** Prints errors of each figure by mode, choices, and the reasons why rows have no price. */
PLAIT_MUST_CHECK plait_status report_serve_validation(const plait_serve_validation *validation,
                                                      FILE *out, plait_error *err);

/** Writes the document of `plait validate --serving --json`. */
void json_serve_validation(json_writer *json, const plait_serve_validation *validation);
