/*
 * fuse.h - how fused communication enters a price
 *
 *     fuse_choose, fuse_block       a layer's own collectives, decided once a row      (C.142)
 *     fused_boundary                what passes between two chunks of a pipeline       (C.143)
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

/** One collective that a fused boundary takes away or adds, at the chunk before it or behind it. */
typedef struct boundary_change {
    plait_op op;
    bool behind;   /* in the chunk that begins at the boundary, else in the one that ends there */
    bool backward; /* on the way back, else forward */
    double times;  /* -1: gone, 1: added */
} boundary_change;

/** The way between two chunks with their collectives fused; one rule suits all of a pipeline. */
typedef struct fused_boundary {
    bool known;  /* a rule holds: else all else is nothing */
    bool faster; /* and what it does takes less time than what it replaces */
    plait_fusion_rule rule;
    int changes;
    boundary_change change[6];
    double forward_before_s, forward_behind_s; /* what a chunk before or behind it saves ... */
    double backward_before_s, backward_behind_s;
    double send_s; /* and what then takes the place of the send: */
    plait_collective_op op;
    int ranks;
    double bytes;
    double imbalance; /* of a fused dispatch; 0: bytes of all ranks are equal */
    plait_fused pair; /* a microbatch there and back, hidden or not */
} fused_boundary;

// fuse_boundary.c
/** @param chunk  [pp vpp], in pipeline order */
fused_boundary fused_boundary_of(const plait_problem *problem, const plait_degrees *degrees,
                                 const layer_row *row, const plait_chunk *chunk);
/** The same of a plan's own chunks. */
fused_boundary fused_boundary_of_plan(const plait_problem *problem, const plait_plan *plan,
                                      const layer_row *row);
/** Most seconds of a microbatch that a fused boundary can save, whatever the pipeline. */
double fused_boundary_most_s(const plait_problem *problem, const layer_row *row);
/** One send between stages: bytes on the wire, and the software's time for it. (C.64) */
double pipeline_send_s(const plait_problem *problem, const plait_degrees *degrees,
                       const layer_row *row);
/** The effect of the rule on the boundaries of one stage in a step. */
plait_fused fused_boundary_report(const plait_problem *problem, const plait_degrees *degrees,
                                  const fused_boundary *boundary, bool chosen);
