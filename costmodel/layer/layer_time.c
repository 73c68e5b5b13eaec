/*
 * layer_time.c - parts and tensors that each choice of recomputation and offloading covers, and the
 * time of a layer with recomputation, gathers and launches
 */
#include <math.h>

#include "costmodel/layer/layer_row.h"
#include "base/numbers.h"
#include "plan/model_queries.h"

// ---- recomputed parts, dropped and offloaded tensors ---------------------------------------

#define PART(name) (1u << PLAIT_PART_##name)
#define TENSOR(name) (1u << PLAIT_TENSOR_##name)

/*
 * A recomputed module drops the tensors inside it; its input and output are kept, since its
 * neighbours need them. `layernorm` and `moe_act` also drop their output (CheckpointWithoutOutput
 * in Megatron).
 */
static const plait_recompute_masks module_masks[PLAIT_MODULES] = {
    [PLAIT_MODULE_core_attn] = {.parts = PART(core_attn),
                                .tensors = TENSOR(scores) | TENSOR(scores_dropout) | TENSOR(lse)},
    [PLAIT_MODULE_layernorm] = {.parts = PART(norm),
                                .tensors =
                                    TENSOR(norm_cast) | TENSOR(norm_out) | TENSOR(router_in)},
    [PLAIT_MODULE_mla_up_proj] = {.parts = PART(mla_up) | PART(rotary),
                                  .tensors = TENSOR(qkv) | TENSOR(rotary)},
    [PLAIT_MODULE_moe_act] = {.parts = PART(expert_act), .tensors = TENSOR(expert_act_out)},
    [PLAIT_MODULE_shared_experts] = {.parts = PART(shared),
                                     .tensors = TENSOR(shared_fc1_out) | TENSOR(shared_act_out)},
    [PLAIT_MODULE_mlp] = {.parts = PART(fc1) | PART(act) | PART(fc2),
                          .tensors = TENSOR(fc1_out) | TENSOR(act_mid) | TENSOR(act_out)},
    [PLAIT_MODULE_moe] = {.parts = PART(router) | PART(moe_latent) | PART(dispatch) |
                                   PART(expert_fc1) | PART(expert_act) | PART(expert_fc2) |
                                   PART(combine) | PART(shared),
                          .tensors = TENSOR(router) | TENSOR(routed) | TENSOR(expert_fc1_out) |
                                     TENSOR(expert_act_out) | TENSOR(routed_out) |
                                     TENSOR(shared_fc1_out) | TENSOR(shared_act_out)},
};

/*
 * The selective checkpointing of torchtitan (SAC) keeps the output of attention and of every second
 * matrix product (query, value, gate, down). It recomputes norms, activations, rotary, and the
 * other products (output, up; the time of the key projection is negligible).
 */
static const plait_recompute_masks sac_masks = {
    .parts = PART(norm) | PART(linear_norm) | PART(rotary) | PART(act) | PART(expert_act) |
             PART(attn_out),
    .tensors = TENSOR(norm_cast) | TENSOR(norm_out) | TENSOR(linear_norm_out) | TENSOR(router_in) |
               TENSOR(keys) | TENSOR(rotary) | TENSOR(act_mid) | TENSOR(act_out) |
               TENSOR(expert_act_out) | TENSOR(shared_act_out) | TENSOR(dropout),
    .half_parts = PART(fc1) | PART(expert_fc1) | PART(shared),
    .half_tensors = TENSOR(fc1_out) | TENSOR(expert_fc1_out) | TENSOR(shared_fc1_out),
};

/* Each module offloads its input; the input of one norm is half of norm_in. (C.166) */
static const plait_recompute_masks offload_masks[PLAIT_OFFLOAD_MODULES] = {
    [PLAIT_OFFLOAD_attn_norm] = {.half_tensors = TENSOR(norm_in)},
    [PLAIT_OFFLOAD_core_attn] = {.tensors = TENSOR(qkv) | TENSOR(keys) | TENSOR(rotary)},
    [PLAIT_OFFLOAD_attn_proj] = {.tensors = TENSOR(core_out)},
    [PLAIT_OFFLOAD_mlp_norm] = {.half_tensors = TENSOR(norm_in)},
    [PLAIT_OFFLOAD_expert_fc1] = {.tensors = TENSOR(routed)},
    [PLAIT_OFFLOAD_moe_act] = {.tensors = TENSOR(expert_fc1_out)},
};

