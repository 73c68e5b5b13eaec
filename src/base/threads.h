/*
 * threads.h - work on several threads, which needs no thread but the calling one
 *
 * A helper thread that the system refuses to create is left out: the work is then done by fewer
 * workers, down to the calling thread alone. The caller must get the same result from any number.
 */
#pragma once

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

/**
 * Most threads of one team, and the bytes of stack of each helper: twice what plait.h states that
 * the library needs.
 */
enum { THREADS_MOST = 1024, THREADS_STACK = 1 << 20 };

/** Called once by each worker, with its index. Worker 0 is the calling thread. */
typedef void team_work(int worker, void *context);

/** Called once for each item, by any worker. */
typedef void team_item(int worker, int64_t item, void *context);

/** Threads that wait for work between team_start and team_stop. */
typedef struct thread_team {
    int count; /* number of workers, at least 1 */
    pthread_t helper[THREADS_MOST - 1];
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t begin, end;
    int entered;    /* number of helpers that have taken their index */
    int busy;       /* number of helpers that have not finished the current round */
    uint64_t round; /* number of calls of team_run */
    bool stopping;
    team_work *work;
    void *context;
} thread_team;

/**
 * Returns the number of threads to use: `requested`, or if that is 0, OMP_NUM_THREADS, or without it the
 * number of processors that the process may use.
 */
int threads_count(int requested);

/**
 * Starts a team of at most `threads` workers. It has fewer if threads or memory are short, and one
 * if the caller itself is working for a team.
 */
void team_start(thread_team *team, int threads);

/** Calls `work` on each worker, and returns when all calls have returned. */
void team_run(thread_team *team, team_work *work, void *context);

/** Calls `item` for 0 to count - 1. A worker takes the next item when it has finished one. */
void team_for(thread_team *team, int64_t count, team_item *item, void *context);

/** Ends the helpers. */
void team_stop(thread_team *team);

/** Starts a team of threads_count(requested) workers, but at most one for each item, for one team_for. */
void threads_for(int requested, int64_t count, team_item *item, void *context);
