/* layer_price.c - seconds and bytes of one kind of layer under one set of degrees */
#include <math.h>
#include <string.h>

#include "costmodel/layer/encoder_price.h"
#include "costmodel/layer/fuse.h"
#include "costmodel/layer/layer_ops.h"
#include "costmodel/layer/tuning.h"
#include "base/numbers.h"
#include "costmodel/api.h"
#include "plan/model_queries.h"

// ---- inputs of operator prices -------------------------------------------------------------

plait_kernel_context kernel_context_of(const plait_problem *problem, const layer_key *key)
{
    const plait_accelerator *gpu = plait_cluster_accelerator(problem->cluster, 0);

    return (plait_kernel_context){
        .accelerator = gpu,
        .runtime = problem->runtime,
        .precision = problem->job.precision,
        .attention = (plait_attention_kernel)key->attention,
        .switches = key->switches,
        .slowest = plait_slowest(gpu, &problem->job),
    };
}

plait_network network_of(const plait_problem *problem)
{
    return (plait_network){.nic = problem->runtime->factor.nic,
                           .nic_ranks = problem->runtime->factor.nic_ranks,
                           .rails = problem->runtime->factor.rails,
                           .hop_s = problem->runtime->factor.hop_s};
}

static plait_shard shard_of(const plait_problem *problem, const layer_key *key)
{
    plait_shard shard = {
        .tp = key->tp,
        .cp = key->cp,
        .ep = key->ep,
        .etp = key->etp,
        .sp = key->sp,
        .cp_comm = (plait_cp_comm)key->cp_comm,
        .dispatcher = (plait_dispatcher)key->dispatcher,
        .cp_inner =
            key->cp_comm == PLAIT_CP_A2A_P2P ? plait_context_inner(problem, key->tp, key->cp) : 1,
        .attention = (plait_attention_kernel)key->attention,
        .switches = key->switches,
        .precision = problem->job.precision,
        .grad_reduce = key->grad_reduce,
        .runtime = problem->runtime,
    };

    shard_tune(problem->model, &problem->job.tuning, &shard);
    return shard;
}

/* Do kernels compute attention between packed documents, and mask it? */
static bool attention_masks(const plait_job *job, const layer_key *key)
{
    return key->attention <= PLAIT_ATTENTION_UNFUSED_SOFTMAX_KERNEL && !job->documents.padded;
}

plait_pass pass_of(const plait_problem *problem, const layer_key *key, plait_pass_kind kind)
{
    const plait_job *const job = &problem->job;
    const document_load load = document_load_of(job, key->mbs);
    const double reach = attention_masks(job, key) ? job->seq : load.reach;
    const double sequences = key->mbs * plait_job_unit_tokens(job) / job->seq;

    return (plait_pass){kind, sequences * (load.tokens / reach), reach, reach};
}

static plait_route group_route(const plait_problem *problem, unsigned char placement, int size,
                               int stride)
{
    return plait_route_of(problem->cluster, (plait_group_shape){.ranks = size,
                                                                .runs = 1,
                                                                .run = {{size, stride}},
                                                                .placement = placement});
}

/*
 * In the order of ranks, tp is the innermost axis and cp the next; expert groups extend across
 * both. An expert group with more ranks than both is contiguous if stages are outermost; otherwise
 * rule P2 rejects the plan. So the routes of a layer depend on no other key. With a2a+p2p,
 * neighbouring ranks exchange heads, and ranks at the same position of each such group form a ring.
 * (C.173)
 */
void layer_row_place_groups(const plait_problem *problem, layer_row *row)
{
    const layer_key *const key = &row->key;

    if (row->placed)
        return;
    const struct {
        plait_axis axis;
        int size, stride;
    } groups[] = {
        {PLAIT_AXIS_TP, key->tp, 1},
        {PLAIT_AXIS_CP, key->cp, key->tp},
        {PLAIT_AXIS_ETP, key->etp, 1},
        {PLAIT_AXIS_EP, key->ep, key->etp},
    };

    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++)
        row->route[groups[g].axis] =
            group_route(problem, key->placement, groups[g].size, groups[g].stride);
    if (key->cp_comm == PLAIT_CP_A2A_P2P) {
        const int inner = row->shard.cp_inner;

        row->cp_heads = group_route(problem, key->placement, inner, key->tp);
        row->cp_rings = group_route(problem, key->placement, key->cp / inner, key->tp * inner);
    }
    row->placed = true;
}

