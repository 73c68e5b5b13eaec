/* tokenizers.h - how many tokens the tokenizers of known models have */
#pragma once

#include <stdbool.h>

/**
 * Tokens of a tokenizer, before a model pads them.
 *
 * @param type  as Megatron-LM calls it: "GPT2BPETokenizer"; NULL: not given
 * @param name  of a model, or a path with one in it: "meta-llama/Llama-3.1-8B"; NULL: not given
 * @param added  do tokens count that were added behind the pieces?
 * @return      0: not known
 */
int tokenizer_vocab(const char *type, const char *name, bool added);
