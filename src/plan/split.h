/* split.h - splits of layers into chunks, for searches and rules */
#pragma once

#include "plait/plan.h"

/**
 * Returns the number of items in a split: layers, and embedding and loss if these count as layers.
 */
static inline int split_units(int layers, plait_split_kind kind)
{
    return layers + (kind == PLAIT_SPLIT_EMBEDDING || kind == PLAIT_SPLIT_BOTH) +
           (kind == PLAIT_SPLIT_LOSS || kind == PLAIT_SPLIT_BOTH);
}

/** Returns an upper bound on the chunks of a kind of split; a layout can have empty chunks. */
static inline int split_most_chunks(int layers, plait_split_kind kind)
{
    return kind == PLAIT_SPLIT_LAYOUT ? 2 * split_units(layers, PLAIT_SPLIT_BOTH)
                                      : split_units(layers, kind);
}

/** Returns whether two splits have the same kind, numbers and text. */
bool split_same(const plait_split *a, const plait_split *b);

/**
 * Sets the layer counts of the first and last stage that balance the stages. The last stage has
 * fewer layers, by the cost of the vocabulary projection. With modules for further tokens the
 * fullest stage costs least; otherwise middle stages have as few layers as possible, and the first
 * and last have no more.
 *
 * @return false if no counts satisfy this
 */
bool split_first_last(const plait_model *model, int pp, int vpp, plait_split *out);

/**
 * Returns whether the embedding is in the first chunk and the loss in the last chunk. This is true
 * for all splits except some layouts.
 */
bool split_has_ends_outside(const plait_model *model, const plait_degrees *degrees);

/** Returns whether each chunk has a layer; true for invalid splits, which another rule rejects. */
bool split_has_layers(const plait_model *model, const plait_degrees *degrees);

/** Returns whether each chunk contains a layer, a prediction module, the embedding or the loss. */
bool split_fills_chunks(const plait_model *model, const plait_degrees *degrees);
