/* model_hf_mixer.c - reads the token mixers of a Hugging Face config */
#include <string.h>

#include "io/model/model_hf.h"

static const char *const heads_names[] = {"num_attention_heads", "n_head", "n_heads", "num_heads",
                                          NULL};
static const char *const kv_heads_names[] = {
    "num_key_value_heads", "num_kv_heads",          "n_kv_heads", "num_attention_groups",
    "n_head_kv",           "multi_query_group_num", NULL};
static const char *const window_names[] = {"sliding_window", "attention_window_size", NULL};
static const char *const head_dim_names[] = {"head_dim", "attention_head_dim", "kv_channels", NULL};

/* ---- attention ---- */

/* Reads the number of query heads that share a key head from the layer's object. */
static plait_status read_block_heads(const hf_config *hf, plait_attention *out, plait_error *err)
{
    json_cursor parents[2], at;
    int group = 1;

    PLAIT_TRY(hf_block(hf, "attention", parents, &at, err));
    PLAIT_TRY(json_int_optional(&at, "n_heads_in_group", 1, out->heads, &group, err));
    if (out->heads % group != 0)
        return json_fail_key(&at, "n_heads_in_group", PLAIT_ERROR_RANGE, err,
                             "expected a divisor of the %d heads, found %d", out->heads, group);
    out->kv_heads = out->heads / group;
    PLAIT_TRY(json_int_optional(&at, "num_key_value_heads", 1, out->heads, &out->kv_heads, err));
    PLAIT_TRY(json_int_optional(&at, "window_length", 0, MODEL_MAX_SEQ, &out->window, err));
    hf_pick(hf, out->kv_heads);
    hf_pick(hf, out->window);
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
    if (hf->class.pattern == HF_PATTERN_BLOCKS)
        return read_block_heads(hf, out, err);

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
    grouped = true; // ChatGLM has as many key and value heads as query heads without this flag
    PLAIT_TRY(json_bool_optional(hf->text, "multi_query_attention", &grouped, err));
    if (!grouped) {
        hf_skip(hf, kv_heads_names);
        return PLAIT_OK;
    }
    if (hf->class.kv_heads > 0 && !hf_mentions(hf->text, kv_heads_names[0]))
        out->kv_heads = hf->class.kv_heads;
    return hf_int_optional(hf, kv_heads_names, 1, MODEL_MAX_HEADS, &out->kv_heads, err);
}

plait_status hf_window(const hf_config *hf, int *out, plait_error *err)
{
    bool used = hf->class.pattern != HF_PATTERN_LATE_WINDOW;

    *out = hf_mentions(hf->text, hf_name(hf, window_names)) ? 0 : hf->class.window;
    PLAIT_TRY(hf_int_optional(hf, window_names, 0, MODEL_MAX_SEQ, out, err));
    PLAIT_TRY(json_bool_optional(hf->text, "use_sliding_window", &used, err));
    if (!used)
        *out = 0;
    return PLAIT_OK;
}

/*
 * Reads the attention of DeepSeek-V4: one head whose keys are also the values, outputs projected
 * by groups, and compressed keys in addition to the window. The ratios are per layer, or per kind
 * in compress_rates.
 */
static plait_status read_compressed(const hf_config *hf, hf_mixer which, plait_attention *out,
                                    plait_error *err)
{
    static const char *const ratios[] = {"compress_ratios", NULL};
    const json_cursor *const at = hf->text;
    json_cursor rates;

    out->shared_kv = true;
    PLAIT_TRY(json_int(at, "o_groups", 1, MODEL_MAX_HEADS, &out->out_groups, err));
    PLAIT_TRY(json_int(at, "o_lora_rank", 1, MODEL_MAX_RANK, &out->out_rank, err));
    if (out->heads % out->out_groups != 0)
        return json_fail_key(at, "o_groups", PLAIT_ERROR_RANGE, err,
                             "expected a divisor of the %d heads, found %d", out->heads,
                             out->out_groups);
    if (which != HF_SPARSE && which != HF_HEAVY_COMPRESSED)
        return PLAIT_OK;
    out->compress = which == HF_SPARSE ? 4 : 128;
    if (json_has(at, ratios[0])) {
        PLAIT_TRY(hf_int(hf, ratios, 0, MODEL_MAX_SEQ, &out->compress, err));
    } else {
        PLAIT_TRY(json_object_optional(at, "compress_rates", &rates, err));
        PLAIT_TRY(json_int_optional(&rates,
                                    which == HF_SPARSE ? "compressed_sparse_attention"
                                                       : "heavily_compressed_attention",
                                    1, MODEL_MAX_SEQ, &out->compress, err));
    }
    if (which == HF_HEAVY_COMPRESSED)
        return PLAIT_OK;
    PLAIT_TRY(json_int(at, "index_n_heads", 1, MODEL_MAX_HEADS, &out->index_heads, err));
    PLAIT_TRY(json_int(at, "index_head_dim", 1, MODEL_MAX_HEAD_DIM, &out->index_dim, err));
    return json_int(at, "index_topk", 1, MODEL_MAX_SEQ, &out->index_topk, err);
}

