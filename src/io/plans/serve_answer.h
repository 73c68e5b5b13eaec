/* serve_answer.h - a deployment in a document of `plait serve --json` */
#pragma once

#include "plait/serve.h"

typedef struct serve_answer {
    const char *path; /* path of the document */
    int rank;
    plait_model model;
    plait_cluster cluster;
    plait_load load;
    plait_serve_plan plan; /* without prices */
} serve_answer;

/**
 * Whether "FILE" or "FILE:RANK" is such a document. A file that cannot be read is none; only a lack
 * of memory or a fault of the disk is an error.
 */
plait_status serve_answer_is(const char *file, plait_arena *arena, bool *is,
                             plait_error *err) PLAIT_MUST_CHECK;

/**
 * Loads a plan, with the model and cluster that it names. *out lives in `arena`.
 *
 * @param file  "FILE" or "FILE:RANK"; without a rank the first plan
 */
plait_status serve_answer_load(const char *file, plait_arena *arena, serve_answer *out,
                               plait_error *err) PLAIT_MUST_CHECK;
