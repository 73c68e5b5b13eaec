/* call.h - one call of a tool, from its request to its answer */
#pragma once

#include "mcp/buffer.h"
#include "mcp/child.h"
#include "mcp/mcp.h"
#include "mcp/scratch.h"

typedef struct mcp_request {
    const char *id;    /* JSON text; NULL: a notification */
    const char *token; /* JSON text of the progress token; NULL: none */
    const char *method;
    bool modern; /* a request without a handshake: its result states its kind */
    json_cursor root, params;
} mcp_request;

typedef struct mcp_call {
    plait_arena *arena; /* has the request, and everything else of the call */
    json_document doc;
    mcp_request request;
    json_cursor arguments;
    const char *tool;
    int number; /* from 1 */
    bool running;
    char folder[SCRATCH_PATH_SIZE]; /* "": not made */
    mcp_run run;
    child process;
    buffer out, err;
    bool too_long; /* the output exceeded MCP_MAX_BYTES */
    double started_s, next_progress_s;
    double progress; /* last value that was sent */
    struct mcp_call *next;
} mcp_call;

/**
 * Write the result of a call whose process ended.
 *
 * @param status  as waitpid() returns it
 * @param kept    out: the folder has an answer that later calls can name
 */
PLAIT_MUST_CHECK plait_status call_write_result(mcp_call *call, const scratch *place, int status,
                                                json_writer *json, bool *kept, plait_error *err);

/** Write the result of a call that could not run. */
void call_write_refusal(json_writer *json, const char *text);
