/*
 * schedule.h - how long a pipeline idles, how many microbatches a stage holds, what each rank does
 *
 * Closed forms for uniform and uneven stages. Stage times are those of one microbatch over all
 * chunks of the stage: f forward, b the whole backward, w its weight-gradient part. (Qi et al. write
 * B for b - w, DeepSeek for b; action lists here write B for b, I for b - w, W for w.)
 *
 *     stage 0   F0 F1 .. B0 F2 B1 F3 B2 .. B3     1F1B with p = 2, m = 4, f = b = one slot:
 *     stage 1   .. F0 B0 F1 B1 F2 B2 F3 B3 ..     each stage idles (p-1)(f+b), here two slots
 *
 * plait_schedule_actions spells the same schedules out, rank by rank, action by action.
 *
 * One file a schedule, costmodel/schedule_<name>.c, says all that is said here of it.
 *
 * Left out: the V-shaped schedules (zb-v, v-half, v-min, dualpipe-v), which wait for a simulator.
 */
#ifndef PLAIT_SCHEDULE_H
#define PLAIT_SCHEDULE_H

#include "plait/plan.h"

#pragma GCC visibility push(default)

/* ---- what each schedule is ---- */

/** Has the cost model a price for it? The V-shaped ones wait for a simulator. */
bool plait_schedule_priced(plait_schedule schedule);

/** Does a rank hold several chunks of layers, which take turns? Else it holds one. */
bool plait_schedule_chunked(plait_schedule schedule);

/** Does one rank work at a time, so that nothing runs beside a send? */
bool plait_schedule_alone(plait_schedule schedule);

/** What the schedule needs and does not have here, "pp > 1"; NULL: it suits. */
const char *plait_schedule_needs(plait_schedule schedule, int ranks, int microbatches);

/** Copies of a rank's parameters: 2 for DualPipe, which runs two stages a rank. */
int plait_schedule_copies(plait_schedule schedule);

/**
 * Which of `ranks` pipeline ranks holds chunk c. Chunks are counted from the embedding to the loss:
 * chunk 0 has the embedding, the last one the loss.
 */
int plait_schedule_rank(plait_schedule schedule, int ranks, int chunk);

/** The same the other way round: which chunk is the v-th of a rank. */
int plait_schedule_chunk(plait_schedule schedule, int ranks, int rank, int v);

/* ---- how long it idles ---- */

/** A pipeline's stages, summed up. */
typedef struct plait_pipeline_load {
    int stages;
    int chunks; /* a stage */
    int microbatches;
    double sum_s;     /* f + b over all stages */
    double max_s;     /* f + b of the slowest stage */
    double max_f_s;   /* longest forward of any stage */
    double max_b_s;   /* longest backward */
    double least_w_s; /* shortest weight-gradient part: what a bubble can be filled with */
} plait_pipeline_load;

/**
 * Time from the first forward to the last backward, sends and gradient reduction apart.
 *
 *     naive              m sum_s                                             (C.71)
 *     gpipe, 1f1b        m max_s + (sum_s - max_s)                           (C.72)
 *     interleaved        m max_s + (sum_s - max_s) / v                       (C.73)
 *     zb-h1              m max_s + max(0, sum_s - max_s - 2(p-1) w)          (C.74)
 *     zb-h2              m max_s + max(0, sum_s - max_s - 3(p-1) w)          (C.75)
 *     dualpipe           m max_s + max(0, (p/2 - 1)(max_f + 2 max_b - 3 w))  (C.76)
 *
 * w is least_w_s: a backward b is an input gradient and a weight gradient w, and w can wait.
 * Equal stages: (m+p-1)(f+b) for 1F1B, exact. Uneven stages: GPipe is exact, 1F1B takes at most
 * this (plait/simulate.h knows how much). Sources: Narayanan et al. 2021; Qi et al. 2024 (arXiv 2401.10241); DeepSeek's DualPipe README, an upper bound when
 * w < f.
 */
double plait_pipeline_s(plait_schedule schedule, const plait_pipeline_load *load);

