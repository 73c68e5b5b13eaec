/* reply.c - writes messages to the client */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "mcp/server.h"

const char *const revisions[] = {"2026-07-28", "2025-11-25", "2025-06-18",
                                 "2025-03-26", "2024-11-05", NULL};

/* Milliseconds for which clients may cache lists, which never change. */
enum { CACHE_MS = 3600000 };

static void write_all(server *of, const char *text, size_t length)
{
    while (length > 0 && !of->broken) {
        const ssize_t written = write(STDOUT_FILENO, text, length);

        if (written < 0 && (errno != EINTR || server_stopped()))
            of->broken = true;
        else if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
}

/* Writes a message that is used if there is no memory for another one. */
void reply_no_memory(server *of, const char *id)
{
    static const char head[] = "{\"jsonrpc\": \"2.0\", \"id\": ";
    static const char tail[] = ", \"error\": {\"code\": -32603, \"message\": \"out of memory\"}}\n";

    write_all(of, head, strlen(head));
    write_all(of, id, strlen(id));
    write_all(of, tail, strlen(tail));
}

void reply_begin(json_writer *json, plait_arena *arena, const char *id)
{
    json_writer_init(json, arena);
    json_begin_object_row(json);
    json_member_string(json, "jsonrpc", "2.0");
    if (id != NULL) {
        json_write_key(json, "id");
        json_write_value(json, id, strlen(id));
    }
}

void reply_end(server *of, json_writer *json, const char *id)
{
    const char *text;
    size_t length;

    json_end_object(json);
    if (json_writer_finish(json, &text, &length, NULL) == PLAIT_OK)
        write_all(of, text, length);
    else if (id != NULL)
        reply_no_memory(of, id);
}

/* Begins an error; an id of NULL is that of a request that could not be read. */
static void error_begin(json_writer *json, plait_arena *arena, const char *id, int code,
                        const char *text)
{
    reply_begin(json, arena, id != NULL ? id : "null");
    json_member_object(json, "error");
    json_member_int64(json, "code", code);
    json_member_string(json, "message", text);
}

void reply_error(server *of, plait_arena *arena, const char *id, int code, const char *text)
{
    json_writer json;

    error_begin(&json, arena, id, code, text);
    json_end_object(&json);
    reply_end(of, &json, id != NULL ? id : "null");
}

void reply_revisions(json_writer *json, const char *key)
{
    json_member_array(json, key);
    for (int i = 0; revisions[i] != NULL; i++)
        json_write_string(json, revisions[i]);
    json_end_array(json);
}

/* Writes that the revision which a request names is unknown. */
void reply_unknown_revision(server *of, plait_arena *arena, const char *id, const char *requested)
{
    json_writer json;

    error_begin(&json, arena, id, CODE_REVISION, "Unsupported protocol version");
    json_member_object(&json, "data");
    reply_revisions(&json, "supported");
    json_member_string(&json, "requested", requested);
    json_end_object(&json);
    json_end_object(&json);
    reply_end(of, &json, id);
}

void reply_failure(server *of, plait_arena *arena, const char *id, int code, const plait_error *err)
{
    const char *const text = plait_arena_printf(arena, "%s%s%s", err->where,
                                                err->where[0] != '\0' ? ": " : "", err->message);

    reply_error(of, arena, id,
                text == NULL || err->status == PLAIT_ERROR_NOMEM ? CODE_INTERNAL : code,
                text != NULL ? text : "out of memory");
}

void reply_server(json_writer *json, const mcp_host *host, const char *key)
{
    json_member_object(json, key);
    JSON_STRINGS(json, {"name", host->name}, {"version", host->version});
    json_end_object(json);
}

void reply_result(json_writer *json, const server *of, const mcp_request *request,
                  plait_arena *arena)
{
    reply_begin(json, arena, request->id);
    json_member_object(json, "result");
    if (request->modern) {
        json_member_string(json, "resultType", "complete");
        json_member_object(json, "_meta");
        reply_server(json, of->host, META "serverInfo");
        json_end_object(json);
    }
}

/* Ends a result that clients may cache. */
void reply_end_cached(server *of, json_writer *json, const mcp_request *request, bool fixed)
{
    if (request->modern) {
        json_member_int64(json, "ttlMs", fixed ? CACHE_MS : 0);
        json_member_string(json, "cacheScope", fixed ? "public" : "private");
    }
    json_end_object(json);
    reply_end(of, json, request->id);
}

void reply_end_result(server *of, json_writer *json, const mcp_request *request)
{
    json_end_object(json);
    reply_end(of, json, request->id);
}
