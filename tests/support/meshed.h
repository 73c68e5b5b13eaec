/* meshed.h - questions of `plait operators`, for tests */
#pragma once

#include "plait/data.h"
#include "plait/operators.h"
#include "plait/runtime.h"

/** A question in words; 0 where the usual is meant. */
typedef struct meshed_case {
    const char *model, *cluster, *mesh;
    int seq, gbs, mbs;
    double memory_gib;
    const char *runtime;
} meshed_case;

typedef struct meshed {
    plait_model model;
    plait_cluster cluster;
    plait_runtime runtime;
    plait_problem problem;
    plait_operators_options options;
} meshed;

/** Fails the test unless there is such a question. *out points into itself and `arena`. */
void meshed_make(const meshed_case *of, plait_arena *arena, meshed *out);

/** Fails the test unless it has an answer. */
void meshed_solve(const meshed_case *of, plait_arena *arena, plait_operators_result *out);
