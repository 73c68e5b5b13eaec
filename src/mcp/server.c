/* server.c - reads requests, runs calls of tools, and writes answers */
#define _GNU_SOURCE // pipe2
#include "mcp/mcp.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "io/file.h"
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

/* Revisions of the protocol, the latest first. The first has no handshake; requests name it. */
static const char *const revisions[] = {"2026-07-28", "2025-11-25", "2025-06-18",
                                        "2025-03-26", "2024-11-05", NULL};
enum { MODERN, LATEST_HANDSHAKE };

#define META "io.modelcontextprotocol/"

/* Seconds for which the server runs calls after the end of its input. */
static const double grace_s = 5.0;

/* Milliseconds for which clients may cache lists, which never change. */
enum { CACHE_MS = 3600000 };

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

static int wake[2] = {-1, -1}; /* a pipe that a signal writes to */
static volatile sig_atomic_t stopped;

static void on_signal(int number)
{
    const int error = errno;
    const ssize_t written = write(wake[1], "", 1);

    (void)number;
    (void)written;
    stopped = 1;
    errno = error;
}

static double now_s(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* ---- writing ---- */

static void write_all(server *of, const char *text, size_t length)
{
    while (length > 0 && !of->broken) {
        const ssize_t written = write(STDOUT_FILENO, text, length);

        if (written < 0 && (errno != EINTR || stopped))
            of->broken = true;
        else if (written > 0) {
            text += written;
            length -= (size_t)written;
        }
    }
}

/* Writes a message that is used if there is no memory for another one. */
static void write_no_memory(server *of, const char *id)
{
    static const char head[] = "{\"jsonrpc\": \"2.0\", \"id\": ";
    static const char tail[] = ", \"error\": {\"code\": -32603, \"message\": \"out of memory\"}}\n";

    write_all(of, head, strlen(head));
    write_all(of, id, strlen(id));
    write_all(of, tail, strlen(tail));
}

static void begin_message(json_writer *json, plait_arena *arena, const char *id)
{
    json_writer_init(json, arena);
    json_begin_object_row(json);
    json_member_string(json, "jsonrpc", "2.0");
    if (id != NULL) {
        json_write_key(json, "id");
        json_write_value(json, id, strlen(id));
    }
}

static void end_message(server *of, json_writer *json, const char *id)
{
    const char *text;
    size_t length;

    json_end_object(json);
    if (json_writer_finish(json, &text, &length, NULL) == PLAIT_OK)
        write_all(of, text, length);
    else if (id != NULL)
        write_no_memory(of, id);
}

/* Begins an error; an id of NULL is that of a request that could not be read. */
static void begin_error(json_writer *json, plait_arena *arena, const char *id, int code,
                        const char *message)
{
    begin_message(json, arena, id != NULL ? id : "null");
    json_member_object(json, "error");
    json_member_int64(json, "code", code);
    json_member_string(json, "message", message);
}

static void write_error(server *of, plait_arena *arena, const char *id, int code,
                        const char *message)
{
    json_writer json;

    begin_error(&json, arena, id, code, message);
    json_end_object(&json);
    end_message(of, &json, id != NULL ? id : "null");
}

static void write_revisions(json_writer *json, const char *key)
{
    json_member_array(json, key);
    for (int i = 0; revisions[i] != NULL; i++)
        json_write_string(json, revisions[i]);
    json_end_array(json);
}

/* Writes that the revision which a request names is unknown. */
static void write_unknown_revision(server *of, plait_arena *arena, const char *id,
                                   const char *requested)
{
    json_writer json;

    begin_error(&json, arena, id, CODE_REVISION, "Unsupported protocol version");
    json_member_object(&json, "data");
    write_revisions(&json, "supported");
    json_member_string(&json, "requested", requested);
    json_end_object(&json);
    json_end_object(&json);
    end_message(of, &json, id);
}

static void write_failure(server *of, plait_arena *arena, const char *id, int code,
                          const plait_error *err)
{
    const char *const text = plait_arena_printf(arena, "%s%s%s", err->where,
                                                err->where[0] != '\0' ? ": " : "", err->message);

    write_error(of, arena, id,
                text == NULL || err->status == PLAIT_ERROR_NOMEM ? CODE_INTERNAL : code,
                text != NULL ? text : "out of memory");
}

static void write_server(json_writer *json, const mcp_host *host, const char *key)
{
    json_member_object(json, key);
    JSON_STRINGS(json, {"name", host->name}, {"version", host->version});
    json_end_object(json);
}

static void begin_result(json_writer *json, const server *of, const mcp_request *request,
                         plait_arena *arena)
{
    begin_message(json, arena, request->id);
    json_member_object(json, "result");
    if (request->modern) {
        json_member_string(json, "resultType", "complete");
        json_member_object(json, "_meta");
        write_server(json, of->host, META "serverInfo");
        json_end_object(json);
    }
}

/* Ends a result that clients may cache. */
static void end_cached(server *of, json_writer *json, const mcp_request *request, bool fixed)
{
    if (request->modern) {
        json_member_int64(json, "ttlMs", fixed ? CACHE_MS : 0);
        json_member_string(json, "cacheScope", fixed ? "public" : "private");
    }
    json_end_object(json);
    end_message(of, json, request->id);
}

static void end_result(server *of, json_writer *json, const mcp_request *request)
{
    json_end_object(json);
    end_message(of, json, request->id);
}

/* ---- calls ---- */

static void call_free(mcp_call *call)
{
    if (call->running)
        child_kill(&call->process);
    buffer_free(&call->out);
    buffer_free(&call->err);
    json_document_free(&call->doc);
    plait_arena_free(call->arena);
    free(call);
}

/* Takes a call off the list and removes its folder unless it is kept. */
static void call_remove(server *of, mcp_call *call, bool keep)
{
    mcp_call **at = &of->first;

    while (*at != call)
        at = &(*at)->next;
    *at = call->next;
    of->calls--;
    if (call->running) {
        child_kill(&call->process);
        call->running = false;
        of->running--;
    }
    if (keep && of->kepts == MCP_KEPT) {
        char oldest[SCRATCH_PATH_SIZE + 16];

        snprintf(oldest, sizeof oldest, "%s/%d", of->place.root, of->kept[0]);
        scratch_remove(oldest);
        memmove(of->kept, of->kept + 1, sizeof of->kept - sizeof *of->kept);
        of->kepts--;
    }
    if (keep)
        of->kept[of->kepts++] = call->number;
    else
        scratch_remove(call->folder);
    call_free(call);
}

static void call_refuse(server *of, mcp_call *call, const plait_error *err)
{
    json_writer json;
    const char *const text = plait_arena_printf(call->arena, "plait: %s%s%s", err->where,
                                                err->where[0] != '\0' ? ": " : "", err->message);

    begin_result(&json, of, &call->request, call->arena);
    call_write_refusal(&json, text != NULL ? text : "plait: out of memory");
    end_result(of, &json, &call->request);
    call_remove(of, call, false);
}

static plait_status call_start(server *of, mcp_call *call, plait_error *err)
{
    PLAIT_TRY(scratch_make(&of->place, call->number, call->folder, err));
    PLAIT_TRY(of->host->prepare(of->host, call->tool, &call->arguments, call->folder,
                                of->place.root, call->arena, &call->run, err));
    PLAIT_TRY(child_start(call->run.argv, call->arena, &call->process, err));
    call->running = true;
    of->running++;
    call->started_s = now_s();
    call->next_progress_s = call->started_s + 1.0;
    return PLAIT_OK;
}

static void start_waiting(server *of)
{
    for (mcp_call *call = of->first, *next; call != NULL && of->running < MCP_RUNNING;
         call = next) {
        plait_error err = {PLAIT_OK, "", ""};

        next = call->next;
        if (!call->running && call_start(of, call, &err) != PLAIT_OK)
            call_refuse(of, call, &err);
    }
}

static void call_finish(server *of, mcp_call *call)
{
    const int status = child_wait(&call->process);
    plait_error err = {PLAIT_OK, "", ""};
    json_writer json;
    bool kept;

    call->running = false;
    of->running--;
    begin_result(&json, of, &call->request, call->arena);
    if (call_write_result(call, &of->place, status, &json, &kept, &err) != PLAIT_OK) {
        call_refuse(of, call, &err);
        return;
    }
    end_result(of, &json, &call->request);
    call_remove(of, call, kept);
}

/* Reads what a command printed; at the end of both pipes the call is finished. */
static void call_read(server *of, mcp_call *call)
{
    struct {
        buffer *to;
        int *fd;
    } pipes[] = {{&call->out, &call->process.out}, {&call->err, &call->process.err}};

    for (int i = 0; i < 2; i++) {
        if (*pipes[i].fd < 0)
            continue;
        switch (buffer_read(pipes[i].to, *pipes[i].fd, MCP_MAX_BYTES)) {
        case BUFFER_MORE:
            break;
        case BUFFER_FULL:
        case BUFFER_NOMEM:
            call->too_long = true;
            kill(-call->process.pid, SIGKILL);
            // fall through
        case BUFFER_END:
            close(*pipes[i].fd);
            *pipes[i].fd = -1;
        }
    }
    if (call->process.out < 0 && call->process.err < 0)
        call_finish(of, call);
}

static void call_progress(server *of, mcp_call *call, double now)
{
    const plait_arena_mark mark = plait_arena_save(call->arena);
    const double seconds = floor(now - call->started_s);
    json_writer json;

    call->next_progress_s = now + 1.0;
    if (seconds <= call->progress)
        return;
    call->progress = seconds;
    begin_message(&json, call->arena, NULL);
    json_member_string(&json, "method", "notifications/progress");
    json_member_object(&json, "params");
    json_write_key(&json, "progressToken");
    json_write_value(&json, call->request.token, strlen(call->request.token));
    json_member_number(&json, "progress", seconds);
    json_member_string(&json, "message",
                       plait_arena_printf(call->arena, "%s: %.0f s", call->tool, seconds));
    json_end_object(&json);
    end_message(of, &json, NULL);
    plait_arena_rewind(call->arena, mark);
}

/* Returns a string or a whole number as JSON text; NULL for any other value. */
static const char *word_of(const json_cursor *at, plait_arena *arena)
{
    json_writer json;
    const char *text;
    size_t length;
    double number;

    if (!json_is_string(at)) {
        if (!json_is_number(at) || json_as_number(at, JSON_ANY, &number, NULL) != PLAIT_OK ||
            number != floor(number) || fabs(number) >= 9007199254740992.0)
            return NULL;
        return plait_arena_printf(arena, "%.0f", number);
    }
    json_writer_init(&json, arena);
    json_copy(&json, at);
    if (json_writer_finish(&json, &text, &length, NULL) != PLAIT_OK)
        return NULL;
    return plait_arena_printf(arena, "%.*s", (int)length - 1, text); // without the line end
}

static mcp_call *find_call(const server *of, const char *id)
{
    mcp_call *call = of->first;

    while (call != NULL && strcmp(call->request.id, id) != 0)
        call = call->next;
    return call;
}

/* ---- methods ---- */

typedef struct message {
    server *of;
    plait_arena *arena;
    json_document doc;
    mcp_request request;
    bool taken; /* a call owns the arena and the document */
} message;

static void write_capabilities(json_writer *json)
{
    json_member_object(json, "capabilities");
    json_member_object(json, "tools");
    json_end_object(json);
    json_member_object(json, "resources");
    json_end_object(json);
    json_end_object(json);
}

static void answer_initialize(message *of)
{
    const mcp_request *const request = &of->request;
    json_writer json;
    json_cursor version;

    const bool given =
        json_is_object(&request->params) &&
        json_value(&request->params, "protocolVersion", &version, NULL) == PLAIT_OK &&
        json_is_string(&version);
    if (!given) {
        write_error(of->of, of->arena, request->id, CODE_PARAMS,
                    "params: expected the protocolVersion of the client, found none");
        return;
    }
    const int known = text_index(json_characters(&version), revisions + LATEST_HANDSHAKE);
    begin_result(&json, of->of, request, of->arena);
    json_member_string(&json, "protocolVersion",
                       revisions[known >= 0 ? LATEST_HANDSHAKE + known : LATEST_HANDSHAKE]);
    write_capabilities(&json);
    write_server(&json, of->of->host, "serverInfo");
    json_member_string(&json, "instructions", of->of->host->instructions);
    end_result(of->of, &json, request);
}

static void answer_ping(message *of)
{
    json_writer json;

    begin_result(&json, of->of, &of->request, of->arena);
    end_result(of->of, &json, &of->request);
}

static void answer_discover(message *of)
{
    json_writer json;

    begin_result(&json, of->of, &of->request, of->arena);
    write_revisions(&json, "supportedVersions");
    write_capabilities(&json);
    json_member_string(&json, "instructions", of->of->host->instructions);
    end_cached(of->of, &json, &of->request, true);
}

/* Lists have one page, so no cursor is valid. Returns whether the request has none. */
static bool has_no_cursor(message *of)
{
    if (!json_is_object(&of->request.params) || !json_has(&of->request.params, "cursor"))
        return true;
    write_error(of->of, of->arena, of->request.id, CODE_PARAMS,
                "cursor: expected none, since lists have one page");
    return false;
}

static void answer_tools(message *of)
{
    plait_error err;
    json_writer json;

    if (!has_no_cursor(of))
        return;
    begin_result(&json, of->of, &of->request, of->arena);
    json_write_key(&json, "tools");
    if (of->of->host->write_tools(of->of->host, &json, of->arena, &err) == PLAIT_OK)
        end_cached(of->of, &json, &of->request, true);
    else
        write_failure(of->of, of->arena, of->request.id, CODE_INTERNAL, &err);
}

static void answer_resources(message *of)
{
    plait_error err;
    json_writer json;

    if (!has_no_cursor(of))
        return;
    begin_result(&json, of->of, &of->request, of->arena);
    json_write_key(&json, "resources");
    if (of->of->host->write_resources(&json, of->arena, &err) == PLAIT_OK)
        end_cached(of->of, &json, &of->request, true);
    else
        write_failure(of->of, of->arena, of->request.id, CODE_INTERNAL, &err);
}

static void answer_templates(message *of)
{
    json_writer json;

    if (!has_no_cursor(of))
        return;
    begin_result(&json, of->of, &of->request, of->arena);
    json_write_key(&json, "resourceTemplates");
    of->of->host->write_templates(&json);
    end_cached(of->of, &json, &of->request, true);
}

/* Reads a kept answer; *text stays NULL for other addresses. */
static plait_status read_kept(const server *of, const char *uri, plait_arena *arena,
                              const char **text, size_t *length, plait_error *err)
{
    int number;

    if (!text_starts_with(uri, MCP_ANSWERS) ||
        !text_parse_int(uri + strlen(MCP_ANSWERS), 1, of->number, &number))
        return PLAIT_OK;
    for (int i = 0; i < of->kepts; i++) {
        char path[SCRATCH_PATH_SIZE + 32];
        const char *raw;
        text_builder out;

        if (of->kept[i] != number)
            continue;
        snprintf(path, sizeof path, "%s/%d/answer.json", of->place.root, number);
        PLAIT_TRY(file_read_all(path, MCP_MAX_BYTES, arena, &raw, length, err));
        text_builder_init(&out, arena);
        scratch_append_hidden(&of->place, &out, raw, *length);
        *text = text_builder_finish(&out, length);
        return plait_check_allocated(*text, err);
    }
    return PLAIT_OK;
}

static void answer_read(message *of)
{
    const mcp_request *const request = &of->request;
    const char *text = NULL, *address = NULL;
    size_t length = 0;
    json_cursor uri;
    json_writer json;
    plait_error err = {PLAIT_OK, "", ""};

    if (json_is_object(&request->params) &&
        json_value(&request->params, "uri", &uri, NULL) == PLAIT_OK)
        address = json_characters(&uri);
    if (address == NULL) {
        write_error(of->of, of->arena, request->id, CODE_PARAMS,
                    "params: expected the uri of a resource, found none");
        return;
    }
    plait_status status = read_kept(of->of, address, of->arena, &text, &length, &err);
    if (status == PLAIT_OK && text == NULL)
        status = of->of->host->read_resource(address, of->arena, &text, &length, &err);
    if (status != PLAIT_OK || text == NULL) {
        const int code = request->modern ? CODE_PARAMS : CODE_NO_RESOURCE;

        if (status == PLAIT_OK)
            (void)!plait_fail(&err, PLAIT_ERROR_RANGE, "uri",
                              "expected a resource of resources/list or an answer that is kept, "
                              "found %.100s",
                              address);
        write_failure(of->of, of->arena, request->id, code, &err);
        return;
    }
    begin_result(&json, of->of, request, of->arena);
    json_member_array(&json, "contents");
    json_begin_object(&json);
    JSON_STRINGS(&json, {"uri", address}, {"mimeType", "application/json"}, {"text", text});
    json_end_object(&json);
    json_end_array(&json);
    end_cached(of->of, &json, request, !text_starts_with(address, MCP_ANSWERS));
}

static void answer_call(message *of)
{
    const mcp_request *const request = &of->request;
    const char *tool = NULL;
    json_cursor name, arguments = {.value = NULL};

    if (json_is_object(&request->params) &&
        json_value(&request->params, "name", &name, NULL) == PLAIT_OK)
        tool = json_characters(&name);
    if (tool == NULL || !of->of->host->has_tool(of->of->host, tool)) {
        write_error(of->of, of->arena, request->id, CODE_PARAMS,
                    "name: expected a tool of tools/list, found none of these");
        return;
    }
    if (json_has(&request->params, "arguments") &&
        (json_value(&request->params, "arguments", &arguments, NULL) != PLAIT_OK ||
         !json_is_object(&arguments))) {
        write_error(of->of, of->arena, request->id, CODE_PARAMS, "arguments: expected an object");
        return;
    }
    if (of->of->calls >= MCP_RUNNING + MCP_WAITING) {
        write_error(of->of, of->arena, request->id, CODE_INTERNAL,
                    "expected fewer calls at once: too many wait");
        return;
    }
    mcp_call *const call = calloc(1, sizeof *call);
    if (call == NULL) {
        write_no_memory(of->of, request->id);
        return;
    }
    call->arena = of->arena;
    call->doc = of->doc;
    call->request = *request;
    call->request.params.parent = &call->request.root; // the message ends before the call
    call->arguments = arguments;
    call->arguments.parent = &call->request.params;
    call->tool = tool;
    call->number = ++of->of->number;
    call->process = (child){.out = -1, .err = -1};
    of->taken = true;
    mcp_call **at = &of->of->first;
    while (*at != NULL)
        at = &(*at)->next;
    *at = call;
    of->of->calls++;
    start_waiting(of->of);
}

static void cancel(message *of)
{
    json_cursor id;
    mcp_call *call = NULL;

    if (json_is_object(&of->request.params) &&
        json_value(&of->request.params, "requestId", &id, NULL) == PLAIT_OK) {
        const char *const word = word_of(&id, of->arena);

        call = word != NULL ? find_call(of->of, word) : NULL;
    }
    if (call == NULL)
        return;
    call_remove(of->of, call, false);
    start_waiting(of->of);
}

typedef enum era { BOTH, HANDSHAKE_ONLY, MODERN_ONLY } era;

static const struct method {
    const char *name;
    void (*answer)(message *of);
    era era;
} methods[] = {
    {"initialize", answer_initialize, HANDSHAKE_ONLY},
    {"ping", answer_ping, HANDSHAKE_ONLY},
    {"server/discover", answer_discover, MODERN_ONLY},
    {"tools/list", answer_tools, BOTH},
    {"tools/call", answer_call, BOTH},
    {"resources/list", answer_resources, BOTH},
    {"resources/templates/list", answer_templates, BOTH},
    {"resources/read", answer_read, BOTH},
};

/* ---- messages ---- */

/* Reads _meta: the token of progress, and the revision of a request without a handshake. */
static bool read_meta(message *of)
{
    mcp_request *const request = &of->request;
    json_cursor meta, at;

    if (!json_is_object(&request->params) || !json_has(&request->params, "_meta"))
        return true;
    if (json_value(&request->params, "_meta", &meta, NULL) != PLAIT_OK || !json_is_object(&meta)) {
        write_error(of->of, of->arena, request->id, CODE_PARAMS, "_meta: expected an object");
        return false;
    }
    if (json_has(&meta, "progressToken") &&
        json_value(&meta, "progressToken", &at, NULL) == PLAIT_OK) {
        request->token = word_of(&at, of->arena);
        if (request->token == NULL) {
            write_error(of->of, of->arena, request->id, CODE_PARAMS,
                        "progressToken: expected a string or a whole number");
            return false;
        }
    }
    if (!json_has(&meta, META "protocolVersion"))
        return true;
    if (json_value(&meta, META "protocolVersion", &at, NULL) != PLAIT_OK || !json_is_string(&at)) {
        write_error(of->of, of->arena, request->id, CODE_PARAMS,
                    META "protocolVersion: expected a string");
        return false;
    }
    const int known = text_index(json_characters(&at), revisions);
    if (known < 0) {
        write_unknown_revision(of->of, of->arena, request->id, json_characters(&at));
        return false;
    }
    request->modern = known == MODERN;
    if (request->modern && !json_has(&meta, META "clientCapabilities")) {
        write_error(of->of, of->arena, request->id, CODE_PARAMS,
                    "_meta: expected " META "clientCapabilities, found none");
        return false;
    }
    return true;
}

static void answer_request(message *of)
{
    mcp_request *const request = &of->request;

    if (!json_is_null(&request->params) && !json_is_object(&request->params)) {
        write_error(of->of, of->arena, request->id, CODE_PARAMS, "params: expected an object");
        return;
    }
    if (!read_meta(of))
        return;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(methods[i].name, request->method) != 0 ||
            (request->modern && methods[i].era == HANDSHAKE_ONLY))
            continue;
        if (!request->modern && methods[i].era == MODERN_ONLY) {
            write_error(of->of, of->arena, request->id, CODE_PARAMS,
                        "_meta: expected " META "protocolVersion 2026-07-28");
            return;
        }
        methods[i].answer(of);
        return;
    }
    write_error(of->of, of->arena, request->id, CODE_METHOD, "the method is not supported");
}

