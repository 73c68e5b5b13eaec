/*
 * runtime.h - training software: its plan space, its overlap and its memory
 *
 * A runtime profile (clusters/runtimes/NAME.json) limits the plan space and adds about ten
 * constants to those of the hardware: factors on kernels, host time per layer, exposed shares of
 * collectives. Rules that relate several degrees are code (src/rules/rules_<runtime>.c); the
 * profile names its rules. A variant (clusters/runtimes/NAME@YY.MM.json) describes the releases of
 * the same software up to a month, and has only the values that differ from the profile.
 *
 * In order: plait_runtime_load, then read the struct.
 */
#ifndef PLAIT_RUNTIME_H
#define PLAIT_RUNTIME_H

#include <stdbool.h>

#include "plait/arena.h"
#include "plait/error.h"
#include "plait/plan.h"

PLAIT_BEGIN_DECLS

/** Rules of a runtime's plans: constant, word in profiles, and rule set in src/rules. */
#define PLAIT_RULES_LIST(X)                                                                        \
    X(PLAIT_RULES_GENERIC, "generic", rules_generic)                                               \
    X(PLAIT_RULES_MEGATRON, "megatron", rules_megatron)                                            \
    X(PLAIT_RULES_TORCHTITAN, "torchtitan", rules_torchtitan)                                      \
    X(PLAIT_RULES_FSDP, "fsdp", rules_fsdp)                                                        \
    X(PLAIT_RULES_DEEPSPEED, "deepspeed", rules_deepspeed)                                         \
    X(PLAIT_RULES_FLAGSCALE, "flagscale", rules_flagscale)                                         \
    X(PLAIT_RULES_GALVATRON, "galvatron", rules_galvatron)                                         \
    X(PLAIT_RULES_MINDSPEED, "mindspeed", rules_mindspeed)                                         \
    X(PLAIT_RULES_MAXTEXT, "maxtext", rules_maxtext)                                               \
    X(PLAIT_RULES_MEGATRON_DEEPSPEED, "megatron-deepspeed", rules_megatron_deepspeed)              \
    X(PLAIT_RULES_AUTOMODEL, "automodel", rules_automodel)

typedef enum plait_rules {
#define X(constant, word, set) constant,
    PLAIT_RULES_LIST(X)
#undef X
        PLAIT_RULES
} plait_rules;

extern const char *const plait_rules_name[PLAIT_RULES + 1];

enum { PLAIT_MAX_MODULE_SETS = 16 };

/** The unit for which a setting is chosen: constant, and word in profiles. */
#define PLAIT_CHOOSER_LIST(X)                                                                      \
    X(PLAIT_BY_PLAN, "plan")   /* one for all layers, or the same full:N in each stage */          \
    X(PLAIT_BY_STAGE, "stage") /* one for each stage */                                            \
    X(PLAIT_BY_LAYER, "layer")

typedef enum plait_granularity {
#define X(constant, word) constant,
    PLAIT_CHOOSER_LIST(X)
#undef X
        PLAIT_CHOOSERS
} plait_granularity;

extern const char *const plait_chooser_name[PLAIT_CHOOSERS + 1];

/**
 * The plan space of the software. Masks have bits 1 << value. `most` has the upper bound of each
 * key with numbers, `takes` the allowed values of each other key (for sp, the values allowed if tp
 * > 1).
 */
typedef struct plait_capabilities {
    int most[PLAIT_KEYS];       /* upper bound; 1: not supported */
    unsigned takes[PLAIT_KEYS]; /* allowed values; for recompute and split, allowed kinds */
    bool etp;                   /* whether etp can differ from 1 and tp */
    bool etp_is_tp;             /* whether etp always equals tp */
    bool hsdp;                  /* whether shard_group can be below dp cp */
    bool full_layers;           /* whether recompute=full:N is supported */
    bool stages_differ;         /* whether stages can have different degrees and nodes */
    unsigned char recompute_by; /* plait_granularity: granularity of recomputation */
    unsigned char offload_by;   /* plait_granularity: granularity of offload, at most a stage */
    unsigned char tp_by;        /* plait_granularity: granularity of tp, plan or layer */
    unsigned char zero_by;      /* plait_granularity: granularity of the ZeRO stage */
    unsigned recompute_alike;   /* kinds of recomputation that a plan must use in all layers or in
                                 * none */
    unsigned precision;
    int module_sets;
    unsigned char module_set[PLAIT_MAX_MODULE_SETS];
} plait_capabilities;

