/* model_training.h - the block "training" of a plait model file: with what it was trained */
#pragma once

#include "plait/model.h"

#include "io/json/json.h"
#include "io/json/json_write.h"

/** Reads the block of a model; where it is missing nothing is known. Texts live in `arena`. */
plait_status model_read_training(const json_cursor *model, plait_arena *arena, plait_training *out,
                                 plait_error *err) PLAIT_MUST_CHECK;

/** Writes the block, unless nothing is known. */
void model_write_training(json_writer *json, const plait_training *training);
