/*
 * plan.h - how a job is split: a point of the plan space, and the plan it expands to.
 *
 * plait_degrees is one uniform point: a small value, what the search's inner loop prices.
 * plait_plan is the same spelled out in an arena: an axis order and a list of stages, each with
 * its chunks of layers, its own degrees and a recompute choice a layer. A uniform plan is always
 * expanded from its degrees, never stored twice.
 *
 * In order: fill degrees (plait_degrees_init, plait_degrees_set for "tp=8"), plait_plan_check for
 * the verdict on them, plait_plan_expand for the stages.
 *
 * Degrees that do not divide heads, layers or the batch are not errors: plait_plan_check answers
 * with a verdict and a sentence.
 */
#ifndef PLAIT_PLAN_H
#define PLAIT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plait/arena.h"
#include "plait/error.h"
#include "plait/job.h"

/** The axes ranks are numbered along. Expert parallelism is spread over tp, cp and dp. */
typedef enum plait_axis {
    PLAIT_AXIS_TP,
    PLAIT_AXIS_CP,
    PLAIT_AXIS_DP,
    PLAIT_AXIS_PP,
    PLAIT_AXES,
    PLAIT_AXIS_EP = PLAIT_AXES, /* a group, not a digit of the rank */
    PLAIT_AXIS_ETP,
    PLAIT_AXIS_EDP, /* replicas of one expert shard */
    PLAIT_GROUPS
} plait_axis;

typedef enum plait_cp_comm {
    PLAIT_CP_P2P,       /* ring attention */
    PLAIT_CP_ALLGATHER, /* keys and values gathered */
    PLAIT_CP_A2A,       /* Ulysses */
    PLAIT_CP_COMMS
} plait_cp_comm;

typedef enum plait_schedule {
    PLAIT_NAIVE,
    PLAIT_GPIPE,
    PLAIT_1F1B,
    PLAIT_INTERLEAVED,
    PLAIT_ZB_H1,
    PLAIT_ZB_H2,
    PLAIT_ZB_V,
    PLAIT_V_HALF,
    PLAIT_V_MIN,
    PLAIT_DUALPIPE,
    PLAIT_DUALPIPE_V,
    PLAIT_SCHEDULES
} plait_schedule;

typedef enum plait_grad_sync {
    PLAIT_SYNC_BULK,     /* inside the last microbatch's backward */
    PLAIT_SYNC_BUCKETED, /* in buckets, overlapped with backward */
    PLAIT_SYNC_SHIFTED,  /* each stage after its own last backward */
    PLAIT_GRAD_SYNCS
} plait_grad_sync;

typedef enum plait_recompute_kind {
    PLAIT_RECOMPUTE_NONE,
    PLAIT_RECOMPUTE_SELECTIVE, /* the core attention */
    PLAIT_RECOMPUTE_MODULES,   /* the parts in `modules` */
    PLAIT_RECOMPUTE_SAC,       /* torchtitan's per-operator choice */
    PLAIT_RECOMPUTE_FULL,      /* whole layers */
    PLAIT_RECOMPUTE_KINDS
} plait_recompute_kind;

/** Megatron's names of recomputable modules, bits of plait_recompute.modules. */
#define PLAIT_RECOMPUTE_MODULE_LIST(X)                                                             \
    X(core_attn, "core attention")                                                                 \
    X(layernorm, "norms: their outputs are dropped")                                               \
    X(mla_up_proj, "MLA up-projections and rotary")                                                \
    X(moe_act, "activation of the experts: its output is dropped")                                 \
    X(shared_experts, "the shared experts")                                                        \
    X(mlp, "the dense MLP")                                                                        \
    X(moe, "the whole MoE part, dispatch included")

enum {
#define X(name, what) PLAIT_MODULE_##name,
    PLAIT_RECOMPUTE_MODULE_LIST(X)
#undef X
        PLAIT_MODULES
};