enum { PLAIT_SUPPORT_VALUES = 12 }; /* values of a key whose evidence is counted */

/**
 * How far measured runs support the values of a plan's keys. All 0: the model decides alone. (C.345)
 */
typedef struct plait_support {
    bool judged;                     /* whether measured runs were counted */
    unsigned unmeasured[PLAIT_KEYS]; /* values that no measured run supports: bits 1 << value */
    double unearned[PLAIT_KEYS][PLAIT_SUPPORT_VALUES]; /* share of the claimed gain that does not
                                                        * count */
} plait_support;

/** Default values of keys, for `eval` and searches. */
typedef struct plait_runtime_defaults {
    int key
        [PLAIT_KEYS]; /* words and small numbers: the profile's value, else the first allowed one */
} plait_runtime_defaults;

/** Kernel switches: which passes over memory are fused, and how kernels are scaled and launched. */
typedef struct plait_kernel_set {
    bool fused_norm;
    bool norm_in_product; /* norms run inside the kernel of the next product */
    bool fused_activation;
    bool fused_rotary;
    bool fused_residual; /* bias, dropout and addition in one pass */
    bool fused_softmax;  /* unfused attention runs one scale-mask-softmax kernel */
    bool fused_loss;
    bool fused_permute;   /* one pass puts tokens in the order of experts, and one puts them back */
    bool indexed_permute; /* tokens are put in order by PyTorch's indexing and scatters, and rows
                           * are multiplied by their scores in fp32 */
    bool fused_accumulation; /* a weight-gradient product adds directly to the gradient buffer */
    bool expert_streams;  /* one product per expert, on several streams; else one grouped product */
    bool recompute_stops; /* full recomputation ends with the last tensor that backward needs */
    bool wide_experts;    /* products of experts run in bf16, whatever the job's precision */
    bool wide_linears;    /* products other than those of experts run in bf16 */
    bool narrow_head;     /* the head's product runs in the job's precision */
    bool unpadded_vocab;  /* the vocabulary projection has the tokenizer's width; else a padded
                           * one */
    bool delayed_scaling; /* fp8 scale from the maxima of earlier steps; else from the tensor */
    bool rowwise_scaling; /* one scale per row, computed for each direction of a matrix */
    bool compiled_step;   /* the whole step is one program, which has no launch time */
    int mamba_chunk;      /* tokens of a chunk of Mamba-2 kernels; 0: those of the model */
} plait_kernel_set;

/**
 * Overlap of communication and compute. A share is relative to the time of the collective: 0 is
 * hidden, 1 exposed; a fitted share may exceed 1. Prices use the plan's grad_sync instead of
 * `grad_reduce`.
 */
typedef struct plait_overlaps {
    bool grad_reduce;  /* buckets reduced during backward; only launch files read it */
    bool ddp;          /* gradient buckets of ZeRO-0 overlap with backward, as in DDP */
    bool reduce_whole; /* ZeRO-1 all-reduces gradients, although each rank updates only its shard */
    bool param_gather; /* the all-gather of ZeRO-1 overlaps with the next forward */
    bool p2p;          /* pipeline sends overlap with compute */
    bool p2p_scatter;  /* sends are divided by tp even without sp (scatter-gather) */
    bool moe_dedup;    /* expert dispatch sends a token once per node (DeepEP) */
    double bucket_bytes;          /* minimum size of a gradient bucket; 0: one bucket for all */
    double bucket_bytes_per_rank; /* minimum bucket size per rank that shares it */
    double tp_exposed;            /* share of TP collectives left exposed */
    double tp_exposed_overlapped; /* share left exposed with tp_comm_overlap 1; 0: tp_exposed is
                                   * that share, and without the overlap it is at least 1 */
    double dp_exposed;            /* share of gradient and parameter traffic never hidden */
    double ep_exposed;            /* share of expert all-to-alls left exposed */
    double p2p_exposed;           /* share of pipeline sends left exposed when p2p overlaps */
    double window; /* share of a backward or forward that can hide reductions and gathers */
} plait_overlaps;