static double sum_of(const double *values, int count)
{
    double sum = 0.0;

    for (int i = 0; i < count; i++)
        sum += values[i];
    return sum;
}

/*
 * Share of the dense part of an MoE layer's launch time that a graph of layers leaves. **Chosen** by
 * the errors of 25 published runs. (C.305)
 */
static const double launched_outside_graphs = 0.7;

/*
 * Launch time of a layer's forward: a fixed part, and for layers with experts a part for each expert
 * of the rank. Launches of kernels in a CUDA graph take no time. The fixed part is that of a mixer
 * and a feed-forward part; a layer of one of them has half. (C.37, C.305)
 */
static double launches_s(const plait_problem *problem, const plait_layer *layer,
                         const layer_key *key, plait_cuda_graph graph)
{
    const plait_factors *factor = &problem->runtime->factor;
    const bool experts = layer->ffn == PLAIT_FFN_MOE;
    double host_s =
        0.5 * layer_sublayers(layer) * (factor->host_s + (key->tp > 1 ? factor->host_tp_s : 0.0));

    if (graph == PLAIT_GRAPH_FULL)
        return 0.0;
    if (graph == PLAIT_GRAPH_LAYERS)
        host_s *= experts ? launched_outside_graphs : 0.0;
    if (experts)
        host_s += (factor->host_experts - 1.0) * factor->host_s +
                  block_share(layer->moe.experts, key->ep) * factor->host_expert_s;
    return host_s / problem->cluster->host_speed;
}

/* Launch time of a layer's forward, of which graphs save only the share that evidence supports. */
static double host_time(const plait_problem *problem, const plait_layer *layer,
                        const layer_key *key)
{
    const plait_cuda_graph graph = (plait_cuda_graph)key->switches.cuda_graph;
    const double unearned = plait_unearned(problem->runtime, PLAIT_KEY_CUDA_GRAPH, (int)graph);

    if (problem->runtime->kernels.compiled_step || !layer)
        return 0.0;
    return (1.0 - unearned) * launches_s(problem, layer, key, graph) +
           unearned * launches_s(problem, layer, key, PLAIT_GRAPH_NONE);
}

/*
 * Bytes that full recomputation keeps of a row: one input for each layer, whatever the number of
 * its norms, which is wider than the hidden width with several streams or attention residuals
 * (C.178, C.179). The ends keep `norm_elements`, the inputs of their norms.
 */
static double input_bytes(const plait_problem *problem, const plait_layer *layer,
                          const layer_key *key, double norm_elements)
{
    const double tokens =
        key->mbs * plait_job_unit_tokens(&problem->job) / (key->cp * (key->sp ? key->tp : 1));
    const double elements =
        layer != NULL ? tokens * model_kept_width(problem->model) : norm_elements;

    return problem->runtime->keep.keeps[PLAIT_TENSOR_norm_in] * elements;
}

/*
 * Sums the kept bytes, weights and buffers of all blocks of a part. A context-parallel ring needs
 * two buffers. (C.83, C.151)
 */
