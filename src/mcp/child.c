/* child.c - runs a command of this program in a separate process */
#define _GNU_SOURCE // pipe2
#include "mcp/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <sys/wait.h>

#include "io/file.h"

static void close_pipe(int ends[2])
{
    close(ends[0]);
    close(ends[1]);
}

/* Becomes the command; never returns. */
static void run_command(char **argv, int out, int err)
{
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);

    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL); // no command outlives a server that is killed
#endif
    signal(SIGPIPE, SIG_DFL);
    if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
        dup2(err, STDERR_FILENO) >= 0)
        execv("/proc/self/exe", argv);
    dprintf(STDERR_FILENO, "plait: /proc/self/exe: cannot start the command: %s\n",
            strerror(errno));
    _exit(3);
}

plait_status child_start(const char *const *argv, plait_arena *arena, child *out, plait_error *err)
{
    int count = 0, answer[2], complaints[2];

    while (argv[count] != NULL)
        count++;
    char **const copy = plait_arena_alloc(arena, (size_t)count + 2, sizeof *copy);
    PLAIT_TRY(plait_check_allocated(copy, err));
    copy[0] = plait_arena_text(arena, "plait");
    PLAIT_TRY(plait_check_allocated(copy[0], err));
    for (int i = 0; i < count; i++) {
        copy[i + 1] = plait_arena_text(arena, argv[i]);
        PLAIT_TRY(plait_check_allocated(copy[i + 1], err));
    }
    if (pipe2(answer, O_CLOEXEC) != 0)
        return file_fail_read("pipe", errno, err);
    if (pipe2(complaints, O_CLOEXEC) != 0) {
        const int error = errno;

        close_pipe(answer);
        return file_fail_read("pipe", error, err);
    }
    out->pid = fork();
    if (out->pid == 0)
        run_command(copy, answer[1], complaints[1]);
    if (out->pid < 0) {
        const int error = errno;

        close_pipe(answer);
        close_pipe(complaints);
        return plait_fail(err, PLAIT_ERROR_NOMEM, "fork", "cannot start a process: %s",
                          strerror(error));
    }
    setpgid(out->pid, out->pid); // here and in the child: whichever comes first
    close(answer[1]);
    close(complaints[1]);
    fcntl(answer[0], F_SETFL, O_NONBLOCK);
    fcntl(complaints[0], F_SETFL, O_NONBLOCK);
    out->out = answer[0];
    out->err = complaints[0];
    return PLAIT_OK;
}

void child_kill(child *of)
{
    kill(-of->pid, SIGKILL);
    if (of->out >= 0)
        close(of->out);
    if (of->err >= 0)
        close(of->err);
    of->out = of->err = -1;
    child_wait(of);
}

int child_wait(child *of)
{
    int status = 0;

    while (waitpid(of->pid, &status, 0) < 0 && errno == EINTR)
        ;
    return status;
}
