/*
 * hybrid.c - the layers of hybrid models as --hybrid-layer-pattern, and back
 *
 * One letter is a mixer or a feed-forward part, and a layer has one or two of them:
 *
 *     MEM*E|MEM*-/E     M Mamba-2   * attention   + MLA   D sparse attention   G gated delta net
 *                       - MLP       E experts     | between chunks    / before each MTP module
 *
 * Source: megatron/core/models/hybrid/hybrid_layer_allocation.py of NVIDIA/Megatron-LM d98e8a6
 * (2026-08-22).
 */
#include <string.h>

#include "launch/megatron/megatron.h"
#include "plan/model_queries.h"

static const struct {
    char letter;
    plait_mixer_kind mixer;
    plait_ffn_kind ffn;
    const char *name;
} letters[] = {
    {'M', PLAIT_MIXER_MAMBA, PLAIT_FFN_NONE, "mamba"},
    {'*', PLAIT_MIXER_ATTENTION, PLAIT_FFN_NONE, "attention"},
    {'D', PLAIT_MIXER_MLA, PLAIT_FFN_NONE, "sparse"},
    {'+', PLAIT_MIXER_MLA, PLAIT_FFN_NONE, "mla"},
    {'G', PLAIT_MIXER_DELTA_NET, PLAIT_FFN_NONE, "linear"},
    {'-', PLAIT_MIXER_NONE, PLAIT_FFN_MLP, "dense"},
    {'E', PLAIT_MIXER_NONE, PLAIT_FFN_MOE, "moe"},
};

enum { LETTERS = sizeof letters / sizeof *letters };

/* Return the index of a letter, or LETTERS for another character. */
static int index_of(char letter)
{
    int i = 0;

    while (i < LETTERS && letters[i].letter != letter)
        i++;
    return i;
}

static bool is_mixer(char letter)
{
    const int i = index_of(letter);

    return i < LETTERS && letters[i].mixer != PLAIT_MIXER_NONE;
}

static bool is_ffn(char letter)
{
    const int i = index_of(letter);

    return i < LETTERS && letters[i].ffn != PLAIT_FFN_NONE;
}

/* Write the one or two letters of a layer, with '\0' at the end. */
static void spell_layer(const plait_layer *layer, char out[3])
{
    const bool sparse = layer->mixer == PLAIT_MIXER_MLA && layer->mla.index_heads > 0;
    int count = 0;

    for (int i = 0; i < LETTERS; i++)
        if (layer->mixer == PLAIT_MIXER_MLA && letters[i].mixer == PLAIT_MIXER_MLA
                ? (letters[i].letter == 'D') == sparse
            : letters[i].mixer != PLAIT_MIXER_NONE ? letters[i].mixer == layer->mixer
                                                   : letters[i].ffn == layer->ffn)
            out[count++] = letters[i].letter;
    out[count] = '\0';
}

const char *hybrid_pattern(const plait_model *model, const plait_chunk *chunk, int chunks,
                           plait_arena *arena)
{
    char letter[3];
    text_builder out;

    text_builder_init(&out, arena);
    for (int c = 0; c < chunks; c++) {
        if (c > 0)
            text_append_char(&out, '|');
        for (int i = chunk[c].first; i < chunk[c].last; i++) {
            spell_layer(&model->kind[model->layer_kind[i]], letter);
            text_append(&out, letter);
        }
    }
    for (int m = 0; m < model->mtp_layers; m++) {
        spell_layer(&model->kind[model->mtp_kind], letter);
        text_append_printf(&out, "/%s", letter);
    }
    return text_builder_finish(&out, NULL);
}

int hybrid_chunks(const plait_model *model, const char *pattern, plait_chunk *chunk)
{
    int chunks = 0, layer = 0;
    char letter[3];

    chunk[0] = (plait_chunk){.embedding = true};
    for (const char *at = pattern; *at != '\0' && *at != '/';) {
        if (*at == '|') {
            if (chunks + 1 == PLAIT_MAX_LAYERS)
                return 0;
            chunk[chunks++].last = layer;
            chunk[chunks] = (plait_chunk){.first = layer};
            at++;
            continue;
        }
        if (layer == model->layers)
            return 0;
        spell_layer(&model->kind[model->layer_kind[layer++]], letter);
        if (!text_starts_with(at, letter))
            return 0;
        at += strlen(letter);
    }
    chunk[chunks].last = layer;
    chunk[chunks].loss = true;
    chunk[chunks].mtp = model->mtp_layers;
    return layer == model->layers ? chunks + 1 : 0;
}

int hybrid_segments(const char *pattern)
{
    int count = 1;

    for (; *pattern != '\0' && *pattern != '/'; pattern++)
        count += *pattern == '|';
    return count;
}

