/*
 * block.h - description of a layer: its operators and collectives
 *
 * plait_block_describe lists, for one kind of layer under given degrees and for one pass, the
 * operators in order (with shapes, FLOPs and bytes), the collectives between them, the tensors that
 * are kept for backward and the weights of one rank. Time, memory, communication volume and
 * parameter counts are all computed from this list, and no other code describes a layer.
 *
 *     norm -> [gather] -> qkv -> rotary -> core_attn -> attn_out -> [scatter] -> residual
 *          -> norm -> [gather] -> fc1 -> act -> fc2 -> [scatter] -> residual
 *
 * plait_block_embedding and plait_block_head describe the operators before the first layer and
 * after the last. plait_block_saved_bytes then computes the activations that a block keeps.
 *
 * Left out: masks as data (padding, documents), dynamic shapes.
 */
#ifndef PLAIT_LOWLEVEL_BLOCK_H
#define PLAIT_LOWLEVEL_BLOCK_H

#include <stdbool.h>

#include "plait/runtime.h"

PLAIT_BEGIN_DECLS

/** The pass of a layer. Training uses the first four, serving the last two. */
typedef enum plait_pass_kind {
    PLAIT_FORWARD,
    PLAIT_BACKWARD,        /* the gradients of inputs and weights */
    PLAIT_BACKWARD_INPUT,  /* gradients of inputs */
    PLAIT_BACKWARD_WEIGHT, /* gradients of weights */
    PLAIT_PREFILL,
    PLAIT_DECODE,
    PLAIT_PASSES
} plait_pass_kind;

typedef struct plait_pass {
    plait_pass_kind kind;
    double sequences;      /* sequences on this rank */
    double query_tokens;   /* tokens of one sequence, before context parallelism */
    double context_tokens; /* keys a sequence attends to; = query_tokens in training */
} plait_pass;

/**
 * FLOPs of the backward of a fused attention over those of its forward: five products instead of
 * two (Dao 2307.08691).
 */
#define PLAIT_ATTENTION_BACKWARD 2.5

typedef enum plait_op_kind {
    PLAIT_OP_GEMM,
    PLAIT_OP_GROUPED_GEMM,
    PLAIT_OP_ATTENTION, /* a fused kernel */
    PLAIT_OP_MEMORY,    /* bound by HBM traffic */
    PLAIT_OP_SCAN,      /* recurrence: traffic, or FLOPs at a rate far below the matrix peak */
    PLAIT_OP_COLLECTIVE,
    PLAIT_OP_KINDS
} plait_op_kind;

/** The class that determines how a collective can overlap with compute. */
typedef enum plait_overlap_class {
    PLAIT_OVERLAP_TP, /* exposed by the runtime's share tp_exposed */
    PLAIT_OVERLAP_CP_RING,
    PLAIT_OVERLAP_CP,
    PLAIT_OVERLAP_EP,
    PLAIT_OVERLAP_NONE
} plait_overlap_class;

/** The width of a tensor. No degree shards a tensor along the width WHOLE. */
#define PLAIT_DIM_LIST(X)                                                                          \
    X(WHOLE, "whole") /* latents, router logits, the indexer */                                    \
    X(HIDDEN, "hidden")                                                                            \
    X(HEADS, "heads") /* attention heads; channels of recurrences */                               \
    X(FFN, "ffn")                                                                                  \
    X(VOCAB, "vocab")

typedef enum plait_dim {
#define X(constant, word) PLAIT_DIM_##constant,
    PLAIT_DIM_LIST(X)
#undef X
        PLAIT_DIMS
} plait_dim;

enum { PLAIT_MAX_READS = 8, PLAIT_BLOCK_INPUT = 0 };

/**
 * The place of an operator in the graph of its block (C.200). It is equal in all passes, so the
 * three products of one weight have one place. A collective has the place of the operator listed
 * before it.
 */
typedef struct plait_place {
    signed char number;                 /* number of the place, from 1 */
    signed char reads[PLAIT_MAX_READS]; /* places that make its inputs, or PLAIT_BLOCK_INPUT */
    signed char inputs;
    unsigned char takes; /* plait_dim: the width of its inputs */
    unsigned char makes; /* plait_dim: the width of its output */
    double elements;     /* elements of its output on this rank */
} plait_place;

