/*
 * schedule.h - pipeline schedules: idle time, microbatches in flight, actions of each rank
 *
 * The closed forms hold for uniform and uneven stages. Stage times are those of one microbatch over
 * all chunks of the stage: f forward, b the whole backward, w its weight-gradient part. (Qi et al.
 * write B for b - w, DeepSeek for b; action lists here write B for b, I for b - w, W for w.)
 *
 *     stage 0   F0 F1 .. B0 F2 B1 F3 B2 .. B3     1F1B with p = 2, m = 4, f = b = one slot:
 *     stage 1   .. F0 B0 F1 B1 F2 B2 F3 B3 ..     each stage idles (p-1)(f+b), here two slots
 *
 * plait_schedule_actions lists the actions of the same schedules, rank by rank. Each schedule has a
 * descriptor in costmodel/schedule.
 *
 * In order: plait_pipeline_s and plait_schedule_in_flight for the time and memory of stages, or
 * plait_schedule_actions for the actions, which simulate.h takes.
 *
 * Left out: sends, which a price adds (C.64) and plait/lowlevel/simulate.h simulates one by one.
 */
#ifndef PLAIT_LOWLEVEL_SCHEDULE_H
#define PLAIT_LOWLEVEL_SCHEDULE_H

#include "plait/plan.h"

PLAIT_BEGIN_DECLS

/* ---- properties of schedules ---- */

/** Chunks of layers per rank: 1, 2, or PLAIT_SEVERAL_CHUNKS for any number from 2. */
int plait_schedule_chunks(plait_schedule schedule);

enum { PLAIT_SEVERAL_CHUNKS = 0 };

/** Can a rank hold this number of chunks? */
static inline bool plait_schedule_takes(plait_schedule schedule, int chunks)
{
    const int takes = plait_schedule_chunks(schedule);

    return takes == PLAIT_SEVERAL_CHUNKS ? chunks > 1 : chunks == takes;
}

/** Does the schedule delay weight gradients, so that the next stage does not wait for them? */
bool plait_schedule_splits(plait_schedule schedule);

/** Does only one rank work at a time, so that nothing overlaps with a send? */
bool plait_schedule_alone(plait_schedule schedule);

/** An unmet requirement of the schedule, such as "pp > 1"; NULL: none. */
const char *plait_schedule_needs(plait_schedule schedule, int ranks, int microbatches);

/** Ranks that hold each stage: 2 for DualPipe, which has two stages per rank, else 1. */
int plait_schedule_replicas(plait_schedule schedule);

/**
 * The pipeline rank, of `ranks`, that holds a chunk. Chunks are counted from the embedding to the
 * loss: chunk 0 has the embedding, the last one the loss.
 */
int plait_schedule_rank(plait_schedule schedule, int ranks, int chunk);

/** The v-th chunk of a rank. */
int plait_schedule_chunk(plait_schedule schedule, int ranks, int rank, int v);

/* ---- durations and memory ---- */

/** Times of one microbatch through one chunk, or through all chunks of a rank. */
typedef struct plait_chunk_time {
    double forward_s;
    double backward_s; /* whole backward */
    double weight_s;   /* weight-gradient part, which no other rank waits for */
} plait_chunk_time;

/** Adjacent ranks with equal times. */
typedef struct plait_rank_run {
    int ranks;
    plait_chunk_time
        all; /* sum over the chunks of a rank; under DualPipe the mean of its two stages */
    plait_chunk_time first, last;
} plait_rank_run;

/** A pipeline's ranks, from the first to the last. */
typedef struct plait_pipeline_load {
    int ranks;
    int chunks; /* chunks per rank */
    int microbatches;
    bool no_barrier; /* a rank begins the next step without waiting for other ranks */
    bool unlike;     /* whether all chunks of a rank can differ, not only its first and last */
    int runs;
    const plait_rank_run *run; /* [runs], whose ranks sum to `ranks` */
} plait_pipeline_load;

