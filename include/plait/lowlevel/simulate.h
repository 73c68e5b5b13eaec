/*
 * simulate.h - a pipeline, action by action: when each begins, what it waited for, what ranks hold
 *
 * Closed forms (plait/schedule.h) know equal stages; this knows any. Ranks do their actions in their
 * order, and an action begins when its rank is free and what it needs has arrived:
 *
 *     F of stage s   F of stage s - 1, and its send
 *     B, I           own F; B or I of stage s + 1, and its send
 *     W              own I
 *
 * Left out: ranks that slow each other down on a link.
 */
#ifndef PLAIT_LOWLEVEL_SIMULATE_H
#define PLAIT_LOWLEVEL_SIMULATE_H

#include "plait/cost.h"
#include "plait/lowlevel/schedule.h"

PLAIT_BEGIN_DECLS

/** One stage of a schedule, a chunk of layers, at one microbatch. */
typedef struct plait_sim_stage {
    double forward_s;
    double input_s;      /* of the backward, the input gradient; a whole backward is this ... */
    double weight_s;     /* ... and the weight gradient */
    double send_s;       /* activations to the next stage, and their gradients back */
    double held_bytes;   /* activations from F until the backward is done */
    double weight_bytes; /* of them, what W still needs after I */
    double reduce_s;     /* gradients, reduced inside the last microbatch's B or W (C.67) */
    double paired_s;     /* that its half of a pair saves, where `pairs` (C.183) */
} plait_sim_stage;

typedef struct plait_sim {
    int ranks;
    int stages; /* over all ranks, from the embedding to the loss */
    int microbatches;
    const plait_rank_actions *actions; /* [ranks] */
    const plait_sim_stage *stage;      /* [stages] */
    bool sends_block; /* a rank that sends does nothing else meanwhile; else sends run beside */
    /**
     * What two actions that are paired (plait_action.paired) take together, as a share of their sum,
     * where software runs them at once. 0: it does not.
     */
    double pair_share;
    bool pairs;    /* they take their sum, less what both stages' `paired_s` say */
    bool two_ways; /* DualPipe: one half of the microbatches enters at each end, on its own copy */
} plait_sim;

/** An action as it came to pass. */
typedef struct plait_sim_event {
    plait_action action; /* `paired`: it ran at once with the one beside it */
    int rank;
    int after; /* the event whose end, with its send, let this one begin; -1: none */
    double begin_s;
    double end_s; /* a blocking send is part of it */
} plait_sim_event;

typedef struct plait_sim_rank {
    int first; /* its events: first .. first + count - 1, in its order */
    int count;
    double busy_s;
    double idle_s; /* between its first action and its last */
    double peak_bytes;
} plait_sim_rank;

typedef struct plait_sim_result {
    double pipeline_s;          /* from the first action to the end of the last */
    const plait_sim_rank *rank; /* [ranks] */
    int events;
    const plait_sim_event *event; /* [events], rank by rank */
    int path_length;
    const int *path; /* [path_length], the critical path: events that nothing could delay */
} plait_sim_result;

/**
 * Runs the actions of all ranks.
 *
 * Takes time in proportion to the actions and memory in proportion to stages times microbatches.
 *
 * @param out  what it points to lives in `arena`
 * @return     RANGE: an action twice, a stage or microbatch that is none, a time below 0 or NaN, or
 *             ranks that wait for each other; NOMEM
 */
PLAIT_MUST_CHECK plait_status plait_simulate(const plait_sim *sim, plait_arena *arena,
                                             plait_sim_result *out, plait_error *err);

/** How long all of it takes, and nothing else. */
typedef struct plait_sim_spans {
    double pipeline_s; /* from the first action to the end of the last */
    double rank_s;     /* the longest that one rank takes, from its first action to its last */
} plait_sim_spans;

/** The same without telling it action by action: several times as fast. `arena` is rewound. */
PLAIT_MUST_CHECK plait_status plait_sim_span(const plait_sim *sim, plait_arena *arena,
                                             plait_sim_spans *out, plait_error *err);

/** A price simulates about so many actions of a step; a longer one goes on as they do. (C.76) */
enum { PLAIT_SIM_ACTIONS = 1 << 17 };

/** What a rank does beside its pipeline and behind it. */
typedef enum plait_tail_kind {
    PLAIT_TAIL_REDUCE,    /* gradients of one chunk */
    PLAIT_TAIL_OPTIMIZER, /* behind all ranks' gradients */
    PLAIT_TAIL_GATHER,    /* parameters, as far as the next forward does not hide them */
    PLAIT_TAIL_KINDS
} plait_tail_kind;

typedef struct plait_tail_event {
    plait_tail_kind kind;
    int rank;
    int stage; /* whose gradients; -1: all of the rank */
    double begin_s;
    double end_s;
} plait_tail_event;

/** Expert communication of one chunk and microbatch, hidden or not. */
typedef struct plait_sim_exchange {
    double forward_dispatch_s, forward_combine_s;
    double backward_dispatch_s, backward_combine_s;
} plait_sim_exchange;

/** A step of one plan, simulated. */
typedef struct plait_timeline {
    plait_sim_result pipeline; /* of the first replica's first tensor rank of each stage */
    plait_schedule schedule;
    int ranks;
    bool pairs;                         /* some actions ran two at once */
    const plait_sim_exchange *exchange; /* [chunks of all ranks] */
    plait_grad_sync sync;               /* as the software does it */
    int tails;
    const plait_tail_event *tail; /* [tails], those of a rank in its order */
    double pipeline_s;  /* until the last backward, had no gradients to be reduced inside it ... */
    double sync_s;      /* ... gradients and parameters that nothing hides ... */
    double optimizer_s; /* ... and the longest optimizer step */
    double step_s; /* all three: the end of the last event, or, where ranks do not wait for each
                         * other before the optimizer, the longest from a rank's begin to its end */
    double end_s;  /* of the last event */
} plait_timeline;

/**
 * Simulate one step of a legal plan, each chunk with its own times.
 *
 * @param cost  the plan's price, as plait_plan_cost gives it
 * @param out   lives in `arena`
 * @return      RANGE when the schedule cannot be spelled out (plait_schedule_has_actions)
 */
PLAIT_MUST_CHECK plait_status plait_plan_simulate(const plait_problem *problem,
                                                  const plait_plan *plan, const plait_cost *cost,
                                                  plait_arena *arena, plait_timeline *out,
                                                  plait_error *err);

PLAIT_END_DECLS

#endif