typedef struct plait_recompute {
    unsigned char kind;    /* plait_recompute_kind */
    unsigned char modules; /* bits 1 << PLAIT_MODULE_...; when kind is MODULES */
    short layers;          /* FULL: the first so many layers of a stage; 0: all */
} plait_recompute;

/** How layers are dealt to pipeline stages. */
typedef enum plait_split_kind {
    PLAIT_SPLIT_EVEN,       /* layers / (pp vpp), which must divide */
    PLAIT_SPLIT_EMBEDDING,  /* the embedding counts as a layer */
    PLAIT_SPLIT_LOSS,       /* the loss does */
    PLAIT_SPLIT_BOTH,       /* both do */
    PLAIT_SPLIT_FIRST_LAST, /* given counts on the first and the last stage, the rest even */
    PLAIT_SPLIT_SPREAD,     /* as even as whole layers allow, earlier stages take the remainder */
    PLAIT_SPLIT_COST,       /* blocks until the running cost passes total (r+1)/p (nanotron) */
    PLAIT_SPLITS
} plait_split_kind;

typedef struct plait_split {
    unsigned char kind;   /* plait_split_kind */
    unsigned short first; /* FIRST_LAST: layers of the first stage ... */
    unsigned short last;  /* ... and of the last */
} plait_split;

/** Orders of the axes, innermost first. */
typedef enum plait_order {
    PLAIT_ORDER_TP_CP_DP_PP, /* Megatron's default */
    PLAIT_ORDER_TP_CP_PP_DP, /* Megatron's --use-tp-pp-dp-mapping; Llama-3 */
    PLAIT_ORDERS
} plait_order;

/** One uniform point of the plan space. */
typedef struct plait_degrees {
    int tp;
    int cp;
    int pp;
    int vpp; /* model chunks a rank; 1: not interleaved */
    int ep;
    int etp;         /* tensor parallelism inside an expert */
    int dp;          /* gpus / (tp pp cp) */
    int mbs;         /* sequences of one microbatch on one data-parallel rank */
    int shard_group; /* ranks a ZeRO shard is spread over, of dp cp */
    plait_recompute recompute;
    plait_split split;
    bool sp;
    unsigned char zero;      /* ZeRO stage 0..3 */
    unsigned char cp_comm;   /* plait_cp_comm */
    unsigned char schedule;  /* plait_schedule */
    unsigned char grad_sync; /* plait_grad_sync */
    unsigned char order;     /* plait_order */
} plait_degrees;

typedef enum plait_verdict { PLAIT_FITS, PLAIT_OUT_OF_MEMORY, PLAIT_INVALID } plait_verdict;

/** A run of layers [first, last) that one rank executes as a unit. */
typedef struct plait_chunk {
    int first;
    int last;
    bool embedding;
    bool loss;
    int mtp; /* multi-token-prediction modules behind it */
} plait_chunk;

typedef struct plait_stage {
    int chunks; /* = vpp */
    const plait_chunk *chunk;
    plait_degrees degrees;            /* of this stage; uniform plans repeat the plan's */
    const plait_recompute *recompute; /* one a layer of its chunks in order */
    int layers;                       /* over all chunks */
} plait_stage;

typedef struct plait_plan {
    plait_degrees degrees;
    plait_axis order[PLAIT_AXES]; /* innermost first */
    int stages;                   /* = pp */
    const plait_stage *stage;
} plait_plan;

/** All ones, 1F1B, no recomputation: a legal single-GPU point to start from. */
plait_degrees plait_degrees_init(void);

/** Data-parallel size: gpus / (tp pp cp), 0 when that does not divide. (C.2) */
int plait_degrees_dp(int gpus, int tp, int pp, int cp);

/** Microbatches of one pipeline: gbs / (dp mbs), 0 when that does not divide. */
int plait_degrees_microbatches(const plait_degrees *degrees, int gbs);

