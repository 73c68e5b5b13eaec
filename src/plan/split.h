/* split.h - layer splits: those that a search tries, and what rules ask of one */
#pragma once

#include "plait/plan.h"

/** What a split deals out: the layers, and with them those ends of the model that count as one. */
static inline int split_units(int layers, plait_split_kind kind)
{
    return layers + (kind == PLAIT_SPLIT_EMBEDDING || kind == PLAIT_SPLIT_BOTH) +
           (kind == PLAIT_SPLIT_LOSS || kind == PLAIT_SPLIT_BOTH);
}

/** The most chunks of a split in words, and of a layout, which may leave some empty. */
static inline int split_most_chunks(int layers, plait_split_kind kind)
{
    return kind == PLAIT_SPLIT_LAYOUT ? 2 * split_units(layers, PLAIT_SPLIT_BOTH)
                                      : split_units(layers, kind);
}

/** Have two splits the same kind, numbers and text? */
bool split_same(const plait_split *a, const plait_split *b);

/**
 * The first/last counts that balance the stages: the fewest layers on a middle stage that leave
 * room, and the last stage lighter by what the vocabulary projection costs.
 *
 * @return false when no such counts exist
 */
bool split_first_last(const plait_model *model, int pp, int vpp, plait_split *out);

/** Is the embedding in the first chunk and the loss in the last, as in all splits but a layout? */
bool split_has_ends_outside(const plait_model *model, const plait_degrees *degrees);

/** Does each chunk hold something: layers, modules or an end? */
bool split_fills_chunks(const plait_model *model, const plait_degrees *degrees);
