/* hub_id.h - the id of a model on the Hugging Face Hub */
#pragma once

#include "plait/arena.h"
#include "plait/error.h"
#include "plait/model.h"

/**
 * Find the first id that the shipped file of a model lists, such as "meta-llama/Llama-3.1-8B".
 *
 * @param out  lives in `arena`; the model's own name if no shipped file has its name and its size
 */
PLAIT_MUST_CHECK plait_status hub_id_of(const plait_model *model, plait_arena *arena,
                                        const char **out, plait_error *err);