/* ---- from a pattern to layers ---- */

/* Return whether letters up to `/` are pairs of a mixer and a feed-forward part, and | between. */
static bool has_pairs(const char *at)
{
    while (*at == '|' || (is_mixer(at[0]) && is_ffn(at[1])))
        at += *at == '|' ? 1 : 2;
    return *at == '\0' || *at == '/';
}

/* Return the kind of the layer with the letters, and add it if it is new; -1: too many kinds. */
static int kind_of(plait_model *model, plait_layer *kind, const plait_layer *full,
                   const char *letter, int count, plait_arena *arena)
{
    const int mixer = is_mixer(letter[0]) ? index_of(letter[0]) : LETTERS;
    const int ffn = index_of(letter[count - 1]);
    const bool feeds = is_ffn(letter[count - 1]);
    const char *const name =
        plait_arena_printf(arena, "%s%s%s", mixer < LETTERS ? letters[mixer].name : "",
                           mixer < LETTERS && feeds ? "-" : "", feeds ? letters[ffn].name : "");
    plait_layer layer = {.name = name, .norms = count};

    if (name == NULL)
        return -1;
    for (int k = 0; k < model->kinds; k++)
        if (strcmp(kind[k].name, name) == 0)
            return k;
    if (model->kinds == PLAIT_MAX_LAYER_KINDS)
        return -1;
    layer.mixer = mixer < LETTERS ? letters[mixer].mixer : PLAIT_MIXER_NONE;
    layer.ffn = feeds ? letters[ffn].ffn : PLAIT_FFN_NONE;
    if (layer.mixer == PLAIT_MIXER_MAMBA)
        layer.mamba = full->mamba;
    if (layer.mixer == PLAIT_MIXER_ATTENTION)
        layer.attention = full->attention;
    if (layer.mixer == PLAIT_MIXER_DELTA_NET)
        layer.delta_net = full->delta_net;
    if (layer.mixer == PLAIT_MIXER_MLA)
        layer.mla = full->mla;
    if (layer.mixer == PLAIT_MIXER_MLA && letter[0] == '+')
        layer.mla.index_heads = layer.mla.index_dim = layer.mla.index_topk = 0;
    if (layer.ffn == PLAIT_FFN_MLP)
        layer.mlp = full->mlp;
    if (layer.ffn == PLAIT_FFN_MOE)
        layer.moe = full->moe;
    kind[model->kinds] = layer;
    return model->kinds++;
}

plait_status hybrid_read_layers(const char *pattern, const plait_layer *full, plait_arena *arena,
                                plait_model *model, const char **wanted, plait_error *err)
{
    plait_layer *const kind = plait_arena_alloc(arena, PLAIT_MAX_LAYER_KINDS, sizeof *kind);
    unsigned char *const layer_kind = plait_arena_alloc(arena, PLAIT_MAX_LAYERS, 1);
    const int pair = has_pairs(pattern) ? 2 : 1;
    const char *at = pattern;

    PLAIT_TRY(plait_check_allocated(kind && layer_kind, err));
    model->layers = model->kinds = 0;
    for (; *at != '\0' && *at != '/'; at += *at == '|' ? 1 : pair) {
        if (*at == '|')
            continue;
        *wanted = "of known letters";
        if (index_of(*at) == LETTERS)
            return PLAIT_OK;
        *wanted = "of fewer layers";
        if (model->layers == PLAIT_MAX_LAYERS)
            return PLAIT_OK;
        *wanted = "of fewer kinds of layers";
        const int k = kind_of(model, kind, full, at, pair, arena);
        if (k < 0)
            return PLAIT_OK;
        layer_kind[model->layers++] = (unsigned char)k;
    }
    // each "/..." is a module of one letter, or of a mixer and a feed-forward part
    model->mtp_layers = 0;
    *wanted = "with MTP modules of one letter, or of a mixer and a feed-forward part";
    for (const char *module = at; *module == '/' && module[1] != '\0';) {
        const int count = (int)strcspn(++module, "/");
        if (count < 1 || count > 2 || index_of(*module) == LETTERS ||
            (count == 2 && !(is_mixer(module[0]) && is_ffn(module[1]))))
            return PLAIT_OK;
        model->mtp_kind = kind_of(model, kind, full, module, count, arena);
        if (model->mtp_kind < 0)
            return PLAIT_OK;
        model->mtp_layers++;
        module += count;
    }
    model->kind = kind;
    model->layer_kind = layer_kind;
    if (model->mtp_layers == 0 && model->layers > 0)
        model->mtp_kind = layer_kind[model->layers - 1];
    *wanted = model->layers > 0 ? NULL : "of at least one letter";
    return PLAIT_OK;
}
