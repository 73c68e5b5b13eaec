/* setup_model.c - the model of a row, from its columns or from a model file with the row's depth */
#include <string.h>

#include "plait/data.h"
#include "validate/setup.h"

/* ---- model files ---- */

static void lower_case(const char *text, char *out, size_t size)
{
    size_t i = 0;

    for (; text[i] != '\0' && i + 1 < size; i++)
        out[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] - 'A' + 'a') : text[i];
    out[i] = '\0';
}

static int count_dense(const plait_model *model)
{
    int dense = 0;

    while (dense < model->layers && model->kind[model->layer_kind[dense]].ffn != PLAIT_FFN_MOE)
        dense++;
    return dense < model->layers ? dense : 0;
}

/*
 * Sets *out to a model with the row's depth and the layer pattern of the model file. Its dense
 * layers come first: as many as in the file, or N if the row's notes contain `dense-layers=N`. The
 * file's other layers follow in order and repeat as needed.
 */
static plait_status cut_model(setup *at, const plait_model *whole, plait_model *out,
                              plait_error *err)
{
    const int layers = at->run->layers > 0 ? at->run->layers : whole->layers;
    const int front = count_dense(whole), rest = whole->layers - front;
    int dense = front < layers ? front : layers;
    unsigned char *kind;
    char text[24];

    *out = *whole;
    if (setup_has_word(at->run, "no-mtp"))
        out->mtp_layers = 0;
    if (setup_value(at->run, "dense-layers", text, sizeof text) &&
        (!text_parse_int(text, 0, layers, &dense) || (front == 0 && dense > 0)))
        return plait_fail(err, PLAIT_ERROR_RANGE, "notes",
                          "expected dense-layers up to %d, found \"%.20s\"", front > 0 ? layers : 0,
                          text);
    if (layers == whole->layers && dense == front)
        return PLAIT_OK;
    setup_note(at, "%s with %d layers", whole->name, layers);
    kind = plait_arena_alloc(at->arena, (size_t)layers, sizeof *kind);
    PLAIT_TRY(plait_check_allocated(kind, err));
    for (int i = 0; i < layers; i++)
        kind[i] = whole->layer_kind[i < dense ? 0 : front + (i - dense) % rest];
    out->layers = layers;
    out->layer_kind = kind;
    return PLAIT_OK;
}

/*
 * Sets *out to the longest model name that equals `name` or is a prefix of `name` that a '-'
 * follows; NULL: none.
 */
static plait_status find_model_name(library *shelf, const char *name, const char **out,
                                    plait_error *err)
{
    size_t count, longest = 0;

    *out = NULL;
    if (shelf->models == NULL)
        PLAIT_TRY(plait_data_list(PLAIT_DATA_MODELS, shelf->arena, &shelf->models, &count, err));
    for (const char *const *known = shelf->models; *known != NULL; known++) {
        const size_t length = strlen(*known);

        if (length > longest && strncmp(name, *known, length) == 0 &&
            (name[length] == '\0' || name[length] == '-')) {
            longest = length;
            *out = *known;
        }
    }
    return PLAIT_OK;
}

/*
 * Finds the row's model file. If there is none, sets *found to false; the row's columns then
 * describe the model.
 */
static plait_status find_model(setup *at, plait_model *out, bool *found, plait_error *err)
{
    // These families have features that no column describes: latent attention, windows, or dense
    // first layers.
    static const char *const families[] = {"deepseek", "kimi",    "qwen3",      "gpt-oss",
                                           "grok",     "llama-4", "nemotron-3", NULL};
    const char *const *family = families;
    const plait_model *whole;
    const char *file;
    char name[128];

    *found = false;
    lower_case(at->run->model, name, sizeof name);
    while (*family != NULL && !text_starts_with(name, *family))
        family++;
    if (at->run->experts <= 1 || *family == NULL)
        return PLAIT_OK;
    PLAIT_TRY(find_model_name(at->shelf, name, &file, err));
    if (file == NULL) {
        setup_note(at, "no model file for \"%.60s\", model built from the columns", name);
        return PLAIT_OK;
    }
    whole = library_find(at->shelf, LIBRARY_MODEL, file, err);
    if (whole == NULL)
        return err->status;
    if (at->run->hidden > 0 && at->run->hidden != whole->hidden) {
        setup_note(at, "hidden differs from the model file of %s, model built from the columns",
                   whole->name);
        return PLAIT_OK;
    }
    *found = true;
    return cut_model(at, whole, out, err);
}

/* ---- models from columns ---- */

