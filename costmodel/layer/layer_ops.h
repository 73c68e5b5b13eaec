/*
 * layer_ops.h - a layer's operators with their seconds, which a row of prices adds up, and a cache
 * of the parts of rows that other rows share, to the bit
 */
#pragma once

#include "costmodel/layer/block_build.h"
#include "costmodel/layer/layer_row.h"

enum { LAYER_HALVES = 2 };

/** The fields of an operator that sums need. */
typedef struct priced_op {
    double s;            /* exposed seconds of the fullest rank */
    double weight_s;     /* weight gradient without waiting; else 0 */
    unsigned char term;  /* layer_term */
    unsigned char part;  /* plait_part */
    unsigned char role;  /* layer_role */
    bool travels;        /* a collective */
    bool expert_weights; /* gradients of experts' weights */
} priced_op;

typedef struct priced_pass {
    int ops;
    priced_op *op;
} priced_pass;

/** A layer, half a layer or an end of the model: both passes, and what the forward keeps. */
typedef struct priced_block {
    priced_pass forward, backward;
    double computed_s;           /* both passes, without the exchange of experts' tokens */
    double saved[PLAIT_TENSORS]; /* elements */
    double saved_gathered;
    plait_weights weights;
    double context_bytes;  /* largest buffer of context exchange */
    double gathered_bytes; /* largest buffer of tokens all-gathered to their experts */
} priced_block;

/** The role of an operator in a pair of microbatches. */
typedef enum layer_role { LAYER_FRONT, LAYER_EXPERTS, LAYER_DISPATCH, LAYER_COMBINE } layer_role;

/** Seconds of one pass of a layer, by role. */
typedef struct layer_pass {
    double front;             /* computation and waiting outside the routed experts */
    double experts;           /* computation in the routed experts */
    double weights;           /* weight-gradient part of `experts` */
    double dispatch, combine; /* communication */
} layer_pass;

/** Storage for a block that is not cached. */
typedef struct priced_room {
    priced_block block;
    priced_op forward[PLAIT_MAX_OPS], backward[PLAIT_MAX_OPS];
} priced_room;

/**
 * One part of a row: as a whole, or its mixer and then its ffn.
 *
 * @param room   storage for blocks that are not cached
 * @param block  filled
 * @return       number of blocks
 */
int priced_blocks_of(const plait_problem *problem, layer_row *row, int r,
                     priced_room room[LAYER_HALVES], const priced_block *block[LAYER_HALVES]);

/**
 * Time that a forward saves if it overlaps another microbatch's backward. (C.156)
 *
 * @param sms  share of SMs that the dispatcher's kernels take from concurrent kernels
 */
void layer_pair(const layer_pass *forward, const layer_pass *backward, double sms,
                double saved_s[PLAIT_EP_OVERLAPS]);

/** Seconds of one collective, of experts or not. (C.56, C.151, C.153) */
double exchange_s(const plait_problem *problem, const plait_route *route, const plait_op *op);

// layer_cache.c
/** Caches seconds of products by shape, and halves of layers and parts without experts by key. */
typedef struct layer_cache layer_cache;

/** NULL: out of memory. A cache serves one problem. */
layer_cache *layer_cache_new(const plait_problem *problem, plait_arena *arena);

/** Lets the cache store halves of layers in `arena`, which must not be rewound. */
void layer_cache_grow(layer_cache *cache, plait_arena *arena);

/** Does the cache store halves? */
bool layer_cache_has_halves(const layer_cache *cache);

/** plait_op_s, cached for products; `cache` may be NULL. */
double cached_op_s(layer_cache *cache, const plait_kernel_context *context, const plait_op *op);

/**
 * Prices by ROW_... of a row that differs at most in experts' degrees.
 *
 * @param cached  out: the prices are filled; else the caller fills those of the ends and of kinds
 *                without experts
 * @return        NULL: the model has no such parts
 */
layer_price *layer_cache_prices(layer_cache *cache, const layer_key *key, bool *cached);

/** A cache entry of half a layer. */
typedef struct half_slot half_slot;

/**
 * The entry of half a layer, by the keys that its price depends on.
 *
 * @param seq    tokens of a sequence
 * @param block  out: the cached half; NULL: not cached
 * @return       NULL: the cache stores no halves
 */
half_slot *layer_cache_slot(layer_cache *cache, const layer_key *key, double seq, int kind,
                            block_half half, const priced_block **block);

/** Stores a half if there is memory. */
void cache_half(layer_cache *cache, half_slot *place, const priced_block *block);
