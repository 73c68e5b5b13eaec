/*
 * layer_ops.h - seconds of a layer's operators, which layer_price.c adds up to the prices of a row,
 * and a cache of prices that several rows share
 *
 * A cached price equals the computed one bit by bit.
 */
#pragma once

#include "costmodel/layer/block_build.h"
#include "costmodel/layer/layer_row.h"

enum { LAYER_HALVES = 2 };

/** The fields of an operator that sums over a layer need. */
typedef struct priced_op {
    double s;            /* exposed seconds on the fullest rank */
    double weight_s;     /* seconds of a weight gradient, without waiting; else 0 */
    unsigned char term;  /* layer_term */
    unsigned char part;  /* plait_part */
    unsigned char role;  /* layer_role */
    bool travels;        /* the operator is a collective */
    bool expert_weights; /* the operator computes gradients of experts' weights */
} priced_op;

typedef struct priced_pass {
    int ops;
    priced_op *op;
} priced_pass;

/** Both passes of a layer, half a layer or an end of the model, and the tensors that it keeps. */
typedef struct priced_block {
    priced_pass forward, backward;
    double saved[PLAIT_TENSORS]; /* elements of each kept tensor */
    double saved_gathered;
    plait_weights weights;
    double context_bytes;  /* largest buffer of context exchange */
    double gathered_bytes; /* largest buffer of tokens all-gathered to their experts */
} priced_block;

/** The role of an operator if the forward of one microbatch overlaps the backward of another. */
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
 * Prices part r of a row: as one block, or as two blocks, its mixer and then its ffn.
 *
 * @param room   storage for blocks that are not cached
 * @param block  filled with blocks of the cache or of `room`
 * @return       number of blocks
 */
int priced_blocks_of(const plait_problem *problem, layer_row *row, int r,
                     priced_room room[LAYER_HALVES], const priced_block *block[LAYER_HALVES]);

/**
 * Computes the seconds that a layer saves if the forward of one microbatch overlaps the backward of
 * another. (C.156)
 *
 * @param sms  share of SMs that the dispatcher's kernels take from concurrent kernels
 */
void layer_pair(const layer_pass *forward, const layer_pass *backward, double sms,
                double saved_s[PLAIT_EP_OVERLAPS]);

/** Seconds of one call of any collective of a layer. (C.56, C.151, C.153) */
double exchange_s(const plait_problem *problem, const plait_route *route, const plait_op *op);

// layer_cache.c
/** A cache of times: of matrix products by shape, and of halves of layers (attention, MLP) by key. */
typedef struct layer_cache layer_cache;

/** Returns a cache for one problem; NULL: out of memory. */
layer_cache *layer_cache_new(const plait_problem *problem, plait_arena *arena);

/**
 * Lets the cache store halves of layers in `arena`, which must not be rewound, and lower bounds in
 * `bounds`.
 */
void layer_cache_grow(layer_cache *cache, plait_arena *arena, plait_half_bounds *bounds);

/** Does the cache store lower bounds of halves? */
bool layer_cache_has_bounds(const layer_cache *cache);

/** Returns the first kind of layer with the mixer of `kind`. */
int layer_cache_same_mixer(const layer_cache *cache, int kind);

/** Returns plait_op_s, which is cached for products; `cache` may be NULL. */
double cached_op_s(layer_cache *cache, const plait_kernel_context *context, const plait_op *op);

/**
 * Returns the prices, by ROW_..., that all rows share whose keys differ only in experts' degrees:
 * those of layers without experts and of the ends of the model.
 *
 * @param cached  out: the prices are valid; otherwise the caller must fill them
 * @return        NULL: there is no cache, or the model has no experts
 */
layer_price *layer_cache_prices(layer_cache *cache, const layer_key *key, bool *cached);

/** A cache entry of half a layer. */
typedef struct half_slot half_slot;

/**
 * Returns the entry of half a layer, found by the keys on which its price depends.
 *
 * @param seq    tokens of a sequence
 * @param block  out: the cached half; NULL: not cached
 * @return       NULL: the cache stores no halves
 */
half_slot *layer_cache_slot(layer_cache *cache, const layer_key *key, double seq, int kind,
                            block_half half, const priced_block **block);

/** Stores a half in its entry, unless memory runs out. */
void cache_half(layer_cache *cache, half_slot *place, const priced_block *block);

/** Computes a lower bound on the seconds of both passes of half a layer. */
typedef double half_bound_s(const plait_problem *problem, layer_row *row, int kind,
                            block_half half);

/** Returns a lower bound from the cache, which must have bounds; if it is not there, computes it. */
double layer_cache_bound(layer_cache *cache, const plait_problem *problem, layer_row *row, int kind,
                         block_half half, half_bound_s *compute);
