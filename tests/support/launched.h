/* launched.h - a plan of a shipped model and its launch files, for tests */
#ifndef LAUNCHED_H
#define LAUNCHED_H

#include "plait/launch.h"
#include "plait/runtime.h"

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

#endif