/* Handles a document; its errors are answered. */
static void handle_document(message *of)
{
    mcp_request *const request = &of->request;
    json_cursor at;

    request->root = json_document_root(&of->doc);
    if (!json_is_object(&request->root)) {
        write_error(of->of, of->arena, NULL, CODE_REQUEST,
                    json_is_array(&request->root)
                        ? "expected one request as an object on a line, found an array"
                        : "expected a request as an object");
        return;
    }
    const bool has_id =
        json_value_optional(&request->root, "id", &at, NULL) != PLAIT_OK || at.value != NULL;
    if (has_id) {
        request->id = at.value != NULL ? word_of(&at, of->arena) : NULL;
        if (request->id == NULL) {
            write_error(of->of, of->arena, NULL, CODE_REQUEST,
                        "id: expected a string or a whole number");
            return;
        }
    }
    if (json_value_optional(&request->root, "method", &at, NULL) == PLAIT_OK)
        request->method = json_characters(&at);
    const bool is_response = request->method == NULL && (json_has(&request->root, "result") ||
                                                         json_has(&request->root, "error"));
    if (is_response)
        return; // the server sends no requests
    const bool version_known =
        json_value_optional(&request->root, "jsonrpc", &at, NULL) == PLAIT_OK &&
        json_is_string(&at) && text_equal(json_characters(&at), "2.0");
    if (request->method == NULL || !version_known) {
        if (has_id || request->method == NULL)
            write_error(of->of, of->arena, request->id, CODE_REQUEST,
                        "expected \"jsonrpc\": \"2.0\" and a method");
        return;
    }
    if (json_value_optional(&request->root, "params", &request->params, NULL) != PLAIT_OK) {
        if (has_id)
            write_error(of->of, of->arena, request->id, CODE_REQUEST,
                        "params: expected the key once, found it twice");
        return;
    }
    if (!has_id) {
        if (text_equal(request->method, "notifications/cancelled"))
            cancel(of);
        return;
    }
    if (find_call(of->of, request->id) != NULL) {
        // an answer with this id would end the earlier request
        write_error(of->of, of->arena, NULL, CODE_REQUEST,
                    "id: expected one that no request in progress has");
        return;
    }
    answer_request(of);
}

