/*
 * model.c - writes models as MaxText's decoder blocks llama2, mixtral, qwen3 and qwen3_moe, and
 * reads them
 */
#include <stdio.h>
#include <string.h>

#include "launch/maxtext/maxtext.h"
#include "plait/model.h"

/*
 * Among the blocks with experts, only that of Qwen 3 has norms of q and k, and expert weights that
 * need not sum to one.
 */
static const char *block_of(const plait_model *model)
{
    const plait_layer *const layer = &model->kind[0];

    if (layer->ffn != PLAIT_FFN_MOE)
        return layer->attention.qk_norm ? "qwen3" : "llama2";
    return layer->attention.qk_norm || (model->numerics.router.score == PLAIT_ROUTER_SOFTMAX &&
                                        !model->numerics.router.normalised)
               ? "qwen3_moe"
               : "mixtral";
}

void maxtext_append_model(const plait_model *model, text_builder *out)
{
    const plait_layer *const layer = &model->kind[0];
    const plait_attention *const attention = &layer->attention;
    const bool experts = layer->ffn == PLAIT_FFN_MOE;
    char eps[TEXT_NUMBER_SIZE];

    text_append_printf(
        out,
        "decoder_block: \"%s\"\n"
        "base_emb_dim: %d\n"
        "base_num_decoder_layers: %d\n"
        "base_num_query_heads: %d\n"
        "base_num_kv_heads: %d\n"
        "head_dim: %d\n"
        "base_mlp_dim: %d\n"
        "mlp_activations: [\"silu\", \"linear\"]\n"
        "vocab_size: %d\n"
        "logits_via_embedding: %s\n"
        "normalize_embedding_logits: false\n"
        "normalization_layer_epsilon: %s\n"
        "use_qk_norm: %s\n"
        "enable_dropout: false\n",
        block_of(model), model->hidden, model->layers, attention->heads, attention->kv_heads,
        attention->head_dim, experts ? layer->moe.width : layer->mlp.width, model->vocab,
        model->tied ? "true" : "false",
        maxtext_real(model->numerics.norm_eps > 0.0 ? model->numerics.norm_eps : 1e-5, eps),
        attention->qk_norm ? "true" : "false");
    const plait_rope *const rope = &model->numerics.rope;

    text_append_printf(out, "rope_type: \"%s\"\n",
                       rope->kind == PLAIT_ROPE_LLAMA3 ? "llama3.1" : "default");
    text_append_printf(out, "rope_max_timescale: %.0f\n", rope->base >= 1.0 ? rope->base : 1e4);
    if (rope->kind == PLAIT_ROPE_LINEAR && rope->factor >= 1.0)
        text_append_printf(out, "rope_linear_scaling_factor: %g\n", rope->factor);
    if (experts) {
        const plait_moe *const moe = &model->kind[0].moe;
        const plait_router *const router = &model->numerics.router;
        char loss[TEXT_NUMBER_SIZE];
        text_append_printf(out,
                           "num_experts: %d\n"
                           "num_experts_per_tok: %d\n"
                           "base_moe_mlp_dim: %d\n"
                           "norm_topk_prob: %s\n",
                           moe->experts, moe->topk, moe->width,
                           router->score == PLAIT_ROUTER_SOFTMAX && !router->normalised ? "false"
                                                                                        : "true");
        if (router->aux_loss > 0.0)
            text_append_printf(out, "load_balance_loss_weight: %s\n",
                               maxtext_real(router->aux_loss, loss));
    }
}

static const yaml_leaf *given_leaf(const yaml_file *yaml, const char *key)
{
    const yaml_leaf *const leaf = yaml_find(yaml, key);

    return leaf != NULL && leaf->values > 0 ? leaf : NULL;
}

const char *maxtext_word(const yaml_file *yaml, const char *key, const char *otherwise)
{
    const yaml_leaf *const leaf = given_leaf(yaml, key);

    return leaf != NULL ? leaf->value[0] : otherwise;
}

