/*
 * bench_pricing.c - plans priced a second on one core, through the search's inner loop
 *
 * `loop`: all points of one pipeline (shards x recompute choices), rows made once: what a search
 * spends on a plan that its bounds do not rule out. `whole`: a small space without pruning, with
 * all rows, bounds and bookkeeping. `full`: one plan from nothing with every term, as eval does.
 *
 * `bench_pricing REPEATS` prints how many plans that many rounds of the inner loop price, and measures
 * nothing: tests/instructions.sh counts what they take.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support/bench.h"
#include "plait/data.h"
#include "plait/search.h"
#include "costmodel/api.h"

typedef struct question {
    plait_arena *arena;
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    plait_table *table;
    int repeats; /* of the inner loop */
} question;

static bool ask(question *q, const char *model, const char *cluster, plait_job job)
{
    plait_error err;

    q->arena = plait_arena_new();
    if (!q->arena || plait_model_find(model, q->arena, &q->model, NULL, &err) != PLAIT_OK ||
        plait_cluster_find(cluster, q->arena, &q->cluster, &err) != PLAIT_OK ||
        plait_runtime_find("megatron", q->arena, &q->runtime, &err) != PLAIT_OK ||
        plait_cluster_take(&q->cluster, job.gpus, &err) != PLAIT_OK) {
        fprintf(stderr, "bench: %s: %s\n", err.where, err.message);
        return false;
    }
    q->problem = (plait_problem){
        .model = &q->model, .cluster = &q->cluster, .runtime = &q->runtime, .job = job};
    q->table = plait_table_new(&q->problem, q->arena);
    q->repeats = 500;
    return q->table != NULL;
}

/* tp 8, pp 8 x vpp 1..12, shards of 1/64 .. 1/1, recompute none, selective, full and full:1..11. */
static int64_t price_loop(void *context)
{
    question *q = context;
    plait_degrees d = plait_degrees_init();
    int64_t priced = 0;
    double sum_s = 0.0;

    d.tp = d.etp = 8;
    d.sp = true;
    d.pp = 8;
    d.dp = q->problem.job.gpus / 64;
    d.zero = 1;
    for (int vpp = 1; vpp <= 12; vpp++) {
        if (12 % vpp != 0)
            continue;
        d.vpp = vpp;
        d.schedule = vpp > 1 ? PLAIT_INTERLEAVED : PLAIT_1F1B;
        for (d.shard_group = 8; d.shard_group <= d.dp; d.shard_group *= 2) {
            for (int repeat = 0; repeat < q->repeats; repeat++) {
                for (int layers = 0; layers < 12; layers++, priced++) {
                    d.recompute = (plait_recompute){.kind = layers ? PLAIT_RECOMPUTE_FULL
                                                                   : PLAIT_RECOMPUTE_NONE,
                                                    .layers = (short)layers};
                    sum_s += plait_degrees_cost(q->table, &d).step_s;
                }
            }
        }
    }
    return sum_s > 0.0 ? priced : 1;
}

static int64_t price_whole(void *context)
{
    question *q = context;
    plait_arena *arena = plait_arena_new();
    plait_search_options options;
    plait_search_result result = {0};
    plait_error err;

    plait_search_options_init(&options);
    options.prune = false;
    options.threads = 1;
    if (plait_search(&q->problem, &options, arena, &result, &err) != PLAIT_OK)
        fprintf(stderr, "bench: %s: %s\n", err.where, err.message);
    plait_arena_free(arena);
    return result.priced;
}

static int64_t price_full(void *context)
{
    enum { TIMES = 200 };
    question *q = context;
    plait_degrees d = plait_degrees_init();
    plait_cost cost;
    plait_plan plan;

    d.tp = d.etp = 8;
    d.sp = true;
    d.pp = 8;
    d.dp = d.shard_group = q->problem.job.gpus / 64;
    d.zero = 1;
    for (int i = 0; i < TIMES; i++) {
        const plait_arena_mark mark = plait_arena_save(q->arena);
        if (plait_plan_expand(&q->problem, &d, q->arena, &plan, NULL) != PLAIT_OK ||
            plait_plan_evaluate(&q->problem, &plan, NULL, q->arena, &cost, NULL) != PLAIT_OK)
            return 1;
        plait_arena_rewind(q->arena, mark);
    }
    return TIMES;
}

int main(int argc, char **argv)
{
    const plait_job large = {.seq = 2048, .gbs = 1536, .gpus = 4096};
    const plait_job small = {.seq = 2048, .gbs = 256, .gpus = 64};
    question gpt3, llama;

    if (!ask(&gpt3, "gpt3-175b", "dgx-a100", large) ||
        !ask(&llama, "llama-3.1-8b", "dgx-h100", small))
        return 1;
    if (argc > 1) {
        gpt3.repeats = atoi(argv[1]);
        printf("%lld\n", (long long)price_loop(&gpt3));
        return 0;
    }
    bench_case("plans priced, inner loop, 1 core", price_loop, &gpt3, 11);
    bench_case("plans priced, whole space, 1 core", price_whole, &llama, 5);
    bench_case("plans priced, every term", price_full, &gpt3, 11);
    plait_arena_free(gpt3.arena);
    plait_arena_free(llama.arena);
    return 0;
}