/**
 * Microbatches whose activations stage `stage` holds at its peak, in units of the whole stage.
 *
 *     naive 1;  gpipe m;  1f1b min(p - s, m)                                  (C.77)
 *     interleaved min((2(p-s-1) + (v-1)p + 1) / v, m)                         (C.78)
 *     zb-h1 min(p - s, m), as 1f1b;  zb-h2 min(2p - 2s - 1, m): both are what the first stage
 *         holds; later ones hold more than this, up to as much, since a W keeps what it needs
 *     dualpipe min(p + 1, m), of both directions together                              (C.79)
 */
double plait_schedule_in_flight(plait_schedule schedule, int stages, int stage, int chunks,
                                int microbatches);

/* ---- what each rank does ---- */

/** One unit of work of a pipeline rank. */
typedef enum plait_action_kind {
    PLAIT_ACTION_FORWARD,  /* F: forward of one microbatch through one stage */
    PLAIT_ACTION_BACKWARD, /* B: its whole backward, input and weight gradient */
    PLAIT_ACTION_INPUT,    /* I: the input gradient alone, which the stage before waits for */
    PLAIT_ACTION_WEIGHT,   /* W: the weight gradient that an I left, which nobody waits for */
    PLAIT_ACTION_KINDS
} plait_action_kind;

/** "F", "B", "I", "W". */
extern const char *const plait_action_letter[PLAIT_ACTION_KINDS + 1];

/**
 * A stage is here one chunk of layers, counted from the embedding to the loss over all ranks
 * (plait_schedule_rank says whose it is), and F of stage s waits for F of s - 1, B and I for those of s + 1.
 *
 * Under DualPipe each stage has two copies. The first half of the microbatches enters at rank 0,
 * where stage s is on rank s; the second half enters at the last rank, stage s on rank p - 1 - s.
 */
typedef struct plait_action {
    plait_action_kind kind;
    int stage;
    int microbatch;
    bool paired; /* meant to run at once with the action behind it, where software can */
} plait_action;

/** "3F7": forward of microbatch 7 through stage 3. Returns `text`. */
char *plait_action_text(const plait_action *action, char *text, size_t size);

typedef struct plait_pipeline_shape {
    plait_schedule schedule;
    int ranks;  /* p, as schedules count it; at least 1 */
    int chunks; /* v, a rank; more than 1 only interleaved */
    int microbatches;
} plait_pipeline_shape;

/** What one rank does, in its order. */
typedef struct plait_rank_actions {
    int count;
    const plait_action *action;
} plait_rank_actions;

/**
 * Microbatches that a rank takes through one chunk before it turns to the next; 1 where it has one
 * chunk. Megatron-LM: p, which must divide m. PyTorch where it does not: m in max(1, m/p) equal
 * rounds. 0: neither can.
 */
int plait_schedule_group(const plait_pipeline_shape *shape);

/**
 * Can the schedule be spelled out? False for the V-shaped ones, for interleaving without a group,
 * for DualPipe unless p is even and m even and at least 2p.
 */
bool plait_schedule_has_actions(const plait_pipeline_shape *shape);

/** Actions of all ranks together. The schedule must have them. */
int64_t plait_schedule_action_count(const plait_pipeline_shape *shape);

/**
 * The actions of every rank; the schedule must have them.
 *
 *     naive        F0 B0 F1 B1 ..
 *     gpipe        F0 F1 .. B0 B1 ..
 *     1f1b         p-s-1 F; then F and B in turn; then the B that are left
 *     interleaved  2(p-s-1) + (v-1)g F; then the same, chunk by chunk in groups of g microbatches
 *     zb-h1        as 1f1b, with I for B and each W s pairs behind its I
 *     zb-h2        2(p-s-1) F, and each W 2s pairs behind
 *     dualpipe     the eight steps of its paper, overlapped pairs as F, then B
 *
 * With equal stages that do F, I and W in the same time, 1F1B and interleaving take what C.72 and
 * C.73 say, zb-h1 what C.74 says from m = p on, and each rank of zb-h2 what C.75 says from
 * m = 2p - 1 on; dualpipe takes at most C.76. In flight they stay within C.77 to C.79, where zb-h1
 * and zb-h2 hold what W needs of p and 2p - 1 microbatches at most.
 *
 * @param out  [ranks], filled; what it points to lives in `arena`
 */
PLAIT_MUST_CHECK plait_status plait_schedule_actions(const plait_pipeline_shape *shape,
                                                     plait_arena *arena, plait_rank_actions *out,
                                                     plait_error *err);

#pragma GCC visibility pop

#endif
