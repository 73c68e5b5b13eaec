/*
 * per_layer.h - layers of one pipeline with a tp and a stage of ZeRO of their own
 *
 * A sharding is a tp and a stage of ZeRO; a layer with more tp keeps fewer bytes and waits longer
 * for its group. Given a point and the number of layers of each stage,
 *
 *     minimise    T_pipe(f_0, b_0, .. f_p-1, b_p-1) + sends + what follows                 (C.73, C.285)
 *     subject to  peak_s <= capacity                          for every stage s            (C.283, C.85)
 *     over        one or two runs of layers in each stage, each run with one sharding, and the recomputation of each
 *                 layer                                                                    (S.90)
 *
 * The layers of a run are equal, so a run is a sharding, a number of layers, and the number of them
 * with each choice. In order: per_layer_begin for a point, per_layer_dp for each split of its
 * layers, per_layer_plan for the best.
 *
 * Left out: models with several kinds of layers, schedules other than 1F1B with one chunk a rank.
 */
#pragma once

#include "plait/runtime.h"
#include "costmodel/api.h"

enum {
    PER_LAYER_SHARDINGS = 128, /* divisors of 64 tp, at most 27, with each stage of ZeRO */
    PER_LAYER_RUNS = 2,
    PER_LAYER_CHOICES = PLAIT_RECOMPUTE_KINDS + PLAIT_MAX_MODULE_SETS
};

/** Input that all points of a search share. */
typedef struct per_layer_problem {
    const plait_problem *problem;
    int choices;
    const plait_recompute *choice; /* [choices] that layers may have */
    int shardings;
    plait_cut sharding[PER_LAYER_SHARDINGS]; /* that layers may have beside the point's own */
    double capacity_bytes;
    long nodes; /* limit of each branch and bound; 0: none */
} per_layer_problem;

/** A run of layers. */
typedef struct per_layer_run {
    int sharding; /* index of the point's */
    int layers;
    const int *count; /* [choices] layers with each choice */
} per_layer_run;

/** The runs of one stage. */
typedef struct per_layer_stage {
    int runs;
    per_layer_run run[PER_LAYER_RUNS];
} per_layer_stage;

/** Ends of the model that a stage has. */
enum { PER_LAYER_EMBEDDING = 1, PER_LAYER_LOSS = 2, PER_LAYER_ENDS = 4 };

/**
 * A point, and prices that all of its stages share.
 *
 * sharding[0] is the point's own, degrees and pricer beside it those of a plan whose layers all
 * have it. `share` is computed when it is first used: state_bytes is negative until then. Its rows
 * are by sharding; the row of the point's own is replaced by one for each combination of ends,
 * after all others.
 */
typedef struct per_layer_point {
    const per_layer_problem *input;
    plait_degrees degrees;
    int layers;
    int microbatches;
    double sends_s; /* of a step */
    int shardings;
    plait_cut sharding[PER_LAYER_SHARDINGS + 1];
    plait_degrees own[PER_LAYER_SHARDINGS + 1];
    plait_stage_sort *sort[PER_LAYER_SHARDINGS + 1];
    plait_layer_cost *cost;  /* [shardings][choices] of a layer */
    plait_layer_cost *plain; /* [shardings] of a layer that recomputes nothing */
    plait_cut_share *share;  /* [shardings + PER_LAYER_ENDS][layers + 1] without recomputation */
    plait_arena *arena;
} per_layer_point;

typedef struct per_layer_result {
    bool fits;     /* a plan fits and is below the limit */
    bool proven;   /* no other is faster; false if a limit of nodes or labels was reached */
    double step_s; /* with grad_sync shifted on several stages a lower bound */
    long labels;
    const per_layer_stage *stage; /* [pp], in the arena */
} per_layer_result;

/** True if the search supports this point. */
bool per_layer_applies(const plait_problem *problem, const plait_degrees *degrees);

/** A legal point. *out lives in `arena`; NULL when out of memory. */
per_layer_point *per_layer_begin(const per_layer_problem *problem, const plait_degrees *degrees,
                                 plait_arena *arena);

/**
 * The fastest runs of each stage. Fails (NOMEM) only. (S.93)
 *
 * @param layers   [pp] of each stage
 * @param limit_s  a step that is not below it is of no use
 */
PLAIT_MUST_CHECK plait_status per_layer_dp(per_layer_point *point, const int *layers,
                                           double limit_s, plait_arena *arena,
                                           per_layer_result *out, plait_error *err);

/** The plan of a result that fits. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status per_layer_plan(const per_layer_point *point, const plait_chunk *chunk,
                                             const per_layer_result *result, plait_arena *arena,
                                             plait_plan *out, plait_error *err);

// ---- steps of per_layer_dp -----------------------------------------------------------------

/**
 * Times and bytes of layers that recompute nothing, with these ends if the sharding is the point's
 * own.
 */
const plait_cut_share *per_layer_share(const per_layer_point *point, int sharding, int ends,
                                       int layers);

/** The ends that stage s has. */
static inline int per_layer_ends(const per_layer_point *point, int s)
{
    return (s == 0 ? PER_LAYER_EMBEDDING : 0) | (s == point->degrees.pp - 1 ? PER_LAYER_LOSS : 0);
}

/** Lower bound of f + b of stage s; infinite: nothing fits. (S.91) */
double per_layer_lower_bound_s(const per_layer_point *point, int s, int layers);

/** A stage without its runs. */
typedef struct per_layer_slot {
    int stage;
    int layers;
    int tp_before;
    double below_s; /* options whose f + b is not below it are of no use */
} per_layer_slot;

/** A stage with its runs. */
typedef struct per_layer_option {
    plait_chunk_time time;
    plait_stage_tail tail;
    per_layer_stage stage;
    struct per_layer_option *next;
} per_layer_option;

/**
 * All options of a stage that fit and that no other dominates. (S.92)
 *
 * @param proven  cleared if a limit of nodes was reached
 * @param out     [shardings] lists in `arena`, by the first sharding with the tp of the last layer
 */
PLAIT_MUST_CHECK plait_status per_layer_fill(const per_layer_point *point,
                                             const per_layer_slot *slot, plait_arena *arena,
                                             bool *proven, per_layer_option **out,
                                             plait_error *err);
