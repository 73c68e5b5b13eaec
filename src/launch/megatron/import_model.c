/*
 * import_model.c - the model out of Megatron-LM's arguments
 *
 * Megatron has one shape of each part and lists that say which layer has which part, so a kind of
 * layer is a set of switches: window, experts, rotary positions, linear attention.
 */
#include "import_parts.h"

#include <string.h>

#include "pattern.h"
#include "text.h"

enum { HAS_WINDOW = 1, HAS_EXPERTS = 2, HAS_NO_ROTARY = 4, IS_LINEAR = 8, LAYER_SETS = 16 };

typedef struct model_reader {
    const launch_flags *flags;
    plait_model *model;
    plait_layer full; /* a layer with every part; kinds take what they have of it */
    unsigned char set[PLAIT_MAX_LAYERS];
} model_reader;

/* ---- whole numbers with Megatron's own defaults ---- */

typedef struct int_flag {
    const char *name;
    int most;
    int *out;
} int_flag;

static plait_status read_ints(const launch_flags *flags, const int_flag *list, plait_error *err)
{
    for (; list->name != NULL; list++)
        PLAIT_TRY(flags_int(flags, list->name, 0, list->most, list->out, err));
    return PLAIT_OK;
}

static plait_status read_sizes(model_reader *in, plait_error *err)
{
    plait_model *const model = in->model;
    int padded = 0, positions = 0;
    const int_flag list[] = {
        {"num_layers", PLAIT_MAX_LAYERS, &model->layers},
        {"hidden_size", 1 << 20, &model->hidden},
        {"padded_vocab_size", 1 << 24, &padded},
        {"vocab_size", 1 << 24, &model->vocab},
        {"max_position_embeddings", 1 << 26, &positions},
        {"mtp_num_layers", 64, &model->mtp_layers},
        {NULL, 0, NULL},
    };

    PLAIT_TRY(read_ints(in->flags, list, err));
    if (model->vocab == 0)
        model->vocab = padded;
    model->tied = !flags_on(in->flags, "untie_embeddings_and_output_weights", false);
    model->max_seq = positions;
    return PLAIT_OK;
}

/* ---- mixers ---- */

static plait_status read_mla(const launch_flags *flags, int heads, plait_mla *out, plait_error *err)
{
    *out = (plait_mla){heads, 0, 32, 128, 64, 128, 0, 0, 0};
    const int_flag list[] = {
        {"q_lora_rank", 1 << 20, &out->q_rank},
        {"kv_lora_rank", 1 << 20, &out->kv_rank},
        {"qk_head_dim", 1 << 14, &out->nope_dim},
        {"qk_pos_emb_head_dim", 1 << 14, &out->rope_dim},
        {"v_head_dim", 1 << 14, &out->v_dim},
        {"dsa_indexer_n_heads", 1 << 15, &out->index_heads},
        {"dsa_indexer_head_dim", 1 << 14, &out->index_dim},
        {"dsa_indexer_topk", 1 << 30, &out->index_topk},
        {NULL, 0, NULL},
    };

    return read_ints(flags, list, err);
}

/* Of a window "127,0" a query sees 127 tokens before its own; JSON has a list of two. */
static plait_status read_window(const launch_flags *flags, int *out, plait_error *err)
{
    const launch_flag *const flag = flags_find(flags, "window_size");
    char text[32] = "";
    int before;

    if (flag == NULL)
        return PLAIT_OK;
    if (strlen(flag->value[0]) < sizeof text)
        strcpy(text, flag->value[0][0] == '(' ? flag->value[0] + 1 : flag->value[0]);
    text[strcspn(text, ",)")] = '\0';
    if (!text_parse_int(text, 0, 1 << 30, &before))
        return flags_fail(flags, "window_size", err,
                          "expected a window such as 127,0, found \"%.40s\"", flag->value[0]);
    *out = before + 1;
    return PLAIT_OK;
}