/* Reads whether attention has rotary positions; Granite 4 states it. */
static plait_status read_rotary(const hf_config *hf, bool *out, plait_error *err)
{
    const char *type = NULL;

    *out = !hf_has_trait(hf, HF_NO_ROTARY);
    if (!hf_has_trait(hf, HF_NO_ROTARY))
        return PLAIT_OK;
    PLAIT_TRY(json_string_optional(hf->text, "position_embedding_type", hf->arena, &type, err));
    *out = type != NULL && strcmp(type, "rope") == 0;
    return PLAIT_OK;
}

/* Reads the heads of windowed layers where they differ, as in Step 3.5. */
static plait_status read_other_setting(const hf_config *hf, plait_attention *out, plait_error *err)
{
    json_cursor at;

    PLAIT_TRY(json_object_optional(hf->text, "attention_other_setting", &at, err));
    if (json_is_null(&at))
        return PLAIT_OK;
    PLAIT_TRY(json_int_optional(&at, "num_attention_heads", 1, MODEL_MAX_HEADS, &out->heads, err));
    PLAIT_TRY(
        json_int_optional(&at, "num_attention_groups", 1, MODEL_MAX_HEADS, &out->kv_heads, err));
    return json_int_optional(&at, "head_dim", 1, MODEL_MAX_HEAD_DIM, &out->head_dim, err);
}

/* In Gemma 4 the last layers reuse keys and values, in Hunyuan-Large all but every few. */
plait_status hf_reuses_kv(const hf_config *hf, bool *out, plait_error *err)
{
    const int layers = hf->model->layers;
    int last = 0, share = 1;
    bool cross = false;

    PLAIT_TRY(json_int_optional(hf->text, "num_kv_shared_layers", 0, layers - 1, &last, err));
    PLAIT_TRY(json_bool_optional(hf->text, "use_cla", &cross, err));
    PLAIT_TRY(json_int_optional(hf->text, "cla_share_factor", 1, PLAIT_MAX_LAYERS, &share, err));
    *out = hf->layer < layers && (hf->layer >= layers - last || (cross && hf->layer % share != 0));
    if (last > 0 || cross)
        hf_pick(hf, *out);
    return PLAIT_OK;
}

/* Reads the sizes of MiMo-V2, whose windowed layers have other heads, and sinks. */
static plait_status read_window_sizes(const hf_config *hf, hf_mixer which, plait_attention *out,
                                      plait_error *err)
{
    const json_cursor *const at = hf->text;
    const bool windowed = which == HF_SLIDING;

    if (!hf_has_trait(hf, HF_WINDOW_SIZES))
        return PLAIT_OK;
    hf_skip(hf, (const char *const[]){"sliding_window_size", "attention_chunk_size", NULL});
    PLAIT_TRY(json_int_optional(at, "v_head_dim", 1, MODEL_MAX_HEAD_DIM, &out->v_dim, err));
    PLAIT_TRY(hf_flag(hf, windowed ? "add_swa_attention_sink_bias" : "add_full_attention_sink_bias",
                      windowed, &out->sinks, err));
    if (!windowed)
        return PLAIT_OK;
    PLAIT_TRY(
        json_int_optional(at, "swa_num_attention_heads", 1, MODEL_MAX_HEADS, &out->heads, err));
    PLAIT_TRY(
        json_int_optional(at, "swa_num_key_value_heads", 1, MODEL_MAX_HEADS, &out->kv_heads, err));
    PLAIT_TRY(json_int_optional(at, "swa_head_dim", 1, MODEL_MAX_HEAD_DIM, &out->head_dim, err));
    return json_int_optional(at, "swa_v_head_dim", 1, MODEL_MAX_HEAD_DIM, &out->v_dim, err);
}

