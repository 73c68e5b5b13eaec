/* import_attention.c - attention of each sort and positions out of Megatron-LM's arguments */
#include <math.h>
#include <string.h>

#include "launch/megatron/import_parts.h"

/* What is not given a model does not know. */
static double or_0(double number)
{
    return isnan(number) ? 0.0 : number;
}

/* ---- mixers ---- */

static plait_mla mla_of(const megatron_args *args)
{
    return (plait_mla){
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
}

static plait_delta_net delta_net_of(const megatron_args *args)
{
    return (plait_delta_net){
        .key_heads = args->linear_num_key_heads,
        .value_heads = args->linear_num_value_heads,
        .key_dim = args->linear_key_head_dim,
        .value_dim = args->linear_value_head_dim,
        .conv = args->linear_conv_kernel_dim,
    };
}

/* Of a window "127,0" a query sees 127 tokens before its own; JSON has a list of two. */
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

static bool is_rotary(const char *positions)
{
    return strcmp(positions, "rope") == 0 || strcmp(positions, "yarn") == 0 ||
           strcmp(positions, "mrope") == 0 || strcmp(positions, "rotary") == 0;
}

/* Heads share keys and values evenly. */
static plait_status check_divides(const model_reader *in, const char *flag, int heads, int shared,
                                  plait_error *err)
{
    return shared > 0 && heads % shared == 0
               ? PLAIT_OK
               : flags_fail(in->flags, flag, err,
                            "expected a divisor of the %d heads, found \"%d\"", heads, shared);
}

static plait_status read_attention(const model_reader *in, plait_attention *out, plait_error *err)
{
    const megatron_args *const args = in->args;
    const int heads = args->num_attention_heads, groups = args->num_query_groups;

    if (args->group_query_attention)
        PLAIT_TRY(check_divides(in, MEGATRON_NAME(num_query_groups), heads, groups, err));
    if (args->kv_channels == 0 && in->model->hidden % heads != 0)
        return flags_fail(in->flags, MEGATRON_NAME(hidden_size), err,
                          "expected a multiple of the %d heads, or --kv-channels, found \"%d\"",
                          heads, in->model->hidden);
    *out = (plait_attention){
        .heads = heads,
        .kv_heads = args->group_query_attention ? groups : heads,
        .head_dim = args->kv_channels > 0 ? args->kv_channels : in->model->hidden / heads,
        .rotary = is_rotary(args->position_embedding_type),
        .qk_norm = args->qk_layernorm || args->qk_l2_norm,
        .gate = args->attention_output_gate,
        .sinks = strcmp(args->softmax_type, "learnable") == 0,
        .out_bias = args->add_bias_linear,
        .qkv_bias = args->add_bias_linear || args->add_qkv_bias,
    };
    return read_window(in, &out->window, err);
}

plait_status megatron_read_mixers(model_reader *in, plait_error *err)
{
    if (in->args->num_attention_heads == 0)
        return PLAIT_OK;
    in->full.mixer = in->args->multi_latent_attention ? PLAIT_MIXER_MLA : PLAIT_MIXER_ATTENTION;
    in->full.mla = mla_of(in->args);
    in->full.delta_net = delta_net_of(in->args);
    if (in->args->linear_attention_freq != NULL)
        PLAIT_TRY(check_divides(in, MEGATRON_NAME(linear_num_key_heads),
                                in->args->linear_num_value_heads, in->args->linear_num_key_heads,
                                err));
    return read_attention(in, &in->full.attention, err);
}

/* ---- positions ---- */

static void read_yarn(const megatron_args *args, plait_rope *out)
{
    out->kind = PLAIT_ROPE_YARN;
    out->factor = or_0(args->rotary_scaling_factor);
    out->mscale = or_0(args->mscale);
    out->mscale_all_dim = or_0(args->mscale_all_dim);
    out->beta_fast = or_0(args->yarn_beta_fast);
    out->beta_slow = or_0(args->yarn_beta_slow);
    out->original_seq = args->yarn_original_max_position_embeddings;
}

/* MLA is scaled unless its type says otherwise. */
static bool is_yarn(const megatron_args *args)
{
    const char *const type = args->rope_type;

    if (strcmp(args->position_embedding_type, "yarn") == 0)
        return true;
    return args->multi_latent_attention && (type == NULL || strcmp(type, "yarn") == 0);
}

void megatron_read_positions(model_reader *in)
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
    } else if (is_yarn(args)) {
        read_yarn(args, rope);
    } else if (!isnan(args->rotary_seq_len_interpolation_factor)) {
        rope->kind = PLAIT_ROPE_LINEAR;
        rope->factor = args->rotary_seq_len_interpolation_factor;
    }
}