/** Factors of the software on the hardware's constants; 1 and 0 are neutral. */
typedef struct plait_factors {
    double gemm;          /* factor on matrix product time */
    double memory;        /* factor on memory-bound kernels */
    double attention;     /* factor on fused attention time */
    double host_s;        /* launch time of one layer's forward */
    double host_tp_s;     /* additional launch time if tp > 1 */
    double host_experts;  /* launches of an MoE layer over those of a dense one */
    double host_expert_s; /* additional launch time of each expert of a rank */
    double host_backward; /* launches of a backward over those of its forward */
    double nic;           /* factor on the network rate */
    double nic_ranks;     /* exponent with which the network rate falls with the ranks of a
                           * collective */
    double rails;         /* NICs of a node that one communicator drives at once; 0: all */
    double p2p_s;         /* fixed time of one pipeline send */
    double hop_s;         /* latency of one hop between nodes, added to the cluster's */
    double ep_imbalance;  /* received tokens of the fullest rank over the mean */
} plait_factors;

/** Bytes of state per parameter, before ZeRO divides them. */
typedef struct plait_state_bytes {
    double weight;
    double gradient;        /* bytes kept */
    double gradient_reduce; /* bytes sent in the reduction */
    double gather;          /* bytes sent and kept in a parameter gather */
    double optimizer;       /* master weight and moments */
    double replicated;      /* further bytes that ZeRO never divides (buckets, copies) */
    double step_bytes;      /* HBM traffic of an optimizer step per parameter of the shard */
    double shard_passes;    /* passes over the shard's gradient: norm, clip */
    double buffer_passes;   /* passes over the whole gradient: zeroing, scaling */
    double frozen; /* bytes kept and gathered of a parameter that is not trained; 0 in profiles */
} plait_state_bytes;

/** Parts of a layer, by which recomputation is chosen and reports are grouped. */
#define PLAIT_PART_LIST(X)                                                                         \
    X(norm, "norms")                                                                               \
    X(linear_norm, "norms inside the kernel of the following product")                             \
    X(qkv, "query, key, value projection")                                                         \
    X(mla_up, "MLA up-projections")                                                                \
    X(rotary, "rotary embedding and q/k norms")                                                    \
    X(indexer, "sparse-attention indexer")                                                         \
    X(conv, "short convolution")                                                                   \
    X(core_attn, "core attention, linear attention or scan")                                       \
    X(attn_out, "attention output projection")                                                     \
    X(residual, "residual additions and dropout")                                                  \
    X(fc1, "MLP first product")                                                                    \
    X(act, "MLP activation")                                                                       \
    X(fc2, "MLP second product")                                                                   \
    X(router, "expert router")                                                                     \
    X(moe_latent, "projections of tokens to and from the width of experts")                        \
    X(dispatch, "tokens to experts: permute and all-to-all")                                       \
    X(expert_fc1, "experts' first product")                                                        \
    X(expert_act, "experts' activation")                                                           \
    X(expert_fc2, "experts' second product")                                                       \
    X(combine, "tokens from experts: all-to-all and unpermute")                                    \
    X(shared, "shared experts")                                                                    \
    X(opaque, "layer known only by its costs")                                                     \
    X(embedding, "token and position embedding")                                                   \
    X(head, "final norm and vocabulary projection")                                                \
    X(loss, "cross-entropy")