bool maxtext_is_on(const yaml_file *yaml, const char *key)
{
    return strcmp(maxtext_word(yaml, key, ""), "true") == 0 ||
           strcmp(maxtext_word(yaml, key, ""), "True") == 0;
}

/* Copy a number without underscores: YAML 1.1 reads 10_000 as 10000. */
static bool without_underscores(const char *text, char *out, size_t size)
{
    size_t length = 0;

    for (; *text != '\0' && length + 1 < size; text++)
        if (*text != '_')
            out[length++] = *text;
    out[length] = '\0';
    return *text == '\0';
}

plait_status maxtext_int(const yaml_file *yaml, const char *key, int least, int most, int otherwise,
                         int *out, plait_error *err)
{
    const yaml_leaf *const leaf = given_leaf(yaml, key);
    char text[32], expected[64];

    *out = otherwise;
    if (leaf == NULL || (without_underscores(leaf->value[0], text, sizeof text) &&
                         text_parse_int(text, least, most, out)))
        return PLAIT_OK;
    snprintf(expected, sizeof expected, "an integer from %d to %d", least, most);
    return yaml_expected(yaml, leaf, expected, err);
}

plait_status maxtext_number(const yaml_file *yaml, const char *key, double otherwise, double *out,
                            plait_error *err)
{
    const yaml_leaf *const leaf = given_leaf(yaml, key);
    char text[32];

    *out = otherwise;
    if (leaf == NULL || (without_underscores(leaf->value[0], text, sizeof text) &&
                         text_parse_number(text, out) && *out >= 0.0 && *out < 1e15))
        return PLAIT_OK;
    return yaml_expected(yaml, leaf, "a number that is not negative", err);
}

enum { WIDTH = 1 << 20, HEADS = 1 << 14 };

/*
 * Factors by which global_parameter_scale, a power of two, multiplies each size (configs/types.py,
 * get_individual_scales).
 */
typedef struct scales {
    int heads, width, layers; /* factors of these sizes; an MLP's width has that of the heads */
} scales;

static plait_status read_attention(const yaml_file *yaml, int by, plait_attention *out,
                                   plait_error *err)
{
    int heads, kv_heads, width;

    PLAIT_TRY(maxtext_int(yaml, "base_num_query_heads", 1, HEADS, 16, &heads, err));
    PLAIT_TRY(maxtext_int(yaml, "base_num_kv_heads", 1, HEADS, 16, &kv_heads, err));
    PLAIT_TRY(maxtext_int(yaml, "head_dim", 1, HEADS, 128, &width, err));
    if (heads % kv_heads != 0)
        return yaml_expected(yaml, yaml_find(yaml, "base_num_kv_heads"),
                             "a base_num_kv_heads (16) that divides base_num_query_heads", err);
    *out = (plait_attention){
        .heads = heads * by,
        .kv_heads = kv_heads * by,
        .head_dim = width,
        .rotary = true,
        .qk_norm = maxtext_is_on(yaml, "use_qk_norm"),
    };
    return PLAIT_OK;
}

static plait_status read_numerics(const yaml_file *yaml, plait_numerics *out, plait_error *err)
{
    const bool llama = strcmp(maxtext_word(yaml, "rope_type", "default"), "llama3.1") == 0;
    double linear;

    out->activation = PLAIT_SILU;
    out->rope.kind = llama ? PLAIT_ROPE_LLAMA3 : PLAIT_ROPE_PLAIN;
    if (llama) {
        out->rope.factor = 8.0;
        out->rope.low_freq = 1.0;
        out->rope.high_freq = 4.0;
        out->rope.original_seq = 8192;
    }
    PLAIT_TRY(maxtext_number(yaml, "rope_linear_scaling_factor", 1.0, &linear, err));
    if (!llama && linear > 1.0) {
        out->rope.kind = PLAIT_ROPE_LINEAR;
        out->rope.factor = linear;
    }
    out->rope.fraction = 1.0;
    out->router.score = PLAIT_ROUTER_SOFTMAX;
    out->router.normalised = maxtext_is_on(yaml, "norm_topk_prob") ||
                             strcmp(maxtext_word(yaml, "decoder_block", ""), "mixtral") == 0;
    PLAIT_TRY(maxtext_number(yaml, "rope_max_timescale", 1e4, &out->rope.base, err));
    PLAIT_TRY(maxtext_number(yaml, "normalization_layer_epsilon", 1e-5, &out->norm_eps, err));
    return maxtext_number(yaml, "load_balance_loss_weight", 0.0, &out->router.aux_loss, err);
}

