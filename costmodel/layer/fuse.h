/*
 * fuse.h - how fused communication enters a price
 *
 *     fuse_choose, fuse_block       a layer's own collectives, chosen once a row      (C.142)
 *     fused_boundary                sends between two chunks of a pipeline             (C.143)
 */
#pragma once

#include "costmodel/layer/layer_row.h"

// fuse.c
/** Bits 1 << PLAIT_FUSE_... of the rules that make a kind of layer faster on this row's links. */
unsigned fuse_choose(const plait_problem *problem, const layer_row *row, int kind);
/** Rewrites the collectives of one pass of a layer by these rules. */
void fuse_block(const plait_layer *layer, const plait_shard *shard, plait_pass_kind pass,
                unsigned rules, plait_block *block);
/** Adds the effect of each rule inside layers to a report: `times` layers of a kind in a step. */
void fuse_layer_report(const plait_problem *problem, const layer_row *row, int kind, double times,
                       plait_fused fused[PLAIT_FUSION_RULES]);

/** One collective that a fused boundary removes or adds, in the chunk before or after it. */
typedef struct boundary_change {
    plait_op op;
    bool behind;   /* in the chunk after the boundary, else in the one before it */
    bool backward; /* in the backward pass, else forward */
    double times;  /* -1: removed, 1: added */
} boundary_change;

/** The boundary between two chunks with fused collectives; one rule holds for a whole pipeline. */
typedef struct fused_boundary {
    bool known;  /* a rule holds; else all other fields are 0 */
    bool faster; /* the fused boundary takes less time */
    plait_fusion_rule rule;
    int changes;
    boundary_change change[6];
    double forward_before_s, forward_behind_s; /* time saved by the chunk before and after it */
    double backward_before_s, backward_behind_s;
    double send_s;          /* time of the operation that replaces the send */
    plait_collective_op op; /* that operation */
    int ranks;              /* ranks of that operation */
    double bytes;           /* bytes of that operation */
    double imbalance;       /* imbalance of a fused dispatch; 0: all ranks send equal bytes */
    plait_fused pair;       /* one microbatch forward and backward, hidden or exposed */
} fused_boundary;

/** @param chunk  [pp vpp], in pipeline order */
fused_boundary fused_boundary_of(const plait_problem *problem, const plait_degrees *degrees,
                                 const layer_row *row, const plait_chunk *chunk);
/** The fused boundary of a plan's own chunks. */
fused_boundary fused_boundary_of_plan(const plait_problem *problem, const plait_plan *plan,
                                      const layer_row *row);
/** Upper bound on the seconds that a fused boundary saves a microbatch, for any pipeline. */
double fused_boundary_most_s(const plait_problem *problem, const layer_row *row);
/** One send between stages: bytes on the wire, and the software's time for it. (C.64) */
double pipeline_send_s(const plait_problem *problem, const plait_degrees *degrees,
                       const layer_row *row);
/** The effect of the rule on the boundaries of one stage in a step. */
plait_fused fused_boundary_report(const plait_problem *problem, const plait_degrees *degrees,
                                  const fused_boundary *boundary, bool chosen);
