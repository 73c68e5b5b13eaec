/*
 * bench_serve.c - serving: a step's price, steps simulated a second, the whole search on 64 GPUs
 */
#include <stdio.h>

#include "support/bench.h"
#include "plait/data.h"
#include "plait/serve.h"

typedef struct served {
    plait_arena *arena;
    plait_model model;
    plait_cluster cluster;
    plait_step_table table;
    plait_deployment deployment;
    plait_serve_options question;
    plait_serve_answer *answer;
} served;

static bool prepare(served *s, const char *model)
{
    plait_engine *profiles;
    plait_error err;
    const char *warning;
    size_t count;

    s->arena = plait_arena_new();
    s->answer = plait_arena_alloc(s->arena, 1, sizeof *s->answer);
    if (s->answer == NULL || plait_model_find(model, s->arena, &s->model, &warning, &err) ||
        plait_cluster_find("h200-141gb-sxm:8x8", s->arena, &s->cluster, &err) ||
        plait_cluster_take(&s->cluster, 64, &err) ||
        plait_engine_list(s->arena, &profiles, &count, &err))
        return false;
    s->question = (plait_serve_options){
        .model = &s->model,
        .cluster = &s->cluster,
        .gpus = 64,
        .weights = plait_serve_native_weights(s->cluster.group[0].accelerator),
        .kv = 3,
        .load = {.kind = PLAIT_LOAD_RATE, .input = 2048.0, .output = 256.0, .rate = 20.0},
        .ttft_s = 1.0,
        .tpot_s = 0.05,
    };
    for (int k = 0; k < PLAIT_ENGINES; k++)
        s->question.engine[s->question.engines++] =
            plait_engine_of(profiles, count, (plait_engine_kind)k, "NVIDIA", 0, 0);
    const plait_serving serving = {.model = &s->model,
                                   .cluster = &s->cluster,
                                   .worker = {8, 1, 1, 1},
                                   .weights = PLAIT_WEIGHT_FP8,
                                   .kv = PLAIT_KV_FP8};
    if (plait_step_table_fill(&serving, &s->table) != NULL)
        return false;
    const plait_serve_memory memory = plait_serve_memory_of(&serving, 2304.0);
    s->deployment = (plait_deployment){
        .engine = s->question.engine[0],
        .replicas = 1,
        .pool = {plait_pool_of(&s->table, s->question.engine[0], &memory, 1, 0.0)}};
    return true;
}

static int64_t price_steps(void *context)
{
    const served *s = context;
    double sum = 0.0;
    enum { STEPS = 1000000 };

    for (int i = 0; i < STEPS; i++)
        sum += plait_step_s(&s->table, s->question.engine[0],
                            (plait_step){.sequences = 1.0 + i % 200,
                                         .context = 500.0 + i % 3000,
                                         .verified = 1.0,
                                         .prompt = i % 7 == 0 ? 2048.0 : 0.0},
                            NULL);
    return sum > 0.0 ? STEPS : 0;
}

static int64_t simulate(void *context)
{
    served *s = context;
    const plait_arena_mark mark = plait_arena_save(s->arena);
    const plait_load load = {.kind = PLAIT_LOAD_CLOSED,
                             .input = 2048.0,
                             .output = 256.0,
                             .spread = 0.2,
                             .concurrency = 32.0};
    plait_serve_sim_result out = {0};
    plait_error err;

    if (plait_serve_simulate(&s->deployment, load,
                             (plait_serve_sim_options){.seed = 1, .requests = 20000}, s->arena,
                             &out, &err) != PLAIT_OK)
        return 0;
    plait_arena_rewind(s->arena, mark);
    return (int64_t)out.steps;
}

static int64_t search(void *context)
{
    served *s = context;
    const plait_arena_mark mark = plait_arena_save(s->arena);
    plait_error err;

    if (plait_serve_search(&s->question, s->arena, s->answer, &err) != PLAIT_OK)
        return 0;
    plait_arena_rewind(s->arena, mark);
    return s->answer->looked;
}

int main(void)
{
    static const char *const models[] = {"llama-3.1-70b", "deepseek-v3", "gpt-oss-120b"};
    char name[80];

    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        served s = {0};
        if (!prepare(&s, models[i])) {
            fprintf(stderr, "bench_serve: cannot prepare %s\n", models[i]);
            return 1;
        }
        if (i == 0) {
            bench_case("steps priced", price_steps, &s, 5);
            bench_case("steps simulated", simulate, &s, 5);
        }
        snprintf(name, sizeof name, "deployments of %s on 64 GPUs", models[i]);
        bench_case(name, search, &s, 3);
        plait_arena_free(s.arena);
    }
    return 0;
}
