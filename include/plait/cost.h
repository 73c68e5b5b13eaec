/*
 * cost.h - the price of a plan: seconds and bytes.
 *
 * Two entry points. plait_plan_cost prices one checked plan and keeps every term: time by name, memory
 * by name, stages, collectives; plait_plan_evaluate checks the plan first. For a search, a table is made
 * once per (model, cluster, job): plait_degrees_cost adds its entries up for one point,
 * plait_degrees_bound gives a lower bound over all completions of a point. Both read the same terms,
 * and a property test compares them. A caller that prices many plans keeps a plait_pipelines.
 *
 * The step time is a sum of exposed terms on the slowest stage; hidden communication is listed
 * apart (plait_volume). Every equation is numbered in docs/model.
 *
 * Left out: checkpoints, data loading, restarts, network jitter.
 */
#ifndef PLAIT_COST_H
#define PLAIT_COST_H

#include "plait/schedule.h"
#include "plait/collective.h"
#include "plait/fuse.h"
#include "plait/job.h"
#include "plait/plan.h"
#include "plait/runtime.h"

PLAIT_BEGIN_DECLS

/** Terms of the step time, in seconds of the slowest stage. They sum to the step. (C.80) */
#define PLAIT_STEP_TERMS(X)                                                                        \
    X(matmul, "C.36", "matrix products, forward and backward")                                     \
    X(attention, "C.36", "core attention")                                                         \
    X(memory_ops, "C.36", "memory-bound kernels: norms, activations, residuals")                   \
    X(recompute, "C.26", "forward work repeated in backward")                                      \
    X(launch, "C.37", "waiting for the host to launch kernels")                                    \
    X(tp_comm, "C.60", "tensor-parallel collectives, exposed")                                     \
    X(cp_comm, "C.61", "context-parallel exchange, exposed")                                       \
    X(ep_comm, "C.62", "expert dispatch and combine, exposed")                                     \
    X(gather, "C.63", "parameter gathers (ZeRO-3) and gradient scatters (ZeRO-2, -3), exposed")    \
    X(offload, "C.167", "activations and parameters over the host's link, exposed")                \
    X(pp_comm, "C.64", "pipeline sends, exposed")                                                  \
    X(bubble, "C.70", "idle while the pipeline fills and drains, uneven stages")                   \
    X(dp_comm, "C.66", "gradient reduction and parameter gather, exposed")                         \
    X(optimizer, "C.69", "gradient norm, optimizer step")

typedef struct plait_step_time {
#define X(name, equation, what) double name##_s;
    PLAIT_STEP_TERMS(X)
#undef X
} plait_step_time;

/** Terms of the memory of one GPU at its peak, in bytes. They sum to the peak. */
#define PLAIT_MEMORY_TERMS(X)                                                                      \
    X(weights, "C.81", "parameters")                                                               \
    X(gradients, "C.81", "gradients")                                                              \
    X(optimizer, "C.81", "master weights and moments")                                             \
    X(activations, "C.82", "activations of the microbatches in flight, one live layer")            \
    X(buffers, "C.83", "logits, gathers, buckets, messages, context buffers")                      \
    X(runtime, "C.84", "context, NCCL, allocator")

typedef struct plait_memory {
#define X(name, equation, what) double name##_bytes;
    PLAIT_MEMORY_TERMS(X)
#undef X
    double peak_bytes; /* their sum: what the device must hold */
    double low_bytes;  /* the band of the peak by the problem's */
    double high_bytes;
    double capacity_bytes;  /* that plans may use at the problem's risk */
    double allocated_bytes; /* of the peak, what the allocator hands out ... */
    double reserved_bytes;  /* ... and what it holds for that */
    double host_bytes;      /* host memory that offloaded state and activations take, of a node */
    double host_capacity_bytes; /* of a node; 0: not known */
} plait_memory;

/**
 * One kind of communication of a step, as one GPU of the slowest stage sees it. What is exposed is
 * part of one term of the step; the lines of a term of communication sum to it, those of `recompute`
 * to what it repeats of communication.
 */
typedef struct plait_volume {
    const char *what; /* "TP all-gather" */
    const char *term; /* "tp_comm", "recompute", ... */
    plait_collective_op op;
    plait_axis axis;
    int ranks;
    bool between;     /* scale-up domains: its calls are on the network */
    double count;     /* calls a step */
    double bytes;     /* buffer of one call */
    double seconds;   /* all calls, hidden or not, as slow as the term charges them */
    double exposed_s; /* never above seconds */
} plait_volume;

/** One stage of a priced plan. */
typedef struct plait_stage_cost {
    double forward_s; /* one microbatch */
    double backward_s;
    double memory_bytes; /* plait_memory's peak, allocated and reserved bytes */
    double allocated_bytes;
    double reserved_bytes;
    double in_flight;
} plait_stage_cost;

