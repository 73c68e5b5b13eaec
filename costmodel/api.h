/*
 * api.h - what the search may use of the cost model besides the public headers
 *
 * For a search, a table is made once per (model, cluster, job): plait_degrees_cost adds its entries up
 * for one point, plait_degrees_bound gives a lower bound over all completions of a point. A table and
 * plait_plan_cost read the same terms, and a property test compares them.
 *
 * A search that chooses what each layer recomputes, offloads or shards needs the terms of a stage apart:
 * the cost of a layer under a choice (plait_layer_cost_of), the terms of a stage that no choice changes
 * (plait_stage_frame_of), and the step of stages with these choices (plait_frames_price). They do not
 * cover schedules that hold every stage on two ranks, nor fused boundaries of chunks.
 */
#pragma once

#include "plait/cost.h"
#include "plait/lowlevel/schedule.h"

/* ---- stages that differ ---- */

/** Stages on one node group with one set of degrees, whatever layers they have and recompute. */
typedef struct plait_stage_sort plait_stage_sort;

/** One stage of such a sort. */
typedef struct plait_stage_price {
    double forward_s; /* one microbatch */
    double backward_s;
    double state_bytes;  /* of the peak, with no microbatch in flight ... */
    double flight_bytes; /* ... and with each that is */
    double reduce_s;     /* of its gradients, what sticks out of its last backward */
    double gather_s;     /* of its parameters, what sticks out of its next forward */
    double optimizer_s;
    double busy_s; /* as in plait_price, one microbatch */
    double moving_s;
} plait_stage_price;

/** Stages of these degrees that a group has the GPUs for, two at least: as many as C.221 takes. */
int plait_stage_sort_stages(const plait_problem *problem, int group, const plait_degrees *degrees);

/**
 * What a stage of `group` costs with these degrees, whatever it holds. (C.221)
 *
 * @param degrees  legal on the group alone; pp: plait_stage_sort_stages
 * @return         lives in `arena`; NULL when out of memory
 */
plait_stage_sort *plait_stage_sort_new(const plait_problem *problem, int group,
                                       const plait_degrees *degrees, plait_arena *arena);

/**
 * The price of one stage, from its chunk and what it recomputes.
 *
 * @param stage  one chunk; its degrees' recompute is that of all its layers
 * @param other  the group at the other end of the pipeline: asked of the first and the last stage
 */
plait_stage_price plait_stage_sort_price(plait_stage_sort *sort, const plait_stage *stage,
                                         int other);

/** Device memory that such a stage may use at the problem's risk, or at another. (C.85) */
double plait_stage_sort_capacity_bytes(const plait_stage_sort *sort, double risk);

/** What stages of a plan add to its pipeline. (C.222 to C.225) */
typedef struct plait_between_stages {
    double sends_s;     /* of one microbatch through all boundaries, there and back */
    double slowest_s;   /* through the slowest of them, there and back ... */
    double link_s;      /* ... and in the slower direction */
    double reduce_s;    /* the longest of the stages' */
    double gather_s;    /* likewise */
    double optimizer_s; /* likewise */
} plait_between_stages;

/** Adds the boundary between two stages next to each other. (C.222, C.223) */
void plait_between_add_boundary(plait_between_stages *sum, const plait_stage_sort *from,
                                const plait_stage_sort *to);

/** Adds what one stage leaves behind the pipeline. */
void plait_between_add_stage(plait_between_stages *sum, const plait_stage_price *price);

/** Sends of a step, exposed, beside a pipeline of so many seconds. (C.224, C.225) */
double plait_between_sends_s(const plait_problem *problem, const plait_between_stages *sum,
                             int microbatches, double pipeline_s);

/** The step: pipeline, sends, gradients, parameters, optimizer. (C.226) */
double plait_between_step_s(const plait_problem *problem, const plait_between_stages *sum,
                            int microbatches, double pipeline_s);

/** Tables of one problem; one per thread, since it remembers the rows used last. */
typedef struct plait_table plait_table;

/** Make the tables of a problem. They live in `arena`; NULL when out of memory, and of a problem that
 * cannot be asked (job.h). */
plait_table *plait_table_new(const plait_problem *problem, plait_arena *arena);

/**
 * Lets a table remember more than its last rows: halves of layers, classes of ranks, the order of simulated
 * schedules. A walk over many points is up to five times as fast. No price differs.
 *
 * @param arena  grows by up to some 60 MB; not to be rewound while the table is asked
 */
void plait_table_remember(plait_table *table, plait_arena *arena);

/**
 * Price one legal point: a sum of table entries.
 *
 * Fast when consecutive points share their first keys: rows are remembered by what layers hang on
 * (tp cp cp_comm ep etp sp mbs placement fusion dispatcher attention grad_reduce), then what ranks do (pp
 * dp vpp split schedule order post_validation), then shards (zero shard_group and how state is kept, sent
 * and offloaded), then recompute.
 */
plait_price plait_degrees_cost(plait_table *table, const plait_degrees *degrees);

