/*
 * cuts.h - layers of one pipeline that are cut unlike each other
 *
 * A cut is a tp and a stage of ZeRO; a layer with more tp keeps less and waits for more. Given a point and
 * how many layers each of its stages has,
 *
 *     minimise    T_pipe(f_0, b_0, .. f_p-1, b_p-1) + sends + what follows                 (C.73, C.285)
 *     subject to  peak_s <= capacity                          for every stage s            (C.283, C.85)
 *     over        of each stage one or two runs of layers of one cut each, and what each layer recomputes
 *                                                                                          (S.90)
 *
 * Layers of a run are alike, so that a run is a cut, a number of layers, and how many of them choose what.
 * In order: per_layer_begin for a point, per_layer_dp for each dealing of its layers, per_layer_plan for one worth having.
 *
 * Left out: models with several kinds of layers, schedules other than 1F1B with one chunk a rank.
 */
#pragma once

#include "plait/runtime.h"
#include "plait/stage.h"

enum {
    PER_LAYER_SHARDINGS =
        128, /* so many tp, of divisors to 64 at most 27, with each stage of ZeRO */
    PER_LAYER_RUNS = 2,
    PER_LAYER_CHOICES = PLAIT_RECOMPUTE_KINDS + PLAIT_MAX_MODULE_SETS
};

/** A question, and what all of its points share. */
typedef struct per_layer_problem {
    const plait_problem *problem;
    int choices;
    const plait_recompute *choice; /* [choices] that layers may have */
    int cuts;
    plait_cut cut[PER_LAYER_SHARDINGS]; /* that they may have beside the point's own */
    double capacity_bytes;
    long nodes; /* limit of each branch and bound; 0: none */
} per_layer_problem;

/** A run of layers. */
typedef struct per_layer_run {
    int cut; /* of the point's */
    int layers;
    const int *count; /* [choices] layers with each choice */
} per_layer_run;

/** What one stage does. */
typedef struct per_layer_stage {
    int runs;
    per_layer_run run[PER_LAYER_RUNS];
} per_layer_stage;

typedef struct per_layer_point per_layer_point;

typedef struct per_layer_result {
    bool fits;     /* and takes less than the limit */
    bool proven;   /* no other takes less; false where a limit of nodes or of labels was met */
    double step_s; /* by grad_sync shifted on several stages at least */
    long labels;
    const per_layer_stage *stage; /* [pp], in the arena */
} per_layer_result;

/** Does the search know such points at all? */
bool per_layer_applies(const plait_problem *problem, const plait_degrees *degrees);

/** A legal point. *out lives in `arena`; NULL when out of memory. */
per_layer_point *per_layer_begin(const per_layer_problem *question, const plait_degrees *degrees,
                                 plait_arena *arena);

/** Cuts that its layers may have, the point's own first. */
int per_layer_shardings(const per_layer_point *point, const plait_cut **cut);

/**
 * The fastest runs of each stage. Fails (NOMEM) only.
 *
 * @param layers   [pp] of each stage
 * @param limit_s  a step that takes as long is of no use
 */
PLAIT_MUST_CHECK plait_status per_layer_dp(per_layer_point *point, const int *layers,
                                           double limit_s, plait_arena *arena,
                                           per_layer_result *out, plait_error *err);

/** The plan of a result that fits. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status per_layer_plan(const per_layer_point *point, const plait_chunk *chunk,
                                             const per_layer_result *result, plait_arena *arena,
                                             plait_plan *out, plait_error *err);