plait_recompute_masks plait_offload_masks_of(unsigned char set)
{
    const unsigned modules = plait_offload_modules(set);
    plait_recompute_masks masks = {0};

    for (int m = 0; m < PLAIT_OFFLOAD_MODULES; m++) {
        if (!(modules >> m & 1u))
            continue;
        masks.tensors |=
            offload_masks[m].tensors | (masks.half_tensors & offload_masks[m].half_tensors);
        masks.half_tensors |= offload_masks[m].half_tensors;
    }
    return masks;
}

plait_recompute_masks plait_recompute_masks_of(plait_recompute recompute)
{
    plait_recompute_masks masks = {0};

    switch ((plait_recompute_kind)recompute.kind) {
    case PLAIT_RECOMPUTE_SELECTIVE:
        return module_masks[PLAIT_MODULE_core_attn];
    case PLAIT_RECOMPUTE_SAC:
        return sac_masks;
    case PLAIT_RECOMPUTE_MODULES:
        for (int m = 0; m < PLAIT_MODULES; m++) {
            if (!(recompute.modules >> m & 1))
                continue;
            masks.parts |= module_masks[m].parts;
            masks.tensors |= module_masks[m].tensors;
        }
        return masks;
    default:
        return masks;
    }
}

#undef PART
#undef TENSOR

// ---- time of a layer -----------------------------------------------------------------------

/* Layers with offloaded tensors on the device: one in use and one in transfer. (C.168) */
static const double offload_buffers = 2.0;

/*
 * Seconds that kernel launches add to a pass of a layer. The host launches kernels while the device
 * runs earlier ones, so the slower of both determines the time of the pass: (gpu^4 + host^4)^(1/4),
 * which is 1.19 times either of them if they are equal. (C.37)
 */
static double host_wait_s(double gpu_s, double host_s)
{
    if (host_s <= 0.0)
        return 0.0;
    const double high = larger(gpu_s, host_s);
    const double low = smaller(gpu_s, host_s);
    const double ratio = low / high;
    return larger(0.0, high * sqrt(sqrt(1.0 + ratio * ratio * ratio * ratio)) - gpu_s);
}

/*
 * C.63: the exposed seconds of a gather are the part that exceeds the layer's computation and the
 * runtime's share dp_exposed of the overlapped part.
 */
static double gather_exposed_s(const plait_problem *problem, double comm_s, double compute_s)
{
    return larger(0.0, comm_s - compute_s) +
           problem->runtime->overlap.dp_exposed * smaller(comm_s, compute_s);
}

/* Share of a part or tensor that two masks select: 1 by `whole`, 1/2 by `half`, else 0. */
static inline double mask_share(unsigned whole, unsigned half, unsigned entry)
{
    return whole >> entry & 1u ? 1.0 : half >> entry & 1u ? 0.5 : 0.0;
}

/*
 * False for layers with experts, with a norm after the last product or with several streams
 * (C.178), since the backward of these reads the output of that product.
 */
bool recompute_stops_early(const plait_problem *problem, const plait_layer *layer)
{
    return problem->runtime->kernels.recompute_stops && layer != NULL &&
           layer->ffn == PLAIT_FFN_MLP && model_streams(problem->model) <= 1.0 &&
           layer->norms <= (layer->mixer != PLAIT_MIXER_NONE) + 1;
}

/*
 * The checkpoint of the core attention belongs to attention layers; mixers with a recurrence have
 * none. A layer with both repeats both.
 */
bool layer_core_recurs(const plait_layer *layer)
{
    return layer != NULL && !layer->opaque &&
           (layer->mixer == PLAIT_MIXER_DELTA_NET || layer->mixer == PLAIT_MIXER_MAMBA ||
            layer->mixer == PLAIT_MIXER_CONV);
}

plait_recompute_masks layer_recompute_masks(plait_recompute recompute, bool core_recurs)
{
    plait_recompute_masks masks = plait_recompute_masks_of(recompute);

    if (core_recurs)
        masks.parts &= ~(1u << PLAIT_PART_core_attn);
    return masks;
}

