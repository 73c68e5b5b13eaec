/*
 * api.h - functions of the cost model for the search, in addition to the public headers
 *
 * A point is one set of degrees (plait_degrees), without the layers of each stage. If a search has
 * fixed only some keys of a point, its completions are all values of the other keys. A choice is
 * the recomputation and the offloaded activations of a layer. The ends of the model are its
 * embedding, its head with the loss, and its prediction modules.
 *
 * A search creates one table per problem (plait_table_new). For each point, plait_degrees_bound
 * returns a lower bound over all completions, and plait_degrees_cost returns the point's price as a
 * sum of table entries. If that price is only a bound, plait_degrees_simulate makes it exact. A
 * table and plait_plan_cost use the same terms, and a property test compares them.
 *
 * A search that makes a choice, or chooses the sharding, for each layer needs separate terms of a
 * stage: the cost of a layer under a choice (plait_layer_cost_of), the terms of a stage that no
 * choice changes (plait_stage_base_of), and the step of stages with these choices
 * (plait_stages_price). These functions cover neither DualPipe, which keeps every stage on two
 * ranks, nor fused boundaries of chunks.
 *
 * Units: seconds and bytes, of one GPU unless a comment states otherwise.
 */
#pragma once

#include "plait/cost.h"
#include "plait/lowlevel/schedule.h"
#include "plait/serve.h"

// ---- one stage -----------------------------------------------------------------------------

/** The part of a microbatch's time that depends on its documents (C.417). */
typedef struct varied_time {
    double mean_s;
    double deviation_s; /* standard deviation over microbatches */
    double most_s;      /* excess of the longest possible microbatch over the mean */
} varied_time;

/** Sums over the layers and ends of a stage, on one rank. Times are of one microbatch. */
typedef struct stage_load {
    int index; /* index of the earliest of `count` equal stages */
    int count;
    bool embedding;
    bool loss;
    double in_flight; /* microbatches in flight at the memory peak */
    double forward_s;
    double backward_s;
    double weight_s;                    /* weight-gradient part of backward_s */
    plait_chunk_time first;             /* times of the rank's first chunk */
    plait_chunk_time last;              /* times of the rank's last chunk, which may be its first */
    double paired_s[PLAIT_EP_OVERLAPS]; /* time that two paired microbatches save */
    double busy_s;      /* time of matrix products and attention, forward and backward */
    double moving_s;    /* time of memory-bound kernels, forward and backward */
    varied_time varied; /* time that differs between microbatches, forward and backward */
    double saved_bytes; /* activations that one microbatch keeps, in all chunks */
    double held_bytes;  /* activations of all microbatches in flight */
    double live_bytes;  /* largest activations that one layer recomputes */
    double dense;       /* trained parameters outside the routed experts */
    double frozen_dense, frozen_expert; /* parameters that are not trained */
    double expert;                      /* parameters of routed experts */
} stage_load;

/** Parameters, gradients and optimizer state of one stage in memory. */
typedef struct stage_state {
    double weights_bytes;
    double gradients_bytes;
    double optimizer_bytes;
    double buffers_bytes; /* buffers whose size grows with the parameters */
} stage_state;

/** Times of one stage's gradients and parameters, per step. */
typedef struct stage_sync {
    double reduce_s;    /* reduction of all gradients */
    double gather_s;    /* gather of parameters after the optimizer step (ZeRO-1 and -2) */
    double optimizer_s; /* optimizer step */
    double down_s;      /* sending one backward's gradients to the host, beside that backward */
    double downs;       /* number of backward passes per step that send gradients to the host */
} stage_sync;

/** The terms of a stage, or of a class of equal stages, that a step adds up. */
typedef struct stage_cost {
    stage_load load;
    stage_state state;
    double buffers_bytes; /* buffers whose size does not grow with the parameters (C.83) */
    stage_sync sync;
} stage_cost;

/** Returns the times of one microbatch of this load. */
static inline plait_chunk_time chunk_time_of(const stage_load *load)
{
    return (plait_chunk_time){load->forward_s, load->backward_s, load->weight_s};
}