static void keep_bytes(const plait_problem *problem, const plait_layer *layer, const layer_row *row,
                       const priced_block *const *blocks, int count, const plait_shard *shard,
                       layer_price *price)
{
    const bool rings = row->key.cp_comm == PLAIT_CP_P2P || row->key.cp_comm == PLAIT_CP_A2A_P2P;
    double context_bytes = 0.0, gathered_bytes = 0.0;
    plait_block kept;

    kept.saved_gathered = 0.0;
    memset(kept.saved, 0, sizeof kept.saved);
    for (int i = 0; i < count; i++) {
        for (int t = 0; t < PLAIT_TENSORS; t++)
            kept.saved[t] += blocks[i]->saved[t];
        kept.saved_gathered += blocks[i]->saved_gathered;
        price->weights.dense += blocks[i]->weights.dense;
        price->weights.expert += blocks[i]->weights.expert;
        price->weights.frozen_dense += blocks[i]->weights.frozen_dense;
        price->weights.frozen_expert += blocks[i]->weights.frozen_expert;
        context_bytes = larger(context_bytes, blocks[i]->context_bytes);
        gathered_bytes = larger(gathered_bytes, blocks[i]->gathered_bytes);
    }
    // activations are of the longest microbatch
    const double longest = problem->job.seq / document_load_of(&problem->job, row->key.mbs).tokens;
    for (int t = 0; t < PLAIT_TENSORS; t++)
        kept.saved[t] *= longest;
    kept.saved_gathered *= longest;
    context_bytes *= longest;
    gathered_bytes *= longest;
    price->gathered = price->weights;
    price->exchanged_bytes = context_bytes * (rings ? 2.0 : 1.0) + gathered_bytes;
    plait_block_tensor_bytes(&kept, shard, price->saved_bytes);
    price->kept_bytes = sum_of(price->saved_bytes, PLAIT_TENSORS);
    price->input_bytes = input_bytes(problem, layer, &row->key, kept.saved[PLAIT_TENSOR_norm_in]);
}

// ---- rows ----------------------------------------------------------------------------------

void row_describe(const plait_problem *problem, const layer_row *row, int r, plait_pass_kind kind,
                  plait_block *block)
{
    const plait_model *model = problem->model;
    const plait_pass pass = pass_of(problem, &row->key, kind);

    if (r == ROW_EMBEDDING)
        plait_block_embedding(model, &row->shard, pass, block);
    else if (r == ROW_HEAD || r == ROW_MTP_HEAD)
        plait_block_head(model, &row->shard, pass, block);
    else
        plait_block_describe(model, row_layer(model, r), &row->shard, pass, block);
    const int layer_kind = r == ROW_MTP ? model->mtp_kind : r;
    if (layer_kind < PLAIT_MAX_LAYER_KINDS && row->fused[layer_kind])
        fuse_block(&model->kind[layer_kind], &row->shard, kind, row->fused[layer_kind], block);
}

const plait_layer *row_layer(const plait_model *model, int r)
{
    if (r == ROW_MTP)
        return &model->kind[model->mtp_kind];
    return r < PLAIT_MAX_LAYER_KINDS ? &model->kind[r] : NULL;
}

/* SMs that a dispatcher's kernels occupy while they run. (C.154) */
static double dispatcher_sms(int dispatcher)
{
    static const double sms[PLAIT_DISPATCHERS] = {
        [PLAIT_DISPATCH_ALLTOALL] = 24.0, [PLAIT_DISPATCH_ALLGATHER] = 24.0,
        [PLAIT_DISPATCH_DEEPEP] = 20.0,   [PLAIT_DISPATCH_DEEPEP_FP8] = 20.0,
        [PLAIT_DISPATCH_HYBRIDEP] = 16.0,
    };

    return sms[dispatcher];
}

/*
 * Adds the seconds, by term and by part, of collectives if `travels`, otherwise of kernels. (C.36)
 */
static void add_pass(const priced_pass *pass, bool travels, double terms[LAYER_TERMS],
                     double part_s[PLAIT_PARTS])
{
    for (int i = 0; i < pass->ops; i++) {
        const priced_op *op = &pass->op[i];
        if (op->travels != travels)
            continue;
        terms[op->term] += op->s;
        part_s[op->part] += op->s;
    }
}

/* Adds the seconds of a pass by layer_role, and those of weight gradients without waiting. */
static void add_roles(const priced_pass *pass, layer_pass *sum, double *weight_s)
{
    double *const by_role[] = {[LAYER_FRONT] = &sum->front,
                               [LAYER_EXPERTS] = &sum->experts,
                               [LAYER_DISPATCH] = &sum->dispatch,
                               [LAYER_COMBINE] = &sum->combine};

    for (int i = 0; i < pass->ops; i++) {
        const priced_op *op = &pass->op[i];
        *by_role[op->role] += op->s;
        if (op->expert_weights)
            sum->weights += op->s;
        *weight_s += op->weight_s;
    }
}

