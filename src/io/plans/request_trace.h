/* request_trace.h - reads the lengths of requests from a file, such as a published trace */
#pragma once

#include "plait/serve.h"

/** Requests in the order of the file. */
typedef struct request_trace {
    plait_request_lengths *request; /* `cached`: leading tokens that earlier requests have too */
    int count;
    double rate; /* mean requests/s of the timestamps; 0: the file has none */
} request_trace;

/**
 * Reads a CSV file with columns for input and output tokens, which the traces of Azure and BurstGPT
 * are, or a trace of Mooncake in lines of JSON. The first character shows which. Requests without
 * an input or an output token, which failed, are skipped.
 */
PLAIT_MUST_CHECK plait_status request_trace_read(const char *path, plait_arena *arena,
                                                 request_trace *out, plait_error *err);

/**
 * Reads the lengths of documents, which become `input`: one number a line, or a CSV file or lines of
 * JSON with `length` or the columns of a trace, whose input and output are then one document.
 */
PLAIT_MUST_CHECK plait_status document_lengths_read(const char *path, plait_arena *arena,
                                                    request_trace *out, plait_error *err);
