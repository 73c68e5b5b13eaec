/* model_hf_parts.c - reads the mixers and feed-forward parts of a Hugging Face config */
#include "io/model/model_hf.h"

static const char *const heads_names[] = {"num_attention_heads", "n_head", "n_heads", NULL};
static const char *const kv_heads_names[] = {"num_key_value_heads", "num_kv_heads", "n_kv_heads",
                                             NULL};
static const char *const head_dim_names[] = {"head_dim", "attention_head_dim", "kv_channels", NULL};
static const char *const width_names[] = {"intermediate_size", "n_inner", "ffn_dim",
                                          "ffn_hidden_size", NULL};
static const char *const dense_width_names[] = {"intermediate_size_mlp", "dense_intermediate_size",
                                                "intermediate_size", NULL};
static const char *const expert_width_names[] = {"moe_intermediate_size", "intermediate_size",
                                                 NULL};
static const char *const experts_names[] = {"n_routed_experts", "num_local_experts", "num_experts",
                                            "moe_num_experts", NULL};
static const char *const topk_names[] = {"num_experts_per_tok",
                                         "top_k_experts",
                                         "experts_per_token",
                                         "moe_topk",
                                         "moe_k",
                                         "num_experts_per_token",
                                         NULL};
static const char *const shared_width_names[] = {
    "shared_expert_intermediate_size", "moe_shared_expert_intermediate_size",
    "shared_intermediate_size", "share_expert_dim", NULL};
static const char *const shared_names[] = {"n_shared_experts", "num_shared_experts",
                                           "moe_num_shared_experts", NULL};

/* ---- attention ---- */

/*
 * Reads whether linear layers have biases from the class's key, or from MPT's opposite key
 * "no_bias"; the default is the trait of the class.
 */
static plait_status read_bias(const hf_config *hf, const char *key, enum hf_trait absent, bool *out,
                              plait_error *err)
{
    bool no_bias = true;

    *out = hf_has_trait(hf, absent);
    if (key != NULL)
        return json_bool_optional(hf->text, key, out, err);
    if (!json_has(hf->text, "no_bias"))
        return PLAIT_OK;
    PLAIT_TRY(json_bool(hf->text, "no_bias", &no_bias, err));
    *out = !no_bias;
    return PLAIT_OK;
}

/*
 * Reads the number of key and value heads. If the key is absent, the class's number applies; if it
 * is null, the number of heads.
 */
static plait_status read_kv_heads(const hf_config *hf, plait_attention *out, plait_error *err)
{
    bool multi_query;

    out->kv_heads = out->heads;

    // With multi_query, Falcon and StarCoder ignore the given number of key and value heads.
    bool grouped = false;
    multi_query = hf_has_trait(hf, HF_MULTI_QUERY);
    PLAIT_TRY(json_bool_optional(hf->text, "new_decoder_architecture", &grouped, err));
    if (multi_query)
        PLAIT_TRY(json_bool_optional(hf->text, "multi_query", &multi_query, err));
    multi_query = multi_query && !grouped;
    if (multi_query) {
        hf_skip(hf, kv_heads_names);
        out->kv_heads = 1;
        return PLAIT_OK;
    }
    if (hf->class.kv_heads > 0 && !hf_mentions(hf->text, kv_heads_names[0]))
        out->kv_heads = hf->class.kv_heads;
    return hf_int_optional(hf, kv_heads_names, 1, MODEL_MAX_HEADS, &out->kv_heads, err);
}

plait_status hf_window(const hf_config *hf, int *out, plait_error *err)
{
    bool used = hf->class.pattern != HF_PATTERN_LATE_WINDOW;

    *out = hf_mentions(hf->text, "sliding_window") ? 0 : hf->class.window;
    PLAIT_TRY(json_int_optional(hf->text, "sliding_window", 0, MODEL_MAX_SEQ, out, err));
    PLAIT_TRY(json_bool_optional(hf->text, "use_sliding_window", &used, err));
    if (!used)
        *out = 0;
    return PLAIT_OK;
}