static void handle_line(server *of, const char *line, size_t length)
{
    message one = {.of = of, .arena = plait_arena_new()};
    plait_error err;

    if (strspn(line, " \t\r\n") >= length)
        goto done;
    if (one.arena == NULL) {
        write_no_memory(of, "null");
        goto done;
    }
    if (json_document_parse(line, length, "line", one.arena, &one.doc, &err) != PLAIT_OK) {
        write_failure(of, one.arena, NULL, CODE_PARSE, &err);
        goto done;
    }
    // cursors of a call outlive this function, so their parents must not be on the stack
    handle_document(&one);
    if (!one.taken)
        json_document_free(&one.doc);
done:
    if (!one.taken)
        plait_arena_free(one.arena);
}

static void read_input(server *of)
{
    const buffer_state state = buffer_read(&of->in, STDIN_FILENO, MCP_MAX_MESSAGE);
    size_t start = 0;

    of->ended = of->ended || state == BUFFER_END;
    while (of->scanned < of->in.length) {
        char *const begin = of->in.bytes + of->scanned;
        char *const end = memchr(begin, '\n', of->in.length - of->scanned);

        of->scanned = end != NULL ? (size_t)(end - of->in.bytes) + 1 : of->in.length;
        if (end == NULL)
            break;
        *end = '\0';
        if (!of->skipping)
            handle_line(of, of->in.bytes + start, (size_t)(end - of->in.bytes) - start);
        of->skipping = false;
        start = of->scanned;
    }
    if (start > 0) {
        buffer_drop(&of->in, start);
        of->scanned -= start;
    }
    if (state == BUFFER_NOMEM || of->in.length >= MCP_MAX_MESSAGE) {
        plait_arena *const arena = plait_arena_new();

        if (!of->skipping)
            write_error(of, arena, NULL, CODE_REQUEST,
                        "expected a message of at most 16 MiB, found a longer one");
        plait_arena_free(arena);
        of->skipping = true;
        buffer_free(&of->in);
        of->scanned = 0;
    }
    // A last line without a line end is cut off: it is no message.
    if (of->ended && of->in.length > 0 && !of->skipping) {
        plait_arena *const arena = plait_arena_new();

        write_error(of, arena, NULL, CODE_PARSE,
                    "expected a line end after the message, found the end of input");
        plait_arena_free(arena);
        buffer_free(&of->in);
    }
}

