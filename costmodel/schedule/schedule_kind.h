/*
 * schedule_kind.h - descriptors of schedules, and functions that several schedules share
 *
 * Every schedule_<name>.c ends with its descriptor, which schedule.c calls: a new schedule is a
 * line in plait/degrees.h and a file here. Chunks are counted from the embedding to the loss, over
 * all ranks.
 */
#pragma once

#include <assert.h>

#include "base/numbers.h"
#include "plait/lowlevel/schedule.h"

/** The actions of one rank, in order; `room` is the capacity. */
typedef struct action_list {
    plait_action *action;
    int count;
    int room;
} action_list;

typedef struct schedule_kind {
    int chunks; /* chunks per rank, or PLAIT_SEVERAL_CHUNKS */
    bool alone; /* one rank works at a time, so nothing overlaps a send */
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

// ---- shared by several schedules -----------------------------------------------------------

/** Adds one action. */
static inline void action_append(action_list *list, plait_action_kind kind, int stage,
                                 int microbatch)
{
    assert(list->count < list->room);
    list->action[list->count++] =
        (plait_action){.kind = kind, .stage = stage, .microbatch = microbatch};
}

// schedule_chunks.c
/** Chunks assigned to ranks round-robin: chunk c to rank c mod p. */
int schedule_rank_in_turn(int ranks, int chunk);
int schedule_chunk_in_turn(int ranks, int rank, int v);
/** Two chunks per rank in a V: chunks 0 .. p-1 on ranks 0 .. p-1, the next p in reverse order. */
int schedule_rank_in_v(int ranks, int chunk);
int schedule_chunk_in_v(int ranks, int rank, int v);
const char *schedule_needs_stages(int ranks, int microbatches);
bool schedule_is_plain(const plait_pipeline_shape *shape);
/** Number of split backwards of a rank if all are split. */
int64_t schedule_all_split(const plait_pipeline_shape *shape, int rank);
bool schedule_has_two_chunks(const plait_pipeline_shape *shape);

// schedule_bound.c
bool schedule_always_exact(const plait_pipeline_load *load);
bool schedule_never_exact(const plait_pipeline_load *load);

/** Upper bounds on the forwards of a rank's first and last chunk before its first backward. */
typedef struct warm_up {
    double first, last;
} warm_up;

/** A pipeline whose backwards may be split, and the warm-up of its ranks. */
typedef struct split_shape {
    int ranks;
    int microbatches; /* microbatches through each chunk */
    bool is_v;        /* two chunks per rank, in a V; else one */
    warm_up (*ahead)(int ranks, int rank);
} split_shape;

/** Lower bound on the pipeline's time, for any order of the split backwards. (C.75) */
double schedule_split_bound_s(const split_shape *shape, const plait_pipeline_load *load);

// schedule_dual.c
/** The part of one rank in DualPipe's eight steps. */
typedef struct dual_rank {
    int stage[2];     /* stages of the near and of the far microbatches */
    int first[2];     /* first near and first far microbatch */
    int microbatches; /* microbatches that enter at each end */
    int inward;       /* ranks between this one and the middle */
    int outward;      /* ranks from the nearer end to this one, inclusive */
} dual_rank;

warm_up schedule_dual_ahead(int ranks, int rank);
int64_t schedule_dual_split_backwards(const dual_rank *rank);
void schedule_fill_dual(const dual_rank *rank, action_list *out);

// schedule_pattern.c
/**
 * Slots from one action of a microbatch to the next: between neighbouring ranks, and at the turns.
 */
typedef struct slot_pattern {
    int down, up;              /* F between ranks, through first chunks and through last chunks */
    int back_down, back_up;    /* I between ranks, after the loss and after the second turn */
    int turn, loss, back_turn; /* F from first to last chunk, F to I at the loss, I at its turn */
} slot_pattern;

double schedule_pattern_in_flight(const slot_pattern *pattern, int ranks, int rank,
                                  int microbatches);
warm_up schedule_pattern_ahead(const slot_pattern *pattern, int ranks, int rank);
void schedule_fill_pattern(const slot_pattern *pattern, const plait_pipeline_shape *shape, int rank,
                           action_list *out);

/** Defines the descriptor of a schedule by pattern_of(ranks), which returns its pattern. */
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
 * Lists `ahead` forwards, then forwards and backwards alternately.
 *
 * @param ahead  forwards before the first pair of a forward and a backward
 * @param lag    pairs between an I and its W; -1: backward is not split
 */
void schedule_fill_in_turn(const plait_pipeline_shape *shape, int rank, int ahead, int lag,
                           action_list *out);
