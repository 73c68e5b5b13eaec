/* tuning.c - frozen parts and adapters of a layer (C.410 to C.413) */
#include "costmodel/layer/tuning.h"

#include "base/numbers.h"
#include "plan/model_queries.h"

#define PART(name) (1u << PLAIT_PART_##name)

/* The parts that each word of --freeze names. */
static const unsigned frozen_parts[PLAIT_FREEZES] = {
    [PLAIT_FREEZE_EMBEDDING] = PART(embedding),
    [PLAIT_FREEZE_HEAD] = PART(head),
    [PLAIT_FREEZE_ATTENTION] = PART(qkv) | PART(mla_up) | PART(indexer) | PART(attn_out),
    [PLAIT_FREEZE_MLP] = PART(fc1) | PART(fc2) | PART(shared),
    [PLAIT_FREEZE_EXPERTS] = PART(expert_fc1) | PART(expert_fc2) | PART(moe_latent),
    [PLAIT_FREEZE_ROUTER] = PART(router),
    [PLAIT_FREEZE_NORMS] = PART(norm) | PART(linear_norm),
};

/* The parts that each target of adapters is in. */
static const unsigned target_parts[PLAIT_LORA_TARGETS] = {
    [PLAIT_LORA_Q] = PART(qkv) | PART(mla_up),
    [PLAIT_LORA_K] = PART(qkv) | PART(mla_up),
    [PLAIT_LORA_V] = PART(qkv) | PART(mla_up),
    [PLAIT_LORA_QKV] = PART(qkv) | PART(mla_up),
    [PLAIT_LORA_O] = PART(attn_out),
    [PLAIT_LORA_GATE] = PART(fc1) | PART(shared),
    [PLAIT_LORA_UP] = PART(fc1) | PART(shared),
    [PLAIT_LORA_FC1] = PART(fc1) | PART(shared),
    [PLAIT_LORA_DOWN] = PART(fc2) | PART(shared),
    [PLAIT_LORA_EXPERTS] = PART(expert_fc1) | PART(expert_fc2),
};

void shard_tune(const plait_model *model, const plait_tuning *tuning, plait_shard *shard)
{
    shard->one_output = tuning->kind == PLAIT_JOB_REWARD;
    if (tuning->rank > 0) {
        shard->frozen = ~0u;
        shard->frozen_format = (unsigned char)tuning->format;
        shard->lora_rank = tuning->rank;
        shard->lora_targets = tuning->targets;
        for (int t = 0; t < PLAIT_LORA_TARGETS; t++)
            if (tuning->targets >> t & 1u)
                shard->adapted |= target_parts[t];
        return;
    }
    for (int f = 0; f < PLAIT_FREEZES; f++)
        if (tuning->frozen >> f & 1u)
            shard->frozen |= frozen_parts[f];
    if (model->tied && shard->frozen & PART(embedding))
        shard->frozen |= PART(head);
}

bool tuning_freezes(const plait_tuning *tuning, plait_freeze part)
{
    return tuning->rank > 0 || tuning->frozen >> part & 1u;
}

bool encoder_frozen(const plait_tuning *tuning, plait_modality modality)
{
    return tuning_freezes(tuning,
                          modality == PLAIT_VISION ? PLAIT_FREEZE_VISION : PLAIT_FREEZE_AUDIO);
}

bool part_trains(const plait_shard *shard, plait_part part)
{
    return !(shard->frozen >> part & 1u) || shard->adapted >> part & 1u;
}

// ---- adapters ------------------------------------------------------------------------------

static bool has_target(const plait_shard *shard, plait_lora_target target)
{
    return shard->lora_targets >> target & 1u;
}

/*
 * The adapters of one matrix: their number, each with its own first product, and the share of the
 * output's columns that their second products make. Queries, keys and values are columns of one
 * matrix here, and so are gate and up; each may have a separate adapter.
 */