typedef enum plait_part {
#define X(name, what) PLAIT_PART_##name,
    PLAIT_PART_LIST(X)
#undef X
        PLAIT_PARTS
} plait_part;

/**
 * Classes of tensors that may be kept for backward. For each class, a runtime profile has the bytes
 * per element that its software keeps (plait_residents.keeps).
 */
#define PLAIT_TENSOR_LIST(X)                                                                       \
    X(norm_in, "inputs of norms")                                                                  \
    X(norm_cast, "fp32 copies of the inputs of norms, made by PyTorch's kernels")                  \
    X(norm_out, "outputs of norms, inputs of the first products")                                  \
    X(linear_norm_out, "outputs of norms inside the kernel of the following product")              \
    X(router_in, "outputs of norms before experts: input of the router")                           \
    X(qkv, "queries and values")                                                                   \
    X(keys, "keys")                                                                                \
    X(rotary, "queries and keys after rotary, if kept separately")                                 \
    X(latent, "MLA latents")                                                                       \
    X(scores, "attention probabilities, unfused attention only")                                   \
    X(scores_dropout, "dropout mask of the attention probabilities, and their product")            \
    X(lse, "log-sum-exp of fused attention")                                                       \
    X(core_out, "output of the core attention")                                                    \
    X(scan, "states of linear attention or scan")                                                  \
    X(fc1_out, "input of the MLP activation")                                                      \
    X(act_mid, "intermediate result of an unfused MLP activation")                                 \
    X(act_out, "output of the MLP activation")                                                     \
    X(dropout, "hidden dropout masks")                                                             \
    X(router, "router logits and probabilities")                                                   \
    X(routed, "tokens as the experts receive them")                                                \
    X(expert_fc1_out, "input of the experts' activation")                                          \
    X(expert_act_out, "output of the experts' activation")                                         \
    X(routed_out, "tokens as the experts return them")                                             \
    X(shared_fc1_out, "input of the shared experts' activation")                                   \
    X(shared_act_out, "output of the shared experts' activation")                                  \
    X(opaque, "bytes that an opaque layer declares")

typedef enum plait_tensor {
#define X(name, what) PLAIT_TENSOR_##name,
    PLAIT_TENSOR_LIST(X)
#undef X
        PLAIT_TENSORS
} plait_tensor;

extern const char *const plait_part_name[PLAIT_PARTS + 1];
extern const char *const plait_tensor_name[PLAIT_TENSORS + 1];

/** Kept activations, and memory besides state and activations. */
typedef struct plait_residents {
    double keeps[PLAIT_TENSORS]; /* bytes per element; 0: not kept */
    bool quantised_inputs; /* products in 8 or 4 bits keep inputs and weights in that format */
    double keeps_gathered; /* share of inputs under sp that are kept gathered, not divided by tp */
    bool gradients_freed;  /* whether a step starts without gradients, which its first backward
                            * allocates */
    double logits;         /* bytes per token and vocabulary entry on the last stage */
    bool logits_whole;     /* whether logits are not divided by tp */
    double transient_layers; /* unsharded layers alive under ZeRO-3 */
    double transient_params; /* upper bound on the parameters of these layers, but at least one
                              * matrix; 0: none */
    double weight_transient; /* bytes per parameter of one layer that are alive during backward */
    double head_transient;   /* bytes per entry of V h / tp that are alive on the last stage */
    double workspace_bytes;  /* inside the allocator: cuBLAS and other workspaces */
    double context_bytes;    /* outside the allocator: driver context, libraries */
    double nccl_bytes;       /* buffers of one communicator that spans several scale-up domains */
    double reserved_ratio;   /* reserved over allocated bytes of the allocator */
    double fragmentation;    /* bytes that the allocator needs over allocated bytes */
} plait_residents;