double recomputed_share(const plait_problem *problem, const plait_layer *layer,
                        plait_recompute recompute, plait_part part)
{
    const plait_recompute_masks masks = layer_recompute_masks(recompute, layer_core_recurs(layer));

    if (recompute.kind != PLAIT_RECOMPUTE_FULL)
        return mask_share(masks.parts, masks.half_parts, part);
    return part == PLAIT_PART_fc2 && recompute_stops_early(problem, layer) ? 0.0 : 1.0;
}

/*
 * Seconds of recomputation, and the share of the layer's launches that it repeats: the mean of the
 * recomputed shares of all parts that take time. (C.26, C.37)
 */
typedef struct rerun {
    double seconds;
    double attention_s;
    double launches;
} rerun;

static rerun rerun_of(const layer_price *price, plait_recompute recompute)
{
    const plait_recompute_masks masks = layer_recompute_masks(recompute, price->core_recurs);
    double all = 0.0;
    rerun again = {0.0, 0.0, 0.0};

    if (recompute.kind == PLAIT_RECOMPUTE_NONE)
        return again;
    if (recompute.kind == PLAIT_RECOMPUTE_FULL)
        return (rerun){price->forward_gpu_s - price->unread_s, price->forward[LAYER_attention],
                       1.0};
    for (unsigned p = 0; p < PLAIT_PARTS; p++) {
        const double share = mask_share(masks.parts, masks.half_parts, p);
        again.seconds += share * price->part_s[p];
        if (p == PLAIT_PART_core_attn)
            again.attention_s = share * price->part_s[p];
        if (price->part_s[p] > 0.0) {
            again.launches += share;
            all += 1.0;
        }
    }
    again.launches = all > 0.0 ? again.launches / all : 0.0;
    return again;
}

/* Offloads only tensors that recomputation keeps. (C.166) */
double layer_away_bytes(const layer_price *price, plait_choice choice)
{
    if (choice.offload_acts == 0 || choice.recompute.kind == PLAIT_RECOMPUTE_FULL)
        return 0.0;
    const plait_recompute_masks kept = plait_recompute_masks_of(choice.recompute);
    const plait_recompute_masks here = plait_offload_masks_of(choice.offload_acts);
    double bytes = 0.0;

    for (int t = 0; t < PLAIT_TENSORS; t++)
        bytes += price->saved_bytes[t] *
                 (1.0 - mask_share(kept.tensors, kept.half_tensors, (unsigned)t)) *
                 mask_share(here.tensors, here.half_tensors, (unsigned)t);
    return bytes;
}

double layer_saved_bytes(const layer_price *price, plait_recompute recompute)
{
    const plait_recompute_masks masks = plait_recompute_masks_of(recompute);
    double bytes = 0.0;

    if (recompute.kind == PLAIT_RECOMPUTE_NONE)
        return price->kept_bytes;
    if (recompute.kind == PLAIT_RECOMPUTE_FULL)
        return price->input_bytes;
    for (int t = 0; t < PLAIT_TENSORS; t++)
        bytes += price->saved_bytes[t] *
                 (1.0 - mask_share(masks.tensors, masks.half_tensors, (unsigned)t));
    return bytes;
}

/* Seconds that waits and recomputation add to the operators of a layer. */
typedef struct layer_waits {
    double forward_gather_s, backward_gather_s;
    double forward_launch_s, backward_launch_s;
    double forward_offload_s, backward_offload_s;
    double recompute_s, recompute_attention_s;
} layer_waits;

/*
 * The passes of paired microbatches are shorter by the time that the pair saves, so they hide less
 * waiting (C.157). Transfers over the host link overlap each pass. In the forward, activations
 * leave the device (C.167) while the rank's shard of the parameters arrives and is then gathered.
 * In the backward the shard arrives first, and then the activations arrive during the gather
 * (C.381).
 *
 * @param away_bytes  offloaded bytes
 */
