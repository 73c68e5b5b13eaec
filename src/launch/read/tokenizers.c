/*
 * tokenizers.c - how many tokens the tokenizers of known models have
 *
 * Added tokens count, rows that a model pads its table with do not: Qwen's models have 151936 rows
 * for the 151643 tokens and 26 added ones that a tokenizer of theirs has.
 */
#include "launch/read/tokenizers.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "base/text.h"

typedef struct tokenizer_row {
    const char *part; /* of the name, in small letters without '-', '_', '.' and blanks */
    int vocab;
    int pieces; /* without added tokens; 0: there are none of these */
} tokenizer_row;

/* The first part that a name has counts. Sizes: tokenizer.json and config.json of each on the hub. */
static const tokenizer_row by_name[] = {
    {"llama4", 201135, 0},      // 200000 and 1135 special ones
    {"llama3", 128256, 128000}, // 128000 and 256 special ones
    {"llama2", 32000, 0},       // SentencePiece, 32000 pieces, as the first LLaMA
    {"codellama", 32016, 0},    // four infilling tokens, padded to 16
    {"vicuna", 32000, 0},
    {"llama7b", 32000, 0},
    {"llama13b", 32000, 0},
    {"llama30b", 32000, 0},
    {"llama65b", 32000, 0},
    {"mixtral", 32000, 0},
    {"mistral", 32000, 0},
    {"qwen2", 151665, 151643},     // 151643 and 22 added ones; Qwen 2.5 alike
    {"qwen3", 151669, 151643},     // 151643 and 26 added ones
    {"qwen", 151851, 151643},      // the first Qwen: 151643 and 208 special ones
    {"deepseekv2tokenizer", 0, 0}, // Pai-Megatron-Patch calls that of V3 so, too
    {"deepseekv3", 128815, 0},
    {"deepseekr1", 128815, 0},
    {"deepseekv2", 100002, 0},
    {"moonlight", 163842, 0},
    {"kimik2", 163842, 0},
    {"gptoss", 200019, 0}, // o200k_harmony
    {"gptneox", 50277, 0}, // GPT-NeoX-20B, Pythia
    {"pythia", 50277, 0},
    {"bloom", 250680, 0},
    {"bigscience/tokenizer", 250680, 0},
    {"bytelevelbpetokenizernonorm250k", 250680, 0},
    {"falcon", 65024, 0},
    {"baichuan2", 125696, 0},
    {"baichuan", 64000, 0},
    {"starcoder", 49152, 0},
    {"gemma", 256000, 0},
    {"phi3", 32011, 0},
    {"gpt2", 50257, 0},
    {"t5small", 32100, 0}, // with its 100 sentinels
    {"t5base", 32100, 0},
    {"t5large", 32100, 0},
    {"gptj", 50257, 0},
    {NULL, 0, 0},
};

/* Types that have one vocabulary whatever file they read. */
static const tokenizer_row by_type[] = {
    {"GPT2BPETokenizer", 50257, 0}, // gpt2-vocab.json
    {"BertWordPieceLowerCase", 30522, 0}, {"BertWordPieceCase", 28996, 0},
    {"Llama2Tokenizer", 32000, 0},        {NULL, 0, 0},
};

/* In small letters, without what people write differently. */
static void simplify(const char *name, char *out, size_t size)
{
    size_t length = 0;

    for (; *name != '\0' && length < size - 1; name++)
        if (strchr("-_. ", *name) == NULL)
            out[length++] = (char)tolower((unsigned char)*name);
    out[length] = '\0';
}

static int vocab_of_name(const char *name, bool added)
{
    char simple[256];

    simplify(name, simple, sizeof simple);
    for (const tokenizer_row *row = by_name; row->part != NULL; row++)
        if (strstr(simple, row->part) != NULL)
            return added || row->pieces == 0 ? row->vocab : row->pieces;
    return 0;
}

int tokenizer_vocab(const char *type, const char *name, bool added)
{
    for (const tokenizer_row *row = by_type; type != NULL && row->part != NULL; row++)
        if (text_equal(row->part, type))
            return row->vocab;
    return name != NULL ? vocab_of_name(name, added) : 0;
}
