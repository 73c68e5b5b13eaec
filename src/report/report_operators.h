/* report_operators.h - prints how operators are partitioned over a mesh, as text and as JSON */
#pragma once

#include <stdio.h>

#include "io/json/json_write.h"
#include "plait/operators.h"

/** Options and result. */
typedef struct report_operators {
    const plait_problem *problem;
    const plait_operators_options *options;
    const plait_operators_result *result;
} report_operators;

/** Prints the partition and costs of each operator, conversions between them, and the best named layout. */
PLAIT_MUST_CHECK plait_status report_operators_print(const report_operators *report, FILE *out,
                                                     plait_error *err);

/** Writes the document of `plait operators --json`. */
void json_operators(json_writer *json, const report_operators *report);
