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
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "base/grow.h"
#include "search/exhaustive/exhaustive.h"
#include "base/threads.h"
#include "costmodel/api.h"

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

bool open_add_pipeline(pipeline_list *list, open_pipeline pipeline)
{
    open_pipeline *const more =
        grow_by_one(list->arena, list->pipeline, list->count, &list->room, sizeof *more);

    if (!more)
        return false;
    list->pipeline = more;
    list->pipeline[list->count++] = pipeline;
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
    plait_arena_free(run->shared);
    run->shared = NULL;
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
            plait_table_remember(worker->table, run->bounds, worker->arena);
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
    const size_t choices = space_most_choices(run->space);
    worker->use = plait_arena_alloc(worker->walk, choices, 1);
    worker->shard_use = plait_arena_alloc(worker->walk, choices, 1);
    worker->bound = plait_arena_alloc(worker->walk, choices, sizeof *worker->bound);
    worker->activations = plait_arena_alloc(worker->walk, choices, sizeof *worker->activations);
    worker->pipeline = plait_arena_alloc(worker->walk, (size_t)run->space->divisors.count,
                                         sizeof *worker->pipeline);
    return space_cursor_init(&worker->cursor, run->space, worker->walk) && worker->use &&
                   worker->shard_use && worker->bound && worker->activations && worker->pipeline
               ? worker
               : NULL;
}

typedef struct workers_entry {
    const search_run *run;
    _Atomic bool failed;
} workers_entry;

static void enter(int worker, void *context)
{
    workers_entry *const entry = context;

    if (!worker_enter(entry->run, worker))
        entry->failed = true;
}

/*
 * Starts a team for at most `items` items and prepares its workers for a pass. Returns false, with
 * no team, if out of memory.
 */
static bool start_team(const search_run *run, int64_t items, thread_team *team)
{
    workers_entry entry = {.run = run};

    team_start(team, items < run->threads ? (int)items : run->threads);
    team_run(team, enter, &entry);
    if (entry.failed)
        team_stop(team);
    return !entry.failed;
}

static void found_begin(const search_run *run, search_found *found, const search_found *before,
                        plait_arena *arena)
{
    *found = (search_found){
        .before = before,
        .front = {.arena = arena, .within = search_front_within(run)},
        .open = {.floor_s = HUGE_VAL, .arena = arena},
        .pipelines = {.arena = arena},
    };
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
    for (int i = 0; i < part->pipelines.count; i++)
        if (!open_add_pipeline(&merged->pipelines, part->pipelines.pipeline[i]))
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
    const search_run *run;
    search_explore *explore;
    int wave; /* the current wave */
    int64_t count;
    _Atomic int64_t done;
    search_found *found; /* [count] */
    plait_arena **arena; /* [count] */
    search_found waves;  /* merged results of finished waves, in the arena of the run */
    bool failed;
} task_list;

static void run_task(int worker, int64_t b, void *context)
{
    task_list *const tasks = context;
    const search_run *const run = tasks->run;
    search_found *const found = &tasks->found[b];

    if (wave_of(b) != tasks->wave)
        return;
    tasks->arena[b] = plait_arena_new();
    found_begin(run, found, run->learns ? &tasks->waves : run->known, tasks->arena[b]);
    if (!found->failed)
        tasks->explore(run, &run->workers[worker], b, found);
    const int64_t done = atomic_fetch_add(&tasks->done, 1) + 1;
    if (run->options->progress && worker == 0)
        run->options->progress(run->options->progress_context,
                               ((double)done / (double)tasks->count + !run->coarse) / 2.0);
}

plait_status search_batches(const search_run *run, search_explore *explore, search_found *merged,
                            plait_error *err)
{
    const int64_t batches = (run->space->rows + run->batch_rows - 1) / run->batch_rows;
    task_list tasks = {
        .run = run,
        .explore = explore,
        .count = batches,
        .found = plait_arena_alloc(run->arena, (size_t)batches + 1, sizeof *tasks.found),
        .arena = plait_arena_alloc(run->arena, (size_t)batches + 1, sizeof *tasks.arena),
    };
    thread_team team;

    found_begin(run, merged, NULL, run->arena);
    found_begin(run, &tasks.waves, run->known, run->arena);
    if (!tasks.found || !tasks.arena || merged->failed || tasks.waves.failed ||
        !start_team(run, batches, &team))
        return plait_fail_nomem(err);

    for (tasks.wave = 0; tasks.wave < WAVES; tasks.wave++) {
        team_for(&team, batches, run_task, &tasks);
        for (int64_t b = 0; run->learns && tasks.wave < WAVES - 1 && b < batches; b++)
            if (wave_of(b) == tasks.wave && !merge_plans(&tasks.found[b], &tasks.waves))
                tasks.failed = true;
    }
    team_stop(&team);
    for (int64_t b = 0; b < batches; b++) {
        tasks.failed = !merge_found(run, &tasks.found[b], merged) || tasks.failed;
        plait_arena_free(tasks.arena[b]);
    }
    return tasks.failed ? plait_fail_nomem(err) : PLAIT_OK;
}

/* The items of a block, from `first` on. */
typedef struct item_block {
    const search_run *run;
    search_solve *solve;
    int64_t first;
    void *context;
} item_block;

static void solve_item(int worker, int64_t i, void *context)
{
    const item_block *const block = context;

    block->solve(block->run, &block->run->workers[worker], block->first + i, block->context);
}

plait_status search_blocks(const search_run *run, int64_t count, int64_t block, search_solve *solve,
                           search_settle *settle, void *context, int64_t *settled, plait_error *err)
{
    item_block items = {.run = run, .solve = solve, .context = context};
    thread_team team;
    bool more = true;

    *settled = 0;
    if (!start_team(run, block < count ? block : count, &team))
        return plait_fail_nomem(err);
    for (; items.first < count && more; items.first = *settled) {
        *settled = items.first + block < count ? items.first + block : count;
        team_for(&team, *settled - items.first, solve_item, &items);
        more = settle(run, items.first, *settled, context);
    }
    team_stop(&team);
    return PLAIT_OK;
}
