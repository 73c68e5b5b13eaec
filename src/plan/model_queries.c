/* model_queries.c - properties of a whole model that rules and search spaces need */
#include <math.h>
#include <string.h>

#include "plan/model_queries.h"

#include "plait/plan.h"

bool model_has_experts(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].ffn == PLAIT_FFN_MOE)
            return true;
    return false;
}

int attention_v_dim(const plait_attention *attention)
{
    return attention->v_dim > 0 ? attention->v_dim : attention->head_dim;
}

double moe_mean_topk(const plait_moe *moe)
{
    return moe->zero_experts > 0
               ? (double)moe->topk * moe->experts / ((double)moe->experts + moe->zero_experts)
               : moe->topk;
}

double moe_token_width(const plait_model *model, const plait_moe *moe)
{
    return moe->latent > 0 ? moe->latent : model->hidden;
}

bool model_is_hybrid(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (!model->kind[k].opaque &&
            (model->kind[k].mixer == PLAIT_MIXER_MAMBA || layer_sublayers(&model->kind[k]) == 1))
            return true;
    return false;
}

int model_layer_parts(const plait_model *model)
{
    const int parts = layer_sublayers(&model->kind[model->layer_kind[0]]);

    for (int i = 1; i < model->layers; i++)
        if (layer_sublayers(&model->kind[model->layer_kind[i]]) != parts)
            return 0;
    return parts;
}

double moe_imbalance(const plait_moe *moe, double uneven, int ep)
{
    double most = fmin(ep, moe->experts / moe_mean_topk(moe));

    if (ep == 1 || (moe->capacity > 0.0 && moe->padded))
        return 0.0;
    if (moe->capacity > 0.0)
        most = fmin(most, fmax(1.0, moe->capacity));
    return fmin(uneven, most);
}

double model_imbalance(const plait_model *model, double uneven, int ep)
{
    double most = 0.0;

    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].ffn == PLAIT_FFN_MOE)
            most = fmax(most, moe_imbalance(&model->kind[k].moe, uneven, ep));
    return most > 0.0 ? most : 1.0;
}

double model_streams(const plait_model *model)
{
    return model->streams > 1 ? model->streams : 1.0;
}

double model_mean_blocks(const plait_model *model, bool ffn)
{
    const int block = model->residual_block;
    double sum = 0.0;

    if (block <= 0)
        return 0.0;
    for (int i = 0; i < model->layers; i++)
        sum += ffn ? i / block + 1 : (i + block - 1) / block;
    return sum / model->layers;
}

double model_sent_width(const plait_model *model)
{
    const int block = model->residual_block;
    double sum = 0.0;

    if (block <= 0 || model->layers < 2)
        return model->hidden * model_streams(model);
    for (int i = 1; i < model->layers; i++)
        sum += (i + block - 1) / block;
    return model->hidden * (model_streams(model) + sum / (model->layers - 1));
}

double model_kept_width(const plait_model *model)
{
    return model->hidden *
           (model_streams(model) + (model->residual_block > 0 ? 1.0 / model->residual_block : 0.0));
}

bool model_divides_kv_heads(const plait_model *model, int tp)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_ATTENTION &&
            model->kind[k].attention.kv_heads % tp != 0)
            return false;
    return true;
}

int layer_sublayers(const plait_layer *layer)
{
    if (layer->opaque)
        return 2;
    return (layer->mixer != PLAIT_MIXER_NONE) + (layer->second_mixer != PLAIT_MIXER_NONE) +
           (layer->ffn != PLAIT_FFN_NONE);
}

bool model_has_modules(const plait_model *model, unsigned modules)
{
    unsigned there = 1u << PLAIT_MODULE_core_attn | 1u << PLAIT_MODULE_layernorm;

    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        if (layer->mixer == PLAIT_MIXER_MLA || layer->attention.q_rank > 0)
            there |= 1u << PLAIT_MODULE_mla_up_proj;
        if (layer->ffn == PLAIT_FFN_MLP)
            there |= 1u << PLAIT_MODULE_mlp;
        if (layer->ffn == PLAIT_FFN_MOE)
            there |= 1u << PLAIT_MODULE_moe_act | 1u << PLAIT_MODULE_moe;
        if (layer->ffn == PLAIT_FFN_MOE && layer->moe.shared_width > 0)
            there |= 1u << PLAIT_MODULE_shared_experts;
    }
    return (modules & ~there) == 0;
}

/*
 * Returns whether any norm is a separate kernel; only then does recomputation of norms free memory.
 * Norms before MLA and before experts are always separate kernels. Other norms can be part of the
 * kernel of the product that follows.
 */
static bool norms_stand_alone(const plait_problem *problem)
{
    const plait_model *const model = problem->model;

    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_MLA || model->kind[k].ffn == PLAIT_FFN_MOE)
            return true;
    return !problem->runtime->kernels.norm_in_product;
}

