/* documents.h - tokens and attention work of a microbatch by the lengths of documents */
#pragma once

#include "plait/arena.h"
#include "plait/problem.h"

/**
 * Tokens and attention of one microbatch (C.416, C.418). Deviations and maxima are divided by the
 * mean, and 0 if all microbatches are equal: of tokens, and of the sum of squares of lengths.
 */
typedef struct document_load {
    double tokens; /* mean tokens that are computed for a sequence */
    double reach;  /* tokens that attend to each other */
    double token_deviation, token_most;
    double work_deviation, work_most;
} document_load;

/** Returns the load of a microbatch of `mbs` units of the batch. */
document_load document_load_of(const plait_job *job, int mbs);

/** Mean tokens that a microbatch of `mbs` computes for a sequence: `seq` unless it is padded. */
static inline double document_tokens(const plait_job *job, int mbs)
{
    return job->documents.padded ? document_load_of(job, mbs).tokens : job->seq;
}

/** Sets the documents of a job and their reach, with lengths above `seq` cut to it. (C.441) */
PLAIT_MUST_CHECK plait_status job_set_documents(plait_job *job, const double *length, int count,
                                                plait_arena *arena, plait_error *err);

/** Checks that the documents of a job are ascending lengths with shares. */
PLAIT_MUST_CHECK plait_status job_check_documents(const plait_job *job, plait_error *err);
