/* rules_galvatron.c - plans and models that Galvatron's strategies and layers cannot express
 *
 * PKU-DAIR/Hetu-Galvatron cea12ff (2026-06-16).
 */
#include <stddef.h>

#include "plait/plan.h"
#include "rules/rules.h"
#include "plan/split.h"
#include "plan/model_queries.h"

/* A strategy has one size per layer, for either tensor parallelism or Ulysses. */
static bool one_of_tensor_and_ulysses(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->cp == 1 || d->cp_comm != PLAIT_CP_A2A || d->tp == 1;
}

static bool kv_heads_divide(const plait_problem *problem, const plait_degrees *d)
{
    return model_divides_kv_heads(problem->model, d->tp);
}

/*
 * Gradients that are not sharded are either summed and reduced after the last backward pass, or
 * reduced with each microbatch.
 */
static bool sums_are_reduced_last(const plait_problem *problem, const plait_degrees *d)
{
    const bool sums = d->scatter == PLAIT_SCATTER_STEP;

    (void)problem;
    return d->zero < 2 || sums == (d->grad_sync == PLAIT_SYNC_SHIFTED);
}

/* The embedding is in the stage of the first layer; the head is in the stage of the last layer. */
static bool stages_have_layers(const plait_problem *problem, const plait_degrees *d)
{
    return split_has_ends_outside(problem->model, d) && split_has_layers(problem->model, d);
}

static bool zigzag_divides(const plait_problem *problem, const plait_degrees *d)
{
    return d->cp == 1 || problem->job.seq % (2 * d->cp) == 0;
}

static const plan_rule plan_rules[] = {
    {"G1", "cp_comm a2a needs tp = 1", one_of_tensor_and_ulysses},
    {"G2", "tp must divide the key-value heads", kv_heads_divide},
    {"G3",
     "ZeRO 2 and 3 need scatter step if grad_sync is shifted, and scatter microbatch otherwise",
     sums_are_reduced_last},
    {"G4",
     "each stage needs a layer, with the embedding in the first stage and the loss in the last",
     stages_have_layers},
    {"G5", "the sequence length must be a multiple of 2 cp", zigzag_divides},
    {NULL, NULL, NULL},
};

/* ---- models ---- */

static bool layers_are_one_decoder(const plait_model *model)
{
    const plait_layer *const layer = &model->kind[0];

    return model->kinds == 1 && !layer->opaque && layer->mixer == PLAIT_MIXER_ATTENTION &&
           (layer->ffn == PLAIT_FFN_MLP ||
            (layer->ffn == PLAIT_FFN_MOE && layer->moe.shared_width == 0)) &&
           layer->norms == 2 && !layer->parallel_residual && !model->embedding_norm &&
           !model->head_bias && model->patch_dim == 0 && model->mtp_layers == 0;
}

static bool attention_is_plain(const plait_model *model)
{
    const plait_attention *const a = &model->kind[0].attention;

    return a->window == 0 && a->chunk == 0 && !a->sinks && !a->gate && !a->shared_kv &&
           !a->full_mask && !a->qk_norm && model_scores_are_plain(model);
}

static bool positions_are_plain(const plait_model *model)
{
    const plait_rope *const rope = &model->numerics.rope;

    return model->learned_positions > 0 ||
           (rope->kind == PLAIT_ROPE_PLAIN && rope->local_base == 0.0);
}

static bool activation_is_known(const plait_model *model)
{
    const plait_activation activation = model->numerics.activation;

    return activation == PLAIT_SILU || activation == PLAIT_GELU ||
           activation == PLAIT_ACTIVATION_UNKNOWN;
}

static const model_rule model_rules[] = {
    {"GM1",
     "layers must be of one kind: attention, then an MLP or experts but no shared experts, with "
     "two "
     "norms and no multi-token prediction",
     layers_are_one_decoder},
    {"GM2",
     "attention must have no window, chunks, sinks, gate or norms of q and k, and scores must not "
     "be scaled or capped",
     attention_is_plain},
    {"GM3", "positions must be learned, or rotary without scaling", positions_are_plain},
    {"GM4", "the activation must be SiLU or GELU", activation_is_known},
    {NULL, NULL, NULL},
};

const rule_set rules_galvatron = {.plan = plan_rules, .model = model_rules};
