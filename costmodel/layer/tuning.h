/* tuning.h - frozen matrices of a layer, and adapters (C.410 to C.413) */
#pragma once

#include "costmodel/layer/block_build.h"
#include "plait/tuning.h"

/** Sets the parts of a shard that are frozen, and those with adapters. */
void shard_tune(const plait_model *model, const plait_tuning *tuning, plait_shard *shard);

/** Is a part next to the decoder frozen? Adapters are on the decoder alone, which freezes others. */
bool tuning_freezes(const plait_tuning *tuning, plait_freeze part);
bool encoder_frozen(const plait_tuning *tuning, plait_modality modality);

/** Does a part have matrices that are trained, or adapters? */
bool part_trains(const plait_shard *shard, plait_part part);

/** Adds the two products of the adapters of a matrix, and the sum with its output. (C.411) */
void block_adapter_add(block_draft *draft, const block_linear *linear);

/**
 * Moves the parameters of frozen parts to those that are not trained, and drops the kept tensors
 * that only the gradients of frozen matrices would read. (C.412)
 */
void block_settle(const block_draft *draft);
