/*
 * schedule_kind.h - descriptor of a pipeline schedule
 *
 * schedule.c computes time, memory and actions of a schedule from its descriptor. A new schedule
 * needs a line in plait/degrees.h and a descriptor in a file schedule_<name>.c.
 *
 * Symbols in schedule*.c: p ranks, v chunks per rank, m microbatches; F is a forward, B a whole
 * backward, I and W are the input gradient and the weight gradient of a backward split in two.
 * Chunks are counted from the embedding to the loss, over all ranks.
 */
#pragma once

#include <assert.h>

#include "base/numbers.h"
#include "plait/lowlevel/schedule.h"

/** The actions of one rank, in order. */
typedef struct action_list {
    plait_action *action;
    int count;
    int capacity;
} action_list;

/** Upper bounds on the number of forwards of a rank's first and last chunk before its first B. */
typedef struct warm_up {
    double first, last;
} warm_up;

typedef struct schedule_kind {
    int chunks;         /* chunks per rank, or PLAIT_SEVERAL_CHUNKS */
    int copies;         /* ranks that store each stage: 2 under DualPipe, else 1 */
    bool is_v;          /* rank r has chunks r and 2p-1-r; otherwise chunk c is on rank c mod p */
    bool alone;         /* only one rank works at a time, so nothing overlaps a send */
    bool one_rank;      /* the pipeline may have one rank */
    bool all_split;     /* every backward is split into I and W */
    bool needs_to_list; /* a shape with an unmet requirement has no list of actions */
    /**
     * Returns an unmet requirement such as "pp > 1", or NULL if all are met. A descriptor without
     * this function requires several ranks, unless one_rank is set.
     */
    const char *(*needs)(int ranks, int microbatches);
    /** Time from the first F to the last backward; NULL: schedule.c uses the lower bound C.75. */
    double (*pipeline_s)(const plait_pipeline_load *load);
    /** Does pipeline_s equal the simulated time of this load? NULL: pipeline_s is always exact. */
    bool (*exact)(const plait_pipeline_load *load);
    /** Warm-up of a rank, for C.75. DualPipe passes the shape of a V of p / 2 ranks. */
    warm_up (*ahead)(const plait_pipeline_shape *shape, int rank);
    /**
     * Microbatches whose activations a rank keeps at its peak; a microbatch in one of v chunks
     * counts 1 / v. The result may exceed m.
     */
    double (*in_flight)(const plait_pipeline_shape *shape, int rank);
    /** Implements plait_schedule_in_flight_chunks; NULL: each chunk has in_flight microbatches. */
    void (*in_flight_chunks)(const plait_pipeline_shape *shape, int rank, const double *weight,
                             double *held);
    /** Implements plait_schedule_least_in_flight; NULL: in_flight with the fewest chunks. */
    double (*least_in_flight)(int ranks, int rank, int microbatches);
    /** Implements plait_schedule_pairs; NULL: the schedule has no pairs. */
    double (*pairs)(const plait_pipeline_shape *shape);
    /**
     * Number of backwards that a rank splits into I and W. NULL: the rank splits all of them if
     * all_split is set, else none.
     */
    int64_t (*split_backwards)(const plait_pipeline_shape *shape, int rank);
    /** Appends the actions of a rank to `out`; NULL: the schedule has no lists. */
    void (*fill)(const plait_pipeline_shape *shape, int rank, action_list *out);
} schedule_kind;

#define X(constant, word, descriptor) extern const schedule_kind descriptor;
PLAIT_SCHEDULE_LIST(X)
#undef X

/** Appends one action. */
static inline void action_append(action_list *list, plait_action_kind kind, int stage,
                                 int microbatch)
{
    assert(list->count < list->capacity);
    list->action[list->count++] =
        (plait_action){.kind = kind, .stage = stage, .microbatch = microbatch};
}
