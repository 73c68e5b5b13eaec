/*
 * fuse.h - how fused communication enters a price
 *
 *     fuse_choose, fuse_block       a layer's own collectives, decided once a row      (C.142)
 *     fused_boundary                what passes between two chunks of a pipeline       (C.143)
 *     cheaper_sum_of                a step with boundaries as they are or fused
 */
#pragma once

#include "costmodel/stage/stage_sum.h"

// fuse.c
/** Bits 1 << PLAIT_FUSE_... of the rules that make a kind of layer faster on this row's links. */
unsigned fuse_choose(const plait_problem *problem, const layer_row *row, int kind);
/** Rewrites the collectives of one pass of a layer by these rules. */
void fuse_block(const plait_layer *layer, const plait_shard *shard, plait_pass_kind pass,
                unsigned rules, plait_block *block);
/** What each rule inside layers does to a stage of these parts, `microbatches` a step. */
void fuse_layers_report(const plait_problem *problem, const layer_row *row,
                        const stage_parts *parts, double microbatches,
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
/** How many boundaries a load begins behind (true), or ends in front of. */
double load_boundaries(const plait_degrees *degrees, const stage_load *load, bool behind);
/** What so many boundaries before (that it ends in front of) and behind save a microbatch. */
plait_chunk_time boundary_saves(const fused_boundary *boundary, double before, double behind);
/** The parts with every boundary fused, their loads in `room`. */
step_parts parts_fused(const step_parts *parts, const fused_boundary *boundary, stage_load *room);
/**
 * The sum with these boundaries or without, whichever is less; exact where both are.
 *
 * @param fused  room for all loads
 */
step_sum cheaper_sum_of(const step_parts *parts, const fused_boundary *boundary, stage_load *fused);
/**
 * The same of one plan, each simulated where it is only a bound.
 *
 * @param fused   the loads with fused boundaries, where chosen
 * @param chosen  are they fused?
 */
PLAIT_MUST_CHECK plait_status simulated_sum_of(const step_parts *parts, const plait_plan *plan,
                                               const layer_row *row, const gather_row *gather,
                                               const fused_boundary *boundary, stage_load *fused,
                                               plait_pipelines *memo, plait_arena *arena,
                                               step_sum *sum, bool *chosen, plait_error *err);
/** Adds what the boundaries change of a load's terms, one microbatch. */
void fused_boundary_terms(const plait_problem *problem, const plait_degrees *degrees,
                          const layer_row *row, const fused_boundary *boundary,
                          const stage_load *load, double terms[LAYER_TERMS]);
/** What the rule does to the boundaries of one stage in a step. */
plait_fused fused_boundary_report(const plait_problem *problem, const plait_degrees *degrees,
                                  const fused_boundary *boundary, bool chosen);
