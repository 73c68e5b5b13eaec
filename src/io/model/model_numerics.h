/* model_numerics.h - the block "numerics" of a plait model file, read and written */
#pragma once

#include "plait/model.h"

#include "io/json/json.h"
#include "io/json/json_write.h"

/** Reads the block out of a model; all zero when it is not there. */
plait_status model_read_numerics(const json_cursor *model, plait_numerics *out,
                                 plait_error *err) PLAIT_MUST_CHECK;

/** Writes the block as a member of the model, unless nothing in it is known. */
void model_write_numerics(json_writer *json, const plait_numerics *numerics);
