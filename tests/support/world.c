/* world.c - a question of shipped files */
#include "support/world.h"

#include "support/must.h"
#include "plait/data.h"

void world_make(world *w, const char *model, const char *runtime, const char *cluster,
                plait_job job, plait_arena *arena)
{
    plait_error err;

    if (model != NULL)
        must(plait_model_find(model, arena, &w->model, NULL, &err), &err);
    must(plait_runtime_find(runtime, arena, &w->runtime, &err), &err);
    must(plait_cluster_find(cluster, arena, &w->cluster, &err), &err);
    must(plait_cluster_take(&w->cluster, job.gpus, &err), &err);
    w->gpu = *w->cluster.group[0].accelerator;
    w->cluster.group[0].accelerator = &w->gpu;
    w->problem = (plait_problem){
        .model = &w->model, .cluster = &w->cluster, .runtime = &w->runtime, .job = job};
}

void world_limit(world *w, const char *limits)
{
    plait_error err;

    plait_search_options_init(&w->options);
    w->options.top = 1;
    w->options.threads = 1;
    must(plait_search_limit(&w->options, limits, &err), &err);
}
