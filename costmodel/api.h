/*
 * api.h - functions of the cost model for the search, in addition to the public headers
 *
 * In order: plait_table_new once per problem, then plait_degrees_bound for a lower bound over all
 * completions of a point, plait_degrees_cost for the price of a point as a sum of table entries,
 * and plait_degrees_simulate if that price is only a bound. A table and plait_plan_cost use the
 * same terms, and a property test compares them.
 *
 * A search that chooses recomputation, offload or sharding for each layer needs separate terms of a
 * stage: the cost of a layer under a choice (plait_layer_cost_of), the terms of a stage that no
 * choice changes (plait_stage_base_of), and the step of stages with these choices
 * (plait_stages_price). They do not cover schedules that hold every stage on two ranks, nor fused
 * boundaries of chunks.
 *
 * Units: seconds and bytes, of one GPU unless a comment states otherwise.
 */
#pragma once

#include "plait/cost.h"
#include "plait/lowlevel/schedule.h"

// ---- one stage -----------------------------------------------------------------------------

/** The sum of a stage's parts, on one rank. Times are of one microbatch. */
typedef struct stage_load {
    int index; /* index of the earliest of `count` equal stages */
    int count;
    bool embedding;
    bool loss;
    double in_flight; /* microbatches at the peak of memory */
    double forward_s;
    double backward_s;
    double weight_s;                    /* weight-gradient part of backward_s */
    plait_chunk_time first;             /* times of the rank's first chunk */
    plait_chunk_time last;              /* times of the rank's last chunk, which may be its first */
    double paired_s[PLAIT_EP_OVERLAPS]; /* time that a pair of microbatches saves */
    double busy_s;                      /* time of products and attention, forward and backward */
    double moving_s;                    /* time of memory-bound kernels, forward and backward */
    double saved_bytes;                 /* kept activations of one microbatch, all chunks */
    double held_bytes;                  /* activations of all microbatches in flight */
    double live_bytes;                  /* activations of the largest rebuilt layer */
    double dense;                       /* parameters outside the routed experts */
    double expert;                      /* parameters of routed experts */
} stage_load;

/** State of one stage in memory. */
typedef struct stage_state {
    double weights_bytes;
    double gradients_bytes;
    double optimizer_bytes;
    double buffers_bytes; /* buffers that grow with parameters */
} stage_state;

/** Gradients and parameters of one stage, once a step. */
typedef struct stage_sync {
    double reduce_s;    /* reduction of all gradients */
    double gather_s;    /* gather of parameters after the optimizer (ZeRO-1 and -2) */
    double optimizer_s; /* optimizer step */
    double down_s;      /* gradients to the host, overlapped with one backward */
    double downs;       /* number of backward passes per step that send gradients to the host */
} stage_sync;

/** The terms of a stage, or of a class of equal stages, that a step adds up. */
typedef struct stage_cost {
    stage_load load;
    stage_state state;
    double buffers_bytes; /* buffers that do not grow with parameters (C.83) */
    stage_sync sync;
} stage_cost;

/** Times of a chunk. */
static inline plait_chunk_time chunk_time_of(const stage_load *load)
{
    return (plait_chunk_time){load->forward_s, load->backward_s, load->weight_s};
}

/**
 * Exposed work of a stage after the pipeline, once a step: its part of dp_comm, and its optimizer.
 */
typedef struct plait_stage_tail {
    double reduce_s;    /* exposed reduction: the longest counts, with bulk the sum */
    double gather_s;    /* exposed gather: the longest of all stages counts */
    double optimizer_s; /* optimizer step: the longest of all stages counts */
} plait_stage_tail;

/**
 * The tail of a stage. With grad_sync shifted a lower bound: the hidden part depends on the
 * shortest backward of all stages. (C.243)
 */
plait_stage_tail plait_stage_tail_of(const plait_problem *problem, const plait_degrees *degrees,
                                     const stage_cost *cost);

// ---- stages that differ --------------------------------------------------------------------

/** Prices of stages on one node group with one set of degrees, for any layers and recomputation. */
typedef struct plait_stage_pricer plait_stage_pricer;

/** The price of one such stage. */
typedef struct plait_stage_price {
    plait_chunk_time time; /* one microbatch; weight_s is 0 */
    plait_stage_tail tail;
    double state_bytes;      /* peak with no microbatch in flight */
    double flight_bytes;     /* added to the peak by each microbatch in flight */
    double busy_s, moving_s; /* as in plait_price, one microbatch */
} plait_stage_price;