/**
 * Exposed work of a stage after the pipeline, once per step: communication of gradients and
 * parameters, and the optimizer step.
 */
typedef struct plait_stage_tail {
    double reduce_s;    /* exposed reduction; a step takes the maximum or, with bulk, the sum */
    double gather_s;    /* exposed gather; a step takes the maximum over stages */
    double optimizer_s; /* optimizer step; a step takes the maximum over stages */
} plait_stage_tail;

/**
 * Returns the tail of a stage. With grad_sync shifted this is a lower bound, since the hidden part
 * of the reduction depends on the shortest backward of all stages. (C.243)
 */
plait_stage_tail plait_stage_tail_of(const plait_problem *problem, const plait_degrees *degrees,
                                     const stage_cost *cost);

// ---- stages that differ --------------------------------------------------------------------

/** Prices of stages on one node group with one set of degrees, for any layers and recomputation. */
typedef struct plait_stage_pricer plait_stage_pricer;

/** The price of one stage on a pricer's node group. */
typedef struct plait_stage_price {
    plait_chunk_time time; /* times of one microbatch; weight_s is 0 */
    plait_stage_tail tail;
    double state_bytes;      /* memory peak without any microbatch in flight */
    double flight_bytes;     /* increase of the peak for each microbatch in flight */
    double busy_s, moving_s; /* as in plait_price, but of one microbatch */
} plait_stage_price;

/**
 * Number of stages for which a node group has enough GPUs with these degrees, at least two. (C.221)
 */
int plait_stage_pricer_stages(const plait_problem *problem, int group,
                              const plait_degrees *degrees);

/** Prices of layers that the pricers of one problem share. It is not safe for several threads. */
typedef struct plait_stage_cache plait_stage_cache;

/** Returns an empty cache for one problem, which grows in `arena`; NULL when out of memory. */
plait_stage_cache *plait_stage_cache_new(const plait_problem *problem, plait_arena *arena);

/**
 * Creates the pricer of stages on node group `group` with these degrees. (C.221)
 *
 * @param degrees  legal on the group alone, with pp from plait_stage_pricer_stages
 * @param cache    used only until the function returns; NULL: no cache
 * @return         allocated in `arena`; NULL when out of memory
 */
plait_stage_pricer *plait_stage_pricer_new(const plait_problem *problem, int group,
                                           const plait_degrees *degrees, plait_stage_cache *cache,
                                           plait_arena *arena);

/**
 * Returns the price of one stage with its chunk and its recomputation.
 *
 * @param stage  has one chunk; stage->degrees.recompute applies to all its layers
 * @param other  node group at the other end of the pipeline; matters for the first and the last
 *               stage only
 */
plait_stage_price plait_stage_pricer_price(plait_stage_pricer *sort, const plait_stage *stage,
                                           int other);

/** Device memory that a stage of this pricer may use at this risk. (C.85) */
double plait_stage_pricer_capacity_bytes(const plait_stage_pricer *sort, double risk);

/**
 * Sums over the stages of a plan: sends between stages, and work after the pipeline. (C.222 to
 * C.225)
 */
typedef struct plait_between_stages {
    double sends_s;   /* sends of one microbatch through all boundaries, in both directions */
    double slowest_s; /* sends of one microbatch through the slowest boundary, in both directions */
    double link_s;    /* one send in the slower direction of the slowest boundary */
    plait_stage_tail tail; /* maximum over all stages of each time */
} plait_between_stages;

/** Adds the boundary between two neighbouring stages. (C.222, C.223) */
void plait_between_add_boundary(plait_between_stages *sum, const plait_stage_pricer *from,
                                const plait_stage_pricer *to);

/** Adds the reduction, gather and optimizer of one stage. */
void plait_between_add_stage(plait_between_stages *sum, const plait_stage_price *price);

/** Exposed time of sends in a step whose pipeline takes pipeline_s. (C.224, C.225) */
double plait_between_sends_s(const plait_problem *problem, const plait_between_stages *sum,
                             int microbatches, double pipeline_s);

