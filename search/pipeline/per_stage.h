/*
 * per_stage.h - chooses for each stage which recomputation and offload its layers use
 *
 * The first stages hold more microbatches in flight than the last ones, so a choice that the first
 * stage needs is wasteful for the last. Given a point and the layers of each stage, each stage gets
 * the choices that fit its memory and make a microbatch fastest:
 *
 *     minimise    step(f_0, b_0, .. f_p-1, b_p-1)                                   (C.73, C.242)
 *     subject to  peak_s <= capacity                  for every stage s             (C.241, C.85)
 *     over        the counts of layers of each kind with each choice, stage by stage     (S.23)
 *
 * f_s and b_s are the forward and backward time of a microbatch on stage s. A choice is the
 * recomputation of a layer and its set of offloaded activations, as far as the runtime supports
 * them per stage or per layer (`recompute_by`, `offload_by` of its profile). The step time grows
 * with each f and each b, so each stage is solved independently (S.21). Whether the optimizer state
 * is on the host is decided for all stages together, since a step waits for the slowest stage
 * (S.27). Callers use per_stage_begin once per thread, per_stage_solve for each
 * point, and per_stage_plan for the best result.
 *
 * DualPipe, whose ranks hold two stages, is not supported. Modules that predict further tokens have
 * the recomputation of the point.
 */
#pragma once

#include <math.h>

#include "plait/search.h"
#include "costmodel/api.h"

/** Input that all points of a search share. */
typedef struct per_stage_problem {
    const plait_problem *problem;
    plait_table *table;
    int choices;
    const plait_choice *choice; /* [choices] choices that the runtime supports */
    double capacity_bytes;      /* device memory at the accepted risk of the problem */
    bool may_keep;              /* true: some stages may keep the optimizer on the device (S.27) */
    long nodes;                 /* most nodes of each branch and bound; 0: no limit */
    double most_round_s;        /* only choices with a smaller f + b of a stage are of interest */
} per_stage_problem;

/** A point, and the costs that all of its stages share. */
typedef struct per_stage_point {
    const per_stage_problem *input;
    const plait_degrees *degrees;
    /* [kinds][choices] cost of a layer; infinite where the choice is not legal */
    const plait_layer_cost *cost;
    unsigned sets; /* bit n is set if a stage may offload set n of activations (offload_acts) */
    bool kept;     /* true: the optimizer is on the device, whatever the degrees contain */
} per_stage_point;

/** Equal layers of a stage: they have one kind and the same number of microbatches in flight. */
typedef struct per_stage_group {
    int kind;
    int chunk; /* index of their chunk on the rank; -1: all chunks */
    int layers;
    double in_flight; /* microbatches in flight */
} per_stage_group;

/**
 * One stage with the choices of its layers. `count` is NULL if no choice of interest fits. Then need_bytes is
 * the least peak of any choice, and time, peak_bytes and offload_acts are not valid.
 */
typedef struct per_stage_stage {
    plait_stage_base base;
    unsigned char base_set; /* set of offloaded activations of `base` */
    int groups;
    const per_stage_group *group;
    plait_chunk_time time; /* time of a microbatch, of the layers and of embedding and loss */
    double peak_bytes;
    unsigned char offload_acts;
    bool kept; /* true: the optimizer is on the device, although the point's is on the host */
    const int *count; /* [groups][choices] number of layers of the group with the choice */
    double need_bytes;
    long nodes;
    bool proven; /* true if no choice is faster, since no limit of nodes was reached */
} per_stage_stage;

/** Returns f + b of a microbatch; infinite if no choice of interest fits. */
static inline double per_stage_round_s(const per_stage_stage *stage)
{
    return stage->count ? stage->time.forward_s + stage->time.backward_s : HUGE_VAL;
}

typedef struct per_stage_result {
    bool refines; /* result of per_stage_may_choose; false: no other field is valid */
    bool fits;
    bool exact;    /* true: step_s equals that of plait_plan_cost; false: it is a lower bound */
    double step_s; /* step time; infinite if some stage does not fit */
    double peak_bytes;
    double bound_s; /* lower bound of the step with any choices on these stages */
    double gap;     /* (step_s - bound_s) / step_s; 0: proven optimal */
    long nodes;
    int stages;
    const per_stage_stage *stage; /* [stages], in the arena */
    /* least bytes by which the fullest stage exceeds memory, if it does not fit */
    double missing_bytes;
} per_stage_result;

