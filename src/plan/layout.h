/* layout.h - layer-to-chunk layouts in Megatron-LM's notation: Et*3|(tt|)*29,m|L */
#pragma once

#include "plait/plan.h"

/**
 * Reads the chunks of a layout, in pipeline order. The notation:
 *
 *     E t m L    the embedding, a layer, a multi-token-prediction module, the loss
 *     |          ends a chunk, which may be empty
 *     x*n (..)*n repeats of a letter, or of letters and bars; commas are ignored
 *
 * @param most    capacity of `chunks`
 * @param chunks  [most]
 * @param count   out: number of chunks
 * @return        RANGE if the text is no layout, or its letters are not in the order E t m L
 */
PLAIT_MUST_CHECK plait_status layout_read(const char *text, int most, plait_chunk *chunks,
                                          int *count, plait_error *err);

/**
 * Writes chunks in the shortest common notation, with consecutive equal chunks as (..|)*n.
 *
 * @param text  [PLAIT_VALUE_SIZE]
 * @return      false if the notation does not fit `text`
 */
bool layout_write(const plait_chunk *chunks, int count, char *text);

/** Returns whether two chunks have the same contents. */
static inline bool chunk_same(const plait_chunk *a, const plait_chunk *b)
{
    return a->first == b->first && a->last == b->last && a->embedding == b->embedding &&
           a->loss == b->loss && a->mtp == b->mtp;
}

/**
 * Returns whether the chunks contain the whole model: layers, multi-token-prediction modules,
 * embedding and loss. If not, fills `why` with a sentence.
 */
bool layout_covers_model(const plait_model *model, const plait_chunk *chunks, int count, char *why,
                         size_t size);