/** Time of a step: the sum of pipeline, sends, gradients, parameters and optimizer. (C.226) */
double plait_between_step_s(const plait_problem *problem, const plait_between_stages *sum,
                            int microbatches, double pipeline_s);

/** Cached prices of one problem. Every query changes the table, so each thread needs its own. */
typedef struct plait_table plait_table;

/**
 * Creates the table of a problem in `arena`. Returns NULL when out of memory, or if the problem is
 * incomplete (problem.h).
 */
plait_table *plait_table_new(const plait_problem *problem, plait_arena *arena);

/**
 * A cache of the lower bounds of C.97 for the halves of layers. The tables of all threads of one
 * problem may share it.
 */
typedef struct plait_half_bounds plait_half_bounds;

/**
 * Creates an empty cache.
 *
 * @param rows   number of sets of layer keys that are expected; more than that work too
 * @param arena  must not be rewound while the cache is used
 * @return       NULL: out of memory
 */
plait_half_bounds *plait_half_bounds_new(int64_t rows, plait_arena *arena);

/**
 * Lets a table cache more than the rows of its last point: the attention and feed-forward halves of
 * layers, classes of equal ranks, and the order of simulated schedules. Pricing many points is then
 * up to five times as fast. Prices do not change.
 *
 * @param bounds  NULL: the table computes no lower bounds C.97 of times
 * @param arena   grows by up to 40 MB (34 MB measured); must not be rewound while the table is used
 */
void plait_table_remember(plait_table *table, plait_half_bounds *bounds, plait_arena *arena);

/**
 * Prices one legal point as a sum of table entries.
 *
 * A call is fast if it shares its first keys with the previous call, since rows are cached by
 * groups of keys, in this order: keys of layers (tp cp cp_comm ep etp sp mbs placement fusion
 * dispatcher attention grad_reduce), of ranks (pp dp vpp split schedule order post_validation), of
 * shards (zero, shard_group, formats and offload of state), and recompute.
 */
plait_price plait_degrees_cost(plait_table *table, const plait_degrees *degrees);

/**
 * Simulates the pipeline of a point for which plait_degrees_cost returned only a bound.
 *
 * @param price    in: the last result of plait_degrees_cost, for this point; out: exact
 * @param scratch  used and rewound
 */
PLAIT_MUST_CHECK plait_status plait_degrees_simulate(plait_table *table,
                                                     const plait_degrees *degrees,
                                                     plait_arena *scratch, plait_price *price,
                                                     plait_error *err);

/** Host memory of one legal point, as in plait_memory.host_bytes. (C.382) */
double plait_degrees_host_bytes(plait_table *table, const plait_degrees *degrees);

/**
 * Calls plait_plan_evaluate for the table's problem, with the table's cache of simulated schedules.
 */
PLAIT_MUST_CHECK plait_status plait_table_plan_cost(plait_table *table, const plait_plan *plan,
                                                    plait_arena *arena, plait_cost *cost,
                                                    plait_error *err);

/**
 * Returns lower bounds of time and memory over all completions of a point. (C.90)
 *
 * The keys of layers and of ranks (plait_degrees_cost) are fixed. The keys of shards, recompute,
 * offload_acts and grad_sync are free.
 *
 * @param most_bytes  if the memory bound exceeds this, step_s is 0 and not computed; HUGE_VAL: no
 *                    limit
 */
plait_price plait_degrees_bound(plait_table *table, const plait_degrees *degrees,
                                double most_bytes);

enum { PLAIT_MOST_CLASSES = 8 };

/** Bytes of each class of ranks with equal layers. */
typedef struct plait_class_bytes {
    int classes; /* 0: unknown, since there are more than PLAIT_MOST_CLASSES */
    double bytes[PLAIT_MOST_CLASSES];
} plait_class_bytes;

/**
 * Returns the bound of plait_degrees_bound with recompute and offload_acts fixed too. Free are
 * zero, shard_group, reshard, scatter, quantise, grad_sync and the formats of state. (C.93)
 *
 * @param activations  receives the bytes of kept and recomputed activations of each class of ranks;
 *                     NULL: not needed
 */