static plait_status read_attention(const launch_flags *flags, int hidden, int heads,
                                   plait_attention *out, plait_error *err)
{
    const char *const positions = flags_word(flags, "position_embedding_type", "learned_absolute");
    int groups = 1;

    *out = (plait_attention){
        .heads = heads,
        .kv_heads = heads,
        .head_dim = hidden / heads,
        .rotary = strcmp(positions, "rope") == 0 || strcmp(positions, "yarn") == 0 ||
                  strcmp(positions, "mrope") == 0,
        .gate = flags_on(flags, "attention_output_gate", false),
        .sinks = strcmp(flags_word(flags, "softmax_type", "vanilla"), "learnable") == 0,
        .out_bias = flags_on(flags, "add_bias_linear", true)};
    out->qkv_bias = out->out_bias || flags_on(flags, "add_qkv_bias", false);
    out->qk_norm = flags_on(flags, "qk_layernorm", false) || flags_on(flags, "qk_l2_norm", false);
    PLAIT_TRY(flags_int(flags, "kv_channels", 1, 1 << 14, &out->head_dim, err));
    PLAIT_TRY(flags_int(flags, "num_query_groups", 1, heads, &groups, err));
    if (flags_on(flags, "group_query_attention", false))
        out->kv_heads = groups;
    return read_window(flags, &out->window, err);
}

static plait_status read_delta_net(const launch_flags *flags, plait_delta_net *out,
                                   plait_error *err)
{
    *out = (plait_delta_net){16, 32, 128, 128, 4};
    const int_flag list[] = {
        {"linear_num_key_heads", 1 << 15, &out->key_heads},
        {"linear_num_value_heads", 1 << 15, &out->value_heads},
        {"linear_key_head_dim", 1 << 14, &out->key_dim},
        {"linear_value_head_dim", 1 << 14, &out->value_dim},
        {"linear_conv_kernel_dim", 1 << 10, &out->conv},
        {NULL, 0, NULL},
    };

    return read_ints(flags, list, err);
}

static plait_status read_mixers(model_reader *in, plait_error *err)
{
    const launch_flags *const flags = in->flags;
    int heads = 0;

    PLAIT_TRY(flags_int(flags, "num_attention_heads", 1, 1 << 15, &heads, err));
    if (heads == 0)
        return PLAIT_OK;
    in->full.mixer = PLAIT_MIXER_ATTENTION;
    PLAIT_TRY(read_attention(flags, in->model->hidden, heads, &in->full.attention, err));
    PLAIT_TRY(read_delta_net(flags, &in->full.delta_net, err));
    if (!flags_on(flags, "multi_latent_attention", false))
        return PLAIT_OK;
    in->full.mixer = PLAIT_MIXER_MLA;
    return read_mla(flags, heads, &in->full.mla, err);
}

/* ---- feed-forward parts ---- */

/* SwiGLU without a width keeps two thirds of 4 h, in steps of 64. */
static int usual_width(int hidden, bool gated)
{
    return gated ? (int)(4.0 * hidden * 2 / 3 / 64) * 64 : 4 * hidden;
}

static plait_status read_ffn(model_reader *in, plait_error *err)
{
    const launch_flags *const flags = in->flags;
    plait_mlp *const mlp = &in->full.mlp;
    plait_moe *const moe = &in->full.moe;
    const int_flag list[] = {
        {"num_experts", 1 << 16, &moe->experts},
        {"moe_router_topk", 1 << 16, &moe->topk},
        {"moe_ffn_hidden_size", 1 << 24, &moe->width},
        {"moe_shared_expert_intermediate_size", 1 << 24, &moe->shared_width},
        {"moe_router_num_groups", 1 << 16, &moe->groups},
        {"moe_router_group_topk", 1 << 16, &moe->group_topk},
        {NULL, 0, NULL},
    };

    mlp->gated = flags_on(flags, "swiglu", false) || flags_on(flags, "quick_geglu", false);
    mlp->bias = flags_on(flags, "add_bias_linear", true);
    mlp->width = usual_width(in->model->hidden, mlp->gated);
    PLAIT_TRY(flags_int(flags, "ffn_hidden_size", 1, 1 << 24, &mlp->width, err));
    *moe = (plait_moe){.topk = 2, .width = mlp->width, .gated = mlp->gated, .bias = mlp->bias};
    PLAIT_TRY(read_ints(flags, list, err));
    moe->router_bias = moe->bias || flags_on(flags, "moe_router_enable_expert_bias", false);
    moe->shared_gate = flags_on(flags, "moe_shared_expert_gate", false);
    if (moe->topk < 1 || moe->topk > (moe->experts > 0 ? moe->experts : moe->topk))
        return flags_fail(flags, "moe_router_topk", err, "expected 1 to %d experts, found %d",
                          moe->experts, moe->topk);
    return PLAIT_OK;
}

