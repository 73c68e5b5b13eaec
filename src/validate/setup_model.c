/* setup_model.c - the model of a row: from its columns, or a model file with the row's depth */
#include <stdio.h>
#include <string.h>

#include "validate/setup.h"

/* ---- models that need a model file ---- */

/*
 * These families have latent attention, windows or dense first layers, which no column describes.
 */
static bool needs_model_file(const plait_run *run, const char *name)
{
    static const char *const families[] = {"deepseek", "kimi",    "qwen3", "gpt-oss",
                                           "grok",     "llama-4", NULL};

    if (run->experts <= 1)
        return false;
    for (const char *const *family = families; *family != NULL; family++)
        if (text_starts_with(name, *family))
            return true;
    return false;
}

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
 * Changes the depth of a model but keeps its pattern: `dense` dense layers first, then the model's
 * other layers in order, repeated as needed.
 */
static plait_status cut_layers(const plait_model *whole, int layers, int dense, plait_arena *arena,
                               plait_model *out, plait_error *err)
{
    unsigned char *kind = plait_arena_alloc(arena, (size_t)layers, sizeof *kind);
    const int front = count_dense(whole);
    const int rest = whole->layers - front;

    PLAIT_TRY(plait_check_allocated(kind, err));
    for (int i = 0; i < layers; i++)
        kind[i] = whole->layer_kind[i < dense ? 0 : front + (i - dense) % rest];
    out->layers = layers;
    out->layer_kind = kind;
    return PLAIT_OK;
}

/* Sets *out to the number of dense first layers: the model's, or N of `dense-layers=N`. */
static plait_status dense_layers(const setup *at, const plait_model *whole, int layers, int *out,
                                 plait_error *err)
{
    const int front = count_dense(whole);
    char text[24];

    *out = front < layers ? front : layers;
    if (setup_value(at->run, "dense-layers", text, sizeof text) == NULL)
        return PLAIT_OK;
    if (!text_parse_int(text, 0, layers, out) || (front == 0 && *out > 0))
        return plait_fail(err, PLAIT_ERROR_RANGE, "notes",
                          "expected dense-layers up to %d, found \"%.20s\"", front > 0 ? layers : 0,
                          text);
    return PLAIT_OK;
}

static plait_status cut_named(setup *at, const plait_model *whole, plait_model *out,
                              plait_error *err)
{
    const int layers = at->run->layers > 0 ? at->run->layers : whole->layers;
    int dense;

    *out = *whole;
    if (setup_has_word(at->run, "no-mtp"))
        out->mtp_layers = 0;
    PLAIT_TRY(dense_layers(at, whole, layers, &dense, err));
    if (layers == whole->layers && dense == count_dense(whole))
        return PLAIT_OK;
    setup_note(at, "%s with %d layers", whole->name, layers);
    return cut_layers(whole, layers, dense, at->arena, out, err);
}

/*
 * Finds the row's model file. *found is false if there is none, and the columns describe the model.
 */
static plait_status find_named(setup *at, plait_model *out, bool *found, plait_error *err)
{
    const plait_model *whole;
    const char *file;
    char name[128];

    *found = false;
    lower_case(at->run->model, name, sizeof name);
    if (!needs_model_file(at->run, name))
        return PLAIT_OK;
    PLAIT_TRY(library_model_name(at->shelf, name, &file, err));
    if (file == NULL) {
        setup_note(at, "no model file for \"%.60s\", model built from the columns", name);
        return PLAIT_OK;
    }
    PLAIT_TRY(library_model(at->shelf, file, &whole, err));
    if (at->run->hidden > 0 && at->run->hidden != whole->hidden) {
        setup_note(at, "hidden differs from the model file of %s, model built from the columns",
                   whole->name);
        return PLAIT_OK;
    }
    *found = true;
    return cut_named(at, whole, out, err);
}

/* ---- models from columns ---- */

