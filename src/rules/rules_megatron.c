/* rules_megatron.c - rules of Megatron-LM's parser, group builder and schedules */
#include <stddef.h>

#include "plait/plan.h"

#include "rules/rules.h"
#include "plan/split.h"
#include "plan/model_queries.h"

/*
 * Experts must receive each token once. Without sequence parallelism, each tensor rank would send
 * every token.
 */
static bool experts_need_sp(const plait_problem *problem, const plait_degrees *d)
{
    return !model_has_experts(problem->model) || d->tp == 1 || d->sp;
}

static bool interleaving_needs_whole_groups(const plait_problem *problem, const plait_degrees *d)
{
    if (d->schedule != PLAIT_INTERLEAVED)
        return true;
    return plait_degrees_microbatches(d, problem->job.gbs) % d->pp == 0;
}

/*
 * Megatron also builds a grid of expert ranks for models without experts, with etp = tp and ep = 1.
 */
static bool same_pipeline_groups(const plait_problem *problem, const plait_degrees *d)
{
    if (d->order != PLAIT_ORDER_TP_CP_PP_DP || d->pp == 1)
        return true;
    if (!model_has_experts(problem->model))
        return d->cp == 1;
    return d->tp * d->cp == d->etp * d->ep;
}

static bool sharded_halves(const plait_problem *problem, const plait_degrees *d)
{
    const int seq = problem->job.seq;

    if (d->cp > 1 && seq % (2 * d->cp) != 0)
        return false;
    return !d->sp || seq / d->cp % d->tp == 0;
}

static bool learned_positions_reach(const plait_problem *problem, const plait_degrees *d)
{
    (void)d;
    return problem->model->learned_positions == 0 ||
           problem->job.seq <= problem->model->learned_positions;
}

static bool instances_divide_experts(const plait_problem *problem, const plait_degrees *d)
{
    const int replicas = d->dp * d->cp;
    const int instances = replicas / d->shard_group;

    if (!model_has_experts(problem->model) || instances == 1)
        return true;
    return (int64_t)d->tp * replicas / ((int64_t)d->etp * d->ep) % instances == 0;
}

/*
 * Only the distributed optimizer can convert master weights to 8 bits, store moments in fewer bits,
 * and run on the host.
 */
static bool state_has_shards(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->zero > 0 || (!d->fp8_params && d->optimizer_state == PLAIT_STATE_FP32 &&
                           d->offload == PLAIT_OFFLOAD_NONE);
}

/*
 * The hybrid optimizer supports 8-bit parameters only with delayed scaling, which no fp8 recipe of
 * plait uses.
 */
static bool offload_is_wide(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->offload == PLAIT_OFFLOAD_NONE || !d->fp8_params;
}

/*
 * The schedule of paired microbatches supports at most one multi-token-prediction module, in the
 * last stage.
 */
static bool pairs_have_one_prediction(const plait_problem *problem, const plait_degrees *d)
{
    return d->ep_overlap == PLAIT_EP_OVERLAP_NONE || problem->model->mtp_layers <= 1;
}

static bool biased_experts_are_whole(const plait_problem *problem, const plait_degrees *d)
{
    for (int k = 0; k < problem->model->kinds; k++) {
        const plait_layer *layer = &problem->model->kind[k];
        if (layer->ffn == PLAIT_FFN_MOE && layer->moe.bias && d->etp > 1)
            return false;
    }
    return true;
}

/* Context parallelism with a ring supports no windows. Sinks need the exchange by heads (a2a). */
static bool context_suits_windows(const plait_problem *problem, const plait_degrees *d)
{
    for (int k = 0; d->cp > 1 && k < problem->model->kinds; k++) {
        const plait_layer *layer = &problem->model->kind[k];
        if (layer->mixer != PLAIT_MIXER_ATTENTION)
            continue;
        if (layer->attention.window > 0 &&
            (d->cp_comm == PLAIT_CP_P2P || d->cp_comm == PLAIT_CP_A2A_P2P))
            return false;
        if (layer->attention.sinks && d->cp_comm != PLAIT_CP_A2A)
            return false;
    }
    return true;
}

/*
 * The indexer of sparse attention scores all keys of the sequence, so each rank must gather all
 * keys.
 */
