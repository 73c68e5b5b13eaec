/* bench_search.c - seconds of whole searches, and the points of the space that they settle */
#include <stdio.h>

#include "support/bench.h"
#include "plait/data.h"
#include "plait/search.h"

typedef struct search_case {
    const char *name, *model, *cluster;
    plait_job job;
    int runs;
} search_case;

static int64_t search_once(void *context)
{
    const search_case *c = context;
    plait_arena *arena = plait_arena_new();
    plait_search_options options;
    plait_search_result result = {0};
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_error err;

    plait_search_options_init(&options);
    if (plait_model_find(c->model, arena, &model, NULL, &err) != PLAIT_OK ||
        plait_cluster_find(c->cluster, arena, &cluster, &err) != PLAIT_OK ||
        plait_runtime_find("megatron", arena, &runtime, &err) != PLAIT_OK ||
        plait_cluster_take(&cluster, c->job.gpus, &err) != PLAIT_OK) {
        fprintf(stderr, "bench: %s: %s\n", err.where, err.message);
        return 1;
    }
    const plait_problem problem = {
        .model = &model, .cluster = &cluster, .runtime = &runtime, .job = c->job};
    if (plait_search(&problem, &options, arena, &result, &err) != PLAIT_OK)
        fprintf(stderr, "bench: %s: %s\n", err.where, err.message);
    plait_arena_free(arena);
    return result.points > 0 ? result.points : 1;
}

int main(void)
{
    static search_case cases[] = {
        {"search llama-3.1-8b, 8 GPUs",
         "llama-3.1-8b",
         "dgx-h100",
         {.seq = 8192, .gbs = 64, .gpus = 8},
         11},
        {"search gpt3-175b, 4096 GPUs",
         "gpt3-175b",
         "dgx-a100",
         {.seq = 2048, .gbs = 1536, .gpus = 4096},
         5},
        {"search llama-3.1-405b, 131072 GPUs",
         "llama-3.1-405b",
         "dgx-h100",
         {.seq = 8192, .gbs = 16384, .gpus = 131072},
         5},
        {"search deepseek-v3, 2048 GPUs",
         "deepseek-v3",
         "h800",
         {.seq = 4096, .gbs = 15360, .gpus = 2048},
         1},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        bench_case(cases[i].name, search_once, &cases[i], cases[i].runs);
    return 0;
}
