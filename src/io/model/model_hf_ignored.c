/*
 * model_hf_ignored.c - checks the keys of a Hugging Face config that the reader did not use
 *
 * The JSON reader marks each member that a getter found (json_was_read()). Unmarked members are in
 * three groups: keys that do not affect the cost are skipped; keys that give a size or a number of
 * parts are an error, since the price would omit that part; all other keys are listed in a warning.
 */
#include <math.h>
#include <string.h>

#include "io/model/model_hf.h"
#include "base/text.h"

/* ---- kinds of keys ---- */

/*
 * Keys that do not affect the cost of the decoder, although their names contain a size word or
 * their values are set: the origin of the file, how transformers runs the model and generates text,
 * context lengths other than the one that was read, initialisation, factors and clamps.
 */
// clang-format off
static const char *const harmless_keys[] = {
    "activation_situ_beta", "activation_situ_linear_beta", "activation_sparsity_pattern",
    "add_cross_attention", "altup_coef_clip", "apply_query_key_layer_scaling",
    "apply_residual_connection_post_layernorm", "architectures", "att_impl_type",
    "attention_in_multiplier", "attention_method", "attention_out_multiplier",
    "attention_softmax_in_fp32", "attn_implementation", "attn_rotary_emb", "attn_scale",
    "attn_temperature_tuning", "auto_map", "bias_dropout_fusion", "block_init_scale",
    "block_mlp_init_scale", "block_out_init_scale", "block_use_swiglu", "block_use_xavier_init",
    "cache_implementation", "chunk_size_feed_forward", "cla_share_factor", "compress_rope_theta",
    "compression_config", "compression_ratio", "conv_use_xavier_init", "dense_list",
    "dim_model_base", "diversity_penalty", "do_sample", "dt_limit", "dtype", "early_stopping",
    "embd_init_scale", "embedding_multiplier", "embeddings_scale_by_sqrt_dim",
    "enable_lm_head_fp32", "enable_moe_fp32_combine", "encoder_no_repeat_ngram_size", "ep_size",
    "expert_dtype", "final_w_init_variance_scale", "floor_scale", "full_attn_alpha_factor",
    "full_attn_beta_factor", "gate_lower_bound", "group_norm_size", "hc_eps", "hc_sinkhorn_iters",
    "ignore_index", "indexer_rope_interleave", "initial_context_length", "input_jitter_noise",
    "is_decoder", "key_multiplier", "language_model_only", "layer_switch",
    "layernorm_full_attention_alpha", "layernorm_full_attention_beta",
    "layernorm_linear_attention_alpha", "layernorm_linear_attention_beta", "layernorm_mlp_alpha",
    "layernorm_mlp_beta", "length_penalty", "linear_attn_alpha_factor", "linear_attn_beta_factor",
    "linear_mode", "linear_rope", "linear_scale", "linear_silu", "lm_head_multiplier",
    "mamba_conv_bias", "mamba_dt_init_floor", "mamba_dt_limit", "mamba_dt_max", "mamba_dt_min",
    "mamba_hidden_act", "mamba_inner_layernorms", "mamba_norm_before_gate", "mamba_rms_norm",
    "mamba_ssm_cache_dtype", "mamba_ssm_dtype", "mamba_use_mlp", "max_length",
    "max_position_embeddings", "max_seq_len", "max_seq_length", "max_sequence_length",
    "max_token_len", "max_window_layers", "min_length", "mla_scale_kv_lora", "mla_scale_q_lora",
    "mlp_alpha_factor", "mlp_beta_factor", "mlp_expansion_factor", "mlp_multipliers",
    "model_max_length", "model_type", "moe_capacity", "moe_gate_activation_func",
    "moe_router_logit_softcapping", "moe_router_use_sigmoid", "moe_shared_expert_overlap",
    "mrope_section", "mscale", "mtp_share_layers", "n_ctx", "n_positions", "need_fp32_gate",
    "no_repeat_ngram_size", "no_rope_layer_interval", "no_rope_layers", "norm_before_gate",
    "normalization_function", "num_beam_groups", "num_beams", "num_hash_layers", "num_image_tokens",
    "num_logits_to_keep", "num_media_embeds", "num_return_sequences", "onnx_safe",
    "order_of_interleaved_layers", "org_vocab_size", "original_max_position_embeddings",
    "original_rope", "output_attentions", "output_gate_type", "output_hidden_states", "output_past",
    "output_router_logits", "pad2square", "partial_rotary_factor", "partial_rotary_factors",
    "post_layer_norm", "postnorm", "prefix", "pretraining_tp", "problem_type", "ps_version",
    "qk_norm_type", "quantization_config", "repetition_penalty", "rescale_prenorm_residual",
    "residual_in_fp32", "return_dict", "return_dict_in_generate", "rms_norm", "rmsnorm",
    "rope_local_base_freq", "rope_ratio", "rotary_dim", "rotary_pct", "scale_attn_weights",
    "scale_depth", "scale_emb", "seq_aux", "seq_length", "seq_length_scale", "shared_moe_mode",
    "ssm_in_multiplier", "ssm_multipliers", "ssm_out_multiplier", "swiglu_alpha", "swiglu_limit",
    "swiglu_limits", "swiglu_limits_shared", "temperature", "template", "time_step_floor",
    "time_step_init_scheme", "time_step_limit", "time_step_max", "time_step_min", "time_step_scale",
    "tokenizer_class", "tokenizer_type", "top_k", "top_p", "topk_method", "torchscript",
    "transformers_version", "typical_p", "use_bfloat16", "use_bidirectional_attention", "use_cache",
    "use_conv_bias", "use_dynamic_ntk", "use_embedding_sharing", "use_flash_attn",
    "use_gated_activation", "use_gemma_norm", "use_grouped_topk", "use_linear_silu",
    "use_logn_attn", "use_mamba_kernels", "use_mixed_mlp_moe", "use_moe", "use_moe_router_bias",
    "use_mrope", "use_mtp", "use_parallel_block", "use_pos_enc", "use_rmsnorm", "use_routing_bias",
    "vocab_size_per_layer_input", "w_init_variance_scale", "yarn_only_types", "zero_centered",
    "zero_expert_type", NULL};
