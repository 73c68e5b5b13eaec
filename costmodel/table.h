/*
 * table.h - the rows that a price is added up from
 *
 *     layer_row   (tp cp ep etp sp cp_comm mbs)     seconds and bytes of each kind of layer
 *     gather_row  (zero shard_group)                what ZeRO-2 and -3 add to a layer
 *     stage_load  (pp vpp split schedule)           layers summed up by stage
 *     stage_sync  (zero shard_group)                state, gradient reduction, optimizer
 */
#ifndef PLAIT_COSTMODEL_TABLE_H
#define PLAIT_COSTMODEL_TABLE_H

#include "plait/cost.h"
#include "plait/kernel.h"
#include "plait/schedule.h"

/** Terms of one layer's time; the first terms of PLAIT_STEP_TERMS, in their order. */
typedef enum layer_term {
    LAYER_MATMUL,
    LAYER_ATTENTION,
    LAYER_MEMORY_OPS,
    LAYER_RECOMPUTE,
    LAYER_LAUNCH,
    LAYER_TP,
    LAYER_CP,
    LAYER_EP,
    LAYER_GATHER,
    LAYER_TERMS
} layer_term;

/** One kind of layer under one set of degrees, one microbatch on one rank. */
typedef struct layer_price {
    double forward[LAYER_TERMS]; /* seconds by term, launch apart */
    double backward[LAYER_TERMS];
    double part_s[PLAIT_PARTS]; /* forward seconds by part, for recomputation */
    double forward_gpu_s;
    double backward_gpu_s;
    double weight_s; /* weight-gradient part of backward */
    double busy_s;   /* forward and backward: products and attention ... */
    double moving_s; /* ... and memory-bound kernels */
    double host_s;   /* launch time of the forward */
    double saved_bytes[PLAIT_TENSORS];
    double kept_bytes;  /* without recomputation: their sum */
    double input_bytes; /* what `full` keeps */
    double cp_bytes;    /* largest buffer that context parallelism exchanges */
    plait_weights weights;
} layer_price;

/** All calls of one collective operator, and what of it no computation hides. */
typedef struct collective_time {
    double seconds;
    double exposed_s;
} collective_time;

/** Number of prices in a row: the kinds, then the embedding and the head. */
enum { ROW_EMBEDDING = PLAIT_MAX_LAYER_KINDS, ROW_HEAD, ROW_PRICES };

/** What ZeRO-2 and -3 add to one layer: seconds of one gather and one scatter. */
typedef struct layer_gather {
    double gather_s;
    double scatter_s;
} layer_gather;

typedef struct layer_row {
    plait_shard shard;
    layer_price price[ROW_PRICES];
    double p2p_bytes;   /* one activation between stages */
    double logit_bytes; /* on the last stage, one microbatch */
    double cp_buffer_bytes;
} layer_row;

typedef struct gather_row {
    layer_gather layer[ROW_PRICES];
    bool gathers;  /* ZeRO-3: parameters are gathered for each pass */
    bool scatters; /* ZeRO-2 and -3: gradients are scattered by each microbatch */
} gather_row;

/** Forward and backward of one layer behind gathers, launches and a recompute choice. */
typedef struct layer_time {
    double forward_s;
    double backward_s;
    double saved_bytes;
    double live_bytes; /* rebuilt in backward, one layer at a time */
    double busy_s;     /* forward and backward: products, attention, what is rebuilt */
    double moving_s;   /* and memory-bound kernels */
} layer_time;

/** One stage, or several alike: what its layers add up to. */
typedef struct stage_load {
    int index; /* of the earliest such stage */
    int count;
    bool embedding;
    bool loss;
    double in_flight;
    double forward_s;
    double backward_s;
    double weight_s;
    double busy_s;
    double moving_s;
    double saved_bytes;
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
} stage_sync;

/** Over how many ranks a shard is spread. */
typedef struct shard_ways {
    int dense;
    int expert;
} shard_ways;