/**
 * Time from the first forward to the last backward, without sends and gradient reduction; without a
 * barrier the longest time from one rank's first action to its last.
 *
 *     naive         m sum_s, over ranks                                                (C.71)
 *     gpipe         sum_s + (m-1)(max f + max b)                                       (C.72)
 *     1f1b          the longest path, which turns at three ranks at most               (C.73)
 *     others        a lower bound over all orders: a rank's own work, the work before and after
 *                   it, and its wait for the first backward                            (C.74, C.75)
 *
 * The first three are exact for any stages; the others are proven lower bounds, exact for equal
 * stages under interleaving (plait_pipeline_exact). Otherwise the simulator computes the time.
 */
double plait_pipeline_s(plait_schedule schedule, const plait_pipeline_load *load);

/**
 * State of C.73, which is computed stage by stage: the stages passed so far, and the longest chains
 * that turn at one of them.
 */
typedef struct plait_chain {
    int stages;                   /* stages passed */
    double both_s;                /* sum of f + b of these stages */
    double forward_s, backward_s; /* longest f and longest b of these stages */
    double rounds_s; /* maximum over stages of their rounds minus f + b of the stages before */
    double with_there_s, with_back_s; /* rounds_s with G, or with H (C.73) */
    double whole_s; /* rounds_s with both; after all stages the pipeline of 1f1b */
} plait_chain;

/** A chain before the first stage. */
plait_chain plait_chain_begin(void);

/** Adds the next stage of `ranks`; no time in the chain becomes shorter. */
void plait_chain_pass(plait_chain *chain, int ranks, int microbatches, plait_chunk_time stage);

/** Does plait_pipeline_s equal the simulated time? Otherwise it is a lower bound. */
bool plait_pipeline_exact(plait_schedule schedule, const plait_pipeline_load *load);

/**
 * Microbatches whose activations rank `rank` holds at its peak, in units of all its chunks;
 * activations that a weight gradient still needs count in full.
 *
 *     naive 1;  gpipe m;  1f1b min(p - s, m)                                  (C.77)
 *     interleaved min((2(p-s-1) + (v-1)p + 1) / v, m)                         (C.78)
 *     zb-h1 min(p, m);  zb-h2 min(2p - 1, m);  zb-v min(p, m)                 (C.77)
 *     v-half, v-min: about p/2 and p/3, counted in their pattern              (C.79)
 *     dualpipe min(p + 1, m), of both directions;  dualpipe-v min(p + 1/2, m) (C.79)
 */
double plait_schedule_in_flight(plait_schedule schedule, int ranks, int rank, int chunks,
                                int microbatches);

/**
 * Microbatches in flight of each chunk of a rank with uneven chunks, when their weighted sum is
 * largest. (C.260)
 *
 * @param weight  [chunks] bytes or layers of each
 * @param held    [chunks] microbatches, filled
 */
void plait_schedule_in_flight_chunks(plait_schedule schedule, int ranks, int rank, int chunks,
                                     int microbatches, const double *weight, double *held);

/**
 * Lower bound on the microbatches that rank `rank` has in flight of each of its layers, with any
 * number of chunks and any layers in them. (C.451)
 */
double plait_schedule_least_in_flight(plait_schedule schedule, int ranks, int rank,
                                      int microbatches);

/**
 * Forwards that run at the same time as the backward of another microbatch, if the software pairs
 * them, in units of a whole stage and for the rank that determines the step time. (C.157)
 *
 *     one stage     m - 1: the first forward and the last backward are alone
 *     interleaved   m - ((v-1)p + 1) / v: the warm-up forwards of the last rank are alone
 *     dualpipe      m - p
 *     others        0: adjacent forwards and backwards are of the same microbatch
 */
double plait_schedule_pairs(plait_schedule schedule, int stages, int chunks, int microbatches);

/**
 * Can the schedule pair a forward with the backward of another microbatch, given enough
 * microbatches?
 */
bool plait_schedule_has_pairs(plait_schedule schedule, int stages, int chunks);

/* ---- actions ---- */

/** One unit of work of a pipeline rank. */
typedef enum plait_action_kind {
    PLAIT_ACTION_FORWARD,  /* F: forward of one microbatch through one stage */
    PLAIT_ACTION_BACKWARD, /* B: its whole backward, input and weight gradient */
    PLAIT_ACTION_INPUT,    /* I: the input gradient, which the stage before waits for */
    PLAIT_ACTION_WEIGHT,   /* W: the weight gradient of an earlier I, which no stage waits for */
    PLAIT_ACTION_KINDS
} plait_action_kind;