static const char *const harmless_ends[] = {
    "_coef", "_coeff", "_dropout", "_dropout_prob", "_dtype", "_eps", "_epsilon", "_id",
    "_init_std", "_loss_alpha", "_pdrop", "_rope_theta", "_token", "_token_ids", "_token_index",
    NULL};
/*
 * Keys with these prefixes or suffixes are harmless unless they give a size, as rope_head_dim does.
 */
static const char *const mostly_harmless_starts[] = {
    "_", "id2", "init_", "initializer_", "label2", "rope_", "rotary_emb_", "router_", "summary_",
    "task_", NULL};
static const char *const mostly_harmless_ends[] = {"_scaling_factor", "_tokens", NULL};
/*
 * Next to a nested decoder, keys that contain one of these words describe other towers and their
 * connectors.
 */
static const char *const tower_words[] = {
    "audio", "connector", "downsample", "image", "media", "mm", "multimodal", "patch", "perceiver",
    "pixel", "projection", "projector", "resampler", "select", "spatial", "speech", "thumbnail",
    "video", "vision", "visual", "vit", NULL};

/*
 * Keys of parts that plait omits on purpose. The published weights of MiniMax-M2 have no modules
 * for multi-token prediction, although their configs count them. "intermediate_size" is unused if
 * all layers have experts of another width.
 */
static const char *const left_out[] = {
    "audio_config", "intermediate_size", "mtp_transformer_layers", "num_mtp_modules",
    "vision_config", NULL};

/*
 * Keys of parts that a plait model cannot describe, with the reason.
 */
static const struct {
    const char *key;
    const char *reason;
} unpriced[] = {
    {"altup_num_inputs", "predictions between layers (AltUp)"},
    {"v_head_dim", "values of another width than keys"},
    {"swa_v_head_dim", "values of another width than keys"},
    {"index_kpool", "an indexer over pooled keys"},
    {"parallel_attn_mlp_res", "an MLP parallel to attention and experts"},
    {"num_mem_blocks", "one block of attention that several layers share"},
};

/* Keys of parts that are priced as another part or that are too small for a price. */
static const struct {
    const char *key;
    const char *note;
} approximated[] = {
    {"sparse_attention_config", "attention is priced to all keys, without the indexer"},
    {"cross_attention_layers", "priced as layers of self-attention"},
    {"use_head_wise_attn_gate", "the gates of one number per head are not priced"},
    {"gating_types", "the gates of one number per head are not priced"},
};