/* Reads whether Laguna has a gate of full width ("per-element" or true), not one of each head. */
static plait_status read_gating(const hf_config *hf, bool *out, plait_error *err)
{
    const char *word;
    json_cursor value;

    if (strcmp(hf->class.type, "laguna") != 0 || !json_has(hf->text, "gating"))
        return PLAIT_OK;
    PLAIT_TRY(json_value_optional(hf->text, "gating", &value, err));
    if (!json_is_string(&value))
        return json_as_bool(&value, out, err);
    PLAIT_TRY(json_as_string(&value, hf->arena, &word, err));
    *out = strcmp(word, "per-head") != 0;
    return PLAIT_OK;
}

/* Reads lists of the numbers of heads of each layer (Laguna). */
static plait_status read_layer_heads(const hf_config *hf, plait_attention *out, plait_error *err)
{
    static const char *const heads[] = {"num_attention_heads_per_layer", NULL};
    static const char *const kv_heads[] = {"num_key_value_heads_per_layer", NULL};

    PLAIT_TRY(hf_int_optional(hf, heads, 1, MODEL_MAX_HEADS, &out->heads, err));
    return hf_int_optional(hf, kv_heads, 1, MODEL_MAX_HEADS, &out->kv_heads, err);
}

static plait_status read_attention(const hf_config *hf, hf_mixer which, plait_attention *out,
                                   plait_error *err)
{
    bool bias, rotary;

    *out = (plait_attention){.sinks = hf_has_trait(hf, HF_SINKS)};

    const json_cursor *const at = hf->text;
    out->head_dim = hf->class.head_dim;
    const int heads = hf->class.heads > 0 ? hf->class.heads : hf_nested(hf, hf->class.nested_heads);
    PLAIT_TRY(hf_int_or(hf, heads_names, 1, MODEL_MAX_HEADS, heads, &out->heads, err));
    PLAIT_TRY(hf_int_optional(hf, head_dim_names, 1, MODEL_MAX_HEAD_DIM, &out->head_dim, err));
    PLAIT_TRY(read_kv_heads(hf, out, err));
    if (which == HF_FULL) {
        // Full layers of Gemma 4 have another head size and number of heads, and use the
        // keys as values too.
        PLAIT_TRY(json_bool_optional(hf->text, "attention_k_eq_v", &out->shared_kv, err));
        if (out->shared_kv)
            PLAIT_TRY(json_int_optional(hf->text, "num_global_key_value_heads", 1, MODEL_MAX_HEADS,
                                        &out->kv_heads, err));
        PLAIT_TRY(json_int_optional(hf->text, "global_head_dim", 1, MODEL_MAX_HEAD_DIM,
                                    &out->head_dim, err));
    }
    if (which == HF_SLIDING)
        PLAIT_TRY(read_other_setting(hf, out, err));
    PLAIT_TRY(read_layer_heads(hf, out, err));
    PLAIT_TRY(read_window_sizes(hf, which, out, err));
    PLAIT_TRY(hf_reuses_kv(hf, &out->reused_kv, err));
    PLAIT_TRY(
        model_check_kv_heads(at, hf_name(hf, kv_heads_names), out->heads, out->kv_heads, err));
    PLAIT_TRY(
        model_check_head_dim(at, "head_dim", hf->model->hidden, out->heads, &out->head_dim, err));
    if (out->v_dim == out->head_dim)
        out->v_dim = 0;
    PLAIT_TRY(hf_read_bias(hf, hf->class.attention_bias, HF_QKV_BIAS, &bias, err));
    out->qkv_bias = bias;
    out->out_bias = hf_has_trait(hf, HF_OUT_BIAS) || (bias && !hf_has_trait(hf, HF_NO_OUT_BIAS));
    PLAIT_TRY(json_bool_optional(at, "attention_out_bias", &out->out_bias, err)); // Seed-OSS

    // Full layers of Llama 4, and of Command R7B and EXAONE if others have a window, have no
    // positions; those of Llama 4 have no norms on q and k either.
    bool alibi;
    out->qk_norm = hf_has_trait(hf, HF_QK_NORM);
    PLAIT_TRY(json_bool_optional(hf->text, "qk_norm", &out->qk_norm, err));
    PLAIT_TRY(json_bool_optional(hf->text, "use_qk_norm", &out->qk_norm, err));
    PLAIT_TRY(json_bool_optional(hf->text, "qk_layernorm", &out->qk_norm, err));
    PLAIT_TRY(hf_alibi(hf, &alibi, err));
    PLAIT_TRY(read_rotary(hf, &rotary, err));
    out->rotary = !alibi && rotary;
    int window = 0;
    PLAIT_TRY(hf_window(hf, &window, err));
    const bool mixed = window > 0 || hf->class.pattern == HF_PATTERN_ROPE_CHUNK;
    if (which == HF_FULL && mixed && hf_has_trait(hf, HF_NO_ROTARY_FULL)) {
        out->rotary = false;
        out->qk_norm = out->qk_norm && !hf_has_numeric_trait(hf, HF_QK_L2_NORM);
    }
    if (hf_has_trait(hf, HF_GATED_ATTENTION))
        PLAIT_TRY(hf_flag(hf, "attn_output_gate", true, &out->gate, err));
    PLAIT_TRY(read_gating(hf, &out->gate, err));
    if (hf->class.q_rank != NULL)
        PLAIT_TRY(json_int(at, hf->class.q_rank, 1, MODEL_MAX_RANK, &out->q_rank, err));
    if (which == HF_SLIDING || which == HF_SPARSE || which == HF_HEAVY_COMPRESSED)
        PLAIT_TRY(hf_window(hf, &out->window, err));
    if (hf_has_trait(hf, HF_COMPRESSED))
        PLAIT_TRY(read_compressed(hf, which, out, err));
    if (which != HF_CHUNKED)
        return PLAIT_OK;
    out->chunk = 8192;
    return json_int_optional(hf->text, "attention_chunk_size", 1, MODEL_MAX_SEQ, &out->chunk, err);
}