plait_price plait_choice_bound(plait_table *table, const plait_degrees *degrees, double most_bytes,
                               plait_class_bytes *activations);

/**
 * Returns the bound of plait_degrees_bound with the keys of shards fixed too: zero, shard_group,
 * reshard, scatter, quantise, grad_sync and the formats of state. Free are recompute and
 * offload_acts. (C.94)
 */
plait_price plait_shard_bound(plait_table *table, const plait_degrees *degrees);

/**
 * Returns the memory of plait_shard_bound, in a fraction of its time. (C.94)
 *
 * @param rest  receives the bytes of each class of ranks without activations; NULL: not needed
 */
double plait_shard_bound_bytes(plait_table *table, const plait_degrees *degrees,
                               plait_class_bytes *rest);

/**
 * Returns a lower bound on the memory of one shard with one choice of recompute and offload_acts,
 * from the results of plait_choice_bound and plait_shard_bound_bytes for the same stages; 0 if
 * classes are unknown. (C.94)
 */
static inline double plait_shard_choice_bytes(const plait_class_bytes *rest,
                                              const plait_class_bytes *activations)
{
    static const double rounding = 1e-12; // these sums have another order than those of a price
    double fullest = 0.0;

    for (int c = 0; c < rest->classes && c < activations->classes; c++)
        if (rest->bytes[c] + activations->bytes[c] > fullest)
            fullest = rest->bytes[c] + activations->bytes[c];
    return (1.0 - rounding) * fullest;
}

/**
 * Returns lower bounds over all completions of a point of which only tp cp ep etp sp cp_comm mbs
 * fusion pp dp are fixed. (C.91)
 *
 * The bounds assume perfectly even stages, no bubble and one microbatch in flight.
 */
plait_price plait_pipeline_bound(plait_table *table, const plait_degrees *degrees);

/** Returns the bound of plait_pipeline_bound for a step of one microbatch, whatever the batch. */
plait_price plait_microbatch_bound(plait_table *table, const plait_degrees *degrees);

/** How the layers of one plan may differ in recompute and offload_acts. */
typedef enum plait_choice_mix {
    PLAIT_MIX_NONE, /* all layers have the same choice */
    PLAIT_MIX_FULL, /* the same, or some recompute everything and the others nothing (full:N) */
    PLAIT_MIX_ALL   /* each layer may have any of the choices */
} plait_choice_mix;

/** Choices and limits of plait_layers_may_fit. */
typedef struct plait_layers_query {
    int choices;
    const plait_choice *choice; /* [choices] choices that layers may have */
    plait_choice_mix mix;
    bool any_shard; /* true: the keys of shards are free; false: they are those of the degrees */
    double most_s, most_bytes;
} plait_layers_query;

/**
 * Returns false if no plan with this layer key, pp, dp, schedule and ep_overlap has a step of at
 * most most_s within most_bytes, because its ranks cannot hold all layers. (C.451)
 */
bool plait_layers_may_fit(plait_table *table, const plait_degrees *degrees,
                          const plait_layers_query *query);

/**
 * Lower bound on memory, weaker than that of plait_pipeline_bound, without pricing whole layers: the
 * memory of parameters, gradients and optimizer state. It does not depend on mbs and kernels. (C.97)
 */
double plait_pipeline_floor_bytes(plait_table *table, const plait_degrees *degrees);

/**
 * Lower bound on the step, weaker than that of plait_pipeline_bound, without pricing whole layers:
 * the seconds of the attention and feed-forward halves of layers if the table has a cache of them
 * (plait_table_remember), else 0. (C.97)
 */
double plait_pipeline_floor_s(plait_table *table, const plait_degrees *degrees);

/** Returns the bound of plait_pipeline_floor_s for a step of one microbatch, whatever the batch. */
double plait_microbatch_floor_s(plait_table *table, const plait_degrees *degrees);

/**
 * Lower bound on any step: one microbatch on all stages, one after the other. 0 if the software may
 * delay weight gradients, for which the next stage does not wait. (C.97)
 */
double plait_serial_floor_s(plait_table *table, const plait_degrees *degrees);