/** One operator on one rank. Fields that its kind does not use are zero. */
typedef struct plait_op {
    plait_op_kind kind;
    plait_part part;
    double flops;
    double model_flops; /* as `flops`, with causal attention as the full square (C.4) */
    double bytes;       /* HBM traffic; of a collective: the buffer S of collective.h */
    /* GEMM: `batch` products [m, k] x [k, n]; grouped: `batch` experts of m rows each */
    double m, n, k, batch;
    plait_pass_kind layout; /* FORWARD, BACKWARD_INPUT or BACKWARD_WEIGHT */
    bool matrix_precision;  /* runs in the job's precision; else bf16 */
    double quantised;       /* bytes moved by the passes that quantise its inputs */
    double misaligned;      /* additional share of time if rows are not multiples of 16 bytes */
    double accumulated;     /* bytes of a gradient element to add to; 0: writes a new gradient */
    /* attention: sequences x heads over [query, context], head width as priced; `ramp` is the
     * sequence length that one kernel call sees, for its start-up cost */
    double sequences, heads, query, context, head_dim, ramp;
    /* collective */
    plait_collective_op collective;
    plait_axis axis;
    plait_overlap_class overlap;
    double node_copies; /* expert all-to-all: maximum number of nodes of a token, its own included;
                         * 0: all topk copies are sent */
    double topk, experts;
    plait_dispatcher dispatcher; /* dispatcher of the expert all-to-all */
    double imbalance;            /* rows of the fullest expert rank over the mean; 0: even */
    double count;                /* repeats of this operator */
    plait_place place;
} plait_op;

/**
 * Parameters of a layer on one rank, grouped by the degrees that shard them: those that are trained,
 * and those that a job freezes. (C.412)
 */
typedef struct plait_weights {
    double dense;  /* divided by tp; norms and routers are whole */
    double expert; /* divided by ep and etp */
    double frozen_dense, frozen_expert;
} plait_weights;

/** The degrees of a layer, and the kernels that run it. */
typedef struct plait_shard {
    int tp;
    int cp;
    int ep;
    int etp;
    bool sp;
    plait_cp_comm cp_comm;
    plait_dispatcher dispatcher;
    int cp_inner; /* a2a+p2p: ranks that exchange heads */
    plait_attention_kernel attention;
    plait_switches switches;
    plait_precision precision;    /* format of the products */
    unsigned char grad_reduce;    /* plait_state_format of the gradients that products add to */
    double cache_bytes;           /* bytes of a cache element in serving; 0: 2 */
    const plait_runtime *runtime; /* kernel switches */
    unsigned frozen;              /* parts whose matrices are not trained: bits 1 << plait_part */
    unsigned adapted;             /* parts with LoRA adapters */
    unsigned lora_targets;        /* bits 1 << plait_lora_target */
    int lora_rank;                /* 0: no adapters */
    unsigned char frozen_format;  /* plait_frozen_format of frozen matrices */
    bool one_output;              /* the head has one output in place of the vocabulary */
} plait_shard;

/** The cache of one sequence in serving, for one layer on one rank. (C.350) */
typedef struct plait_cache {
    double width;      /* elements of one cached token */
    double reach;      /* maximum number of cached tokens; 0: all */
    double compressed; /* elements of compressed keys, per token of the whole sequence */
    double index;      /* additional bytes of a token for the sparse-attention indexer */
    double state;      /* bytes of a sequence at any length: linear attention, scans, compressors */
} plait_cache;

enum { PLAIT_MAX_OPS = 128 };

typedef struct plait_block {
    int ops;
    plait_op op[PLAIT_MAX_OPS];
    double saved[PLAIT_TENSORS]; /* elements kept for backward on this rank, one microbatch */
    double saved_gathered; /* additional elements of norm_out if it is kept gathered under sp */
    plait_weights weights;
    plait_weights adapters; /* parameters of adapters, which are part of `weights` */
    plait_cache cache;
} plait_block;

/**
 * Describe one layer of a model.
 *
 * @param model  the model, for its hidden width and its kind of norm
 * @param layer  one of model->kind
 * @param shard  degrees; widths that tp does not divide are rounded up
 * @param pass   the pass and its numbers of sequences and tokens
 * @param out    filled; `saved` has the tensors that the forward pass keeps, in every pass
 *
 * FLOPs count a multiply-add as two. Bytes are those of bf16 unless a field of the operator gives
 * another format. A backward pass lists its operators in the order of the forward. (C.10 to C.24)
 */