/* ---- the other mixers ---- */

/*
 * Reads whether the layer attends to the keys that an earlier layer's indexer selected (GLM-5.2),
 * from a list, from a text with one letter per layer, or from a period after the first layers. The
 * modules for multi-token prediction have indexers.
 */
static plait_status read_index_reuse(const hf_config *hf, bool *out, plait_error *err)
{
    static const char *const types[] = {"full", "shared", NULL};
    const json_cursor *const at = hf->text;
    int period = 1, first = 2, word;
    const char *letters = NULL;
    json_cursor list, entry;

    PLAIT_TRY(json_int_optional(at, "index_topk_freq", 1, PLAIT_MAX_LAYERS, &period, err));
    PLAIT_TRY(json_int_optional(at, "index_skip_topk_offset", 0, PLAIT_MAX_LAYERS, &first, err));
    PLAIT_TRY(json_string_optional(at, "index_topk_pattern", hf->arena, &letters, err));
    PLAIT_TRY(json_array_optional(at, "indexer_types", &list, err));
    if (json_count(&list) > 0 && json_count(&list) != (size_t)hf->model->layers)
        return json_fail(&list, PLAIT_ERROR_SCHEMA, err,
                         "expected one entry for each of the %d layers, found %zu",
                         hf->model->layers, json_count(&list));
    *out = hf->layer > 0 && hf->layer >= first && (hf->layer - first + 1) % period != 0;
    if (letters != NULL)
        *out = strlen(letters) > (size_t)hf->layer && letters[hf->layer] == 'S';
    for (bool more = json_first(&list, &entry); more; more = json_next(&entry)) {
        PLAIT_TRY(json_as_word(&entry, types, &word, err));
        if (entry.index == (size_t)hf->layer)
            *out = word == 1;
    }
    *out = *out && hf->layer < hf->model->layers;
    hf_pick(hf, *out);
    return PLAIT_OK;
}