/** The load that a layer or an end of the model adds to its rank. */
typedef struct plait_layer_load {
    plait_chunk_time time; /* times of one microbatch, with gathers and recomputation */
    double paired_s;       /* time that each pair of microbatches hides */
    double work_s;         /* forward and backward, minus the time that all pairs hide */
    double state_bytes;    /* parameters, gradients and optimizer state, with fragmentation */
    double saved_bytes;    /* activations of each microbatch in flight, with fragmentation */
    double live_bytes;     /* activations recomputed in its backward */
} plait_layer_load;

/** The loads of a point before its layers are assigned to chunks. (C.261) */
typedef struct plait_rank_loads {
    plait_layer_load layer[PLAIT_MAX_LAYER_KINDS]; /* loads by kind of layer */
    plait_layer_load
        rest[PLAIT_MAX_LAYER_KINDS]; /* loads after the first `leading` layers of a chunk */
    int leading; /* number of first layers of a chunk that full:N recomputes; else -1 */
    plait_layer_load embedding, module, loss; /* loads of embedding, MTP module and head */
    double rank_bytes;                        /* bytes that every rank needs */
    double fused_s; /* upper bound on the time that one fused boundary saves */
    double after_s; /* lower bound on the time of a step outside its pipeline */
    double pairs;   /* number of pairs of microbatches, per microbatch (C.157) */
    int microbatches;
} plait_rank_loads;

/** Returns the work of a load with this number of pairs per microbatch, in seconds. */
static inline double plait_layer_work_s(const plait_layer_load *load, double pairs)
{
    return load->time.forward_s + load->time.backward_s - pairs * load->paired_s;
}

/** Returns the loads of a legal point, which do not depend on its split. */
plait_rank_loads plait_degrees_rank_loads(plait_table *table, const plait_degrees *degrees);

/**
 * Lower bound on memory over all plans with these tp cp ep etp sp cp_comm mbs fusion attention: the
 * larger of the logits and one whole layer. The bound is proportional to mbs. (C.92)
 */
double plait_layers_floor_bytes(const plait_problem *problem, const plait_degrees *degrees);

/** Expert dispatch and combine in the forward pass of one layer. */
typedef struct plait_exchange_use {
    double dispatch_s, combine_s; /* 0 if all experts are on one rank */
    double sms;                   /* SMs that the kernels occupy (C.154) */
} plait_exchange_use;

/**
 * Returns the exchange with the dispatcher of these degrees. A search compares dispatchers by it.
 */
plait_exchange_use plait_exchange_use_of(const plait_problem *problem,
                                         const plait_degrees *degrees);

/** Core attention of one layer: one microbatch on one rank. */
typedef struct plait_attention_use {
    double forward_s, backward_s; /* times without collectives */
    double kept_bytes;            /* activations kept without recomputation */
} plait_attention_use;

/** Returns core attention with the kernel of these degrees. A search compares kernels by it. */
plait_attention_use plait_attention_use_of(const plait_problem *problem,
                                           const plait_degrees *degrees, int kind);

/**
 * Joules of a step: idle power for the whole step; a share of the range from idle to maximum power
 * while GPUs compute, move memory or wait; and the power of host, fans and cooling. NaN if the
 * power is unknown. (C.96)
 */
double plait_energy_j(const plait_problem *problem, plait_price price);

/**
 * Fills the joules and dollars of a step in `cost`, which plait_plan_cost has filled. (C.95, C.96)
 */
void plait_cost_money(const plait_problem *problem, plait_cost *cost);

/* ---- stages with a choice for each layer ---- */

/** The cost of one layer under one choice, for one microbatch on one rank. */
typedef struct plait_layer_cost {
    double forward_s;
    double backward_s;
    double weight_s;    /* weight-gradient part of backward_s */
    double saved_bytes; /* activations kept by each microbatch in flight until its backward */
    double live_bytes;  /* activations recomputed or fetched in its backward */
} plait_layer_cost;

/** Returns the cost of a layer of kind `kind` at a point. (C.240) */
plait_layer_cost plait_layer_cost_of(plait_table *table, const plait_degrees *degrees, int kind,
                                     plait_choice choice);

