/*
 * rules_maxtext.c - plans and models that MaxText's configuration and mesh reject
 *
 * Source: MaxText e591f30 (2026-08-22), src/maxtext. configs/types.py validates a configuration,
 * configs/base.yml lists the axes of the mesh that shard each tensor, and utils/max_utils.py builds
 * the mesh.
 */
#include <stddef.h>

#include "rules/rules.h"
#include "plan/model_queries.h"

/* Source of this rule: layers/attentions.py. */
static bool tensor_ranks_divide_keys(const plait_problem *problem, const plait_degrees *d)
{
    return model_divides_kv_heads(problem->model, d->tp);
}

/* Source of this rule: reorder_sequence in utils/max_utils.py. */
static bool context_has_halves(const plait_problem *problem, const plait_degrees *d)
{
    return d->cp == 1 || (d->cp % 2 == 0 && problem->job.seq % (2 * d->cp) == 0);
}

/* configs/base.yml, logical_axis_rules: `tensor` shards mlp_moe, `expert` shards exp. */
static bool experts_are_cut_like_layers(const plait_problem *problem, const plait_degrees *d)
{
    return !model_has_experts(problem->model) || d->etp == d->tp;
}

/*
 * configs/base.yml, logical_axis_rules: `fsdp`, `context` and `expert` shard `embed`. With one
 * setting, `data` also shards optimizer states.
 */
static bool shards_are_axes(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    if (d->zero == 1)
        return d->cp == 1 && d->ep == 1 && d->shard_group == d->dp;
    return d->shard_group % (d->cp * d->ep) == 0 && (d->shard_group > 1 || d->dp * d->cp == 1);
}

/*
 * configs/types.py, num_pipeline_microbatches. layers/pipeline.py runs all forward passes in one
 * scan and then the transposed scan, as GPipe does.
 */
static bool microbatches_fill_stages(const plait_problem *problem, const plait_degrees *d)
{
    return d->pp == 1 || (d->schedule == PLAIT_GPIPE &&
                          plait_degrees_microbatches(d, problem->job.gbs) % d->pp == 0);
}

/*
 * calculate_global_batch_sizes in configs/types.py computes the batch per device in floating point,
 * and truncates the product of this batch and the number of devices.
 */
static bool batch_of_a_device_is_exact(const plait_problem *problem, const plait_degrees *d)
{
    const int passes = d->pp > 1 ? plait_degrees_microbatches(d, problem->job.gbs) : 1;
    const double of_device = (double)d->mbs * passes / ((double)d->tp * d->cp * d->pp);

    return (int)(problem->job.gpus * of_device) == d->dp * d->mbs * passes;
}

/* configs/types.py: "FP8 quantization is not compatible with gradient accumulation." */
static bool narrow_steps_are_one_pass(const plait_problem *problem, const plait_degrees *d)
{
    return problem->job.precision < PLAIT_FP8 || d->pp > 1 ||
           plait_degrees_microbatches(d, problem->job.gbs) == 1;
}

/*
 * fill_unspecified_mesh_axes in utils/max_utils.py: the number of slices must divide one mesh axis:
 * pp if stages are outermost, else dp.
 */
static bool slices_are_axes(const plait_problem *problem, const plait_degrees *d)
{
    const int slice = problem->cluster->level[0].gpus;
    const int gpus = problem->job.gpus;
    const int slices = slice > 0 && gpus > slice ? gpus / slice : 1;

    if (slices == 1)
        return true;
    if (gpus % slice != 0)
        return false;
    return d->order == PLAIT_ORDER_TP_CP_DP_PP && d->pp > 1 ? d->pp % slices == 0
                                                            : d->dp % slices == 0;
}

static const plan_rule batch_rules[] = {
    {"MT5", "pp > 1 needs schedule gpipe and a number of microbatches that is a multiple of pp",
     microbatches_fill_stages},
    {"MT6",
     "mbs / (tp x cp) times the number of devices, in double precision as in MaxText, must be "
     "exactly the batch",
     batch_of_a_device_is_exact},
    {"MT7", "matrix products in 8 bits or fewer with pp 1 need one microbatch per step",
     narrow_steps_are_one_pass},
    {NULL, NULL, NULL},
};