/** Routes of the groups that gradients and parameters travel. */
typedef struct sync_routes {
    shard_ways ways;
    plait_route shard;    /* one ZeRO shard's ranks */
    plait_route replicas; /* who holds the same shard */
    plait_route expert_shard;
    plait_route expert_replicas;
    plait_route ends; /* first and last stage, which share a tied embedding */
    plait_network network;
} sync_routes;

// layer_price.c
void layer_row_fill(const plait_problem *problem, const plait_degrees *degrees, layer_row *row);
layer_time layer_time_of(const plait_problem *problem, const layer_price *price,
                         const layer_gather *gather, plait_recompute recompute);
void layer_terms_of(const plait_problem *problem, const layer_price *price,
                    const layer_gather *gather, plait_recompute recompute,
                    double terms[LAYER_TERMS]);
plait_kernel_context kernel_context_of(const plait_problem *problem);
plait_network network_of(const plait_problem *problem);
plait_shard shard_of(const plait_problem *problem, const plait_degrees *degrees);
plait_pass pass_of(const plait_problem *problem, const plait_degrees *degrees,
                   plait_pass_kind kind);
plait_route route_of_axis(const plait_problem *problem, const plait_degrees *degrees,
                          plait_axis axis);
collective_time collective_time_of(const plait_problem *problem, const plait_degrees *degrees,
                                   const plait_op *op, double attention_s);

// overlap.c
double buckets_of(const plait_overlaps *overlap, const plait_route *route, double bytes);
void gather_row_fill(const plait_problem *problem, const plait_degrees *degrees,
                     const sync_routes *routes, const layer_row *row, gather_row *out);
double over_shards_s(const sync_routes *routes, plait_collective_op op, double dense_bytes,
                     double expert_bytes);
sync_routes sync_routes_of(const plait_problem *problem, const plait_degrees *degrees);
stage_sync stage_sync_of(const plait_problem *problem, const plait_degrees *degrees,
                         const sync_routes *routes, const stage_load *load);
double sync_exposed_s(const plait_problem *problem, const plait_degrees *degrees,
                      const stage_load *loads, const stage_sync *syncs, int count);

// memory.c
shard_ways shard_ways_of(const plait_degrees *degrees);
stage_state stage_state_of(const plait_problem *problem, const plait_degrees *degrees,
                           const layer_row *row, shard_ways ways, const stage_load *load);
plait_memory stage_memory(const plait_problem *problem, const plait_degrees *degrees,
                          const layer_row *row, const stage_load *load, const stage_state *state);
double stage_activation_bytes(const stage_load *load);
double stage_buffer_bytes(const plait_problem *problem, const plait_degrees *degrees,
                          const layer_row *row, const stage_load *load);
double runtime_fixed_bytes(const plait_problem *problem, const plait_degrees *degrees);

// stage_load.c
void stage_load_begin(const plait_problem *problem, const plait_degrees *degrees, int stage,
                      stage_load *load);
void stage_load_add_layer(const layer_price *price, const layer_time *time, stage_load *load);
void stage_load_add_ends(const plait_problem *problem, const plait_degrees *degrees,
                         const layer_row *row, const gather_row *gather, bool embedding, bool loss,
                         int mtp, stage_load *load);
void stage_load_join(const stage_load *part, stage_load *load);

// step.c
typedef struct step_sum {
    double pipeline_s;
    double busy_s; /* of the slowest stage: its microbatches alone */
    double pp_comm_s;
    double dp_comm_s;
    double optimizer_s;
    double total_s;
    double busy_s_a_gpu; /* mean over stages, all microbatches */
    double moving_s_a_gpu;
    int slowest; /* index into the loads */
} step_sum;
step_sum step_sum_of(const plait_problem *problem, const plait_degrees *degrees, int microbatches,
                     double send_s, const stage_load *loads, const stage_sync *syncs, int count);
double pipeline_send_s(const plait_problem *problem, const plait_degrees *degrees,
                       const layer_row *row);

// volume.c
void volumes_of(const plait_problem *problem, const plait_plan *plan, const layer_row *row,
                const stage_load *load, const step_sum *sum, plait_cost *cost);

#endif
