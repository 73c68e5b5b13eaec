/* report_diff.h - prints the changes between two documents, as text and as JSON */
#pragma once

#include <stdio.h>

#include "io/json/json_diff.h"
#include "io/json/json_write.h"
#include "plait/degrees.h"

/** A plan of either ranking. */
typedef struct diff_plan {
    plait_degrees degrees;
    int rank[2]; /* 0: missing */
    double step_s[2];
} diff_plan;

typedef struct report_diff {
    const char *kind; /* "plans", "capacity", ... */
    const char *name[2];
    json_changes changes;
    int plans;
    const diff_plan *plan;       /* [plans] in the order of the second ranking, then of the first */
    double params[2], active[2]; /* parameters of models; 0: other documents */
} report_diff;

/** Prints the most important changes, the ranking, and the number of other changes. */
PLAIT_MUST_CHECK plait_status report_diff_print(const report_diff *diff, FILE *out,
                                                plait_error *err);

/** Writes the document of `plait diff --json`. */
void json_diff_document(json_writer *json, const report_diff *diff);
