/*
 * block_build.h - functions that append operators to the description of a layer, for
 * block_<kind>.c
 */
#pragma once

#include "plait/lowlevel/block.h"
#include "plait/runtime.h"

/** The input of the next operator: one tensor, or several with equal sharding. */
typedef struct block_stream {
    signed char place[PLAIT_MAX_READS];
    signed char places;
    plait_dim width;
    double elements; /* on this rank */
} block_stream;

/** The state of a description while block_<kind>.c appends operators to it. */
typedef struct block_draft {
    const plait_model *model;
    const plait_layer *layer;
    const plait_shard *shard;
    plait_pass pass;
    bool forward;                         /* the pass computes outputs */
    bool serving;                         /* the pass is a prefill or decode, with cached keys */
    bool backward_input, backward_weight; /* the pass computes gradients of inputs, of weights */
    plait_block *out;
    double tokens;      /* tokens of this rank's part of the microbatch */
    double norm_tokens; /* tokens that norms and residuals process: divided by tp under sp */
    block_stream at;    /* input of the next operator */
    plait_place place;  /* place of the current operator */
} block_draft;

/** Bytes per element of 16-bit activations, weights and gradients: bf16 or fp16. */
#define HALF_BYTES 2.0

/** Bytes per element that a memory-bound operation reads and writes, forward and backward. */
typedef struct block_traffic {
    double forward;
    double backward;
} block_traffic;

/**
 * Memory-bound operations of a layer (C.11). The columns are bytes per element: forward and
 * backward of a fused kernel, then forward and backward of eager PyTorch's sequence of kernels. A
 * fused kernel counts 2 bytes for each 16-bit tensor that it reads or writes once. The eager
 * columns count the kernels that PyTorch launches (casts to fp32 and back, one kernel for each
 * operator), unless a published trace gives better numbers. The comment of a row lists the tensors
 * of the fused kernel, then the eager kernels.
 */
#define BLOCK_PASS_LIST(X)                                                                         \
    X(NORM, 4, 6, 24, 40)     /* in, out; cast, square, mean, scale, cast back */                  \
    X(ACTIVATION, 4, 6, 4, 6) /* in, out */                                                        \
    X(GATED, 6, 10, 10, 16)   /* gate, up, out; activation, product */                             \
    X(ROTARY, 4, 4, 16, 16)   /* in, out; swap halves, two products, a sum */                      \
    X(SOFTMAX, 4, 6, 18, 16)  /* scores in, out; scale, mask, cast, softmax, cast */               \
    X(OUTPUT_GATE, 6, 10, 6, 10)                                                                   \
    X(CONVOLUTION, 4, 8, 4, 8)     /* in, out; short, along the sequence */                        \
    X(PERMUTE, 4, 4, 20, 24)       /* in, out; for dispatch and for combine (C.20) */              \
    X(PERMUTE_APART, 4, 4, 10, 10) /* in, out; PyTorch's gather and scatter of Megatron (C.390) */ \
    X(ROUTER, 0, 0, 3, 2)          /* of one kernel (C.390) */                                     \
    X(SCORES, 4, 6, 20, 36)        /* in, out; cast, product, cast, and the scores' gradient */    \
    X(EXPERT_BIAS, 0, 0, 28, 40)   /* part of the product; scale, add, join in fp32 (C.304) */     \
    X(EMBEDDING, 4, 6, 4, 6)       /* row in, out; backward accumulates its gradient */            \
    X(POSITIONS, 6, 4, 6, 4)                                                                       \
    X(COMPRESS, 8, 16, 8, 16) /* key and score in fp32; their gradients (C.175) */                 \
    X(LOSS, 4, 6, 26, 14)     /* gradient replaces logits; cast, max, exp, sum, divide */

typedef enum block_pass {
#define X(name, forward, backward, eager_forward, eager_backward) BLOCK_PASS_##name,
    BLOCK_PASS_LIST(X)
#undef X
        BLOCK_PASSES
} block_pass;

block_traffic block_traffic_of(block_pass pass, bool fused);

/**
 * A linear layer [rows, k] x [k, n]; k and n are the sizes of the part of its weight (and bias)
 * that this rank stores.
 */
typedef struct block_linear {
    plait_part part;
    double rows, n, k;
    double experts;  /* experts of a grouped product, with `rows` rows each; else 0 */
    double reached;  /* number of experts that receive the rows; 0: all experts */
    double blocks;   /* blocks [k, n] of a block-diagonal weight; 0: one */
    plait_dim makes; /* kind of dimension of the output */
    bool bias;
    bool wide;              /* in 16 bits whatever the precision of other products */
    bool counted_elsewhere; /* the embedding already counts the weight (tied head) */
    double imbalance;       /* grouped product: rows of the fullest rank over the mean */
    double rows_kept;       /* grouped product: rows over those without an expert capacity */
} block_linear;

