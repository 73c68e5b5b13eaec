/*
 * stage_sum.h - from the parts of a stage to a step: what prices, bounds and tables add up
 *
 *     stage_parts  what a stage is made of: rows, how many, what is recomputed
 *     stage_load   their sum: seconds, bytes, parameters
 *     stage_sync   state, gradient reduction, optimizer, once a step
 *     step_sum     all stages and what passes between them
 */
#pragma once

#include "costmodel/layer/layer_row.h"
#include "base/numbers.h"
#include "plait/schedule.h"
#include "plait/simulate.h"
#include "costmodel/schedule/span_cache.h"

/** So many parts of one row with one choice of what they keep. */
typedef struct stage_part {
    short row; /* of layer_row.price */
    short count;
    plait_choice choice;
} stage_part;

/** The parts of a stage: what every sum over its layers walks. */
typedef struct stage_parts {
    int count;
    const stage_part *part;
    double
        share; /* of the microbatches that pass each: 1; one half where a rank holds two stages */
} stage_parts;

/** One stage, or several alike: what its parts add up to. */
typedef struct stage_load {
    int index; /* of the earliest such stage */
    int count;
    bool embedding;
    bool loss;
    double in_flight;
    double forward_s;
    double backward_s;
    double weight_s;
    plait_chunk_time first; /* of its chunks: of the whole, where it has one */
    plait_chunk_time last;
    double paired_s[PLAIT_EP_OVERLAPS]; /* that a pair of microbatches takes less than both */
    double busy_s;
    double moving_s;
    double saved_bytes; /* of one microbatch in all chunks */
    double held_bytes;  /* of all in flight */
    double live_bytes;
    double dense; /* parameters on this rank */
    double expert;
} stage_load;

/** State of one stage in memory. */
typedef struct stage_state {
    double weights_bytes;
    double gradients_bytes;
    double optimizer_bytes;
    double buffers_bytes; /* that grow with parameters */
} stage_state;

/** Gradients and parameters of one stage, once a step. */
typedef struct stage_sync {
    double reduce_s; /* gradients, all of it */
    double across_s; /* of which between the holders of one shard */
    double gather_s; /* ZeRO-1 and -2: parameters after the optimizer */
    double optimizer_s;
    double down_s; /* gradients to the host, behind one backward ... */
    double downs;  /* ... so often a step */
} stage_sync;

/** Over how many ranks a shard is spread; in one domain, where a plan tells those apart. */
typedef struct shard_ways {
    int dense, expert;
    int node_dense, node_expert;
} shard_ways;

/** The ranks of a shard in one domain, and one of each domain. */
typedef struct shard_nodes {
    plait_route inside, across;
} shard_nodes;

/** State, shards, and routes of the groups that gradients and parameters travel. */
typedef struct sync_routes {
    plait_state_bytes state; /* of the plan's formats */
    shard_ways ways;
    plait_route shard;    /* one ZeRO shard's ranks */
    plait_route replicas; /* who holds the same shard */
    plait_route expert_shard;
    plait_route expert_replicas;
    shard_nodes dense_nodes; /* where the plan tells domains apart (C.169, C.171) */
    shard_nodes expert_nodes;
    plait_route ends; /* first and last stage, which share a tied embedding */
    plait_network network;
} sync_routes;

// overlap.c
double buckets_of(const plait_overlaps *overlap, const plait_route *route, double bytes);
void gather_row_fill(const plait_problem *problem, const plait_degrees *degrees,
                     const sync_routes *routes, const layer_row *row, gather_row *out);
/** Bytes of a parameter as it is gathered, and of a gradient as it is scattered. */
double gathered_value_bytes(const plait_degrees *degrees, const plait_state_bytes *state);
double scattered_value_bytes(const plait_degrees *degrees, const plait_state_bytes *state);
/** What the two ends of a pipeline exchange of a tied embedding's gradient. */
double tied_gradient_bytes(const plait_problem *problem, const plait_degrees *degrees,
                           const plait_state_bytes *state);
sync_routes sync_routes_of(const plait_problem *problem, const plait_degrees *degrees);
/** The same routes with the state of a stage that offloads as it likes. (C.240) */
sync_routes routes_of_stage(const plait_problem *problem, const sync_routes *routes,
                            const plait_degrees *own);
