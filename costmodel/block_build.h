/* block_build.h - the strokes that the block files draw a layer with */
#ifndef PLAIT_COSTMODEL_BLOCK_BUILD_H
#define PLAIT_COSTMODEL_BLOCK_BUILD_H

#include "plait/block.h"
#include "plait/runtime.h"

/** What a block file draws on. */
typedef struct block_draft {
    const plait_model *model;
    const plait_layer *layer;
    const plait_shard *shard;
    plait_pass pass;
    plait_block *out;
    double tokens;      /* of this rank's part of the microbatch */
    double norm_tokens; /* that norms and residuals see: divided by tp under sp */
} block_draft;

/** Bytes an element of one memory-bound pass, forward and backward. */
typedef struct block_traffic {
    double forward;
    double backward;
} block_traffic;

/** A linear layer [rows, k] x [k, n], its weight (and bias) held by this rank. */
typedef struct block_linear {
    plait_part part;
    double rows, n, k;
    double experts; /* > 0: grouped, `rows` of each expert */
    bool bias;
    bool counted_elsewhere; /* the weight is another's (tied head) */
} block_linear;

/** Start a description: an empty block, and the tokens that this rank sees. */
block_draft block_draft_of(const plait_model *model, const plait_layer *layer,
                           const plait_shard *shard, plait_pass pass, plait_block *out);

/** Append one operator; a count of zero means one. */
void block_op_add(block_draft *draft, plait_op op);
void block_linear_add(block_draft *draft, block_linear linear);
void block_memory_add(block_draft *draft, plait_part part, double elements, block_traffic traffic);
void block_scan_add(block_draft *draft, plait_part part, double flops, double bytes);
void block_collective_add(block_draft *draft, plait_op collective);
void block_keep(block_draft *draft, plait_tensor tensor, double elements);

/** Input of a column-parallel product: gathered under sp, its gradient reduced. */
void block_tp_enter(block_draft *draft, plait_part part);
/** Output of a row-parallel product: reduced, scattered under sp. */
void block_tp_leave(block_draft *draft, plait_part part);

/** A norm over the hidden width; `feeds` when its output is the input of a product. */
void block_norm_add(block_draft *draft, bool feeds);
void block_residual_add(block_draft *draft);

bool block_is_forward(const block_draft *draft);
bool block_is_backward_input(const block_draft *draft);

/** Mean number of keys a query attends to. (C.13) */
double block_mean_keys(double context, double window, double chunk, bool causal);

/** The core attention, by kernel, with its context-parallel exchange. */
typedef struct block_core {
    double heads;    /* on this rank */
    double kv_heads; /* on this rank */
    double qk_dim, v_dim;
    double kv_width; /* elements a token that context parallelism exchanges */
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

#endif
