/*
 * parallel.c - the space as tasks on several threads, with results merged in order
 *
 * Each task is a fixed range of rows. Tasks run in waves:
 *
 *     0   64   128 ...    every 64th task, from all over the space
 *     16   32   48 ...    every 16th of the others, then every 4th, then the rest
 *
 * A task uses the plans that were known before the pass and those of earlier waves, never those of
 * another task of its wave. Results are merged in the order of rows. The result is therefore
 * independent of the number and the timing of threads.
 */
#include <math.h>
#include <omp.h>
#include <string.h>
#include <time.h>

#include "search/exhaustive/exhaustive.h"
#include "costmodel/api.h"

int search_threads(int asked)
{
    return asked > 0 ? asked : omp_get_max_threads();
}

double search_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

bool open_add(point_list *list, const open_point *point)
{
    enum { FIRST_ROOM = 64 };

    if (list->count == list->room) {
        const int64_t room = list->room > 0 ? 2 * list->room : FIRST_ROOM;
        open_point *more = plait_arena_alloc(list->arena, (size_t)room, sizeof *more);
        if (!more)
            return false;
        if (list->count > 0)
            memcpy(more, list->point, (size_t)list->count * sizeof *more);
        list->point = more;
        list->room = room;
    }
    list->point[list->count++] = *point;
    return true;
}

void search_workers_end(search_run *run)
{
    for (int i = 0; run->workers && i < run->threads; i++) {
        plait_arena_free(run->workers[i].arena);
        plait_arena_free(run->workers[i].scratch);
        plait_arena_free(run->workers[i].walk);
    }
    run->workers = NULL;
}

/*
 * Returns the worker of thread i. The first call for i creates the worker. If that fails for lack of
 * memory, this call and all later ones return NULL.
 */
static search_worker *worker_of(const search_run *run, int i)
{
    search_worker *const worker = &run->workers[i];

    if (!worker->arena && !worker->scratch) {
        *worker = (search_worker){.arena = plait_arena_new(), .scratch = plait_arena_new()};
        worker->table = worker->arena ? plait_table_new(run->problem, worker->arena) : NULL;
        if (worker->table)
            plait_table_remember(worker->table, worker->arena);
    }
    return worker->table && worker->scratch ? worker : NULL;
}

search_worker *search_first_worker(const search_run *run)
{
    return worker_of(run, 0);
}

/* Prepares a worker for a pass, whose space may differ from that of the previous pass. */
static search_worker *worker_enter(const search_run *run, int i)
{
    search_worker *const worker = worker_of(run, i);

    if (!worker)
        return NULL;
    plait_arena_free(worker->walk);
    worker->walk = plait_arena_new();
    if (!worker->walk)
        return NULL;
    worker->use = plait_arena_alloc(worker->walk, space_most_choices(run->space), 1);
    worker->pipeline = plait_arena_alloc(worker->walk, (size_t)run->space->divisors.count,
                                         sizeof *worker->pipeline);
    return space_cursor_init(&worker->cursor, run->space, worker->walk) && worker->use &&
                   worker->pipeline
               ? worker
               : NULL;
}

static void found_begin(const search_run *run, search_found *found, const search_found *before,
                        plait_arena *arena)
{
    *found = (search_found){
        .before = before, .front = {.arena = arena}, .open = {.floor_s = HUGE_VAL, .arena = arena}};
    if (arena)
        found->variant =
            plait_arena_alloc(arena, (size_t)run->options->top, sizeof *found->variant);
    found->failed = !arena || !found->variant ||
                    !top_make(&found->top, run->options->top, run->options->distinct, arena) ||
                    !top_make(&found->tight_best, 1, 0, arena);
}

/* Copies the plans and the front of a task into the merged lists. */
static bool merge_plans(const search_found *part, search_found *merged)
{
    for (int i = 0; i < part->top.count; i++)
        top_add(&merged->top, &part->top.plan[i]);
    for (int i = 0; i < part->tight_best.count; i++)
        top_add(&merged->tight_best, &part->tight_best.plan[i]);
    for (int i = 0; i < part->front.count; i++)
        if (!front_add(&merged->front, &part->front.plan[i]))
            return false;
    return true;
}

