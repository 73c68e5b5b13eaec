/* vocabulary.c - how many rows the embedding has, out of Megatron-LM's arguments */
#include "launch/megatron/import_parts.h"
#include "launch/read/tokenizers.h"

/* Behind extra_vocab_size a fork counts added tokens, too. */
static int tokens_of(const megatron_args *args)
{
    const char *const names[] = {args->tokenizer_model, args->tokenizer_name_or_path,
                                 args->vocab_file};
    const bool added = args->extra_vocab_size == 0;
    int tokens = args->vocab_size;

    for (int n = 0; tokens == 0 && n < 3; n++)
        tokens = tokenizer_vocab(args->tokenizer_type, names[n], added);
    if (tokens == 0 && args->tokenizer_type == NULL && args->vocab_file != NULL)
        tokens = tokenizer_vocab("GPT2BPETokenizer", NULL, added); // pretrain_gpt.py's default
    return tokens;
}

int megatron_vocab(const megatron_args *args)
{
    const int64_t each = args->make_vocab_size_divisible_by;
    const int64_t step = (each > 0 ? each : 1) * args->tensor_model_parallel_size;
    const int tokens = tokens_of(args);
    const int64_t padded = (tokens + step - 1) / step * step;

    if (args->padded_vocab_size > 0)
        return args->padded_vocab_size;
    if (tokens > 0 && args->extra_vocab_size > 0)
        return tokens + args->extra_vocab_size;
    return padded <= 1 << 24 ? (int)padded : tokens;
}
