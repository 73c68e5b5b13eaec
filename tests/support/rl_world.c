/* rl_world.c - a step of reinforcement learning of shipped files */
#include "support/rl_world.h"

#include "support/must.h"

void rl_world_make(rl_world *w, const char *model, const char *runtime, int gpus,
                   double prompt_tokens, plait_length_shape answer, plait_arena *arena)
{
    plait_engine *engine;
    plait_error err;
    size_t count;

    world_make(&w->of, model, runtime, "dgx-h100",
               (plait_job){.gpus = gpus, .precision = PLAIT_BF16, .seq = 4096, .gbs = 512}, arena);
    must(plait_engine_list(arena, &engine, &count, &err), &err);
    must(plait_rl_lengths_of(prompt_tokens, answer, arena, &w->lengths, &err), &err);
    plait_rl_job_init(&w->job);
    plait_problem_init(&w->job.problem);
    w->job.problem.model = w->of.problem.model;
    w->job.problem.cluster = w->of.problem.cluster;
    w->job.problem.runtime = w->of.problem.runtime;
    w->job.problem.job = w->of.problem.job;
    w->job.engine = plait_engine_of(engine, count, PLAIT_ENGINE_VLLM, w->of.gpu.vendor, 0, 0);
    w->job.lengths = &w->lengths;
}
