/*
 * fuzz_mcp.c - any bytes as messages to `plait mcp`; each answer is a line of JSON, and the server
 * leaves no files
 *
 * child.c is not linked: a call runs no process, and "{}" is the answer of a command with a file.
 */
#undef NDEBUG
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/mcp_tools.h"
#include "mcp/server.h"
#include "support/streams.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

plait_status child_start(const char *const *argv, plait_arena *arena, child *out, plait_error *err)
{
    (void)arena;
    (void)err;
    for (int i = 0; argv[i] != NULL && !text_equal(argv[i], "--"); i++) {
        const char *const path = argv[i + 1];

        if (text_equal(argv[i], "--output") && path != NULL &&
            strstr(path, "/plait-mcp-") != NULL && text_ends_with(path, "/answer.json")) {
            FILE *const file = fopen(path, "w");

            if (file != NULL && (fputs("{}", file) < 0 || fclose(file) != 0))
                abort();
        }
    }
    *out = (child){.out = -1, .err = -1};
    return PLAIT_OK;
}

void child_kill(child *of)
{
    (void)of;
}

int child_wait(child *of)
{
    (void)of;
    return 0;
}

/* The lists depend on no input, and with sanitizers they take up to a second. */
static plait_status write_no_resources(json_writer *json, plait_arena *arena, plait_error *err)
{
    (void)arena;
    (void)err;
    json_begin_array(json);
    json_end_array(json);
    return PLAIT_OK;
}

static plait_status write_no_tools(const mcp_host *host, json_writer *json, plait_arena *arena,
                                   plait_error *err)
{
    (void)host;
    return write_no_resources(json, arena, err);
}

static void check_lines(char *text, plait_arena *arena)
{
    for (char *line = text, *end; *line != '\0'; line = end + 1) {
        json_document doc;
        json_cursor root;
        plait_error err;

        end = strchr(line, '\n');
        assert(end != NULL);
        assert(json_document_parse(line, (size_t)(end - line), "answer", arena, &doc, &err) ==
               PLAIT_OK);
        root = json_document_root(&doc);
        assert(json_has(&root, "jsonrpc") && json_has(&root, "result") != json_has(&root, "error"));
        json_document_free(&doc);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    plait_arena *const arena = plait_arena_new();
    mcp_host host = {.name = "plait", .version = "0", .instructions = ""};
    plait_error err = {PLAIT_OK, "", ""};
    server of = {.host = &host};
    size_t length;

    assert(arena != NULL && mcp_tools_init(NULL, arena, &host, &err) == PLAIT_OK);
    host.write_tools = write_no_tools;
    host.write_resources = write_no_resources;
    streams_begin(data, size);
    while (!of.ended)
        messages_read(&of);
    while (of.first != NULL) {
        calls_start(&of);
        if (of.first != NULL)
            calls_read(&of, of.first);
    }
    scratch_remove(of.place.root);
    assert(of.calls == 0 && of.running == 0 && !of.broken);
    assert(of.place.root[0] == '\0' || access(of.place.root, F_OK) != 0);
    buffer_free(&of.in);
    char *const text = streams_end(&length);
    assert(strlen(text) == length);
    check_lines(text, arena);
    free(text);
    plait_arena_free(arena);
    return 0;
}
