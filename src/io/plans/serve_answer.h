/* serve_answer.h - a deployment in a document of `plait serve --json` */
#pragma once

#include "plait/serve.h"

typedef struct serve_answer {
    const char *path; /* path of the document */
    int rank;
    plait_model model;
    plait_cluster cluster;
    plait_load load;
    int redundant_experts; /* added to each layer; not in `model` */
    double max_model_len;  /* tokens of the longest request; 0: not set */
    double longest;        /* longest request of the distribution of lengths; 0: none */
    plait_serve_plan plan; /* the deployment, without prices */
} serve_answer;

/**
 * Finds whether "FILE" or "FILE:RANK" is a document of `plait serve --json`. A file that cannot be
 * read is not; only a lack of memory or a fault of the disk is an error.
 */
plait_status serve_answer_is(const char *file, plait_arena *arena, bool *is,
                             plait_error *err) PLAIT_MUST_CHECK;

/**
 * Loads a deployment with its model and cluster. *out lives in `arena`.
 *
 * @param file  "FILE" or "FILE:RANK"; without a rank, the first deployment is loaded
 */
plait_status serve_answer_load(const char *file, plait_arena *arena, serve_answer *out,
                               plait_error *err) PLAIT_MUST_CHECK;