/*
 * The load of a microbatch, of whose deviations only those remain that change the time of the layer:
 * packs change the time of attention over whole documents.
 */
static document_load varied_of(const plait_problem *problem, const plait_layer *layer,
                               const layer_key *key)
{
    document_load load = document_load_of(&problem->job, key->mbs);
    const bool whole = layer != NULL && layer->mixer != PLAIT_MIXER_NONE &&
                       !layer_core_recurs(layer) && layer->attention.window == 0 &&
                       !attention_masks(&problem->job, key);

    if (!whole) {
        load.work_deviation = load.token_deviation;
        load.work_most = load.token_most;
    }
    return load;
}

static void price_row(const plait_problem *problem, layer_row *row, int r)
{
    const plait_layer *layer = row_layer(problem->model, r);
    const double gpu_sms = plait_cluster_accelerator(problem->cluster, 0)->sms;
    layer_price *out = &row->price[r];
    plait_shard kept = row->shard;
    layer_pass forward = {0}, backward = {0};
    const priced_block *block[LAYER_HALVES];
    priced_room room[LAYER_HALVES];
    double unused[PLAIT_PARTS] = {0}, unused_s = 0.0;

    if (layer == NULL) // the ends keep 16-bit tensors (C.10)
        kept.precision = PLAIT_BF16;
    memset(out, 0, sizeof *out);
    const int blocks = priced_blocks_of(problem, row, r, room, block);
    // sums of both passes by term, by part and by role
    for (int travels = 0; travels < 2; travels++)
        for (int i = 0; i < blocks; i++) {
            add_pass(&block[i]->backward, travels, out->backward, unused);
            add_pass(&block[i]->forward, travels, out->forward, out->part_s);
        }
    for (int i = 0; i < blocks; i++) {
        add_roles(&block[i]->backward, &backward, &out->weight_s);
        add_roles(&block[i]->forward, &forward, &unused_s);
    }
    out->forward_gpu_s = sum_of(out->forward, LAYER_TERMS);
    out->backward_gpu_s = sum_of(out->backward, LAYER_TERMS);
    if (recompute_stops_early(problem, layer))
        out->unread_s = out->part_s[PLAIT_PART_fc2];
    out->core_recurs = layer_core_recurs(layer);
    out->documents = varied_of(problem, layer, &row->key);
    out->host_s = host_time(problem, layer, &row->key);
    out->busy_s = out->forward[LAYER_matmul] + out->forward[LAYER_attention] +
                  out->backward[LAYER_matmul] + out->backward[LAYER_attention];
    out->moving_s = out->forward[LAYER_memory_ops] + out->backward[LAYER_memory_ops];
    out->forward_sent_s[0] = forward.dispatch, out->forward_sent_s[1] = forward.combine;
    out->backward_sent_s[0] = backward.dispatch, out->backward_sent_s[1] = backward.combine;
    layer_pair(&forward, &backward, smaller(1.0, dispatcher_sms(row->key.dispatcher) / gpu_sms),
               out->paired_s);
    for (int how = 0; how < PLAIT_EP_OVERLAPS; how++)
        out->paired_s[how] *= 1.0 - plait_unearned(problem->runtime, PLAIT_KEY_EP_OVERLAP, how);
    keep_bytes(problem, layer, row, block, blocks, &kept, out);
    if (r == ROW_EMBEDDING)
        encoder_price_add(problem, row, out);
}

/* Adds the parameters of encoders to those of the embedding. (C.430) */
static void add_encoders(const plait_problem *problem, layer_row *row)
{
    plait_weights *const w = &row->price[ROW_EMBEDDING].weights;

    row->encoders = encoder_weights(problem, row);
    w->dense += row->encoders.dense;
    w->frozen_dense += row->encoders.frozen_dense;
    row->price[ROW_EMBEDDING].gathered = *w;
}

/* The part that is priced after part r: first all kinds of layers, then the embedding and head. */
static int next_part(const plait_model *model, int r)
{
    return r + 1 == model->kinds ? ROW_EMBEDDING : r + 1;
}

