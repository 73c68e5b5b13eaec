/*
 * stage_cost.h - from the parts of a stage to a step: the sums that prices, bounds and tables share
 *
 *     stage_parts   the layers and ends of a stage; equal ones are one part with a count
 *        |  stage_rows: price of each part under one set of degrees
 *        v
 *     stage_cost    load   seconds, bytes and parameters of its parts    (C.80, C.82)
 *                   state  parameters, gradients, optimizer in memory    (C.81)
 *                   sync   gradients, optimizer, gathers once a step     (C.65, C.69)
 *        |  one for each stage, or for each class of equal stages
 *        v
 *     step_sum      pipeline, sends, exposed reductions, optimizer       (C.80)
 *
 * The ends of the model are its embedding, its head with the loss, and its prediction modules. A
 * uniform plan has one stage_rows for all its stages (cost.c). A heterogeneous plan has one for
 * each stage (stage_pricer.c), and a plan with per-layer sharding has one for each sharding
 * (layer_sharding.c). A table caches the rows of the last point and the stage_cost of each class
 * (table.c).
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
 * Equal parts of a stage. They have one row of prices and one choice of recomputation and offload.
 */
typedef struct stage_part {
    short row; /* index into layer_row.price */
    short count;
    plait_choice choice;
} stage_part;

/** The parts of a stage; ends of the model come before layers. */
typedef struct stage_parts {
    int count;
    const stage_part *part;
    double share; /* share of microbatches per part: 1, or 1/2 if a rank has two stages */
} stage_parts;

/** Number of ranks over which parameters are sharded, in total and inside a scale-up domain. */
typedef struct shard_ways {
    int dense, expert;
    int node_dense, node_expert;
} shard_ways;

/** Routes of a shard group: inside a domain, and across domains among one rank of each domain. */
typedef struct shard_nodes {
    plait_route inside, across;
} shard_nodes;

/**
 * State formats, shard sizes, and routes of the groups that reduce gradients and gather parameters.
 */
typedef struct sync_routes {
    plait_state_bytes state; /* bytes per parameter in the plan's formats */
    shard_ways ways;
    plait_route shard;    /* route within one ZeRO shard group */
    plait_route replicas; /* route among the ranks with the same shard */
    plait_route expert_shard;
    plait_route expert_replicas;
    shard_nodes dense_nodes; /* valid if reshard or quantise separates domains (C.169, C.171) */
    shard_nodes expert_nodes;
    plait_route ends; /* route between the first and the last stage, for a tied embedding */
    plait_network network;
} sync_routes;

/** A view of the prices of all kinds of parts, for one set of degrees. */
typedef struct stage_rows {
    const plait_problem *problem;
    const plait_degrees *degrees;
    const layer_row *row;
    const gather_row *gather;
    const sync_routes *routes;
} stage_rows;

/** Owns the prices of stages on one node group with one set of degrees. */
struct plait_stage_pricer {
    plait_problem problem; /* problem of this node group alone if the plan is heterogeneous */
    plait_degrees degrees;
    const plait_cluster *whole; /* cluster with all node groups */
    int group;
    layer_row row;
    gather_row gather;
    sync_routes routes;
    stage_part *part; /* parts of the last summed stage */
};

static inline void varied_time_add(varied_time *sum, double count, const varied_time *more)
{
    sum->mean_s += count * more->mean_s;
    sum->deviation_s += count * more->deviation_s;
    sum->most_s += count * more->most_s;
}

/**
 * Adds the times and bytes of `count` parts of one row. Layers recompute their activations one at a
 * time, so live_bytes is a maximum instead of a sum. The function is inline, since a search calls
 * it in its inner loop. (C.80, C.82)
 */
