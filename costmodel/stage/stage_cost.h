/*
 * stage_cost.h - from the parts of a stage to a step: the sums that prices, bounds and tables share
 *
 *     stage_parts   the layers and ends of a stage, equal ones counted
 *        |  stage_rows: price of each part under one set of degrees
 *        v
 *     stage_cost    load   seconds, bytes and parameters of its parts    (C.80, C.82)
 *                   state  parameters, gradients, optimizer in memory    (C.81)
 *                   sync   gradients, optimizer, gathers once a step     (C.65, C.69)
 *        |  one for each stage, or for each class of equal stages
 *        v
 *     step_sum      pipeline, sends, exposed reductions, optimizer       (C.80)
 *
 * A uniform plan has one stage_rows for all its stages (cost.c). A heterogeneous plan has one a stage
 * (stage_pricer.c), a plan with per-layer sharding one a sharding (layer_sharding.c). A table caches
 * the rows of the last point and the stage_cost of each class (table.c).
 */
#pragma once

#include "base/numbers.h"
#include "costmodel/layer/fuse.h"
#include "costmodel/schedule/schedule_sim.h"
#include "plait/lowlevel/schedule.h"
#include "plait/lowlevel/simulate.h"
#include "costmodel/api.h"

// ---- one stage -----------------------------------------------------------------------------

/**
 * Equal parts of a stage: they have one row of prices and one choice of recomputation and offload.
 */
typedef struct stage_part {
    short row; /* index into layer_row.price */
    short count;
    plait_choice choice;
} stage_part;

/** The parts of a stage, ends of the model first. */
typedef struct stage_parts {
    int count;
    const stage_part *part;
    double share; /* share of microbatches in each part: 1, or 1/2 if a rank has two stages */
} stage_parts;

/** Number of ranks that share a shard, over all nodes and inside a scale-up domain. */
typedef struct shard_ways {
    int dense, expert;
    int node_dense, node_expert;
} shard_ways;

/** Routes of a shard group inside a domain, and across domains with one rank of each. */
typedef struct shard_nodes {
    plait_route inside, across;
} shard_nodes;

/** State formats, shards, and routes of the groups that reduce gradients and gather parameters. */
typedef struct sync_routes {
    plait_state_bytes state; /* bytes per parameter in the plan's formats */
    shard_ways ways;
    plait_route shard;    /* ranks of one ZeRO shard group */
    plait_route replicas; /* ranks that hold the same shard */
    plait_route expert_shard;
    plait_route expert_replicas;
    shard_nodes dense_nodes; /* valid if the plan treats domains separately (C.169, C.171) */
    shard_nodes expert_nodes;
    plait_route ends; /* first and last stage, with a tied embedding */
    plait_network network;
} sync_routes;

/** A view of the prices of all parts of a stage, for one set of degrees. */
typedef struct stage_rows {
    const plait_problem *problem;
    const plait_degrees *degrees;
    const layer_row *row;
    const gather_row *gather;
    const sync_routes *routes;
} stage_rows;

/** Owns the prices of stages on one node group with one set of degrees. */
struct plait_stage_pricer {
    plait_problem problem; /* problem of this node group alone in a heterogeneous plan */
    plait_degrees degrees;
    const plait_cluster *whole; /* cluster with all node groups */
    int group;
    layer_row row;
    gather_row gather;
    sync_routes routes;
    stage_part *part; /* parts of the stage summed last */
};

/**
 * Adds the times and bytes of `count` parts of one row. Only one layer is rebuilt at a time, so of
 * rebuilt bytes the largest counts. Inline, since a search does this in its inner loop. (C.80,
 * C.82)
 */
static inline void stage_load_add(stage_load *load, double count, const layer_time *time)
{
    load->forward_s += count * time->forward_s;
    load->backward_s += count * time->backward_s;
    load->weight_s += count * time->weight_s;
    load->busy_s += count * time->busy_s;
    load->moving_s += count * time->moving_s;
    load->saved_bytes += count * time->saved_bytes;
    load->live_bytes = larger(load->live_bytes, time->live_bytes);
}

