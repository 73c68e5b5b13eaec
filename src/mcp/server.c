/* server.c - waits for requests and for the output of calls */
#define _GNU_SOURCE // pipe2
#include "mcp/server.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "io/file.h"

/* Seconds for which the server runs calls after the end of its input. */
static const double grace_s = 5.0;

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

bool server_stopped(void)
{
    return stopped != 0;
}

double server_now_s(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

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
        const int ready = poll(fd, count, timeout_ms(of, server_now_s(), stop_s));
        if (ready < 0 && errno != EINTR)
            return;
        if (ready > 0 && fd[0].revents != 0)
            return; // a signal ends the server
        for (nfds_t i = 2; ready > 0 && i < count; i += 2)
            if (fd[i].revents != 0 || fd[i + 1].revents != 0)
                calls_read(of, of_fd[i]);
        if (ready > 0 && fd[1].revents != 0) {
            messages_read(of);
            if (of->ended)
                stop_s = server_now_s() + grace_s;
        }
        const double now = server_now_s();
        for (mcp_call *call = of->first; call != NULL; call = call->next)
            if (call->running && call->request.token != NULL && now >= call->next_progress_s)
                calls_progress(of, call, now);
        calls_start(of);
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
        calls_free(call);
    }
    scratch_remove(of->place.root);
    buffer_free(&of->in);
    free(of);
    return PLAIT_OK;
}