stage_sync stage_sync_of(const plait_problem *problem, const plait_degrees *degrees,
                         const sync_routes *routes, const stage_load *load);
/** How gradients are reduced: as the plan says, but where the software knows better. */
plait_collective_op reduction_of(const plait_overlaps *overlap, const plait_degrees *degrees);
plait_grad_sync grad_sync_of(const plait_problem *problem, const plait_degrees *degrees);
/** Of gathered parameters, what the next forward does not hide. (C.66) */
double gather_left_s(const plait_overlaps *overlap, plait_grad_sync how, const stage_load *load,
                     const stage_sync *sync);
double sync_exposed_s(const plait_problem *problem, const plait_degrees *degrees,
                      const stage_load *loads, const stage_sync *syncs, int count);

// memory.c
/** GPUs of the job on one node: they share its processors and its memory. */
int node_gpus(const plait_problem *problem);
/** Host memory of a node full of ranks of this stage; away: activations of a microbatch. (C.382) */
double stage_host_bytes(const plait_problem *problem, const plait_degrees *degrees,
                        const stage_load *load, double away_bytes);
/** Activations of a microbatch that a stage of these parts has on the host. (C.166) */
double stage_away_bytes(const layer_row *row, const stage_parts *parts);
shard_ways shard_ways_of(const plait_degrees *degrees);
stage_state stage_state_of(const plait_problem *problem, const plait_degrees *degrees,
                           const layer_row *row, const plait_state_bytes *state, shard_ways ways,
                           const stage_load *load);
plait_memory stage_memory(const plait_problem *problem, const plait_degrees *degrees,
                          const layer_row *row, const stage_load *load, const stage_state *state);
double stage_activation_bytes(const stage_load *load);
double stage_buffer_bytes(const plait_problem *problem, const plait_degrees *degrees,
                          const layer_row *row, const stage_load *load);
/** NCCL's buffers of one group: where it leaves its scale-up domain. (C.84) */
double communicator_bytes(const plait_problem *problem, plait_group_shape group);
double runtime_fixed_bytes(const plait_problem *problem, const plait_degrees *degrees);

// risk.c
/** The risk that is meant: 0, and what is no probability, stand for the usual one. */
double risk_accepted(double risk);
/** The band of a peak: the problem's, or the usual one where it has none. */
plait_band risk_band(const plait_problem *problem);

// stage_parts.c
/** Most parts that a stage of so many layers can have, whatever is chosen for each. */
int stage_parts_most(int layers);
/** The chunks of one stage as parts, equal ones counted; `recompute` has one entry a layer. */
stage_parts stage_parts_of(const plait_model *model, const plait_stage *stage, stage_part *room);
/** The same of one of its chunks. */
stage_parts stage_parts_of_chunk(const plait_model *model, const plait_stage *stage, int v,
                                 stage_part *room);
/**
 * What a rank really holds: its stage, or under DualPipe that and the mirrored one.
 *
 * @return  false when out of memory
 */
bool stage_of_rank(const plait_plan *plan, int rank, plait_arena *arena, plait_stage *out);
/**
 * Microbatches in flight of each chunk of a rank, [vpp]; false where its chunks have equally many
 * layers, or are of two stages, so that the schedule's mean is that of each. (C.260)
 */
bool stage_chunks_held(const plait_degrees *degrees, const plait_chunk *chunk, int rank,
                       int microbatches, double *held);
bool stage_parts_have(const stage_parts *parts, int row);
/** Adds times, bytes and parameters of all parts to `load`; parts of half a share count half. */
void stage_load_add_parts(const plait_problem *problem, const layer_row *row,
                          const gather_row *gather, const stage_parts *parts, stage_load *load);

/**
 * Adds the times and bytes of `count` parts of one row: times add up, and of what is rebuilt one
 * layer at a time the largest is there. Inline: the search adds nothing else. (C.80, C.82)
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

/** Adds what does not depend on recomputation: parameters, pairs. */
static inline void stage_load_add_weights(stage_load *load, double count, const layer_price *price)
{
    for (int how = PLAIT_EP_OVERLAP_PAIRS; how < PLAIT_EP_OVERLAPS; how++)
        load->paired_s[how] += count * price->paired_s[how];
    load->dense += count * price->weights.dense;
    load->expert += count * price->weights.expert;
}

