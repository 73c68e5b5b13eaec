/*
 * layer_ops.c - seconds of each operator of a layer, and cached prices of the halves of a layer
 *
 * The two halves of a layer depend on different keys: the mixer on those of attention and context
 * parallelism, the ffn on those of experts. So each half is cached separately (layer_cache.c). The
 * operators of both are added up in the order of the description of the whole layer.
 */
#include "costmodel/layer/layer_ops.h"

#include <string.h>

#include "base/numbers.h"

// ---- collectives ---------------------------------------------------------------------------

const plait_route *op_route(const layer_row *row, const plait_op *op)
{
    if (op->axis != PLAIT_AXIS_CP || row->shard.cp_comm != PLAIT_CP_A2A_P2P)
        return &row->route[op->axis];
    return op->collective == PLAIT_P2P ? &row->cp_rings : &row->cp_heads;
}

/*
 * Factor by which uneven routing lengthens an operator, since all ranks wait for the fullest.
 * (C.20)
 */
static double waited_for(const plait_op *op)
{
    return op->imbalance > 0.0 ? op->imbalance : 1.0;
}

/* The time of an exchange of experts depends on the dispatcher. (C.56, C.151, C.153) */
double exchange_s(const plait_problem *problem, const plait_route *route, const plait_op *op)
{
    const plait_network network = network_of(problem);

    if (op->overlap != PLAIT_OVERLAP_EP || op->collective != PLAIT_ALL_TO_ALL)
        return plait_collective_s(route, network, op->collective, op->bytes);
    if (op->dispatcher == PLAIT_DISPATCH_ALLTOALL)
        return waited_for(op) *
               plait_expert_all_to_all_s(route, network, op->bytes, op->topk, op->node_copies);
    const double unearned =
        plait_unearned(problem->runtime, PLAIT_KEY_DISPATCHER, (int)op->dispatcher);
    const double s =
        plait_relayed_all_to_all_s(route, network, op->bytes, op->topk, op->experts,
                                   op->node_copies, problem->runtime->round_robin_experts);

    if (unearned <= 0.0)
        return waited_for(op) * s;
    return waited_for(op) *
           ((1.0 - unearned) * s +
            unearned * plait_expert_all_to_all_s(route, network, op->bytes, op->topk, 0.0));
}

/*
 * C.60, C.61, C.62: tensor-parallel overlap needs the shared memory of the scale-up domain, so
 * tensor-parallel collectives beyond the domain are fully exposed. The sends of a ring overlap the
 * attention over the blocks that have already arrived.
 */
collective_time collective_time_of(const plait_problem *problem, const layer_row *row,
                                   const plait_op *op, double attention_s)
{
    const plait_overlaps *overlap = &problem->runtime->overlap;
    const plait_route *const route = op_route(row, op);
    const double s = op->count * exchange_s(problem, route, op);

    switch (op->overlap) {
    case PLAIT_OVERLAP_TP: {
        // The overlap leaves out the products of experts, whose shards are etp.
        const double share = plait_tp_exposed(
            problem->runtime, op->axis == PLAIT_AXIS_TP && row->key.switches.tp_comm_overlap);

        return (collective_time){s, (route->levels > 1 ? larger(1.0, share) : share) * s};
    }
    case PLAIT_OVERLAP_EP:
        return (collective_time){s, overlap->ep_exposed * s};
    case PLAIT_OVERLAP_CP_RING:
        return (collective_time){s, larger(0.0, s - attention_s * op->count / (op->count + 1.0))};
    default:
        return (collective_time){s, s};
    }
}

layer_term term_of(const plait_op *op)
{
    if (op->kind == PLAIT_OP_COLLECTIVE)
        return op->axis == PLAIT_AXIS_CP   ? LAYER_cp_comm
               : op->axis == PLAIT_AXIS_EP ? LAYER_ep_comm
                                           : LAYER_tp_comm;
    if (op->part == PLAIT_PART_core_attn || op->part == PLAIT_PART_indexer)
        return LAYER_attention;
    return op->kind == PLAIT_OP_MEMORY || op->kind == PLAIT_OP_SCAN ? LAYER_memory_ops
                                                                    : LAYER_matmul;
}

// ---- one block -----------------------------------------------------------------------------

/*
 * The operators of the routed experts include the permutation of rows after them (part combine).
 * Shared experts run before the dispatch, so they belong to the front.
 */