static bool context_suits_indexers(const plait_problem *problem, const plait_degrees *d)
{
    for (int k = 0; d->cp > 1 && k < problem->model->kinds; k++) {
        const plait_layer *layer = &problem->model->kind[k];
        if (layer->mixer == PLAIT_MIXER_MLA && layer->mla.index_heads > 0 &&
            d->cp_comm != PLAIT_CP_ALLGATHER)
            return false;
    }
    return true;
}

static bool is_unfused(unsigned char kernel)
{
    return kernel == PLAIT_ATTENTION_UNFUSED || kernel == PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL;
}

static bool context_has_kernel(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->cp == 1 || !is_unfused(d->attention);
}

/* FlashAttention 2 does not support MLA, whose queries and keys are wider than its values. */
static bool latent_has_kernel(const plait_problem *problem, const plait_degrees *d)
{
    (void)d;
    for (int k = 0; k < problem->model->kinds; k++)
        if (problem->model->kind[k].mixer == PLAIT_MIXER_MLA &&
            (d->attention == PLAIT_ATTENTION_FLASH || d->attention == PLAIT_ATTENTION_FLASH2))
            return false;
    return true;
}

static bool chunks_reach(const plait_problem *problem, const plait_degrees *d)
{
    (void)d;
    for (int k = 0; k < problem->model->kinds; k++) {
        const plait_layer *layer = &problem->model->kind[k];
        if (layer->mixer == PLAIT_MIXER_ATTENTION && layer->attention.chunk > 0 &&
            problem->job.seq > layer->attention.chunk)
            return false;
    }
    return true;
}

/*
 * Megatron builds the embedding in the first chunk and the loss in the last chunk, even if a layout
 * has them in other chunks.
 */
static bool ends_are_outside(const plait_problem *problem, const plait_degrees *d)
{
    return split_has_ends_outside(problem->model, d);
}

/* All multi-token-prediction modules must be in one chunk, the last chunk of its rank. */
static bool predictions_stand_last(const plait_problem *problem, const plait_degrees *d)
{
    plait_chunk chunks[PLAIT_MAX_LAYERS];
    const int count = d->pp * d->vpp;

    if (d->split.kind != PLAIT_SPLIT_LAYOUT || problem->model->mtp_layers == 0 ||
        !plait_chunks_of(problem->model, d, chunks))
        return true;
    for (int c = 0; c < count; c++)
        if (chunks[c].mtp > 0)
            return chunks[c].mtp == problem->model->mtp_layers && c >= count - d->pp;
    return true;
}

// ---- hybrids (pretrain_hybrid.py) ----------------------------------------------------------

/*
 * Sources of these rules: NVIDIA/Megatron-LM d98e8a6 (2026-08-22). Only GPTModel has a plan for
 * pairs of microbatches (build_schedule_plan).
 */
static bool hybrids_have_no_pairs(const plait_problem *problem, const plait_degrees *d)
{
    return d->ep_overlap == PLAIT_EP_OVERLAP_NONE || !model_is_hybrid(problem->model);
}

static const plait_mamba *mamba_of(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++)
        if (model->kind[k].mixer == PLAIT_MIXER_MAMBA)
            return &model->kind[k].mamba;
    return NULL;
}

/* megatron/core/ssm/mamba_mixer.py: in 8 bits, the output of the input projection has a multiple of 16 channels. */
static bool projections_fit_8_bits(const plait_problem *problem, const plait_degrees *d)
{
    const plait_mamba *const m = mamba_of(problem->model);
    const plait_precision precision = problem->job.precision;

    (void)d;
    return m == NULL ||
           !(precision == PLAIT_FP8 || precision == PLAIT_FP8_BLOCK || precision == PLAIT_MXFP8) ||
           (2 * (int64_t)m->inner + 2 * (int64_t)m->groups * m->state + m->heads) % 16 == 0;
}

/*
 * megatron/core/recompute.py: full:N is a number of letters of the pattern, the same in all chunks.
 */
static bool recomputed_layers_are_letters(const plait_problem *problem, const plait_degrees *d)
{
    return d->recompute.kind != PLAIT_RECOMPUTE_FULL || d->recompute.layers == 0 ||
           !model_is_hybrid(problem->model) || model_layer_parts(problem->model) > 0;
}

