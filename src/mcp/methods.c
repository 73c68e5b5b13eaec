/* methods.c - answers each method of the protocol */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/file.h"
#include "mcp/server.h"

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
        reply_error(of->of, of->arena, request->id, CODE_PARAMS,
                    "params: expected the protocolVersion of the client, found none");
        return;
    }
    const int known = text_index(json_characters(&version), revisions + REVISION_HANDSHAKE);
    reply_result(&json, of->of, request, of->arena);
    json_member_string(&json, "protocolVersion",
                       revisions[known >= 0 ? REVISION_HANDSHAKE + known : REVISION_HANDSHAKE]);
    write_capabilities(&json);
    reply_server(&json, of->of->host, "serverInfo");
    json_member_string(&json, "instructions", of->of->host->instructions);
    reply_end_result(of->of, &json, request);
}

static void answer_ping(message *of)
{
    json_writer json;

    reply_result(&json, of->of, &of->request, of->arena);
    reply_end_result(of->of, &json, &of->request);
}

static void answer_discover(message *of)
{
    json_writer json;

    reply_result(&json, of->of, &of->request, of->arena);
    reply_revisions(&json, "supportedVersions");
    write_capabilities(&json);
    json_member_string(&json, "instructions", of->of->host->instructions);
    reply_end_cached(of->of, &json, &of->request, true);
}

/* Lists have one page, so no cursor is valid. Returns whether the request has none. */
static bool has_no_cursor(message *of)
{
    if (!json_is_object(&of->request.params) || !json_has(&of->request.params, "cursor"))
        return true;
    reply_error(of->of, of->arena, of->request.id, CODE_PARAMS,
                "cursor: expected none, since lists have one page");
    return false;
}

static void answer_tools(message *of)
{
    plait_error err;
    json_writer json;

    if (!has_no_cursor(of))
        return;
    reply_result(&json, of->of, &of->request, of->arena);
    json_write_key(&json, "tools");
    if (of->of->host->write_tools(of->of->host, &json, of->arena, &err) == PLAIT_OK)
        reply_end_cached(of->of, &json, &of->request, true);
    else
        reply_failure(of->of, of->arena, of->request.id, CODE_INTERNAL, &err);
}

static void answer_resources(message *of)
{
    plait_error err;
    json_writer json;

    if (!has_no_cursor(of))
        return;
    reply_result(&json, of->of, &of->request, of->arena);
    json_write_key(&json, "resources");
    if (of->of->host->write_resources(&json, of->arena, &err) == PLAIT_OK)
        reply_end_cached(of->of, &json, &of->request, true);
    else
        reply_failure(of->of, of->arena, of->request.id, CODE_INTERNAL, &err);
}

static void answer_templates(message *of)
{
    json_writer json;

    if (!has_no_cursor(of))
        return;
    reply_result(&json, of->of, &of->request, of->arena);
    json_write_key(&json, "resourceTemplates");
    of->of->host->write_templates(&json);
    reply_end_cached(of->of, &json, &of->request, true);
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
        reply_error(of->of, of->arena, request->id, CODE_PARAMS,
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
        reply_failure(of->of, of->arena, request->id, code, &err);
        return;
    }
    reply_result(&json, of->of, request, of->arena);
    json_member_array(&json, "contents");
    json_begin_object(&json);
    JSON_STRINGS(&json, {"uri", address}, {"mimeType", "application/json"}, {"text", text});
    json_end_object(&json);
    json_end_array(&json);
    reply_end_cached(of->of, &json, request, !text_starts_with(address, MCP_ANSWERS));
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
        reply_error(of->of, of->arena, request->id, CODE_PARAMS,
                    "name: expected a tool of tools/list, found none of these");
        return;
    }
    if (json_has(&request->params, "arguments") &&
        (json_value(&request->params, "arguments", &arguments, NULL) != PLAIT_OK ||
         !json_is_object(&arguments))) {
        reply_error(of->of, of->arena, request->id, CODE_PARAMS, "arguments: expected an object");
        return;
    }
    if (of->of->calls >= MCP_RUNNING + MCP_WAITING) {
        reply_error(of->of, of->arena, request->id, CODE_INTERNAL,
                    "expected fewer calls at once: too many wait");
        return;
    }
    mcp_call *const call = calloc(1, sizeof *call);
    if (call == NULL) {
        reply_no_memory(of->of, request->id);
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
    calls_start(of->of);
}

void methods_cancel(message *of)
{
    json_cursor id;
    mcp_call *call = NULL;

    if (json_is_object(&of->request.params) &&
        json_value(&of->request.params, "requestId", &id, NULL) == PLAIT_OK) {
        const char *const word = message_word(&id, of->arena);

        call = word != NULL ? calls_find(of->of, word) : NULL;
    }
    if (call == NULL)
        return;
    calls_remove(of->of, call, false);
    calls_start(of->of);
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

/* Reads _meta: the token of progress, and the revision of a request without a handshake. */
static bool read_meta(message *of)
{
    mcp_request *const request = &of->request;
    json_cursor meta, at;

    if (!json_is_object(&request->params) || !json_has(&request->params, "_meta"))
        return true;
    if (json_value(&request->params, "_meta", &meta, NULL) != PLAIT_OK || !json_is_object(&meta)) {
        reply_error(of->of, of->arena, request->id, CODE_PARAMS, "_meta: expected an object");
        return false;
    }
    if (json_has(&meta, "progressToken") &&
        json_value(&meta, "progressToken", &at, NULL) == PLAIT_OK) {
        request->token = message_word(&at, of->arena);
        if (request->token == NULL) {
            reply_error(of->of, of->arena, request->id, CODE_PARAMS,
                        "progressToken: expected a string or a whole number");
            return false;
        }
    }
    if (!json_has(&meta, META "protocolVersion"))
        return true;
    if (json_value(&meta, META "protocolVersion", &at, NULL) != PLAIT_OK || !json_is_string(&at)) {
        reply_error(of->of, of->arena, request->id, CODE_PARAMS,
                    META "protocolVersion: expected a string");
        return false;
    }
    const int known = text_index(json_characters(&at), revisions);
    if (known < 0) {
        reply_unknown_revision(of->of, of->arena, request->id, json_characters(&at));
        return false;
    }
    request->modern = known == REVISION_MODERN;
    if (request->modern && !json_has(&meta, META "clientCapabilities")) {
        reply_error(of->of, of->arena, request->id, CODE_PARAMS,
                    "_meta: expected " META "clientCapabilities, found none");
        return false;
    }
    return true;
}

void methods_answer(message *of)
{
    mcp_request *const request = &of->request;

    if (!json_is_null(&request->params) && !json_is_object(&request->params)) {
        reply_error(of->of, of->arena, request->id, CODE_PARAMS, "params: expected an object");
        return;
    }
    if (!read_meta(of))
        return;
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(methods[i].name, request->method) != 0 ||
            (request->modern && methods[i].era == HANDSHAKE_ONLY))
            continue;
        if (!request->modern && methods[i].era == MODERN_ONLY) {
            reply_error(of->of, of->arena, request->id, CODE_PARAMS,
                        "_meta: expected " META "protocolVersion 2026-07-28");
            return;
        }
        methods[i].answer(of);
        return;
    }
    reply_error(of->of, of->arena, request->id, CODE_METHOD, "the method is not supported");
}
