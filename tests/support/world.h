/* world.h - a question of shipped files, with all that it points to beside it */
#pragma once

#include "plait/search.h"

/** The problem points into the rest: a world stays where it was made. */
typedef struct world {
    plait_model model;
    plait_runtime runtime;
    plait_accelerator gpu; /* the cluster's, for tests that change it */
    plait_cluster cluster;
    plait_problem problem;
    plait_search_options options; /* of a test that searches */
} world;

/**
 * Find each by its name, and take the job's GPUs; a test that cannot fails.
 *
 * @param model  NULL: it is there already
 */
void world_make(world *w, const char *model, const char *runtime, const char *cluster,
                plait_job job, plait_arena *arena);

/** The best plan alone, on one thread, within limits. */
void world_limit(world *w, const char *limits);
