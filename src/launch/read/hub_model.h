/* hub_model.h - a model by the name that it has on a hub, or in a recipe */
#pragma once

#include "plait/arena.h"
#include "plait/error.h"
#include "plait/model.h"

/**
 * Find the model of "meta-llama/Llama-2-7b-hf", "Qwen/Qwen3-8B-Instruct" or "llama3_8B.yaml".
 *
 * @param out  lives in `arena`; NULL: plait has no such model, or the path is a config.json
 */
PLAIT_MUST_CHECK plait_status hub_model_find(const char *path, plait_arena *arena,
                                             const plait_model **out, plait_error *err);
