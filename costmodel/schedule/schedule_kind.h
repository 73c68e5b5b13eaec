/*
 * schedule_kind.h - descriptor of a schedule
 *
 * schedule.c prices and lists every schedule by its descriptor: a new schedule is a line in
 * plait/degrees.h and a descriptor in a file schedule_<name>.c. Chunks are counted from the
 * embedding to the loss, over all ranks.
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

/** Upper bounds on the forwards of a rank's first and last chunk before its first backward. */
typedef struct warm_up {
    double first, last;
} warm_up;

typedef struct schedule_kind {
    int chunks;     /* chunks per rank, or PLAIT_SEVERAL_CHUNKS */
    int copies;     /* replicas of a rank's parameters */
    bool is_v;      /* two chunks per rank, down the ranks and up; else chunk c on rank c mod p */
    bool alone;     /* one rank works at a time, so nothing overlaps a send */
    bool one_rank;  /* one rank is enough */
    bool all_split; /* all backwards are split in two */
    bool needs_to_list; /* shapes with an unmet requirement have no list of actions */
    /** An unmet requirement of the schedule, as a sentence; NULL: several ranks, or one_rank. */
    const char *(*needs)(int ranks, int microbatches);
    /** Time from the first forward to the last backward; NULL: the lower bound C.75. */
    double (*pipeline_s)(const plait_pipeline_load *load);
    /** Is pipeline_s exact? NULL: always. */
    bool (*exact)(const plait_pipeline_load *load);
    /** Warm-up of a rank, for C.75. Dual pipes count as a V of p / copies ranks. */
    warm_up (*ahead)(const plait_pipeline_shape *shape, int rank);
    /** Microbatches that a rank holds at its peak, in units of all its chunks; may exceed m. */
    double (*in_flight)(const plait_pipeline_shape *shape, int rank);
    /** As plait_schedule_in_flight_chunks; NULL: in_flight of each chunk. */
    void (*in_flight_chunks)(const plait_pipeline_shape *shape, int rank, const double *weight,
                             double *held);
    /** As plait_schedule_pairs; NULL: none. */
    double (*pairs)(const plait_pipeline_shape *shape);
    /** Number of backwards of one rank that are split in two; NULL: none, or all_split. */
    int64_t (*split_backwards)(const plait_pipeline_shape *shape, int rank);
    /** Lists the actions of a rank; NULL: the schedule has no lists. */
    void (*fill)(const plait_pipeline_shape *shape, int rank, action_list *out);
} schedule_kind;

#define X(constant, word, descriptor) extern const schedule_kind descriptor;
PLAIT_SCHEDULE_LIST(X)
#undef X

/** Adds one action. */
static inline void action_append(action_list *list, plait_action_kind kind, int stage,
                                 int microbatch)
{
    assert(list->count < list->capacity);
    list->action[list->count++] =
        (plait_action){.kind = kind, .stage = stage, .microbatch = microbatch};
}
