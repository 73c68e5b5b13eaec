/*
 * per_layer.h - finds a tp and a ZeRO stage for each layer of a pipeline
 *
 * A sharding is a tp and a ZeRO stage. With a larger tp a layer keeps fewer bytes but waits longer
 * for the collectives of its group. Given a point and the number of layers of each stage,
 *
 *     minimise    T_pipe(f_0, b_0, .. f_p-1, b_p-1) + sends + tail                  (C.73, C.285)
 *     subject to  peak_s <= capacity                          for every stage s     (C.283, C.85)
 *     over        one or two runs of layers in each stage, each run with one
 *                 sharding, and the recomputation of each layer                     (S.90)
 *
 * f_s and b_s are the forward and backward time of a microbatch on stage s, and the tail is the
 * exposed work after the pipeline. The layers of a run are equal, so a run is a sharding, a number
 * of layers, and for each kind of recomputation (choice) the number of layers with it. Callers use
 * per_layer_begin for a point, then per_layer_dp for each split of its layers, then per_layer_plan
 * for the best result.
 *
 * Models with several kinds of layers, and schedules other than 1F1B with one chunk per rank, are
 * not supported.
 */
#pragma once

#include "plait/runtime.h"
#include "costmodel/api.h"

enum {
    /* the divisors of 64 tp, at most 27, each with every ZeRO stage */
    PER_LAYER_SHARDINGS = 128,
    PER_LAYER_RUNS = 2,
    PER_LAYER_CHOICES = PLAIT_RECOMPUTE_KINDS + PLAIT_MAX_MODULE_SETS
};

/** Input that all points of a search share. */
typedef struct per_layer_problem {
    const plait_problem *problem;
    int choices;
    const plait_recompute *choice; /* [choices] kinds of recomputation that layers may have */
    int shardings;
    /* shardings that layers may have besides that of the point */
    plait_cut sharding[PER_LAYER_SHARDINGS];
    double capacity_bytes;
    long nodes; /* most nodes of each branch and bound; 0: no limit */
} per_layer_problem;

/** Consecutive layers of a stage with one sharding. */
typedef struct per_layer_run {
    int sharding; /* index into per_layer_point.sharding; 0: sharding of the point */
    int layers;
    const int *count; /* [choices] number of layers with each choice */
} per_layer_run;

/** The runs of one stage. */
typedef struct per_layer_stage {
    int runs;
    per_layer_run run[PER_LAYER_RUNS];
} per_layer_stage;

/**
 * A point, and prices that all of its stages share.
 *
 * sharding[0] is that of the point's degrees. own[i] and pricer[i] are the degrees and the pricer
 * of a plan whose layers all have sharding i. `sum` has a row of costs by number of layers for each
 * sharding; sharding 0 instead uses the last four rows, one for each combination of ends (embedding
 * and loss) that a stage may have. An entry is computed when it is first used; until then its load
 * has a count of 0.
 */
typedef struct per_layer_point {
    const per_layer_problem *input;
    plait_degrees degrees;
    int layers;
    int microbatches;
    double sends_s; /* time of the sends of a step */
    double scale;   /* device bytes per byte of a tensor */
    int shardings;
    plait_cut sharding[PER_LAYER_SHARDINGS + 1];
    plait_degrees own[PER_LAYER_SHARDINGS + 1];
    plait_stage_pricer *pricer[PER_LAYER_SHARDINGS + 1];
    plait_layer_cost *cost;   /* [shardings][choices] cost of a layer */
    plait_layer_cost *plain;  /* [shardings] cost of a layer that recomputes nothing */
    plait_sharding_cost *sum; /* [shardings + 4][layers + 1] cached costs */
    plait_arena *arena;
} per_layer_point;

typedef struct per_layer_result {
    bool fits;     /* true if a plan fits and is below the limit */
    bool proven;   /* true if no plan is faster, since no limit of nodes or labels was reached */
    double step_s; /* exact, or a lower bound with grad_sync shifted on several stages */
    long labels;
    const per_layer_stage *stage; /* [pp], in the arena */
} per_layer_result;

/** Returns whether the search supports this point. */
bool per_layer_applies(const plait_problem *problem, const plait_degrees *degrees);

/** Sets up a legal point. The result lives in `arena`; NULL if out of memory. */
per_layer_point *per_layer_begin(const per_layer_problem *problem, const plait_degrees *degrees,
                                 plait_arena *arena);

/**
 * Finds the fastest runs of each stage. Fails only if out of memory. (S.93)
 *
 * @param layers   [pp] number of layers of each stage
 * @param limit_s  limit that the step of a result must be below
 */
PLAIT_MUST_CHECK plait_status per_layer_dp(per_layer_point *point, const int *layers,
                                           double limit_s, plait_arena *arena,
                                           per_layer_result *out, plait_error *err);

/** Builds the plan of a result that fits. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status per_layer_plan(const per_layer_point *point, const plait_chunk *chunk,
                                             const per_layer_result *result, plait_arena *arena,
                                             plait_plan *out, plait_error *err);
