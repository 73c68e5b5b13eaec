/*
 * cost.h - the price of a plan: seconds and bytes
 *
 * In order: plait_plan_check (plan.h), then plait_plan_cost, which prices one checked plan with
 * every term: times and bytes by name, stages, collectives. plait_plan_evaluate does both. A caller
 * that prices many plans passes a plait_pipelines, which caches simulated schedules.
 *
 * The step time is a sum of exposed terms on the slowest stage; hidden communication is listed
 * separately (plait_volume). Every equation is numbered in docs/model.
 *
 * Left out: checkpoints, data loading, restarts, network jitter.
 */
#ifndef PLAIT_COST_H
#define PLAIT_COST_H

#include "plait/plan.h"
#include "plait/problem.h"
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
    X(bubble, "C.70", "idle time while the pipeline fills and drains, and of uneven stages")       \
    X(dp_comm, "C.66", "gradient reduction and parameter gather, exposed")                         \
    X(optimizer, "C.69", "gradient norm, optimizer step")                                          \
    X(data, "C.417", "waiting for the rank whose documents take longest")                          \
    X(reference, "C.414", "forward pass of a reference model or a teacher")

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
    X(activations, "C.82", "activations of the microbatches in flight, working set of a layer")    \
    X(buffers, "C.83", "logits, gathers, buckets, messages, context buffers")                      \
    X(runtime, "C.84", "device context, NCCL, allocator")

typedef struct plait_memory {
#define X(name, equation, what) double name##_bytes;
    PLAIT_MEMORY_TERMS(X)
#undef X
    double peak_bytes; /* sum of the terms above */
    double low_bytes;  /* lower edge of the band of the peak (plait_problem.memory_band) */
    double high_bytes;
    double capacity_bytes;      /* bytes that plans may use at the problem's risk */
    double allocated_bytes;     /* part of the peak that the allocator has allocated */
    double reserved_bytes;      /* bytes that the allocator reserves for allocated_bytes */
    double host_bytes;          /* host memory of a node for offloaded state and activations */
    double host_capacity_bytes; /* host memory of a node; 0: unknown */
} plait_memory;

/**
 * One kind of communication of a step, on one GPU of the slowest stage. Its exposed time is part of
 * the term `term` of the step. The exposed times with the same communication term sum to that term;
 * those with the term `recompute` sum to the repeated communication.
 */
typedef struct plait_volume {
    const char *what; /* "TP all-gather" */
    const char *term; /* "tp_comm", "recompute", ... */
    plait_collective_op op;
    plait_axis axis;
    int ranks;
    bool between;     /* whether the calls leave a scale-up domain and use the network */
    double count;     /* calls per step */
    double bytes;     /* bytes of the buffer of one call */
    double seconds;   /* time of all calls, hidden or exposed */
    double exposed_s; /* never above seconds */
} plait_volume;

/** One stage of a priced plan. */
typedef struct plait_stage_cost {
    double forward_s; /* forward of one microbatch */
    double backward_s;
    double memory_bytes; /* peak of the stage, as plait_memory.peak_bytes */
    double allocated_bytes;
    double reserved_bytes;
    double in_flight;
} plait_stage_cost;

/* ---- fused collectives, as the key `fusion` decided (lowlevel/fuse.h) ---- */

/** Transitions between parallelisms that can be fused: constant, name, effect. */
#define PLAIT_FUSION_LIST(X)                                                                       \
    X(TP_SP, "TP+SP", "reduce-scatter instead of all-reduce before tokens are sharded")            \
    X(TP_PP, "TP+PP", "reduce-scatter instead of all-reduce before a send of one share")           \
    X(TP_EP, "TP+EP", "reduce-scatter instead of all-reduce before dispatch, routed earlier")      \
    X(PP_EP, "PP+EP", "one scatter instead of send and dispatch, routed in the stage before")      \
    X(SP_PP, "SP+PP", "one scatter instead of send and all-gather")                                \
    X(SP_EP_SP, "SP+EP+SP", "dispatch from shards and combine into shards, without all-gather")

typedef enum plait_fusion_rule {
#define X(constant, name, does) PLAIT_FUSE_##constant,
    PLAIT_FUSION_LIST(X)
#undef X
        PLAIT_FUSION_RULES
} plait_fusion_rule;

/** Whether a priced plan fuses the collectives of one rule. */
typedef enum plait_fusion_fate {
    PLAIT_NO_TRANSITION, /* the plan has no such transition */
    PLAIT_FUSED_ALREADY, /* the plan's own collectives are the fused ones */
    PLAIT_DECLINED,      /* the fused collective takes longer on these links */
    PLAIT_FUSED,
    PLAIT_FUSION_FATES
} plait_fusion_fate;

