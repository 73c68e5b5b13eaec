/*
 * bench_heterogeneous.c - seconds and peak memory of searches over several kinds of nodes
 *
 * The software is Megatron-LM's profile with stages that may differ, as software built on it has.
 */
#include <stdio.h>
#include <sys/resource.h>

#include "support/bench.h"
#include "plait/data.h"
#include "plait/search.h"

typedef struct hetero_case {
    const char *name, *model, *cluster;
    int seq, gbs;
} hetero_case;

static int64_t search_once(void *context)
{
    const hetero_case *c = context;
    plait_arena *arena = plait_arena_new();
    plait_search_options options;
    plait_search_result result = {0};
    plait_problem problem;
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_error err;

    plait_search_options_init(&options);
    plait_problem_init(&problem);
    if (plait_model_find(c->model, arena, &model, NULL, &err) != PLAIT_OK ||
        plait_cluster_find(c->cluster, arena, &cluster, &err) != PLAIT_OK ||
        plait_runtime_find("megatron", arena, &runtime, &err) != PLAIT_OK) {
        fprintf(stderr, "bench: %s: %s\n", err.where, err.message);
        return 1;
    }
    runtime.can.stages_differ = true;
    runtime.can.recompute_by = PLAIT_BY_STAGE;
    problem.model = &model;
    problem.cluster = &cluster;
    problem.runtime = &runtime;
    problem.job = (plait_job){.seq = c->seq, .gbs = c->gbs, .gpus = cluster.gpus};
    if (plait_search(&problem, &options, arena, &result, &err) != PLAIT_OK)
        fprintf(stderr, "bench: %s: %s\n", err.where, err.message);
    plait_arena_free(arena);
    return result.points > 0 ? result.points : 1;
}

int main(void)
{
    static hetero_case cases[] = {
        {"mixed llama-3.1-70b, 128 H100 + 128 A100", "llama-3.1-70b",
         "h100-80gb-sxm:16x8+a100-80gb-sxm:16x8,nic=200", 4096, 1024},
        {"mixed llama-3.1-70b, 1024 GPUs of 4 sorts", "llama-3.1-70b",
         "h100-80gb-sxm:32x8+a100-80gb-sxm:32x8,nic=200+h200-141gb-sxm:32x8+a100-40gb-sxm:32x8",
         4096, 1024},
    };
    struct rusage used;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        bench_case(cases[i].name, search_once, &cases[i], 1);
    getrusage(RUSAGE_SELF, &used);
    printf("peak memory\t%.0f MiB\n", (double)used.ru_maxrss / 1024.0);
    return 0;
}