/** "F", "B", "I", "W". */
extern const char *const plait_action_letter[PLAIT_ACTION_KINDS + 1];

/**
 * A stage is here one chunk of layers, counted from the embedding to the loss over all ranks
 * (plait_schedule_rank). F of stage s waits for F of s - 1, B and I wait for those of s + 1.
 *
 * Under DualPipe each stage has two copies. The first half of the microbatches enters at rank 0,
 * where stage s is on rank s; the second half enters at the last rank, stage s on rank p - 1 - s.
 */
typedef struct plait_action {
    plait_action_kind kind;
    int stage;
    int microbatch;
    bool paired; /* runs at once with the next action, if the software can */
} plait_action;

/** "3F7": forward of microbatch 7 through stage 3. Returns `text`. */
char *plait_action_text(const plait_action *action, char *text, size_t size);

typedef struct plait_pipeline_shape {
    plait_schedule schedule;
    int ranks;  /* p, ranks of the pipeline; at least 1 */
    int chunks; /* v, chunks per rank */
    int microbatches;
} plait_pipeline_shape;

/** The actions of one rank, in order. */
typedef struct plait_rank_actions {
    int count;
    const plait_action *action;
} plait_rank_actions;

/**
 * Microbatches that a rank passes through one chunk before it switches to the next; 1 for one
 * chunk. Megatron-LM: p, which must divide m. PyTorch, if it does not: m in max(1, m/p) equal
 * rounds. 0: neither is possible.
 */
int plait_schedule_group(const plait_pipeline_shape *shape);

/**
 * Does the shape have a list of actions? False for interleaving without a group, for DualPipe
 * unless p is even and m even and at least 2p, for DualPipe-V unless m is at least 2p, and for
 * another number of chunks a rank than the schedule has.
 */
bool plait_schedule_has_actions(const plait_pipeline_shape *shape);

/** Number of actions of all ranks; 0 if the shape has no list. */
int64_t plait_schedule_action_count(const plait_pipeline_shape *shape);

/**
 * The actions of every rank. Fails (RANGE) if the shape has no list.
 *
 *     naive        F0 B0 F1 B1 ..
 *     gpipe        F0 F1 .. B0 B1 ..
 *     1f1b         p-s-1 F; then F and B alternately; then the remaining B
 *     interleaved  2(p-s-1) + (v-1)g F; then as 1f1b, chunk by chunk in groups of g microbatches
 *     zb-h1        as 1f1b, with I for B and each W s pairs after its I
 *     zb-h2        2(p-s-1) F, and each W 2s pairs after its I
 *     zb-v         2(p-s)-1 F down; s times F up, F down; then each up and each down with its W
 *     v-half       one pattern of six slots (F, I, W of both chunks), shifted from rank to rank
 *     v-min        as v-half, with a pattern that keeps fewer activations
 *     dualpipe     the eight steps of its paper, overlapped pairs as F, then B
 *     dualpipe-v   the same steps on p ranks, chunks down and up for the two directions
 *
 * With equal parts F = I = W a pipeline of zb-h1 idles (p-1)(F + I - W) a rank from m = p on, zb-h2
 * and zb-v not at all from m = 2p - 1 on, v-half half as much as 1F1B, v-min about two thirds.
 *
 * @param out  [ranks], filled; what it points to lives in `arena`
 */
PLAIT_MUST_CHECK plait_status plait_schedule_actions(const plait_pipeline_shape *shape,
                                                     plait_arena *arena, plait_rank_actions *out,
                                                     plait_error *err);

/**
 * The actions of software that runs a forward and a backward of two microbatches at once: in 1f1b
 * on one rank and interleaved, one more forward is ahead and each later one is paired; DualPipe is
 * unchanged. (C.157, C.183)
 */
PLAIT_MUST_CHECK plait_status plait_schedule_paired_actions(const plait_pipeline_shape *shape,
                                                            plait_arena *arena,
                                                            plait_rank_actions *out,
                                                            plait_error *err);

PLAIT_END_DECLS

#endif