static plait_status read_attention(const hf_config *hf, hf_mixer which, plait_attention *out,
                                   plait_error *err)
{
    bool bias;

    *out = (plait_attention){.sinks = hf_has_trait(hf, HF_SINKS)};

    const json_cursor *const at = hf->text;
    out->head_dim = hf->class.head_dim;
    PLAIT_TRY(hf_int_or(hf, heads_names, 1, MODEL_MAX_HEADS, hf->class.heads, &out->heads, err));
    PLAIT_TRY(hf_int_optional(hf, head_dim_names, 1, MODEL_MAX_HEAD_DIM, &out->head_dim, err));
    PLAIT_TRY(read_kv_heads(hf, out, err));
    if (which == HF_FULL) {
        // Full layers of Gemma 4 have a head size and a number of heads of their own, and use the
        // keys as values too.
        PLAIT_TRY(json_bool_optional(hf->text, "attention_k_eq_v", &out->shared_kv, err));
        if (out->shared_kv)
            PLAIT_TRY(json_int_optional(hf->text, "num_global_key_value_heads", 1, MODEL_MAX_HEADS,
                                        &out->kv_heads, err));
        PLAIT_TRY(json_int_optional(hf->text, "global_head_dim", 1, MODEL_MAX_HEAD_DIM,
                                    &out->head_dim, err));
    }
    PLAIT_TRY(
        model_check_kv_heads(at, hf_name(hf, kv_heads_names), out->heads, out->kv_heads, err));
    PLAIT_TRY(
        model_check_head_dim(at, "head_dim", hf->model->hidden, out->heads, &out->head_dim, err));
    PLAIT_TRY(read_bias(hf, hf->class.attention_bias, HF_QKV_BIAS, &bias, err));
    out->qkv_bias = bias;
    out->out_bias = bias && !hf_has_trait(hf, HF_NO_OUT_BIAS);

    // Full layers of Llama 4 and Command R7B have no positions, and therefore no norms on q and k.
    bool alibi = false;
    out->qk_norm = hf_has_trait(hf, HF_QK_NORM);
    PLAIT_TRY(json_bool_optional(hf->text, "qk_norm", &out->qk_norm, err));
    PLAIT_TRY(json_bool_optional(hf->text, "use_qk_norm", &out->qk_norm, err));
    PLAIT_TRY(json_bool_optional(hf->text, "alibi", &alibi, err));
    out->rotary = !alibi && !hf_has_trait(hf, HF_NO_ROTARY);
    if (which == HF_FULL && hf_has_trait(hf, HF_NO_ROTARY_FULL)) {
        out->rotary = false;
        out->qk_norm = false;
    }
    if (hf_has_trait(hf, HF_GATED_ATTENTION))
        PLAIT_TRY(hf_flag(hf, "attn_output_gate", true, &out->gate, err));
    if (which == HF_SLIDING)
        PLAIT_TRY(hf_window(hf, &out->window, err));
    if (which != HF_CHUNKED)
        return PLAIT_OK;
    out->chunk = 8192;
    return json_int_optional(hf->text, "attention_chunk_size", 1, MODEL_MAX_SEQ, &out->chunk, err);
}

/* ---- the other mixers ---- */

static plait_status read_mla(const hf_config *hf, plait_mla *out, plait_error *err)
{
    static const char *const redundant[] = {"num_key_value_heads", "head_dim", "qk_head_dim", NULL};
    const json_cursor *const at = hf->text;

    *out = (plait_mla){0};
    hf_skip(hf, redundant);
    PLAIT_TRY(hf_int(hf, heads_names, 1, MODEL_MAX_HEADS, &out->heads, err));
    PLAIT_TRY(json_int_optional(at, "q_lora_rank", 0, MODEL_MAX_RANK, &out->q_rank, err));
    PLAIT_TRY(json_int(at, "kv_lora_rank", 1, MODEL_MAX_RANK, &out->kv_rank, err));
    PLAIT_TRY(json_int(at, "qk_nope_head_dim", 1, MODEL_MAX_HEAD_DIM, &out->nope_dim, err));
    PLAIT_TRY(json_int(at, "qk_rope_head_dim", 0, MODEL_MAX_HEAD_DIM, &out->rope_dim, err));
    PLAIT_TRY(json_int(at, "v_head_dim", 1, MODEL_MAX_HEAD_DIM, &out->v_dim, err));
    if (!json_has(at, "index_n_heads"))
        return PLAIT_OK;
    PLAIT_TRY(json_int(at, "index_n_heads", 1, MODEL_MAX_HEADS, &out->index_heads, err));
    PLAIT_TRY(json_int(at, "index_head_dim", 1, MODEL_MAX_HEAD_DIM, &out->index_dim, err));
    return json_int(at, "index_topk", 1, MODEL_MAX_SEQ, &out->index_topk, err);
}

