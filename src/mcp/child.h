/* child.h - a command of this program in a separate process */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "plait/arena.h"
#include "plait/error.h"

typedef struct child {
    pid_t pid;
    int out, err; /* ends of pipes from standard output and standard error; -1: closed */
} child;

/** Start this program with arguments, which NULL ends. Its standard input is empty. */
PLAIT_MUST_CHECK plait_status child_start(const char *const *argv, plait_arena *arena, child *out,
                                          plait_error *err);

/** Kill the process and everything that it started, and close the pipes. */
void child_kill(child *of);

/** Wait for the end of a process whose pipes are closed; returns its status as waitpid() does. */
int child_wait(child *of);