/* megatron/core/models/hybrid/hybrid_model.py: further predictions are in the last chunk. */
static bool hybrids_predict_last(const plait_problem *problem, const plait_degrees *d)
{
    plait_chunk chunks[PLAIT_MAX_LAYERS];

    if (d->split.kind != PLAIT_SPLIT_LAYOUT || problem->model->mtp_layers == 0 ||
        !model_is_hybrid(problem->model) || !plait_chunks_of(problem->model, d, chunks))
        return true;
    return chunks[d->pp * d->vpp - 1].mtp == problem->model->mtp_layers;
}

static const plan_rule batch_rules[] = {
    {"M2", "the interleaved schedule needs a number of microbatches that is a multiple of pp",
     interleaving_needs_whole_groups},
    {NULL, NULL, NULL},
};

static const plan_rule plan_rules[] = {
    {"M1", "experts with tp > 1 need sp = 1", experts_need_sp},
    {"M3", "order tp-cp-pp-dp needs tp x cp = etp x ep, or cp = 1 without experts",
     same_pipeline_groups},
    {"M4", "the sequence length must be a multiple of 2 cp, and with sp = 1 also of cp x tp",
     sharded_halves},
    {"M5", "the sequence must not be longer than the table of learned positions",
     learned_positions_reach},
    {"M6", "dp x cp / shard_group must divide the number of replicas of an expert",
     instances_divide_experts},
    {"M8", "experts with biases need etp = 1", biased_experts_are_whole},
    {"M9", "with cp > 1, windowed attention needs cp_comm allgather or a2a, and sinks need a2a",
     context_suits_windows},
    {"M10", "the sequence must not be longer than the chunks of chunked attention", chunks_reach},
    {"M11", "with cp > 1, sparse attention with an indexer needs cp_comm allgather",
     context_suits_indexers},
    {"M12", "cp > 1 needs attention fused, flash2 or flash3", context_has_kernel},
    {"M14", "MLA needs attention fused, flash3 or unfused", latent_has_kernel},
    {"M15",
     "fp8_params 1, moments below fp32 and an offloaded optimizer need the distributed optimizer "
     "(zero 1 or more)",
     state_has_shards},
    {"M16", "an offloaded optimizer needs fp8_params 0", offload_is_wide},
    {"M21", "ep_overlap supports at most one multi-token prediction module",
     pairs_have_one_prediction},
    {"M22", "a layout must have the embedding in its first chunk and the loss in its last",
     ends_are_outside},
    {"M23", "a layout must have all multi-token prediction modules in one of its last pp chunks",
     predictions_stand_last},
    {"M24", "ep_overlap needs layers of a mixer and a feed-forward part, and no Mamba layers",
     hybrids_have_no_pairs},
    {"M26",
     "products in 8 bits need a multiple of 16 channels in the input projection of Mamba-2 layers",
     projections_fit_8_bits},
    {"M27",
     "recompute full:N needs layers that all have a mixer and a feed-forward part, or all only one",
     recomputed_layers_are_letters},
    {"M28", "a hybrid must have all multi-token prediction modules in its last chunk",
     hybrids_predict_last},
    {NULL, NULL, NULL},
};

// ---- models --------------------------------------------------------------------------------

static bool layers_have_parts(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        if (layer->opaque || (layer->mixer == PLAIT_MIXER_ATTENTION && layer->attention.full_mask))
            return false;
    }
    return model->patch_dim == 0;
}

static bool blocks_are_plain(const plait_model *model)
{
    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        const int parts = (layer->mixer != PLAIT_MIXER_NONE) + (layer->ffn != PLAIT_FFN_NONE);
        if (layer->norms != parts || layer->parallel_residual)
            return false;
    }
    return !model->embedding_norm && !model->head_bias;
}

static bool has_biases(const plait_layer *layer)
{
    return layer->ffn == PLAIT_FFN_MLP ? layer->mlp.bias : layer->moe.bias;
}

/* Megatron has one switch for the biases of all linear layers, and one for biases of q, k and v. */
static bool biases_go_together(const plait_model *model)
{
    const bool all = has_biases(&model->kind[0]);

    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        if (has_biases(layer) != all)
            return false;
        if (layer->mixer == PLAIT_MIXER_MLA && all)
            return false;
        if (layer->mixer == PLAIT_MIXER_ATTENTION &&
            (layer->attention.out_bias != all || (all && !layer->attention.qkv_bias) ||
             layer->attention.qkv_bias != model->kind[0].attention.qkv_bias))
            return false;
        if (layer->ffn == PLAIT_FFN_MOE && layer->moe.router_bias != all &&
            !model->numerics.router.correction_bias)
            return false;
    }
    return true;
}

