/* layer_cache.h - what one row of prices can take from those before it, to the bit */
#pragma once

#include "costmodel/layer/block_build.h"
#include "costmodel/layer/layer_ops.h"

/** Seconds of products by their shape, halves of layers and parts without experts by their keys. */
typedef struct layer_cache layer_cache;

/** NULL: out of memory. A cache serves one problem. */
layer_cache *layer_cache_new(const plait_problem *problem, plait_arena *arena);

/** From now on halves are remembered, in `arena`, which is not to be rewound. */
void layer_cache_grow(layer_cache *cache, plait_arena *arena);

/** Are halves remembered? */
bool layer_cache_has_halves(const layer_cache *cache);

/** plait_op_s, remembered of products. cache: NULL: nothing is remembered. */
double cached_op_s(layer_cache *cache, const plait_kernel_context *context, const plait_op *op);

/** Is a part the same with all experts' degrees: a kind of layer without them, or an end? */
bool price_ignores_experts(const plait_model *model, int r);

/**
 * Prices by ROW_... of a row that differs at most in experts' degrees.
 *
 * @param known  out: they are filled; else those that price_ignores_experts names are to be
 * @return       NULL: this model has nothing to gain
 */
layer_price *layer_cache_prices(layer_cache *cache, const layer_key *key, bool *known);

/** Where half a layer is remembered. */
typedef struct half_slot half_slot;

/**
 * The place of half a layer, by the keys that it hangs on.
 *
 * @param seq  tokens of a sequence
 * @return     NULL: nothing is remembered
 */
half_slot *layer_cache_slot(layer_cache *cache, const layer_key *key, double seq, int kind,
                            block_half half);

/** What is remembered there; NULL: it is to be priced. */
const priced_block *cached_half(const half_slot *place);

/** Remembers it, where there is memory for it. */
void cache_half(layer_cache *cache, half_slot *place, const priced_block *block);
