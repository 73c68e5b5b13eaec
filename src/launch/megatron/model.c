/*
 * model.c - writes a model's architecture as Megatron-LM's arguments
 *
 * src/rules/rules_megatron.c decides which models the arguments can express.
 */
#include "launch/megatron/megatron.h"

#include <math.h>

#include "base/text.h"
#include "plan/model_queries.h"

model_facts model_facts_of(const plait_model *model)
{
    model_facts facts = {0};

    for (int k = model->kinds - 1; k >= 0; k--) {
        const plait_layer *const layer = &model->kind[k];

        if (layer->mixer == PLAIT_MIXER_ATTENTION)
            facts.attention = &layer->attention;
        if (layer->mixer == PLAIT_MIXER_ATTENTION && layer->attention.window > 0)
            facts.window = layer->attention.window;
        if (layer->mixer == PLAIT_MIXER_MLA)
            facts.mla = &layer->mla;
        if (layer->mixer == PLAIT_MIXER_DELTA_NET)
            facts.delta_net = &layer->delta_net;
        if (layer->mixer == PLAIT_MIXER_MAMBA)
            facts.mamba = &layer->mamba;
        if (layer->ffn == PLAIT_FFN_MLP)
            facts.mlp = &layer->mlp;
        if (layer->ffn == PLAIT_FFN_MOE)
            facts.moe = &layer->moe;
    }
    facts.bias = facts.mlp != NULL ? facts.mlp->bias : facts.moe != NULL && facts.moe->bias;
    return facts;
}

double model_number(double number)
{
    return number > 0.0 ? number : (double)NAN;
}

bool layer_has_experts(const plait_layer *layer)
{
    return layer->ffn == PLAIT_FFN_MOE;
}

bool layer_has_mlp(const plait_layer *layer)
{
    return layer->ffn == PLAIT_FFN_MLP;
}

bool layer_has_mamba(const plait_layer *layer)
{
    return layer->mixer == PLAIT_MIXER_MAMBA;
}

bool layer_has_attention(const plait_layer *layer)
{
    return layer->mixer != PLAIT_MIXER_NONE && layer->mixer != PLAIT_MIXER_MAMBA;
}

static bool layer_has_window(const plait_layer *layer)
{
    return layer->mixer == PLAIT_MIXER_ATTENTION && layer->attention.window > 0;
}

bool layer_has_no_rotary(const plait_layer *layer)
{
    return layer->mixer == PLAIT_MIXER_ATTENTION && !layer->attention.rotary;
}

static bool layer_is_linear(const plait_layer *layer)
{
    return layer->mixer == PLAIT_MIXER_DELTA_NET;
}

static bool holds_at(const plait_model *model, int layer, layer_test *test)
{
    return test(&model->kind[model->layer_kind[layer]]);
}

int model_count_layers(const plait_model *model, layer_test *test)
{
    int count = 0;

    for (int i = 0; i < model->layers; i++)
        count += holds_at(model, i, test);
    return count;
}

/*
 * Return the shortest period, in layers, with which the test's results repeat; the number of layers
 * if there is none.
 */
static int period_of(const plait_model *model, layer_test *test)
{
    for (int period = 1; period <= 16 && period < model->layers; period++) {
        int i = period;

        while (i < model->layers && holds_at(model, i, test) == holds_at(model, i - period, test))
            i++;
        if (model->layers % period == 0 && i == model->layers)
            return period;
    }
    return model->layers;
}

/*
 * Return a list such as "([0]*3+[1]*58)" or "([1]+[0])*18", with 1 for each layer that passes the
 * test. NULL: out of memory.
 */
static const char *model_layer_list(const plait_model *model, layer_test *test, plait_arena *arena)
{
    const int period = period_of(model, test);
    text_builder out;

    text_builder_init(&out, arena);
    text_append_char(&out, '(');
    for (int first = 0, last; first < period; first = last) {
        const bool holds = holds_at(model, first, test);

        for (last = first + 1; last < period && holds_at(model, last, test) == holds;)
            last++;
        text_append_printf(&out, first > 0 ? "+[%d]" : "[%d]", holds);
        if (last - first > 1)
            text_append_printf(&out, "*%d", last - first);
    }
    text_append_char(&out, ')');
    if (period < model->layers)
        text_append_printf(&out, "*%d", model->layers / period);
    return text_builder_finish(&out, NULL);
}