typedef struct plait_cost {
    plait_verdict verdict;
    double risk;          /* probability that the fullest GPU runs out of memory */
    double missing_bytes; /* neither fits nor is invalid: what the fullest stage lacks of fitting,
                             or where that fits, the host memory of a node */
    double step_s;        /* sum of `step`; also when out of memory; zero when invalid */
    double step_low_s;    /* the band of step_s by the problem's; NaN where it has none */
    double step_high_s;
    plait_step_time step;
    double
        sync_step_s[PLAIT_GRAD_SYNCS]; /* the step with each way to reduce gradients, this or not */
    plait_memory memory;               /* of the fullest GPU */
    int fullest_stage;
    int slowest_stage;
    int stages;
    const plait_stage_cost *stage; /* [stages], in the arena */
    int volumes;
    const plait_volume *volume; /* [volumes], in the arena */
    double network_s;           /* all calls between domains, one behind the other (C.311) */
    bool fuses;                 /* the plan's `fusion` is auto, and this the answer: */
    plait_fused fused[PLAIT_FUSION_RULES];
    double tokens_per_s_per_gpu;
    double model_flops_per_s; /* one GPU, causal attention halved (C.5) */
    double mfu;               /* model_flops_per_s over the peak of the job's precision */
    double hfu;               /* what the kernels compute, recomputation counted, over that peak */
    double mfu_square;        /* mfu and hfu with attention as whole squares */
    double hfu_square;
    double cost_usd; /* one step; NaN when no price is known */
    double energy_j; /* one step; NaN when no power is known */
    double busy_s;   /* mean over GPUs, as in plait_price */
    double moving_s;
    plait_confidence
        confidence; /* low when constants are defaults or the runtime is uncalibrated */
    char why[256];  /* when the plan does not fit: one sentence */
} plait_cost;

/** Cache of the schedules simulated by one thread, whatever their problems and times: at most 24 MiB. */
typedef struct plait_pipelines plait_pipelines;

/** To be freed; NULL: out of memory. */
plait_pipelines *plait_pipelines_new(void);

/** NULL is fine. */
void plait_pipelines_free(plait_pipelines *pipelines);

/**
 * Price one checked plan, every term.
 *
 * @param pipelines  cache of simulated schedules; NULL: none. The price is the same to the bit
 * @param arena      cost->stage and cost->volume live in it
 * @return           NOMEM only; a plan that does not fit is a verdict in *cost
 */
PLAIT_MUST_CHECK plait_status plait_plan_cost(const plait_checked_plan *checked,
                                              plait_pipelines *pipelines, plait_arena *arena,
                                              plait_cost *cost, plait_error *err);

/**
 * Check a plan and price it.
 *
 * @return  RANGE for a problem that is incomplete (plait_problem), or NOMEM; a plan that is not legal
 *          has the verdict PLAIT_INVALID in *cost, and the reason in cost->why
 */
PLAIT_MUST_CHECK plait_status plait_plan_evaluate(const plait_problem *problem,
                                                  const plait_plan *plan,
                                                  plait_pipelines *pipelines, plait_arena *arena,
                                                  plait_cost *cost, plait_error *err);

/** A point's price, as the search needs it. */
typedef struct plait_price {
    double step_s; /* of plait_degrees_cost: at least, unless `exact` */
    double peak_bytes;
    double busy_s;   /* of the step, mean over GPUs: matrix products, attention, recomputation */
    double moving_s; /* memory-bound kernels and the optimizer */
    bool exact;      /* no simulation could find a longer step */
} plait_price;

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
 * Device memory that plans may use, in bytes: the largest predicted peak that runs out with no more
 * than this probability. One half: what a process can see of the device. (C.85)
 *
 * @param risk  0 .. 1, both excluded; 0 stands for the usual risk
 */
double plait_capacity_bytes(const plait_problem *problem, double risk);

/** Probability that a predicted peak does not fit the device. (C.85) */
double plait_memory_risk(const plait_problem *problem, double peak_bytes);

/**
 * Joules of a step: idle power all the time, and of the board's range the share that busy, moving
 * and waiting GPUs draw; host, fans and cooling on top. NaN when no power is known. (C.96)
 */
double plait_energy_j(const plait_problem *problem, plait_price price);

/** Joules and dollars of a step of `cost`, filled by plait_plan_cost. (C.95, C.96) */
void plait_cost_money(const plait_problem *problem, plait_cost *cost);

#define X(name, equation, what) +1
enum {
    PLAIT_STEP_TERM_COUNT = 0 PLAIT_STEP_TERMS(X),
    PLAIT_MEMORY_TERM_COUNT = 0 PLAIT_MEMORY_TERMS(X)
};
#undef X

PLAIT_END_DECLS

#endif
