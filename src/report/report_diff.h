/* report_diff.h - what changed between two documents, for people and for machines */
#pragma once

#include <stdio.h>

#include "io/json/json_diff.h"
#include "plait/degrees.h"

/** A plan of either ranking. */
typedef struct diff_plan {
    plait_degrees degrees;
    int rank[2]; /* 0: it is not there */
    double step_s[2];
} diff_plan;

typedef struct report_diff {
    const char *kind; /* "plans", "capacity", ... */
    const char *name[2];
    json_changes changes;
    int plans;
    const diff_plan *plan;       /* [plans], by the second ranking, then by the first */
    double params[2], active[2]; /* of models; 0: of others */
} report_diff;

/** The values that people ask for, the ranking, how many more there are. */
PLAIT_MUST_CHECK plait_status report_diff_print(const report_diff *diff, FILE *out,
                                                plait_error *err);

/** The document of `plait diff --json`. *text lives in `arena`. */
PLAIT_MUST_CHECK plait_status json_diff_document(const report_diff *diff, plait_arena *arena,
                                                 const char **text, size_t *length,
                                                 plait_error *err);