/* Set *out to the list of model_layer_list unless all layers pass the test or none does. */
static plait_status model_mixed_list(const plait_model *model, layer_test *test, plait_arena *arena,
                                     const char **out, plait_error *err)
{
    const int count = model_count_layers(model, test);

    if (count == 0 || count == model->layers)
        return PLAIT_OK;
    *out = model_layer_list(model, test, arena);
    return *out != NULL ? PLAIT_OK : plait_fail_nomem(err);
}

/* Set the mixers' arguments; Megatron requires a number of heads even if no layer attends. */
static void take_mixers(const plait_model *model, const model_facts *facts, megatron_args *out)
{
    if (facts->mla != NULL) {
        out->num_attention_heads = facts->mla->heads;
        out->multi_latent_attention = true;
        out->q_lora_rank = facts->mla->q_rank;
        out->kv_lora_rank = facts->mla->kv_rank;
        out->qk_head_dim = facts->mla->nope_dim;
        out->qk_pos_emb_head_dim = facts->mla->rope_dim;
        out->v_head_dim = facts->mla->v_dim;
        out->kv_channels = facts->mla->v_dim;
        out->qk_layernorm = true;
        if (facts->mla->index_heads != 0) {
            out->experimental_attention_variant = "dsa";
            out->dsa_indexer_n_heads = facts->mla->index_heads;
            out->dsa_indexer_head_dim = facts->mla->index_dim;
            out->dsa_indexer_topk = facts->mla->index_topk;
        }
    } else if (facts->attention != NULL) {
        out->num_attention_heads = facts->attention->heads;
        out->kv_channels = facts->attention->head_dim;
        out->group_query_attention = facts->attention->kv_heads != facts->attention->heads;
        if (out->group_query_attention)
            out->num_query_groups = facts->attention->kv_heads;
        out->qk_layernorm = facts->attention->qk_norm && !model->numerics.qk_l2_norm;
        out->qk_l2_norm = model->numerics.qk_l2_norm;
        out->attention_output_gate = facts->attention->gate;
        if (facts->attention->sinks)
            out->softmax_type = "learnable";
    } else if (facts->delta_net != NULL) {
        out->num_attention_heads = facts->delta_net->value_heads;
    } else {
        out->num_attention_heads = facts->mamba->heads;
        out->kv_channels = facts->mamba->inner / facts->mamba->heads;
    }
    if (facts->mamba != NULL) {
        out->mamba_state_dim = facts->mamba->state;
        out->mamba_head_dim = facts->mamba->inner / facts->mamba->heads;
        out->mamba_num_groups = facts->mamba->groups;
        out->mamba_num_heads = facts->mamba->heads;
    }
    if (facts->delta_net != NULL) {
        const plait_delta_net *const net = facts->delta_net;

        out->experimental_attention_variant = "gated_delta_net";
        out->linear_num_key_heads = net->key_heads;
        out->linear_num_value_heads = net->value_heads;
        out->linear_key_head_dim = net->key_dim;
        out->linear_value_head_dim = net->value_dim;
        out->linear_conv_kernel_dim = net->conv;
    }
}

/* ---- positions ---- */

