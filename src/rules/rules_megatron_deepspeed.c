/*
 * rules_megatron_deepspeed.c - rules of DeepSpeed's pipeline engine beyond Megatron-LM's
 *
 * Sources: the engine of DeepSpeed 0.19.6 (edaa722, 2026-08-22), and the modules of
 * Megatron-DeepSpeed in the repositories of BigScience (8387ae1, 2023-12) and of DeepSpeed
 * (4efb479, 2025-07).
 */
#include <math.h>
#include <stddef.h>

#include "plait/plan.h"
#include "plan/split.h"
#include "rules/rules.h"

/*
 * A stage cannot consist of the embedding alone or of the head alone. Rule M22 requires both in the
 * outer chunks.
 */
static bool stages_have_layers(const plait_problem *problem, const plait_degrees *d)
{
    return split_has_layers(problem->model, d);
}

/* DeepSpeed's bf16 optimizer always shards; with fp16 and ZeRO 0, gradients are summed in fp16. */
static bool whole_state_is_fp16(const plait_problem *problem, const plait_degrees *d)
{
    return d->zero > 0 ||
           (problem->job.precision == PLAIT_FP16 && plait_state_of(problem, d).gradient == 2.0);
}

static const plan_rule plan_rules[] = {
    {"MD1", "each stage needs a transformer layer", stages_have_layers},
    {"MD2", "ZeRO 0 needs precision fp16 and grad_reduce fp16", whole_state_is_fp16},
    {NULL, NULL, NULL},
};

// ---- models --------------------------------------------------------------------------------

static bool layers_are_dense(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer != PLAIT_MIXER_ATTENTION || model->kind[k].ffn != PLAIT_FFN_MLP)
            return false;
    return model->mtp_layers == 0;
}

static bool attention_is_plain(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++) {
        const plait_attention *const attention = &model->kind[k].attention;

        if (attention->window > 0 || attention->chunk > 0 || attention->sinks || attention->gate ||
            attention->qk_norm || attention->qkv_bias != attention->out_bias)
            return false;
    }
    return !model->numerics.qk_l2_norm;
}

/* Rotary positions must be in all layers or in none. The parser reads their base as an integer. */
static bool positions_are_plain(const plait_model *model)
{
    const plait_rope *const rope = &model->numerics.rope;

    for (int k = 1; k < model->kinds; k++)
        if (model->kind[k].attention.rotary != model->kind[0].attention.rotary)
            return false;
    if (!model->kind[0].attention.rotary)
        return true;
    return rope->kind == PLAIT_ROPE_PLAIN && !rope->interleaved && rope->base == floor(rope->base);
}

static bool activation_has_a_word(const plait_model *model)
{
    return model->numerics.activation < PLAIT_CLAMPED_SWIGLU;
}

static const model_rule model_rules[] = {
    {"DM1", "all layers must have attention and a dense MLP, without multi-token prediction",
     layers_are_dense},
    {"DM2",
     "attention must have no window, chunks, sinks, gate or norms of q and k, and biases in q, k "
     "and v only if all linear layers have them",
     attention_is_plain},
    {"DM3",
     "positions must be learned, or rotary in all layers without scaling and with an integer base",
     positions_are_plain},
    {"DM4", "the activation must be GELU, squared ReLU or SwiGLU", activation_has_a_word},
    {NULL, NULL, NULL},
};

const rule_set rules_megatron_deepspeed = {
    .base = &rules_megatron, .plan = plan_rules, .model = model_rules};
