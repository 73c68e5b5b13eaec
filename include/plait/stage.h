/*
 * stage.h - a stage before its layers choose what to recompute and offload
 *
 * plait_plan_cost prices a plan whose choices are made. Who makes them needs the same seconds and
 * bytes taken apart: what one layer takes under a choice (plait_layer_cost_of), what a stage has
 * whatever is chosen (plait_stage_frame_of), and the step of stages so filled (plait_frames_price).
 * All come from a table and are sums of the entries that its prices are sums of.
 *
 * Left out: schedules that hold every stage on two ranks, and fused boundaries of chunks.
 */
#ifndef PLAIT_STAGE_H
#define PLAIT_STAGE_H

#include "plait/cost.h"
#include "plait/schedule.h"

PLAIT_BEGIN_DECLS

/** One layer under one choice, one microbatch on one rank. */
typedef struct plait_layer_cost {
    double forward_s;
    double backward_s;
    double weight_s;    /* of which the weight gradient */
    double saved_bytes; /* of each microbatch in flight, until its backward */
    double live_bytes;  /* rebuilt or brought back in a backward, of one layer at a time */
} plait_layer_cost;

/** A layer of the model's kind `kind` at a point. (C.240) */
plait_layer_cost plait_layer_cost_of(plait_table *table, const plait_degrees *degrees, int kind,
                                     plait_choice choice);

/** What a stage has whatever its layers choose. */
typedef struct plait_stage_frame {
    int stage;
    int layers[PLAIT_MAX_LAYER_KINDS]; /* of each kind, which choose */
    plait_chunk_time ends;             /* embedding, loss, modules of further tokens */
    bool unlike;       /* its chunks hold different numbers of microbatches at its peak */
    double bytes;      /* its peak were there no activations of layers, and nothing rebuilt ... */
    double scale;      /* ... and bytes of the device that each byte of theirs takes */
    double live_bytes; /* that its ends rebuild */
    double paired_s;   /* that a pair of microbatches takes less than both */
    double reduce_s, gather_s, optimizer_s, down_s, downs; /* once a step */
} plait_stage_frame;

/**
 * The frame of these chunks as stage `stage` of a point. (C.241)
 *
 * @param own        the point, perhaps with another `offload`, `offload_share`, `offload_acts`
 * @param in_flight  [vpp] microbatches of each chunk at the peak, filled
 */
plait_stage_frame plait_stage_frame_of(plait_table *table, const plait_degrees *degrees, int stage,
                                       const plait_chunk *chunk, const plait_degrees *own,
                                       double *in_flight);

/** The peak of a stage whose layers hold and rebuild so much. (C.241) */
double plait_frame_peak(const plait_stage_frame *frame, double held_bytes, double live_bytes);

/** What a stage leaves exposed once a step: its part of dp_comm, and its optimizer. */
typedef struct plait_stage_tail {
    double reduce_s; /* the step waits for the longest; by grad_sync bulk for their sum */
    double gather_s; /* ... for the longest, as for the optimizer */
    double optimizer_s;
} plait_stage_tail;

/**
 * The tail of a stage that takes this time. (C.243)
 *
 * By grad_sync shifted at least: what hides depends on the shortest backward of all stages.
 */
plait_stage_tail plait_frame_tail(const plait_problem *problem, const plait_degrees *degrees,
                                  const plait_stage_frame *frame, const plait_chunk_time *time);

/**
 * The step of stages that take these times, ends and layers together. (C.242)
 *
 * @param frame  [pp]
 * @param time   [pp], of one microbatch
 * @return       its step_s and `exact`; with several chunks a rank a lower bound
 */
plait_price plait_frames_price(plait_table *table, const plait_degrees *degrees,
                               const plait_stage_frame *frame, const plait_chunk_time *time);

// ---- layers that are cut unlike each other -------------------------------------------------

/** The hidden state of a microbatch on its way to a layer of another tp. (C.281) */
typedef struct plait_relocation {
    double forward_s, backward_s;
    double bytes; /* whole states beside the layers' own */
} plait_relocation;

/** From a layer of tp `from` to one of tp `to`, in a plan of these degrees. */
plait_relocation plait_relocation_of(const plait_problem *problem, const plait_degrees *degrees,
                                     int from, int to);

/** Times add up, of bytes the largest is there. */
void plait_relocation_add(plait_relocation *sum, plait_relocation more);

/** What the layers of one cut bring to their stage. (C.282) */
typedef struct plait_cut_share {
    plait_chunk_time time; /* of one microbatch */
    double saved_bytes;    /* of each microbatch in flight */
    double live_bytes;     /* of a stage's shares the largest */
    double state_bytes;
    double spare_bytes;                     /* of a stage's shares the largest */
    double reduce_s, gather_s, optimizer_s; /* once a step */
} plait_cut_share;

/**
 * The share of these layers, and of the ends among them.
 *
 * @param sort  of the cut's degrees (plait_degrees_cut), on node group 0
 * @param own   they are the plan's
 */
plait_cut_share plait_cut_share_of(plait_stage_sort *sort, const plait_stage *stage, bool own);

/** One layer of it. */
plait_layer_cost plait_cut_layer_cost(const plait_stage_sort *sort, int kind,
                                      plait_recompute recompute);

/** Times and bytes of both; of what is alive only at a time, the larger. */
void plait_cut_share_add(plait_cut_share *sum, const plait_cut_share *more);

/** The peak of a stage with these shares. (C.283) */
double plait_cut_peak(const plait_stage_sort *own, const plait_cut_share *sum, double in_flight);

/** What stage `stage` of these shares leaves exposed once a step; by grad_sync shifted at least. (C.284) */
plait_stage_tail plait_cut_tail(const plait_stage_sort *own, int stage, const plait_cut_share *sum);

/** Sends of a step, exposed. (C.64) */
double plait_cut_sends_s(const plait_stage_sort *own);

PLAIT_END_DECLS

#endif
