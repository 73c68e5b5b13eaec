/* bench_per_stage.c - seconds of the choices of all stages of a point, and of its layers and choices together */
#include <stdio.h>

#include "support/bench.h"
#include "plait/data.h"
#include "search/space/space.h"
#include "search/pipeline/per_stage.h"

typedef struct stages_case {
    const char *name, *model, *cluster;
    plait_job job;
    const char *keys[8];
    int turns;
    bool deals;
} stages_case;

typedef struct opened {
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    per_stage_problem input;
} opened;

static plait_status open_case(const stages_case *c, plait_arena *arena, opened *out,
                              plait_error *err)
{
    plait_search_options options;
    space_recompute list;

    plait_search_options_init(&options);
    PLAIT_TRY(plait_model_find(c->model, arena, &out->model, NULL, err));
    PLAIT_TRY(plait_cluster_find(c->cluster, arena, &out->cluster, err));
    PLAIT_TRY(plait_cluster_take(&out->cluster, c->job.gpus, err));
    PLAIT_TRY(plait_runtime_find("companion", arena, &out->runtime, err));
    out->problem = (plait_problem){
        .model = &out->model, .cluster = &out->cluster, .runtime = &out->runtime, .job = c->job};
    plait_table *const table = plait_table_new(&out->problem, arena);
    if (table == NULL)
        return plait_fail_nomem(err);
    PLAIT_TRY(space_list_recompute(&out->problem, &options, arena, &list, err));
    per_stage_begin(&out->problem, list.value, list.count, table, &out->input);
    return PLAIT_OK;
}

static plait_status degrees_of(const stages_case *c, plait_degrees *d, plait_error *err)
{
    *d = plait_degrees_init();
    for (int i = 0; c->keys[i] != NULL; i += 2)
        PLAIT_TRY(plait_degrees_set(d, c->keys[i], c->keys[i + 1], err));
    d->sp = d->tp > 1;
    d->etp = d->ep > 1 ? 1 : d->tp;
    d->zero = 1;
    d->dp = plait_degrees_dp(c->job.gpus, d->tp, d->pp, d->cp);
    d->shard_group = d->dp;
    return PLAIT_OK;
}

/* The choices for the layers of the point's split, or layers and choices together. */
static plait_status run_once(const stages_case *c, const opened *world, const plait_degrees *d,
                             plait_arena *arena, plait_error *err)
{
    static plait_chunk chunk[PLAIT_MAX_LAYERS];
    per_stage_result result;
    per_stage_point point;
    per_stage_layout dealt;

    if (c->deals) {
        PLAIT_TRY(per_stage_at(&world->input, d, arena, &point, err));
        return per_stage_dp(&point, arena, &dealt, err);
    }
    if (!plait_chunks_of(&world->model, d, chunk))
        return plait_fail(err, PLAIT_ERROR_RANGE, c->name, "expected a split, found none");
    return per_stage_solve(&world->input, d, chunk, arena, &result, err);
}

static plait_status run_case(const stages_case *c, plait_arena *arena, plait_error *err)
{
    plait_degrees d;
    opened world;

    PLAIT_TRY(open_case(c, arena, &world, err));
    PLAIT_TRY(degrees_of(c, &d, err));
    const plait_arena_mark mark = plait_arena_save(arena);
    for (int i = 0; i < c->turns; i++) {
        plait_arena_rewind(arena, mark);
        PLAIT_TRY(run_once(c, &world, &d, arena, err));
    }
    return PLAIT_OK;
}

static int64_t run(void *context)
{
    const stages_case *c = context;
    plait_arena *arena = plait_arena_new();
    plait_error err;

    if (run_case(c, arena, &err) != PLAIT_OK)
        fprintf(stderr, "bench: %s: %s\n", err.where, err.message);
    plait_arena_free(arena);
    return c->turns;
}

int main(void)
{
    static const stages_case cases[] = {
        {.name = "llama-3.1-70b, 64 GPUs, pp 4",
         .model = "llama-3.1-70b",
         .cluster = "dgx-h100",
         .job = {.seq = 8192, .gbs = 256, .gpus = 64},
         .keys = {"tp", "4", "pp", "4"}},
        {.name = "llama-3.1-405b, 16384 GPUs, pp 16",
         .model = "llama-3.1-405b",
         .cluster = "dgx-h100",
         .job = {.seq = 8192, .gbs = 2048, .gpus = 16384},
         .keys = {"tp", "8", "pp", "16", "split", "spread"}},
        {.name = "deepseek-v3, 2048 GPUs, pp 16",
         .model = "deepseek-v3",
         .cluster = "h800",
         .job = {.seq = 4096, .gbs = 15360, .gpus = 2048},
         .keys = {"ep", "64", "pp", "16", "split", "spread"}},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int deals = 0; deals < 2; deals++) {
            stages_case one = cases[i];
            char name[96];
            one.turns = deals ? 10 : 200;
            one.deals = deals;
            snprintf(name, sizeof name, "%s %s", deals ? "deal" : "stages", one.name);
            bench_case(name, run, &one, 3);
        }
    return 0;
}
