/* layer_cache.h - what one row of prices can take from those before it, to the bit */
#pragma once

#include "costmodel/layer/block_build.h"
#include "costmodel/layer/layer_ops.h"

/** Seconds of products by their shape, halves of layers and parts without experts by their keys. */
typedef struct layer_memo layer_memo;

/** NULL: out of memory. A memo serves one problem. */
layer_memo *layer_memo_new(const plait_problem *problem, plait_arena *arena);

/** From now on halves are remembered, in `arena`, which is not to be rewound. */
void layer_memo_grow(layer_memo *memo, plait_arena *arena);

/** Are halves remembered? */
bool memo_has_halves(const layer_memo *memo);

/** plait_op_s, remembered of products. memo: NULL: nothing is remembered. */
double memo_op_s(layer_memo *memo, const plait_kernel_context *context, const plait_op *op);

/** Is a part the same with all experts' degrees: a kind of layer without them, or an end? */
bool memo_spans_experts(const plait_model *model, int r);

/**
 * Prices by ROW_... of a row that differs at most in experts' degrees.
 *
 * @param known  out: they are filled; else those that memo_spans_experts names are to be
 * @return       NULL: this model has nothing to gain
 */
layer_price *memo_parts(layer_memo *memo, const layer_key *key, bool *known);

/** Where half a layer is remembered. */
typedef struct memo_place memo_place;

/**
 * The place of half a layer, by the keys that it hangs on.
 *
 * @param seq  tokens of a sequence
 * @return     NULL: nothing is remembered
 */
memo_place *memo_half(layer_memo *memo, const layer_key *key, double seq, int kind,
                      block_half half);

/** What is remembered there; NULL: it is to be priced. */
const priced_block *memo_known(const memo_place *place);

/** Remembers it, where there is memory for it. */
void memo_keep(layer_memo *memo, memo_place *place, const priced_block *block);