/** Stages next to each other that one load stands for. */
typedef struct stage_run {
    int load;
    int stages;
} stage_run;

/** What a step adds up. */
typedef struct step_parts {
    const plait_problem *problem;
    const plait_degrees *degrees;
    int microbatches;
    double send_s; /* of one send between stages */
    int loads;
    const stage_load *load; /* [loads] */
    const stage_sync *sync; /* [loads] */
    int runs;
    const stage_run *run;  /* [runs], from the first stage to the last */
    plait_rank_run *ranks; /* [runs], room */
} step_parts;

static inline plait_chunk_time chunk_time_of(const stage_load *load)
{
    return (plait_chunk_time){load->forward_s, load->backward_s, load->weight_s};
}

struct fused_boundary; // fuse.h

// step.c
typedef struct step_sum {
    double pipeline_s; /* at least, unless exact; less what pairs of microbatches hide */
    bool exact;
    double alone_s;       /* the same without pairs */
    double hidden_s;      /* that pairs save of it ... */
    double most_hidden_s; /* ... at most, whichever stage it is that all wait for */
    double paired_s;      /* that those of the slowest stage save */
    double busy_s; /* of the slowest stage: its microbatches alone, in pairs where they are */
    double pp_comm_s;
    double dp_comm_s;
    double optimizer_s;
    double total_s;
    double busy_s_a_gpu; /* mean over stages, all microbatches */
    double moving_s_a_gpu;
    int slowest; /* index into the loads */
} step_sum;
step_sum step_sum_of(const step_parts *parts);
/** The optimizer of a stage, and what its gradients on their way to the host leave exposed. (C.165) */
double optimizer_left_s(const stage_load *load, const stage_sync *sync);
/** Takes the time of a simulated pipeline in place of its bound. */
void step_sum_take(step_sum *sum, double pipeline_s);
/** Sends that a step waits for or hides: a rank's own, and others' where it waits for those. (C.64) */
double pipeline_sends(const plait_problem *problem, const plait_degrees *degrees);
double pipeline_send_s(const plait_problem *problem, const plait_degrees *degrees,
                       const layer_row *row);
/** Of them, what nothing hides. (C.64) */
double sends_exposed_s(const plait_problem *problem, const plait_degrees *degrees, int microbatches,
                       double send_s);

// pipeline.c
/**
 * The pipeline of a legal plan, simulated with the times of its chunks and no sends. (C.76)
 *
 * @param memo        what schedules like it have taken; NULL: nothing is remembered
 * @param pipeline_s  in: its lower bound, which stands where the schedule cannot be spelled out
 */
PLAIT_MUST_CHECK plait_status pipeline_simulate(const plait_problem *problem,
                                                const plait_plan *plan, const layer_row *row,
                                                const gather_row *gather,
                                                const struct fused_boundary *boundary,
                                                plait_pipelines *memo, plait_arena *arena,
                                                double *pipeline_s, plait_error *err);
/**
 * The chunks of a plan in the order of its pipeline, without sends; with boundaries fused, or NULL.
 *
 * @param out  [pp * vpp]
 */
PLAIT_MUST_CHECK plait_status pipeline_chunks(const plait_problem *problem, const plait_plan *plan,
                                              const layer_row *row, const gather_row *gather,
                                              const struct fused_boundary *boundary,
                                              plait_arena *arena, plait_sim_stage *out,
                                              plait_error *err);
plait_pipeline_shape pipeline_shape_of(const plait_problem *problem, const plait_degrees *degrees);

// volume.c
/**
 * The communication of the slowest stage; `boundary`, NULL: as they are. The list lives in `arena`;
 * false when out of memory.
 */
bool volumes_of(const plait_problem *problem, const plait_degrees *degrees, const layer_row *row,
                const stage_parts *parts, const stage_load *load, const step_sum *sum,
                const struct fused_boundary *boundary, plait_arena *arena, plait_cost *cost);
