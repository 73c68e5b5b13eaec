/* result.c - turns the output of a command into the result of a call */
#include "mcp/call.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "io/file.h"

enum { MOST_FILES = 4096, MOST_DEPTH = 8 };

static void write_text(json_writer *json, const char *text)
{
    json_begin_object(json);
    JSON_STRINGS(json, {"type", "text"}, {"text", text});
    json_end_object(json);
}

void call_write_refusal(json_writer *json, const char *text)
{
    json_member_array(json, "content");
    write_text(json, text);
    json_end_array(json);
    json_member_bool(json, "isError", true);
}

/* Returns a text without the paths of folders and without line ends at its end; NULL: no memory. */
static char *shown(const scratch *place, const char *text, size_t length, plait_arena *arena,
                   size_t *out_length)
{
    text_builder out;

    text_builder_init(&out, arena);
    while (length > 0 && (text[length - 1] == '\n' || text[length - 1] == ' '))
        length--;
    scratch_append_hidden(place, &out, text, length);
    return text_builder_finish(&out, out_length);
}

/* Writes the files of a folder as members of an array, sorted by name. */
static plait_status write_files(json_writer *json, const char *folder, const char *prefix,
                                int depth, const scratch *place, plait_arena *arena,
                                plait_error *err)
{
    struct dirent **entry;
    const int count = scandir(folder, &entry, NULL, alphasort);
    plait_status status = PLAIT_OK;

    if (count < 0 || count > MOST_FILES || depth > MOST_DEPTH)
        status = plait_fail(err, PLAIT_ERROR_IO, folder, "expected a folder of at most %d files",
                            MOST_FILES);
    for (int i = 0; i < count; i++) {
        const char *const name = entry[i]->d_name;
        const char *const path = plait_arena_printf(arena, "%s/%s", folder, name);
        const char *const shown_path = plait_arena_printf(arena, "%s%s", prefix, name);
        struct stat info;

        if (status == PLAIT_OK)
            status = plait_check_allocated(path != NULL && shown_path != NULL, err);
        if (status == PLAIT_OK && name[0] != '.' && stat(path, &info) == 0) {
            const char *text, *below;
            size_t length;

            if (S_ISDIR(info.st_mode)) {
                below = plait_arena_printf(arena, "%s/", shown_path);
                status = plait_check_allocated(below, err);
                if (status == PLAIT_OK)
                    status = write_files(json, path, below, depth + 1, place, arena, err);
            } else {
                status = file_read_all(path, MCP_MAX_BYTES, arena, &text, &length, err);
                if (status == PLAIT_OK) {
                    text_builder out;

                    text_builder_init(&out, arena);
                    scratch_append_hidden(place, &out, text, length);
                    json_begin_object(json);
                    json_member_string(json, "path", shown_path);
                    json_member_bool(json, "executable", (info.st_mode & S_IXUSR) != 0);
                    json_member_string(json, "text", text_builder_finish(&out, NULL));
                    json_end_object(json);
                }
            }
        }
        free(entry[i]);
    }
    if (count >= 0)
        free(entry);
    return status;
}

/* Returns the error message of a failed command; NULL: no memory. */
static const char *failure(const mcp_call *call, const scratch *place, int status)
{
    size_t length;
    const char *const text = shown(place, call->err.bytes, call->err.length, call->arena, &length);

    if (call->too_long)
        return plait_arena_printf(
            call->arena, "plait: expected an answer of at most %d MiB: ask for fewer plans",
            (int)(MCP_MAX_BYTES >> 20));
    if (text == NULL || length > 0)
        return text;
    if (WIFSIGNALED(status))
        return plait_arena_printf(
            call->arena, "plait: the process of %s was ended by signal %d%s", call->tool,
            WTERMSIG(status), WTERMSIG(status) == SIGKILL ? ", perhaps since memory ran out" : "");
    return "plait: the command gave no answer";
}

/* Writes the files of a launch as an object on one line. */
static plait_status launch_answer(mcp_call *call, const scratch *place, const char **answer,
                                  size_t *length, plait_error *err)
{
    json_writer json;
    text_builder report;

    text_builder_init(&report, call->arena);
    text_append_bytes(&report, call->out.bytes, call->out.length);
    text_append_bytes(&report, call->err.bytes, call->err.length);
    const char *const printed = shown(place, report.text, report.length, call->arena, NULL);
    PLAIT_TRY(plait_check_allocated(printed, err));
    json_writer_init(&json, call->arena);
    json_begin_object_row(&json);
    json_member_string(&json, "report", printed);
    json_member_array(&json, "files");
    PLAIT_TRY(write_files(&json, call->run.files, "", 0, place, call->arena, err));
    json_end_array(&json);
    json_end_object(&json);
    return json_writer_finish(&json, answer, length, err);
}

/* Sets *answer to the JSON answer of a command; its length is 0 without one. */
static plait_status read_answer(mcp_call *call, const scratch *place, bool *kept,
                                const char **answer, size_t *length, plait_error *err)
{
    const char *text = call->out.bytes;
    size_t bytes = call->out.length;

    if (call->run.files != NULL)
        return launch_answer(call, place, answer, length, err);
    if (call->run.answer != NULL) {
        struct stat info;

        *kept = stat(call->run.answer, &info) == 0;
        bytes = 0;
        if (*kept)
            PLAIT_TRY(
                file_read_all(call->run.answer, MCP_MAX_BYTES, call->arena, &text, &bytes, err));
    }
    *answer = shown(place, text, bytes, call->arena, length);
    return plait_check_allocated(*answer, err);
}

plait_status call_write_result(mcp_call *call, const scratch *place, int status, json_writer *json,
                               bool *kept, plait_error *err)
{
    const bool answered = WIFEXITED(status) && WEXITSTATUS(status) <= 1 && !call->too_long;
    const bool tabled = call->run.answer != NULL && call->out.length > 0;
    const char *answer = "";
    size_t length = 0, warned;

    *kept = false;
    if (answered)
        PLAIT_TRY(read_answer(call, place, kept, &answer, &length, err));
    if (length == 0 || answer[0] != '{') {
        const char *const text = failure(call, place, status);

        *kept = false;
        PLAIT_TRY(plait_check_allocated(text, err));
        call_write_refusal(json, text);
        return PLAIT_OK;
    }
    const char *const table =
        tabled ? shown(place, call->out.bytes, call->out.length, call->arena, NULL) : answer;
    const char *const warnings =
        shown(place, call->err.bytes, call->err.length, call->arena, &warned);
    PLAIT_TRY(plait_check_allocated(table != NULL && warnings != NULL, err));
    json_member_array(json, "content");
    write_text(json, table);
    if (warned > 0 && call->run.files == NULL)
        write_text(json, warnings);
    if (*kept) {
        char uri[64];

        snprintf(uri, sizeof uri, MCP_ANSWERS "%d", call->number);
        json_begin_object(json);
        JSON_STRINGS(json, {"type", "resource_link"}, {"uri", uri}, {"name", uri},
                     {"description", "This answer. Later calls accept the address in place of a "
                                     "file; :2 after it selects plan 2."},
                     {"mimeType", "application/json"});
        json_end_object(json);
    }
    json_end_array(json);
    json_write_key(json, "structuredContent");
    json_write_value(json, answer, length);
    json_member_bool(json, "isError", false);
    return PLAIT_OK;
}
