/*
 * simulate.h - simulation of a pipeline: start, cause and memory of each action of each rank
 *
 * The closed forms of lowlevel/schedule.h are exact for equal stages; the simulation is exact for
 * any stages. Each rank executes its actions in order. An action starts when its rank is free and
 * its inputs have arrived:
 *
 *     F of stage s   F of stage s - 1, and its send
 *     B, I           own F; B or I of stage s + 1, and its send
 *     W              own I
 *
 * In order: plait_schedule_actions (schedule.h) for the actions, then plait_simulate for a whole
 * record or plait_sim_span for the duration only. plait_plan_simulate does this for a priced plan
 * and adds gradient reduction and the optimizer.
 *
 * Left out: contention of ranks on a link.
 */
#ifndef PLAIT_LOWLEVEL_SIMULATE_H
#define PLAIT_LOWLEVEL_SIMULATE_H

#include "plait/cost.h"
#include "plait/lowlevel/schedule.h"

PLAIT_BEGIN_DECLS

/**
 * One stage of a schedule, which is one chunk of layers, for one microbatch. A whole backward takes
 * input_s + weight_s.
 */
typedef struct plait_sim_stage {
    double forward_s;
    double input_s;      /* input-gradient part of the backward */
    double weight_s;     /* weight-gradient part of the backward */
    double send_s;       /* send of activations to the next stage, or of gradients back */
    double held_bytes;   /* activations kept from F until the end of the backward */
    double weight_bytes; /* part of held_bytes that W still needs after I */
    double reduce_s;     /* gradient reduction in the last microbatch's B or W (C.67) */
    double paired_s;     /* time that a pair saves, if `pairs` (C.183) */
} plait_sim_stage;

typedef struct plait_sim {
    int ranks;
    int stages; /* stages of all ranks, from the embedding to the loss */
    int microbatches;
    const plait_rank_actions *actions; /* [ranks] */
    const plait_sim_stage *stage;      /* [stages] */
    bool sends_block;                  /* a rank waits during its sends; else sends overlap */
    /**
     * Duration of two paired actions (plait_action.paired) over the sum of their durations; 0: the
     * software runs them one after the other, unless `pairs` is true.
     */
    double pair_share;
    bool pairs; /* whether a pair takes the sum of both durations minus the mean of both paired_s */
    bool two_ways; /* DualPipe: half of the microbatches enters at each end */
} plait_sim;

/** One simulated action. */
typedef struct plait_sim_event {
    plait_action action; /* the executed action; `paired`: it ran at the same time as its partner */
    int rank;
    int after; /* event whose end, including its send, allowed this one to start; -1: none */
    double begin_s;
    double end_s; /* end, with a blocking send */
} plait_sim_event;

typedef struct plait_sim_rank {
    int first; /* index of the rank's first event; the events of a rank are adjacent, in order */
    int count;
    double busy_s;
    double idle_s; /* idle time between its first and its last action */
    double peak_bytes;
} plait_sim_rank;

typedef struct plait_sim_result {
    double pipeline_s;          /* time from the first action to the end of the last */
    const plait_sim_rank *rank; /* [ranks] */
    int events;
    const plait_sim_event *event; /* [events], rank by rank */
    int path_length;
    const int *path; /* [path_length] the critical path, as indices of events */
} plait_sim_result;

/**
 * Simulate the actions of all ranks.
 *
 * The run time is proportional to the number of actions, the memory to stages times microbatches.
 *
 * @param out  its arrays live in `arena`
 * @return     RANGE if an action occurs twice, a stage or microbatch does not exist, a time is
 *             negative or NaN, or ranks are in a deadlock; NOMEM
 */
PLAIT_MUST_CHECK plait_status plait_simulate(const plait_sim *sim, plait_arena *arena,
                                             plait_sim_result *out, plait_error *err);

/** Durations of a simulated pipeline. */
typedef struct plait_sim_spans {
    double pipeline_s; /* time from the first action to the end of the last */
    double rank_s;     /* longest time from a rank's first action to its last */
} plait_sim_spans;

/** As plait_simulate, for the durations only: several times as fast. `arena` is rewound. */
PLAIT_MUST_CHECK plait_status plait_sim_span(const plait_sim *sim, plait_arena *arena,
                                             plait_sim_spans *out, plait_error *err);

/**
 * Maximum number of actions that a price simulates, approximately; longer steps are extrapolated.
 * (C.76)
 */
enum { PLAIT_SIM_ACTIONS = 1 << 17 };

/** Work of a rank during its pipeline and after it. */
typedef enum plait_tail_kind {
    PLAIT_TAIL_REDUCE,    /* reduction of the gradients of one chunk */
    PLAIT_TAIL_OPTIMIZER, /* optimizer step, after all ranks' gradients */
    PLAIT_TAIL_GATHER,    /* exposed part of the parameter gather */
    PLAIT_TAIL_KINDS
} plait_tail_kind;

typedef struct plait_tail_event {
    plait_tail_kind kind;
    int rank;
    int stage; /* stage of these gradients; -1: all stages of the rank */
    double begin_s;
    double end_s;
} plait_tail_event;

/** Expert communication of one chunk and microbatch, hidden or not. */
typedef struct plait_sim_exchange {
    double forward_dispatch_s, forward_combine_s;
    double backward_dispatch_s, backward_combine_s;
} plait_sim_exchange;

/**
 * A simulated step of one plan. `step_s` is pipeline_s + sync_s + optimizer_s: the end of the last
 * event, or, if ranks do not wait for each other before the optimizer, the longest time from a
 * rank's start to its end.
 */
typedef struct plait_timeline {
    plait_sim_result pipeline; /* pipeline of the first tensor rank of the first replica */
    plait_schedule schedule;
    int ranks;
    bool pairs;                         /* whether some actions ran in pairs */
    const plait_sim_exchange *exchange; /* [chunks of all ranks] */
    plait_grad_sync sync;               /* gradient reduction of the plan */
    int tails;
    const plait_tail_event *tail; /* [tails], in order within a rank */
    double pipeline_s;            /* end of the last backward without gradient reduction in it */
    double sync_s;                /* exposed gradient reduction and parameter gather */
    double optimizer_s;           /* longest optimizer step */
    double step_s;                /* the step */
    double end_s;                 /* end of the last event */
} plait_timeline;

/**
 * Simulate one step of a legal plan, each chunk with its own times.
 *
 * @param cost  the plan's price by plait_plan_cost
 * @param out   its arrays live in `arena`
 * @return      RANGE if the schedule has no list of actions (plait_schedule_has_actions); NOMEM
 */
PLAIT_MUST_CHECK plait_status plait_plan_simulate(const plait_problem *problem,
                                                  const plait_plan *plan, const plait_cost *cost,
                                                  plait_arena *arena, plait_timeline *out,
                                                  plait_error *err);

PLAIT_END_DECLS

#endif