/*
 * A multi-token-prediction (MTP) module consists of a layer, a projection of [hidden; embedding],
 * whose time (1 % of a layer) is left out, and a pass through the shared head. If embedding and
 * head are on different stages, models with a tied head or MTP store a copy of the embedding table
 * on the stage of the head. (C.81)
 */
static void derive_ends(const plait_model *model, layer_row *row)
{
    const bool frozen = row->shard.frozen >> PLAIT_PART_embedding & 1u;
    const double hidden = model->hidden;
    const int tp = row->key.tp;

    const double table = (double)((model->vocab + tp - 1) / tp) * hidden;
    row->price[ROW_TABLE] = (layer_price){0};
    *(frozen ? &row->price[ROW_TABLE].weights.frozen_dense : &row->price[ROW_TABLE].weights.dense) =
        table;
    if (model->mtp_layers == 0)
        return;
    row->price[ROW_MTP] = row->price[model->mtp_kind];
    *(row->shard.lora_rank > 0 ? &row->price[ROW_MTP].weights.frozen_dense
                               : &row->price[ROW_MTP].weights.dense) += 2.0 * hidden * hidden / tp;
    row->price[ROW_MTP_HEAD] = row->price[ROW_HEAD];
    row->price[ROW_MTP_HEAD].weights = (plait_weights){0};
}

/*
 * Bytes that the runtime's loss keeps for the logits of one microbatch and their gradient. (C.83)
 */
static double logit_bytes(const plait_problem *problem, const layer_key *key)
{
    const plait_residents *keep = &problem->runtime->keep;
    const bool one = problem->job.tuning.kind == PLAIT_JOB_REWARD;
    const double outputs = one ? 1.0 : problem->model->vocab;
    const double entries = key->mbs * plait_job_unit_tokens(&problem->job) / key->cp * outputs;

    return keep->logits * entries / (keep->logits_whole ? 1 : key->tp);
}

void layer_row_set_key(const plait_problem *problem, layer_key key, layer_row *row)
{
    row->key = key;
    row->shard = shard_of(problem, &key);
    row->placed = false;
}

void layer_row_fill(const plait_problem *problem, layer_key key, layer_row *row)
{
    const plait_model *model = problem->model;
    const plait_pass pass = pass_of(problem, &key, PLAIT_FORWARD);
    const double sent_bytes =
        2.0 * (pass.sequences * pass.query_tokens) / key.cp * model_sent_width(model);
    bool cached = false;
    layer_price *const parts = layer_cache_prices(row->cache, &key, &cached);

    layer_row_set_key(problem, key, row);
    layer_row_place_groups(problem, row);
    // fusion rules inside layers, and an upper bound on the saving of rules between chunks
    memset(row->fused, 0, sizeof row->fused);
    row->boundary_s = 0.0;
    if (key.fusion != PLAIT_FUSION_NONE) {
        for (int k = 0; k < model->kinds; k++)
            row->fused[k] = (unsigned char)fuse_choose(problem, row, k);
        row->boundary_s = fused_boundary_most_s(problem, row);
    }
    for (int r = 0; r <= ROW_HEAD; r = next_part(model, r)) {
        const bool shared = parts && (r >= model->kinds || model->kind[r].ffn != PLAIT_FFN_MOE);

        if (shared && cached) {
            row->price[r] = parts[r];
            continue;
        }
        price_row(problem, row, r);
        if (shared)
            parts[r] = row->price[r];
    }
    add_encoders(problem, row);
    derive_ends(model, row);
    // a stage sends the hidden state, or 1 / tp of it under sp or scatter-gather (C.64)
    row->p2p_bytes =
        key.sp || problem->runtime->overlap.p2p_scatter ? sent_bytes / key.tp : sent_bytes;
    row->logit_bytes = logit_bytes(problem, &key);
    // maxima over the layers of exchange buffers (C.83) and of kept bytes of a microbatch (C.158)
    row->exchange_bytes = row->pair_bytes = 0.0;
    for (int k = 0; k < model->kinds; k++) {
        row->exchange_bytes = larger(row->exchange_bytes, row->price[k].exchanged_bytes);
        row->pair_bytes = larger(row->pair_bytes, row->price[k].kept_bytes);
    }
}

