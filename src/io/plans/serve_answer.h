/* serve_answer.h - one deployment of the document that `plait serve --json` writes */
#pragma once

#include "plait/serve.h"

typedef struct serve_answer {
    const char *path; /* of the document */
    int rank;
    plait_model model;
    plait_cluster cluster;
    plait_load load;
    plait_serve_plan plan; /* what a deployment is of; nothing of its price */
} serve_answer;

/**
 * Whether a file, "FILE" or "FILE:RANK", is such a document: whether it speaks of serving. What cannot
 * be read is none, but for a fault of the machine.
 */
plait_status serve_answer_is(const char *file, plait_arena *arena, bool *is,
                             plait_error *err) PLAIT_MUST_CHECK;

/**
 * Reads one of the plans, with the model and cluster that it names. *out lives in `arena`.
 *
 * @param file  "FILE:RANK"; without a rank the first
 */
plait_status serve_answer_load(const char *file, plait_arena *arena, serve_answer *out,
                               plait_error *err) PLAIT_MUST_CHECK;
