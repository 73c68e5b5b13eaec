/* attention.c - attention, windows and positions of a model in Megatron-LM's arguments */
#include "launch/megatron/args_parts.h"

#include <math.h>

/* ---- mixers ---- */

static void take_mla(const plait_mla *mla, megatron_args *out)
{
    out->num_attention_heads = mla->heads;
    out->multi_latent_attention = true;
    out->q_lora_rank = mla->q_rank;
    out->kv_lora_rank = mla->kv_rank;
    out->qk_head_dim = mla->nope_dim;
    out->qk_pos_emb_head_dim = mla->rope_dim;
    out->v_head_dim = mla->v_dim;
    out->kv_channels = mla->v_dim;
    out->qk_layernorm = true;
    if (mla->index_heads == 0)
        return;
    out->experimental_attention_variant = "dsa";
    out->dsa_indexer_n_heads = mla->index_heads;
    out->dsa_indexer_head_dim = mla->index_dim;
    out->dsa_indexer_topk = mla->index_topk;
}

static void take_attention(const plait_attention *attention, const plait_numerics *numerics,
                           megatron_args *out)
{
    out->num_attention_heads = attention->heads;
    out->kv_channels = attention->head_dim;
    out->group_query_attention = attention->kv_heads != attention->heads;
    if (out->group_query_attention)
        out->num_query_groups = attention->kv_heads;
    out->qk_layernorm = attention->qk_norm && !numerics->qk_l2_norm;
    out->qk_l2_norm = numerics->qk_l2_norm;
    out->attention_output_gate = attention->gate;
    if (attention->sinks)
        out->softmax_type = "learnable";
}

static void take_delta_net(const plait_delta_net *net, megatron_args *out)
{
    out->experimental_attention_variant = "gated_delta_net";
    out->linear_num_key_heads = net->key_heads;
    out->linear_num_value_heads = net->value_heads;
    out->linear_key_head_dim = net->key_dim;
    out->linear_value_head_dim = net->value_dim;
    out->linear_conv_kernel_dim = net->conv;
}

/* Megatron asks for heads even where every layer is linear. */
static void take_mixers(const plait_model *model, const model_facts *facts, megatron_args *out)
{
    if (facts->mla != NULL)
        take_mla(facts->mla, out);
    else if (facts->attention != NULL)
        take_attention(facts->attention, &model->numerics, out);
    else
        out->num_attention_heads = facts->delta_net->value_heads;
    if (facts->delta_net != NULL)
        take_delta_net(facts->delta_net, out);
}

/* ---- positions ---- */

static void take_yarn(const plait_rope *rope, bool mla, megatron_args *out)
{
    out->rotary_scaling_factor = model_number(rope->factor);
    if (mla) {
        out->mscale = model_number(rope->mscale);
        out->mscale_all_dim = model_number(rope->mscale_all_dim);
    } else {
        out->yarn_original_max_position_embeddings = rope->original_seq;
        out->yarn_beta_fast = model_number(rope->beta_fast);
        out->yarn_beta_slow = model_number(rope->beta_slow);
    }
}

static void take_scaling(const plait_rope *rope, bool mla, megatron_args *out)
{
    if (rope->kind == PLAIT_ROPE_LINEAR && rope->factor >= 1.0)
        out->rotary_seq_len_interpolation_factor = rope->factor;
    out->use_rope_scaling = rope->kind == PLAIT_ROPE_LLAMA3;
    if (out->use_rope_scaling)
        out->rope_scaling_factor = model_number(rope->factor);
    if (rope->kind == PLAIT_ROPE_YARN)
        take_yarn(rope, mla, out);
}

static void take_rotary(const plait_rope *rope, const plait_mla *mla, megatron_args *out)
{
    const bool yarn = rope->kind == PLAIT_ROPE_YARN;

    out->position_embedding_type = yarn && mla == NULL ? "yarn" : "rope";
    out->rotary_base = rope->base >= 1.0 ? rope->base : (double)NAN;
    if (rope->fraction > 0.0)
        out->rotary_percent = rope->fraction < 1.0 ? rope->fraction : 1.0;
    out->rotary_interleaved = rope->interleaved && mla == NULL; // MLA orders the pairs itself
    if (mla != NULL) {
        if (!yarn || out->core >= 14) // before, yarn was the only one of MLA and had no argument
            out->rope_type = yarn ? "yarn" : "rope";
        // the fused kernel takes YaRN alone, no indexer, and MLA since 0.13 (TransformerConfig)
        out->apply_rope_fusion = yarn && mla->index_heads == 0 && out->core >= 13;
    }
    take_scaling(rope, mla != NULL, out);
}

static void take_positions(const plait_model *model, const model_facts *facts, megatron_args *out)
{
    out->rotary_base = (double)NAN;
    if (model->learned_positions > 0)
        out->position_embedding_type = "learned_absolute";
    else if (model_count_layers(model, layer_has_no_rotary) == model->layers)
        out->position_embedding_type = "none";
    else
        take_rotary(&model->numerics.rope, facts->mla, out);
}

/* ---- which layers have it ---- */

/* ---- which layers have it ---- */

static plait_status take_window(const plait_model *model, int window, plait_arena *arena,
                                megatron_args *out, plait_error *err)
{
    if (window == 0)
        return PLAIT_OK;
    out->window_size = plait_arena_printf(arena, "%d,0", window - 1);
    if (out->window_size == NULL)
        return plait_fail_nomem(err);
    return model_mixed_list(model, layer_has_window, arena, &out->window_attn_skip_freq, err);
}

/* Said also where all layers are linear: unsaid, none is. */
static plait_status take_linear(const plait_model *model, plait_arena *arena, megatron_args *out,
                                plait_error *err)
{
    if (model_count_layers(model, layer_is_linear) == 0)
        return PLAIT_OK;
    out->linear_attention_freq = model_layer_list(model, layer_is_linear, arena);
    return out->linear_attention_freq != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

plait_status megatron_args_of_attention(const plait_model *model, const model_facts *facts,
                                        plait_arena *arena, megatron_args *out, plait_error *err)
{
    take_mixers(model, facts, out);
    take_positions(model, facts, out);
    PLAIT_TRY(take_window(model, facts->window, arena, out, err));
    PLAIT_TRY(take_linear(model, arena, out, err));
    return model_mixed_list(model, layer_has_no_rotary, arena, &out->no_rope_freq, err);
}