bool modules_save(const plait_problem *problem, unsigned modules)
{
    return model_has_modules(problem->model, modules) &&
           (!(modules >> PLAIT_MODULE_layernorm & 1u) || norms_stand_alone(problem));
}

/*
 * Returns whether all norms are separate modules. A norm inside the kernel of a product is not a
 * module; norms before MLA and before experts always are modules.
 */
static bool all_norms_stand_alone(const plait_problem *problem)
{
    for (int k = 0; k < problem->model->kinds; k++)
        if (problem->model->kind[k].mixer != PLAIT_MIXER_MLA)
            return !problem->runtime->kernels.norm_in_product;
    return !problem->runtime->kernels.norm_in_product || model_has_experts(problem->model);
}

static bool has_attention(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_ATTENTION ||
            model->kind[k].mixer == PLAIT_MIXER_MLA)
            return true;
    return false;
}

bool offload_inputs_exist(const plait_problem *problem, unsigned char set)
{
    const unsigned modules = plait_offload_modules(set);
    const unsigned norms = 1u << PLAIT_OFFLOAD_attn_norm | 1u << PLAIT_OFFLOAD_mlp_norm;
    const unsigned experts = 1u << PLAIT_OFFLOAD_expert_fc1 | 1u << PLAIT_OFFLOAD_moe_act;
    const unsigned core = 1u << PLAIT_OFFLOAD_core_attn | 1u << PLAIT_OFFLOAD_attn_proj;

    return (!(modules & norms) || all_norms_stand_alone(problem)) &&
           (!(modules & experts) || model_has_experts(problem->model)) &&
           (!(modules & core) || has_attention(problem->model));
}

bool recompute_keeps_inputs(unsigned char set, plait_recompute recompute)
{
    const unsigned experts = 1u << PLAIT_OFFLOAD_expert_fc1 | 1u << PLAIT_OFFLOAD_moe_act;

    if (set == 0)
        return true;
    if (recompute.kind == PLAIT_RECOMPUTE_MODULES && (recompute.modules >> PLAIT_MODULE_moe & 1u))
        return !(plait_offload_modules(set) & experts);
    return recompute.kind != PLAIT_RECOMPUTE_FULL;
}

/*
 * NVIDIA/TransformerEngine d0067d0, transformer_engine/pytorch/module/base.py: its buffers take no
 * quantizer of blocks or of NVFP4. PyTorch's symmetric memory maps the memory of all peers.
 */
bool tp_overlap_runs(const plait_problem *problem, int tp, bool sp)
{
    const plait_cluster *const cluster = problem->cluster;
    const plait_runtime *const runtime = problem->runtime;
    const plait_precision precision = problem->job.precision;
    const bool torchtitan = runtime->rules == PLAIT_RULES_TORCHTITAN;

    if (!(runtime->can.takes[PLAIT_KEY_TP_COMM_OVERLAP] >> 1 & 1u) || tp <= 1 || !sp ||
        cluster->level[0].gpus % tp != 0 ||
        (!torchtitan && (precision == PLAIT_FP8_BLOCK || precision == PLAIT_NVFP4)))
        return false;
    for (int g = 0; g < cluster->groups; g++) {
        const plait_accelerator *const gpu = cluster->group[g].accelerator;

        if (cluster->group[g].gpus_per_node % tp != 0 || gpu->scale_up_pcie ||
            !(torchtitan || plait_accelerator_runs(gpu, PLAIT_KERNEL_MULTICAST)))
            return false;
    }
    return true;
}

bool model_scores_are_plain(const plait_model *model)
{
    const plait_numerics *n = &model->numerics;

    return n->attention_softcap == 0.0 && n->logit_softcap == 0.0 && n->attention_scale == 0.0 &&
           n->embedding_scale == 0.0 && n->residual_scale == 0.0 && n->logit_scale == 0.0 &&
           !n->alibi && !n->qk_norm_whole;
}

static bool mixers_same(const plait_layer *a, const plait_layer *b)
{
    return !a->opaque && !b->opaque && a->mixer == b->mixer && a->second_mixer == b->second_mixer &&
           (a->norms > 0) == (b->norms > 0) && a->laurel_rank == b->laurel_rank &&
           memcmp(&a->attention, &b->attention, sizeof a->attention) == 0 &&
           memcmp(&a->mla, &b->mla, sizeof a->mla) == 0 &&
           memcmp(&a->delta_net, &b->delta_net, sizeof a->delta_net) == 0 &&
           memcmp(&a->mamba, &b->mamba, sizeof a->mamba) == 0 &&
           memcmp(&a->conv, &b->conv, sizeof a->conv) == 0;
}

int model_first_with_mixer(const plait_model *model, int kind)
{
    int first = 0;

    while (first < kind && !mixers_same(&model->kind[first], &model->kind[kind]))
        first++;
    return first;
}
