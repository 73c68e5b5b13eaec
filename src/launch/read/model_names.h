/*
 * model_names.h - finds models by their names on a hub or in a recipe, and sizes of tokenizers'
 * vocabularies
 */
#pragma once

#include <stdbool.h>

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

/**
 * Returns the tokens of a tokenizer, before a model pads them; 0: unknown.
 *
 * @param type   Megatron-LM's type, such as "GPT2BPETokenizer"; NULL: not given
 * @param name   name of a model, or a path with one in it: "meta-llama/Llama-3.1-8B"; NULL: not
 *               given
 * @param added  true to count tokens that were added to the tokenizer's own pieces
 * @return       0: not known
 */
int tokenizer_vocab(const char *type, const char *name, bool added);
