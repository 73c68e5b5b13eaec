/*
 * bench_simulate.c - actions of a pipeline simulated a second on one core, and how far C.74 is
 * below what they take where chunks differ
 */
#include <stdio.h>

#include "support/bench.h"
#include "plait/lowlevel/simulate.h"

typedef struct pipeline {
    plait_arena *arena;
    plait_pipeline_shape shape;
    plait_sim sim;
} pipeline;

static bool lay(pipeline *p, plait_schedule schedule, int ranks, int chunks, int microbatches)
{
    const int stages = ranks * chunks;

    p->arena = plait_arena_new();
    if (!p->arena)
        return false;
    plait_rank_actions *actions = plait_arena_alloc(p->arena, (size_t)ranks, sizeof *actions);
    plait_sim_stage *stage = plait_arena_alloc(p->arena, (size_t)stages, sizeof *stage);
    p->shape = (plait_pipeline_shape){schedule, ranks, chunks, microbatches};
    if (!actions || !stage ||
        plait_schedule_actions(&p->shape, p->arena, actions, NULL) != PLAIT_OK)
        return false;
    for (int s = 0; s < stages; s++)
        stage[s] = (plait_sim_stage){
            .forward_s = 1.0 + 0.1 * (s % 3), .input_s = 1.0, .weight_s = 1.0, .send_s = 0.05};
    p->sim = (plait_sim){.ranks = ranks,
                         .stages = stages,
                         .microbatches = microbatches,
                         .actions = actions,
                         .stage = stage};
    return true;
}

static int64_t simulate(void *context)
{
    const pipeline *p = context;
    const plait_arena_mark mark = plait_arena_save(p->arena);
    plait_sim_result result;

    if (plait_simulate(&p->sim, p->arena, &result, NULL) != PLAIT_OK)
        return 0;
    plait_arena_rewind(p->arena, mark);
    return result.events;
}

static int run(const char *name, plait_schedule schedule, int chunks)
{
    pipeline p;

    if (!lay(&p, schedule, 16, chunks, 512)) {
        fprintf(stderr, "bench: no %s\n", name);
        return 1;
    }
    bench_case(name, simulate, &p, 5);
    plait_arena_free(p.arena);
    return 0;
}

// ---- interleaving of chunks that differ ----------------------------------------------------

static uint64_t random_state = 3;

/* 0 .. below - 1 (splitmix64) */
static int random_below(int below)
{
    uint64_t z = random_state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int)((z ^ (z >> 31)) % (uint64_t)below);
}

/* Simulated over the bound of C.74, of one random pipeline whose chunks differ by `spread`; 0: failed. */
static double random_ratio(double spread)
{
    enum { MOST_RANKS = 12, CHUNKS = 4 };
    const int ranks = 2 + random_below(MOST_RANKS - 1);
    plait_sim_stage stage[MOST_RANKS * CHUNKS];
    plait_rank_run run[MOST_RANKS] = {{0}};
    plait_sim_result result;
    pipeline p;

    if (!lay(&p, PLAIT_INTERLEAVED, ranks, CHUNKS, ranks * (1 + random_below(8))))
        return 0.0;
    for (int s = 0; s < ranks * CHUNKS; s++) {
        const double each_s = 1.0 + spread * (random_below(1001) / 500.0 - 1.0);
        plait_rank_run *own = &run[s % ranks];
        stage[s] = (plait_sim_stage){.forward_s = each_s, .input_s = each_s, .weight_s = each_s};
        own->ranks = 1;
        own->last = (plait_chunk_time){each_s, 2.0 * each_s, each_s};
        if (s < ranks)
            own->first = own->last;
        own->all.forward_s += each_s;
        own->all.backward_s += 2.0 * each_s;
    }
    const plait_pipeline_load load = {ranks, CHUNKS, p.shape.microbatches, false, false,
                                      ranks, run};
    p.sim.stage = stage;
    const bool done = plait_simulate(&p.sim, p.arena, &result, NULL) == PLAIT_OK;
    const double ratio =
        done ? result.pipeline_s / plait_pipeline_s(PLAIT_INTERLEAVED, &load) : 0.0;
    plait_arena_free(p.arena);
    return ratio;
}

static void compare(double spread)
{
    enum { SHAPES = 4000 };
    double sum = 0.0, most = 1.0;

    for (int i = 0; i < SHAPES; i++) {
        const double ratio = random_ratio(spread);
        sum += ratio;
        most = ratio > most ? ratio : most;
    }
    printf("interleaved x 4, chunks within %.0f %%\tsimulated over C.74: mean %.4f, most %.4f\n",
           100.0 * spread, sum / SHAPES, most);
}

int main(void)
{
    compare(0.05);
    compare(0.2);
    return run("simulate 1f1b, 16 stages, 512 microbatches", PLAIT_1F1B, 1) +
           run("simulate interleaved x 8", PLAIT_INTERLEAVED, 8) +
           run("simulate zb-h1", PLAIT_ZB_H1, 1);
}
