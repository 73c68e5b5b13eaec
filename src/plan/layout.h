/* layout.h - layers to chunks in Megatron-LM's spelling: Et*3|(tt|)*29,m|L */
#pragma once

#include "plait/plan.h"

/**
 * The chunks that a text spells, in pipeline order.
 *
 *     E t m L    the embedding, a layer, a module that predicts a further token, the loss
 *     |          ends a chunk, which may be empty
 *     x*n (..)*n repeats of a letter, or of letters and bars; commas say nothing
 *
 * @param most    chunks that there is room for
 * @param chunks  [most]
 * @param count   of them
 * @return        RANGE when it is no layout, or its letters stand in another order than E t m L
 */
PLAIT_MUST_CHECK plait_status layout_read(const char *text, int most, plait_chunk *chunks,
                                          int *count, plait_error *err);

/**
 * The shortest usual spelling of chunks: neighbours alike as (..|)*n.
 *
 * @param text  [PLAIT_VALUE_SIZE]
 * @return      false when it is longer than that
 */
bool layout_write(const plait_chunk *chunks, int count, char *text);

/** Do two chunks hold the same? */
static inline bool chunk_same(const plait_chunk *a, const plait_chunk *b)
{
    return a->first == b->first && a->last == b->last && a->embedding == b->embedding &&
           a->loss == b->loss && a->mtp == b->mtp;
}

/** Do these chunks deal the model: its layers, its modules, both ends? A sentence when they do not. */
bool layout_holds(const plait_model *model, const plait_chunk *chunks, int count, char *why,
                  size_t size);