/* ---- which layer has which part ---- */

/* What an int N stands for: of every N layers these have the switch on. */
typedef enum switch_period { ON_AT_FIRST, ON_BUT_LAST, ON_AT_LAST } switch_period;

static bool on_in_period(switch_period where, int layer, int period)
{
    const int at = layer % period;

    return where == ON_AT_FIRST ? at == 0 : (at == period - 1) == (where == ON_AT_LAST);
}

static plait_status read_switches(model_reader *in, const char *name, int bit, switch_period where,
                                  bool absent, plait_error *err)
{
    const launch_flag *const flag = flags_find(in->flags, name);
    const int layers = in->model->layers;
    unsigned char on[PLAIT_MAX_LAYERS];
    int period;

    memset(on, absent, sizeof on);
    if (flag != NULL && flag->values == layers && layers > 1) {
        for (int i = 0; i < layers; i++)
            on[i] = strcmp(flag->value[i], "0") != 0;
    } else if (flag != NULL && text_parse_int(flag->value[0], 1, PLAIT_MAX_LAYERS, &period)) {
        for (int i = 0; i < layers; i++)
            on[i] = on_in_period(where, i, period);
    } else if (flag != NULL && !pattern_read(flag->value[0], layers, on)) {
        return flags_fail(in->flags, name, err,
                          "expected a number or a pattern of %d layers, found \"%.60s\"", layers,
                          flag->value[0]);
    }
    for (int i = 0; i < layers; i++)
        in->set[i] |= (unsigned char)(on[i] ? bit : 0);
    return PLAIT_OK;
}

static plait_status read_sets(model_reader *in, plait_error *err)
{
    const char *const variant = flags_word(in->flags, "experimental_attention_variant", "");
    const bool linear = strcmp(variant, "gated_delta_net") == 0 || strcmp(variant, "gdn") == 0;

    PLAIT_TRY(read_switches(in, "moe_layer_freq", HAS_EXPERTS, ON_AT_FIRST, true, err));
    PLAIT_TRY(read_switches(in, "window_attn_skip_freq", HAS_WINDOW, ON_BUT_LAST, true, err));
    PLAIT_TRY(read_switches(in, "no_rope_freq", HAS_NO_ROTARY, ON_AT_LAST, false, err));
    PLAIT_TRY(read_switches(in, "linear_attention_freq", IS_LINEAR, ON_BUT_LAST, false, err));
    for (int i = 0; i < in->model->layers; i++) {
        if (in->full.moe.experts == 0)
            in->set[i] &= (unsigned char)~HAS_EXPERTS;
        if (in->full.attention.window == 0)
            in->set[i] &= (unsigned char)~HAS_WINDOW;
        if (!linear)
            in->set[i] &= (unsigned char)~IS_LINEAR;
        if ((in->set[i] & IS_LINEAR) || !in->full.attention.rotary)
            in->set[i] &= (unsigned char)~(HAS_WINDOW | HAS_NO_ROTARY);
        if ((in->set[i] & HAS_WINDOW) && (in->set[i] & HAS_NO_ROTARY))
            return flags_fail(in->flags, "no_rope_freq", err,
                              "expected windowed layers with rotary positions, found layer %d "
                              "without",
                              i);
    }
    return PLAIT_OK;
}