static layer_role role_of(const plait_op *op)
{
    const bool travels = op->kind == PLAIT_OP_COLLECTIVE;

    if (travels && op->axis == PLAIT_AXIS_EP)
        return op->part == PLAIT_PART_dispatch ? LAYER_DISPATCH : LAYER_COMBINE;
    return op->part == PLAIT_PART_expert_fc1 || op->part == PLAIT_PART_expert_act ||
                   op->part == PLAIT_PART_expert_fc2 || op->part == PLAIT_PART_combine ||
                   (travels && op->axis == PLAIT_AXIS_ETP)
               ? LAYER_EXPERTS
               : LAYER_FRONT;
}

static void store_op(const plait_op *op, double s, double weight_s, priced_op *out)
{
    *out = (priced_op){
        .s = s,
        .weight_s = weight_s,
        .term = (unsigned char)term_of(op),
        .part = (unsigned char)op->part,
        .role = (unsigned char)role_of(op),
        .travels = op->kind == PLAIT_OP_COLLECTIVE,
        .expert_weights = op->kind == PLAIT_OP_GROUPED_GEMM && op->layout == PLAIT_BACKWARD_WEIGHT,
    };
}

/*
 * Fills the seconds of all operators of a pass. Kernels are priced before collectives, since the
 * exposed part of a ring depends on the time of the attention that it overlaps. weight_s leaves out
 * the wait for the fullest rank.
 */
static void price_pass(const plait_problem *problem, const layer_row *row, const plait_block *block,
                       priced_pass *out)
{
    const plait_kernel_context context = kernel_context_of(problem, &row->key);
    double attention_s = 0.0;

    out->ops = block->ops;
    for (int i = 0; i < block->ops; i++) {
        const plait_op *op = &block->op[i];
        if (op->kind == PLAIT_OP_COLLECTIVE)
            continue;
        const double alone_s = cached_op_s(row->cache, &context, op);
        const double s = alone_s * waited_for(op);
        store_op(op, s, op->layout == PLAIT_BACKWARD_WEIGHT ? alone_s : 0.0, &out->op[i]);
        if (out->op[i].term == LAYER_attention)
            attention_s += s;
    }
    for (int i = 0; i < block->ops; i++) {
        const plait_op *op = &block->op[i];
        if (op->kind == PLAIT_OP_COLLECTIVE)
            store_op(op, collective_time_of(problem, row, op, attention_s).exposed_s, 0.0,
                     &out->op[i]);
    }
}

// ---- halves --------------------------------------------------------------------------------

static void describe_half(const plait_problem *problem, const layer_row *row, int r,
                          block_half half, plait_pass_kind kind, plait_block *out)
{
    if (half == BLOCK_WHOLE)
        row_describe(problem, row, r, kind, out);
    else
        block_describe_half(problem->model, &problem->model->kind[r], &row->shard,
                            pass_of(problem, &row->key, kind), half, out);
}

static const priced_block *price_half(const plait_problem *problem, const layer_row *row, int r,
                                      block_half half, priced_room *room)
{
    priced_block *const out = &room->block;
    plait_block block;

    out->forward.op = room->forward;
    out->backward.op = room->backward;
    describe_half(problem, row, r, half, PLAIT_BACKWARD, &block);
    price_pass(problem, row, &block, &out->backward);
    describe_half(problem, row, r, half, PLAIT_FORWARD, &block);
    price_pass(problem, row, &block, &out->forward);
    memcpy(out->saved, block.saved, sizeof out->saved);
    out->saved_gathered = block.saved_gathered;
    out->weights = block.weights;
    // the largest buffers of context exchanges (C.83) and of tokens gathered for experts (C.151)
    out->context_bytes = out->gathered_bytes = 0.0;
    for (int i = 0; i < block.ops; i++) {
        const plait_op *op = &block.op[i];
        if (op->kind != PLAIT_OP_COLLECTIVE)
            continue;
        if (op->axis == PLAIT_AXIS_CP)
            out->context_bytes = larger(out->context_bytes, op->bytes);
        if (op->axis == PLAIT_AXIS_EP && op->dispatcher == PLAIT_DISPATCH_ALLGATHER)
            out->gathered_bytes = larger(out->gathered_bytes, op->bytes);
    }
    return out;
}

/* Returns the cached price of half a layer; if it is not cached, computes and caches it. */
static const priced_block *half_of(const plait_problem *problem, layer_row *row, int kind,
                                   block_half half, priced_room *room)
{
    const priced_block *cached;
    half_slot *const place = layer_cache_slot(
        row->cache, &row->key, document_tokens(&problem->job, row->key.mbs), kind, half, &cached);

    if (cached)
        return cached;
    layer_row_place_groups(problem, row);
    price_half(problem, row, kind, half, room);
    if (place)
        cache_half(row->cache, place, &room->block);
    return &room->block;
}