void plait_block_describe(const plait_model *model, const plait_layer *layer,
                          const plait_shard *shard, plait_pass pass, plait_block *out);

/**
 * The dispatch or combine of a layer's experts alone, by which a search compares dispatchers.
 *
 * @param shard  with ep > 1
 * @param part   dispatch or combine
 */
plait_op plait_block_exchange(const plait_model *model, const plait_layer *layer,
                              const plait_shard *shard, plait_pass pass, plait_part part);

/** Describe the embedding before the first layer. */
void plait_block_embedding(const plait_model *model, const plait_shard *shard, plait_pass pass,
                           plait_block *out);

/** Describe the final norm, vocabulary projection and cross-entropy after the last layer. */
void plait_block_head(const plait_model *model, const plait_shard *shard, plait_pass pass,
                      plait_block *out);

/**
 * Bytes that the forward pass keeps under the runtime of `shard`, with the share of norm outputs
 * that it keeps gathered. (C.25)
 *
 * @param drops  bits 1 << PLAIT_TENSOR_...: classes that recomputation drops
 */
double plait_block_saved_bytes(const plait_block *block, const plait_shard *shard, unsigned drops);

/** Bytes that the forward pass keeps of each class of tensors. (C.25) */
void plait_block_tensor_bytes(const plait_block *block, const plait_shard *shard,
                              double bytes[PLAIT_TENSORS]);

/** The parts that a recompute choice runs again and the tensors that it drops. (C.26) */
typedef struct plait_recompute_masks {
    unsigned parts;        /* bits 1 << PLAIT_PART_... whose forward runs twice */
    unsigned tensors;      /* bits 1 << PLAIT_TENSOR_... that are dropped */
    unsigned half_parts;   /* parts of which half runs twice */
    unsigned half_tensors; /* tensors of which half is kept */
} plait_recompute_masks;

/** The masks of `none`, `selective`, `modules:...` and `sac`; `full` keeps the layer input only. */
plait_recompute_masks plait_recompute_masks_of(plait_recompute recompute);

/** The tensors of a set of PLAIT_OFFLOAD_SETS, in `tensors` and `half_tensors`. (C.166) */
plait_recompute_masks plait_offload_masks_of(unsigned char set);

/**
 * Model FLOPs of one step per token, forward and backward without recomputation. Causal attention
 * counts the full square, windows their width. MFU subtracts plait_model_skipped_flops_per_token()
 * from them. (C.4)
 *
 * @param recompute  also count a second forward of every layer (hardware FLOPs of full recompute)
 */
double plait_model_flops_per_token(const plait_model *model, double seq, bool recompute);

/**
 * The masked part of the squares of causal attention, in forward FLOPs per token of one layer; 0
 * without causal attention. MFU does not count these FLOPs, and kernels that skip masked blocks do
 * not compute them. (C.4)
 */
double plait_layer_skipped_flops_per_token(const plait_model *model, const plait_layer *layer,
                                           double seq);

/** The masked FLOPs per token of the whole model, forward and backward. (C.4) */
double plait_model_skipped_flops_per_token(const plait_model *model, double seq);

/**
 * Forward FLOPs per token of some parts of one layer, unsharded. `parts` is a set of bits 1 <<
 * PLAIT_PART_...
 */
double plait_layer_flops_per_token(const plait_model *model, const plait_layer *layer, double seq,
                                   unsigned parts);

/** Parameters of an encoder and its projector; 0 without an encoder. (C.6) */
double plait_encoder_params(const plait_encoder *encoder);

/**
 * Patches of 30 s of audio, or of an image: of the encoder's fixed size if it has one, else of
 * 1024 x 1024 pixels, padded to whole tokens.
 */
double plait_encoder_patches(const plait_encoder *encoder);

/** Forward FLOPs of an encoder and its projector for an input of some patches. (C.6) */
double plait_encoder_flops(const plait_encoder *encoder, double patches);

extern const char *const plait_dim_name[PLAIT_DIMS + 1];

PLAIT_END_DECLS

#endif
