/*
 * plan.h - plans: stages of layers, groups of ranks, and their legality
 *
 * A plait_plan is an expanded point of the plan space (degrees.h): an axis order and a list of
 * stages, each with its chunks of layers, its own degrees and a recompute choice for each layer. A
 * uniform plan is always expanded from its degrees.
 *
 * In order: plait_degrees_check for the verdict on degrees, plait_plan_expand for the stages,
 * plait_plan_check for the verdict on a plan, which plait_plan_cost (cost.h) requires.
 *
 * Degrees that do not divide heads, layers or the batch are not errors: the checks return a verdict
 * and a sentence.
 */
#ifndef PLAIT_PLAN_H
#define PLAIT_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plait/arena.h"
#include "plait/degrees.h"
#include "plait/error.h"
#include "plait/problem.h"

PLAIT_BEGIN_DECLS

/** The axes along which ranks are numbered. Expert parallelism uses ranks of tp, cp and dp. */
typedef enum plait_axis {
    PLAIT_AXIS_TP,
    PLAIT_AXIS_CP,
    PLAIT_AXIS_DP,
    PLAIT_AXIS_PP,
    PLAIT_AXES,
    PLAIT_AXIS_EP = PLAIT_AXES, /* a group, not an axis of ranks */
    PLAIT_AXIS_ETP,             /* tensor parallelism inside an expert */
    PLAIT_AXIS_EDP,             /* replicas of one expert shard */
    PLAIT_GROUPS
} plait_axis;

typedef enum plait_verdict {
    PLAIT_FITS,
    PLAIT_TIGHT, /* may run out of memory: the risk is above the accepted one and below one half */
    PLAIT_OUT_OF_MEMORY,
    PLAIT_INVALID,
    PLAIT_VERDICTS
} plait_verdict;

extern const char *const plait_verdict_name[PLAIT_VERDICTS + 1];

/** A chunk: the layers [first, last), which one rank executes as a unit. */
typedef struct plait_chunk {
    int first;
    int last;
    bool embedding;
    bool loss;
    int mtp; /* multi-token-prediction modules after its layers */
} plait_chunk;

/** The ways in which a layer keeps fewer activations: recomputation, and offload to the host. */
typedef struct plait_choice {
    plait_recompute recompute;
    unsigned char offload_acts; /* index of a set of PLAIT_OFFLOAD_SETS */
} plait_choice;

/**
 * The sharding of a layer over the GPUs of its stage, if the runtime can choose it for each layer.
 */
typedef struct plait_cut {
    short tp;           /* tensor parallelism; dp and mbs follow from the GPUs of the stage */
    unsigned char zero; /* ZeRO stage */
} plait_cut;

typedef struct plait_stage {
    int chunks; /* = vpp */
    const plait_chunk *chunk;
    plait_degrees
        degrees; /* degrees of the plan, except where stages differ (docs/reference/rules.md) */
    const plait_recompute *recompute; /* [layers], in the order of its chunks */
    const plait_cut *cut;             /* [layers]; NULL: all as in `degrees` */
    int layers;                       /* layers of all chunks */
    int group;                        /* index of the node group */
} plait_stage;

typedef struct plait_plan {
    plait_degrees degrees;
    plait_axis order[PLAIT_AXES]; /* innermost first */
    int stages;                   /* = pp */
    const plait_stage *stage;
} plait_plan;

/**
 * Are these degrees legal for the problem? They must divide the model, the GPUs and the batch, and
 * the runtime must be able to express them.
 *
 * @param why   receives a sentence if the result is PLAIT_INVALID; may be NULL
 * @return      PLAIT_INVALID or PLAIT_FITS (memory is not checked)
 */
plait_verdict plait_degrees_check(const plait_problem *problem, const plait_degrees *degrees,
                                  char *why, size_t size);

/**
 * Can the runtime's launch configs describe this model? If not, the model still has a price, since
 * a user may change the software.
 *
 * @param why  receives a sentence if they cannot; may be NULL
 */
bool plait_model_check(const plait_runtime *runtime, const plait_model *model, char *why,
                       size_t size);

/**
 * The attention kernel of a plan that names none: the runtime's default, or the last kernel that
 * runtime, accelerator and model support.
 */
plait_attention_kernel plait_attention_usual(const plait_problem *problem);

/**
 * Expand degrees to stages. *out lives in `arena`. Only the model of the problem is used. The
 * degrees must pass plait_degrees_check.
 */
PLAIT_MUST_CHECK plait_status plait_plan_expand(const plait_problem *problem,
                                                const plait_degrees *degrees, plait_arena *arena,
                                                plait_plan *out, plait_error *err);

/**
 * Makes the plan with these chunks in `arena`. If its split is of kind LAYOUT, the layout text is
 * written from the chunks. The plan is not checked.
 *
 * @param chunks  [pp * vpp] in pipeline order; plait_chunks_deal makes them of counts of layers
 * @return        RANGE if their layout does not fit PLAIT_VALUE_SIZE
 */
PLAIT_MUST_CHECK plait_status plait_plan_lay(const plait_degrees *degrees,
                                             const plait_chunk *chunks, plait_arena *arena,
                                             plait_plan *out, plait_error *err);

/**
 * A plan that is legal for a problem, which plait_plan_cost takes. plait_plan_check fills it. Both
 * structs must outlive it and must not change after the check.
 */
typedef struct plait_checked_plan {
    const plait_problem *problem;
    const plait_plan *plan;
} plait_checked_plan;