/* "sliding-moe", "no-rotary-dense": what its switches say. */
static const char *set_name(int set, plait_arena *arena)
{
    return plait_arena_printf(arena, "%s%s%s", set & IS_LINEAR ? "linear-" : "",
                              set & HAS_WINDOW      ? "sliding-"
                              : set & HAS_NO_ROTARY ? "no-rotary-"
                                                    : "",
                              set & HAS_EXPERTS ? "moe" : "dense");
}

static plait_layer layer_of(const model_reader *in, int set)
{
    plait_layer layer = {.norms = 2, .mixer = in->full.mixer};

    if (set & IS_LINEAR) {
        layer.mixer = PLAIT_MIXER_DELTA_NET;
        layer.delta_net = in->full.delta_net;
    } else if (layer.mixer == PLAIT_MIXER_MLA) {
        layer.mla = in->full.mla;
    } else {
        layer.attention = in->full.attention;
        layer.attention.window = set & HAS_WINDOW ? in->full.attention.window : 0;
        layer.attention.rotary = in->full.attention.rotary && !(set & HAS_NO_ROTARY);
        if (!layer.attention.rotary && flags_on(in->flags, "qk_l2_norm", false))
            layer.attention.qk_norm = false;
    }
    layer.ffn = set & HAS_EXPERTS ? PLAIT_FFN_MOE : PLAIT_FFN_MLP;
    if (layer.ffn == PLAIT_FFN_MOE)
        layer.moe = in->full.moe;
    else
        layer.mlp = in->full.mlp;
    return layer;
}

static plait_status make_kinds(model_reader *in, plait_error *err)
{
    plait_model *const model = in->model;
    plait_layer *kind = plait_arena_alloc(in->flags->arena, LAYER_SETS, sizeof *kind);
    unsigned char *layer_kind =
        plait_arena_alloc(in->flags->arena, (size_t)model->layers, sizeof *layer_kind);
    int known[LAYER_SETS] = {0}; /* index + 1 */

    if (kind == NULL || layer_kind == NULL)
        return plait_fail_nomem(err);
    for (int i = 0; i < model->layers; i++) {
        const int set = in->set[i];

        if (known[set] == 0) {
            kind[model->kinds] = layer_of(in, set);
            kind[model->kinds].name = set_name(set, in->flags->arena);
            if (kind[model->kinds].name == NULL)
                return plait_fail_nomem(err);
            known[set] = ++model->kinds;
        }
        layer_kind[i] = (unsigned char)(known[set] - 1);
    }
    model->kind = kind;
    model->layer_kind = layer_kind;
    model->mtp_kind = layer_kind[model->layers - 1];
    return PLAIT_OK;
}

/* ---- numbers inside ---- */

static plait_status read_rope(const launch_flags *flags, bool mla, plait_rope *out,
                              plait_error *err)
{
    const char *const positions = flags_word(flags, "position_embedding_type", "learned_absolute");
    const char *const type = flags_word(flags, "rope_type", mla ? "yarn" : "rope");

    out->base = 10000.0;
    out->fraction = 1.0;
    PLAIT_TRY(flags_number(flags, "rotary_base", &out->base, err));
    PLAIT_TRY(flags_number(flags, "rotary_percent", &out->fraction, err));
    out->interleaved = flags_on(flags, "rotary_interleaved", false);
    if (flags_on(flags, "use_rope_scaling", false)) {
        out->kind = PLAIT_ROPE_LLAMA3;
        out->factor = 8.0;
        return flags_number(flags, "rope_scaling_factor", &out->factor, err);
    }
    if (strcmp(positions, "yarn") == 0 || (mla && strcmp(type, "yarn") == 0)) {
        out->kind = PLAIT_ROPE_YARN;
        PLAIT_TRY(flags_number(flags, "rotary_scaling_factor", &out->factor, err));
        PLAIT_TRY(flags_number(flags, "mscale", &out->mscale, err));
        PLAIT_TRY(flags_number(flags, "yarn_beta_fast", &out->beta_fast, err));
        PLAIT_TRY(flags_number(flags, "yarn_beta_slow", &out->beta_slow, err));
        PLAIT_TRY(flags_int(flags, "yarn_original_max_position_embeddings", 0, 1 << 30,
                            &out->original_seq, err));
        return flags_number(flags, "mscale_all_dim", &out->mscale_all_dim, err);
    }
    if (flags_has(flags, "rotary_seq_len_interpolation_factor")) {
        out->kind = PLAIT_ROPE_LINEAR;
        return flags_number(flags, "rotary_seq_len_interpolation_factor", &out->factor, err);
    }
    return PLAIT_OK;
}