static double adapters_of(const block_draft *draft, plait_part part, double *columns)
{
    const plait_shard *const shard = draft->shard;
    const plait_attention *const a = draft->layer ? &draft->layer->attention : NULL;
    const bool qkv = part == PLAIT_PART_qkv && draft->layer->mixer == PLAIT_MIXER_ATTENTION;
    const bool fc1 = part == PLAIT_PART_fc1 || part == PLAIT_PART_expert_fc1;
    double count = 0.0;

    *columns = 1.0;
    if (qkv && !has_target(shard, PLAIT_LORA_QKV)) {
        const double heads = a->heads + 2.0 * a->kv_heads;
        const double width[] = {a->heads, a->kv_heads, a->kv_heads};
        *columns = 0.0;
        for (int i = 0; i < 3; i++)
            if (has_target(shard, (plait_lora_target)(PLAIT_LORA_Q + i))) {
                *columns += width[i] / heads;
                count += 1.0;
            }
        return count;
    }
    const bool gated =
        part == PLAIT_PART_expert_fc1 ? draft->layer->moe.gated : fc1 && draft->layer->mlp.gated;
    if (gated && !has_target(shard, PLAIT_LORA_FC1)) {
        const bool both = part == PLAIT_PART_expert_fc1 ||
                          (has_target(shard, PLAIT_LORA_GATE) && has_target(shard, PLAIT_LORA_UP));
        *columns = both ? 1.0 : 0.5;
        return both ? 2.0 : 1.0;
    }
    return 1.0;
}

void block_adapter_add(block_draft *draft, const block_linear *linear)
{
    const plait_shard *const shard = draft->shard;
    const bool grouped = linear->experts > 0.0;
    double *const params = grouped ? &draft->out->adapters.expert : &draft->out->adapters.dense;
    double columns;

    if (!(shard->adapted >> linear->part & 1u))
        return;
    const double count = adapters_of(draft, linear->part, &columns);
    const double width = count * shard->lora_rank;
    const double matrices = grouped ? linear->experts : larger(1.0, linear->blocks);
    block_linear down = *linear, up = *linear;
    down.n = width;
    up.k = shard->lora_rank;
    up.n = columns * linear->n;
    down.bias = up.bias = false;
    down.wide = up.wide = true;
    *params += matrices * (down.k * down.n + up.k * up.n);
    block_products_add(draft, &down);
    block_products_add(draft, &up);
    // the sum with the matrix' output, and of both gradients of its input
    block_pass_add(draft, linear->part, matrices * linear->rows * up.n, (block_traffic){6.0, 0.0});
    block_pass_add(draft, linear->part, matrices * linear->rows * linear->k,
                   (block_traffic){0.0, 6.0});
}

// ---- frozen parameters ---------------------------------------------------------------------

static void drop_unless(bool trains, plait_block *out, plait_tensor tensor)
{
    if (!trains)
        out->saved[tensor] = 0.0;
}

/* The share of norm outputs that a trained matrix reads: of the mixer's, the ffn's, or the head. */
static double norms_read(const block_draft *draft)
{
    const plait_shard *const shard = draft->shard;
    const plait_layer *const layer = draft->layer;

    if (layer == NULL)
        return part_trains(shard, PLAIT_PART_head);
    const bool mixer = draft->out->saved[PLAIT_TENSOR_core_out] > 0.0;
    const bool ffn = draft->out->saved[PLAIT_TENSOR_fc1_out] > 0.0;
    const double reads =
        mixer * part_trains(shard, PLAIT_PART_qkv) + ffn * part_trains(shard, PLAIT_PART_fc1);

    return mixer + ffn > 0 ? reads / (mixer + ffn) : 1.0;
}

/*
 * The output of the core attention is always kept, since its own backward reads it, and so are the
 * inputs of activations and norms.
 */
static void drop_tensors(const block_draft *draft)
{
    const plait_shard *const shard = draft->shard;
    plait_block *const out = draft->out;
    const double read = norms_read(draft);

    out->saved[PLAIT_TENSOR_norm_out] *= read;
    out->saved[PLAIT_TENSOR_linear_norm_out] *= read;
    out->saved_gathered *= read;
    drop_unless(part_trains(shard, PLAIT_PART_fc2), out, PLAIT_TENSOR_act_out);
    drop_unless(part_trains(shard, PLAIT_PART_shared), out, PLAIT_TENSOR_shared_act_out);
    drop_unless(part_trains(shard, PLAIT_PART_expert_fc1), out, PLAIT_TENSOR_routed);
    drop_unless(part_trains(shard, PLAIT_PART_expert_fc2), out, PLAIT_TENSOR_expert_act_out);
    drop_unless(part_trains(shard, PLAIT_PART_router) || part_trains(shard, PLAIT_PART_shared), out,
                PLAIT_TENSOR_router_in);
}

void block_settle(const block_draft *draft)
{
    plait_block *const out = draft->out;
    plait_weights *const w = &out->weights;

    if (draft->shard->frozen == 0)
        return;
    if (draft->shard->lora_rank > 0) {
        w->frozen_dense = w->dense;
        w->frozen_expert = w->expert;
        w->dense = out->adapters.dense;
        w->expert = out->adapters.expert;
    } else {
        w->dense -= w->frozen_dense;
        w->expert -= w->frozen_expert;
    }
    drop_tensors(draft);
}
