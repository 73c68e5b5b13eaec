/* split.h - layer splits: those that a search tries, and properties that rules check */
#pragma once

#include "plait/plan.h"

/** Items that a split assigns: the layers, and each end of the model that counts as a layer. */
static inline int split_units(int layers, plait_split_kind kind)
{
    return layers + (kind == PLAIT_SPLIT_EMBEDDING || kind == PLAIT_SPLIT_BOTH) +
           (kind == PLAIT_SPLIT_LOSS || kind == PLAIT_SPLIT_BOTH);
}

/** Upper bound on the chunks of a split of this kind; a layout may have empty ones. */
static inline int split_most_chunks(int layers, plait_split_kind kind)
{
    return kind == PLAIT_SPLIT_LAYOUT ? 2 * split_units(layers, PLAIT_SPLIT_BOTH)
                                      : split_units(layers, kind);
}

/** Do two splits have the same kind, numbers and text? */
bool split_same(const plait_split *a, const plait_split *b);

/**
 * Fills the first/last counts that balance the stages: the fewest layers on a middle stage, and a
 * last stage with as many layers less as the vocabulary projection costs.
 *
 * @return false if there are no such counts
 */
bool split_first_last(const plait_model *model, int pp, int vpp, plait_split *out);

/**
 * Is the embedding in the first chunk and the loss in the last? True of all splits except some
 * layouts.
 */
bool split_has_ends_outside(const plait_model *model, const plait_degrees *degrees);

/** Does each chunk have a layer? True for splits without counts, which another rule rejects. */
bool split_has_layers(const plait_model *model, const plait_degrees *degrees);

/** Is no chunk empty: does each have layers, modules or an end? */
bool split_fills_chunks(const plait_model *model, const plait_degrees *degrees);