/** Source of a fitted number, as profiles state it. */
typedef enum plait_number_source {
    PLAIT_NUMBER_OF_RUNS,
    PLAIT_NUMBER_OF_FAMILY,
    PLAIT_NUMBER_SOURCES
} plait_number_source;

extern const char *const plait_number_source_name[PLAIT_NUMBER_SOURCES + 1];

/** A release of the software, or of one of its products: "core-v0.14.0" is a release of core. */
typedef struct plait_release {
    const char *name;
    int date; /* month of the release, 2509: September 2025 */
} plait_release;

/** Parts of models that only some releases build: constant, and word in profiles. */
#define PLAIT_MODEL_PART_LIST(X)                                                                   \
    X(PLAIT_PART_QK_NORM, "qk_norm")                                                               \
    X(PLAIT_PART_ROTARY_BASE, "rotary_base") /* any base other than 10,000 */                      \
    X(PLAIT_PART_LLAMA3_ROPE, "llama3_rope")                                                       \
    X(PLAIT_PART_NO_ROTARY, "no_rotary") /* layers without rotary embedding */                     \
    X(PLAIT_PART_MLA, "mla")                                                                       \
    X(PLAIT_PART_SPARSE, "sparse_attention") /* sparse attention with an indexer */                \
    X(PLAIT_PART_LINEAR, "linear_attention")                                                       \
    X(PLAIT_PART_WINDOW, "window")                                                                 \
    X(PLAIT_PART_SINKS, "sinks")                                                                   \
    X(PLAIT_PART_GATE, "output_gate")                                                              \
    X(PLAIT_PART_CLAMPED, "clamped_swiglu")                                                        \
    X(PLAIT_PART_MIXED, "mixed_layers") /* both dense and MoE layers */                            \
    X(PLAIT_PART_SHARED, "shared_experts")                                                         \
    X(PLAIT_PART_SHARED_GATE, "shared_gate")                                                       \
    X(PLAIT_PART_SIGMOID, "sigmoid_router")                                                        \
    X(PLAIT_PART_GROUPS, "expert_groups")                                                          \
    X(PLAIT_PART_MTP, "mtp")                                                                       \
    X(PLAIT_PART_YARN, "yarn") /* YaRN with attention other than MLA */                            \
    /* Parts from here on are in few models: formats that cannot express them refuse the model. */ \
    X(PLAIT_PART_MAMBA, "mamba")                                                                   \
    X(PLAIT_PART_MAMBA2, "mamba2")                                                                 \
    X(PLAIT_PART_KIMI_DELTA, "kimi_delta_attention")                                               \
    X(PLAIT_PART_LIGHTNING, "lightning_attention")                                                 \
    X(PLAIT_PART_CONVOLUTION, "convolution")                                                       \
    X(PLAIT_PART_TWO_MIXERS, "two_mixers")    /* in one layer */                                   \
    X(PLAIT_PART_ALONE, "single_part_layers") /* a mixer or a feed-forward part alone */           \
    X(PLAIT_PART_MLA_GATE, "mla_gate")                                                             \
    X(PLAIT_PART_COMPRESSED, "compressed_attention") /* with its latent queries and outputs */     \
    X(PLAIT_PART_LATENT_EXPERTS, "latent_experts")                                                 \
    X(PLAIT_PART_LATENT_NORM, "latent_norm")   /* after latent experts */                          \
    X(PLAIT_PART_ZERO_EXPERTS, "zero_experts") /* experts without computation */                   \
    X(PLAIT_PART_STREAMS, "residual_streams")  /* hyper-connections */                             \
    X(PLAIT_PART_RESIDUALS, "attention_residuals")                                                 \
    X(PLAIT_PART_LAUREL, "laurel") /* a low-rank residual branch */                                \
    X(PLAIT_PART_PER_LAYER, "per_layer_embeddings")                                                \
    X(PLAIT_PART_REUSED_KV, "reused_kv")       /* keys and values of an earlier layer */           \
    X(PLAIT_PART_REUSED_INDEX, "reused_index") /* keys that an earlier indexer selected */         \
    X(PLAIT_PART_VALUE_WIDTH, "value_width")   /* values of another width than keys */