static plait_status need_number(int number, const char *title, plait_error *err)
{
    if (number > 0)
        return PLAIT_OK;
    return plait_fail(err, PLAIT_ERROR_SCHEMA, title, "expected a number, found nothing");
}

/* Returns the vocab_size of a family's Hugging Face config, for tables without it; 0: unknown. */
static int vocab_of_name(const char *name)
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

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (text_starts_with(name, known[i].family))
            return known[i].vocab;
    return 0;
}

static plait_status find_vocab(setup *at, int *vocab, plait_error *err)
{
    char name[128];

    *vocab = at->run->vocab;
    if (*vocab > 0)
        return PLAIT_OK;
    lower_case(at->run->model, name, sizeof name);
    *vocab = vocab_of_name(name);
    setup_note(at, "vocab not given, assumed %d", *vocab);
    return need_number(*vocab, "vocab", err);
}

static plait_status check_columns(const plait_run *run, plait_error *err)
{
    PLAIT_TRY(need_number(run->layers, "layers", err));
    PLAIT_TRY(need_number(run->hidden, "hidden", err));
    PLAIT_TRY(need_number(run->heads, "heads", err));
    if (run->head_dim == 0 && run->hidden % run->heads != 0)
        return plait_fail(
            err, PLAIT_ERROR_RANGE, "head_dim",
            "expected a number because %d heads do not divide hidden %d, found nothing", run->heads,
            run->hidden);
    return PLAIT_OK;
}

static int ffn_width(const plait_run *run)
{
    return run->ffn_hidden > 0 ? run->ffn_hidden : 4 * run->hidden;
}

/* Layers with gelu follow GPT-2: LayerNorm, biases and learned positions. The others have none. */
static plait_layer layer_of(const plait_run *run)
{
    const bool gpt = run->mlp == PLAIT_RUN_GELU;
    const bool gated = run->mlp == PLAIT_RUN_SWIGLU;
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
                                .width = run->moe_ffn > 0 ? run->moe_ffn : ffn_width(run),
                                .gated = gated};
    } else {
        layer.ffn = PLAIT_FFN_MLP;
        layer.mlp = (plait_mlp){.width = ffn_width(run), .gated = gated, .bias = gpt};
    }
    return layer;
}

static bool is_tied(const plait_run *run)
{
    if (setup_has_word(run, "untied"))
        return false;
    return run->mlp == PLAIT_RUN_GELU || setup_has_word(run, "tied");
}

/*
 * Models with layers like GPT-2's usually have dropout. The recipes of MosaicML, NVIDIA NeMo and
 * Paxml for such models set it to 0 (llm-foundry's yamls, NeMo's GPTConfig175B).
 */
static bool has_dropout(const plait_run *run)
{
    return run->mlp == PLAIT_RUN_GELU && strstr(run->framework, "llm-foundry") == NULL &&
           !text_starts_with(run->framework, "NeMo") && !text_starts_with(run->framework, "Paxml");
}

static plait_status build_model(setup *at, plait_model *out, plait_error *err)
{
    const plait_run *const run = at->run;
    const bool gpt = run->mlp == PLAIT_RUN_GELU;
    plait_layer *layer = plait_arena_alloc(at->arena, 1, sizeof *layer);
    unsigned char *kind;
    int vocab;

    PLAIT_TRY(check_columns(run, err));
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
        .tied = is_tied(run),
        .dropout = has_dropout(run),
        .learned_positions = gpt ? run->seq_len : 0,
    };
    return PLAIT_OK;
}

plait_status setup_model(setup *at, const plait_model **out, plait_error *err)
{
    plait_model *model = plait_arena_alloc(at->arena, 1, sizeof *model);
    bool named;

    PLAIT_TRY(plait_check_allocated(model, err));
    PLAIT_TRY(find_named(at, model, &named, err));
    if (!named)
        PLAIT_TRY(build_model(at, model, err));
    *out = model;
    return PLAIT_OK;
}
