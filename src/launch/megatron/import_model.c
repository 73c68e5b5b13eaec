/* import_model.c - reads the model from Megatron-LM's arguments */
#include "launch/megatron/megatron.h"

#include <math.h>
#include <string.h>
#include <strings.h>

#include "launch/read/pattern.h"
#include "launch/read/model_names.h"

/* A model that is being read, and a layer with every part to which the arguments give a shape. */
typedef struct model_reader {
    const megatron_args *args;
    const launch_flags *flags;
    plait_model *model; /* model whose sizes are known */
    plait_layer full;   /* layer with all parts, from which each kind of layer takes its own */
} model_reader;

/*
 * Return the tokens of the vocabulary, 0 if unknown. A fork's extra_vocab_size includes the tokens
 * that were added to the tokenizer.
 */
static int tokens_of(const megatron_args *args)
{
    const char *const names[] = {args->tokenizer_model, args->tokenizer_name_or_path,
                                 args->vocab_file};
    const bool added = args->extra_vocab_size == 0;
    int tokens = args->vocab_size;

    for (int n = 0; tokens == 0 && n < 3; n++)
        tokens = tokenizer_vocab(args->tokenizer_type, names[n], added);
    if (tokens == 0 && args->tokenizer_type == NULL && args->vocab_file != NULL)
        tokens = tokenizer_vocab("GPT2BPETokenizer", NULL, added); // default of pretrain_gpt.py
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

/* Return 0, which means unknown in a model, for a value that is not given. */
static double or_0(double number)
{
    return isnan(number) ? 0.0 : number;
}

/*
 * Read the window in tokens: with "127,0" a query attends to itself and to 127 tokens before it.
 * JSON has a list of two numbers.
 */
static plait_status read_window(const model_reader *in, int *out, plait_error *err)
{
    const char *const window = in->args->window_size;
    char text[32] = "";
    int before;

    if (window == NULL)
        return PLAIT_OK;
    if (strlen(window) < sizeof text)
        strcpy(text, window[0] == '(' ? window + 1 : window);
    text[strcspn(text, ",)")] = '\0';
    if (!text_parse_int(text, 0, 1 << 30, &before))
        return flags_fail(in->flags, MEGATRON_NAME(window_size), err,
                          "expected a window such as 127,0, found \"%.40s\"", window);
    *out = before + 1;
    return PLAIT_OK;
}

/* Check that `shared` divides `heads`, since heads share keys and values evenly. */
static plait_status check_divides(const model_reader *in, const char *flag, int heads, int shared,
                                  plait_error *err)
{
    return shared > 0 && heads % shared == 0
               ? PLAIT_OK
               : flags_fail(in->flags, flag, err,
                            "expected a divisor of the %d heads, found \"%d\"", heads, shared);
}

/* Read the mixers of in->full; there is none if the number of heads is not given. */
static plait_status megatron_read_mixers(model_reader *in, plait_error *err)
{
    if (in->args->num_attention_heads == 0)
        return PLAIT_OK;
    in->full.mixer = in->args->multi_latent_attention ? PLAIT_MIXER_MLA : PLAIT_MIXER_ATTENTION;
    const megatron_args *const args = in->args;

    in->full.mla = (plait_mla){
        .heads = args->num_attention_heads,
        .q_rank = args->q_lora_rank,
        .kv_rank = args->kv_lora_rank,
        .nope_dim = args->qk_head_dim,
        .rope_dim = args->qk_pos_emb_head_dim,
        .v_dim = args->v_head_dim,
        .index_heads = args->dsa_indexer_n_heads,
        .index_dim = args->dsa_indexer_head_dim,
        .index_topk = args->dsa_indexer_topk,
    };
    in->full.delta_net = (plait_delta_net){
        .key_heads = in->args->linear_num_key_heads,
        .value_heads = in->args->linear_num_value_heads,
        .key_dim = in->args->linear_key_head_dim,
        .value_dim = in->args->linear_value_head_dim,
        .conv = in->args->linear_conv_kernel_dim,
    };
    if (in->args->linear_attention_freq != NULL)
        PLAIT_TRY(check_divides(in, MEGATRON_NAME(linear_num_key_heads),
                                in->args->linear_num_value_heads, in->args->linear_num_key_heads,
                                err));
    const int heads = args->num_attention_heads, groups = args->num_query_groups;
    if (args->group_query_attention)
        PLAIT_TRY(check_divides(in, MEGATRON_NAME(num_query_groups), heads, groups, err));
    if (args->kv_channels == 0 && in->model->hidden % heads != 0)
        return flags_fail(in->flags, MEGATRON_NAME(hidden_size), err,
                          "expected a multiple of the %d heads, or --kv-channels, found \"%d\"",
                          heads, in->model->hidden);
    in->full.attention = (plait_attention){
        .heads = heads,
        .kv_heads = args->group_query_attention ? groups : heads,
        .head_dim = args->kv_channels > 0 ? args->kv_channels : in->model->hidden / heads,
        .rotary = (strcmp(args->position_embedding_type, "rope") == 0 ||
                   strcmp(args->position_embedding_type, "yarn") == 0 ||
                   strcmp(args->position_embedding_type, "mrope") == 0 ||
                   strcmp(args->position_embedding_type, "rotary") == 0),
        .qk_norm = args->qk_layernorm || args->qk_l2_norm,
        .gate = args->attention_output_gate,
        .sinks = strcmp(args->softmax_type, "learnable") == 0,
        .out_bias = args->add_bias_linear,
        .qkv_bias = args->add_bias_linear || args->add_qkv_bias,
    };
    return read_window(in, &in->full.attention.window, err);
}

/*
 * Read the Mamba-2 layers of a hybrid: without a number of heads the inner width is twice the
 * hidden size, a convolution has 4 taps and the scan chunks of 128 tokens (expand, d_conv and
 * chunk_size of MambaMixer in megatron/core/ssm/mamba_mixer.py of core_v0.19.0).
 */
static plait_status read_mamba(model_reader *in, plait_error *err)
{
    const megatron_args *const args = in->args;
    const int heads = args->mamba_num_heads > 0 ? args->mamba_num_heads
                                                : 2 * in->model->hidden / args->mamba_head_dim;

    in->full.mamba = (plait_mamba){
        .inner = heads * args->mamba_head_dim,
        .state = args->mamba_state_dim,
        .conv = 4,
        .heads = heads,
        .groups = args->mamba_num_groups,
        .chunk = 128,
    };
    return check_divides(in, MEGATRON_NAME(mamba_num_groups), heads, args->mamba_num_groups, err);
}

/* ---- positions ---- */

static void megatron_read_positions(model_reader *in)
{
    const megatron_args *const args = in->args;
    plait_rope *const rope = &in->model->numerics.rope;

    if (strcmp(args->position_embedding_type, "learned_absolute") == 0 ||
        strcmp(args->position_embedding_type, "absolute") == 0)
        in->model->learned_positions = in->model->max_seq;
    rope->base = args->rotary_base;
    rope->fraction = args->rotary_percent;
    rope->interleaved = args->rotary_interleaved;
    if (args->use_rope_scaling) {
        rope->kind = PLAIT_ROPE_LLAMA3;
        rope->factor = args->rope_scaling_factor;
    } // MLA uses YaRN unless rope_type is another
    else if (strcmp(args->position_embedding_type, "yarn") == 0
                 ? true
                 : args->multi_latent_attention &&
                       (args->rope_type == NULL || strcmp(args->rope_type, "yarn") == 0)) {
        rope->kind = PLAIT_ROPE_YARN;
        rope->factor = or_0(args->rotary_scaling_factor);
        rope->mscale = or_0(args->mscale);
        rope->mscale_all_dim = or_0(args->mscale_all_dim);
        rope->beta_fast = or_0(args->yarn_beta_fast);
        rope->beta_slow = or_0(args->yarn_beta_slow);
        rope->original_seq = args->yarn_original_max_position_embeddings;
    } else if (!isnan(args->rotary_seq_len_interpolation_factor)) {
        rope->kind = PLAIT_ROPE_LINEAR;
        rope->factor = args->rotary_seq_len_interpolation_factor;
    }
}

enum { HAS_WINDOW = 1, HAS_EXPERTS = 2, HAS_NO_ROTARY = 4, IS_LINEAR = 8, LAYER_SETS = 16 };

/*
 * The layers among every N consecutive ones that a list switches on if it is the single integer N.
 */
typedef enum switch_period { ON_AT_FIRST, ON_BUT_LAST, ON_AT_LAST } switch_period;

typedef struct layer_switch {
    int bit;
    size_t field; /* field of the list in megatron_args */
    switch_period where;
    bool absent; /* state of all layers without a list */
} layer_switch;

static const layer_switch switches[] = {
    {HAS_EXPERTS, MEGATRON_FIELD(moe_layer_freq), ON_AT_FIRST, true},
    {HAS_WINDOW, MEGATRON_FIELD(window_attn_skip_freq), ON_BUT_LAST, true},
    {HAS_NO_ROTARY, MEGATRON_FIELD(no_rope_freq), ON_AT_LAST, false},
    {IS_LINEAR, MEGATRON_FIELD(linear_attention_freq), ON_BUT_LAST, false},
};

static bool on_in_period(switch_period where, int layer, int period)
{
    const int at = layer % period;

    return where == ON_AT_FIRST ? at == 0 : (at == period - 1) == (where == ON_AT_LAST);
}

static plait_status read_switch(const model_reader *in, const layer_switch *of, unsigned char *set,
                                plait_error *err)
{
    const char *const list =
        *(const char *const *)(const void *)((const char *)in->args + of->field);
    const int layers = in->model->layers;
    unsigned char on[PLAIT_MAX_LAYERS];
    int period;

    memset(on, of->absent, sizeof on);
    if (of->bit == HAS_EXPERTS && in->args->expert_interval > 0) {
        for (int i = 0; i < layers; i++)
            on[i] = on_in_period(ON_AT_LAST, i, in->args->expert_interval);
    } else if (list != NULL && text_parse_int(list, 1, PLAIT_MAX_LAYERS, &period)) {
        for (int i = 0; i < layers; i++)
            on[i] = on_in_period(of->where, i, period);
    } else if (list != NULL && !pattern_read(list, layers, on)) {
        return flags_fail(in->flags, megatron_args_name(of->field), err,
                          "expected a number, or a pattern for %d layers, found \"%.60s\"", layers,
                          list);
    }
    for (int i = 0; i < layers; i++)
        set[i] |= (unsigned char)(on[i] ? of->bit : 0);
    return PLAIT_OK;
}

/* Remove from a layer's set the parts for which the arguments give no shape. */
static unsigned char possible_parts(const model_reader *in, unsigned set)
{
    if (in->full.moe.experts == 0)
        set &= ~(unsigned)HAS_EXPERTS;
    if (in->full.attention.window == 0)
        set &= ~(unsigned)HAS_WINDOW;
    if (!(in->args->experimental_attention_variant != NULL &&
          (strcmp(in->args->experimental_attention_variant, "gated_delta_net") == 0 ||
           strcmp(in->args->experimental_attention_variant, "gdn") == 0)))
        set &= ~(unsigned)IS_LINEAR;
    if ((set & IS_LINEAR) || !in->full.attention.rotary)
        set &= ~(unsigned)(HAS_WINDOW | HAS_NO_ROTARY);
    return (unsigned char)set;
}

/* Determine the model's kinds of layers, each with the parts of in->full that its layers have. */
static plait_status megatron_read_layers(model_reader *in, plait_error *err)
{
    plait_model *const model = in->model;
    plait_arena *const arena = in->flags->arena;
    plait_layer *const kind = plait_arena_alloc(arena, LAYER_SETS, sizeof *kind);
    unsigned char *const layer_kind =
        plait_arena_alloc(arena, (size_t)model->layers, sizeof *layer_kind);
    unsigned char set[PLAIT_MAX_LAYERS] = {0};
    int known[LAYER_SETS] = {0}; /* index of the kind + 1 */

    PLAIT_TRY(plait_check_allocated(kind && layer_kind, err));
    for (size_t s = 0; s < sizeof switches / sizeof *switches; s++)
        PLAIT_TRY(read_switch(in, &switches[s], set, err));
    for (int i = 0; i < in->model->layers; i++) {
        set[i] = possible_parts(in, set[i]);
        if ((set[i] & HAS_WINDOW) && (set[i] & HAS_NO_ROTARY))
            return flags_fail(
                in->flags, MEGATRON_NAME(no_rope_freq), err,
                "expected rotary positions in every windowed layer, found none in layer %d", i);
    }
    for (int i = 0; i < model->layers; i++) {
        if (known[set[i]] == 0) {
            plait_layer layer = {.norms = 2, .mixer = in->full.mixer};
            if (set[i] & IS_LINEAR) {
                layer.mixer = PLAIT_MIXER_DELTA_NET;
                layer.delta_net = in->full.delta_net;
            } else if (layer.mixer == PLAIT_MIXER_MLA) {
                layer.mla = in->full.mla;
            } else {
                layer.attention = in->full.attention;
                layer.attention.window = set[i] & HAS_WINDOW ? in->full.attention.window : 0;
                layer.attention.rotary = in->full.attention.rotary && !(set[i] & HAS_NO_ROTARY);
                if (!layer.attention.rotary && in->args->qk_l2_norm)
                    layer.attention.qk_norm = false;
            }
            layer.ffn = set[i] & HAS_EXPERTS ? PLAIT_FFN_MOE : PLAIT_FFN_MLP;
            if (layer.ffn == PLAIT_FFN_MOE)
                layer.moe = in->full.moe;
            else
                layer.mlp = in->full.mlp;
            kind[model->kinds] = layer;
            // name a kind after its switches: "sliding-moe", "no-rotary-dense"
            kind[model->kinds].name =
                plait_arena_printf(arena, "%s%s%s", set[i] & IS_LINEAR ? "linear-" : "",
                                   set[i] & HAS_WINDOW      ? "sliding-"
                                   : set[i] & HAS_NO_ROTARY ? "no-rotary-"
                                                            : "",
                                   set[i] & HAS_EXPERTS ? "moe" : "dense");
            PLAIT_TRY(plait_check_allocated(kind[model->kinds].name, err));
            known[set[i]] = ++model->kinds;
        }
        layer_kind[i] = (unsigned char)(known[set[i]] - 1);
    }
    model->kind = kind;
    model->layer_kind = layer_kind;
    model->mtp_kind = layer_kind[model->layers - 1];
    return PLAIT_OK;
}

/* ---- feed-forward parts ---- */

static plait_moe moe_of(const megatron_args *args, const plait_mlp *mlp)
{
    const int width = args->moe_ffn_hidden_size;
    const double capacity = args->moe_expert_capacity_factor; // NaN, or below 0: none

    return (plait_moe){
        .experts = args->num_experts > 1 ? args->num_experts : 0,
        .topk = args->moe_router_topk,
        .width = width > 0 ? width : mlp->width,
        .latent = args->moe_latent_size,
        .shared_width = args->moe_shared_expert_intermediate_size,
        .groups = args->moe_router_num_groups,
        .group_topk = args->moe_router_group_topk,
        .gated = mlp->gated,
        .bias = mlp->bias,
        .router_bias = mlp->bias || args->moe_router_enable_expert_bias,
        .shared_gate = args->moe_shared_expert_gate,
        .capacity = capacity > 0.0 ? capacity : 0.0,
        .padded = capacity > 0.0 && args->moe_pad_expert_input_to_capacity,
    };
}

static plait_status check_groups(const model_reader *in, plait_error *err)
{
    const int experts = in->full.moe.experts;
    const int groups = in->full.moe.groups, topk = in->full.moe.group_topk;

    if (groups > 0 && experts % groups != 0)
        return flags_fail(in->flags, MEGATRON_NAME(moe_router_num_groups), err,
                          "expected a divisor of the %d experts, found %d", experts, groups);
    if (topk > groups || (groups > 0 && topk < 1))
        return flags_fail(in->flags, MEGATRON_NAME(moe_router_group_topk), err,
                          "expected 1 to %d groups, found %d", groups, topk);
    return PLAIT_OK;
}

static plait_status read_ffn(model_reader *in, plait_error *err)
{
    const megatron_args *const args = in->args;
    const bool gated = args->swiglu || args->quick_geglu;
    const int width = args->ffn_hidden_size;

    in->full.mlp = (plait_mlp){
        // a gated MLP without a given width has two thirds of 4 hidden_size, in steps of 64
        .width = width > 0 ? width
                           : (gated ? (int)(4.0 * args->hidden_size * 2 / 3 / 64) * 64
                                    : 4 * args->hidden_size),
        .gated = gated,
        .bias = args->add_bias_linear,
    };
    in->full.moe = moe_of(in->args, &in->full.mlp);
    const int experts = in->full.moe.experts, topk = in->full.moe.topk;
    if (topk < 1 || (experts > 0 && topk > experts))
        return flags_fail(in->flags, MEGATRON_NAME(moe_router_topk), err,
                          "expected 1 to %d experts, found %d", experts, topk);
    return experts > 0 ? check_groups(in, err) : PLAIT_OK;
}

static void read_numerics(model_reader *in)
{
    const megatron_args *const args = in->args;
    plait_numerics *const n = &in->model->numerics;

    in->model->layer_norm = strcasecmp(args->normalization, "RMSNorm") != 0;
    in->model->dropout = args->hidden_dropout > 0.0;
    n->activation = args->quick_geglu    ? PLAIT_CLAMPED_SWIGLU
                    : args->swiglu       ? PLAIT_SILU
                    : args->squared_relu ? PLAIT_RELU2
                                         : PLAIT_GELU;
    n->norm_eps = args->norm_epsilon;
    n->init_std = args->init_method_std;
    n->qk_l2_norm = args->qk_l2_norm;
    if (in->full.moe.experts == 0)
        return;
    const double scale = args->moe_router_topk_scaling_factor;
    const bool sigmoid = strcmp(args->moe_router_score_function, "sigmoid") == 0;

    n->router = (plait_router){
        .score = sigmoid ? PLAIT_ROUTER_SIGMOID : PLAIT_ROUTER_SOFTMAX,
        .normalised = sigmoid ? !args->moe_apply_probs_on_input : !args->moe_router_pre_softmax,
        .correction_bias = args->moe_router_enable_expert_bias,
        .scale = isnan(scale) ? 0.0 : scale,
        .aux_loss = args->moe_aux_loss_coeff,
    };
    // the load-balancing loss is the only training value that is read
    static const char *const types[PLAIT_BALANCES] = {
        [PLAIT_BALANCE_NONE] = "none",
        [PLAIT_BALANCE_BATCH] = "aux_loss",
        [PLAIT_BALANCE_SEQUENCE] = "seq_aux_loss",
        [PLAIT_BALANCE_GLOBAL] = "global_aux_loss",
    };
    plait_training out = {.source = "the arguments of a launch", .weight_decay = (double)NAN};

    for (int b = PLAIT_BALANCE_NONE; b < PLAIT_BALANCES; b++)
        if (strcmp(args->moe_router_load_balancing_type, types[b]) == 0)
            out.balance = (plait_balance)b;
    in->model->training = out.balance != PLAIT_BALANCE_UNKNOWN ? out : (plait_training){0};
}

plait_status megatron_read_model(const megatron_args *args, const launch_flags *flags,
                                 const char *name, const plait_model **out, const char **wanted,
                                 plait_error *err)
{
    plait_model *const model = plait_arena_alloc(flags->arena, 1, sizeof *model);
    model_reader in = {.args = args, .flags = flags, .model = model};

    *out = NULL;
    *wanted = NULL;
    PLAIT_TRY(plait_check_allocated(model, err));
    *model = (plait_model){.name = name, .family = "", .source = "Megatron-LM arguments"};
    model->layers = args->num_layers;
    model->hidden = args->hidden_size;
    model->vocab = megatron_vocab(args);
    model->max_seq = args->max_position_embeddings;
    model->mtp_layers = args->mtp_num_layers;
    model->tied = !args->untie_embeddings_and_output_weights;
    const char *const pattern = args->hybrid_layer_pattern;
    const char *letters;
    if ((model->layers < 1 && pattern == NULL) || model->hidden < 1)
        return PLAIT_OK;
    PLAIT_TRY(megatron_read_mixers(&in, err));
    if (in.full.mixer == PLAIT_MIXER_NONE || model->vocab < 1)
        return PLAIT_OK;
    PLAIT_TRY(read_ffn(&in, err));
    if (pattern != NULL) {
        if (strchr(pattern, 'M') != NULL)
            PLAIT_TRY(read_mamba(&in, err));
        PLAIT_TRY(hybrid_read_layers(pattern, &in.full, flags->arena, model, &letters, err));
        // gated_delta_product_stack_spec has other layers in the place of Mamba-2
        if (args->spec != NULL && strstr(args->spec, "delta_product") != NULL)
            *wanted = "--spec of Mamba-2 layers";
        else if (letters != NULL) {
            *wanted = plait_arena_printf(flags->arena, "--hybrid-layer-pattern %s", letters);
            PLAIT_TRY(plait_check_allocated(*wanted, err));
        }
        if (*wanted != NULL)
            return PLAIT_OK;
    } else {
        PLAIT_TRY(megatron_read_layers(&in, err));
    }
    read_numerics(&in);
    megatron_read_positions(&in);
    *out = model;
    return PLAIT_OK;
}
