/*
 * per_stage.h - what the layers of each stage recompute and offload
 *
 * First stages hold more microbatches than last ones, so the choice that is right for one is
 * wasteful for another. Given a point and its layers by stage, each stage takes the choices that
 * make its microbatch shortest in its memory:
 *
 *     minimise    step(f_0, b_0, .. f_p-1, b_p-1)                                   (C.73, C.242)
 *     subject to  peak_s <= capacity                  for every stage s             (C.241, C.85)
 *     over        the counts of layers of each kind with each choice, stage by stage     (S.23)
 *
 * as far as the runtime can (`recompute_by`, `offload_by` of its profile). A step grows with each f
 * and each b, so each stage is solved by itself (S.21). Whether the optimizer's state waits on the
 * host is solved for all stages together, since a step waits for the slowest (S.27). In order:
 * per_stage_begin once a thread, per_stage_solve for a point, per_stage_plan for the plan of the
 * best.
 *
 * Left out: DualPipe, whose ranks hold two stages; the recomputation of modules of further tokens,
 * which is the point's.
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
    const plait_choice *choice; /* [choices] that the runtime takes */
    double capacity_bytes;      /* at the problem's risk */
    bool may_keep; /* stages may keep on the device what others have on the host (S.27) */
    long nodes;    /* limit of each branch and bound; 0: none */
} per_stage_problem;

/** A point, and the costs that all of its stages share. */
typedef struct per_stage_point {
    const per_stage_problem *input;
    const plait_degrees *degrees;
    const plait_layer_cost *cost; /* [kinds][choices]; infinite where the point may not have it */
    unsigned sets;                /* bits 1 << offload_acts that a stage may have */
    bool kept;                    /* its optimizer is on the device, whatever its degrees say */
} per_stage_point;

/** Equal layers of a stage: of one kind, and in flight for the same time. */
typedef struct per_stage_group {
    int kind;
    int chunk; /* of the rank; -1: all of them */
    int layers;
    double in_flight;
} per_stage_group;

/**
 * One stage with its choices. `count` is NULL if no choice fits; then need_bytes is the least peak
 * of any choice, and time, peak_bytes, offload_acts are not valid.
 */
typedef struct per_stage_stage {
    plait_stage_frame frame;
    int groups;
    const per_stage_group *group;
    plait_chunk_time time; /* of a microbatch, ends and layers */
    double peak_bytes;
    unsigned char offload_acts;
    bool kept;        /* its optimizer is on the device though the point's is on the host */
    const int *count; /* [groups][choices] layers of the group with the choice */
    double need_bytes;
    long nodes;
    bool proven; /* no choice is faster: no limit of nodes was reached */
} per_stage_stage;

/** f + b of a microbatch; infinite while no choice fits. */
static inline double per_stage_round_s(const per_stage_stage *stage)
{
    return stage->count ? stage->time.forward_s + stage->time.backward_s : HUGE_VAL;
}

typedef struct per_stage_result {
    bool refines; /* stages may choose (per_stage_may_choose); else nothing below is valid */
    bool fits;
    bool exact;    /* step_s equals plait_plan_cost's; else it is a lower bound */
    double step_s; /* infinity where some stage does not fit */
    double peak_bytes;
    double bound_s; /* lower bound of every choice of these stages */
    double gap;     /* (step_s - bound_s) / step_s; 0 is a proof */
    long nodes;
    int stages;
    const per_stage_stage *stage; /* [stages], in the arena */
    double missing_bytes; /* if it does not fit: lack of the fullest stage, at its smallest */
} per_stage_result;

/**
 * @param choice  [choices] that layers may have
 * @param table   of the problem; one a thread
 */
void per_stage_begin(const plait_problem *problem, const plait_choice *choice, int choices,
                     plait_table *table, per_stage_problem *out);

/** True if the runtime lets stages choose and the schedule keeps each on one rank. */
bool per_stage_may_choose(const per_stage_problem *input, const plait_degrees *degrees);

static inline const plait_layer_cost *per_stage_cost(const per_stage_point *point, int kind,
                                                     int choice)
{
    return &point->cost[kind * point->input->choices + choice];
}

/** A legal point whose stages may choose. out->cost lives in `arena`. */
PLAIT_MUST_CHECK plait_status per_stage_at(const per_stage_problem *input,
                                           const plait_degrees *degrees, plait_arena *arena,
                                           per_stage_point *out, plait_error *err);

/** The same point with the optimizer on the device. */
per_stage_point per_stage_on_device(const per_stage_point *point);

/**
 * True if single stages may keep the optimizer on the device while those of others wait on the
 * host.
 */
bool per_stage_may_differ_in_offload(const per_stage_point *point);

/**
 * The fastest choices of one stage that fit. *out lives in `arena`.
 *
 * @param chunk  [vpp] of rank `s`, in the order in which it takes turns at them
 */
PLAIT_MUST_CHECK plait_status per_stage_choose(const per_stage_point *point, int s,
                                               const plait_chunk *chunk, plait_arena *arena,
                                               per_stage_stage *out, plait_error *err);

/**
 * The fastest choices of every stage of a legal point.
 *
 * @param chunk  [pp * vpp] in the order of the pipeline
 * @param arena  out->stage lives in it
 */
PLAIT_MUST_CHECK plait_status per_stage_solve(const per_stage_problem *input,
                                              const plait_degrees *degrees,
                                              const plait_chunk *chunk, plait_arena *arena,
                                              per_stage_result *out, plait_error *err);

/** The plan of a result that fits. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status per_stage_plan(const per_stage_problem *input,
                                             const plait_degrees *degrees, const plait_chunk *chunk,
                                             const per_stage_result *result, plait_arena *arena,
                                             plait_plan *out, plait_error *err);

// ---- layers and choices together -----------------------------------------------------------

/**
 * Layers to the stages of 1F1B, each of which then chooses for itself: (S.26)
 *
 *     minimise    T_pipe(f_0, b_0, .. f_p-1, b_p-1) + what follows it               (C.73, C.243)
 *     over        0 = l_0 <= l_1 <= .. <= l_p = layers, stage s with layers l_s to l_s+1 - 1 and the
 *                 choices that S.23 gives it
 *
 * Exact. The embedding is in the first stage, loss and modules of further tokens in the last.
 */
typedef struct per_stage_layout {
    bool fits;
    double time_s;     /* of the step without sends; by grad_sync shifted at least */
    const int *layers; /* [pp], in the arena; plait_chunks_deal makes chunks of them */
    long programs;     /* S.21 that were solved */
    long labels;       /* that were kept */
} per_stage_layout;

/** 1F1B with one chunk a rank. */
bool per_stage_dp_applies(const plait_degrees *degrees);

/** Solve it. Fails (NOMEM) only. */
PLAIT_MUST_CHECK plait_status per_stage_dp(const per_stage_point *point, plait_arena *arena,
                                           per_stage_layout *out, plait_error *err);
