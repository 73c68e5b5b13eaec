/*
 * model.c - a model's architecture as Megatron-LM's arguments
 *
 * src/rules/rules_megatron.c says which models can be said at all; attention.c says their attention.
 */
#include "launch/megatron/args_parts.h"

static void take_sizes(const plait_problem *problem, const model_facts *facts, megatron_args *out)
{
    const plait_model *const model = problem->model;

    out->num_layers = model->layers;
    out->hidden_size = model->hidden;
    out->ffn_hidden_size = facts->mlp != NULL ? facts->mlp->width : facts->moe->width;
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
}

/* ---- norms, activations, biases ---- */

static void take_activation(const plait_model *model, const model_facts *facts, megatron_args *out)
{
    const bool gated = facts->mlp != NULL ? facts->mlp->gated : facts->moe->gated;

    if (model->numerics.activation ==
        PLAIT_CLAMPED_SWIGLU) { // gpt-oss: arXiv 2508.10925, swiglu_limit
        out->quick_geglu = true;
        out->glu_linear_offset = 1.0;
        out->activation_func_clamp_value = 7.0;
    } else {
        out->swiglu = gated;
        out->squared_relu = !gated && model->numerics.activation == PLAIT_RELU2;
    }
}

static void take_numerics(const plait_model *model, const model_facts *facts, megatron_args *out)
{
    const plait_numerics *const numerics = &model->numerics;

    out->normalization = model->layer_norm ? "LayerNorm" : "RMSNorm";
    out->norm_epsilon = model_number(numerics->norm_eps);
    take_activation(model, facts, out);
    out->add_bias_linear = facts->bias;
    out->add_qkv_bias = !facts->bias && facts->attention != NULL && facts->attention->qkv_bias;
    out->hidden_dropout = model->dropout ? 0.1 : 0.0; // GPT-2's and Megatron's own rate
    out->attention_dropout = out->hidden_dropout;
    out->init_method_std = model_number(numerics->init_std);
}

/* ---- experts ---- */

static void take_router(const plait_moe *moe, const plait_router *router, megatron_args *out)
{
    const bool softmax = router->score != PLAIT_ROUTER_SIGMOID;

    out->moe_router_topk = moe->topk;
    out->moe_router_score_function = softmax ? "softmax" : "sigmoid";
    out->moe_router_pre_softmax =
        softmax &&
        (moe->topk == 1 || (router->score == PLAIT_ROUTER_SOFTMAX && !router->normalised));
    out->moe_apply_probs_on_input = !softmax && !router->normalised && moe->topk == 1;
    if (moe->groups > 1) {
        out->moe_router_num_groups = moe->groups;
        out->moe_router_group_topk = moe->group_topk;
    }
    if (router->scale > 0.0 && router->scale != 1.0)
        out->moe_router_topk_scaling_factor = router->scale;
    out->moe_router_enable_expert_bias = router->correction_bias;
    out->moe_router_dtype = "fp32";
}

/* Over which tokens: those of a microbatch unless the model states others and the release has them. */
static void take_balance(const plait_model *model, megatron_args *out)
{
    static const char *const types[PLAIT_BALANCES] = {
        [PLAIT_BALANCE_UNKNOWN] = "aux_loss",       [PLAIT_BALANCE_NONE] = "none",
        [PLAIT_BALANCE_BATCH] = "aux_loss",         [PLAIT_BALANCE_SEQUENCE] = "seq_aux_loss",
        [PLAIT_BALANCE_GLOBAL] = "global_aux_loss",
    };
    // the first N of Megatron Core 0.N whose parser takes the type
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

static void take_experts(const plait_moe *moe, const plait_model *model, megatron_args *out)
{
    out->num_experts = moe->experts;
    if (moe->width != out->ffn_hidden_size ||
        out->core >= 10) // before, experts had no width of their own
        out->moe_ffn_hidden_size = moe->width;
    out->moe_shared_expert_intermediate_size = moe->shared_width;
    out->moe_shared_expert_gate = moe->shared_gate;
    if (moe->capacity > 0.0)
        out->moe_expert_capacity_factor = moe->capacity;
    out->moe_pad_expert_input_to_capacity = moe->padded;
    take_router(moe, &model->numerics.router, out);
    take_balance(model, out);
}

plait_status megatron_args_of_model(const plait_problem *problem, plait_arena *arena,
                                    megatron_args *out, plait_error *err)
{
    const plait_model *const model = problem->model;
    const model_facts facts = model_facts_of(model);

    take_sizes(problem, &facts, out);
    take_numerics(model, &facts, out);
    if (facts.moe != NULL)
        take_experts(facts.moe, model, out);
    PLAIT_TRY(model_mixed_list(model, layer_has_experts, arena, &out->moe_layer_freq, err));
    return megatron_args_of_attention(model, &facts, arena, out, err);
}
