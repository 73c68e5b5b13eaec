/*
 * block.h - the one description of a layer: which operators and collectives it performs.
 *
 * plait_block_describe lists, for one kind of layer under given degrees and for one pass, the
 * operators in order (with shapes, FLOPs and bytes), the collectives between them, the tensors
 * that stay for backward and the weights that one rank holds. Time, memory, communication
 * volumes and parameter counts all read this list; nothing else knows what a layer does.
 *
 *     norm -> [gather] -> qkv -> rotary -> core_attn -> attn_out -> [scatter] -> residual
 *          -> norm -> [gather] -> fc1 -> act -> fc2 -> [scatter] -> residual
 *
 * Two further blocks stand at the ends of the pipeline: plait_block_embedding, plait_block_head.
 *
 * Left out: masks as data (padding, documents), dynamic shapes.
 */
#ifndef PLAIT_LOWLEVEL_BLOCK_H
#define PLAIT_LOWLEVEL_BLOCK_H

#include <stdbool.h>

#include "plait/runtime.h"

PLAIT_BEGIN_DECLS

/** What is computed of a layer. Training uses the first four, serving the last two. */
typedef enum plait_pass_kind {
    PLAIT_FORWARD,
    PLAIT_BACKWARD,        /* both of the next two */
    PLAIT_BACKWARD_INPUT,  /* gradients of inputs */
    PLAIT_BACKWARD_WEIGHT, /* gradients of weights */
    PLAIT_PREFILL,
    PLAIT_DECODE,
    PLAIT_PASSES
} plait_pass_kind;

typedef struct plait_pass {
    plait_pass_kind kind;
    double sequences;      /* on this rank */
    double query_tokens;   /* of one sequence, before context parallelism */
    double context_tokens; /* keys a sequence attends to; = query_tokens in training */
} plait_pass;

/** FLOPs of a fused attention's backward over its forward's: five products against two (Dao 2307.08691). */
#define PLAIT_ATTENTION_BACKWARD 2.5

typedef enum plait_op_kind {
    PLAIT_OP_GEMM,
    PLAIT_OP_GROUPED_GEMM,
    PLAIT_OP_ATTENTION, /* a fused kernel */
    PLAIT_OP_MEMORY,    /* bound by HBM traffic */
    PLAIT_OP_SCAN,      /* recurrence: traffic, and FLOPs far below the matrix peak */
    PLAIT_OP_COLLECTIVE,
    PLAIT_OP_KINDS
} plait_op_kind;

/** How a collective can hide. */
typedef enum plait_overlap_class {
    PLAIT_OVERLAP_TP, /* the share that the runtime leaves exposed */
    PLAIT_OVERLAP_CP_RING,
    PLAIT_OVERLAP_CP,
    PLAIT_OVERLAP_EP,
    PLAIT_OVERLAP_NONE
} plait_overlap_class;

/** What a tensor has of each token. Tensors of a WHOLE width are not cut along it by any degree. */
#define PLAIT_DIM_LIST(X)                                                                          \
    X(WHOLE, "whole") /* latents, router logits, the indexer */                                    \
    X(HIDDEN, "hidden")                                                                            \
    X(HEADS, "heads") /* of attention; channels of recurrences */                                  \
    X(FFN, "ffn")                                                                                  \
    X(VOCAB, "vocab")

typedef enum plait_dim {
#define X(constant, word) PLAIT_DIM_##constant,
    PLAIT_DIM_LIST(X)
#undef X
        PLAIT_DIMS
} plait_dim;

enum { PLAIT_MAX_READS = 4, PLAIT_BLOCK_INPUT = 0 };

/**
 * Where an operator stands in the graph of its block (C.200): alike in all passes, so that a weight's three
 * products share one place. A collective has that of the operator that was drawn before it.
 */
typedef struct plait_place {
    signed char number;                 /* from 1 */
    signed char reads[PLAIT_MAX_READS]; /* places that make its inputs, or PLAIT_BLOCK_INPUT */
    signed char inputs;
    unsigned char takes; /* plait_dim: the width of its inputs */
    unsigned char makes; /* and of its output */
    double elements;     /* of its output on this rank */
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
    double quantised;       /* bytes that passes move to make its inputs narrow */
    double misaligned;      /* share of its time more, for rows that are no multiple of 16 bytes */
    double accumulated;     /* bytes of a gradient's element that it adds to; 0: writes a new one */
    /* attention: sequences x heads over [query, context], head width as priced; `ramp` is the
     * sequence length that one kernel call sees, for its start-up cost */
    double sequences, heads, query, context, head_dim, ramp;
    /* collective */
    plait_collective_op collective;
    plait_axis axis;
    plait_overlap_class overlap;
    double node_copies; /* expert all-to-all: nodes that a token reaches at most, its own
                         * included; 0: each of topk copies travels */
    double topk, experts;
    plait_dispatcher dispatcher; /* of that all-to-all */
    double imbalance; /* of experts' rows: those of the fullest rank over the mean; 0: even */
    double count;     /* repeats of this operator */
    plait_place place;
} plait_op;

/** Parameters that one rank holds of a layer, by what shards them. */
typedef struct plait_weights {
    double dense;  /* divided by tp already; norms and routers whole */
    double expert; /* divided by ep and etp */
} plait_weights;