typedef enum plait_model_part {
#define X(constant, word) constant,
    PLAIT_MODEL_PART_LIST(X)
#undef X
        PLAIT_MODEL_PARTS,
    PLAIT_FIRST_RARE_PART = PLAIT_PART_MAMBA
} plait_model_part;

extern const char *const plait_model_part_name[PLAIT_MODEL_PARTS + 1];

/** Keys of plait_feature beyond those of a plan. */
enum {
    PLAIT_FEATURE_PRECISION = PLAIT_KEYS, /* value: a plait_precision */
    PLAIT_FEATURE_MODULE,                 /* value: a PLAIT_MODULE_... of the recomputed set */
    PLAIT_FEATURE_MODEL,                  /* value: a plait_model_part that the software builds */
    PLAIT_FEATURE_MTP_CP,                 /* context parallelism with multi-token prediction */
    PLAIT_FEATURE_HSDP,
    PLAIT_FEATURE_ETP,             /* experts that are not sharded by tp */
    PLAIT_FEATURE_FP8_RECOMPUTE,   /* layernorm or moe_act recomputed with 8-bit products */
    PLAIT_FEATURE_UNEVEN_CHUNKS,   /* vpp > 1 with stages of different numbers of layers */
    PLAIT_FEATURE_CURRENT_SCALING, /* fp8 without delayed scaling */
    PLAIT_FEATURE_KEYS
};

/** A value of a key that a release introduced. */
typedef struct plait_feature {
    int key;      /* plait_key_id or PLAIT_FEATURE_... */
    int value;    /* index of the key's word; 0 for a key without words */
    size_t since; /* index of the release */
} plait_feature;

struct plait_runtime {
    const char *name;        /* the requested name: NAME, or NAME@WHEN for an earlier state */
    const char *software;    /* NAME of NAME@WHEN; NULL: the same as name */
    int date;                /* the month of WHEN; 0: none, the newest */
    const plait_release *at; /* release of WHEN, an element of `release`; NULL: no restriction */
    int until;               /* last month of a variant; 0: not a variant */
    const char *source;
    const char *family; /* software whose values replace those that no run determines; "": none */
    bool calibrated;    /* whether its factors were fitted to measured runs */
    const char *held;   /* reason why its factors are not refitted; "": they are */
    plait_rules rules;
    plait_capabilities can;
    plait_runtime_defaults defaults;
    plait_kernel_set kernels;
    plait_overlaps overlap;
    plait_factors factor;
    plait_state_bytes state;
    plait_residents keep;
    size_t releases;
    const plait_release
        *release; /* [releases], oldest first; each has the features of earlier ones */
    size_t features;
    const plait_feature *feature; /* [features] that some of these releases do not have */
    bool imbalance_stated;        /* whether the job gave factor.ep_imbalance, which memory then
                                   * also uses */
    plait_support support;
    bool frontier;            /* whether the cost model alone decides (--frontier) */
    bool round_robin_experts; /* whether a fake gate assigns experts to tokens round robin, so that
                               * a token's experts have consecutive numbers */
    bool natural_routing;     /* whether experts have no load balancing, which widens bands
                                   * (C.62) */
    const char
        *file; /* absolute path, if plait_runtime_find was given a path; NULL: found by name */
};

/** The name of the software, without the release. */
static inline const char *plait_runtime_software(const plait_runtime *runtime)
{
    return runtime->software != NULL ? runtime->software : runtime->name;
}