static plait_status megatron_args_of_attention(const plait_model *model, const model_facts *facts,
                                               plait_arena *arena, megatron_args *out,
                                               plait_error *err)
{
    take_mixers(model, facts, out);
    out->rotary_base = (double)NAN;
    if (model->learned_positions > 0)
        out->position_embedding_type = "learned_absolute";
    else if (model_count_layers(model, layer_has_no_rotary) ==
             model_count_layers(model, layer_has_attention))
        out->position_embedding_type = "none";
    else {
        const bool yarn = model->numerics.rope.kind == PLAIT_ROPE_YARN;
        out->position_embedding_type = yarn && facts->mla == NULL ? "yarn" : "rope";
        out->rotary_base =
            model->numerics.rope.base >= 1.0 ? model->numerics.rope.base : (double)NAN;
        if (model->numerics.rope.fraction > 0.0)
            out->rotary_percent =
                model->numerics.rope.fraction < 1.0 ? model->numerics.rope.fraction : 1.0;
        out->rotary_interleaved =
            model->numerics.rope.interleaved && facts->mla == NULL; // MLA orders the pairs itself
        if (facts->mla != NULL) {
            if (!yarn ||
                out->core >= 14) // before 0.14, yarn was the only type of MLA and had no argument
                out->rope_type = yarn ? "yarn" : "rope";
            // the fused kernel supports only YaRN, no indexer, and MLA since 0.13
            // (TransformerConfig)
            out->apply_rope_fusion = yarn && facts->mla->index_heads == 0 && out->core >= 13;
        }
        if (model->numerics.rope.kind == PLAIT_ROPE_LINEAR && model->numerics.rope.factor >= 1.0)
            out->rotary_seq_len_interpolation_factor = model->numerics.rope.factor;
        out->use_rope_scaling = model->numerics.rope.kind == PLAIT_ROPE_LLAMA3;
        if (out->use_rope_scaling)
            out->rope_scaling_factor = model_number(model->numerics.rope.factor);
        if (model->numerics.rope.kind == PLAIT_ROPE_YARN) {
            out->rotary_scaling_factor = model_number(model->numerics.rope.factor);
            if (facts->mla != NULL) {
                out->mscale = model_number(model->numerics.rope.mscale);
                out->mscale_all_dim = model_number(model->numerics.rope.mscale_all_dim);
            } else {
                out->yarn_original_max_position_embeddings = model->numerics.rope.original_seq;
                out->yarn_beta_fast = model_number(model->numerics.rope.beta_fast);
                out->yarn_beta_slow = model_number(model->numerics.rope.beta_slow);
            }
        }
    }
    if (facts->window != 0) {
        out->window_size = plait_arena_printf(arena, "%d,0", facts->window - 1);
        PLAIT_TRY(plait_check_allocated(out->window_size, err));
        PLAIT_TRY(
            model_mixed_list(model, layer_has_window, arena, &out->window_attn_skip_freq, err));
    }
    // the list is also written if all layers are linear, since without the list no layer is
    if (model_count_layers(model, layer_is_linear) != 0) {
        out->linear_attention_freq = model_layer_list(model, layer_is_linear, arena);
        PLAIT_TRY(plait_check_allocated(out->linear_attention_freq, err));
    }
    return model_is_hybrid(model)
               ? PLAIT_OK
               : model_mixed_list(model, layer_has_no_rotary, arena, &out->no_rope_freq, err);
}

/* ---- norms, activations, biases ---- */

static void take_numerics(const plait_model *model, const model_facts *facts, megatron_args *out)
{
    const plait_numerics *const numerics = &model->numerics;

    out->normalization = model->layer_norm ? "LayerNorm" : "RMSNorm";
    out->norm_epsilon = model_number(numerics->norm_eps);
    const bool gated =
        facts->mlp != NULL ? facts->mlp->gated : facts->moe != NULL && facts->moe->gated;

    if (model->numerics.activation ==
        PLAIT_CLAMPED_SWIGLU) { // gpt-oss: arXiv 2508.10925, swiglu_limit
        out->quick_geglu = true;
        out->glu_linear_offset = 1.0;
        out->activation_func_clamp_value = 7.0;
    } else {
        out->swiglu = gated;
        out->squared_relu = !gated && model->numerics.activation == PLAIT_RELU2;
    }
    out->add_bias_linear = facts->bias;
    out->add_qkv_bias = !facts->bias && facts->attention != NULL && facts->attention->qkv_bias;
    out->hidden_dropout = model->dropout ? 0.1 : 0.0; // the rate of GPT-2 and Megatron's default
    out->attention_dropout = out->hidden_dropout;
    out->init_method_std = model_number(numerics->init_std);
}

/* ---- experts ---- */

/*
 * Set the load-balancing loss. It balances over a microbatch unless the model states other tokens
 * and the release supports them.
 */