/**
 * Initialises the input of a search.
 *
 * @param choice  [choices] choices that layers may have
 * @param table   table of the problem, not shared between threads
 */
void per_stage_begin(const plait_problem *problem, const plait_choice *choice, int choices,
                     plait_table *table, per_stage_problem *out);

/**
 * Returns whether stages may have different choices: the runtime supports this, and the schedule
 * has one stage per rank.
 */
bool per_stage_may_choose(const per_stage_problem *input, const plait_degrees *degrees);

static inline const plait_layer_cost *per_stage_cost(const per_stage_point *point, int kind,
                                                     int choice)
{
    return &point->cost[kind * point->input->choices + choice];
}

/** Sets up a legal point whose stages may choose. out->cost lives in `arena`. */
PLAIT_MUST_CHECK plait_status per_stage_at(const per_stage_problem *input,
                                           const plait_degrees *degrees, plait_arena *arena,
                                           per_stage_point *out, plait_error *err);

/** Returns a copy of the point with the optimizer on the device. */
per_stage_point per_stage_on_device(const per_stage_point *point);

/** Returns whether some stages may have the optimizer on the device and others on the host. */
bool per_stage_may_differ_in_offload(const per_stage_point *point);

/**
 * Finds the fastest choices of one stage that fit and are of interest. *out lives in `arena`.
 *
 * @param chunk  [vpp] chunks of rank `s`, in the order in which it processes them
 */
PLAIT_MUST_CHECK plait_status per_stage_choose(const per_stage_point *point, int s,
                                               const plait_chunk *chunk, plait_arena *arena,
                                               per_stage_stage *out, plait_error *err);

/**
 * Finds the fastest choices of every stage of a legal point.
 *
 * @param chunk  [pp * vpp] chunks in the order of the pipeline
 * @param arena  out->stage lives in it
 */
PLAIT_MUST_CHECK plait_status per_stage_solve(const per_stage_problem *input,
                                              const plait_degrees *degrees,
                                              const plait_chunk *chunk, plait_arena *arena,
                                              per_stage_result *out, plait_error *err);

/** Builds the plan of a result that fits. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status per_stage_plan(const per_stage_problem *input,
                                             const plait_degrees *degrees, const plait_chunk *chunk,
                                             const per_stage_result *result, plait_arena *arena,
                                             plait_plan *out, plait_error *err);

// ---- layers and choices together -----------------------------------------------------------

/**
 * Assigns layers to the stages of 1F1B, each of which then has its own choices: (S.26)
 *
 *     minimise    T_pipe(f_0, b_0, .. f_p-1, b_p-1) + tail                          (C.73, C.243)
 *     over        0 = l_0 <= l_1 <= .. <= l_p = layers; stage s has layers l_s to l_s+1 - 1 and
 *                 the choices of S.23
 *
 * The tail is the exposed work after the pipeline: reductions, gathers and optimizer. The result is
 * exact if `proven`. The embedding is in the first stage; the loss and the modules that predict
 * further tokens are in the last.
 */
typedef struct per_stage_layout {
    bool fits;
    bool proven;       /* whether no search of a stage's choices reached the limit of nodes */
    double time_s;     /* step time without sends; a lower bound with grad_sync shifted */
    const int *layers; /* [pp] in the arena; plait_chunks_deal converts them to chunks */
    long programs;     /* number of problems S.21 that were solved */
    long labels;       /* number of stored labels */
} per_stage_layout;

/** Returns whether per_stage_dp supports the degrees: 1F1B with one chunk per rank. */
bool per_stage_dp_applies(const plait_degrees *degrees);

/** Solves S.26. Fails only if out of memory. */
PLAIT_MUST_CHECK plait_status per_stage_dp(const per_stage_point *point, plait_arena *arena,
                                           per_stage_layout *out, plait_error *err);