/** Adds the terms that do not depend on recomputation: parameters, and time that pairs save. */
static inline void stage_load_add_weights(stage_load *load, double count, const layer_price *price)
{
    for (int how = PLAIT_EP_OVERLAP_PAIRS; how < PLAIT_EP_OVERLAPS; how++)
        load->paired_s[how] += count * price->paired_s[how];
    load->dense += count * price->weights.dense;
    load->expert += count * price->weights.expert;
}

// stage_cost.c
/** Upper bound on the number of parts of a stage with this many layers, for any choices. */
int stage_parts_most(int layers);
/**
 * Lists the chunks of one stage as parts. Equal parts are counted; stage->recompute has one entry
 * per layer.
 *
 * @param part  [stage_parts_most] filled
 */
stage_parts stage_parts_of(const plait_model *model, const plait_stage *stage, stage_part *part);
/** Lists chunk v of the stage as parts. */
stage_parts stage_parts_of_chunk(const plait_model *model, const plait_stage *stage, int v,
                                 stage_part *part);
/**
 * Fills the chunks of a rank: those of its stage and, under DualPipe, those of the mirrored stage.
 *
 * @return  false when out of memory
 */
bool stage_of_rank(const plait_plan *plan, int rank, plait_arena *arena, plait_stage *out);
/**
 * Fills the microbatches in flight of each chunk of a rank, [vpp]. False if all chunks have the
 * same number of layers, or belong to two stages; the schedule's mean is then valid for each chunk.
 * (C.260)
 */
bool stage_chunks_in_flight(const plait_degrees *degrees, const plait_chunk *chunk, int rank,
                            int microbatches, double *in_flight);

/** Sums parts as one stage, whose first and last chunk are the whole stage. */
stage_load stage_load_of(const stage_rows *rows, const stage_parts *parts, double in_flight);
/** Fills the state and the buffers of a stage from the parameters of its load. */
void stage_cost_add_state(const stage_rows *rows, stage_cost *cost);
/** Fills state, buffers and sync from the load. */
void stage_cost_complete(const stage_rows *rows, stage_cost *cost);
/** Computes all terms of these parts: stage_load_of, then stage_cost_complete. */
stage_cost stage_cost_of(const stage_rows *rows, const stage_parts *parts, double in_flight);
/** Fills the time of one microbatch of these parts, by term. */
void stage_terms(const stage_rows *rows, const stage_parts *parts, double terms[LAYER_TERMS]);
/** Bytes of a microbatch's activations that these parts offload to the host. (C.166) */
double stage_away_bytes(const layer_row *row, const stage_parts *parts);
/** Returns the public summary of a stage with its memory. */
plait_stage_cost stage_cost_report(const stage_cost *cost, const plait_memory *memory);

// stage_pricer.c
/**
 * Prices the rows of these degrees on the whole cluster; NULL when out of memory.
 *
 * @param layers  upper bound on the layers of one stage
 */
plait_stage_pricer *stage_pricer_new(const plait_problem *problem, const plait_degrees *degrees,
                                     int layers, plait_arena *arena);
stage_rows stage_rows_of(const plait_stage_pricer *pricer);
/**
 * Sums a stage of a heterogeneous plan. Its parts are valid until the next sum with this pricer.
 *
 * @param other  node group at the other end of the pipeline, which a tied embedding is shared with
 * @param parts  filled; NULL: not needed
 */
stage_cost stage_pricer_sum(plait_stage_pricer *pricer, const plait_stage *stage, int other,
                            double in_flight, stage_parts *parts);
/**
 * Exposed time of such a stage after the pipeline, and its memory without microbatches in flight.
 */
plait_stage_price stage_pricer_price(const plait_stage_pricer *pricer, const stage_cost *cost);

// overlap.c
double buckets_of(const plait_overlaps *overlap, const plait_route *route, double bytes);
void gather_row_fill(const plait_problem *problem, const plait_degrees *degrees,
                     const sync_routes *routes, const layer_row *row, gather_row *out);
