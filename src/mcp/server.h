/* server.h - the state of a server, and the functions that its files share */
#pragma once

#include "mcp/call.h"

/* Codes of JSON-RPC 2.0 and of the protocol. */
enum {
    CODE_PARSE = -32700,
    CODE_REQUEST = -32600,
    CODE_METHOD = -32601,
    CODE_PARAMS = -32602,
    CODE_INTERNAL = -32603,
    CODE_NO_RESOURCE = -32002, /* only revisions with a handshake */
    CODE_REVISION = -32022
};

#define META "io.modelcontextprotocol/" /* prefix of keys in _meta */

/* Revisions of the protocol, the latest first, ended by NULL. The first has no handshake. */
extern const char *const revisions[];
enum { REVISION_MODERN, REVISION_HANDSHAKE }; /* the modern one, the latest one with a handshake */

typedef struct server {
    const mcp_host *host;
    scratch place;
    mcp_call *first; /* running and waiting calls, the oldest first */
    int calls, running;
    int number;                /* number of the last call */
    int kept[MCP_KEPT], kepts; /* numbers of the calls whose folders stay, the oldest first */
    buffer in;
    size_t scanned; /* bytes of `in` without a line end */
    bool skipping;  /* inside a line that is too long */
    bool ended;     /* end of input */
    bool broken;    /* output cannot be written */
} server;

/* A message that is being handled. */
typedef struct message {
    server *of;
    plait_arena *arena;
    json_document doc;
    mcp_request request;
    bool taken; /* a call owns the arena and the document */
} message;

/* ---- server.c ---- */

double server_now_s(void);
bool server_stopped(void); /* a signal ends the server */

/* ---- reply.c: messages to the client ---- */

void reply_begin(json_writer *json, plait_arena *arena, const char *id);
void reply_end(server *of, json_writer *json, const char *id);

/** Write an error that needs no memory. */
void reply_no_memory(server *of, const char *id);

/** Write an error; an id of NULL is that of a request that could not be read. */
void reply_error(server *of, plait_arena *arena, const char *id, int code, const char *text);
void reply_failure(server *of, plait_arena *arena, const char *id, int code,
                   const plait_error *err);
void reply_unknown_revision(server *of, plait_arena *arena, const char *id, const char *requested);

/** Begin a result; reply_end_result() ends it, or reply_end_cached() if clients may cache it. */
void reply_result(json_writer *json, const server *of, const mcp_request *request,
                  plait_arena *arena);
void reply_end_result(server *of, json_writer *json, const mcp_request *request);
void reply_end_cached(server *of, json_writer *json, const mcp_request *request, bool fixed);

void reply_revisions(json_writer *json, const char *key);
void reply_server(json_writer *json, const mcp_host *host, const char *key);

/* ---- calls.c: calls that run or wait ---- */

void calls_start(server *of); /* as many as may run */
void calls_read(server *of, mcp_call *call);
void calls_progress(server *of, mcp_call *call, double now);
mcp_call *calls_find(const server *of, const char *id);

/** Take a call off the list, kill its process, and remove its folder unless it is kept. */
void calls_remove(server *of, mcp_call *call, bool keep);
void calls_free(mcp_call *call);

/* ---- methods.c ---- */

void methods_answer(message *of);
void methods_cancel(message *of);

/* ---- messages.c ---- */

/** Read what arrived on standard input, and handle the messages in it. */
void messages_read(server *of);

/** Return a string or a whole number as JSON text; NULL for any other value. */
const char *message_word(const json_cursor *at, plait_arena *arena);
