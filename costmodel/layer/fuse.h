/*
 * fuse.h - times of fused collectives
 *
 *     fuse_choose, fuse_block       collectives inside a layer, for all layers of a row  (C.142)
 *     fused_boundary                sends between two chunks of a pipeline               (C.143)
 */
#pragma once

#include "costmodel/layer/layer_row.h"

// fuse.c
/** Returns, as bits 1 << PLAIT_FUSE_..., the rules that shorten a kind of layer in this row. */
unsigned fuse_choose(const plait_problem *problem, const layer_row *row, int kind);
/** Replaces the collectives of one pass of a layer to which `rules` (bits as above) apply. */
void fuse_block(const plait_layer *layer, const plait_shard *shard, plait_pass_kind pass,
                unsigned rules, plait_block *block);
/** Adds the effect of the rules inside `times` layers of one kind to `fused`. */
void fuse_layer_report(const plait_problem *problem, const layer_row *row, int kind, double times,
                       plait_fused fused[PLAIT_FUSION_RULES]);

/** One collective that a fused boundary removes or adds, in the chunk before or after it. */
typedef struct boundary_change {
    plait_op op;
    bool behind;   /* in the chunk after the boundary, else in the chunk before it */
    bool backward; /* in the backward pass, else in the forward pass */
    double times;  /* -1: removed, 1: added */
} boundary_change;

/** A boundary between two chunks with fused collectives. All boundaries of a plan have one rule. */
typedef struct fused_boundary {
    bool known;  /* a rule applies; otherwise all other fields are 0 */
    bool faster; /* the fused boundary takes less time */
    plait_fusion_rule rule;
    int changes;
    boundary_change change[6];
    double forward_before_s, forward_behind_s; /* seconds saved in the chunks before and after it */
    double backward_before_s, backward_behind_s;
    double send_s;          /* seconds of the operation that replaces the send */
    plait_collective_op op; /* operation that replaces the send */
    int ranks;              /* ranks of that operation */
    double bytes;           /* bytes of that operation */
    double imbalance;       /* imbalance of a fused dispatch; 0: all ranks send equal bytes */
    plait_fused pair;       /* effect on one microbatch, forward and backward, hidden or exposed */
} fused_boundary;

/**
 * Returns the fused boundary of a pipeline with these chunks.
 *
 * @param chunk  [pp * vpp], in pipeline order
 */
fused_boundary fused_boundary_of(const plait_problem *problem, const plait_degrees *degrees,
                                 const layer_row *row, const plait_chunk *chunk);
/** Returns fused_boundary_of() for the chunks of a plan. */
fused_boundary fused_boundary_of_plan(const plait_problem *problem, const plait_plan *plan,
                                      const layer_row *row);
/** Upper bound on the seconds that a fused boundary saves a microbatch, for any pipeline. */
double fused_boundary_most_s(const plait_problem *problem, const layer_row *row);
/** Seconds of one send between stages, with the software's time for it; 0 if pp = 1. (C.64) */
double pipeline_send_s(const plait_problem *problem, const plait_degrees *degrees,
                       const layer_row *row);
/** Returns the effect of the rule on the boundaries of one stage over a step. */
plait_fused fused_boundary_report(const plait_problem *problem, const plait_degrees *degrees,
                                  const fused_boundary *boundary, bool chosen);