/** Number of stages of these degrees that a group has the GPUs for, at least two. (C.221) */
int plait_stage_pricer_stages(const plait_problem *problem, int group,
                              const plait_degrees *degrees);

/**
 * The pricer of stages of `group` with these degrees. (C.221)
 *
 * @param degrees  legal on the group alone; pp: plait_stage_pricer_stages
 * @return         lives in `arena`; NULL when out of memory
 */
plait_stage_pricer *plait_stage_pricer_new(const plait_problem *problem, int group,
                                           const plait_degrees *degrees, plait_arena *arena);

/**
 * The price of one stage with its chunk and its recomputation.
 *
 * @param stage  one chunk; its degrees' recompute is that of all its layers
 * @param other  the group at the other end of the pipeline; matters for the first and the last
 *               stage
 */
plait_stage_price plait_stage_pricer_price(plait_stage_pricer *sort, const plait_stage *stage,
                                           int other);

/** Device memory that such a stage may use at this risk. (C.85) */
double plait_stage_pricer_capacity_bytes(const plait_stage_pricer *sort, double risk);

/** Communication between stages, and their work after the pipeline. (C.222 to C.225) */
typedef struct plait_between_stages {
    double sends_s;        /* one microbatch through all boundaries, there and back */
    double slowest_s;      /* one microbatch through the slowest boundary, there and back */
    double link_s;         /* the slower direction of the slowest link */
    plait_stage_tail tail; /* longest of all stages */
} plait_between_stages;

/** Adds the boundary between two stages next to each other. (C.222, C.223) */
void plait_between_add_boundary(plait_between_stages *sum, const plait_stage_pricer *from,
                                const plait_stage_pricer *to);

/** Adds the reduction, gather and optimizer of one stage. */
void plait_between_add_stage(plait_between_stages *sum, const plait_stage_price *price);

/** Exposed sends of a step whose pipeline has this duration. (C.224, C.225) */
double plait_between_sends_s(const plait_problem *problem, const plait_between_stages *sum,
                             int microbatches, double pipeline_s);

/** The step: pipeline, sends, gradients, parameters, optimizer. (C.226) */
double plait_between_step_s(const plait_problem *problem, const plait_between_stages *sum,
                            int microbatches, double pipeline_s);

/** Cached prices of one problem. Each thread needs its own: a table changes with every query. */
typedef struct plait_table plait_table;

/**
 * The table of a problem, in `arena`. NULL when out of memory, or if the problem is incomplete
 * (problem.h).
 */
plait_table *plait_table_new(const plait_problem *problem, plait_arena *arena);

/**
 * Let a table cache more than its last rows: halves of layers, classes of ranks, the order of
 * simulated schedules. Pricing many points is up to five times as fast. Prices do not change.
 *
 * @param arena  grows by up to 60 MB; must not be rewound while the table is used
 */
void plait_table_remember(plait_table *table, plait_arena *arena);

/**
 * Price one legal point: a sum of table entries.
 *
 * Fast if consecutive points share their first keys. Rows are cached by the keys of layers (tp cp
 * cp_comm ep etp sp mbs placement fusion dispatcher attention grad_reduce), then of ranks (pp dp
 * vpp split schedule order post_validation), then of shards (zero, shard_group, formats and offload
 * of state), then recompute.
 */
plait_price plait_degrees_cost(plait_table *table, const plait_degrees *degrees);

/**
 * The price of the point that plait_degrees_cost gave a bound of, with its pipeline simulated.
 *
 * @param price    in: the last result of plait_degrees_cost, for this point; out: exact
 * @param scratch  used and rewound
 */
PLAIT_MUST_CHECK plait_status plait_degrees_simulate(plait_table *table,
                                                     const plait_degrees *degrees,
                                                     plait_arena *scratch, plait_price *price,
                                                     plait_error *err);

/** plait_memory's host_bytes of one legal point. (C.382) */
double plait_degrees_host_bytes(plait_table *table, const plait_degrees *degrees);

/** plait_plan_evaluate for the table's problem, with the table's cache of simulated schedules. */
PLAIT_MUST_CHECK plait_status plait_table_plan_cost(plait_table *table, const plait_plan *plan,
                                                    plait_arena *arena, plait_cost *cost,
                                                    plait_error *err);