void layer_row_fill_weights(const plait_problem *problem, layer_key key, layer_row *row)
{
    plait_block block;

    layer_row_set_key(problem, key, row);
    memset(row->fused, 0, sizeof row->fused);
    for (int r = 0; r <= ROW_HEAD; r = next_part(problem->model, r)) {
        row_describe(problem, row, r, PLAIT_FORWARD, &block);
        row->price[r] = (layer_price){.weights = block.weights, .gathered = block.weights};
    }
    add_encoders(problem, row);
    derive_ends(problem->model, row);
}

/*
 * Lower bound on the activation memory of a plan. One stage has the logits. In the backward of a
 * layer all tensors that the layer keeps are in memory at once, kept or recomputed. (C.92)
 */
double plait_layers_floor_bytes(const plait_problem *problem, const plait_degrees *d)
{
    const layer_key key = layer_key_of(d);
    const plait_shard shard = shard_of(problem, &key);
    double least = HUGE_VAL;
    plait_block block;

    for (int k = 0; k < problem->model->kinds; k++) {
        plait_block_describe(problem->model, &problem->model->kind[k], &shard,
                             pass_of(problem, &key, PLAIT_FORWARD), &block);
        least = smaller(least, plait_block_saved_bytes(&block, &shard, 0));
    }
    return problem->runtime->keep.fragmentation * larger(least, logit_bytes(problem, &key));
}

plait_exchange_use plait_exchange_use_of(const plait_problem *problem, const plait_degrees *d)
{
    const plait_model *model = problem->model;
    const layer_key key = layer_key_of(d);
    const plait_shard shard = shard_of(problem, &key);
    const plait_pass pass = pass_of(problem, &key, PLAIT_FORWARD);
    plait_exchange_use use = {.sms = dispatcher_sms(d->dispatcher)};
    int k = 0;

    while (k < model->kinds && model->kind[k].ffn != PLAIT_FFN_MOE)
        k++;
    if (k == model->kinds || d->ep == 1)
        return use;
    const plait_route route = group_route(problem, d->placement, d->ep, d->etp);
    const plait_op there =
        plait_block_exchange(model, &model->kind[k], &shard, pass, PLAIT_PART_dispatch);
    const plait_op back =
        plait_block_exchange(model, &model->kind[k], &shard, pass, PLAIT_PART_combine);
    const bool alike = there.collective == back.collective && there.bytes == back.bytes;
    use.dispatch_s = exchange_s(problem, &route, &there);
    use.combine_s = alike ? use.dispatch_s : exchange_s(problem, &route, &back);
    return use;
}

/*
 * Describes a pass and returns the seconds of its core attention kernels. If the layer has two
 * halves, only the mixer is described, since the ffn does not depend on the attention kernel.
 */
static double core_s(const plait_problem *problem, const layer_key *key, const plait_shard *shard,
                     const plait_layer *layer, plait_pass_kind kind, plait_block *block)
{
    const plait_kernel_context context = kernel_context_of(problem, key);
    const plait_pass pass = pass_of(problem, key, kind);
    double seconds = 0.0;

    if (block_halves(layer))
        block_describe_half(problem->model, layer, shard, pass, BLOCK_MIXER, block);
    else
        plait_block_describe(problem->model, layer, shard, pass, block);
    for (int i = 0; i < block->ops; i++)
        if (block->op[i].part == PLAIT_PART_core_attn && block->op[i].kind != PLAIT_OP_COLLECTIVE)
            seconds += plait_op_s(&context, &block->op[i]);
    return seconds;
}

plait_attention_use plait_attention_use_of(const plait_problem *problem, const plait_degrees *d,
                                           int kind)
{
    const plait_layer *const layer = &problem->model->kind[kind];
    const layer_key key = layer_key_of(d);
    const plait_shard shard = shard_of(problem, &key);
    plait_attention_use use = {0};
    plait_block block;

    use.backward_s = core_s(problem, &key, &shard, layer, PLAIT_BACKWARD, &block);
    use.forward_s = core_s(problem, &key, &shard, layer, PLAIT_FORWARD, &block);
    use.kept_bytes = plait_block_saved_bytes(&block, &shard, 0);
    return use;
}