/** Bytes of one gathered parameter, and of one scattered gradient. */
double gathered_value_bytes(const plait_degrees *degrees, const plait_state_bytes *state);
double scattered_value_bytes(const plait_degrees *degrees, const plait_state_bytes *state);
/** Bytes of a tied embedding's gradient that the two ends of a pipeline exchange. */
double tied_gradient_bytes(const plait_problem *problem, const plait_degrees *degrees,
                           const plait_state_bytes *state);
sync_routes sync_routes_of(const plait_problem *problem, const plait_degrees *degrees);
/** Returns the routes with the state of a stage that has its own offload. (C.240) */
sync_routes routes_of_stage(const plait_problem *problem, const sync_routes *routes,
                            const plait_degrees *own);
stage_sync stage_sync_of(const plait_problem *problem, const plait_degrees *degrees,
                         const sync_routes *routes, const stage_load *load);
/** Returns the collective that reduces gradients, by the plan and the software. */
plait_collective_op reduction_of(const plait_overlaps *overlap, const plait_degrees *degrees);
plait_grad_sync grad_sync_of(const plait_problem *problem, const plait_degrees *degrees);
/** Exposed time of parameter gathers, which the next forward does not hide. (C.66) */
double gather_left_s(const plait_overlaps *overlap, plait_grad_sync how, const stage_load *load,
                     const stage_sync *sync);
/** Exposed time of reductions and gathers of all stages. (C.66, C.67) */
double sync_exposed_s(const plait_problem *problem, const plait_degrees *degrees,
                      const stage_cost *cost, int count);

// memory.c
/** Number of the job's GPUs on one node, which share its processors and memory. */
int node_gpus(const plait_problem *problem);
/**
 * Host memory of a node whose GPUs are all ranks of this stage. (C.382)
 *
 * @param away_bytes  offloaded activations of one microbatch
 */
double stage_host_bytes(const plait_problem *problem, const plait_degrees *degrees,
                        const stage_load *load, double away_bytes);
shard_ways shard_ways_of(const plait_degrees *degrees);
stage_state stage_state_of(const plait_problem *problem, const plait_degrees *degrees,
                           const layer_row *row, const plait_state_bytes *state, shard_ways ways,
                           const stage_load *load);
plait_memory stage_memory(const plait_problem *problem, const plait_degrees *degrees,
                          const stage_cost *cost);
double stage_activation_bytes(const stage_load *load);
double stage_buffer_bytes(const plait_problem *problem, const plait_degrees *degrees,
                          const layer_row *row, const stage_load *load);
/** Bytes of NCCL's buffers for one group; 0 if the group is inside a scale-up domain. (C.84) */
double communicator_bytes(const plait_problem *problem, plait_group_shape group);
double runtime_fixed_bytes(const plait_problem *problem, const plait_degrees *degrees);
/** Returns the accepted risk, or the default if `risk` is 0 or not a probability. */
double risk_accepted(double risk);
/** Returns the band of peaks: the problem's, or the default without evidence. */
plait_band risk_band(const plait_problem *problem);

// ---- all stages ----------------------------------------------------------------------------

/** Neighbouring stages that share one cost. */
typedef struct stage_run {
    int cost; /* index into step_parts.cost */
    int stages;
} stage_run;

/** Inputs of a step's sum. */
typedef struct step_parts {
    const plait_problem *problem;
    const plait_degrees *degrees;
    int microbatches;
    double send_s; /* time of one send between stages */
    int costs;
    const stage_cost *cost; /* [costs] */
    int runs;
    const stage_run *run;  /* [runs], from the first stage to the last */
    plait_rank_run *ranks; /* [runs], scratch of step_sum_of */
} step_parts;

