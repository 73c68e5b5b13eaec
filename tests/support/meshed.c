/* meshed.c - questions of `plait operators`, for tests */
#include "support/meshed.h"

#include "support/assert_near.h"
#include "support/must.h"
#include "plait/units.h"

/* What wins a question hangs on these: fixed here, so that no fit of a profile moves it. */
static void pin_factors(plait_runtime *runtime)
{
    runtime->factor.gemm = 1.04;
    runtime->factor.memory = 0.809;
    runtime->factor.attention = 1.09;
    runtime->factor.nic = 1.02;
    runtime->overlap.tp_exposed = 0.694;
    runtime->overlap.dp_exposed = 0.186;
}

void meshed_make(const meshed_case *of, plait_arena *arena, meshed *out)
{
    plait_error err;

    plait_operators_options_init(&out->options);
    must(plait_mesh_parse(of->mesh, &out->options.mesh, &err), &err);
    must(plait_model_find(of->model, arena, &out->model, NULL, &err), &err);
    must(plait_cluster_find(of->cluster, arena, &out->cluster, &err), &err);
    must(plait_cluster_take(&out->cluster, plait_mesh_gpus(&out->options.mesh), &err), &err);
    must(plait_runtime_find(of->runtime != NULL ? of->runtime : "megatron", arena, &out->runtime,
                            &err),
         &err);
    pin_factors(&out->runtime);
    plait_problem_init(&out->problem);
    out->problem.model = &out->model;
    out->problem.cluster = &out->cluster;
    out->problem.runtime = &out->runtime;
    out->problem.job = (plait_job){.seq = of->seq, .gbs = of->gbs, .gpus = out->cluster.gpus};
    out->options.microbatches = of->mbs > 0 ? of->gbs / of->mbs : 1;
    out->options.memory_bytes = of->memory_gib * PLAIT_GIB;
}

void meshed_solve(const meshed_case *of, plait_arena *arena, plait_operators_result *out)
{
    meshed *question = plait_arena_alloc(arena, 1, sizeof *question);
    plait_error err;

    assert_non_null(question);
    meshed_make(of, arena, question);
    must(plait_operators_solve(&question->problem, &question->options, arena, out, &err), &err);
}
