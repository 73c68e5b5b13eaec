/* report_operators.h - how operators are cut over a mesh, for people and for machines */
#pragma once

#include <stdio.h>

#include "plait/operators.h"

/** What was asked and what came out. */
typedef struct report_operators {
    const plait_problem *problem;
    const plait_operators_options *options;
    const plait_operators_result *result;
} report_operators;

/** Each operator's cut and costs, what travels between them, and the best layout with a name. */
PLAIT_MUST_CHECK plait_status report_operators_print(const report_operators *report, FILE *out,
                                                     plait_error *err);

/** The document of `plait operators --json`. *text lives in `arena`. */
PLAIT_MUST_CHECK plait_status json_operators(const report_operators *report, plait_arena *arena,
                                             const char **text, size_t *length, plait_error *err);