static plait_status read_router(const launch_flags *flags, plait_router *out, plait_error *err)
{
    const bool sigmoid =
        strcmp(flags_word(flags, "moe_router_score_function", "softmax"), "sigmoid") == 0;

    out->score = sigmoid ? PLAIT_ROUTER_SIGMOID : PLAIT_ROUTER_SOFTMAX;
    out->normalised = sigmoid ? !flags_on(flags, "moe_apply_probs_on_input", false)
                              : !flags_on(flags, "moe_router_pre_softmax", false);
    out->correction_bias = flags_on(flags, "moe_router_enable_expert_bias", false);
    PLAIT_TRY(flags_number(flags, "moe_router_topk_scaling_factor", &out->scale, err));
    return flags_number(flags, "moe_aux_loss_coeff", &out->aux_loss, err);
}

static plait_status read_numerics(model_reader *in, plait_error *err)
{
    const launch_flags *const flags = in->flags;
    plait_numerics *const n = &in->model->numerics;
    double dropout = 0.1;

    in->model->layer_norm = strcmp(flags_word(flags, "normalization", "LayerNorm"), "RMSNorm") != 0;
    n->activation = flags_on(flags, "quick_geglu", false)    ? PLAIT_CLAMPED_SWIGLU
                    : flags_on(flags, "swiglu", false)       ? PLAIT_SILU
                    : flags_on(flags, "squared_relu", false) ? PLAIT_RELU2
                                                             : PLAIT_GELU;
    n->norm_eps = 1e-5;
    n->init_std = 0.02;
    n->qk_l2_norm = flags_on(flags, "qk_l2_norm", false);
    PLAIT_TRY(flags_number(flags, "norm_epsilon", &n->norm_eps, err));
    PLAIT_TRY(flags_number(flags, "init_method_std", &n->init_std, err));
    PLAIT_TRY(flags_number(flags, "hidden_dropout", &dropout, err));
    in->model->dropout = dropout > 0.0;
    if (in->full.moe.experts > 0)
        PLAIT_TRY(read_router(flags, &n->router, err));
    return read_rope(flags, in->full.mixer == PLAIT_MIXER_MLA, &n->rope, err);
}

/* ---- the whole ---- */

plait_status megatron_read_model(const launch_flags *flags, const char *name,
                                 const plait_model **out, plait_error *err)
{
    plait_model *model = plait_arena_alloc(flags->arena, 1, sizeof *model);
    model_reader *in = plait_arena_alloc(flags->arena, 1, sizeof *in);

    *out = NULL;
    if (model == NULL || in == NULL)
        return plait_fail_nomem(err);
    *model = (plait_model){.name = name, .family = "", .source = "Megatron-LM arguments"};
    *in = (model_reader){.flags = flags, .model = model};
    PLAIT_TRY(read_sizes(in, err));
    if (model->layers < 1 || model->hidden < 1)
        return PLAIT_OK;
    PLAIT_TRY(read_mixers(in, err));
    if (in->full.mixer == PLAIT_MIXER_NONE || model->vocab < 1)
        return PLAIT_OK;
    PLAIT_TRY(read_ffn(in, err));
    PLAIT_TRY(read_sets(in, err));
    PLAIT_TRY(make_kinds(in, err));
    PLAIT_TRY(read_numerics(in, err));
    if (strcmp(flags_word(flags, "position_embedding_type", "learned_absolute"),
               "learned_absolute") == 0)
        model->learned_positions = model->max_seq;
    *out = model;
    return PLAIT_OK;
}