int priced_blocks_of(const plait_problem *problem, layer_row *row, int r,
                     priced_room room[LAYER_HALVES], const priced_block *block[LAYER_HALVES])
{
    // a layer with fused collectives is priced as a whole
    if (r < PLAIT_MAX_LAYER_KINDS && row->fused[r] == 0 && block_halves(&problem->model->kind[r])) {
        block[0] = half_of(problem, row, r, BLOCK_MIXER, &room[0]);
        block[1] = half_of(problem, row, r, BLOCK_FFN, &room[1]);
        return LAYER_HALVES;
    }
    block[0] = price_half(problem, row, r, BLOCK_WHOLE, &room[0]);
    return 1;
}

/* Returns the seconds of both passes of half a layer without the exchange of experts' tokens. */
static double half_computed_s(const plait_problem *problem, layer_row *row, int kind,
                              block_half half)
{
    priced_op op[PLAIT_MAX_OPS];
    priced_pass priced = {.op = op};
    double s = 0.0;

    layer_row_place_groups(problem, row);
    for (int pass = PLAIT_FORWARD; pass <= PLAIT_BACKWARD; pass++) {
        plait_block block;
        describe_half(problem, row, kind, half, (plait_pass_kind)pass, &block);
        price_pass(problem, row, &block, &priced);
        for (int i = 0; i < priced.ops; i++)
            if (op[i].role != LAYER_DISPATCH && op[i].role != LAYER_COMBINE)
                s += op[i].s;
    }
    return s;
}

void layers_computed_s(const plait_problem *problem, layer_row *row, double *s)
{
    const plait_model *const model = problem->model;
    const bool known = layer_cache_has_bounds(row->cache) && row->key.fusion == PLAIT_FUSION_NONE;
    double mixer_s[PLAIT_MAX_LAYER_KINDS];

    for (int k = 0; k < model->kinds; k++) {
        s[k] = 0.0;
        if (!known || !block_halves(&model->kind[k]))
            continue;
        const int first = layer_cache_same_mixer(row->cache, k);
        mixer_s[k] =
            first < k && block_halves(&model->kind[first])
                ? mixer_s[first]
                : layer_cache_bound(row->cache, problem, row, k, BLOCK_MIXER, half_computed_s);
        s[k] =
            mixer_s[k] + layer_cache_bound(row->cache, problem, row, k, BLOCK_FFN, half_computed_s);
    }
}

/* ---- the forward of one microbatch, overlapped with the backward of another ----
 *
 * In each layer both passes run on two streams, in the order of Megatron-Core's combined 1F1B (f:
 * the forward of one microbatch, b: the backward of the other; front: all but the routed experts):
 *
 *     communication   combine b | dispatch f, then dispatch b          | combine f
 *     computation     front f   | experts b, (weights b,) experts f    | front b
 *
 * In each of these three slots, communication takes SMs from computation. In the middle slot the
 * tokens of f arrive during the experts' backward. The gradients of that backward are sent after
 * it, during the experts' forward; if weight gradients are delayed, also during these. (C.156)
 */

/* Seconds of communication that overlaps computation on the remaining SMs. */
static double overlapped_s(double comm_s, double compute_s, double sms)
{
    return larger(comm_s, compute_s + sms * comm_s);
}

static double alone_s(const layer_pass *pass)
{
    return pass->front + pass->experts + pass->dispatch + pass->combine;
}

void layer_pair(const layer_pass *f, const layer_pass *b, double sms,
                double saved_s[PLAIT_EP_OVERLAPS])
{
    memset(saved_s, 0, PLAIT_EP_OVERLAPS * sizeof *saved_s);
    if (f->dispatch + f->combine <= 0.0)
        return;
    for (int how = PLAIT_EP_OVERLAP_PAIRS; how < PLAIT_EP_OVERLAPS; how++) {
        const bool delayed = how == PLAIT_EP_OVERLAP_PAIRS_DELAYED_WGRAD;
        const double inputs_s = b->experts - (delayed ? b->weights : 0.0);
        const double computed_s = larger(f->dispatch, b->experts) + f->experts;
        const double sent_s = larger(f->dispatch, inputs_s) + b->dispatch;
        const double middle_s = larger(larger(computed_s, sent_s),
                                       b->experts + f->experts + sms * (f->dispatch + b->dispatch));
        const double pair_s = overlapped_s(b->combine, f->front, sms) + middle_s +
                              overlapped_s(f->combine, b->front, sms);

        saved_s[how] = larger(0.0, alone_s(f) + alone_s(b) - pair_s);
    }
}