static inline void stage_load_add(stage_load *load, double count, const layer_time *time)
{
    load->forward_s += count * time->forward_s;
    load->backward_s += count * time->backward_s;
    load->weight_s += count * time->weight_s;
    load->busy_s += count * time->busy_s;
    load->moving_s += count * time->moving_s;
    if (time->varied.mean_s > 0.0) // only if lengths of documents are known
        varied_time_add(&load->varied, count, &time->varied);
    load->saved_bytes += count * time->saved_bytes;
    load->live_bytes = larger(load->live_bytes, time->live_bytes);
}

/**
 * Adds the terms that do not depend on recomputation: the parameters, and the time that pairs of
 * microbatches save.
 */
static inline void stage_load_add_weights(stage_load *load, double count, const layer_price *price)
{
    for (int how = PLAIT_EP_OVERLAP_PAIRS; how < PLAIT_EP_OVERLAPS; how++)
        load->paired_s[how] += count * price->paired_s[how];
    load->dense += count * price->weights.dense;
    load->expert += count * price->weights.expert;
    load->frozen_dense += count * price->weights.frozen_dense;
    load->frozen_expert += count * price->weights.frozen_expert;
}

/** Returns whether the choice is full:N, which recomputes only the first layers of each chunk. */
static inline bool recomputes_some(const plait_degrees *d)
{
    return d->recompute.kind == PLAIT_RECOMPUTE_FULL && d->recompute.layers > 0;
}

/** Returns the choice of prediction modules and of the layers that full:N leaves as they are. */
static inline plait_choice rest_choice(const plait_degrees *d)
{
    plait_choice choice = {.offload_acts = d->offload_acts};

    if (!recomputes_some(d))
        choice.recompute = d->recompute;
    return choice;
}

// stage_cost.c
/**
 * Upper bound on the number of parts of a stage with this many layers, for any choices of its
 * layers.
 */
int stage_parts_most(int layers);

/**
 * Lists the layers and ends of one stage as parts, with equal ones counted. If stage->recompute is
 * set, it has one entry per layer.
 *
 * @param part  [stage_parts_most], filled
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
 * Fills the microbatches in flight of each chunk of a rank, [vpp], and returns true. Returns false
 * if vpp is 1 or all chunks have the same number of layers; the schedule's mean number of
 * microbatches in flight is then valid for each chunk. (C.260)
 */
bool stage_chunks_in_flight(const plait_degrees *degrees, const plait_chunk *chunk, int rank,
                            int microbatches, double *in_flight);

/** Sums parts as one stage. Its first and its last chunk are set to the whole stage. */
stage_load stage_load_of(const stage_rows *rows, const stage_parts *parts, double in_flight);
/** Fills the state and the buffers of a stage from the parameters of its load. */
void stage_cost_add_state(const stage_rows *rows, stage_cost *cost);
/** Fills state, buffers and sync from the load. */
void stage_cost_complete(const stage_rows *rows, stage_cost *cost);
/** Returns all terms of these parts: stage_load_of, then stage_cost_complete. */
stage_cost stage_cost_of(const stage_rows *rows, const stage_parts *parts, double in_flight);
/** Fills the times of one microbatch of these parts, by term. */
void stage_terms(const stage_rows *rows, const stage_parts *parts, double terms[LAYER_TERMS]);
/** Bytes of activations that these parts offload to the host, per microbatch. (C.166) */
double stage_away_bytes(const layer_row *row, const stage_parts *parts);
/** Returns the public summary of a stage. */
plait_stage_cost stage_cost_report(const stage_cost *cost, const plait_memory *memory);

// stage_pricer.c
/**
 * Creates a pricer for stages with these degrees on the whole cluster. Returns NULL when out of
 * memory.
 *
 * @param layers  upper bound on the number of layers of one stage
 */
plait_stage_pricer *stage_pricer_new(const plait_problem *problem, const plait_degrees *degrees,
                                     int layers, plait_arena *arena);
stage_rows stage_rows_of(const plait_stage_pricer *pricer);
/**
 * Sums a stage of a heterogeneous plan. The parts of the stage are valid until the next sum with
 * this pricer.
 *
 * @param other  node group at the other end of the pipeline, for the gradients of a tied embedding
 * @param parts  receives the parts; may be NULL
 */