/* ---- the loop ---- */

static int timeout_ms(const server *of, double now, double stop_s)
{
    double until = of->ended ? stop_s : (double)INFINITY;

    for (const mcp_call *call = of->first; call != NULL; call = call->next)
        if (call->running && call->request.token != NULL && call->next_progress_s < until)
            until = call->next_progress_s;
    return isinf(until) ? -1 : until <= now ? 0 : (int)ceil(1e3 * (until - now));
}

static void serve(server *of)
{
    double stop_s = (double)INFINITY;

    for (;;) {
        struct pollfd fd[2 + 2 * MCP_RUNNING];
        mcp_call *of_fd[2 + 2 * MCP_RUNNING] = {NULL};
        nfds_t count = 2;

        fd[0] = (struct pollfd){.fd = wake[0], .events = POLLIN};
        fd[1] = (struct pollfd){.fd = of->ended ? -1 : STDIN_FILENO, .events = POLLIN};
        for (mcp_call *call = of->first; call != NULL; call = call->next) {
            if (!call->running)
                continue;
            of_fd[count] = of_fd[count + 1] = call;
            fd[count++] = (struct pollfd){.fd = call->process.out, .events = POLLIN};
            fd[count++] = (struct pollfd){.fd = call->process.err, .events = POLLIN};
        }
        const int ready = poll(fd, count, timeout_ms(of, now_s(), stop_s));
        if (ready < 0 && errno != EINTR)
            return;
        if (ready > 0 && fd[0].revents != 0)
            return; // a signal ends the server
        for (nfds_t i = 2; ready > 0 && i < count; i += 2)
            if (fd[i].revents != 0 || fd[i + 1].revents != 0)
                call_read(of, of_fd[i]);
        if (ready > 0 && fd[1].revents != 0) {
            read_input(of);
            if (of->ended)
                stop_s = now_s() + grace_s;
        }
        const double now = now_s();
        for (mcp_call *call = of->first; call != NULL; call = call->next)
            if (call->running && call->request.token != NULL && now >= call->next_progress_s)
                call_progress(of, call, now);
        start_waiting(of);
        if (of->broken || (of->ended && (of->first == NULL || now >= stop_s)))
            return;
    }
}

plait_status mcp_serve(const mcp_host *host, plait_error *err)
{
    static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
    server *const of = calloc(1, sizeof *of);

    PLAIT_TRY(plait_check_allocated(of, err));
    of->host = host;
    if (pipe2(wake, O_CLOEXEC | O_NONBLOCK) != 0) {
        free(of);
        return file_fail_read("pipe", errno, err);
    }
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
        sigaction(ending[i], &(struct sigaction){.sa_handler = on_signal}, NULL);
    serve(of);
    while (of->first != NULL) {
        mcp_call *const call = of->first;

        of->first = call->next;
        call_free(call);
    }
    scratch_remove(of->place.root);
    buffer_free(&of->in);
    free(of);
    return PLAIT_OK;
}