/* Sets *vocab to the row's value, or to the vocab_size of the family's Hugging Face config. */
static plait_status find_vocab(setup *at, int *vocab, plait_error *err)
{
    static const struct {
        const char *family;
        int vocab;
    } known[] = {
        {"aquila", 100008},   {"baichuan2", 125696}, {"baichuan", 64000}, {"bloom", 250880},
        {"codellama", 32000}, {"gpt3", 50257},       {"llama3", 128256},  {"llama-3", 128256},
        {"llama2", 32000},    {"llama", 32000},      {"mistral", 32000},  {"qwen-7b", 151936},
        {"qwen-14b", 152064}, {"qwen", 152064},      {"yi", 64000},
    };
    char name[128];

    *vocab = at->run->vocab;
    if (*vocab > 0)
        return PLAIT_OK;
    lower_case(at->run->model, name, sizeof name);
    for (size_t i = 0; *vocab == 0 && i < sizeof known / sizeof *known; i++)
        if (text_starts_with(name, known[i].family))
            *vocab = known[i].vocab;
    setup_note(at, "vocab not given, assumed %d", *vocab);
    return setup_need(*vocab, "vocab", err);
}

/*
 * Returns the layer that a row's columns describe. A layer with gelu has GPT-2's LayerNorm, biases
 * and learned positions; other layers have none of these.
 */
static plait_layer layer_of(const plait_run *run)
{
    const bool gpt = run->mlp == PLAIT_RUN_GELU;
    const bool gated = run->mlp == PLAIT_RUN_SWIGLU;
    const int width = run->ffn_hidden > 0 ? run->ffn_hidden : 4 * run->hidden;
    plait_layer layer = {
        .name = "layer",
        .norms = 2,
        .mixer = PLAIT_MIXER_ATTENTION,
        .attention = {.heads = run->heads,
                      .kv_heads = run->kv_heads > 0 ? run->kv_heads : run->heads,
                      .head_dim = run->head_dim > 0 ? run->head_dim : run->hidden / run->heads,
                      .qkv_bias = gpt,
                      .out_bias = gpt,
                      .rotary = !gpt},
    };

    if (run->experts > 1) {
        layer.ffn = PLAIT_FFN_MOE;
        layer.moe = (plait_moe){.experts = run->experts,
                                .topk = run->topk > 0 ? run->topk : 1,
                                .width = run->moe_ffn > 0 ? run->moe_ffn : width,
                                .gated = gated};
    } else {
        layer.ffn = PLAIT_FFN_MLP;
        layer.mlp = (plait_mlp){.width = width, .gated = gated, .bias = gpt};
    }
    return layer;
}

static plait_status build_model(setup *at, plait_model *out, plait_error *err)
{
    const plait_run *const run = at->run;
    const bool gpt = run->mlp == PLAIT_RUN_GELU;
    // Models with layers like GPT-2's usually have dropout. The recipes of MosaicML, NVIDIA NeMo
    // and Paxml for such models set it to 0 (llm-foundry's yamls, NeMo's GPTConfig175B).
    const bool dropout = gpt && strstr(run->framework, "llm-foundry") == NULL &&
                         !text_starts_with(run->framework, "NeMo") &&
                         !text_starts_with(run->framework, "Paxml");
    plait_layer *layer = plait_arena_alloc(at->arena, 1, sizeof *layer);
    unsigned char *kind;
    int vocab;

    PLAIT_TRY(setup_need(run->layers, "layers", err));
    PLAIT_TRY(setup_need(run->hidden, "hidden", err));
    PLAIT_TRY(setup_need(run->heads, "heads", err));
    if (run->head_dim == 0 && run->hidden % run->heads != 0)
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "head_dim",
            "expected a number because %d heads do not divide hidden %d, found nothing", run->heads,
            run->hidden);
    PLAIT_TRY(find_vocab(at, &vocab, err));
    kind = plait_arena_alloc(at->arena, (size_t)run->layers, sizeof *kind);
    PLAIT_TRY(plait_check_allocated(layer && kind, err));
    *layer = layer_of(run);
    *out = (plait_model){
        .name = run->model,
        .family = "",
        .source = run->source,
        .hidden = run->hidden,
        .vocab = vocab,
        .layers = run->layers,
        .kinds = 1,
        .kind = layer,
        .layer_kind = kind,
        .layer_norm = gpt,
        .tied = !setup_has_word(run, "untied") && (gpt || setup_has_word(run, "tied")),
        .dropout = dropout,
        .learned_positions = gpt ? run->seq_len : 0,
    };
    return PLAIT_OK;
}

plait_status setup_model(setup *at, const plait_model **out, plait_error *err)
{
    plait_model *model = plait_arena_alloc(at->arena, 1, sizeof *model);
    bool named;

    if (at->run->described != NULL) {
        *out = at->run->described;
        return PLAIT_OK;
    }
    PLAIT_TRY(plait_check_allocated(model, err));
    PLAIT_TRY(find_model(at, model, &named, err));
    if (!named)
        PLAIT_TRY(build_model(at, model, err));
    *out = model;
    return PLAIT_OK;
}