static void take_balance(const plait_model *model, megatron_args *out)
{
    static const char *const types[PLAIT_BALANCES] = {
        [PLAIT_BALANCE_UNKNOWN] = "aux_loss",       [PLAIT_BALANCE_NONE] = "none",
        [PLAIT_BALANCE_BATCH] = "aux_loss",         [PLAIT_BALANCE_SEQUENCE] = "seq_aux_loss",
        [PLAIT_BALANCE_GLOBAL] = "global_aux_loss",
    };
    // N of Megatron Core 0.N, the first release whose parser has the type
    static const int since[PLAIT_BALANCES] = {
        [PLAIT_BALANCE_SEQUENCE] = 11, [PLAIT_BALANCE_GLOBAL] = 15};
    const plait_router *const router = &model->numerics.router;
    const plait_training *const training = &model->training;
    const bool balanced = router->aux_loss > 0.0 && training->balance != PLAIT_BALANCE_NONE;
    const bool known = out->core >= since[training->balance];

    out->moe_router_load_balancing_type =
        !balanced ? "none" : types[known ? training->balance : PLAIT_BALANCE_BATCH];
    if (balanced)
        out->moe_aux_loss_coeff = router->aux_loss;
    if (router->correction_bias && training->bias_rate > 0.0)
        out->moe_router_bias_update_rate = training->bias_rate;
}

plait_status megatron_args_of_model(const plait_problem *problem, plait_arena *arena,
                                    megatron_args *out, plait_error *err)
{
    const plait_model *const model = problem->model;
    const model_facts facts = model_facts_of(model);

    const bool hybrid = model_is_hybrid(model);

    out->num_layers = hybrid ? 0 : model->layers; // the pattern has the layers of a hybrid
    if (hybrid)
        out->spec = "megatron.core.models.hybrid.hybrid_layer_specs hybrid_stack_spec";
    out->hidden_size = model->hidden;
    out->ffn_hidden_size = facts.mlp != NULL   ? facts.mlp->width
                           : facts.moe != NULL ? facts.moe->width
                                               : 0;
    out->seq_length = problem->job.seq;
    out->max_position_embeddings =
        model->max_seq > problem->job.seq ? model->max_seq : problem->job.seq;
    if (model->learned_positions > 0)
        out->max_position_embeddings = model->learned_positions;
    out->vocab_size = model->vocab;
    out->untie_embeddings_and_output_weights = !model->tied;
    out->mtp_num_layers = model->mtp_layers;
    if (model->mtp_layers > 0 && model->training.mtp_loss > 0.0)
        out->mtp_loss_scaling_factor = model->training.mtp_loss;
    take_numerics(model, &facts, out);
    if (facts.moe != NULL) {
        const plait_moe *const moe = facts.moe;

        out->num_experts = moe->experts;
        if (moe->width != out->ffn_hidden_size ||
            out->core >= 10) // before 0.10, experts had no width of their own
            out->moe_ffn_hidden_size = moe->width;
        out->moe_shared_expert_intermediate_size = moe->shared_width;
        out->moe_shared_expert_gate = moe->shared_gate;
        out->moe_latent_size = moe->latent;
        if (moe->capacity > 0.0)
            out->moe_expert_capacity_factor = moe->capacity;
        out->moe_pad_expert_input_to_capacity = moe->padded;
        const bool softmax = model->numerics.router.score != PLAIT_ROUTER_SIGMOID;
        out->moe_router_topk = moe->topk;
        out->moe_router_score_function = softmax ? "softmax" : "sigmoid";
        out->moe_router_pre_softmax =
            softmax && (moe->topk == 1 || (model->numerics.router.score == PLAIT_ROUTER_SOFTMAX &&
                                           !model->numerics.router.normalised));
        out->moe_apply_probs_on_input =
            !softmax && !model->numerics.router.normalised && moe->topk == 1;
        if (moe->groups > 1) {
            out->moe_router_num_groups = moe->groups;
            out->moe_router_group_topk = moe->group_topk;
        }
        if (model->numerics.router.scale > 0.0 && model->numerics.router.scale != 1.0)
            out->moe_router_topk_scaling_factor = model->numerics.router.scale;
        out->moe_router_enable_expert_bias = model->numerics.router.correction_bias;
        out->moe_router_dtype = "fp32";
        take_balance(model, out);
    }
    if (!hybrid)
        PLAIT_TRY(model_mixed_list(model, layer_has_experts, arena, &out->moe_layer_freq, err));
    return megatron_args_of_attention(model, &facts, arena, out, err);
}
