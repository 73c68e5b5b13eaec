/*
 * model_names.c - finds models by their names on a hub or in a recipe, and sizes of tokenizers'
 * vocabularies
 */
#include "launch/read/model_names.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

#include "plait/data.h"

#include "base/status.h"
#include "base/text.h"

/*
 * Return the name in lower case with hyphens, without the hub's suffixes for the stage of training.
 */
static const char *plain_name(const char *path, plait_arena *arena)
{
    static const char *const endings[] = {".yaml", "-2507", "-hf",   "-instruct", "-chat",
                                          "-base", "-it",   "-v0.1", NULL};
    const char *const slash = strrchr(path, '/');
    char *const name = plait_arena_text(arena, slash != NULL ? slash + 1 : path);

    for (char *c = name; c != NULL && *c != '\0'; c++)
        *c = *c == '_' ? '-' : (char)tolower((unsigned char)*c);
    for (const char *const *ending = endings; name != NULL && *ending != NULL; ending++)
        if (text_ends_with(name, *ending))
            name[strlen(name) - strlen(*ending)] = '\0';
    return name != NULL && text_starts_with(name, "meta-") ? name + strlen("meta-") : name;
}

static plait_status find_model(const char *name, plait_arena *arena, const plait_model **out,
                               plait_error *err)
{
    plait_model *const model = plait_arena_alloc(arena, 1, sizeof *model);
    plait_error inner;

    PLAIT_TRY(plait_check_allocated(model && name, err));
    if (name[0] == '\0' || text_equal(name, "-") || text_ends_with(name, ".json"))
        return PLAIT_OK;
    const plait_status status = plait_model_find(name, arena, model, NULL, &inner);
    if (status == PLAIT_OK)
        *out = model;
    return faults_only(status, &inner, err);
}

plait_status hub_model_find(const char *path, plait_arena *arena, const plait_model **out,
                            plait_error *err)
{
    const char *const name = plain_name(path, arena);

    *out = NULL;
    PLAIT_TRY(find_model(name, arena, out, err));
    if (*out != NULL || !text_starts_with(name, "llama") || !isdigit((unsigned char)name[5]))
        return PLAIT_OK;
    return find_model(plait_arena_printf(arena, "llama-%s", name + 5), arena, out, err);
}

typedef struct tokenizer_row {
    const char *part; /* part of a name in lower case without '-', '_', '.' and blanks */
    int vocab;
    int pieces; /* tokens without added ones; 0: none were added */
} tokenizer_row;

/*
 * The first row whose `part` occurs in a name gives the size. Source of the sizes: tokenizer.json
 * and config.json of each model on the hub.
 */
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
    {"qwen2", 151665, 151643},     // 151643 and 22 added ones, also in Qwen 2.5
    {"qwen3", 151669, 151643},     // 151643 and 26 added ones
    {"qwen", 151851, 151643},      // the first Qwen: 151643 and 208 special ones
    {"deepseekv2tokenizer", 0, 0}, // Pai-Megatron-Patch has V3 under this name, too
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

/* Types that have the same vocabulary for any file. */
static const tokenizer_row by_type[] = {
    {"GPT2BPETokenizer", 50257, 0}, // gpt2-vocab.json
    {"BertWordPieceLowerCase", 30522, 0}, {"BertWordPieceCase", 28996, 0},
    {"Llama2Tokenizer", 32000, 0},        {NULL, 0, 0},
};

static int vocab_of_name(const char *name, bool added)
{
    char simple[256];

    // convert the name to lower case and remove the characters in which spellings differ
    const size_t size = sizeof simple;
    size_t length = 0;

    for (; *name != '\0' && length < size - 1; name++)
        if (strchr("-_. ", *name) == NULL)
            simple[length++] = (char)tolower((unsigned char)*name);
    simple[length] = '\0';
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
