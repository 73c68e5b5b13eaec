/*
 * schedule_kind.h - what one schedule says of itself: a descriptor a schedule, one file each
 *
 * Every schedule_<name>.c ends with its descriptor; schedule.c asks them and decides nothing
 * itself, so that a new schedule is a line in plait/degrees.h and a file here. Chunks are counted
 * from the embedding to the loss, over all ranks.
 */
#ifndef PLAIT_COSTMODEL_SCHEDULE_KIND_H
#define PLAIT_COSTMODEL_SCHEDULE_KIND_H

#include <assert.h>

#include "numbers.h"
#include "plait/schedule.h"

/** The actions of one rank on their way; `room` of them are enough. */
typedef struct action_list {
    plait_action *action;
    int count;
    int room;
} action_list;

typedef struct schedule_kind {
    bool chunked; /* several chunks a rank, else one */
    bool alone;   /* one rank works at a time: nothing runs beside a send */
    int copies;   /* of a rank's parameters */
    /** What the schedule needs that it does not have, as a sentence; NULL: it suits. */
    const char *(*needs)(int ranks, int microbatches);
    /** Which rank holds chunk c, and which chunk is a rank's v-th. */
    int (*rank_of)(int ranks, int chunk);
    int (*chunk_of)(int ranks, int rank, int v);
    /** Time from the first forward to the last backward; NULL: no price yet. */
    double (*pipeline_s)(const plait_pipeline_load *load);
    /** Microbatches that a stage holds at its peak, in units of the whole stage. */
    double (*in_flight)(int ranks, int stage, int chunks, int microbatches);
    /** Can it be spelled out? NULL: it cannot. */
    bool (*has_actions)(const plait_pipeline_shape *shape);
    /** Backwards that one rank does in two parts; NULL: none. */
    int64_t (*split_backwards)(const plait_pipeline_shape *shape, int rank);
    void (*fill)(const plait_pipeline_shape *shape, int rank, action_list *out);
} schedule_kind;

#define X(constant, word, descriptor) extern const schedule_kind descriptor;
PLAIT_SCHEDULE_LIST(X)
#undef X

// ---- parts that several share --------------------------------------------------------------

/** What the other stages add to a microbatch on its way through the slowest. */
static inline double schedule_others_s(const plait_pipeline_load *load)
{
    return load->sum_s - load->max_s;
}

/** All microbatches on the slowest stage: what no schedule undercuts. */
static inline double schedule_steady_s(const plait_pipeline_load *load)
{
    return load->microbatches * load->max_s;
}

/** Adds one action. */
static inline void action_append(action_list *list, plait_action_kind kind, int stage,
                                 int microbatch)
{
    assert(list->count < list->room);
    list->action[list->count++] =
        (plait_action){.kind = kind, .stage = stage, .microbatch = microbatch};
}

// schedule_turns.c
/** One chunk a rank, in order. */
int schedule_rank_in_turn(int ranks, int chunk);
int schedule_chunk_in_turn(int ranks, int rank, int v);
/** Two chunks a rank, down and up again: the first rank has both ends. */
int schedule_rank_in_v(int ranks, int chunk);
int schedule_chunk_in_v(int ranks, int rank, int v);
const char *schedule_needs_stages(int ranks, int microbatches);
bool schedule_is_plain(const plait_pipeline_shape *shape);
int64_t schedule_all_split(const plait_pipeline_shape *shape, int rank);

/**
 * Some forwards ahead, then forward and backward in turn.
 *
 * @param ahead  forwards before the first backward, beside the one that it is paired with
 * @param lag    pairs between an I and its W; -1: backward is not split
 */
void schedule_fill_in_turn(const plait_pipeline_shape *shape, int rank, int ahead, int lag,
                           action_list *out);

#endif
