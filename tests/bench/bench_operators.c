/* bench_operators.c - seconds of finding each operator's strategy, and the strategies there are */
#include <stdio.h>

#include "support/bench.h"
#include "plait/data.h"
#include "plait/operators.h"
#include "plait/runtime.h"
#include "plait/units.h"

typedef struct operators_case {
    const char *name, *model, *cluster, *mesh;
    int seq, gbs;
    double memory_bytes;
    int runs;
} operators_case;

static int64_t solve_once(void *context)
{
    const operators_case *c = context;
    plait_arena *arena = plait_arena_new();
    plait_operators_options options;
    plait_operators_result result = {0};
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    plait_error err;

    plait_operators_options_init(&options);
    options.memory_bytes = c->memory_bytes;
    plait_problem_init(&problem);
    if (plait_model_find(c->model, arena, &model, NULL, &err) != PLAIT_OK ||
        plait_cluster_find(c->cluster, arena, &cluster, &err) != PLAIT_OK ||
        plait_runtime_find("megatron", arena, &runtime, &err) != PLAIT_OK ||
        plait_mesh_parse(c->mesh, &options.mesh, &err) != PLAIT_OK ||
        plait_cluster_take(&cluster, plait_mesh_gpus(&options.mesh), &err) != PLAIT_OK) {
        fprintf(stderr, "bench: %s: %s\n", err.where, err.message);
        return 1;
    }
    problem.model = &model;
    problem.cluster = &cluster;
    problem.runtime = &runtime;
    problem.job = (plait_job){.seq = c->seq, .gbs = c->gbs, .gpus = plait_mesh_gpus(&options.mesh)};
    if (plait_operators_solve(&problem, &options, arena, &result, &err) != PLAIT_OK)
        fprintf(stderr, "bench: %s: %s\n", err.where, err.message);
    plait_arena_free(arena);
    return result.proven ? result.strategies : 1;
}

int main(void)
{
    static operators_case cases[] = {
        {"operators llama-3.1-8b, 8x8", "llama-3.1-8b", "dgx-h100", "8x8", 8192, 64, 0.0, 11},
        {"operators llama-3.1-70b, 8x8, tight", "llama-3.1-70b", "dgx-h100", "8x8", 8192, 16,
         62 * PLAIT_GIB, 11},
        {"operators qwen3-30b-a3b, 8x8", "qwen3-30b-a3b", "dgx-h100", "8x8", 4096, 64, 0.0, 11},
        {"operators llama-3.1-70b, 2x4x8", "llama-3.1-70b", "dgx-h100", "2x4x8", 8192, 16, 0.0, 5},
        {"operators llama-3.1-70b, 2x4x8, tight", "llama-3.1-70b", "dgx-h100", "2x4x8", 8192, 16,
         62 * PLAIT_GIB, 5},
        {"operators deepseek-v3, 8x8x8", "deepseek-v3", "dgx-h100", "8x8x8", 4096, 512,
         200 * PLAIT_GIB, 3},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        bench_case(cases[i].name, solve_once, &cases[i], cases[i].runs);
    return 0;
}