static plait_status read_delta_net(const hf_config *hf, plait_delta_net *out, plait_error *err)
{
    const json_cursor *const at = hf->text;

    *out = (plait_delta_net){
        .key_heads = 16, .value_heads = 32, .key_dim = 128, .value_dim = 128, .conv = 4};
    if (!hf->known && !json_has(at, "linear_num_value_heads"))
        return json_fail_key(at, "linear_num_value_heads", PLAIT_ERROR_SCHEMA, err,
                             "expected the sizes of the linear attention, found none; plait cannot "
                             "price the model without them");
    PLAIT_TRY(
        json_int_optional(at, "linear_num_key_heads", 1, MODEL_MAX_HEADS, &out->key_heads, err));
    PLAIT_TRY(json_int_optional(at, "linear_num_value_heads", 1, MODEL_MAX_HEADS, &out->value_heads,
                                err));
    PLAIT_TRY(
        json_int_optional(at, "linear_key_head_dim", 1, MODEL_MAX_HEAD_DIM, &out->key_dim, err));
    PLAIT_TRY(json_int_optional(at, "linear_value_head_dim", 1, MODEL_MAX_HEAD_DIM, &out->value_dim,
                                err));
    PLAIT_TRY(json_int_optional(at, "linear_conv_kernel_dim", 1, MODEL_MAX_CONV, &out->conv, err));
    return model_check_kv_heads(at, "linear_num_key_heads", out->value_heads, out->key_heads, err);
}

plait_status hf_read_mixer(const hf_config *hf, hf_mixer which, plait_layer *out, plait_error *err)
{
    if (which == HF_LINEAR) {
        out->mixer = PLAIT_MIXER_DELTA_NET;
        return read_delta_net(hf, &out->delta_net, err);
    }
    if (json_has(hf->text, "kv_lora_rank")) {
        out->mixer = PLAIT_MIXER_MLA;
        return read_mla(hf, &out->mla, err);
    }
    out->mixer = PLAIT_MIXER_ATTENTION;
    return read_attention(hf, which, &out->attention, err);
}

/* Reads a Mamba layer. "time_step_rank": "auto" means hidden / 16, rounded up. */
plait_status hf_read_mamba(const hf_config *hf, plait_layer *out, plait_error *err)
{
    const json_cursor *const at = hf->text;
    const int hidden = hf->model->hidden;
    plait_mamba *const mamba = &out->mamba;
    int expand = 2;
    json_cursor rank;

    out->mixer = PLAIT_MIXER_MAMBA;
    *mamba = (plait_mamba){.state = 16, .conv = 4, .dt_rank = (hidden + 15) / 16};
    PLAIT_TRY(json_int_optional(at, "expand", 1, MODEL_MAX_WIDTH / MODEL_MAX_HIDDEN, &expand, err));
    mamba->inner = expand * hidden;
    PLAIT_TRY(json_int_optional(at, "intermediate_size", 1, MODEL_MAX_WIDTH, &mamba->inner, err));
    PLAIT_TRY(json_int_optional(at, "state_size", 1, MODEL_MAX_STATE, &mamba->state, err));
    PLAIT_TRY(json_int_optional(at, "conv_kernel", 1, MODEL_MAX_CONV, &mamba->conv, err));
    PLAIT_TRY(json_value_optional(at, "time_step_rank", &rank, err));
    if (json_is_string(&rank))
        return PLAIT_OK;
    return json_int_optional(at, "time_step_rank", 1, MODEL_MAX_RANK, &mamba->dt_rank, err);
}

/* ---- feed-forward parts ---- */

/*
 * Reads the width of the MLP. Older classes omit it if it is the default multiple of the hidden
 * width.
 */
static plait_status read_dense_width(const hf_config *hf, int *out, plait_error *err)
{
    double ratio = 4.0;

    *out = 0;
    PLAIT_TRY(hf_int_optional(hf, dense_width_names, 1, MODEL_MAX_WIDTH, out, err));
    if (*out > 0)
        return PLAIT_OK;
    PLAIT_TRY(json_number_optional(hf->text, "expansion_ratio", JSON_POSITIVE, &ratio, err));
    if (!hf->known || !hf_has_trait(hf, HF_PLAIN_MLP) || json_has(hf->text, "n_inner"))
        return hf_int(hf, width_names, 1, MODEL_MAX_WIDTH, out, err);
    if (ratio * hf->model->hidden > MODEL_MAX_WIDTH || ratio * hf->model->hidden < 1.0)
        return json_fail_key(hf->text, "expansion_ratio", PLAIT_ERROR_RANGE, err,
                             "expected a ratio that gives a width from 1 to %d, found %g",
                             MODEL_MAX_WIDTH, ratio);
    *out = (int)(ratio * hf->model->hidden);
    return hf_int_optional(hf, width_names, 1, MODEL_MAX_WIDTH, out, err);
}