stage_cost stage_pricer_sum(plait_stage_pricer *pricer, const plait_stage *stage, int other,
                            double in_flight, stage_parts *parts);
/**
 * Returns the price of a summed stage: its times, its exposed time after the pipeline, and its
 * memory.
 */
plait_stage_price stage_pricer_price(const plait_stage_pricer *pricer, const stage_cost *cost);

// overlap.c
double buckets_of(const plait_overlaps *overlap, const plait_route *route, double plan_bucket_bytes,
                  double bytes);
void gather_row_fill(const plait_problem *problem, const plait_degrees *degrees,
                     const sync_routes *routes, const layer_row *row, gather_row *out);
/** Bytes of one gathered parameter, and of one reduce-scattered gradient. */
double gathered_value_bytes(const plait_degrees *degrees, const plait_state_bytes *state);
double scattered_value_bytes(const plait_degrees *degrees, const plait_state_bytes *state);
/** Bytes of a tied embedding's gradient that the two ends of a pipeline exchange. */
double tied_gradient_bytes(const plait_problem *problem, const plait_degrees *degrees,
                           const plait_state_bytes *state);
sync_routes sync_routes_of(const plait_problem *problem, const plait_degrees *degrees);

/** Returns sync_routes.ways alone: fast unless gathers or reductions differ inside a node. */
shard_ways sync_ways_of(const plait_problem *problem, const plait_degrees *d);
/** Returns the routes with the state formats of a stage that has its own offload. (C.240) */
sync_routes routes_of_stage(const plait_problem *problem, const sync_routes *routes,
                            const plait_degrees *own);
stage_sync stage_sync_of(const plait_problem *problem, const plait_degrees *degrees,
                         const sync_routes *routes, const stage_load *load);
/**
 * Returns the collective that reduces gradients, which depends on the ZeRO stage and the software.
 */
plait_collective_op reduction_of(const plait_overlaps *overlap, const plait_degrees *degrees);
plait_grad_sync grad_sync_of(const plait_problem *problem, const plait_degrees *degrees);
/**
 * Exposed time of parameter gathers: the part that the next forward and, with gather_with_step, the
 * optimizer do not hide. (C.66, C.391)
 */
double gather_left_s(const plait_problem *problem, const plait_degrees *degrees,
                     const stage_load *load, const stage_sync *sync);
/** Exposed time of reductions and gathers of all stages. (C.66, C.67) */
double sync_exposed_s(const plait_problem *problem, const plait_degrees *degrees,
                      const stage_cost *cost, int count);

// memory.c
/** Number of the job's GPUs on one node, which share its processors and memory. */
int node_gpus(const plait_problem *problem);
/**
 * Bytes of host memory on a node if all its GPUs are ranks of this stage. (C.382)
 *
 * @param away_bytes  offloaded activations of one microbatch
 */
double stage_host_bytes(const plait_problem *problem, const plait_degrees *degrees,
                        const stage_load *load, double away_bytes);
shard_ways shard_ways_of(const plait_degrees *degrees);
/** Bytes of a GPU for the weights of a reference model or a teacher in this layout. (C.415) */
double reference_bytes(const plait_problem *problem, const plait_degrees *degrees,
                       const stage_load *load);
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
/**
 * Returns the problem's band of measured to predicted memory peaks, or the default without
 * measurements.
 */
plait_band risk_band(const plait_problem *problem);

// ---- all stages ----------------------------------------------------------------------------

/** A run of neighbouring stages that share one cost. */
typedef struct stage_run {
    int cost; /* index into step_parts.cost */
    int stages;
} stage_run;

/** Inputs of step_sum_of. */
typedef struct step_parts {
    const plait_problem *problem;
    const plait_degrees *degrees;
    int microbatches;
    double send_s; /* time of one send between stages */
    int costs;
    const stage_cost *cost; /* [costs] */
    int runs;
    const stage_run *run;  /* [runs], from first to last stage */
    plait_rank_run *ranks; /* [runs], scratch of step_sum_of */
} step_parts;