/** How a layer is cut, and which kernels run it. */
typedef struct plait_shard {
    int tp;
    int cp;
    int ep;
    int etp;
    bool sp;
    plait_cp_comm cp_comm;
    plait_dispatcher dispatcher;
    int cp_inner; /* of a2a+p2p: ranks that exchange heads */
    plait_attention_kernel attention;
    plait_precision precision;    /* of the products */
    unsigned char grad_reduce;    /* plait_state_format: of gradients that products add to */
    double cache_bytes;           /* an element of the cache that serving keeps; 0: 2 */
    const plait_runtime *runtime; /* kernel switches */
} plait_shard;

/** What serving keeps of a sequence for one layer, on one rank. (C.350) */
typedef struct plait_cache {
    double width; /* elements a token ... */
    double reach; /* ... of so many tokens at most; 0: of all */
    double index; /* bytes a token more, of a sparse attention's indexer */
    double state; /* bytes a sequence, however long: of linear attention and scans */
} plait_cache;

enum { PLAIT_MAX_OPS = 96 };

typedef struct plait_block {
    int ops;
    plait_op op[PLAIT_MAX_OPS];
    double saved[PLAIT_TENSORS]; /* elements kept for backward on this rank, one microbatch */
    double saved_gathered;       /* of norm_out, what keeping it gathered adds under sp */
    plait_weights weights;
    plait_cache cache;
} plait_block;

/**
 * Describe one layer of a model.
 *
 * @param model  for the hidden width and the kind of norm
 * @param layer  one of model->kind
 * @param shard  degrees; widths that tp does not divide are rounded up
 * @param pass   which pass, over how many tokens
 * @param out    filled; `saved` counts what the forward pass keeps, whichever pass is asked
 *
 * FLOPs count a multiply-add as two. Bytes are bf16 unless an operator says otherwise. A backward
 * pass lists its operators in the order of the forward. (C.10 to C.24)
 */
void plait_block_describe(const plait_model *model, const plait_layer *layer,
                          const plait_shard *shard, plait_pass pass, plait_block *out);

/**
 * One exchange of a layer's experts by itself: what of its description a dispatcher is chosen by.
 *
 * @param shard  with ep > 1
 * @param part   dispatch or combine
 */
plait_op plait_block_exchange(const plait_model *model, const plait_layer *layer,
                              const plait_shard *shard, plait_pass pass, plait_part part);

/** The embedding in front of the first layer. */
void plait_block_embedding(const plait_model *model, const plait_shard *shard, plait_pass pass,
                           plait_block *out);

/** Final norm, vocabulary projection and cross-entropy behind the last layer. */
void plait_block_head(const plait_model *model, const plait_shard *shard, plait_pass pass,
                      plait_block *out);

/**
 * Bytes that the forward pass keeps, for a runtime's table and a recompute choice, with the share of
 * norm outputs that it keeps gathered. (C.25)
 *
 * @param drops  bits 1 << PLAIT_TENSOR_...: classes that recomputation drops
 */
double plait_block_saved_bytes(const plait_block *block, const plait_shard *shard, unsigned drops);

/** The same of each class. */
void plait_block_tensor_bytes(const plait_block *block, const plait_shard *shard,
                              double bytes[PLAIT_TENSORS]);

/** What a recompute choice runs again and what it drops. (C.26) */
typedef struct plait_recompute_masks {
    unsigned parts;        /* bits 1 << PLAIT_PART_... whose forward runs twice */
    unsigned tensors;      /* bits 1 << PLAIT_TENSOR_... that do not stay */
    unsigned half_parts;   /* parts of which half runs twice */
    unsigned half_tensors; /* tensors of which half stays */
} plait_recompute_masks;

/** The masks of `none`, `selective`, `modules:...` and `sac`; `full` keeps the layer input only. */
plait_recompute_masks plait_recompute_masks_of(plait_recompute recompute);

/** The tensors of a set of PLAIT_OFFLOAD_SETS, in `tensors` and `half_tensors`. (C.166) */
plait_recompute_masks plait_offload_masks_of(unsigned char set);

/**
 * Model FLOPs of one step per token, forward and backward without recomputation. Causal attention
 * counts the full square, windows their width. MFU counts these less
 * plait_model_skipped_flops_per_token(). (C.4)
 *
 * @param recompute  also count a second forward of every layer (hardware FLOPs of full recompute)
 */
double plait_model_flops_per_token(const plait_model *model, double seq, bool recompute);

/**
 * The masked part of the squares of causal attention, which MFU does not count and which kernels that
 * skip masked blocks do not compute: forward FLOPs a token of one layer; 0 without causal attention. (C.4)
 */
double plait_layer_skipped_flops_per_token(const plait_model *model, const plait_layer *layer,
                                           double seq);

/** The same of one step of the whole model, forward and backward. */
double plait_model_skipped_flops_per_token(const plait_model *model, double seq);

/** Forward FLOPs a token of some parts of one layer, unsharded (bits 1 << PLAIT_PART_...). */
double plait_layer_flops_per_token(const plait_model *model, const plait_layer *layer, double seq,
                                   unsigned parts);

extern const char *const plait_dim_name[PLAIT_DIMS + 1];

PLAIT_END_DECLS

#endif