typedef struct step_sum {
    double pipeline_s;    /* pipeline without the time that pairs hide; a bound unless `exact` */
    bool exact;           /* no simulation could find a longer pipeline */
    double alone_s;       /* pipeline without pairs */
    double hidden_s;      /* time that pairs hide of alone_s */
    double most_hidden_s; /* upper bound on hidden_s, for any slowest stage */
    double paired_s;      /* time that pairs hide in the slowest stage */
    double busy_s;        /* all microbatches of the slowest stage, less paired_s */
    double pp_comm_s;
    double dp_comm_s;
    double optimizer_s;
    double total_s;
    double busy_s_a_gpu; /* mean over GPUs, all microbatches */
    double moving_s_a_gpu;
    int slowest; /* slowest stage, as index into step_parts.cost */
} step_sum;

// step.c
step_sum step_sum_of(const step_parts *parts);
/**
 * Time of a stage's optimizer step, with the exposed part of sending gradients to the host. (C.165)
 */
double optimizer_left_s(const stage_load *load, const stage_sync *sync);
/** Replaces the bound of a pipeline by its simulated time. */
void step_sum_take(step_sum *sum, double pipeline_s);
/** Number of sends in a step: a rank's own, and those of others for which it waits. (C.64) */
double pipeline_sends(const plait_problem *problem, const plait_degrees *degrees);
/** Exposed time of sends. (C.64) */
double sends_exposed_s(const plait_problem *problem, const plait_degrees *degrees, int microbatches,
                       double send_s);

// fused_step.c
/** Number of boundaries at the begins of a load's chunks (`behind`), or else at their ends. */
double load_boundaries(const plait_degrees *degrees, const stage_load *load, bool behind);
/**
 * Time that fused boundaries save per microbatch: `before` of them at ends of chunks, `behind` at
 * begins.
 */
plait_chunk_time boundary_saves(const fused_boundary *boundary, double before, double behind);
/** Returns the parts with every boundary fused. Writes their costs to `fused`. */
step_parts parts_fused(const step_parts *parts, const fused_boundary *boundary, stage_cost *fused);
/**
 * Returns the smaller of the sums with and without fused boundaries; exact if both sums are.
 *
 * @param fused  scratch for all costs
 */
step_sum cheaper_sum_of(const step_parts *parts, const fused_boundary *boundary, stage_cost *fused);
/**
 * Computes the sum of one plan, and simulates its pipeline if the sum is only a bound. (C.76)
 *
 * @param fused   the costs with fused boundaries, if chosen
 * @param chosen  whether boundaries are fused
 */
PLAIT_MUST_CHECK plait_status simulated_sum_of(const step_parts *parts, const plait_plan *plan,
                                               const stage_rows *rows,
                                               const fused_boundary *boundary, stage_cost *fused,
                                               plait_pipelines *cache, plait_arena *arena,
                                               step_sum *sum, bool *chosen, plait_error *err);
/** Adds the changes by fused boundaries to a load's terms of one microbatch. */
void fused_boundary_terms(const stage_rows *rows, const fused_boundary *boundary,
                          const stage_load *load, double terms[LAYER_TERMS]);

// pipeline.c
/**
 * Simulates the pipeline of a legal plan with the times of its chunks, without sends. (C.76)
 *
 * @param cache       spans of schedules simulated before; NULL: none
 * @param pipeline_s  in: its lower bound, which stays if the schedule has no list of actions
 */
PLAIT_MUST_CHECK plait_status pipeline_simulate(const stage_rows *rows, const plait_plan *plan,
                                                const fused_boundary *boundary,
                                                plait_pipelines *cache, plait_arena *arena,
                                                double *pipeline_s, plait_error *err);
/**
 * Fills the times of a plan's chunks in pipeline order, without sends.
 *
 * @param boundary  fused boundaries; NULL: none
 * @param out       [pp * vpp]
 */
PLAIT_MUST_CHECK plait_status pipeline_chunks(const stage_rows *rows, const plait_plan *plan,
                                              const fused_boundary *boundary, plait_arena *arena,
                                              plait_sim_stage *out, plait_error *err);
plait_pipeline_shape pipeline_shape_of(const plait_problem *problem, const plait_degrees *degrees);