static plait_status read_mla(const hf_config *hf, plait_mla *out, plait_error *err)
{
    static const char *const redundant[] = {"num_key_value_heads", "head_dim", "qk_head_dim",
                                            "kv_channels", NULL};
    const json_cursor *const at = hf->text;

    *out = (plait_mla){0};
    hf_skip(hf, redundant);
    PLAIT_TRY(hf_int(hf, heads_names, 1, MODEL_MAX_HEADS, &out->heads, err));
    PLAIT_TRY(json_int_optional(at, "q_lora_rank", 0, MODEL_MAX_RANK, &out->q_rank, err));
    PLAIT_TRY(json_int(at, "kv_lora_rank", 1, MODEL_MAX_RANK, &out->kv_rank, err));
    PLAIT_TRY(json_int(at, "qk_nope_head_dim", 1, MODEL_MAX_HEAD_DIM, &out->nope_dim, err));
    PLAIT_TRY(json_int(at, "qk_rope_head_dim", 0, MODEL_MAX_HEAD_DIM, &out->rope_dim, err));
    PLAIT_TRY(json_int(at, "v_head_dim", 1, MODEL_MAX_HEAD_DIM, &out->v_dim, err));
    PLAIT_TRY(json_bool_optional(at, "mla_use_output_gate", &out->gate, err));
    if (!json_has(at, "index_n_heads"))
        return PLAIT_OK;
    bool reused = false;
    PLAIT_TRY(json_int(at, "index_n_heads", 1, MODEL_MAX_HEADS, &out->index_heads, err));
    PLAIT_TRY(json_int(at, "index_head_dim", 1, MODEL_MAX_HEAD_DIM, &out->index_dim, err));
    PLAIT_TRY(read_index_reuse(hf, &reused, err));
    if (reused)
        out->index_heads = out->index_dim = 0;
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

/*
 * Reads Kimi delta attention: one key head per value head, and two low-rank projections of the
 * width of a head, for the decay and for the output gate.
 */
static plait_status read_kimi_delta(const hf_config *hf, const json_cursor *at,
                                    plait_delta_net *out, plait_error *err)
{
    bool full_rank = false;
    int heads, dim;

    PLAIT_TRY(json_int(at, "num_heads", 1, MODEL_MAX_HEADS, &heads, err));
    PLAIT_TRY(json_int(at, "head_dim", 1, MODEL_MAX_HEAD_DIM, &dim, err));
    PLAIT_TRY(json_bool_optional(hf->text, "use_full_rank_gate", &full_rank, err));
    PLAIT_TRY(json_bool_optional(at, "use_full_rank_gate", &full_rank, err));
    *out = (plait_delta_net){.key_heads = heads,
                             .value_heads = heads,
                             .key_dim = dim,
                             .value_dim = dim,
                             .conv = 4,
                             .decay_rank = dim,
                             .gate_rank = full_rank ? 0 : dim};
    return json_int_optional(at, "short_conv_kernel_size", 1, MODEL_MAX_CONV, &out->conv, err);
}

/*
 * Reads lightning attention, which has as many key heads as query heads, even if the class's
 * full attention groups them.
 */
static plait_status read_lightning(const hf_config *hf, plait_delta_net *out, plait_error *err)
{
    int heads, dim = hf->class.head_dim;

    PLAIT_TRY(hf_int(hf, heads_names, 1, MODEL_MAX_HEADS, &heads, err));
    PLAIT_TRY(hf_int_optional(hf, head_dim_names, 1, MODEL_MAX_HEAD_DIM, &dim, err));
    PLAIT_TRY(model_check_head_dim(hf->text, "head_dim", hf->model->hidden, heads, &dim, err));
    *out = (plait_delta_net){
        .key_heads = heads, .value_heads = heads, .key_dim = dim, .value_dim = dim, .plain = true};
    return PLAIT_OK;
}

static plait_status read_linear(const hf_config *hf, plait_delta_net *out, plait_error *err)
{
    json_cursor at;

    PLAIT_TRY(json_object_optional(hf->text, "linear_attn_config", &at, err));
    if (!json_is_null(&at))
        return read_kimi_delta(hf, &at, out, err);
    return hf_has_trait(hf, HF_PLAIN_LINEAR) ? read_lightning(hf, out, err)
                                             : read_delta_net(hf, out, err);
}

static const char *const expand_names[] = {"expand", "mamba_expand", NULL};
static const char *const state_names[] = {"ssm_state_size", "mamba_d_state", "state_size",
                                          "mamba_state_dim", NULL};
static const char *const conv_names[] = {"conv_kernel", "mamba_d_conv", NULL};

/* Reads a Mamba layer. "time_step_rank": "auto" means hidden / 16, rounded up. */
static plait_status read_mamba_1(const hf_config *hf, plait_mamba *out, plait_error *err)
{
    static const char *const rank_names[] = {"time_step_rank", "mamba_dt_rank", NULL};
    const int hidden = hf->model->hidden;
    int expand = 2;
    json_cursor rank;

    *out = (plait_mamba){.state = 16, .conv = 4, .dt_rank = (hidden + 15) / 16};
    PLAIT_TRY(
        hf_int_optional(hf, expand_names, 1, MODEL_MAX_WIDTH / MODEL_MAX_HIDDEN, &expand, err));
    out->inner = expand * hidden;
    if (hf->class.pattern == HF_PATTERN_ALL_OTHER)
        PLAIT_TRY(
            json_int_optional(hf->text, "intermediate_size", 1, MODEL_MAX_WIDTH, &out->inner, err));
    PLAIT_TRY(hf_int_optional(hf, state_names, 1, MODEL_MAX_STATE, &out->state, err));
    PLAIT_TRY(hf_int_optional(hf, conv_names, 1, MODEL_MAX_CONV, &out->conv, err));
    PLAIT_TRY(json_value_optional(hf->text, hf_name(hf, rank_names), &rank, err));
    if (json_is_string(&rank))
        return PLAIT_OK;
    return hf_int_optional(hf, rank_names, 1, MODEL_MAX_RANK, &out->dt_rank, err);
}

/*
 * Reads a Mamba-2 layer, whose inner width is that of its heads. In pure Mamba-2 models, num_heads
 * and head_dim describe it; in hybrids they describe attention.
 */
static plait_status read_mamba_2(const hf_config *hf, plait_mamba *out, plait_error *err)
{
    static const char *const heads[] = {"mamba_num_heads", "mamba_n_heads", "n_mamba_heads", NULL};
    static const char *const dims[] = {"mamba_head_dim", "mamba_d_head", "mamba_headdim", NULL};
    static const char *const groups[] = {"n_groups", "mamba_n_groups", "mamba_ngroups",
                                         "mamba_num_groups", NULL};
    static const char *const chunks[] = {"chunk_size", "mamba_chunk_size", NULL};
    static const char *const pure_heads[] = {"num_heads", NULL}, *const pure_dims[] = {"head_dim",
                                                                                       NULL};
    const bool pure =
        hf->class.pattern == HF_PATTERN_ALL_OTHER && hf->class.other == HF_STATE_SPACE;
    const char *const *const dim_names = pure ? pure_dims : dims;
    int expand = 2, dim = 0;
    json_cursor value;

    *out = (plait_mamba){.state = 128, .conv = 4, .groups = pure ? 8 : 1};
    PLAIT_TRY(hf_int(hf, pure ? pure_heads : heads, 1, MODEL_MAX_HEADS, &out->heads, err));
    PLAIT_TRY(
        hf_int_optional(hf, expand_names, 1, MODEL_MAX_WIDTH / MODEL_MAX_HIDDEN, &expand, err));
    PLAIT_TRY(json_value_optional(hf->text, hf_name(hf, dim_names), &value, err));
    if (!json_is_string(&value)) // "auto"
        PLAIT_TRY(hf_int_optional(hf, dim_names, 1, MODEL_MAX_HEAD_DIM, &dim, err));
    out->inner = dim > 0 && dim <= MODEL_MAX_WIDTH / out->heads ? dim * out->heads
                                                                : expand * hf->model->hidden;
    PLAIT_TRY(json_int_optional(hf->text, "mamba_d_ssm", 1, MODEL_MAX_WIDTH, &out->inner, err));
    if (out->inner % out->heads != 0 || (dim > 0 && out->inner / out->heads != dim))
        return json_fail_key(hf->text, hf_name(hf, dim_names), PLAIT_ERROR_RANGE, err,
                             "expected a size that gives %d heads a width of at most %d, found %d",
                             out->heads, MODEL_MAX_WIDTH, dim > 0 ? dim : out->inner);
    PLAIT_TRY(hf_int_optional(hf, state_names, 1, MODEL_MAX_STATE, &out->state, err));
    PLAIT_TRY(hf_int_optional(hf, conv_names, 1, MODEL_MAX_CONV, &out->conv, err));
    PLAIT_TRY(hf_int_optional(hf, chunks, 1, MODEL_MAX_SEQ, &out->chunk, err));
    hf_skip(hf, (const char *const[]){"time_step_rank", "mamba_dt_rank", NULL}); // Mamba only
    PLAIT_TRY(hf_int_optional(hf, groups, 1, MODEL_MAX_HEADS, &out->groups, err));
    return model_check_kv_heads(hf->text, hf_name(hf, groups), out->heads, out->groups, err);
}

static plait_status read_mamba(const hf_config *hf, plait_mamba *out, plait_error *err)
{
    return hf_has_trait(hf, HF_MAMBA_1) ? read_mamba_1(hf, out, err) : read_mamba_2(hf, out, err);
}

/* Reads the gated short convolution of LFM2. */
static plait_status read_conv(const hf_config *hf, plait_conv *out, plait_error *err)
{
    int width_out;

    *out = (plait_conv){.width = hf->model->hidden};
    PLAIT_TRY(json_int(hf->text, "conv_L_cache", 1, MODEL_MAX_CONV, &out->kernel, err));
    PLAIT_TRY(json_bool_optional(hf->text, "conv_bias", &out->bias, err));
    PLAIT_TRY(json_int_optional(hf->text, "conv_dim", 1, MODEL_MAX_WIDTH, &out->width, err));
    width_out = out->width;
    return json_int_optional(hf->text, "conv_dim_out", out->width, out->width, &width_out, err);
}

/* Reads the recurrent block of Griffin, whose gates have as many blocks as attention has heads. */
static plait_status read_recurrent(const hf_config *hf, plait_conv *out, plait_error *err)
{
    *out = (plait_conv){.width = hf->model->hidden, .kernel = 4, .bias = true};
    PLAIT_TRY(json_int_optional(hf->text, "lru_width", 1, MODEL_MAX_WIDTH, &out->width, err));
    PLAIT_TRY(json_int_optional(hf->text, "conv1d_width", 1, MODEL_MAX_CONV, &out->kernel, err));
    PLAIT_TRY(hf_int(hf, heads_names, 1, MODEL_MAX_HEADS, &out->blocks, err));
    if (out->width % out->blocks != 0)
        return json_fail_key(hf->text, "lru_width", PLAIT_ERROR_RANGE, err,
                             "expected a multiple of the %d heads, found %d", out->blocks,
                             out->width);
    return PLAIT_OK;
}

plait_status hf_read_mixer(const hf_config *hf, hf_mixer which, plait_layer *out, plait_error *err)
{
    switch (which) {
    case HF_LINEAR:
        out->mixer = PLAIT_MIXER_DELTA_NET;
        return read_linear(hf, &out->delta_net, err);
    case HF_STATE_SPACE:
        out->mixer = PLAIT_MIXER_MAMBA;
        return read_mamba(hf, &out->mamba, err);
    case HF_CONV:
        out->mixer = PLAIT_MIXER_CONV;
        return read_conv(hf, &out->conv, err);
    case HF_RECURRENT:
        out->mixer = PLAIT_MIXER_CONV;
        return read_recurrent(hf, &out->conv, err);
    case HF_HYBRID:
        out->second_mixer = PLAIT_MIXER_MAMBA;
        PLAIT_TRY(read_mamba(hf, &out->mamba, err));
        break;
    default:
        break;
    }
    if (json_has(hf->text, "kv_lora_rank")) {
        out->mixer = PLAIT_MIXER_MLA;
        return read_mla(hf, &out->mla, err);
    }
    out->mixer = PLAIT_MIXER_ATTENTION;
    return read_attention(hf, which, &out->attention, err);
}
