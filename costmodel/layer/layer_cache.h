/* layer_cache.h - cache of the parts of rows that other rows share, to the bit */
#pragma once

#include "costmodel/layer/block_build.h"
#include "costmodel/layer/layer_ops.h"

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
 * Is a part's price independent of experts' degrees: a kind of layer without experts, or an end?
 */
bool price_ignores_experts(const plait_model *model, int r);

/**
 * Prices by ROW_... of a row that differs at most in experts' degrees.
 *
 * @param known  out: the prices are filled; else the caller fills those of price_ignores_experts
 * @return       NULL: the model has no such parts
 */
layer_price *layer_cache_prices(layer_cache *cache, const layer_key *key, bool *known);

/** A cache entry of half a layer. */
typedef struct half_slot half_slot;

/**
 * The entry of half a layer, by the keys that its price depends on.
 *
 * @param seq  tokens of a sequence
 * @return     NULL: the cache stores no halves
 */
half_slot *layer_cache_slot(layer_cache *cache, const layer_key *key, double seq, int kind,
                            block_half half);

/** The cached half; NULL: not cached. */
const priced_block *cached_half(const half_slot *place);

/** Stores a half if there is memory. */
void cache_half(layer_cache *cache, half_slot *place, const priced_block *block);