static layer_waits waits_of(const plait_problem *problem, const layer_price *price,
                            const layer_gather *gather, plait_choice choice, double away_bytes)
{
    const bool full = choice.recompute.kind == PLAIT_RECOMPUTE_FULL;
    const rerun again = rerun_of(price, choice.recompute);
    const double alone_s = price->forward_gpu_s + price->backward_gpu_s;
    const double left = gather->paired_s > 0.0 ? 1.0 - gather->paired_s / alone_s : 1.0;
    const double forward_s = left * price->forward_gpu_s;
    const double backward_s = left * price->backward_gpu_s + again.seconds;
    const double acts_s =
        away_bytes > 0.0
            ? away_bytes / plait_cluster_accelerator(problem->cluster, 0)->host_bytes_per_s
            : 0.0;
    const double up_again_s = gather->up_again_s + (full ? gather->up_rerun_s : 0.0);
    const double forward_carried_s =
        gather->up_s > 0.0 ? larger(acts_s, gather->up_s + gather->gather_s) : acts_s;
    const double backward_carried_s =
        up_again_s > 0.0 ? up_again_s + larger(acts_s, gather->again_s) : acts_s;
    layer_waits w = {.recompute_s = again.seconds, .recompute_attention_s = again.attention_s};

    w.forward_gather_s = gather_exposed_s(problem, gather->gather_s, forward_s);
    w.backward_gather_s =
        gather_exposed_s(problem, gather->again_s + gather->scatter_s, backward_s);
    w.forward_offload_s = larger(0.0, forward_carried_s - forward_s - w.forward_gather_s);
    w.backward_offload_s = larger(0.0, backward_carried_s - backward_s - w.backward_gather_s);
    w.forward_launch_s =
        host_wait_s(forward_s + w.forward_gather_s + w.forward_offload_s, price->host_s);
    w.backward_launch_s =
        host_wait_s(backward_s + w.backward_gather_s + w.backward_offload_s,
                    price->host_s * (problem->runtime->factor.host_backward + again.launches));
    return w;
}

/* C.417: the varying part of a layer's time. All operators vary together, so deviations add up. */
static varied_time varied_time_of(const layer_price *price, const layer_waits *w)
{
    const document_load *const of = &price->documents;
    const double attention_s = price->forward[LAYER_attention] + price->backward[LAYER_attention] +
                               w->recompute_attention_s;
    const double other_s =
        price->forward_gpu_s + price->backward_gpu_s + w->recompute_s - attention_s;

    if (of->work_deviation <= 0.0)
        return (varied_time){0.0, 0.0, 0.0};
    return (varied_time){
        attention_s + (of->token_deviation > 0.0 ? other_s : 0.0),
        of->work_deviation * attention_s + of->token_deviation * other_s,
        of->work_most * attention_s + of->token_most * other_s,
    };
}

/* C.80: the time of a layer's pass is that of its operators plus these waits. */
layer_time layer_time_of(const plait_problem *problem, const layer_price *price,
                         const layer_gather *gather, plait_choice choice)
{
    const double away = layer_away_bytes(price, choice);
    const layer_waits w = waits_of(problem, price, gather, choice, away);
    const double kept = layer_saved_bytes(price, choice.recompute);
    const double work_s = price->backward_gpu_s + w.recompute_s; // launched in the backward
    const double launch_share = work_s > 0.0 ? w.backward_launch_s / work_s : 0.0;

    return (layer_time){
        .forward_s =
            price->forward_gpu_s + w.forward_gather_s + w.forward_launch_s + w.forward_offload_s,
        .backward_s = price->backward_gpu_s + w.recompute_s + w.backward_gather_s +
                      w.backward_launch_s + w.backward_offload_s,
        .weight_s = price->weight_s * (1.0 + launch_share),
        .saved_bytes = kept - away,
        .busy_s = price->busy_s + w.recompute_s,
        .moving_s = price->moving_s,
        .varied = varied_time_of(price, &w),
        .live_bytes = price->kept_bytes - kept + offload_buffers * away,
    };
}

void layer_terms_of(const plait_problem *problem, const layer_price *price,
                    const layer_gather *gather, plait_choice choice, double terms[LAYER_TERMS])
{
    const layer_waits w = waits_of(problem, price, gather, choice, layer_away_bytes(price, choice));

    for (int i = 0; i < LAYER_TERMS; i++)
        terms[i] = price->forward[i] + price->backward[i];
    terms[LAYER_recompute] = w.recompute_s;
    terms[LAYER_offload] = w.forward_offload_s + w.backward_offload_s;
    terms[LAYER_gather] = w.forward_gather_s + w.backward_gather_s;
    terms[LAYER_launch] = w.forward_launch_s + w.backward_launch_s;
}