static const char *const size_words[] = {
    "adapter", "attention", "attn", "block", "blocks", "bottleneck", "channels", "chunk",
    "compress", "conv", "d", "depth", "dim", "dims", "expand", "expert", "experts", "ffn", "freq",
    "group", "groups", "head", "heads", "hidden", "hybrid", "index", "indexer", "inner",
    "intermediate", "interval", "kernel", "kv", "latent", "layer", "layers", "linear", "lora",
    "mamba", "memory", "mlp", "moe", "mult", "multiple", "n", "num", "pattern", "period", "rank",
    "ratio", "ratios", "size", "sizes", "sliding", "sparse", "ssm", "state", "stride", "swa",
    "topk", "types", "width", "window", NULL};
/*
 * A key whose value is a fraction gives a size if the key contains a ratio word, or "multiplier"
 * and a width word. A key whose value is a text gives a size if the key contains a spelling word.
 */
static const char *const ratio_words[] = {"expand", "expansion", "mult", "ratio", NULL};
static const char *const width_words[] = {
    "dim", "ffn", "hidden", "intermediate", "mlp", "width", NULL};
static const char *const spelling_words[] = {"pattern", "types", NULL};
// clang-format on

/* Returns whether the key begins, or ends, with one of the words; `matches` selects which. */
static bool has_affix(const char *key, const char *const *words,
                      bool matches(const char *, const char *))
{
    while (*words != NULL && !matches(key, *words))
        words++;
    return *words != NULL;
}

/*
 * Returns the length of the first word of a key. A word ends at "_" or "-", and before a capital
 * letter that follows a small one.
 */
static size_t word_length(const char *key)
{
    size_t length = strcspn(key, "_-");

    for (size_t i = 1; i < length; i++)
        if (text_lower(key[i]) != key[i] && text_lower(key[i - 1]) == key[i - 1])
            length = i;
    return length;
}

static bool is_word(const char *text, size_t length, const char *word)
{
    for (size_t i = 0; i < length; i++)
        if (text_lower(text[i]) != word[i])
            return false;
    return word[length] == '\0';
}

/*
 * Returns whether a key contains one of the words; "num_experts" and "numExperts" contain the same
 * words.
 */
static bool has_word(const char *key, const char *const *words)
{
    while (*key != '\0') {
        const size_t length = word_length(key);

        for (const char *const *word = words; *word != NULL; word++)
            if (is_word(key, length, *word))
                return true;
        key += length + (key[length] == '_' || key[length] == '-');
    }
    return false;
}

/* Returns whether a value means that the part is absent: null, false, 0, "", {} or []. */
static bool is_absent(const json_cursor *at)
{
    double number = 1.0;
    bool flag = true;

    if (json_is_number(at))
        return json_as_number(at, JSON_ANY, &number, NULL) == PLAIT_OK && number == 0.0;
    if (json_is_object(at) || json_is_array(at))
        return json_count(at) == 0;
    return json_is_null(at) || (json_as_bool(at, &flag, NULL) == PLAIT_OK && !flag);
}

/*
 * Returns whether a value equals plait's assumption: a period or factor of 1, or a list that gives
 * every layer the assumed type.
 */
static bool has_default_value(const json_cursor *at)
{
    json_cursor element;
    int number = 0;

    if (text_index(at->key, (const char *const[]){"full_attn_mod", "interpolate_factor",
                                                  "moe_every_n_layer", NULL}) >= 0)
        return json_as_int(at, 1, 1, &number, NULL) == PLAIT_OK;
    if (!json_is_array(at) || strcmp(at->key, "attn_type_list") != 0)
        return false;
    for (bool more = json_first(at, &element); more; more = json_next(&element))
        if (json_as_int(&element, 1, 1, &number, NULL) != PLAIT_OK)
            return false;
    return true;
}

static bool gives_a_size(const json_cursor *at)
{
    double number = 0.0;

    if (json_is_string(at))
        return has_word(at->key, spelling_words);
    if (json_is_array(at) || json_is_object(at))
        return has_word(at->key, size_words);
    if (!json_is_number(at) || json_as_number(at, JSON_ANY, &number, NULL) != PLAIT_OK)
        return false;
    return has_word(at->key, ratio_words) ||
           (has_word(at->key, (const char *const[]){"multiplier", NULL}) &&
            has_word(at->key, width_words)) ||
           (number == trunc(number) && has_word(at->key, size_words));
}