/**
 * Lower bounds of time and memory over all completions of a point.
 *
 * Fixed: the keys of layers and of ranks (plait_degrees_cost). Free: shards, recompute,
 * offload_acts, grad_sync. (C.90)
 *
 * @param most_bytes  no time is computed for a point that needs more: step_s is 0. HUGE_VAL: no
 *                    limit
 */
plait_price plait_degrees_bound(plait_table *table, const plait_degrees *degrees,
                                double most_bytes);

/**
 * As plait_degrees_bound, with recompute and offload_acts fixed too. Free: zero, shard_group,
 * reshard, scatter, quantise, grad_sync and the formats of state. (C.93)
 */
plait_price plait_choice_bound(plait_table *table, const plait_degrees *degrees, double most_bytes);

/**
 * As plait_degrees_bound, with the keys of a shard fixed too: zero, shard_group, reshard, scatter,
 * quantise, grad_sync and the formats of state. Free: recompute, offload_acts. (C.94)
 */
plait_price plait_shard_bound(plait_table *table, const plait_degrees *degrees);

/**
 * Lower bounds over all completions of fewer keys: tp cp ep etp sp cp_comm mbs fusion pp dp. (C.91)
 *
 * They assume perfectly even stages, no bubble and one microbatch in flight.
 */
plait_price plait_pipeline_bound(plait_table *table, const plait_degrees *degrees);

/**
 * A weaker bound that does not price layers: state, and the cached time of halves of layers if the
 * table caches any (plait_table_remember). (C.97)
 *
 * @param most_bytes  as of plait_degrees_bound
 */
plait_price plait_pipeline_floor(plait_table *table, const plait_degrees *degrees,
                                 double most_bytes);

/** The load that a layer or an end of the model adds to its rank. */
typedef struct plait_layer_load {
    plait_chunk_time time; /* one microbatch, with gathers and recomputation */
    double work_s;         /* forward and backward, minus the time that pairs hide */
    double state_bytes;    /* state, with fragmentation */
    double saved_bytes;    /* activations of each microbatch in flight, with fragmentation */
    double live_bytes;     /* rebuilt in its backward; the largest of a rank counts */
} plait_layer_load;

/** The loads of a point before its layers are assigned to chunks. (C.261) */
typedef struct plait_rank_loads {
    plait_layer_load layer[PLAIT_MAX_LAYER_KINDS]; /* by kind */
    plait_layer_load
        rest[PLAIT_MAX_LAYER_KINDS]; /* by kind, after the first `leading` layers of a chunk */
    int leading; /* layers a chunk that full:N recomputes; -1: all layers are equal */
    plait_layer_load embedding, module, loss; /* module: multi-token prediction */
    double rank_bytes;                        /* bytes of every rank */
    double fused_s; /* upper bound on the time that one fused boundary saves */
    double after_s; /* lower bound of a step besides its pipeline */
    int microbatches;
} plait_rank_loads;

/** The loads of a legal point; its split does not matter. */
plait_rank_loads plait_degrees_rank_loads(plait_table *table, const plait_degrees *degrees);

/**
 * Lower bound of memory over all plans with these tp cp ep etp sp cp_comm mbs fusion attention: the
 * larger of the logits and one whole layer. Proportional to mbs. (C.92)
 */
double plait_layers_floor_bytes(const plait_problem *problem, const plait_degrees *degrees);

/** Expert dispatch and combine in the forward pass of one layer. */
typedef struct plait_exchange_use {
    double dispatch_s, combine_s; /* 0 if all experts are on one rank */
    double sms;                   /* SMs that the kernels occupy while they run (C.154) */
} plait_exchange_use;

/** The exchange with the dispatcher of these degrees; a search compares dispatchers by it. */
plait_exchange_use plait_exchange_use_of(const plait_problem *problem,
                                         const plait_degrees *degrees);

/** Core attention of one layer: one microbatch on one rank. */
typedef struct plait_attention_use {
    double forward_s, backward_s; /* without its collectives */
    double kept_bytes; /* kept by the half with the mixer, or by the layer; without recomputation */
} plait_attention_use;

/** Core attention with the kernel of these degrees; a search compares kernels by it. */
plait_attention_use plait_attention_use_of(const plait_problem *problem,
                                           const plait_degrees *degrees, int kind);

/**
 * Joules of a step: idle power all the time, the shares of the board's power range that busy,
 * moving and waiting GPUs draw, and host, fans and cooling. NaN if no power is known. (C.96)
 */
double plait_energy_j(const plait_problem *problem, plait_price price);

