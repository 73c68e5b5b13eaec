/* launched.h - plans of shipped models, and their launch files, for tests */
#pragma once

#include "plait/data.h"
#include "plait/launch.h"
#include "plait/runtime.h"

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

typedef struct launched {
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem
        problem; /* filled with the first three by launched_question; job may be changed */
    plait_degrees degrees;
    plait_launch_folder folder;
} launched;

/** 64 sequences of 4096 in bf16 on `gpus` GPUs of dgx-h100; fails the test when it cannot. */
void launched_question(launched *out, const char *model, const char *runtime, int gpus,
                       plait_arena *arena);

/** Render "tp=2 zero=3"; the other keys are filled in as `eval` does. */
plait_status launched_render(launched *out, const char *keys, plait_launch_target target,
                             plait_arena *arena, plait_error *err);

/** The text of one file; fails the test when the folder has none of that name. */
const char *launched_text(const launched *from, const char *name);

/** Fails the test unless a file has `part` in it. */
void assert_says(const launched *from, const char *name, const char *part);
void assert_silent(const launched *from, const char *name, const char *part);