static bool is_harmless(const json_cursor *at)
{
    const char *const key = at->key;

    return text_index(key, harmless_keys) >= 0 || has_affix(key, harmless_ends, text_ends_with) ||
           ((has_affix(key, mostly_harmless_starts, text_starts_with) ||
             has_affix(key, mostly_harmless_ends, text_ends_with)) &&
            !gives_a_size(at));
}

const char *hf_unread_size(const json_cursor *object)
{
    json_cursor at;

    for (bool more = json_first(object, &at); more; more = json_next(&at))
        if (!json_was_read(&at) && !is_absent(&at) && !is_harmless(&at) && gives_a_size(&at))
            return at.key;
    return NULL;
}

/* ---- the keys of one object ---- */

typedef struct unread_keys {
    text_names named;
    json_cursor first;  /* first key to refuse, preferably with a reason; its value may be NULL */
    text_builder notes; /* on approximated keys, each after "; " */
    text_builder sizes; /* further keys that give a size */
} unread_keys;

/*
 * Returns whether the file has a window but nothing determines which layers use it: the class is
 * unknown and the window is shorter than the context.
 */
static bool is_unplaced_window(const hf_config *hf, const char *key)
{
    int window = 0;

    return !hf->known && strcmp(key, "sliding_window") == 0 && !json_has(hf->text, "layer_types") &&
           hf_window(hf, &window, NULL) == PLAIT_OK && window > 0 &&
           (hf->model->max_seq == 0 || window < hf->model->max_seq);
}

static const char *reason_of(const char *key)
{
    for (size_t u = 0; u < sizeof unpriced / sizeof *unpriced; u++)
        if (strcmp(unpriced[u].key, key) == 0)
            return unpriced[u].reason;
    return NULL;
}

static void add_note(unread_keys *out, const char *key, const char *note)
{
    text_append(&out->notes, "; ");
    text_append(&out->notes, key);
    text_append(&out->notes, ": ");
    text_append(&out->notes, note);
}

static void sort_key(const hf_config *hf, const json_cursor *at, unread_keys *out)
{
    const bool window = is_unplaced_window(hf, at->key);

    // The reader found an activation that plait does not have.
    if (hf->model->numerics.activation == PLAIT_ACTIVATION_UNKNOWN &&
        text_index(at->key, hf_activation_keys) >= 0) {
        text_names_add(&out->named, at->key);
        return;
    }
    if ((json_was_read(at) && !window) || is_absent(at) || is_harmless(at) || has_default_value(at))
        return;
    for (size_t a = 0; a < sizeof approximated / sizeof *approximated; a++)
        if (strcmp(approximated[a].key, at->key) == 0) {
            add_note(out, at->key, approximated[a].note);
            return;
        }
    const char *const reason = reason_of(at->key);
    const bool size = window || reason != NULL || gives_a_size(at);
    if (text_index(at->key, left_out) >= 0 || !size || hf->assume_llama)
        text_names_add(&out->named, at->key);
    else if (out->first.value == NULL || (reason != NULL && reason_of(out->first.key) == NULL))
        out->first = *at;
    else if (out->sizes.length < 60) {
        text_append(&out->sizes, out->sizes.length > 0 ? ", " : "");
        text_append(&out->sizes, at->key);
        if (out->sizes.length >= 60)
            text_append(&out->sizes, ", ...");
    }
}

static void sort_keys(const hf_config *hf, const json_cursor *object, unread_keys *out)
{
    json_cursor at;

    for (bool more = json_first(object, &at); more; more = json_next(&at))
        sort_key(hf, &at, out);
}

/* ---- result ---- */

/*
 * Sorts the keys next to a nested decoder. The warning names other towers. Sizes of their
 * connectors, and sizes that the decoder's own object repeats, are skipped.
 */