/** Joules and dollars of a step of `cost`, filled by plait_plan_cost. (C.95, C.96) */
void plait_cost_money(const plait_problem *problem, plait_cost *cost);

/* ---- stages with a choice for each layer ---- */

/** One layer under one choice, one microbatch on one rank. */
typedef struct plait_layer_cost {
    double forward_s;
    double backward_s;
    double weight_s;    /* weight-gradient part of backward_s */
    double saved_bytes; /* kept by each microbatch in flight until its backward */
    double live_bytes;  /* rebuilt or fetched in a backward, one layer at a time */
} plait_layer_cost;

/** A layer of the model's kind `kind` at a point. (C.240) */
plait_layer_cost plait_layer_cost_of(plait_table *table, const plait_degrees *degrees, int kind,
                                     plait_choice choice);

/** A stage without the times and activations of its layers, which depend on their choices. */
typedef struct plait_stage_base {
    stage_cost cost;                   /* times and bytes of the ends; weights of all parts */
    int layers[PLAIT_MAX_LAYER_KINDS]; /* number of layers of each kind */
    bool uneven;  /* its chunks have different numbers of microbatches in flight at the peak */
    double bytes; /* peak without activations of layers and with nothing rebuilt */
} plait_stage_base;

/**
 * The base of these chunks as stage `stage` of a point. (C.241)
 *
 * @param own        the point; may have another `offload`, `offload_share`, `offload_acts`
 * @param in_flight  [vpp], filled: microbatches of each chunk at the peak
 */
plait_stage_base plait_stage_base_of(plait_table *table, const plait_degrees *degrees, int stage,
                                     const plait_chunk *chunk, const plait_degrees *own,
                                     double *in_flight);

/** The peak of a stage whose layers keep and rebuild these bytes. (C.241) */
double plait_stage_base_peak(const plait_problem *problem, const plait_stage_base *base,
                             double held_bytes, double live_bytes);

/** The cost of a stage with this time of a microbatch, which includes ends and layers. */
stage_cost plait_stage_base_cost(const plait_stage_base *base, const plait_degrees *degrees,
                                 const plait_chunk_time *time);

/**
 * The step of stages with these costs. (C.242)
 *
 * @param cost  [pp]
 * @return      only step_s and `exact` are set; with several chunks per rank step_s is a lower
 *              bound
 */
plait_price plait_stages_price(plait_table *table, const plait_degrees *degrees,
                               const stage_cost *cost);

// ---- layers that are sharded differently ----------------------------------------------------

/** Communication of the hidden state of a microbatch to a layer with another tp. (C.281) */
typedef struct plait_layout_change {
    double forward_s, backward_s;
    double bytes; /* buffers of whole states, besides those of the layers */
} plait_layout_change;

/** From a layer of tp `from` to one of tp `to`, in a plan of these degrees. */
plait_layout_change plait_relocation_of(const plait_problem *problem, const plait_degrees *degrees,
                                        int from, int to);

/** Adds the times, and takes the larger bytes. */
void plait_relocation_add(plait_layout_change *sum, plait_layout_change more);

/** The cost of the layers of one sharding in a stage, or of all of its shardings. (C.282) */
typedef struct plait_sharding_cost {
    stage_cost cost;    /* without the bytes below, and without buffers of exchanges */
    double spare_bytes; /* buffers of which a stage needs only the largest of its shardings */
} plait_sharding_cost;

/**
 * The cost of these layers, and of the ends among them.
 *
 * @param pricer  of the sharding's degrees (plait_degrees_cut), on node group 0
 * @param own     whether it is the plan's own sharding
 */
plait_sharding_cost plait_sharding_cost_of(plait_stage_pricer *pricer, const plait_stage *stage,
                                           double in_flight, bool own);

/** Adds times and bytes; of live and spare bytes takes the larger. */
void plait_sharding_cost_add(plait_sharding_cost *sum, const plait_sharding_cost *more);

/** The peak of a stage with this sum. (C.283) */
double plait_sharding_cost_peak(const plait_stage_pricer *own, const plait_sharding_cost *sum,
                                double in_flight);

/** One layer of a pricer's sharding. */
plait_layer_cost plait_stage_pricer_layer(const plait_stage_pricer *pricer, int kind,
                                          plait_recompute recompute);

/** Exposed sends of a step of equal stages. (C.64) */
double plait_stage_pricer_sends_s(const plait_stage_pricer *pricer);