/** Keys of which a price contains only the share of a gain that measured runs support. (C.345) */
#define PLAIT_EARNING_KEYS                                                                         \
    (PLAIT_KEY_BIT(PLAIT_KEY_DISPATCHER) | PLAIT_KEY_BIT(PLAIT_KEY_EP_OVERLAP) |                   \
     PLAIT_KEY_BIT(PLAIT_KEY_FP8_ATTENTION) | PLAIT_KEY_BIT(PLAIT_KEY_FUSED_GROUPED_MLP) |         \
     PLAIT_KEY_BIT(PLAIT_KEY_TP_COMM_OVERLAP) | PLAIT_KEY_BIT(PLAIT_KEY_CUDA_GRAPH) |              \
     PLAIT_KEY_BIT(PLAIT_KEY_GATHER_WITH_STEP))

/**
 * The share of the gain that the model claims for a value of a key, and that measured runs do not
 * support: 0 without judgement, and for keys outside PLAIT_EARNING_KEYS. (C.345)
 */
static inline double plait_unearned(const plait_runtime *runtime, plait_key_id key, int value)
{
    return (PLAIT_EARNING_KEYS & PLAIT_KEY_BIT(key)) && value < PLAIT_SUPPORT_VALUES
               ? runtime->support.unearned[key][value]
               : 0.0;
}

/**
 * The exposed share of tensor-parallel collectives inside a scale-up domain, with or without
 * tp_comm_overlap. A runtime with tp_exposed_overlapped has both shares; with tp_exposed alone it is
 * that of runs with the overlap, and nothing hides without it. (C.60)
 */
static inline double plait_tp_exposed(const plait_runtime *runtime, bool overlapped)
{
    const plait_overlaps *const overlap = &runtime->overlap;
    const bool both = overlap->tp_exposed_overlapped > 0.0;
    const double with = both ? overlap->tp_exposed_overlapped : overlap->tp_exposed;
    double without = overlap->tp_exposed;

    if (!both && (runtime->can.takes[PLAIT_KEY_TP_COMM_OVERLAP] >> 1 & 1u) && without < 1.0)
        without = 1.0;
    return overlapped && with < without
               ? without - (1.0 - plait_unearned(runtime, PLAIT_KEY_TP_COMM_OVERLAP, 1)) *
                               (without - with)
               : without;
}

/** Bytes of state per parameter under the number formats of a plan. (C.81) */
plait_state_bytes plait_state_of(const plait_problem *problem, const plait_degrees *degrees);

/**
 * Bytes in host memory of each parameter whose shard a rank holds, under the plan's `offload`.
 * (C.382)
 */
double plait_host_param_bytes(const plait_problem *problem, const plait_degrees *degrees);

/**
 * Does the value `optimizer` of the key `offload` include `gradients` in this software? DeepSpeed's
 * offload_optimizer also offloads reduced gradients.
 */
static inline bool plait_optimizer_takes_gradients(const plait_runtime *runtime)
{
    const unsigned takes = runtime->can.takes[PLAIT_KEY_OFFLOAD];

    return (takes >> PLAIT_OFFLOAD_GRADIENTS & 1u) && !(takes >> PLAIT_OFFLOAD_OPTIMIZER & 1u);
}

/** Bytes of a value in the format of products of this precision, with its scales. */
double plait_quantised_bytes(plait_precision precision);

/** Bytes of one value in a plait_state_format. */
double plait_state_format_bytes(unsigned char format);

/** The argument with which plait_runtime_find finds the runtime again: its file, else its name. */
static inline const char *plait_runtime_handle(const plait_runtime *runtime)
{
    return runtime->file != NULL ? runtime->file : runtime->name;
}

/** Load a runtime profile; a variant refers to its base by name. *out lives in `arena`. */
PLAIT_MUST_CHECK plait_status plait_runtime_load(const char *path, plait_arena *arena,
                                                 plait_runtime *out, plait_error *err);

/** As plait_runtime_load, from a text; `name` replaces the file's name in messages. */
PLAIT_MUST_CHECK plait_status plait_runtime_parse(const char *text, size_t length, const char *name,
                                                  plait_arena *arena, plait_runtime *out,
                                                  plait_error *err);

PLAIT_END_DECLS

#endif