/*
 * Returns whether two attentions have one shape. If `weightless`, their norms of q and k can
 * differ.
 */
static bool same_attention(const plait_attention *a, const plait_attention *b, bool weightless)
{
    return a->heads == b->heads && a->kv_heads == b->kv_heads && a->head_dim == b->head_dim &&
           (a->qk_norm == b->qk_norm || weightless) && a->gate == b->gate && a->sinks == b->sinks;
}

/* Layers of softmax attention must have one shape, and MLA must be in all layers or in none. */
static bool mixers_are_alike(const plait_model *model)
{
    const plait_layer *attention = NULL, *mla = NULL, *windowed = NULL;

    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        if (layer->mixer == PLAIT_MIXER_MLA)
            mla = layer;
        if (layer->mixer != PLAIT_MIXER_ATTENTION)
            continue;
        if (attention != NULL &&
            !same_attention(&attention->attention, &layer->attention, model->numerics.qk_l2_norm))
            return false;
        if (layer->attention.shared_kv)
            return false;
        if (layer->attention.window > 0 && windowed != NULL &&
            windowed->attention.window != layer->attention.window)
            return false;
        attention = layer;
        windowed = layer->attention.window > 0 ? layer : windowed;
    }
    return mla == NULL || attention == NULL;
}

static bool positions_known(const plait_model *model)
{
    const plait_rope *rope = &model->numerics.rope;
    bool mla = false;

    for (int k = 0; k < model->kinds; k++)
        mla = mla || model->kind[k].mixer == PLAIT_MIXER_MLA;
    if (rope->kind == PLAIT_ROPE_OTHER || rope->local_base != 0.0)
        return false;
    if (mla)
        return rope->kind == PLAIT_ROPE_PLAIN || rope->kind == PLAIT_ROPE_YARN;
    return true;
}

/* Dense and expert layers must have the same activation. Megatron has two gated activations. */
static bool activations_known(const plait_model *model)
{
    int gated = -1;

    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        const int its = layer->ffn == PLAIT_FFN_MLP ? layer->mlp.gated : layer->moe.gated;
        if (layer->ffn == PLAIT_FFN_NONE)
            continue;
        if (gated >= 0 && its != gated)
            return false;
        gated = its;
    }
    switch (model->numerics.activation) {
    case PLAIT_SILU:
    case PLAIT_CLAMPED_SWIGLU:
        return gated != 0;
    case PLAIT_GELU:
    case PLAIT_GELU_TANH:
    case PLAIT_RELU2:
        return gated != 1;
    case PLAIT_RELU:
    case PLAIT_OTHER_ACTIVATION:
        return false;
    default:
        return true;
    }
}

static bool router_known(const plait_model *model)
{
    const plait_router *router = &model->numerics.router;
    const bool sigmoid = router->score == PLAIT_ROUTER_SIGMOID;

    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        if (layer->ffn == PLAIT_FFN_MOE && layer->moe.topk > 1 && sigmoid && !router->normalised)
            return false;
        if (layer->ffn == PLAIT_FFN_MOE && router->correction_bias && !sigmoid)
            return false;
    }
    return true;
}

static bool experts_are_alike(const plait_model *model)
{
    const plait_layer *dense = NULL, *moe = NULL;

    for (int k = 0; k < model->kinds; k++) {
        const plait_layer *layer = &model->kind[k];
        const plait_layer **first = layer->ffn == PLAIT_FFN_MLP ? &dense : &moe;
        if (layer->ffn == PLAIT_FFN_NONE)
            continue;
        if (*first == NULL)
            *first = layer;
        if (layer->mlp.width != (*first)->mlp.width ||
            layer->moe.experts != (*first)->moe.experts || layer->moe.topk != (*first)->moe.topk ||
            layer->moe.width != (*first)->moe.width ||
            layer->moe.shared_width != (*first)->moe.shared_width ||
            layer->moe.latent != (*first)->moe.latent)
            return false;
    }
    // the pattern of a hybrid has separate letters for these modules
    return model->mtp_layers == 0 || model_is_hybrid(model) ||
           model->mtp_kind == model->layer_kind[model->layers - 1];
}

