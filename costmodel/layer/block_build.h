/* block_build.h - the strokes that the block files draw a layer with */
#pragma once

#include "plait/lowlevel/block.h"
#include "plait/runtime.h"

/** What the next operator reads: one tensor, or several that are dealt alike. */
typedef struct block_stream {
    signed char place[PLAIT_MAX_READS];
    signed char places;
    plait_dim width;
    double elements; /* on this rank */
} block_stream;

/** What a block file draws on. */
typedef struct block_draft {
    const plait_model *model;
    const plait_layer *layer;
    const plait_shard *shard;
    plait_pass pass;
    plait_block *out;
    double tokens;      /* of this rank's part of the microbatch */
    double norm_tokens; /* that norms and residuals see: divided by tp under sp */
    block_stream at;
    plait_place place; /* of the operator that is drawn */
    bool placed;       /* several kernels are drawn at one place */
} block_draft;

/** Bytes of an element of activations, weights and gradients as they travel: bf16 or fp16. */
#define HALF_BYTES 2.0

/** Bytes an element that one memory-bound pass reads and writes, forward and backward. */
typedef struct block_traffic {
    double forward;
    double backward;
} block_traffic;

/**
 * The passes of a layer (C.11): as one kernel, and as PyTorch's own sequence of them. A fused pass is
 * counted: 2 bytes for each tensor of 16-bit elements that it reads or writes once. The other column
 * is counted too, from the kernels that eager PyTorch launches for it (casts to fp32 and back, one
 * for each operator), where no published trace says better.
 */
#define BLOCK_PASS_LIST(X)                                                                         \
    X(NORM, 4, 6, 24, 40)     /* in, out; cast, square, mean, scale, cast back */                  \
    X(ACTIVATION, 4, 6, 4, 6) /* in, out */                                                        \
    X(GATED, 6, 10, 10, 16)   /* gate, up, out; activation and product apart */                    \
    X(ROTARY, 4, 4, 16, 16)   /* in, out; halves turned, two products, a sum */                    \
    X(SOFTMAX, 4, 6, 18, 16)  /* scores in, out; scale, mask, cast, softmax, cast */               \
    X(OUTPUT_GATE, 6, 10, 6, 10)                                                                   \
    X(CONVOLUTION, 4, 8, 4, 8)   /* short, along the sequence */                                   \
    X(PERMUTE, 4, 4, 4, 4)       /* 8 a routed element in all; kernel.c knows how many times */    \
    X(EXPERT_BIAS, 0, 0, 28, 40) /* in the product; scaled, added, joined in fp32 (C.304) */       \
    X(EMBEDDING, 4, 6, 4, 6)     /* a row in, out; its gradient is read, added to and written */   \
    X(POSITIONS, 6, 4, 6, 4)                                                                       \
    X(LOSS, 4, 6, 26, 14) /* logits become their gradient in place; cast, max, exp, sum, divide */

typedef enum block_pass {
#define X(name, forward, backward, eager_forward, eager_backward) BLOCK_PASS_##name,
    BLOCK_PASS_LIST(X)
#undef X
        BLOCK_PASSES
} block_pass;

block_traffic block_traffic_of(block_pass pass, bool fused);

/** A linear layer [rows, k] x [k, n], its weight (and bias) held by this rank. */
typedef struct block_linear {
    plait_part part;
    double rows, n, k;
    double experts;  /* > 0: grouped, `rows` of each expert */
    double reached;  /* experts that any row goes to, which share the rows; 0: all */
    plait_dim makes; /* n's */
    bool bias;
    bool counted_elsewhere; /* the weight is another's (tied head) */
} block_linear;

/** Start a description: an empty block, and the tokens that this rank sees. */
block_draft block_draft_of(const plait_model *model, const plait_layer *layer,
                           const plait_shard *shard, plait_pass pass, plait_block *out);

/** Begin an operator that makes so many elements out of what is at hand; its kernels follow. */
void block_place(block_draft *draft, plait_dim makes, double elements);
/** What is at hand, and this beside it: the next operator reads both. */
void block_join(block_draft *draft, block_stream other);

/** C.312: share of time more of a product whose 16-bit operands have rows of so many elements. */
double block_misaligned(double a, double b);

/** Append one operator; a count of zero means one. */
void block_op_add(block_draft *draft, plait_op op);
void block_linear_add(block_draft *draft, block_linear linear);
void block_memory_add(block_draft *draft, plait_part part, double elements, block_traffic traffic);
/** @param elements  of its output, whose width is that of its input */
void block_scan_add(block_draft *draft, plait_part part, double flops, double bytes,
                    double elements);
void block_collective_add(block_draft *draft, plait_op collective);
void block_keep(block_draft *draft, plait_tensor tensor, double elements);

/** Input of a column-parallel product: gathered under sp, its gradient reduced. */
void block_tp_enter(block_draft *draft, plait_part part);
/** Output of a row-parallel product: reduced, scattered under sp. */
void block_tp_leave(block_draft *draft, plait_part part);

/** What stands behind a norm. */
typedef enum block_norm_use {
    BLOCK_NORM_ALONE,
    BLOCK_NORM_FEEDS,      /* a product */
    BLOCK_NORM_IN_PRODUCT, /* a product whose kernel computes it, where the software has such */
    BLOCK_NORM_ROUTES      /* the router and the experts */
} block_norm_use;

/** A norm over the hidden width. */
void block_norm_add(block_draft *draft, block_norm_use use);
/** What is at hand added to what went past it. */
void block_residual_add(block_draft *draft, block_stream skipped);

/** Does the software quantise each input of a narrow product once, and keep it so? */
bool block_quantises_once(const plait_shard *shard);

/** Does what sequence parallelism gathers in front of narrow products travel in their format? (C.303) */
bool block_gathers_narrow(const plait_shard *shard);

bool block_is_forward(const block_draft *draft);
/** A pass of serving: queries at the end of a context whose keys and values are kept. */
bool block_is_serving(const block_draft *draft);
bool block_is_backward_input(const block_draft *draft);

/** Mean number of keys that the queries of a pass attend to. (C.13) */
double block_mean_keys(const plait_pass *pass, double window, double chunk, bool causal);

/** The core attention, by kernel, with its context-parallel exchange. */
typedef struct block_core {
    double heads;    /* on this rank */
    double kv_heads; /* on this rank */
    double qk_dim, v_dim;
    double kv_width; /* elements a token that context parallelism exchanges */
    double cached;   /* elements a token that serving reads of the cache */
    double keys;     /* mean keys of a query */
    bool causal;
} block_core;
void block_core_add(block_draft *draft, block_core core);

/* one mixer or feed-forward part each */
void block_attention(block_draft *draft);
void block_mla(block_draft *draft);
void block_delta_net(block_draft *draft);
void block_mamba(block_draft *draft);
void block_mlp(block_draft *draft, plait_mlp mlp, bool shared);
void block_moe(block_draft *draft);

/** ceil(width / ways) as a double: what one of `ways` ranks holds. */
double block_share(int width, int ways);

// block.c
typedef enum block_half { BLOCK_MIXER, BLOCK_FFN, BLOCK_WHOLE } block_half;

/** Does a layer have both, one behind the other? */
bool block_halves(const plait_layer *layer);

/** One half of such a layer, mixer or ffn: its operators and what it keeps are those of plait_block_describe. */
void block_describe_half(const plait_model *model, const plait_layer *layer,
                         const plait_shard *shard, plait_pass pass, block_half half,
                         plait_block *out);