/**
 * The price of the point that plait_degrees_cost gave a bound of, with its pipeline simulated.
 *
 * @param price    what plait_degrees_cost has just said of this point; then exact
 * @param scratch  is used and rewound
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
 * Fixed: what layers hang on and what ranks do, of plait_degrees_cost. Free: shards, recompute,
 * offload_acts, grad_sync. (C.90)
 *
 * @param most_bytes  of what needs more no time is asked: step_s is 0. HUGE_VAL: always asked
 */
plait_price plait_degrees_bound(plait_table *table, const plait_degrees *degrees,
                                double most_bytes);

/**
 * The same with a choice of recompute and offload_acts. Free: zero, shard_group, reshard, scatter,
 * quantise, grad_sync and the formats of state. (C.93)
 */
plait_price plait_choice_bound(plait_table *table, const plait_degrees *degrees, double most_bytes);

/**
 * The same with the keys of a shard: zero, shard_group, reshard, scatter, quantise, grad_sync and the
 * formats of state. Free: recompute, offload_acts. (C.94)
 */
plait_price plait_shard_bound(plait_table *table, const plait_degrees *degrees);

/**
 * Lower bounds over all completions of fewer keys: tp cp ep etp sp cp_comm mbs fusion pp dp. (C.91)
 *
 * As if layers were dealt perfectly evenly, with no bubble and one microbatch in flight.
 */
plait_price plait_pipeline_bound(plait_table *table, const plait_degrees *degrees);

/**
 * Below that bound, and before layers are priced: state alone, and of layers what is remembered of
 * their halves, where the table remembers any (plait_table_remember). (C.97)
 *
 * @param most_bytes  as of plait_degrees_bound
 */
plait_price plait_pipeline_floor(plait_table *table, const plait_degrees *degrees,
                                 double most_bytes);

/** What a layer or an end of the model adds to the rank that holds it. */
typedef struct plait_portion {
    plait_chunk_time time; /* of one microbatch, behind gathers and with what is run again */
    double work_s;         /* forward and backward, less what pairs of microbatches hide of it */
    double state_bytes;    /* once, as the allocator lays it out */
    double saved_bytes;    /* of each microbatch in flight, likewise */
    double live_bytes;     /* in its backward alone: of a rank's the largest */
} plait_portion;

/** A point before its layers are dealt: what there is to deal. (C.261) */
typedef struct plait_portions {
    plait_portion layer[PLAIT_MAX_LAYER_KINDS]; /* by kind */
    plait_portion rest[PLAIT_MAX_LAYER_KINDS];  /* of a chunk's layers behind the first `leading` */
    int leading;                                /* full:N; -1: all are alike */
    plait_portion embedding, module, loss;      /* a module predicts one further token */
    double rank_bytes;                          /* of every rank, whatever it holds */
    double fused_s;                             /* at most, that one boundary of chunks may save */
    double after_s;                             /* at least, of a step beside its pipeline */
    int microbatches;
} plait_portions;

/** The portions of a legal point; its split is not looked at. */
plait_portions plait_degrees_portions(plait_table *table, const plait_degrees *degrees);

/**
 * Memory that no plan with these tp cp ep etp sp cp_comm mbs fusion attention can undercut: the logits, or one layer
 * kept whole, whichever is larger. Proportional to mbs. (C.92)
 */
double plait_layers_floor_bytes(const plait_problem *problem, const plait_degrees *degrees);

/** What sending tokens to experts and back takes of one layer's forward pass. */
typedef struct plait_exchange_use {
    double dispatch_s, combine_s; /* 0 without experts on several ranks */
    double sms;                   /* that its kernels occupy while they run (C.154) */
} plait_exchange_use;

/** The same by the dispatcher of these degrees: what a search chooses dispatchers by. */
plait_exchange_use plait_exchange_use_of(const plait_problem *problem,
                                         const plait_degrees *degrees);

/** What the core attention of one layer takes of one microbatch on one rank. */
typedef struct plait_attention_use {
    double forward_s, backward_s; /* without its collectives */
    double kept_bytes; /* by the half with the mixer, else the layer; without recomputation */
} plait_attention_use;

/** The same of a kind of layer, by the kernel of these degrees: what a search chooses kernels by. */
plait_attention_use plait_attention_use_of(const plait_problem *problem,
                                           const plait_degrees *degrees, int kind);

/**
 * Joules of a step: idle power all the time, and of the board's range the share that busy, moving
 * and waiting GPUs draw; host, fans and cooling on top. NaN when no power is known. (C.96)
 */
double plait_energy_j(const plait_problem *problem, plait_price price);

/** Joules and dollars of a step of `cost`, filled by plait_plan_cost. (C.95, C.96) */
void plait_cost_money(const plait_problem *problem, plait_cost *cost);

/* ---- a stage before its layers choose ---- */