/**
 * Is this plan legal? Its degrees must be legal, its stages must contain each layer once, and it
 * must have no settings that the price ignores. Stages may have different degrees if the runtime
 * has `stages_differ` (P31 to P34 of docs/reference/rules.md).
 *
 * @param checked  filled if the plan is legal; may be NULL
 * @param why      as in plait_degrees_check
 * @return         PLAIT_INVALID or PLAIT_FITS (memory is not checked)
 */
plait_verdict plait_plan_check(const plait_problem *problem, const plait_plan *plan,
                               plait_checked_plan *checked, char *why, size_t size);

/**
 * Is this a heterogeneous plan: on a cluster with several kinds of nodes, or with different degrees
 * in different stages?
 */
bool plait_plan_mixed(const plait_problem *problem, const plait_plan *plan);

/** The sharding of layer `layer` of a stage, counted over its chunks in order. */
plait_cut plait_cut_of(const plait_stage *stage, int layer);

/** Does a layer of the plan have another sharding than its stage? */
bool plait_plan_cuts(const plait_plan *plan);

/**
 * The degrees of a layer with this sharding: those of a plan in which all layers have it. (C.280)
 */
plait_degrees plait_degrees_cut(const plait_degrees *degrees, plait_cut cut);

/** Number of GPUs that the stages of a plan use in node group g; for g = -1, in all groups. */
int plait_plan_gpus(const plait_plan *plan, int g);

/**
 * The problem restricted to node group g, with the number of GPUs that `degrees` need. A stage on
 * this group is priced as one of equal stages. (C.221)
 *
 * @param cluster  filled; the result points to it
 */
plait_problem plait_problem_of_group(const plait_problem *problem, int g,
                                     const plait_degrees *degrees, plait_cluster *cluster);

/**
 * Layers of each of the pp*vpp chunks in pipeline order, from the embedding to the loss.
 *
 * @param counts  [pp * vpp]
 * @return        false if this split cannot assign the model's layers to pp*vpp chunks
 */
bool plait_split_layers(const plait_model *model, const plait_degrees *degrees, int *counts);

/**
 * The pp*vpp chunks in pipeline order: their layers, the embedding in the first, the
 * multi-token-prediction modules and the loss in the last, unless a layout places them elsewhere.
 * plait_schedule_rank has the rank of each.
 *
 * @param chunks  [pp * vpp]
 * @return        false as plait_split_layers
 */
bool plait_chunks_of(const plait_model *model, const plait_degrees *degrees, plait_chunk *chunks);

/**
 * Fills chunks with these numbers of layers, in pipeline order. Embedding, multi-token-prediction
 * modules and loss are placed as plait_chunks_of places them without a layout.
 *
 * @param counts  [count], which sum to the model's layers
 * @param chunks  [count]
 */
void plait_chunks_deal(const plait_model *model, const int *counts, int count, plait_chunk *chunks);

/**
 * The recomputation of layer `layer` of a chunk: full:N recomputes the first N / vpp layers of each
 * chunk, as Megatron counts them.
 */
plait_recompute plait_recompute_of(const plait_degrees *degrees, int layer);

/** Chunk c of a plan, in pipeline order; NULL: no such chunk. */
const plait_chunk *plait_plan_chunk(const plait_plan *plan, int chunk);

/** The axes of an order, innermost first; NULL: unknown order. */
const plait_axis *plait_order_axes(plait_order order);

/**
 * The ranks of a process group. A group may span several axes, so it consists of up to PLAIT_AXES
 * runs, each with `size` members that are `stride` ranks apart.
 */
typedef struct plait_group_shape {
    int ranks;
    int runs;
    struct {
        int size;
        int stride;
    } run[PLAIT_AXES];       /* innermost first */
    unsigned char placement; /* plait_placement: the physical axes that ranks run along */
} plait_group_shape;

/**
 * The physical axes in the order in which ranks run along them, [PLAIT_MAX_SIDES]; NULL for an
 * invalid placement. (C.117)
 */
const int *plait_placement_axes(plait_placement placement);

/**
 * Does this placement differ from each placement before it? On a cluster without a grid, or with
 * equal sides, none does.
 *
 * @param placement  PLAIT_PLACEMENTS: does any?
 */
bool plait_placement_differs(const plait_cluster *cluster, plait_placement placement);

/** The shape of one axis' group, or of EP, ETP, EDP. (C.3) */
plait_group_shape plait_group_of(const plait_degrees *degrees, plait_axis axis);

/**
 * Number of adjacent ranks that exchange heads by all-to-all under a2a+p2p; rings join the cp /
 * inner groups of such ranks. Returns the largest proper divisor of cp that fits a scale-up domain
 * together with tp and divides the heads of every layer, at least 1.
 */
int plait_context_inner(const plait_problem *problem, int tp, int cp);

/** All replicas of a dense parameter: dp and cp together. */
plait_group_shape plait_group_replicas(const plait_degrees *degrees);

/**
 * Ranks of a ZeRO shard of the experts. It has the same share of the experts' replicas as
 * shard_group has of the dense replicas, rounded down to a divisor.
 */
int plait_expert_shard_group(const plait_degrees *degrees);

/**
 * The innermost `ranks` members of a group (a ZeRO shard): a divisor of its size and, where it has
 * several runs, a divisor or a multiple of the first.
 */
plait_group_shape plait_group_inner(plait_group_shape group, int ranks);

/**
 * The members of a group that have the same part of each ZeRO shard of `ranks` members (HSDP
 * replicas).
 */
plait_group_shape plait_group_outer(plait_group_shape group, int ranks);

extern const char *const plait_axis_name[PLAIT_GROUPS + 1];

PLAIT_END_DECLS

#endif