/**
 * Set one key of the command line or JSON ("tp", "recompute", "schedule", ...) from its text.
 *
 * Fails (RANGE) on an unknown key or a value outside the key's own range; `where` is the key.
 */
PLAIT_MUST_CHECK plait_status plait_degrees_set(plait_degrees *degrees, const char *key,
                                                const char *value, plait_error *err);

/** The text of one key, as plait_degrees_set takes it. Returns `text`. */
char *plait_degrees_get(const plait_degrees *degrees, const char *key, char *text, size_t size);

/** Keys of plait_degrees_set in the order reports use, NULL-terminated. */
extern const char *const plait_degrees_keys[];

/**
 * Is this plan legal for the problem: does it divide, can the runtime express it?
 *
 * @param why   receives a sentence when the answer is PLAIT_INVALID; may be NULL
 * @return      PLAIT_INVALID or PLAIT_FITS (memory is not looked at)
 */
plait_verdict plait_plan_check(const plait_problem *problem, const plait_degrees *degrees,
                               char *why, size_t size);

/**
 * Can the runtime build this model at all, by the words that its launch configs have? A model that
 * it cannot is priced all the same: somebody may run it with a change of their own.
 *
 * @param why  receives a sentence when it cannot; may be NULL
 */
bool plait_model_check(const plait_runtime *runtime, const plait_model *model, char *why,
                       size_t size);

/** Has the cost model a price for this schedule? The V-shaped ones wait for a simulator. */
bool plait_schedule_priced(plait_schedule schedule);

/** Expand degrees to stages. *out lives in `arena`. The degrees must pass plait_plan_check. */
PLAIT_MUST_CHECK plait_status plait_plan_expand(const plait_problem *problem,
                                                const plait_degrees *degrees, plait_arena *arena,
                                                plait_plan *out, plait_error *err);

/**
 * Layers of each of the pp*vpp chunks in pipeline order (chunk c sits on stage c % pp).
 *
 * @param counts  [pp * vpp]
 * @return        false when this split cannot deal the model's layers to so many chunks
 */
bool plait_split_layers(const plait_model *model, const plait_degrees *degrees, int *counts);

/** The axes of an order, innermost first. */
const plait_axis *plait_order_axes(plait_order order);

/**
 * Which ranks form one process group: a group may span several axes, so it is up to PLAIT_AXES
 * runs, each of `size` members `stride` ranks apart.
 */
typedef struct plait_group_shape {
    int ranks;
    int runs;
    struct {
        int size;
        int stride;
    } run[PLAIT_AXES]; /* innermost first */
} plait_group_shape;

/** The shape of one axis' group, or of EP, ETP, EDP. (C.3) */
plait_group_shape plait_group_of(const plait_degrees *degrees, plait_axis axis);

/** All replicas of a dense parameter: dp and cp together. */
plait_group_shape plait_group_replicas(const plait_degrees *degrees);

/**
 * Ranks that a shard of the experts spans: of their own replicas as large a share as shard_group is
 * of the dense ones, or where that does not divide them the next smaller number that does.
 */
int plait_expert_shard_group(const plait_degrees *degrees);

/** The innermost `ranks` members of a group (a ZeRO shard), `ranks` a divisor of its size. */
plait_group_shape plait_group_inner(plait_group_shape group, int ranks);

/** One member of each such shard: who holds the same shard (HSDP replicas). */
plait_group_shape plait_group_outer(plait_group_shape group, int ranks);

extern const char *const plait_axis_name[PLAIT_GROUPS + 1];
extern const char *const plait_cp_comm_name[PLAIT_CP_COMMS + 1];
extern const char *const plait_schedule_name[PLAIT_SCHEDULES + 1];
extern const char *const plait_grad_sync_name[PLAIT_GRAD_SYNCS + 1];
extern const char *const plait_split_name[PLAIT_SPLITS + 1];
extern const char *const plait_order_name[PLAIT_ORDERS + 1];
extern const char *const plait_recompute_module_name[PLAIT_MODULES + 1];

#endif