/** One layer under one choice, one microbatch on one rank. */
typedef struct plait_layer_cost {
    double forward_s;
    double backward_s;
    double weight_s;    /* of which the weight gradient */
    double saved_bytes; /* of each microbatch in flight, until its backward */
    double live_bytes;  /* rebuilt or brought back in a backward, of one layer at a time */
} plait_layer_cost;

/** A layer of the model's kind `kind` at a point. (C.240) */
plait_layer_cost plait_layer_cost_of(plait_table *table, const plait_degrees *degrees, int kind,
                                     plait_choice choice);

/** What a stage has whatever its layers choose. */
typedef struct plait_stage_frame {
    int stage;
    int layers[PLAIT_MAX_LAYER_KINDS]; /* of each kind, which choose */
    plait_chunk_time ends;             /* embedding, loss, modules of further tokens */
    bool unlike;       /* its chunks hold different numbers of microbatches at its peak */
    double bytes;      /* its peak were there no activations of layers, and nothing rebuilt ... */
    double scale;      /* ... and bytes of the device that each byte of theirs takes */
    double live_bytes; /* that its ends rebuild */
    double paired_s;   /* that a pair of microbatches takes less than both */
    double reduce_s, gather_s, optimizer_s, down_s, downs; /* once a step */
} plait_stage_frame;

/**
 * The frame of these chunks as stage `stage` of a point. (C.241)
 *
 * @param own        the point, perhaps with another `offload`, `offload_share`, `offload_acts`
 * @param in_flight  [vpp] microbatches of each chunk at the peak, filled
 */
plait_stage_frame plait_stage_frame_of(plait_table *table, const plait_degrees *degrees, int stage,
                                       const plait_chunk *chunk, const plait_degrees *own,
                                       double *in_flight);

/** The peak of a stage whose layers hold and rebuild so much. (C.241) */
double plait_frame_peak(const plait_stage_frame *frame, double held_bytes, double live_bytes);

/** What a stage leaves exposed once a step: its part of dp_comm, and its optimizer. */
typedef struct plait_stage_tail {
    double reduce_s; /* the step waits for the longest; by grad_sync bulk for their sum */
    double gather_s; /* ... for the longest, as for the optimizer */
    double optimizer_s;
} plait_stage_tail;

/**
 * The tail of a stage that takes this time. (C.243)
 *
 * By grad_sync shifted at least: what hides depends on the shortest backward of all stages.
 */
plait_stage_tail plait_frame_tail(const plait_problem *problem, const plait_degrees *degrees,
                                  const plait_stage_frame *frame, const plait_chunk_time *time);

/**
 * The step of stages that take these times, ends and layers together. (C.242)
 *
 * @param frame  [pp]
 * @param time   [pp], of one microbatch
 * @return       its step_s and `exact`; with several chunks a rank a lower bound
 */
plait_price plait_frames_price(plait_table *table, const plait_degrees *degrees,
                               const plait_stage_frame *frame, const plait_chunk_time *time);

// ---- layers that are cut unlike each other -------------------------------------------------

/** The hidden state of a microbatch on its way to a layer of another tp. (C.281) */
typedef struct plait_relocation {
    double forward_s, backward_s;
    double bytes; /* whole states beside the layers' own */
} plait_relocation;

/** From a layer of tp `from` to one of tp `to`, in a plan of these degrees. */
plait_relocation plait_relocation_of(const plait_problem *problem, const plait_degrees *degrees,
                                     int from, int to);

/** Times add up, of bytes the largest is there. */
void plait_relocation_add(plait_relocation *sum, plait_relocation more);

/** What the layers of one cut bring to their stage. (C.282) */
typedef struct plait_cut_share {
    plait_chunk_time time; /* of one microbatch */
    double saved_bytes;    /* of each microbatch in flight */
    double live_bytes;     /* of a stage's shares the largest */
    double state_bytes;
    double spare_bytes;                     /* of a stage's shares the largest */
    double reduce_s, gather_s, optimizer_s; /* once a step */
} plait_cut_share;

/**
 * The share of these layers, and of the ends among them.
 *
 * @param sort  of the cut's degrees (plait_degrees_cut), on node group 0
 * @param own   they are the plan's
 */
plait_cut_share plait_cut_share_of(plait_stage_sort *sort, const plait_stage *stage, bool own);

/** One layer of it. */
plait_layer_cost plait_cut_layer_cost(const plait_stage_sort *sort, int kind,
                                      plait_recompute recompute);

/** Times and bytes of both; of what is alive only at a time, the larger. */
void plait_cut_share_add(plait_cut_share *sum, const plait_cut_share *more);

/** The peak of a stage with these shares. (C.283) */
double plait_cut_peak(const plait_stage_sort *own, const plait_cut_share *sum, double in_flight);

/** What stage `stage` of these shares leaves exposed once a step; by grad_sync shifted at least. (C.284) */
plait_stage_tail plait_cut_tail(const plait_stage_sort *own, int stage, const plait_cut_share *sum);

/** Sends of a step, exposed. (C.64) */
double plait_cut_sends_s(const plait_stage_sort *own);
