/* launched.h - plans made into launch files, for tests */
#ifndef LAUNCHED_H
#define LAUNCHED_H

#include "plait/data.h"
#include "plait/launch.h"

/** A question and a plan, in words. */
typedef struct launched_case {
    const char *model;
    const char *cluster;
    const char *runtime;
    int gpus;
    int seq;
    int gbs;
    const char *keys; /* "tp=2 pp=4": the rest is filled in as `plait eval` does */
} launched_case;

typedef struct launched_plan {
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    plait_plan plan;
    plait_cost cost;
    plait_launch launch; /* of the three above */
} launched_plan;

/** Fails the test unless the plan can be made and fits. *out points into itself and `arena`. */
void launched_make(const launched_case *of, plait_arena *arena, launched_plan *out);

/** The text of one file of a folder; NULL when there is none. */
const char *launched_file(const plait_launch_folder *folder, const char *name);

#endif
