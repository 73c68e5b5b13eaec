/*
 * schedule_kind.h - the descriptor of a schedule, one file each
 *
 * Every schedule_<name>.c ends with its descriptor, and schedule.c only calls them: a new schedule is a
 * line in plait/degrees.h and a file here. Chunks are counted from the embedding to the loss, over all
 * ranks.
 */
#pragma once

#include <assert.h>

#include "base/numbers.h"
#include "plait/lowlevel/schedule.h"

/** The actions of one rank as they are listed; `room` is the capacity. */
typedef struct action_list {
    plait_action *action;
    int count;
    int room;
} action_list;

typedef struct schedule_kind {
    int chunks; /* chunks a rank, or PLAIT_SEVERAL_CHUNKS */
    bool alone; /* one rank works at a time: nothing runs beside a send */
    int copies; /* replicas of a rank's parameters */
    /** An unmet requirement of the schedule, as a sentence; NULL: none. */
    const char *(*needs)(int ranks, int microbatches);
    /** The rank of chunk c, and the v-th chunk of a rank. */
    int (*rank_of)(int ranks, int chunk);
    int (*chunk_of)(int ranks, int rank, int v);
    /** Time from the first forward to the last backward, exact or a lower bound. */
    double (*pipeline_s)(const plait_pipeline_load *load);
    bool (*exact)(const plait_pipeline_load *load);
    /** Microbatches that a rank holds at its peak, in units of all its chunks. */
    double (*in_flight)(int ranks, int rank, int chunks, int microbatches);
    /** As plait_schedule_in_flight_chunks; NULL: in_flight of each chunk. */
    void (*held)(int ranks, int rank, int chunks, int microbatches, const double *weight,
                 double *held);
    /** As plait_schedule_pairs; NULL: none. */
    double (*pairs)(int ranks, int chunks, int microbatches);
    /** Does the shape have a list of actions? NULL: never. */
    bool (*has_actions)(const plait_pipeline_shape *shape);
    /** Number of backwards of one rank that are split in two; NULL: none. */
    int64_t (*split_backwards)(const plait_pipeline_shape *shape, int rank);
    void (*fill)(const plait_pipeline_shape *shape, int rank, action_list *out);
} schedule_kind;

#define X(constant, word, descriptor) extern const schedule_kind descriptor;
PLAIT_SCHEDULE_LIST(X)
#undef X

// ---- parts that several share --------------------------------------------------------------

/** Adds one action. */
static inline void action_append(action_list *list, plait_action_kind kind, int stage,
                                 int microbatch)
{
    assert(list->count < list->room);
    list->action[list->count++] =
        (plait_action){.kind = kind, .stage = stage, .microbatch = microbatch};
}

// schedule_chunks.c
/** One chunk a rank, in order. */
int schedule_rank_in_turn(int ranks, int chunk);
int schedule_chunk_in_turn(int ranks, int rank, int v);
/** Two chunks a rank, down and up again: the first rank has both ends. */
int schedule_rank_in_v(int ranks, int chunk);
int schedule_chunk_in_v(int ranks, int rank, int v);
const char *schedule_needs_stages(int ranks, int microbatches);
bool schedule_is_plain(const plait_pipeline_shape *shape);
int64_t schedule_all_split(const plait_pipeline_shape *shape, int rank);
/** Two chunks a rank, each backward in two parts. */
bool schedule_has_two_chunks(const plait_pipeline_shape *shape);

// schedule_bound.c
bool schedule_always_exact(const plait_pipeline_load *load);
bool schedule_never_exact(const plait_pipeline_load *load);

/** Forwards of a rank's first and of its last chunk that come before its first backward, at most. */
typedef struct warm_up {
    double first, last;
} warm_up;

/** A pipeline whose backwards may be split, and how its ranks warm up. */
typedef struct split_shape {
    int ranks;
    int microbatches; /* through each chunk */
    bool is_v;        /* first and last chunk of each rank, else one */
    warm_up (*ahead)(int ranks, int rank);
} split_shape;

double schedule_split_bound_s(const split_shape *shape, const plait_pipeline_load *load);

// schedule_dual.c
/** One rank of DualPipe's eight steps. */
typedef struct dual_rank {
    int stage[2];     /* of near and far microbatches */
    int first[2];     /* their first microbatch */
    int microbatches; /* that come from each side */
    int inward;       /* ranks between this one and the middle */
    int outward;      /* ranks from the nearer end to this one, itself too */
} dual_rank;

warm_up schedule_dual_ahead(int ranks, int rank);
int64_t schedule_dual_split_backwards(const dual_rank *rank);
void schedule_fill_dual(const dual_rank *rank, action_list *out);

// schedule_pattern.c
/** Slots from one action of a microbatch to the next: along the ranks, and where it turns. */
typedef struct slot_pattern {
    int down, up;              /* F from rank to rank, through first chunks and through last ones */
    int back_down, back_up;    /* I likewise */
    int turn, loss, back_turn; /* from first to last chunk, from F to I, and back */
} slot_pattern;

double schedule_pattern_in_flight(const slot_pattern *pattern, int ranks, int rank,
                                  int microbatches);
warm_up schedule_pattern_ahead(const slot_pattern *pattern, int ranks, int rank);
void schedule_fill_pattern(const slot_pattern *pattern, const plait_pipeline_shape *shape, int rank,
                           action_list *out);

/** A schedule that is a pattern: its descriptor, of a function from ranks to the pattern. */
#define SCHEDULE_OF_PATTERN(descriptor, pattern_of)                                                \
    static warm_up ahead(int ranks, int rank)                                                      \
    {                                                                                              \
        const slot_pattern pattern = pattern_of(ranks);                                            \
        return schedule_pattern_ahead(&pattern, ranks, rank);                                      \
    }                                                                                              \
    static double pipeline_s(const plait_pipeline_load *load)                                      \
    {                                                                                              \
        const split_shape shape = {load->ranks, load->microbatches, true, ahead};                  \
        return schedule_split_bound_s(&shape, load);                                               \
    }                                                                                              \
    static double in_flight(int ranks, int rank, int chunks, int microbatches)                     \
    {                                                                                              \
        const slot_pattern pattern = pattern_of(ranks);                                            \
        (void)chunks;                                                                              \
        return schedule_pattern_in_flight(&pattern, ranks, rank, microbatches);                    \
    }                                                                                              \
    static void fill(const plait_pipeline_shape *shape, int rank, action_list *out)                \
    {                                                                                              \
        const slot_pattern pattern = pattern_of(shape->ranks);                                     \
        schedule_fill_pattern(&pattern, shape, rank, out);                                         \
    }                                                                                              \
    const schedule_kind descriptor = {                                                             \
        .chunks = 2,                                                                               \
        .copies = 1,                                                                               \
        .needs = schedule_needs_stages,                                                            \
        .rank_of = schedule_rank_in_v,                                                             \
        .chunk_of = schedule_chunk_in_v,                                                           \
        .pipeline_s = pipeline_s,                                                                  \
        .exact = schedule_never_exact,                                                             \
        .in_flight = in_flight,                                                                    \
        .has_actions = schedule_has_two_chunks,                                                    \
        .split_backwards = schedule_all_split,                                                     \
        .fill = fill,                                                                              \
    }

/**
 * Some forwards ahead, then forward and backward in turn.
 *
 * @param ahead  forwards before the first backward, beside the one that it is paired with
 * @param lag    pairs between an I and its W; -1: backward is not split
 */
void schedule_fill_in_turn(const plait_pipeline_shape *shape, int rank, int ahead, int lag,
                           action_list *out);
