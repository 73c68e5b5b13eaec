/* threads.c - a team of POSIX threads that run rounds of work */
#define _GNU_SOURCE // sched_getaffinity, MAP_ANONYMOUS
#include "base/threads.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/*
 * Address space that must be left for each worker before another helper starts. Otherwise stacks
 * would take the memory that the work needs, under a limit such as `ulimit -v`. A search of 8 to
 * 2048 GPUs takes 4 to 65 MiB for each worker.
 */
enum { WORKER_BYTES = 16 << 20 };

/* True on a thread that is working for a team. */
static _Thread_local bool is_working;

static int at_most(int64_t count, int limit)
{
    return count < limit ? (int)count : limit;
}

static int processors(void)
{
#ifdef CPU_COUNT
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
#endif
    return at_most(sysconf(_SC_NPROCESSORS_ONLN), THREADS_MOST);
}

int threads_count(int requested)
{
    const char *const wanted = getenv("OMP_NUM_THREADS");
    const long variable = wanted != NULL ? strtol(wanted, NULL, 10) : 0;

    if (requested > 0)
        return at_most(requested, THREADS_MOST);
    if (variable > 0)
        return at_most(variable, THREADS_MOST);
    const int found = processors();
    return found > 0 ? at_most(found, THREADS_MOST) : 1;
}

static bool has_memory(int workers)
{
    const uint64_t bytes = (uint64_t)workers * WORKER_BYTES + THREADS_STACK;
    void *const probe =
        bytes <= SIZE_MAX ? mmap(NULL, (size_t)bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                          : MAP_FAILED;

    if (probe == MAP_FAILED)
        return false;
    munmap(probe, (size_t)bytes);
    return true;
}

static void *help(void *argument)
{
    thread_team *const team = argument;
    uint64_t round = 0;

    is_working = true;
    pthread_mutex_lock(&team->lock);
    const int worker = ++team->entered;
    for (;;) {
        while (team->round == round && !team->stopping)
            pthread_cond_wait(&team->begin, &team->lock);
        if (team->stopping)
            break;
        round = team->round;
        pthread_mutex_unlock(&team->lock);
        team->work(worker, team->context);
        pthread_mutex_lock(&team->lock);
        if (--team->busy == 0)
            pthread_cond_signal(&team->end);
    }
    pthread_mutex_unlock(&team->lock);
    return NULL;
}

void team_start(thread_team *team, int threads)
{
    const int most = is_working ? 1 : at_most(threads, THREADS_MOST);
    pthread_attr_t attributes;

    team->count = 1;
    if (most <= 1 || pthread_attr_init(&attributes) != 0)
        return;
    pthread_attr_setstacksize(&attributes, THREADS_STACK);
    pthread_mutex_init(&team->lock, NULL);
    pthread_cond_init(&team->begin, NULL);
    pthread_cond_init(&team->end, NULL);
    team->entered = team->busy = 0;
    team->round = 0;
    team->stopping = false;
    while (team->count < most && has_memory(team->count + 1) &&
           pthread_create(&team->helper[team->count - 1], &attributes, help, team) == 0)
        team->count++;
    pthread_attr_destroy(&attributes);
}

void team_run(thread_team *team, team_work *work, void *context)
{
    const bool was_working = is_working;

    if (team->count > 1) {
        pthread_mutex_lock(&team->lock);
        team->work = work;
        team->context = context;
        team->busy = team->count - 1;
        team->round++;
        pthread_cond_broadcast(&team->begin);
        pthread_mutex_unlock(&team->lock);
    }
    is_working = was_working || team->count > 1;
    work(0, context);
    is_working = was_working;
    if (team->count > 1) {
        pthread_mutex_lock(&team->lock);
        while (team->busy > 0)
            pthread_cond_wait(&team->end, &team->lock);
        pthread_mutex_unlock(&team->lock);
    }
}

typedef struct item_queue {
    int64_t count;
    _Atomic int64_t next;
    team_item *item;
    void *context;
} item_queue;

static void work_through(int worker, void *context)
{
    item_queue *const queue = context;

    for (int64_t i; (i = atomic_fetch_add(&queue->next, 1)) < queue->count;)
        queue->item(worker, i, queue->context);
}

void team_for(thread_team *team, int64_t count, team_item *item, void *context)
{
    item_queue queue = {.count = count, .item = item, .context = context};

    team_run(team, work_through, &queue);
}

void team_stop(thread_team *team)
{
    if (team->count <= 1)
        return;
    pthread_mutex_lock(&team->lock);
    team->stopping = true;
    pthread_cond_broadcast(&team->begin);
    pthread_mutex_unlock(&team->lock);
    for (int i = 0; i < team->count - 1; i++)
        pthread_join(team->helper[i], NULL);
    pthread_cond_destroy(&team->end);
    pthread_cond_destroy(&team->begin);
    pthread_mutex_destroy(&team->lock);
}

void threads_for(int requested, int64_t count, team_item *item, void *context)
{
    thread_team team;

    team_start(&team, at_most(count, threads_count(requested)));
    team_for(&team, count, item, context);
    team_stop(&team);
}