typedef struct step_sum {
    double pipeline_s;    /* time of the pipeline, minus hidden_s; a lower bound unless `exact` */
    bool exact;           /* whether the closed form equals the simulated time */
    double alone_s;       /* time of the pipeline if microbatches do not run in pairs */
    double hidden_s;      /* part of alone_s that pairs of microbatches hide */
    double most_hidden_s; /* upper bound on hidden_s, whichever stage is the slowest */
    double paired_s;      /* time that pairs hide in the slowest stage */
    double busy_s;        /* time of all microbatches in the slowest stage, minus paired_s */
    double pp_comm_s;
    double dp_comm_s;
    double optimizer_s;
    double data_s;      /* waiting for the rank whose documents take longest */
    double forward_s;   /* a pass of all microbatches without backward */
    double reference_s; /* such a pass of a reference model or a teacher, as far as it is exposed */
    double other_gpus_s; /* such a pass on other GPUs, at the same time as the rest of the step */
    double total_s;
    double busy_s_a_gpu; /* mean over GPUs, for all microbatches */
    double moving_s_a_gpu;
    int slowest; /* index of the slowest stage in step_parts.cost */
} step_sum;

// step.c
step_sum step_sum_of(const step_parts *parts);
/**
 * Time of a stage's optimizer step, plus the exposed part of sending gradients to the host. (C.165)
 */
double optimizer_left_s(const stage_load *load, const stage_sync *sync);
/** Sets the time of the pipeline to its simulated time, and updates the sum. */
void step_sum_take(step_sum *sum, double pipeline_s);
/** Number of sends in a step for which a rank waits: its own, and those of other ranks. (C.64) */
double pipeline_sends(const plait_problem *problem, const plait_degrees *degrees);
/** Exposed time of all sends of a step. (C.64) */
double sends_exposed_s(const plait_problem *problem, const plait_degrees *degrees, int microbatches,
                       double send_s);

// fused_step.c
/** Number of boundaries at the beginnings (`behind`) or at the ends of a load's chunks. */
double load_boundaries(const plait_degrees *degrees, const stage_load *load, bool behind);
/**
 * Time that fused boundaries save per microbatch, with `before` of them at ends and `behind` of
 * them at beginnings of chunks.
 */
plait_chunk_time boundary_saves(const fused_boundary *boundary, double before, double behind);
/** Returns the parts with every boundary fused, and writes their costs to `fused`. */
step_parts parts_fused(const step_parts *parts, const fused_boundary *boundary, stage_cost *fused);
/**
 * Returns the shorter of the step with and the step without fused boundaries; `exact` requires that
 * both are exact.
 *
 * @param fused  scratch for all costs
 */
step_sum cheaper_sum_of(const step_parts *parts, const fused_boundary *boundary, stage_cost *fused);
/**
 * Sums the step of one plan, and simulates its pipeline if the closed form is only a bound. (C.76)
 *
 * @param fused   receives the costs with fused boundaries; valid if *chosen
 * @param chosen  receives whether fused boundaries are faster
 */
PLAIT_MUST_CHECK plait_status simulated_sum_of(const step_parts *parts, const plait_plan *plan,
                                               const stage_rows *rows,
                                               const fused_boundary *boundary, stage_cost *fused,
                                               plait_pipelines *cache, plait_arena *arena,
                                               step_sum *sum, bool *chosen, plait_error *err);
/** Adds the time by which fused boundaries change each term of one microbatch. */
void fused_boundary_terms(const stage_rows *rows, const fused_boundary *boundary,
                          const stage_load *load, double terms[LAYER_TERMS]);

// pipeline.c
/**
 * Simulates the pipeline of a legal plan with the times of its chunks, without sends. (C.76)
 *
 * @param cache       cached spans of simulated schedules; NULL: no cache
 * @param pipeline_s  in: lower bound, returned unchanged if the schedule has no list of actions
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
