/* model_write.h - a model as a plait model file */
#pragma once

#include "plait/model.h"

#include "io/json/json_write.h"

/**
 * Writes a model as one JSON object in the format of docs/reference/files/model.md, every key
 * spelled out, so that reading it back gives the same model, wherever it came from.
 */
void model_write(json_writer *json, const plait_model *model);