plait_status hf_read_mlp(const hf_config *hf, plait_layer *out, plait_error *err)
{
    out->ffn = PLAIT_FFN_MLP;
    out->mlp = (plait_mlp){.gated = !hf_has_trait(hf, HF_PLAIN_MLP)};
    PLAIT_TRY(read_bias(hf, hf->class.mlp_bias, HF_MLP_BIAS, &out->mlp.bias, err));
    PLAIT_TRY(read_dense_width(hf, &out->mlp.width, err));
    if (!hf_has_trait(hf, HF_HALF_WIDTH))
        return PLAIT_OK;
    if (out->mlp.width < 2)
        return json_fail_key(hf->text, "intermediate_size", PLAIT_ERROR_RANGE, err,
                             "expected at least 2, found %d", out->mlp.width);
    out->mlp.width /= 2;
    return PLAIT_OK;
}

plait_status hf_experts(const hf_config *hf, int *out, plait_error *err)
{
    bool enabled = !hf_has_trait(hf, HF_MOE_ON_REQUEST);

    *out = 0;
    PLAIT_TRY(json_bool_optional(hf->text, "enable_moe_block", &enabled, err));
    if (!enabled) {
        hf_skip(hf, experts_names);
        hf_skip(hf, topk_names);
        hf_skip(hf, (const char *const[]){"moe_intermediate_size", NULL});
        return PLAIT_OK;
    }
    return hf_int_optional(hf, experts_names, 0, MODEL_MAX_EXPERTS, out, err);
}

plait_status hf_read_moe(const hf_config *hf, plait_layer *out, plait_error *err)
{
    plait_moe *const moe = &out->moe;

    out->ffn = PLAIT_FFN_MOE;
    *moe = (plait_moe){.gated = !hf_has_trait(hf, HF_PLAIN_MLP),
                       .bias = hf_has_trait(hf, HF_EXPERT_BIAS),
                       .router_bias = hf_has_trait(hf, HF_ROUTER_BIAS)};
    PLAIT_TRY(hf_int(hf, experts_names, 1, MODEL_MAX_EXPERTS, &moe->experts, err));
    PLAIT_TRY(hf_int(hf, topk_names, 1, MODEL_MAX_EXPERTS, &moe->topk, err));
    PLAIT_TRY(model_check_topk(hf->text, hf_name(hf, topk_names), moe->experts, moe->topk, err));
    PLAIT_TRY(hf_int(hf, expert_width_names, 1, MODEL_MAX_WIDTH, &moe->width, err));

    // Read the shared experts, which are given as a number of experts, as the width of one expert,
    // or as a dense MLP.
    int shared = hf->class.shared;
    PLAIT_TRY(hf_int_optional(hf, shared_names, 0, MODEL_MAX_EXPERTS, &shared, err));
    if (shared > MODEL_MAX_WIDTH / moe->width)
        return json_fail_key(
            hf->text, hf_name(hf, shared_names), PLAIT_ERROR_RANGE, err,
            "expected shared experts with a total width of at most %d, found %d experts",
            MODEL_MAX_WIDTH, shared);
    moe->shared_width = shared * moe->width;
    if (hf_has_trait(hf, HF_SHARED_MLP)) {
        PLAIT_TRY(
            json_int(hf->text, "intermediate_size", 1, MODEL_MAX_WIDTH, &moe->shared_width, err));
    } else {
        PLAIT_TRY(
            hf_int_optional(hf, shared_width_names, 0, MODEL_MAX_WIDTH, &moe->shared_width, err));
        moe->shared_gate = moe->shared_width > 0 && hf_has_trait(hf, HF_SHARED_GATE);
    }

    // A single group does not limit the routing, so it is stored as no groups.
    PLAIT_TRY(json_int_optional(hf->text, "n_group", 0, MODEL_MAX_EXPERTS, &moe->groups, err));
    PLAIT_TRY(
        json_int_optional(hf->text, "topk_group", 0, MODEL_MAX_EXPERTS, &moe->group_topk, err));
    if (moe->groups <= 1) {
        moe->groups = 0;
        moe->group_topk = 0;
    }
    return model_check_groups(hf->text, "n_group", "topk_group", moe, err);
}