/** A stage without the times and activations of its layers, which depend on their choices. */
typedef struct plait_stage_base {
    stage_cost cost;                   /* times and bytes of the ends; weights of ends and layers */
    int layers[PLAIT_MAX_LAYER_KINDS]; /* number of layers of each kind */
    bool uneven;  /* whether its chunks have different numbers of microbatches in flight */
    double bytes; /* peak without activations of layers */
} plait_stage_base;

/**
 * Returns the base of stage `stage` of a point, with these chunks. (C.241)
 *
 * @param own        the point, possibly with another `offload`, `offload_share`, `offload_acts`
 * @param in_flight  [vpp], filled: microbatches in flight of each chunk at the peak
 */
plait_stage_base plait_stage_base_of(plait_table *table, const plait_degrees *degrees, int stage,
                                     const plait_chunk *chunk, const plait_degrees *own,
                                     double *in_flight);

/**
 * Memory peak of a stage whose layers keep held_bytes and recompute or fetch live_bytes. (C.241)
 */
double plait_stage_base_peak(const plait_problem *problem, const plait_stage_base *base,
                             double held_bytes, double live_bytes);

/**
 * Returns the cost of a stage with the times `time` of one microbatch, over its ends and layers.
 */
stage_cost plait_stage_base_cost(const plait_stage_base *base, const plait_degrees *degrees,
                                 const plait_chunk_time *time);

/**
 * Returns the step of stages with these costs. (C.242)
 *
 * @param cost  [pp]
 * @return      only step_s and `exact` are set; with several chunks per rank step_s is a lower
 *              bound
 */
plait_price plait_stages_price(plait_table *table, const plait_degrees *degrees,
                               const stage_cost *cost);

// ---- layers that are sharded differently ----------------------------------------------------

/** Redistribution of a microbatch's hidden state for a layer with another tp. (C.281) */
typedef struct plait_layout_change {
    double forward_s, backward_s;
    double bytes; /* buffers for whole hidden states, in addition to those of the layers */
} plait_layout_change;

/**
 * Returns the redistribution from a layer of tp `from` to one of tp `to` in a plan of these
 * degrees.
 */
plait_layout_change plait_relocation_of(const plait_problem *problem, const plait_degrees *degrees,
                                        int from, int to);

/** Adds the times, and keeps the larger bytes. */
void plait_relocation_add(plait_layout_change *sum, plait_layout_change more);

/** The cost of a stage's layers that have one sharding, or the sum over its shardings. (C.282) */
typedef struct plait_sharding_cost {
    stage_cost cost;    /* cost without spare_bytes and without buffers of exchanges */
    double spare_bytes; /* buffers; a stage needs the maximum over its shardings */
} plait_sharding_cost;

/**
 * Returns the cost of a stage's layers and ends under one sharding.
 *
 * @param pricer  for the sharding's degrees (plait_degrees_cut), on node group 0
 * @param own     whether the sharding is that of the plan's degrees
 */
plait_sharding_cost plait_sharding_cost_of(plait_stage_pricer *pricer, const plait_stage *stage,
                                           double in_flight, bool own);

/** Adds times and bytes, but keeps the larger live_bytes and spare_bytes. */
void plait_sharding_cost_add(plait_sharding_cost *sum, const plait_sharding_cost *more);

/** Memory peak of a stage with this sum over its shardings. (C.283) */
double plait_sharding_cost_peak(const plait_stage_pricer *own, const plait_sharding_cost *sum,
                                double in_flight);

/** Returns the cost of one layer under the pricer's sharding. */
plait_layer_cost plait_stage_pricer_layer(const plait_stage_pricer *pricer, int kind,
                                          plait_recompute recompute);

/** Exposed time of sends in a step of equal stages. (C.64) */
double plait_stage_pricer_sends_s(const plait_stage_pricer *pricer);

// ---- serving -------------------------------------------------------------------------------

/**
 * Returns the number of sequences that a worker of the last role can run at once, by the engine's
 * limit and by its caches. (C.363)
 */
double plait_serve_batch_cap(const plait_deployment *d, const plait_load *load);