static bool merge_found(const search_run *run, const search_found *part, search_found *merged)
{
    merged->points += part->points;
    merged->priced += part->priced;
    merged->fits += part->fits;
    merged->tight += part->tight;
    merged->simulated += part->simulated;
    for (int i = 0; part->variant && i < run->options->top; i++)
        merged->variant[i] =
            (variant_count){part->variant[i].plans + merged->variant[i].plans,
                            fmax(part->variant[i].worst, merged->variant[i].worst)};
    if (!merge_plans(part, merged))
        return false;
    merged->open.floor_s = fmin(merged->open.floor_s, part->open.floor_s);
    for (int64_t i = 0; i < part->open.count; i++)
        if (!open_add(&merged->open, &part->open.point[i]))
            return false;
    return !part->failed;
}

/*
 * A wave has every task whose index is a multiple of its stride and that is in no earlier wave. The
 * strides were chosen by measured search times.
 */
static const int64_t wave_stride[] = {64, 16, 4, 1};

enum { WAVES = sizeof wave_stride / sizeof *wave_stride };

static int wave_of(int64_t batch)
{
    int wave = 0;

    while (batch % wave_stride[wave] != 0)
        wave++;
    return wave;
}

/* All tasks of a pass, their results, and the merged results of finished waves. */
typedef struct task_list {
    int64_t count, done;
    search_found *found; /* [count] */
    plait_arena **arena; /* [count] */
    search_found waves;  /* merged results of finished waves, in the arena of the run */
    bool failed;
} task_list;

static void run_task(const search_run *run, search_worker *worker, search_explore *explore,
                     int64_t b, task_list *tasks)
{
    search_found *const found = &tasks->found[b];
    int64_t done;

    tasks->arena[b] = plait_arena_new();
    found_begin(run, found, run->learns ? &tasks->waves : run->known, tasks->arena[b]);
    if (worker && !found->failed)
        explore(run, worker, b, found);
    else
        found->failed = true;
#pragma omp atomic capture
    done = ++tasks->done;
    if (run->options->progress && omp_get_thread_num() == 0)
        run->options->progress(run->options->progress_context,
                               ((double)done / (double)tasks->count + !run->coarse) / 2.0);
}

plait_status search_batches(const search_run *run, search_explore *explore, search_found *merged,
                            plait_error *err)
{
    const int64_t batches = (run->space->rows + run->batch_rows - 1) / run->batch_rows;
    task_list tasks = {
        .count = batches,
        .found = plait_arena_alloc(run->arena, (size_t)batches + 1, sizeof *tasks.found),
        .arena = plait_arena_alloc(run->arena, (size_t)batches + 1, sizeof *tasks.arena),
    };

    found_begin(run, merged, NULL, run->arena);
    found_begin(run, &tasks.waves, run->known, run->arena);
    if (!tasks.found || !tasks.arena || merged->failed || tasks.waves.failed)
        return plait_fail_nomem(err);

#pragma omp parallel num_threads(run->threads)
    {
        search_worker *const worker = worker_enter(run, omp_get_thread_num());
        for (int wave = 0; wave < WAVES; wave++) {
#pragma omp for schedule(dynamic, 1)
            for (int64_t b = 0; b < batches; b++)
                if (wave_of(b) == wave)
                    run_task(run, worker, explore, b, &tasks);
#pragma omp single
            for (int64_t b = 0; run->learns && wave < WAVES - 1 && b < batches; b++)
                if (wave_of(b) == wave && !merge_plans(&tasks.found[b], &tasks.waves))
                    tasks.failed = true;
        }
    }
    for (int64_t b = 0; b < batches; b++) {
        tasks.failed = !merge_found(run, &tasks.found[b], merged) || tasks.failed;
        plait_arena_free(tasks.arena[b]);
    }
    return tasks.failed ? plait_fail_nomem(err) : PLAIT_OK;
}

plait_status search_blocks(const search_run *run, int64_t count, int64_t block, search_solve *solve,
                           search_settle *settle, void *context, int64_t *settled, plait_error *err)
{
    bool failed = false, more = true;

    *settled = 0;
#pragma omp parallel num_threads(run->threads)
    {
        search_worker *const worker = worker_enter(run, omp_get_thread_num());
        if (!worker) {
#pragma omp atomic write
            failed = true;
        }
#pragma omp barrier
        for (int64_t first = 0; first < count && more && !failed; first += block) {
            const int64_t end = first + block < count ? first + block : count;
#pragma omp for schedule(dynamic, 1)
            for (int64_t i = first; i < end; i++)
                solve(run, worker, i, context);
#pragma omp single
            {
                more = settle(run, first, end, context);
                *settled = end;
            }
        }
    }
    return failed ? plait_fail_nomem(err) : PLAIT_OK;
}