/*
 * hybrid_stack_spec in megatron/core/models/hybrid/hybrid_layer_specs.py has no norms of queries and
 * keys, and the convolution of MambaMixer has 4 tokens. The lists of layers with
 * delta nets and windows count letters.
 */
static bool hybrid_mixers_known(const plait_model *model)
{
    const plait_mamba *const mamba = mamba_of(model);

    for (int k = 0; k < model->kinds && model_is_hybrid(model); k++) {
        const plait_layer *layer = &model->kind[k];
        const plait_attention *a = &layer->attention;
        if (layer->mixer == PLAIT_MIXER_MLA || layer->mixer == PLAIT_MIXER_DELTA_NET)
            return false;
        if (layer->mixer == PLAIT_MIXER_ATTENTION &&
            (a->qk_norm || a->window > 0 || a->chunk > 0 || a->gate || a->sinks))
            return false;
        if (layer->mixer == PLAIT_MIXER_MAMBA &&
            (layer->mamba.conv != 4 || layer->mamba.inner != mamba->inner ||
             layer->mamba.state != mamba->state || layer->mamba.heads != mamba->heads ||
             layer->mamba.groups != mamba->groups))
            return false;
    }
    return true;
}

/* hybrid_builders.py passes only the base and the rotated share to the model. */
static bool hybrid_positions_known(const plait_model *model)
{
    const plait_attention *first = NULL;

    for (int k = 0; k < model->kinds && model_is_hybrid(model); k++) {
        const plait_attention *a = &model->kind[k].attention;
        if (model->kind[k].mixer != PLAIT_MIXER_ATTENTION)
            continue;
        if ((a->rotary && model->numerics.rope.kind != PLAIT_ROPE_PLAIN) ||
            (first != NULL && first->rotary != a->rotary))
            return false;
        first = a;
    }
    return true;
}

static const model_rule model_rules[] = {
    {"MM1", "layers must be those of a decoder of tokens, and must not be opaque",
     layers_have_parts},
    {"MM2",
     "a layer must have one norm before attention and one before the MLP, in sequence, and no norm "
     "may follow the embedding",
     blocks_are_plain},
    {"MM3", "biases must be in all linear layers and routers, in none, or in q, k and v only",
     biases_go_together},
    {"MM4",
     "scores, logits and embeddings must not be scaled, capped or biased by distance, and norms of "
     "q and k must span one head",
     model_scores_are_plain},
    {"MM5",
     "all attention layers must have the same shape and window, and MLA must be in all layers or "
     "in none",
     mixers_are_alike},
    {"MM6",
     "rotary positions must have one base and be plain, linear, scaled as in Llama 3, or YaRN",
     positions_known},
    {"MM7", "the activation must be GELU, squared ReLU, SwiGLU or clamped SwiGLU in all layers",
     activations_known},
    {"MM8",
     "sigmoid routing to several experts must normalise the routing weights, and a bias for "
     "choosing experts needs sigmoid scores",
     router_known},
    {"MM9",
     "all layers with experts must have the same shape, as must all layers without; MTP modules "
     "must have the shape of the last layer",
     experts_are_alike},
    {"MM10",
     "a hybrid must have Mamba-2 layers of one shape with a convolution of 4 tokens, and attention "
     "without latents, windows, gates, sinks and norms of q and k; it must have no delta nets",
     hybrid_mixers_known},
    {"MM11", "rotary positions of a hybrid must be plain, in all attention layers or in none",
     hybrid_positions_known},
    {NULL, NULL, NULL},
};

/* Returns the default etp: Megatron shards experts like the other layers. */
static int usual_etp(const plait_problem *problem, const plait_degrees *d)
{
    (void)problem;
    return d->tp;
}

const rule_set rules_megatron = {
    .plan = plan_rules,
    .batch = batch_rules,
    .model = model_rules,
    .states = MODEL_PART_BIT(PLAIT_PART_MAMBA2) | MODEL_PART_BIT(PLAIT_PART_ALONE) |
              MODEL_PART_BIT(PLAIT_PART_LATENT_EXPERTS),
    .etp = usual_etp,
};
