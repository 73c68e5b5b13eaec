/* bench_simulate.c - actions of a pipeline simulated a second on one core */
#include <stdio.h>

#include "bench.h"
#include "plait/simulate.h"

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

int main(void)
{
    return run("simulate 1f1b, 16 stages, 512 microbatches", PLAIT_1F1B, 1) +
           run("simulate interleaved x 8", PLAIT_INTERLEAVED, 8) +
           run("simulate zb-h1", PLAIT_ZB_H1, 1);
}
