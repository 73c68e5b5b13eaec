/* model_hf_ignored.c - what the reader of Hugging Face configs passed over, in a sentence
 *
 * A key of a known class is passed over in silence, unless it names a part whose cost is then missing. Of
 * an unknown class nothing is known, so that every key without a meaning here is listed.
 */
#include "model_hf.h"
#include "model_hf_numerics.h"
#include "text.h"

/* Keys that some reader here looks at, or that have no bearing on cost. */
// clang-format off
static const char *const understood[] = {
    "activation", "activation_function", "alibi", "apply_residual_connection_post_layernorm",
    "architectures", "attention_bias", "attention_chunk_size", "attention_dropout",
    "attention_k_eq_v", "attention_multiplier", "attention_probs_dropout_prob", "attn_config",
    "attn_logit_softcapping", "attn_output_gate", "attn_pdrop", "attn_scale", "auto_map",
    "aux_loss_alpha", "beta_fast", "beta_slow", "bias", "conv_kernel", "d_model",
    "decoder_sparse_step", "dropout", "dtype", "embd_pdrop", "embedding_multiplier",
    "enable_moe_block", "expand", "expansion_ratio", "experts_per_token", "ffn_dim",
    "ffn_hidden_size", "final_logit_softcapping", "first_k_dense_replace",
    "full_attention_interval", "global_head_dim", "head_dim", "hidden_act", "hidden_activation",
    "hidden_dropout", "hidden_dropout_prob", "hidden_size", "index_head_dim", "index_n_heads",
    "index_topk", "initializer_range", "interleave_moe_layer_step", "intermediate_size",
    "intermediate_size_mlp", "is_decoder", "is_encoder_decoder", "kv_lora_rank", "layer_norm_eps",
    "layer_norm_epsilon", "layer_types", "learned_pos_emb", "linear_conv_kernel_dim",
    "linear_key_head_dim", "linear_num_key_heads", "linear_num_value_heads",
    "linear_value_head_dim", "logit_scale", "logits_scaling", "max_position_embeddings",
    "max_seq_len", "max_sequence_length", "max_window_layers", "mlp_bias", "mlp_layer_types",
    "mlp_only_layers", "model_type", "moe_intermediate_size", "moe_layer_freq", "moe_layers",
    "moe_num_experts", "moe_topk", "mtp_num_hidden_layers", "multi_query", "n_embd", "n_embed",
    "n_group", "n_head", "n_heads", "n_inner", "n_kv_heads", "n_layer", "n_layers", "n_positions",
    "n_routed_experts", "n_shared_experts", "new_decoder_architecture", "no_bias", "no_rope_layers",
    "norm_eps", "norm_epsilon", "norm_topk_prob", "num_attention_heads", "num_experts",
    "num_experts_per_tok", "num_experts_per_token", "num_global_key_value_heads",
    "num_hidden_layers", "num_key_value_heads", "num_kv_heads", "num_local_experts",
    "num_nextn_predict_layers", "num_shared_experts", "original_max_position_embeddings",
    "output_attentions", "output_hidden_states", "output_router_logits", "parallel_attn",
    "partial_rotary_factor", "pretraining_tp", "q_lora_rank", "qk_head_dim", "qk_nope_head_dim",
    "qk_norm", "qk_rope_head_dim", "quantization_config", "query_pre_attn_scalar", "resid_pdrop",
    "residual_dropout", "residual_multiplier", "return_dict", "rms_norm_eps", "rotary_dim",
    "rotary_emb_base", "rotary_pct", "routed_scaling_factor", "router_aux_loss_coef",
    "router_jitter_noise", "scoring_func", "seq_aux", "seq_length",
    "shared_expert_intermediate_size", "sliding_window", "sliding_window_pattern", "state_size",
    "text_config", "tie_word_embeddings", "time_step_rank", "tokenizer_class", "top_k_experts",
    "topk_group", "topk_method", "torch_dtype", "transformers_version", "use_cache",
    "use_parallel_residual", "use_qk_norm", "use_sliding_window", "v_head_dim", "vocab_size",
    "word_embed_proj_dim", NULL};
// clang-format on

/* Families of keys without bearing: token ids, and what shapes positions but not their cost. */
static bool is_harmless(const char *key)
{
    return key[0] == '_' || text_starts_with(key, "rope_") || text_starts_with(key, "task_") ||
           text_ends_with(key, "_token_id") || text_ends_with(key, "_token_ids") ||
           text_ends_with(key, "_token_index") || text_starts_with(key, "id2") ||
           text_starts_with(key, "label2");
}

/* Known classes have these too, and then part of the cost is missing. */
static bool is_unmodelled(const char *key)
{
    static const char *const keys[] = {"vision_config",
                                       "audio_config",
                                       "hidden_size_per_layer_input",
                                       "num_kv_shared_layers",
                                       "use_double_wide_mlp",
                                       "zero_expert_num",
                                       "cross_attention_layers",
                                       NULL};

    return text_index(key, keys) >= 0;
}

/* The word for an activation is none that is known. */
static bool is_unread(const hf_config *hf, const char *key)
{
    return hf->model->numerics.activation == PLAIT_ACTIVATION_UNKNOWN &&
           text_index(key, hf_activation_keys) >= 0;
}

/* null, false, 0 and {} say that something is not there. */
static bool says_nothing(const json_cursor *at)
{
    double number = 1.0;
    bool flag = true;

    if (json_is_number(at))
        return json_as_number(at, JSON_ANY, &number, NULL) == PLAIT_OK && number == 0.0;
    if (json_is_object(at) || json_is_array(at))
        return json_count(at) == 0;
    return json_is_null(at) || (json_as_bool(at, &flag, NULL) == PLAIT_OK && !flag);
}

static void list_ignored(const hf_config *hf, const json_cursor *object, text_builder *out)
{
    json_cursor at;

    for (bool more = json_first(object, &at); more; more = json_next(&at)) {
        const bool known = hf->known || text_index(at.key, understood) >= 0 || is_harmless(at.key);

        if ((known && !is_unmodelled(at.key) && !is_unread(hf, at.key)) || says_nothing(&at))
            continue;
        text_append(out, out->length > 0 ? ", " : "");
        text_append(out, at.key);
    }
}

plait_status hf_ignored(const hf_config *hf, const char **out, plait_error *err)
{
    text_builder keys;
    const char *list;

    text_builder_init(&keys, hf->arena);
    list_ignored(hf, hf->text, &keys);
    if (hf->text != hf->root)
        list_ignored(hf, hf->root, &keys);
    list = text_builder_finish(&keys, NULL);
    if (list == NULL)
        return plait_fail_nomem(err);

    *out = "";
    if (!hf->known)
        *out = plait_arena_printf(
            hf->arena, "%s%s%s and was read like llama; ignored: %s",
            hf->class->type[0] != '\0' ? "the model type \"" : "the file says no model_type",
            hf->class->type, hf->class->type[0] != '\0' ? "\" is not known" : "",
            list[0] != '\0' ? list : "nothing");
    else if (list[0] != '\0')
        *out = plait_arena_printf(hf->arena, "ignored: %s", list);
    return *out == NULL ? plait_fail_nomem(err) : PLAIT_OK;
}
