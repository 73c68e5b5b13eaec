/* bench_layouts.c - seconds in which the layers of one point are dealt to chunks */
#include <math.h>
#include <stdio.h>

#include "support/bench.h"
#include "search/pipeline/layouts.h"
#include "plait/data.h"
#include "costmodel/api.h"

typedef struct layouts_case {
    const char *name, *model, *cluster;
    plait_job job;
    int tp, ep, pp, vpp;
    int turns;
} layouts_case;

typedef struct opened {
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    plait_degrees degrees;
    plait_table *table;
} opened;

static plait_degrees degrees_of(const layouts_case *c)
{
    plait_degrees d = plait_degrees_init();

    d.tp = c->tp;
    d.sp = c->tp > 1;
    d.ep = c->ep;
    d.etp = c->ep > 1 ? 1 : c->tp;
    d.pp = c->pp;
    d.vpp = c->vpp;
    d.schedule = c->vpp > 1 ? PLAIT_INTERLEAVED : PLAIT_1F1B;
    d.recompute.kind = PLAIT_RECOMPUTE_FULL;
    d.zero = 1;
    d.dp = plait_degrees_dp(c->job.gpus, d.tp, d.pp, d.cp);
    d.shard_group = d.dp;
    d.split.kind = PLAIT_SPLIT_LAYOUT;
    return d;
}

static plait_status open_case(const layouts_case *c, plait_arena *arena, opened *out,
                              plait_error *err)
{
    PLAIT_TRY(plait_model_find(c->model, arena, &out->model, NULL, err));
    PLAIT_TRY(plait_cluster_find(c->cluster, arena, &out->cluster, err));
    PLAIT_TRY(plait_cluster_take(&out->cluster, c->job.gpus, err));
    PLAIT_TRY(plait_runtime_find("megatron", arena, &out->runtime, err));
    out->problem = (plait_problem){
        .model = &out->model, .cluster = &out->cluster, .runtime = &out->runtime, .job = c->job};
    out->degrees = degrees_of(c);
    out->degrees.attention = (unsigned char)plait_attention_usual(&out->problem);
    out->table = plait_table_new(&out->problem, arena);
    return out->table ? PLAIT_OK : plait_fail_nomem(err);
}

/* As a refinement solves it, but for a best known that would end it early. */
static plait_status solve(const opened *world, plait_arena *scratch, plait_error *err)
{
    const double capacity_bytes = plait_capacity_bytes(&world->problem, world->problem.risk);
    const plait_rank_loads loads = plait_degrees_rank_loads(world->table, &world->degrees);
    layout_pricer pricer = {.problem = &world->problem,
                            .table = world->table,
                            .degrees = world->degrees,
                            .scratch = scratch,
                            .capacity_bytes = capacity_bytes,
                            .limit_s = HUGE_VAL};
    layout_result found;
    layout_items row;

    if (!layout_items_make(&world->problem, &world->degrees, &loads, capacity_bytes, scratch, &row))
        return plait_fail_nomem(err);
    layout_solve(&pricer, &row, &found);
    if (pricer.failed)
        return plait_fail_nomem(err);
    return found.any ? PLAIT_OK
                     : plait_fail(err, PLAIT_ERROR_RANGE, "layout", "expected one, found none");
}

static int64_t run(void *context)
{
    const layouts_case *c = context;
    plait_arena *arena = plait_arena_new();
    opened world;
    plait_error err;
    plait_status status = open_case(c, arena, &world, &err);
    const plait_arena_mark mark = plait_arena_save(arena);

    for (int i = 0; i < c->turns && status == PLAIT_OK; i++) {
        status = solve(&world, arena, &err);
        plait_arena_rewind(arena, mark);
    }
    if (status != PLAIT_OK)
        fprintf(stderr, "bench: %s: %s: %s\n", c->name, err.where, err.message);
    plait_arena_free(arena);
    return c->turns;
}

int main(void)
{
    static layouts_case cases[] = {
        {.name = "deal llama-3.1-405b, 126 layers on 16 x 4",
         .model = "llama-3.1-405b",
         .cluster = "dgx-h100",
         .job = {.seq = 8192, .gbs = 2048, .gpus = 16384},
         .tp = 8,
         .ep = 1,
         .pp = 16,
         .vpp = 4,
         .turns = 10},
        {.name = "deal deepseek-v3, 61 layers on 16 x 4",
         .model = "deepseek-v3",
         .cluster = "h800",
         .job = {.seq = 4096, .gbs = 15360, .gpus = 2048},
         .tp = 1,
         .ep = 64,
         .pp = 16,
         .vpp = 4,
         .turns = 10},
        {.name = "deal llama-3.1-70b, 80 layers on 16 x 1",
         .model = "llama-3.1-70b",
         .cluster = "dgx-h100",
         .job = {.seq = 8192, .gbs = 512, .gpus = 256},
         .tp = 4,
         .ep = 1,
         .pp = 16,
         .vpp = 1,
         .turns = 100},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        bench_case(cases[i].name, run, &cases[i], 5);
    return 0;
}