extern const char *const plait_fusion_fate_name[PLAIT_FUSION_FATES + 1];

/**
 * One fusion rule in a priced plan. `calls` is the number of transitions per step on the slowest
 * stage. The bytes that one GPU of this stage sends, and the seconds of these sends, hidden or not,
 * are given before fusion and after it.
 */
typedef struct plait_fused {
    plait_fusion_fate fate;
    double calls;
    double before_bytes, after_bytes;
    double before_s, after_s;
} plait_fused;

typedef struct plait_cost {
    plait_verdict verdict;
    double risk; /* probability that the fullest GPU runs out of memory */
    double
        missing_bytes; /* missing memory of the fullest stage, else missing host memory of a node */
    double step_s;     /* sum of the terms in `step`; 0 if the plan is invalid */
    double step_low_s; /* band of step_s (plait_problem.band); NaN without one */
    double step_high_s;
    plait_step_time step;
    double sync_step_s[PLAIT_GRAD_SYNCS]; /* the step with each way to reduce gradients */
    plait_memory memory;                  /* memory of the fullest GPU */
    int fullest_stage;
    int slowest_stage;
    int stages;
    const plait_stage_cost *stage; /* [stages], in the arena */
    int volumes;
    const plait_volume *volume; /* [volumes], in the arena */
    double forward_pass_s;      /* one pass over the batch without backward (C.414) */
    double network_s;           /* time of all calls between domains, back to back (C.311) */
    bool fuses; /* whether the plan's `fusion` is auto; then `fused` has the decisions */
    plait_fused fused[PLAIT_FUSION_RULES];
    double tokens_per_s_per_gpu;
    double model_flops_per_s; /* one GPU, causal attention halved (C.5) */
    double mfu;               /* model_flops_per_s over the peak of the job's precision */
    double hfu;        /* FLOPs that the kernels compute, with recomputation, over that peak */
    double mfu_square; /* mfu with causal attention counted as the full square */
    double hfu_square;
    double cost_usd; /* dollars of one step; NaN if no price is known */
    double energy_j; /* energy of one step; NaN if no power is known */
    double busy_s;   /* mean over GPUs, as in plait_price */
    double moving_s;
    plait_confidence confidence; /* low if constants are defaults or the runtime is uncalibrated */
    char why[256];               /* reason in one sentence if the plan does not fit or is invalid */
} plait_cost;

/**
 * Cache of the pipeline schedules that one thread simulates, for any problems and stage times; at
 * most 24 MiB.
 */
typedef struct plait_pipelines plait_pipelines;

/** An empty cache, which plait_pipelines_free releases; NULL when out of memory. */
plait_pipelines *plait_pipelines_new(void);

/** Release the cache. NULL is allowed. */
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
 * @return  RANGE for a problem that is incomplete (plait_problem), or NOMEM; a plan that is not
 *          legal has the verdict PLAIT_INVALID in *cost, and the reason in cost->why
 */
PLAIT_MUST_CHECK plait_status plait_plan_evaluate(const plait_problem *problem,
                                                  const plait_plan *plan,
                                                  plait_pipelines *pipelines, plait_arena *arena,
                                                  plait_cost *cost, plait_error *err);

/** The price of a point, with the figures that the search uses. */
typedef struct plait_price {
    double step_s; /* time of the step; a lower bound unless `exact` */
    double peak_bytes;
    double busy_s;   /* mean time of a GPU in matrix products, attention and recomputation */
    double moving_s; /* mean time of a GPU in memory-bound kernels and the optimizer */
    bool exact;      /* whether step_s is exact: no simulation could find a longer step */
} plait_price;

/**
 * Device memory that plans may use, in bytes: the largest predicted peak that runs out of memory
 * with a probability of at most `risk`. At a risk of one half this is the memory that a process can
 * use. (C.85)
 *
 * @param risk  0 .. 1, both excluded; 0: the default risk
 */
double plait_capacity_bytes(const plait_problem *problem, double risk);

/** Probability that a predicted peak does not fit the device. (C.85) */
double plait_memory_risk(const plait_problem *problem, double peak_bytes);

#define X(name, equation, what) +1
enum {
    PLAIT_STEP_TERM_COUNT = 0 PLAIT_STEP_TERMS(X),
    PLAIT_MEMORY_TERM_COUNT = 0 PLAIT_MEMORY_TERMS(X)
};
#undef X

PLAIT_END_DECLS

#endif
