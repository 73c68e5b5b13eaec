/*
 * mcp.h - a server of the Model Context Protocol on standard input and output
 *
 * A message is one line of JSON (JSON-RPC 2.0). The server answers lists and resources itself; each
 * call of a tool runs a command of this program in a separate process, so that a crash, a shortage
 * of memory or a cancelled question ends that process only. Up to MCP_RUNNING calls run at once,
 * further ones wait, and answers are written in the order in which the calls end.
 *
 * A call has a folder for its files. The folder of a call whose answer is a file stays until
 * MCP_KEPT later answers exist, and "plait://answers/3" names that answer in later calls.
 *
 * The host describes the tools and translates their arguments.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "io/json/json_copy.h"
#include "plait/arena.h"
#include "plait/error.h"

enum {
    MCP_RUNNING = 4,  /* calls that run at once */
    MCP_WAITING = 64, /* calls that wait for one of them to end */
    MCP_KEPT = 32     /* answers that later calls can name */
};

/** Largest message, and largest output of a command. */
#define MCP_MAX_MESSAGE ((size_t)16 * 1024 * 1024)
#define MCP_MAX_BYTES ((size_t)64 * 1024 * 1024)

#define MCP_ANSWERS "plait://answers/"

/** The command that a call of a tool runs. */
typedef struct mcp_run {
    const char *const *argv; /* arguments after the name of the program, ended by NULL */
    const char *answer; /* file in the call's folder with the JSON answer; NULL: standard output */
    const char *files;  /* folder in the call's folder whose files are the answer; NULL: none */
} mcp_run;

typedef struct mcp_host {
    const char *name;
    const char *version;
    const char *instructions; /* for the model that uses the tools */

    /** Write the array of tools. */
    plait_status (*write_tools)(const struct mcp_host *host, json_writer *json, plait_arena *arena,
                                plait_error *err);

    bool (*has_tool)(const struct mcp_host *host, const char *tool);

    /**
     * Translate the arguments of a call into a command line. Inline contents are written to
     * `folder`. A reference to an answer, such as "plait://answers/3:1", becomes the path
     * `answers`/3/answer.json:1.
     */
    plait_status (*prepare)(const struct mcp_host *host, const char *tool,
                            const json_cursor *arguments, const char *folder, const char *answers,
                            plait_arena *arena, mcp_run *run, plait_error *err);

    /** Write the array of resources, and that of templates of their addresses. */
    plait_status (*write_resources)(json_writer *json, plait_arena *arena, plait_error *err);
    void (*write_templates)(json_writer *json);

    /** Read a resource; *text is NULL if the address is unknown. */
    plait_status (*read_resource)(const char *uri, plait_arena *arena, const char **text,
                                  size_t *length, plait_error *err);

    const void *own; /* data of the host */
} mcp_host;

/** Serve until standard input ends. Fails only if the server cannot start. */
PLAIT_MUST_CHECK plait_status mcp_serve(const mcp_host *host, plait_error *err);