static void sort_keys_around(const hf_config *hf, const json_cursor *around, unread_keys *out)
{
    static const char *const repeated[] = {
        "hidden_size",       "intermediate_size",   "vocab_size",
        "num_hidden_layers", "num_attention_heads", "num_key_value_heads",
        "head_dim",          "sliding_window",      NULL};
    json_cursor at;

    for (bool more = json_first(around, &at); more; more = json_next(&at)) {
        if (json_is_object(&at) && !json_was_read(&at) && !is_absent(&at) && !is_harmless(&at)) {
            text_names_add(&out->named, at.key);
            if (text_ends_with(at.key, "_config"))
                hf->model->unread = plait_arena_text(hf->arena, at.key);
        } else if (!json_is_object(&at) && !has_word(at.key, tower_words) &&
                   strcmp(at.key, "mlp_depth") != 0 && // matrices of Ming's connector
                   !(text_index(at.key, repeated) >= 0 && hf_mentions(hf->text, at.key)))
            sort_key(hf, &at, out);
    }
}

/* Writes the warning about a model whose unread keys change no size: "" if there is nothing. */
static plait_status warn(const hf_config *hf, unread_keys *keys, const char **out, plait_error *err)
{
    const char *const list = text_names_finish(&keys->named);

    PLAIT_TRY(plait_check_allocated(list, err));
    *out = "";
    if (!hf->known)
        *out = plait_arena_printf(
            hf->arena, "%s%s%s, read as a llama model; ignored keys: %s",
            hf->class.type[0] != '\0' ? "unknown model type \"" : "no model_type", hf->class.type,
            hf->class.type[0] != '\0' ? "\"" : "", list[0] != '\0' ? list : "none");
    else if (list[0] != '\0')
        *out = plait_arena_printf(hf->arena, "ignored keys: %s", list);
    for (int m = 0; m < PLAIT_MODALITIES && *out != NULL; m++)
        if (hf->left_out[m] != NULL)
            *out = plait_arena_printf(hf->arena, "%s; %s: %s", *out, hf_encoder_key[m],
                                      hf->left_out[m]);
    const char *const notes = text_builder_finish(&keys->notes, NULL);
    if (*out == NULL || notes == NULL)
        return plait_fail_nomem(err);
    if (notes[0] != '\0')
        *out = plait_arena_printf(hf->arena, "%s%s", *out,
                                  (*out)[0] != '\0' ? notes : notes + strlen("; "));
    return *out == NULL ? plait_fail_nomem(err) : PLAIT_OK;
}

/* Fails with the first unread key that changes a size, and the names of the others. */
static plait_status refuse(const hf_config *hf, unread_keys *keys, plait_error *err)
{
    const char *const more = text_builder_finish(&keys->sizes, NULL);

    const char *const reason = reason_of(keys->first.key);
    PLAIT_TRY(plait_check_allocated(more, err));
    if (reason != NULL)
        return json_fail(&keys->first, PLAIT_ERROR_SCHEMA, err,
                         "expected only parts that plait can price, found \"%.60s\" (%s)%s%s",
                         keys->first.key, reason, more[0] != '\0' ? ", " : "", more);
    return json_fail(&keys->first, PLAIT_ERROR_SCHEMA, err,
                     "expected only sizes that plait can price, found also \"%.60s\"%s%s, "
                     "unsupported for %.40s",
                     keys->first.key, more[0] != '\0' ? ", " : "", more,
                     hf->class.type[0] != '\0' ? hf->class.type : "a model without model_type");
}

plait_status hf_ignored(const hf_config *hf, const char **out, plait_error *err)
{
    static const char *const objects[] = {"attn_config", "linear_attn_config", NULL};
    unread_keys keys = {0};
    json_cursor object;

    text_names_init(&keys.named, hf->arena);
    text_builder_init(&keys.sizes, hf->arena);
    text_builder_init(&keys.notes, hf->arena);
    if (hf->headless != NULL)
        add_note(&keys, hf->headless,
                 "the model has no output projection, which is priced but not counted");
    if (hf->weights_note != NULL)
        add_note(&keys, "quantization_config", hf->weights_note);
    sort_keys(hf, hf->text, &keys);
    for (const json_cursor *around = hf->text->parent; around != NULL; around = around->parent)
        sort_keys_around(hf, around, &keys);
    for (const char *const *name = objects; *name != NULL; name++) {
        PLAIT_TRY(json_value_optional(hf->text, *name, &object, err));
        if (json_is_object(&object))
            sort_keys(hf, &object, &keys);
    }
    return keys.first.value == NULL ? warn(hf, &keys, out, err) : refuse(hf, &keys, err);
}