/** Starts a description: empties `out` and computes the number of tokens of this rank. */
block_draft block_draft_of(const plait_model *model, const plait_layer *layer,
                           const plait_shard *shard, plait_pass pass, plait_block *out);

/**
 * Begins an operator with input draft->at and an output of `elements` elements; later calls append
 * its kernels.
 */
void block_place(block_draft *draft, plait_dim makes, double elements);
/** Adds `other` to the inputs of the next operator. */
void block_join(block_draft *draft, block_stream other);

/**
 * The share of the passes between the products of experts that remains: 1, or with one kernel for
 * both products the share that measured runs do not support. The kernel has no biases: Transformer
 * Engine runs separate kernels for experts with biases (C.304).
 */
double block_unfused_share(const plait_shard *shard, const plait_moe *moe);

/**
 * Additional time of a product whose 16-bit operands have rows of a and b elements, as a share of
 * its time. (C.312)
 */
double block_misaligned(double a, double b);

/** Appends one operator; a count of zero means one. */
void block_op_add(block_draft *draft, plait_op op);
void block_linear_add(block_draft *draft, block_linear linear);
/** Appends the products of a linear layer in the current pass, at the current place. */
void block_products_add(block_draft *draft, const block_linear *linear);
/** Appends a linear layer with these fields of block_linear; all others are 0. */
void block_product_add(block_draft *draft, plait_part part, double rows, double k, double n,
                       plait_dim makes, bool bias);
void block_memory_add(block_draft *draft, plait_part part, double elements, block_traffic traffic);
/** Appends a memory-bound kernel to the current operator; block_memory_add begins a new one. */
void block_pass_add(block_draft *draft, plait_part part, double elements, block_traffic traffic);
/** @param elements  elements of the output, whose kind of width is that of the input */
void block_scan_add(block_draft *draft, plait_part part, double flops, double bytes,
                    double elements);
/** As block_scan_add, for kernels whose backward does the work of `backward` forwards, not 2. */
void block_recurrence_add(block_draft *draft, plait_part part, double flops, double bytes,
                          double elements, double backward);
void block_collective_add(block_draft *draft, plait_part part, plait_collective_op collective,
                          plait_axis axis, plait_overlap_class overlap, double bytes, double count);
void block_keep(block_draft *draft, plait_tensor tensor, double elements);

/**
 * Adds the collectives on the input of a column-parallel product: a backward all-reduce, or under
 * sp a forward all-gather and a backward reduce-scatter.
 */
void block_tp_enter(block_draft *draft, plait_part part);
/**
 * Adds the collectives on the output of a row-parallel product: a forward all-reduce, or under sp a
 * forward reduce-scatter and a backward all-gather.
 */
void block_tp_leave(block_draft *draft, plait_part part);

/** The operators that read a norm's output. */
typedef enum block_norm_use {
    BLOCK_NORM_ALONE,
    BLOCK_NORM_FEEDS,      /* a product */
    BLOCK_NORM_IN_PRODUCT, /* a product, whose kernel may compute the norm as well */
    BLOCK_NORM_ROUTES      /* the router and the experts */
} block_norm_use;

/** Adds a norm over the hidden width. */
void block_norm_add(block_draft *draft, block_norm_use use);
/** Adds the residual connection: draft->at plus `skipped`. */
void block_residual_add(block_draft *draft, block_stream skipped);

/** Does the software quantise each input of fp8 and fp4 products once and keep the result? */
bool block_quantises_once(const plait_shard *shard);

/* Each of these functions appends one mixer or one feed-forward part. */
void block_attention(block_draft *draft);
void block_mla(block_draft *draft);
void block_delta_net(block_draft *draft);
void block_mamba(block_draft *draft);
void block_conv(block_draft *draft);
void block_mlp(block_draft *draft, plait_mlp mlp, bool shared);
void block_moe(block_draft *draft);

/** ceil(width / ways): the largest share of `width` that one of `ways` ranks stores. */
double block_share(int width, int ways);

// block.c
typedef enum block_half { BLOCK_MIXER, BLOCK_FFN, BLOCK_WHOLE } block_half;

/** Does the layer have a mixer followed by a separate feed-forward part? */
bool block_halves(const plait_layer *layer);

/**
 * Describes one half, mixer or ffn, of a layer for which block_halves() is true. Both halves
 * together have the operators and the kept tensors of plait_block_describe.
 */
void block_describe_half(const plait_model *model, const plait_layer *layer,
                         const plait_shard *shard, plait_pass pass, block_half half,
                         plait_block *out);
