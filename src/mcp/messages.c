/* messages.c - reads lines, and checks that they are requests or notifications */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "mcp/server.h"

/* Returns a string or a whole number as JSON text; NULL for any other value. */
const char *message_word(const json_cursor *at, plait_arena *arena)
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

/* Handles a document; its errors are answered. */
static void handle_document(message *of)
{
    mcp_request *const request = &of->request;
    json_cursor at;

    request->root = json_document_root(&of->doc);
    if (!json_is_object(&request->root)) {
        reply_error(of->of, of->arena, NULL, CODE_REQUEST,
                    json_is_array(&request->root)
                        ? "expected one request as an object on a line, found an array"
                        : "expected a request as an object");
        return;
    }
    const bool has_id =
        json_value_optional(&request->root, "id", &at, NULL) != PLAIT_OK || at.value != NULL;
    if (has_id) {
        request->id = at.value != NULL ? message_word(&at, of->arena) : NULL;
        if (request->id == NULL) {
            reply_error(of->of, of->arena, NULL, CODE_REQUEST,
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
            reply_error(of->of, of->arena, request->id, CODE_REQUEST,
                        "expected \"jsonrpc\": \"2.0\" and a method");
        return;
    }
    if (json_value_optional(&request->root, "params", &request->params, NULL) != PLAIT_OK) {
        if (has_id)
            reply_error(of->of, of->arena, request->id, CODE_REQUEST,
                        "params: expected the key once, found it twice");
        return;
    }
    if (!has_id) {
        if (text_equal(request->method, "notifications/cancelled"))
            methods_cancel(of);
        return;
    }
    if (calls_find(of->of, request->id) != NULL) {
        // an answer with this id would end the earlier request
        reply_error(of->of, of->arena, NULL, CODE_REQUEST,
                    "id: expected one that no request in progress has");
        return;
    }
    methods_answer(of);
}

static void handle_line(server *of, const char *line, size_t length)
{
    message one = {.of = of, .arena = plait_arena_new()};
    plait_error err;

    if (strspn(line, " \t\r\n") >= length)
        goto done;
    if (one.arena == NULL) {
        reply_no_memory(of, "null");
        goto done;
    }
    if (json_document_parse(line, length, "line", one.arena, &one.doc, &err) != PLAIT_OK) {
        reply_failure(of, one.arena, NULL, CODE_PARSE, &err);
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

void messages_read(server *of)
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
            reply_error(of, arena, NULL, CODE_REQUEST,
                        "expected a message of at most 16 MiB, found a longer one");
        plait_arena_free(arena);
        of->skipping = true;
        buffer_free(&of->in);
        of->scanned = 0;
    }
    // A last line without a line end is cut off: it is no message.
    if (of->ended && of->in.length > 0 && !of->skipping) {
        plait_arena *const arena = plait_arena_new();

        reply_error(of, arena, NULL, CODE_PARSE,
                    "expected a line end after the message, found the end of input");
        plait_arena_free(arena);
        buffer_free(&of->in);
    }
}
