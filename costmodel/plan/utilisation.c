/* utilisation.c - MFU and HFU: FLOP/s relative to the peak of a GPU (C.4, C.5) */
#include "costmodel/layer/tuning.h"
#include "costmodel/plan/cost_parts.h"

/*
 * Forward FLOPs per token that recomputation repeats in a part of a stage. Operators of which half
 * is recomputed count half. (C.5)
 */
static double rerun_flops(const plait_problem *problem, const stage_part *part)
{
    const plait_layer *layer = row_layer(problem->model, part->row);
    const plait_recompute_masks masks =
        layer_recompute_masks(part->choice.recompute, layer_core_recurs(layer));

    if (!layer || part->choice.recompute.kind == PLAIT_RECOMPUTE_NONE)
        return 0.0;
    if (part->choice.recompute.kind == PLAIT_RECOMPUTE_FULL)
        return plait_layer_flops_per_token(
            problem->model, layer, plait_job_reach(&problem->job),
            recompute_stops_early(problem, layer) ? ~(1u << PLAIT_PART_fc2) : ~0u);
    return plait_layer_flops_per_token(problem->model, layer, plait_job_reach(&problem->job),
                                       masks.parts) +
           0.5 * plait_layer_flops_per_token(problem->model, layer, plait_job_reach(&problem->job),
                                             masks.half_parts);
}

/* The FLOPs in rerun_flops that a causal kernel skips. */
static double rerun_skipped(const plait_problem *problem, const stage_part *part)
{
    const plait_layer *layer = row_layer(problem->model, part->row);
    const plait_recompute_masks masks = plait_recompute_masks_of(part->choice.recompute);
    const bool all = part->choice.recompute.kind == PLAIT_RECOMPUTE_FULL;

    if (!layer || part->choice.recompute.kind == PLAIT_RECOMPUTE_NONE ||
        !(all || masks.parts >> PLAIT_PART_core_attn & 1u))
        return 0.0;
    return plait_layer_skipped_flops_per_token(problem->model, layer,
                                               plait_job_reach(&problem->job));
}

/*
 * C.410: forward FLOPs per token of the matrices that are not trained, whose gradients are not
 * computed.
 */
static double frozen_flops(const plait_problem *problem)
{
    static const unsigned products =
        1u << PLAIT_PART_qkv | 1u << PLAIT_PART_mla_up | 1u << PLAIT_PART_indexer |
        1u << PLAIT_PART_attn_out | 1u << PLAIT_PART_fc1 | 1u << PLAIT_PART_fc2 |
        1u << PLAIT_PART_router | 1u << PLAIT_PART_moe_latent | 1u << PLAIT_PART_expert_fc1 |
        1u << PLAIT_PART_expert_fc2 | 1u << PLAIT_PART_shared;
    const plait_model *const model = problem->model;
    plait_shard shard = {0};
    double flops = 0.0;

    if (!plait_tuning_freezes(&problem->job.tuning))
        return 0.0;
    shard_tune(model, &problem->job.tuning, &shard);
    for (int i = 0; i < model->layers; i++)
        flops += plait_layer_flops_per_token(model, &model->kind[model->layer_kind[i]], 1.0,
                                             products & shard.frozen);
    if (shard.frozen >> PLAIT_PART_head & 1u)
        flops += 2.0 * model->vocab * model->hidden;
    return flops;
}

/* C.410: FLOPs per token of the logits that the head of a reward model does not have. */
static double absent_logits_flops(const plait_problem *problem)
{
    const plait_model *const model = problem->model;

    return problem->job.tuning.kind == PLAIT_JOB_REWARD ? 6.0 * (model->vocab - 1.0) * model->hidden
                                                        : 0.0;
}

token_flops token_flops_of(const plait_problem *problem)
{
    return (token_flops){
        .model =
            plait_model_flops_per_token(problem->model, plait_job_reach(&problem->job), false) -
            frozen_flops(problem) - absent_logits_flops(problem),
        .skipped =
            plait_model_skipped_flops_per_token(problem->model, plait_job_reach(&problem->job)),
    };
}

void stage_add_rerun(const plait_problem *problem, const stage_parts *parts, token_flops *flops)
{
    for (int i = 0; i < parts->count; i++) {
        const double count = parts->share * parts->part[i].count;
        flops->again += count * rerun_flops(problem, &parts->part[i]);
        flops->again_skipped += count * rerun_skipped(problem, &parts->part[i]);
    }
}

/*
 * Fills the rates of C.5. MFU counts the FLOPs that the model needs, with any kernel. HFU counts
 * the FLOPs that the kernels compute, and unfused attention also computes masked scores.
 */
void cost_rates(const token_flops *flops, bool skips, double tokens_per_s, double peak,
                plait_cost *cost)
{
    const double each = peak > 0.0 ? tokens_per_s / peak : 0.0;
    const double needed = flops->model - flops->skipped;
    const double computed =
        flops->model + flops->again - (skips ? flops->skipped + flops->again_skipped : 0.0);

    cost->tokens_per_s_per_gpu = tokens_per_s;
    cost->model_flops_per_s = tokens_per_s * needed;
    cost->mfu_square = each * flops->model;
    cost->hfu_square = each * (flops->model + flops->again);
    cost->mfu = each * needed;
    cost->hfu = each * computed;
}
