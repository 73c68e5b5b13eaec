/* calls.c - starts, reads and ends calls of tools */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mcp/server.h"

void calls_free(mcp_call *call)
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
void calls_remove(server *of, mcp_call *call, bool keep)
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
    calls_free(call);
}

static void call_refuse(server *of, mcp_call *call, const plait_error *err)
{
    json_writer json;
    const char *const text = plait_arena_printf(call->arena, "plait: %s%s%s", err->where,
                                                err->where[0] != '\0' ? ": " : "", err->message);

    reply_result(&json, of, &call->request, call->arena);
    call_write_refusal(&json, text != NULL ? text : "plait: out of memory");
    reply_end_result(of, &json, &call->request);
    calls_remove(of, call, false);
}

static plait_status call_start(server *of, mcp_call *call, plait_error *err)
{
    PLAIT_TRY(scratch_make(&of->place, call->number, call->folder, err));
    PLAIT_TRY(of->host->prepare(of->host, call->tool, &call->arguments, call->folder,
                                of->place.root, call->arena, &call->run, err));
    PLAIT_TRY(child_start(call->run.argv, call->arena, &call->process, err));
    call->running = true;
    of->running++;
    call->started_s = server_now_s();
    call->next_progress_s = call->started_s + 1.0;
    return PLAIT_OK;
}

void calls_start(server *of)
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
    reply_result(&json, of, &call->request, call->arena);
    if (call_write_result(call, &of->place, status, &json, &kept, &err) != PLAIT_OK) {
        call_refuse(of, call, &err);
        return;
    }
    reply_end_result(of, &json, &call->request);
    calls_remove(of, call, kept);
}

/* Reads what a command printed; at the end of both pipes the call is finished. */
void calls_read(server *of, mcp_call *call)
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

void calls_progress(server *of, mcp_call *call, double now)
{
    const plait_arena_mark mark = plait_arena_save(call->arena);
    const double seconds = floor(now - call->started_s);
    json_writer json;

    call->next_progress_s = now + 1.0;
    if (seconds <= call->progress)
        return;
    call->progress = seconds;
    reply_begin(&json, call->arena, NULL);
    json_member_string(&json, "method", "notifications/progress");
    json_member_object(&json, "params");
    json_write_key(&json, "progressToken");
    json_write_value(&json, call->request.token, strlen(call->request.token));
    json_member_number(&json, "progress", seconds);
    json_member_string(&json, "message",
                       plait_arena_printf(call->arena, "%s: %.0f s", call->tool, seconds));
    json_end_object(&json);
    reply_end(of, &json, NULL);
    plait_arena_rewind(call->arena, mark);
}

mcp_call *calls_find(const server *of, const char *id)
{
    mcp_call *call = of->first;

    while (call != NULL && strcmp(call->request.id, id) != 0)
        call = call->next;
    return call;
}