static const plan_rule plan_rules[] = {
    {"MT1", "tp must divide the key-value heads", tensor_ranks_divide_keys},
    {"MT2", "cp must be even, and 2 cp must divide the sequence", context_has_halves},
    {"MT3", "experts need etp = tp", experts_are_cut_like_layers},
    {"MT4",
     "zero 3 needs a shard_group above 1 that is a multiple of cp x ep; zero 1 needs cp = 1, ep = "
     "1 and shard_group = dp",
     shards_are_axes},
    {"MT8", "the number of slices must divide pp if stages are outermost, else dp",
     slices_are_axes},
    {NULL, NULL, NULL},
};

// ---- models --------------------------------------------------------------------------------

static bool blocks_are_plain(const plait_model *model)
{
    const plait_layer *const layer = &model->kind[0];

    return model->kinds == 1 && !layer->opaque && layer->norms == 2 && !layer->parallel_residual &&
           !model->layer_norm && !model->embedding_norm && !model->head_bias && !model->dropout &&
           model->learned_positions == 0 && model->patch_dim == 0 && model->mtp_layers == 0;
}

static bool attention_is_plain(const plait_model *model)
{
    const plait_attention *const a = &model->kind[0].attention;

    return model->kind[0].mixer == PLAIT_MIXER_ATTENTION && a->rotary && a->window == 0 &&
           a->chunk == 0 && !a->gate && !a->sinks && !a->shared_kv && !a->full_mask &&
           !a->qkv_bias && !a->out_bias && model_scores_are_plain(model) &&
           !model->numerics.qk_l2_norm;
}

static bool feed_forward_is_known(const plait_model *model)
{
    const plait_layer *const layer = &model->kind[0];
    const plait_activation activation = model->numerics.activation;
    const plait_moe *const moe = &layer->moe;

    if (activation != PLAIT_ACTIVATION_UNKNOWN && activation != PLAIT_SILU)
        return false;
    if (layer->ffn == PLAIT_FFN_MLP)
        return layer->mlp.gated && !layer->mlp.bias;
    return layer->ffn == PLAIT_FFN_MOE && moe->gated && !moe->bias && moe->shared_width == 0 &&
           moe->groups <= 1 && moe->capacity <= 0.0 && !model->numerics.router.correction_bias &&
           model->numerics.router.score != PLAIT_ROUTER_SIGMOID;
}

/* layers/embeddings.py has fixed numbers for the scaled positions of Llama 3.1. */
static bool positions_are_known(const plait_model *model)
{
    const plait_rope *const rope = &model->numerics.rope;

    if (rope->local_base != 0.0 || (rope->fraction != 0.0 && rope->fraction != 1.0))
        return false;
    if (rope->kind == PLAIT_ROPE_LLAMA3)
        return rope->factor == 8.0 && rope->low_freq == 1.0 && rope->high_freq == 4.0 &&
               rope->original_seq == 8192;
    return rope->kind == PLAIT_ROPE_PLAIN || rope->kind == PLAIT_ROPE_LINEAR;
}

static const model_rule model_rules[] = {
    {"MTM1",
     "layers must be of one kind (block llama2, mixtral, qwen3 or qwen3_moe): two RMSNorms in "
     "sequence, without biases, learned positions or multi-token prediction",
     blocks_are_plain},
    {"MTM2",
     "attention must cover the whole sequence, without windows, gates, sinks, or scaled or capped "
     "scores",
     attention_is_plain},
    {"MTM3",
     "the feed-forward part must be SwiGLU, or SwiGLU experts chosen by a softmax without shared "
     "experts",
     feed_forward_is_known},
    {"MTM4", "rotary positions must be plain, linear or scaled as in Llama 3.1",
     positions_are_known},
    {NULL, NULL, NULL},
};

static int usual_etp(const plait_problem *problem, const plait_degrees *d)
{
    return model_has_experts(problem->model) ? d->tp : 1;
}

const rule_set rules_maxtext = {
    .plan = plan_rules, .batch = batch_rules, .model = model_rules, .etp = usual_etp};