plait_status maxtext_read_model(const yaml_file *yaml, const char *name, plait_arena *arena,
                                const plait_model **out, plait_error *err)
{
    static const char *const blocks[] = {"llama2", "mixtral", "qwen3", "qwen3_moe", NULL};
    scales by = {1, 1, 1};
    int hidden, layers;

    *out = NULL;
    if (yaml_find(yaml, "base_emb_dim") == NULL ||
        text_index(maxtext_word(yaml, "decoder_block", "llama2"), blocks) < 0)
        return PLAIT_OK;
    plait_model *const model = plait_arena_alloc(arena, 1, sizeof *model);
    plait_layer *const layer = plait_arena_alloc(arena, 1, sizeof *layer);
    PLAIT_TRY(plait_check_allocated(model && layer, err));
    int scale, doubled = 0;
    PLAIT_TRY(maxtext_int(yaml, "global_parameter_scale", 1, 1 << 15, 1, &scale, err));
    if ((scale & (scale - 1)) != 0)
        return yaml_expected(yaml, yaml_find(yaml, "global_parameter_scale"), "a power of two",
                             err);
    while (scale >> doubled > 1)
        doubled++;
    by = (scales){1 << (doubled / 3 + (doubled % 3 > 0)), 1 << (doubled / 3 + (doubled % 3 > 1)),
                  1 << doubled / 3};
    PLAIT_TRY(maxtext_int(yaml, "base_emb_dim", 1, WIDTH, 2048, &hidden, err));
    PLAIT_TRY(maxtext_int(yaml, "base_num_decoder_layers", 1, PLAIT_MAX_LAYERS / by.layers, 16,
                          &layers, err));
    *layer = (plait_layer){.name = "decoder", .norms = 2, .mixer = PLAIT_MIXER_ATTENTION};
    PLAIT_TRY(read_attention(yaml, by.heads, &layer->attention, err));
    int width, experts, topk, expert_width;
    PLAIT_TRY(maxtext_int(yaml, "base_mlp_dim", 1, WIDTH, 7168, &width, err));
    PLAIT_TRY(maxtext_int(yaml, "num_experts", 1, 1 << 12, 1, &experts, err));
    PLAIT_TRY(maxtext_int(yaml, "num_experts_per_tok", 1, experts, 1, &topk, err));
    PLAIT_TRY(maxtext_int(yaml, "base_moe_mlp_dim", -1, WIDTH, -1, &expert_width, err));
    layer->ffn = experts > 1 ? PLAIT_FFN_MOE : PLAIT_FFN_MLP;
    if (experts > 1)
        layer->moe = (plait_moe){.experts = experts,
                                 .topk = topk,
                                 .width = (expert_width > 0 ? expert_width : width) * by.heads,
                                 .gated = true};
    else
        layer->mlp = (plait_mlp){.width = width * by.heads, .gated = true};
    *model = (plait_model){.name = name,
                           .family = "",
                           .source = "a configuration of MaxText",
                           .hidden = hidden * by.width,
                           .layers = layers * by.layers,
                           .kinds = 1,
                           .kind = layer,
                           .tied = maxtext_is_on(yaml, "logits_via_embedding")};
    PLAIT_TRY(maxtext_int(yaml, "vocab_size", 1, 1 << 24, 32000, &model->vocab, err));
    PLAIT_TRY(read_numerics(yaml, &model->numerics, err));
    unsigned char *const kinds = plait_arena_alloc(arena, (size_t)model->layers, sizeof *kinds);
    PLAIT_TRY(plait_check_allocated(kinds, err));
    memset(kinds, 0, (size_t)model->layers);
    model->layer_kind = kinds;
    *out = model;
    return PLAIT_OK;
}
